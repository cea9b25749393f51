"""Models: what they say, of what they say it, and what a broken file is told."""

import copy
import dataclasses
import io
import json
import math
import re
import shutil
import zipfile

import numpy as np
import polars as pl
import pytest
import skops.io
from made_up import QUICK, SETTING, made_up
from ready_files import ROOT

import daybreak
from daybreak.cli.main import _run
from daybreak.errors import OutputError
from daybreak.learn import dataset, design, evaluate, features, files, measured, model, paper, simulated, trees, tune
from daybreak.learn.conformal import ConformalRegressor
from daybreak.learn.dataset import Dataset
from daybreak.learn.setting import GROUPS
from daybreak.learn.setting import testbed as the_testbed
from daybreak.metrics.confidence import interval, t_quantile
from daybreak.sweeps import Local

KNOWN = ROOT / "scenarios" / "17-prolongation.toml"
"""What the model of prolongations was made for."""

SETTINGS = 600
"""Of the small model."""


@pytest.fixture(scope="module")
def small():
    found = model.fit(made_up(SETTINGS), **QUICK)
    model.calibrate(found, [made_up(settings=list(design.drawn(100, seed)), runs=4, seed=seed) for seed in (8, 9)])
    return found


@pytest.fixture(scope="module")
def shipped():
    return files.load()


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


def test_a_file_has_the_trees_and_the_settings_that_were_learnt_to_the_last_bit(small):
    """Nodes, thresholds and branches are built anew from what an archive has of them."""
    (whole, *_) = small.regressor.quantiles_
    again = trees.unpacked(*trees.packed(whole))
    assert len(again._predictors) == len(whole._predictors)
    for (before,), (after,) in zip(whole._predictors, again._predictors, strict=True):
        ends = before.nodes["is_leaf"] == 1
        assert (after.nodes["is_leaf"] == ends).all() and (
            after.nodes["value"][ends] == before.nodes["value"][ends]
        ).all()
        for name in ("feature_idx", "num_threshold", "bin_threshold", "left", "right"):
            assert (after.nodes[name][~ends] == before.nodes[name][~ends]).all(), name
    assert measured.unpacked(measured.packed(small.settings)).equals(small.settings)


def test_the_shipped_model_is_a_small_file():
    """A wheel has at most 7 MB, and half of it are libraries."""
    assert (ROOT / "python" / "daybreak" / "learn" / "networks.skops").stat().st_size < 3_700_000


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


