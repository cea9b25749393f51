"""The study from settings to files, with runs that are made up; and its scenarios."""

import json
from types import SimpleNamespace

import polars as pl
import pytest
import synthetic
from executors import Serial

from daybreak.engines import kernel
from daybreak.errors import Interrupted, UnknownName
from daybreak.studies import study
from daybreak.studies.migration import settings, testbed
from daybreak.studies.migration.settings import FIGURES, SCALES, of_figure
from daybreak.studies.migration.study import STUDY
from daybreak.studies.reproduce import reproduce
from daybreak.sweeps import StoredRun

QUICK = SCALES["quick"]
ALL = {setting for figure in FIGURES for scale in SCALES.values() for setting in of_figure(figure, scale)}
BY_NAME = {setting.name: setting for setting in ALL}


def run(scenario, seed):
    """A run in the shape of an engine's, from the fluid model."""
    # The kernel engine's hosts are newer.
    setting = BY_NAME.get(scenario.name) or BY_NAME[scenario.name.removesuffix("-older=0")]
    flows, throughput, windows, circuits = synthetic.one_run(setting, synthetic.paper(setting), seed)
    # Made-up runs count from their beginning, an engine's from 0.
    begin_ns = min((int(line.start) // 1000 for line in scenario.timelines), default=0)
    flows, circuits = (
        table.with_columns(
            pl.col(name) + begin_ns for name in ("start_ns", "end_ns", "time_ns") if name in table.columns
        )
        for table in (flows, circuits)
    )
    number = {group: i for i, group in enumerate(flows["group"])}
    flow = pl.col("group").replace_strict(number, return_dtype=pl.UInt32)
    time = (pl.col("time_s") * 1e9).round(0).cast(pl.UInt64) + begin_ns
    bins = throughput.select(
        pl.lit("tap").alias("scope"),
        flow.alias("id"),
        time.alias("start_ns"),
        (pl.col("gbps") * 125_000).cast(pl.UInt64).alias("bytes"),
    )
    samples = windows.select(
        flow.alias("flow"),
        time.alias("time_ns"),
        (pl.col("kilobytes") * 1e3).round(0).cast(pl.UInt64).alias("bytes_in_flight"),
        # Other outstanding data shows nothing about the window.
        pl.lit(3_000_000, pl.UInt64).alias("outstanding_bytes"),
    )
    return SimpleNamespace(
        scenario=scenario, flows=flows.drop("run"), bins=bins, window=samples, circuits=circuits.drop("run")
    )


def made_up(task):
    """A task's result, from a run that is made up."""
    return StoredRun({}, task.reduction.function(run(task.job.scenario, task.job.seed)))


@pytest.mark.parametrize("setting", sorted(ALL, key=lambda setting: setting.name), ids=lambda setting: setting.name)
def test_every_setting_is_a_valid_scenario(setting):
    scenario = testbed.scenario(setting)
    document = scenario.document()
    assert scenario.name == setting.name
    assert document["stack"]["mtu"] == 9000
    flows = document.get("flows") or document["arrivals"]
    measured = {"migrated", "main"} if setting.main else {"migrated"}
    before = {f"{testbed.EARLIER}{name}" for name in measured} if setting.kind in ("groups", "exchanges") else set()
    assert {flow["name"] for flow in flows} == measured | before
    moved = {name for name in measured | before if name.endswith("migrated")}
    assert {timeline["group"] for timeline in document.get("timelines", ())} == (moved if setting.period_ms else set())
    # What is no data takes the bypass; of files that clients ask for these are the requests.
    assert all(flow["via" if setting.kind == "exchanges" else "ack_via"] == ["bypass"] for flow in flows)


def test_every_figure_has_settings_claims_and_drawings():
    assert STUDY.figures == FIGURES
    for scale in SCALES.values():
        assert STUDY.settings(scale) == list(dict.fromkeys(s for figure in FIGURES for s in of_figure(figure, scale)))


def test_the_grid_is_the_papers():
    full = SCALES["full"]
    assert full.runs == full.single_runs == 30
    assert {s.period_ms for s in of_figure("4", full)} == {50, 25, 10, 1}
    assert {(s.period_ms - s.night_ms, s.night_ms) for s in of_figure("7", full) if s.night_ms} == {
        (90, 10), (45, 5), (18, 2), (9, 1),
    }  # fmt: skip
    assert {(s.migrated, s.period_ms) for s in of_figure("3", full)} == {
        (variant, period) for variant in ("cubic", "bbr", "reno", "westwood") for period in (0, 10, 50)
    }
    assert len(of_figure("kernel", full)) == 6
    with pytest.raises(ValueError, match='"9" is not one of'):
        of_figure("9", full)


def test_reproduce_writes_scoreboard_figures_tables_and_page(tmp_path):
    seen = []
    board = reproduce(
        STUDY,
        mode="quick",
        figures=["4", "table2"],
        seeds=2,
        out=tmp_path,
        workers=2,
        executor=Serial(made_up),
        progress=lambda *state: seen.append(state),
    )
    assert seen[0] == (0, 14) and seen[-1] == (14, 14)
    document = json.loads((tmp_path / "scoreboard.json").read_text())
    assert document["claims"] == board.document()["claims"]
    assert {claim["figure"] for claim in document["claims"]} == {"4", "Table II"}
    for name in ("figure4", "figure4-fct", "table2"):
        for kind in ("png", "svg"):
            assert (tmp_path / "figures" / f"{name}.{kind}").stat().st_size > 1000
    page = (tmp_path / "results.md").read_text()
    assert "printed statements held" in page and "figures/figure4.png" in page and "## What was inferred" in page
    flows = pl.read_parquet(tmp_path / "tables" / "flows.parquet")
    assert flows.select("setting", "run").n_unique() == 14
    assert "fct_mean_s" in (tmp_path / "tables" / "fct.csv").read_text()


def test_a_second_time_runs_nothing(tmp_path):
    executor = Serial(made_up)
    first = reproduce(STUDY, figures=["4"], seeds=1, out=tmp_path, executor=executor)
    before = (tmp_path / "scoreboard.json").read_bytes()
    assert len(executor.ran) == 4
    second = reproduce(STUDY, figures=["4"], seeds=1, out=tmp_path, executor=executor)
    assert len(executor.ran) == 4 and first.claims == second.claims
    assert (tmp_path / "scoreboard.json").read_bytes() == before


def test_an_interrupted_study_keeps_what_is_finished(tmp_path):
    first, second = Serial(made_up, interrupt_at=2), Serial(made_up)
    with pytest.raises(Interrupted):
        reproduce(STUDY, figures=["4"], seeds=1, out=tmp_path, executor=first)
    assert not (tmp_path / "scoreboard.json").exists()
    reproduce(STUDY, figures=["4"], seeds=1, out=tmp_path, executor=second)
    assert len(first.ran) == len(second.ran) == 2 and set(first.ran).isdisjoint(second.ran)


def test_another_kernel_makes_its_runs_again(tmp_path, monkeypatch):
    executor = Serial(made_up)
    for program in ("one", "another"):
        monkeypatch.setattr(kernel, "program", lambda plan=None, *, program=program: program)
        reproduce(STUDY, figures=["4"], engine="kernel", seeds=1, out=tmp_path, executor=executor)
    assert len(executor.ran) == 8


def test_unknown_names_are_errors_that_list_the_known(tmp_path):
    with pytest.raises(UnknownName, match='figure: "9" is not one of 3, 4, 4-variants, 5'):
        reproduce(STUDY, figures=["9"], out=tmp_path)
    with pytest.raises(UnknownName, match='mode: "fast"'):
        reproduce(STUDY, mode="fast", out=tmp_path)
    with pytest.raises(UnknownName, match='study: "etalon2" is not known'):
        study("etalon2")
    assert study("migration") is STUDY


def test_figures_have_the_papers_panels():
    measured = {
        setting: synthetic.measured(setting, synthetic.paper, 2)
        for figure in ("4", "6a", "7")
        for setting in of_figure(figure, QUICK)
    }
    four = STUDY.experiments["4"].draw(measured, QUICK, {})["figure4"]
    assert [axes.get_title() for axes in four.axes] == [f"CUBIC ({period} ms)" for period in (50, 25, 10, 1)]
    # Beside the line at the rate of a link.
    assert all(len([line for line in axes.get_lines() if line.get_linestyle() != ":"]) == 2 for axes in four.axes)
    six = STUDY.experiments["6a"].draw(measured, QUICK, {})["figure6a"]
    assert [axes.get_title() for axes in six.axes] == [
        f"CUBIC - {name} (50 ms)" for name in ("BBR", "Reno", "Westwood")
    ]
    seven = STUDY.experiments["7"].draw(measured, QUICK, {})["figure7"]
    assert "90 ms day + 10 ms night" in seven.axes[0].get_title()
    assert settings.CYCLES[0] == (100, 10)
