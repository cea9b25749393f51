"""How a model is judged, and what is simulated where it is not sure."""

import json
import math
import re

import numpy as np
import polars as pl
import pytest
from made_up import QUICK, made_up
from ready_files import ROOT

import daybreak
from daybreak.cli.main import _run
from daybreak.learn import dataset, design, evaluate, features, files, model, paper, simulated, tune
from daybreak.learn.dataset import Dataset
from daybreak.learn.setting import testbed as the_testbed
from daybreak.metrics.confidence import interval, t_quantile
from daybreak.sweeps import Local

KNOWN = ROOT / "scenarios" / "17-prolongation.toml"
"""What the model of prolongations was made for."""


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
    assert re.match(r"prolongation \S+ ms, with an error of about \S+ ms; 90 % of runs between ", shown)
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