def broken(path, change):
    """A copy of a model file with one array changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def arrays(members, wanted):
    for name, content in members.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(content), allow_pickle=False)
            if wanted(array):
                yield name, array


def put(members, name, array):
    content = io.BytesIO()
    np.save(content, array)
    members[name] = content.getvalue()


def of_layers(array):
    return array.ndim == 2 and array.shape[0] == len(features.NAMES)


def of_inputs(array):
    return array.dtype == np.int16


def of_values(array):
    return array.dtype == np.float32 and array.ndim == 1 and len(array) > 200


def of_thresholds(array):
    return array.dtype == np.uint8 and array.ndim == 1 and len(array) != SETTINGS


def of_settings(array):
    return array.dtype == np.uint8 and array.ndim == 2


def truncated(members):
    name = max((name for name in members if name.endswith(".npy")), key=lambda name: len(members[name]))
    members[name] = members[name][:-40]


def garbage(members):
    members[next(name for name in members if name.endswith(".npy"))] = b"garbage"


def without(members):
    del members[next(name for name in members if name.endswith(".npy"))]


def of_another_shape(members):
    name, array = next(arrays(members, of_layers))
    put(members, name, array[:-1])


def of_texts(members):
    name, array = next(arrays(members, of_layers))
    put(members, name, array.astype(str))


def not_finite(members):
    name, array = next(arrays(members, of_layers))
    array[0, 0] = np.nan
    put(members, name, array)


def a_tree_without_end(members):
    name, array = next(arrays(members, of_inputs))
    array[-1] = 0
    put(members, name, array)


def of_an_unknown_input(members):
    name, array = next(arrays(members, of_inputs))
    array[0] = len(features.NAMES)
    put(members, name, array)


def of_an_unknown_threshold(members):
    name, array = max(arrays(members, of_thresholds), key=lambda found: len(found[1]))
    put(members, name, np.full_like(array, 255))


def a_leaf_without_value(members):
    name, array = next(arrays(members, of_values))
    put(members, name, array[:-1])


def an_infinite_leaf(members):
    name, array = next(arrays(members, of_values))
    array[3] = np.inf
    put(members, name, array)


def too_few_settings(members):
    name, array = next(arrays(members, of_settings))
    put(members, name, array[:, :-1])


def names_from_the_end(members):
    """A variant or a policy would silently be another one."""
    name, array = next(arrays(members, lambda array: array.dtype == np.uint8 and array.shape == (SETTINGS,)))
    put(members, name, np.full_like(array, -1, dtype=np.int8))


def thresholds_from_the_end(members):
    name, array = max(arrays(members, of_thresholds), key=lambda found: len(found[1]))
    put(members, name, np.full_like(array, -1, dtype=np.int8))


def settings_of_three_bytes(members):
    name, array = next(found for found in arrays(members, of_settings) if len(found[1]) == 4)
    put(members, name, array[:3])


@pytest.mark.parametrize(
    "change",
    [
        truncated,
        garbage,
        without,
        of_another_shape,
        of_texts,
        not_finite,
        a_tree_without_end,
        of_an_unknown_input,
        of_an_unknown_threshold,
        a_leaf_without_value,
        an_infinite_leaf,
        too_few_settings,
        names_from_the_end,
        thresholds_from_the_end,
        settings_of_three_bytes,
    ],
)
def test_a_broken_part_is_one_sentence(small, tmp_path, change):
    place = tmp_path / "m.skops"
    files.save(small, place)
    broken(place, change)
    with pytest.raises(OutputError, match=r"m\.skops is not a model: ") as error:
        files.load(place)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["classes_", "shares_", "widened_"])
def test_a_file_whose_classes_do_not_fit_is_refused_before_it_predicts(small, tmp_path, name):
    regressor = copy.copy(small.regressor)
    setattr(regressor, name, getattr(regressor, name)[:-1])
    files.save(dataclasses.replace(small, regressor=regressor), tmp_path / "m.skops")
    with pytest.raises(OutputError, match="is not a model: "):
        files.load(tmp_path / "m.skops")


def test_a_cut_or_flipped_file_is_one_sentence(small, tmp_path):
    files.save(small, tmp_path / "m.skops")
    whole = (tmp_path / "m.skops").read_bytes()
    for place in range(0, len(whole), len(whole) // 25):
        (tmp_path / "cut.skops").write_bytes(whole[:place])
        with pytest.raises(OutputError, match="is not a model"):
            files.load(tmp_path / "cut.skops")
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        (tmp_path / "flipped.skops").write_bytes(flipped)
        try:
            found = files.load(tmp_path / "flipped.skops")
        except OutputError:
            continue
        # What is said twice in an archive, or not at all, may be flipped.
        assert found.predict([SETTING]) == small.predict([SETTING])


def test_what_is_not_a_model_is_refused(tmp_path, small):
    (tmp_path / "text.skops").write_text("no")
    with pytest.raises(OutputError, match="is not a model"):
        files.load(tmp_path / "text.skops")
    with pytest.raises(OutputError, match="is not a model"):
        files.load(tmp_path)
    skops.io.dump({"regressor": pytest.approx, "features": []}, tmp_path / "code.skops")
    with pytest.raises(OutputError, match="it has parts of type"):
        files.load(tmp_path / "code.skops")
    skops.io.dump({"regressor": ConformalRegressor(), "features": ["day"]}, tmp_path / "old.skops")
    with pytest.raises(OutputError, match="of another version: make it anew"):
        files.load(tmp_path / "old.skops")
    skops.io.dump({"features": list(features.NAMES)}, tmp_path / "part.skops")
    with pytest.raises(OutputError, match="is not a model"):
        files.load(tmp_path / "part.skops")
    shutil.rmtree(tmp_path)
    with pytest.raises(OutputError, match="cannot be written"):
        files.save(small, tmp_path / "m.skops")


def test_a_model_is_judged_by_means_and_intervals_within_each_policy(small, monkeypatch):
    monkeypatch.setattr(model, "TOLERATED", 1e9)
    settings = list(design.drawn(90, 6))
    data = made_up(settings=settings, runs=12, noise=0.05)
    found = evaluate.judge(small, data)
    assert (found["settings"], found["runs"], found["outside"], found["unsure"]) == (90, 1080, 0, 0)
    policies = found["policies"]
    assert sum(policies[name]["predicted"]["settings"] for name in ("none", "drop", "hold")) == 90
    whole = policies["all"]["predicted"]
    center = small.regressor.predict(features.matrix(settings), model.classes(settings))
    means = model.target(data).reshape(90, 12).mean(axis=1)
    assert whole["r2"] == pytest.approx(1 - np.mean((means - center) ** 2) / means.var())
    spread = model.target(data).reshape(90, 12).var(axis=1, ddof=1).mean() / 12
    assert whole["ceiling"] == pytest.approx(1 - spread / means.var())
    relative = (data.seconds() / data.ideal_s()).reshape(90, 12).mean(axis=1)
    said = np.sign(center) * np.expm1(np.abs(center))
    errors = (np.abs(said - relative) / relative)[relative > 0.05]
    assert whole["relative_error"] == pytest.approx(np.median(errors)) and whole["notable"] == len(errors)
    ends = small.regressor.predict_interval(features.matrix(settings), model.classes(settings))
    runs = model.target(data).reshape(90, 12)
    inside = (ends[:, :1] <= runs) & (runs <= ends[:, 1:])
    assert whole["coverage"] == pytest.approx(inside.mean())
    assert whole["within"] == 1 and found["unended_runs"] == 0
    unended = data.table.with_columns(migrated_fct_s=pl.Series([None, *data.table["migrated_fct_s"][1:]]))
    assert evaluate.judge(small, Dataset(unended))["unended_runs"] == 1
    assert json.loads(json.dumps(found)) == found


def test_what_is_simulated_is_no_prediction_and_judged_by_other_runs(small, monkeypatch):
    settings = list(design.drawn(40, 6))
    data, others = (made_up(settings=settings, runs=16, noise=0.2, seed=seed) for seed in (1, 2))
    monkeypatch.setattr(model, "TOLERATED", 0.0)
    simulated_ = list((others.seconds() / others.ideal_s()).reshape(40, 16))
    found = evaluate.judge(small, data, simulated_)
    answers = found["policies"]["all"]["answers"]
    assert found["unsure"] == 40 and answers["simulated"] == 1 and found["policies"]["all"]["held"] == {"settings": 0}
    early, late = (model.target(one).reshape(40, 16).mean(axis=1) for one in (others, data))
    assert answers["runs"] == 16 and answers["r2"] == pytest.approx(1 - np.mean((early - late) ** 2) / late.var())
    late = (data.seconds() / data.ideal_s()).reshape(40, 16).mean(axis=1)
    errors = (np.abs(np.mean(simulated_, axis=1) - late) / late)[late > 0.05]
    assert answers["relative_error"] == pytest.approx(np.median(errors)) and answers["within"] == 0
    assert answers["known"] == 0
    # The same mean from four times as many runs of one setting.
    simulated_[3] = np.tile(simulated_[3], 4)
    longer = evaluate.judge(small, data, simulated_)["policies"]["all"]["answers"]
    assert longer["runs"] == (39 * 16 + 64) / 40 and longer["r2"] == pytest.approx(answers["r2"])
    # Without runs that it may answer with, what it would simulate is not judged.
    assert evaluate.judge(small, data)["policies"]["all"]["answers"] == {"settings": 40}


def test_a_model_whose_error_is_tolerated_answers_itself(small, monkeypatch):
    data = made_up(settings=list(design.drawn(20, 6)), runs=32, noise=0.05)
    monkeypatch.setattr(model, "TOLERATED", 1e9)
    policies = evaluate.judge(small, data)["policies"]["all"]
    assert policies["held"]["settings"] == 20 and policies["answers"]["simulated"] == policies["answers"]["runs"] == 0
    assert policies["answers"]["within"] == 1
    assert policies["answers"]["r2"] == pytest.approx(policies["predicted"]["r2"])


def test_no_setting_is_sure_before_errors_were_measured():
    found = model.fit(made_up(100), **QUICK)
    assert all(math.isinf(one.error_s) and not one.holds for one in found.predict(list(design.drawn(20, 3))))


def test_the_shipped_model_is_sure_of_no_more_than_was_measured(shipped):
    """Of a setting without nights it said 0.031 s with an error of 0.005 s; 48 runs have a mean of 0.194 s."""
    setting = next(
        one
        for one in design.drawn(design.CALIBRATION_COUNT, design.CALIBRATION[1])
        if one["downtime"] == "none"
        and one["migrated_variant"] == one["main_variant"] == "westwood"
        and one["hz"] == 250
    )
    (found,) = shipped.predict([setting])
    assert found.error_s > 0.05 * dataset.settings_.ideal_s(setting) and "the model is not sure" in found.reasons[0]


def test_a_mean_is_known_when_its_margin_is_tolerated():
    assert simulated.is_known(np.tile([0.99, 1.01], 8).tolist())
    assert not simulated.is_known(np.tile([-5.0, 7.0], 32).tolist())
    # The margin of 16 values at 1 +- 0.3 is 0.17, of 8 it is 0.27: a fifth of the mean lies between.
    assert simulated.is_known(np.tile([0.7, 1.3], 8)) and not simulated.is_known(np.tile([0.7, 1.3], 4))
    # Of prolongations near zero, a fifth of 5 % of the ideal time.
    assert simulated.is_known(np.tile([-0.01, 0.01], 4)) and not simulated.is_known(np.tile([-0.013, 0.013], 4))
    assert not simulated.is_known([1.0])


def test_the_margin_is_looked_at_within_bounds_and_at_both():
    assert simulated.looks(0, 256) == [16, 32, 64, 128, 256]
    assert simulated.looks(40, 100) == [40, 64, 100] and simulated.looks(0, 5) == [5]
    assert simulated.looks(300, 256) == [300] and simulated.looks(20, 20) == [20]


def test_how_many_runs_it_will_take_is_told_from_how_margins_shrink():
    """With the root of the number of runs: 1.9 times what is tolerated takes 3.6 times as many, and the next look."""
    apart = 0.38 * 4 / t_quantile(16) / (16 / 15) ** 0.5
    values = [1 + apart, 1 - apart] * 8
    assert interval(values).margin == pytest.approx(0.38) and model.tolerated(1.0) == 0.2
    assert simulated._expected(values, 32, 256) == 64 and simulated._expected(values, 32, 40) == 40
    # Nothing is known of it before the first look.
    assert simulated._expected([], 16, 256) == 16


def test_a_setting_is_simulated_until_its_mean_is_known(monkeypatch):
    scenario = the_testbed().with_({"flows.0.size": "1 MiB", "flows.1.size": "1 MiB"})
    values = [tune.prolongation(daybreak.run(scenario, seed=seed)) for seed in (1, 17)]
    monkeypatch.setattr(model, "TOLERATED", 1e9)
    told = []
    found = simulated.simulated(scenario, workers=1, progress=lambda done, expected: told.append((done, expected)))
    assert len(found.values) == 16 and found.values[0] == values[0] and found.is_known
    assert told[-1] == (16, 16) and found.mean.runs == 16
    assert len(simulated.simulated(scenario, 20, workers=1).values) == 20
    monkeypatch.setattr(model, "TOLERATED", 1e-9)
    told.clear()
    found = simulated.simulated(scenario, most=40, workers=1, progress=lambda *both: told.append(both))
    assert len(found.values) == 40 and found.values[16] == values[1] and not found.is_known
    # A margin that nothing is tolerated of takes all that may be run.
    assert told[-1] == (40, 40) and [done for done, _ in told] == sorted(done for done, _ in told)
    unended = simulated.simulated(the_testbed().with_({"duration": "10 ms"}), workers=1)
    assert unended.values == (None,) * 16 and unended.mean is None and not unended.is_known


def test_what_is_tolerated_is_in_ideal_times(monkeypatch):
    """Of a transfer of a millisecond, half a millisecond more or less is not known, however few seconds it is."""
    scenario = the_testbed().with_({"flows.0.size": "1 MiB", "flows.1.size": "1 MiB"})
    ideal_s = simulated.settings_.ideal_s(simulated.settings_.describe(scenario))
    assert ideal_s < 0.002
    monkeypatch.setattr(simulated, "run_many", lambda jobs, **_: [(-1) ** seed * ideal_s / 2 for _, seed in jobs])
    found = simulated.simulated(scenario, most=32)
    assert len(found.values) == 32 and not found.is_known


def test_answers_are_simulated_as_the_command_does(small, tmp_path, monkeypatch):
    """Seeds of their own, and as many runs as it takes, up to the bound."""
    settings = [one | {"migrated_mib": 1.0, "main_mib": 1.0} for one in design.drawn(3, 4)]
    settings = [one | {"migrated_flows": 1, "main_flows": 1} for one in settings]
    monkeypatch.setattr(evaluate, "LOOKS", (2, 4))
    monkeypatch.setattr(evaluate, "is_known", lambda relative: len(relative) > 2 or relative[0] == known[0])
    ideal = [dataset.settings_.ideal_s(one) for one in settings]
    seeds = [evaluate.FIRST_SEED + place * evaluate.MOST for place in range(3)]
    known = [
        tune.prolongation(daybreak.run(dataset.settings_.scenario_of(settings[1]), seed=seeds[1])) / ideal[1]
    ]  # fmt: skip
    found = evaluate.answered(small, settings, tmp_path, Local(1))
    assert found[1][0] == pytest.approx(known[0]) and [len(one) for one in found] == [4, 2, 4]
    run = daybreak.run(dataset.settings_.scenario_of(settings[2]), seed=seeds[2] + 3)
    assert found[2][3] == pytest.approx(tune.prolongation(run) / ideal[2])


def test_predict_shows_what_a_model_is_sure_of(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(model, "TOLERATED", 1e9)
    files.save(small, tmp_path / "m.skops")
    given = ["predict", str(KNOWN), "--model", str(tmp_path / "m.skops")]
    assert _run([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answer"] == "predicted" and found["reasons"] == [] and "simulated_s" not in found
    assert found["low_s"] <= found["prolongation_s"] <= found["high_s"] and len(found["similar"]) == 3
    assert _run([*given, "--check", "2", "--set", "flows.0.size=64 MiB", "--set", "flows.1.size=64 MiB"]) == 0
    shown = capsys.readouterr().out
    assert re.match(r"prolongation \S+ s, with an error of about \S+ s; 90 % of runs between ", shown)
    assert "simulated, 2 runs: prolongation " in shown and "most similar measured settings:" in shown


def test_the_papers_model_is_judged_by_its_own_protocol_and_by_settings(monkeypatch):
    monkeypatch.setitem(paper.PRINTED, "n_estimators", 50)
    found, predicted = paper.evaluate(made_up(60, runs=3), search=False)
    assert found["folds"] == 10 and len(predicted) == 180
    assert found["r2"] > found["settings_left_out"]["r2"]
    assert math.prod(len(values) for values in paper.PARAMETERS.values()) == 288
    assert all(value in paper.PARAMETERS[name] for name, value in paper.PRINTED.items())
    assert sum(found["importances"].values()) == pytest.approx(1)
    # The law knows periods and nights, and no variant.
    of_day, of_night, *of_variants = (found["importances"][name] for name in reversed(paper.INPUTS))
    assert min(of_day, of_night) > max(of_variants)
    data = made_up(60, runs=3)
    assert found["mse_s2"] == pytest.approx(np.mean((predicted - data.seconds()) ** 2)) and found["runs"] == 180
    assert found["range_s"] == [data.seconds().min(), data.seconds().max()] and found["settings"] == 60
    setting = data.settings()[3]
    cycle = f"{setting['period_ms'] - setting['night_ms']:g}+{setting['night_ms']:g} ms"
    assert found["prolongation_s_by_cycle"][cycle] == pytest.approx(data.seconds()[3:6].mean())
    assert found["squared_error_by_cycle"][cycle] == pytest.approx(np.mean((predicted - data.seconds())[3:6] ** 2))
    assert found["printed_parameters"] == {"mse_s2": found["mse_s2"], "r2": found["r2"]}
    # Where other parameters are found, the printed ones have a forest of their own.
    monkeypatch.setattr(paper, "PARAMETERS", {name: [value] for name, value in paper.PRINTED.items()})
    monkeypatch.setitem(paper.PARAMETERS, "max_depth", [1])
    searched, _ = paper.evaluate(made_up(60, runs=3))
    assert searched["best"]["max_depth"] == 1
    assert searched["printed_parameters"] == found["printed_parameters"] and searched["r2"] < found["r2"]
