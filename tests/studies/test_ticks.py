"""Which cycle is worst: the table of all hosts."""

from dataclasses import replace

import polars as pl
import pytest
import synthetic

from daybreak.studies.migration import ticks
from daybreak.studies.migration.settings import CYCLES, NAMES, SCALES, TICKS, of_figure
from daybreak.studies.migration.study import STUDY

FULL, QUICK = SCALES["full"], SCALES["quick"]


def measured(seconds):
    """Two runs a setting; ``seconds`` is how much later the migrated flow ends."""
    names = list(NAMES)

    def flows(setting):
        longer = seconds(setting) + names.index(setting.migrated)
        ends = [round(1e9 * end) for end in (1.0, 1.0 + longer, 2.0, 2.0 + longer)]
        return pl.DataFrame(
            {"run": [1, 1, 2, 2], "group": ["main", "migrated"] * 2, "bytes": 1000, "start_ns": 0, "end_ns": ends}
        ).with_columns(fct_ns="end_ns")

    of_other = synthetic.of_forest(of_figure("8", FULL)[0], synthetic.as_the_forest_needs, 2)
    return {setting: replace(of_other, setting=setting, flows=flows(setting)) for setting in of_figure("8-ticks", FULL)}


def test_each_field_is_the_mean_over_all_pairs_of_its_own_hosts_and_cycle():
    evidence = measured(lambda one: one.testbed.hz / 100 + 20 * one.testbed.older + one.night_ms / 10)
    found = ticks.table(evidence, FULL)
    assert found.height == 2 * len(TICKS) * len(CYCLES)
    for older, hosts in ticks.HOSTS.items():
        for hz in TICKS:
            for period, night in CYCLES:
                (row,) = found.filter(hosts=hosts, hz=hz, cycle=f"{period - night}+{night} ms").iter_rows(named=True)
                # The variants add 0, 1, 2 and 3 s.
                assert row["mean_s"] == pytest.approx(hz / 100 + 20 * older + night / 10 + 1.5)
                assert row["runs"] == 2 * len(NAMES) ** 2
                assert row["low_s"] < row["mean_s"] < row["high_s"]


def test_a_flow_that_did_not_end_leaves_no_mean():
    evidence = measured(lambda one: 1.0)
    setting = of_figure("8-ticks", FULL)[0]
    evidence[setting] = replace(
        evidence[setting], flows=evidence[setting].flows.with_columns(fct_ns=pl.lit(None, pl.Int64))
    )
    found = ticks.table(evidence, FULL)
    assert found["mean_s"].null_count() == 1 and found["mean_s"][0] is None
    assert found["unended"].to_list() == [2] + [0] * (found.height - 1)
    (figure,) = ticks.draw(evidence, FULL, {}).values()
    fields = [text.get_text() for axes in figure.axes[:2] for text in axes.texts]
    assert len(fields) == 2 * len(TICKS) * len(CYCLES) and fields.count("endless") == 1


def test_the_hosts_of_the_study_are_among_them_and_are_run_once():
    assert {s for s in of_figure("8", FULL) if s.night_ms} <= set(of_figure("8-ticks", FULL))
    assert STUDY.settings(FULL, ["8", "8-ticks"]) == list(
        dict.fromkeys([*of_figure("8", FULL), *of_figure("8-ticks", FULL)])
    )


def test_a_reduced_run_has_none():
    assert of_figure("8-ticks", QUICK) == [] and ticks.draw({}, QUICK, {}) == {} and ticks.tables({}, QUICK) == {}
