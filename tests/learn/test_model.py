"""Models: what they say, and of what they say it."""

import json

import numpy as np
import polars as pl
import pytest
from made_up import QUICK, SETTING, made_up
from ready_files import ROOT

import daybreak
from daybreak.learn import dataset, design, evaluate, files, model
from daybreak.learn.dataset import Dataset
from daybreak.learn.setting import GROUPS
from daybreak.learn.setting import testbed as the_testbed
from daybreak.sweeps import Local

KNOWN = ROOT / "scenarios" / "17-prolongation.toml"
"""What the model of prolongations was made for."""


def test_a_model_finds_the_law_again_and_its_file_is_the_same_model(small, tmp_path):
    files.save(small, tmp_path / "m.skops")
    again = files.load(tmp_path / "m.skops")
    settings = list(design.drawn(40, 3))
    before, after = (one.predict(settings, similar=3) for one in (small, again))
    assert before == after and again.fingerprint == small.fingerprint
    truth = [0.5 / one["period_ms"] + 2 * one["night_ms"] / one["period_ms"] for one in settings]
    ideal = [one["migrated_mib"] * 2**20 * 8 / one["rate_gbps"] / 1e9 for one in settings]
    found = [one.prolongation_s / whole for one, whole in zip(after, ideal, strict=True)]
    assert np.corrcoef(found, truth)[0, 1] > 0.95
    for one in after:
        assert one.low_s <= one.prolongation_s <= one.high_s and len(one.similar) == 3
        # Plain numbers, not NumPy's.
        assert {type(number) for number in (one.prolongation_s, one.low_s, one.high_s, one.error_s)} == {float}
    ends = np.array([(one.low_s, one.high_s) for one in after])
    new = made_up(settings=settings, runs=20, seed=2).seconds().reshape(len(settings), 20).T
    assert np.isfinite(ends).all() and np.mean((ends[:, 0] <= new) & (new <= ends[:, 1])) > 0.7


def test_intervals_are_calibrated_on_settings_that_are_asked_for():
    """Not on those of the margin around them, which are harder: nothing was learnt beyond them."""
    inside = next(one for one in design.drawn(99, 1) if one["downtime"] == "drop" and one["migrated_flows"] == 2)
    assert model._is_asked(list(design.drawn(200, 1))).all()
    beyond = [
        {name: (low if end else high) * (0.99 if end else 1.01)}
        for name, (low, high) in design.RANGES.items()
        for end in (True, False)
        if name not in ("mib", "night_share")
    ]
    beyond += [{f"{group}_mib": size * 2.0 for group in GROUPS} for size in (63, 257)]
    beyond += [{"night_ms": inside["period_ms"] * share} for share in (0.009, 0.201)]
    beyond += [{"start_ms": inside["period_ms"] * 1.01}]
    for change in beyond:
        asked = inside | change
        if "period_ms" in change:
            asked |= {
                name: inside[name] * change["period_ms"] / inside["period_ms"] for name in ("night_ms", "start_ms")
            }
        assert not model._is_asked([asked]).any(), change


@pytest.mark.parametrize("draw", ["unseen-4", "unseen-6"])
def test_the_shipped_model_is_as_good_as_was_published(shipped, draw):
    """On 200 and 400 settings that were drawn after it was made."""
    data = Dataset(pl.read_parquet(ROOT / "docs" / "learn" / f"{draw}.parquet"))
    published = json.loads((ROOT / "docs" / "learn" / f"{draw}.json").read_text())
    found = evaluate.judge(shipped, data)
    assert shipped.fingerprint == published["model"]
    for name in ("settings", "runs", "unended_runs", "outside", "unsure"):
        assert found[name] == published[name]
    for policy, of_policy in published["policies"].items():
        for name in ("predicted", "held"):
            assert found["policies"][policy][name] == pytest.approx(of_policy[name], rel=1e-6), (policy, name)


def test_what_a_run_shows_becomes_its_row(tmp_path):
    settings = [one | {"migrated_mib": 8.0, "main_mib": 8.0} for one in design.drawn(3, 4)]
    settings = [one | {"migrated_flows": 2, "main_flows": 2} for one in settings]
    told = []
    data = dataset.made(settings, tmp_path, Local(2), runs=2, progress=lambda done, of: told.append((done, of)))
    assert (told[0], told[-1]) == ((0, 6), (6, 6))
    again = dataset.made(settings, tmp_path, Local(1), runs=2)
    assert data.table.equals(again.table) and data.table.height == 6
    # No two runs have the same seed: else all settings would have flows that start at the same times.
    assert data.table["seed"].to_list() == [1, 2, 3, 4, 5, 6]
    assert data.table["scenario"].to_list() == [0, 0, 1, 1, 2, 2]
    counted = [f"{group}_{name}" for group in GROUPS for name in ("fct_s", *dataset.COUNTED)]
    assert data.table.columns == [*settings[0], "scenario", "seed", *counted]
    row = data.table.row(3, named=True)
    run = daybreak.run(dataset.settings_.scenario_of(settings[1]), seed=4)
    means = dict(run.flows.group_by("group").agg(pl.col("fct_ns").mean()).iter_rows())
    assert data.seconds()[3] == pytest.approx((means["migrated"] - means["main"]) / 1e9)
    given = dataset.made(settings[1:2], tmp_path, Local(2), seeds=[(4, 9)])
    assert given.table["seed"].to_list() == [4, 9] and given.seconds()[0] == data.seconds()[3]
    assert row["migrated_rtos"] == run.flows.filter(pl.col("group") == "migrated")["rtos"].sum()


def test_runs_that_were_made_elsewhere_are_data_without_those_that_did_not_end(migration):
    scenarios = [
        migration.with_({"flows.1.name": "migrated", "timelines.0.flows": ["migrated"], "timelines.0.period": period})
        for period in ("10 ms", "20 ms")
    ]
    ends = {1: (5.0, 3.0), 2: (7.0, None), 3: (8.0, 4.0)}
    flows = pl.DataFrame([
        {"run": run, "group": group, "fct_ns": None if end is None else int(end * 1e9), "rtos": run, "tlps": 0}
        for run, both in ends.items()
        for group, end in zip(GROUPS, both, strict=True)
    ])  # fmt: skip
    data = dataset.of_runs([(scenarios[0], flows), (scenarios[1], flows.filter(pl.col("run") == 1))])
    assert data.table["seed"].to_list() == [1, 3, 1] and data.seconds().tolist() == [2.0, 4.0, 2.0]
    assert data.scenarios().tolist() == [1, 1, 2] and [one["period_ms"] for one in data.settings()] == [10, 10, 20]
    assert data.table["migrated_rtos"].to_list() == [1, 3, 1] and data.table["main_retransmits"].to_list() == [0, 0, 0]
    assert data.fingerprint == Dataset(data.table.clone()).fingerprint != Dataset(data.table[:2]).fingerprint


def test_a_flow_that_does_not_end_takes_the_whole_run_at_least():
    table = made_up(2).table.with_columns(migrated_fct_s=pl.Series([None, 2.0]), main_fct_s=pl.Series([0.5, 1.5]))
    assert Dataset(table).seconds().tolist() == [the_testbed().duration / 1e12 - 0.5, 0.5]
    flows = pl.DataFrame({"group": ["migrated", "migrated", "main"], "fct_ns": [1, None, 5]})
    found = dataset.of_groups(flows)
    assert found["migrated_fct_s"] is None and found["main_fct_s"] == 5e-9


def test_a_short_night_is_not_taken_for_a_resonance(shipped):
    """2.58 ms with 62 us dropped: 0.42 s by simulation. A model of a grid of cycles said 204 s."""
    setting = SETTING | {
        "migrated_mib": 256.0, "main_mib": 256.0, "main_variant": "cubic", "period_ms": 2.58, "night_ms": 0.062,
        "downtime": "drop",
    }  # fmt: skip
    assert shipped.domain.reasons(setting) == ()
    found = shipped.predict([setting])[0]
    assert 0 < found.prolongation_s < 1.5 and found.high_s < 20


@pytest.mark.parametrize("change", [{"hz": 100}, {"start_ms": 35.0}])
def test_ticks_and_phase_change_what_is_predicted(shipped, change):
    setting = SETTING | {"period_ms": 40.0, "night_ms": 4.0, "downtime": "drop", "start_ms": 2.0, "rate_gbps": 8.0}
    both = shipped.predict([setting, setting | change])
    assert both[0].prolongation_s != pytest.approx(both[1].prolongation_s, rel=0.01)


def test_the_shipped_model_is_of_the_whole_design(shipped):
    chosen = design.chosen()
    assert len(shipped.settings) == len(shipped.domain.numbers) == len(chosen)
    for place in (0, 1, len(chosen) // 2, -1):
        setting, seeds = chosen[place]
        known = shipped.settings.row(place, named=True)
        assert {name: known[name] for name in setting} == setting and known["runs"] == len(seeds)


def test_what_was_learnt_is_kept_with_its_mean_and_runs():
    """Each setting with its own: a shorter list of several runs each, in the order of the data."""
    data = made_up(20, runs=3)
    kept = model.fit(data, **QUICK).settings
    seconds = data.seconds().reshape(20, 3).mean(axis=1)
    assert kept["prolongation_s"].to_list() == pytest.approx(seconds.tolist(), rel=1e-6)
    assert set(kept["runs"]) == {3}
    for row, setting in zip(kept.iter_rows(named=True), data.settings()[::3], strict=True):
        assert {name: row[name] for name in setting} == setting


def test_a_scenario_that_may_end_before_its_flows_is_not_predicted(small):
    scenario = dataset.settings_.scenario_of(SETTING)
    assert not any("duration" in one for one in small.of_scenario(scenario).reasons)
    short = small.of_scenario(scenario.with_({"duration": "50 ms", "stack.rto_min": "100 ms"}))
    assert not short.holds
    assert any("duration = 50 ms" in one for one in short.reasons)
    assert any("stack.rto_min" in one for one in short.reasons)
