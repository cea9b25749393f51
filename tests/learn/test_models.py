"""Models: what they promise, on data whose truth is known; and the data that they learn from."""

import functools
import math

import numpy as np
import polars as pl
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skops")

from sklearn.utils.estimator_checks import parametrize_with_checks

import daybreak
from daybreak.errors import OutputError, ScenarioError
from daybreak.learn import advice, conformal, dataset, evaluate, features, model, paper
from daybreak.learn.conformal import ConformalRegressor, QuantileForest
from daybreak.learn.dataset import DATA, MIXES, Dataset, built_in, of_sweep
from daybreak.learn.neural import NeuralMean
from daybreak.learn.tune import tune, utilisation
from daybreak.sweep import Local, Points, sweep
from daybreak.sweep.grid import parse

SETTING = {
    "migrated_variant": "cubic", "migrated_mib": 64.0, "migrated_flows": 1, "main_variant": "reno", "main_mib": 64.0,
    "main_flows": 1, "rate_gbps": 10.0, "rtt_us": 40.0, "buffer_packets": 250, "period_ms": 10.0, "night_ms": 0.0,
    "downtime": "none",
}  # fmt: skip


def made_up(seed=1, scenarios=120, seeds=2):
    """Data in which the prolongation is known but for noise that is the same for all runs of a scenario."""
    draw = np.random.default_rng(seed)
    rows = []
    for number in range(scenarios):
        setting = SETTING | {
            "migrated_variant": features.VARIANTS[draw.integers(4)],
            "period_ms": float(draw.choice([2, 5, 10, 20, 40])),
            "rtt_us": float(draw.choice([20, 40, 80])), "buffer_packets": int(draw.choice([60, 250])),
        }  # fmt: skip
        of_scenario = 0.5 / setting["period_ms"] + draw.normal() * 0.01
        for run in range(seeds):
            row = {"seed": run, "prolongation_s": of_scenario + draw.normal() * 0.001, "scenario": f"{number:05d}"}
            rows.append(setting | row)
    return Dataset(pl.DataFrame(rows))


@pytest.fixture
def small_networks(monkeypatch):
    """Networks that take little time: for tests that do not ask how good they are."""
    monkeypatch.setattr(conformal, "NeuralMean", functools.partial(NeuralMean, 2, 16))


@pytest.mark.usefixtures("small_networks")
@parametrize_with_checks(
    [
        ConformalRegressor(),
        ConformalRegressor("boosting"),
        ConformalRegressor("forest"),
        QuantileForest(20),
        NeuralMean(2, 64),
    ]
)
def test_estimators_keep_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("base", ["ensemble", "boosting", "forest"])
def test_intervals_cover_what_they_promise_of_new_scenarios(base):
    """Noise is of the scenario, not of the run: only a calibration by scenario gets this right."""
    draw = np.random.default_rng(5)

    def data(count, first):
        groups = np.repeat(np.arange(first, first + count), 4)
        x = np.repeat(draw.uniform(-2, 2, (count, 2)), 4, axis=0)
        noise = np.repeat(draw.normal(size=count) * (1 + abs(x[::4, 1])), 4)
        return x, np.sin(2 * x[:, 0]) + noise, groups

    x, y, groups = data(400, 0)
    fitted = ConformalRegressor(base).fit(x, y, groups)
    new_x, new_y, _ = data(1500, 1000)
    low, high = fitted.predict_interval(new_x).T
    coverage = np.mean((low <= new_y) & (new_y <= high))
    # 100 scenarios calibrate: a standard deviation of 3 %.
    assert 0.81 < coverage < 0.985


def test_networks_learn_a_smooth_law_and_the_ensemble_is_their_mean_with_trees():
    draw = np.random.default_rng(8)

    def data(count):
        x = np.column_stack([np.exp(draw.uniform(-3, 3, count)), draw.uniform(-1, 1, count)])
        return x, np.sin(np.log(x[:, 0])) * x[:, 1] + 5

    (x, y), (new_x, new_y) = data(3000), data(500)
    networks = NeuralMean().fit(x, y)
    assert np.mean((networks.predict(new_x) - new_y) ** 2) < 0.01 * np.var(new_y)
    parts = [ConformalRegressor("boosting").fit(x, y).predict(new_x), networks.predict(new_x)]
    assert ConformalRegressor("ensemble").fit(x, y).predict(new_x) == pytest.approx(np.mean(parts, axis=0))


def test_networks_do_not_extrapolate_and_are_the_same_again():
    draw = np.random.default_rng(9)
    x = draw.uniform(1, 2, (500, 2))
    fitted = NeuralMean(2).fit(x, x[:, 0] * 10)
    ends = fitted.predict(np.array([[x[:, 0].max(), 1.5], [x[:, 0].min(), 1.5]]))
    # Also where no logarithm exists.
    assert fitted.predict(np.array([[1000.0, 1.5], [-1000.0, 1.5]])) == pytest.approx(ends)
    assert (NeuralMean(2).fit(x, x[:, 0] * 10).predict(x) == fitted.predict(x)).all()
    assert (NeuralMean(2, random_state=2).fit(x, x[:, 0] * 10).predict(x) != fitted.predict(x)).any()


def test_networks_weigh_a_row_by_its_number_of_runs():
    # Two rows that differ by less than a network can tell.
    x = np.array([[1.0, 5.0]] * 3 + [[1.0, 5.0 + 1e-13]])
    y = np.array([0.0] * 3 + [4.0])
    assert NeuralMean(2, alpha=0).fit(x, y).predict(x[:1])[0] == pytest.approx(1.0, abs=0.1)


def test_a_quantile_forest_knows_the_quantiles_of_a_place():
    draw = np.random.default_rng(3)
    x = draw.uniform(0, 1, (4000, 1))
    y = draw.exponential(1 + 4 * (x[:, 0] > 0.5))
    low, high = QuantileForest(30, min_samples_leaf=100).fit(x, y).quantiles(np.array([[0.25], [0.75]]), (0.1, 0.9)).T
    assert high == pytest.approx([math.log(10), 5 * math.log(10)], rel=0.25)
    assert low == pytest.approx([-math.log(0.9), -5 * math.log(0.9)], rel=0.45)


def test_features_are_of_the_scenario(migration):
    setting = features.describe(
        migration.with_({"flows.1.name": "migrated", "timelines.0.flows": ["migrated"], "timelines.0.night": "1 ms"})
    )
    assert (setting["rate_gbps"], setting["rtt_us"], setting["buffer_packets"]) == (10, 40, 350)
    assert (setting["period_ms"], setting["night_ms"], setting["downtime"]) == (10, 1, "drop")
    row = dict(zip(features.NAMES, features.vector(setting), strict=True))
    assert (row["day_ms"], row["duty"], row["mib"], row["migrated_cubic"], row["main_bbr"]) == (9, 0.9, 32, 1, 0)
    assert row["ideal_ms"] == pytest.approx(32 * 2**20 * 8 / 1e7)
    assert len(row) == len(features.NAMES) == len(features.vector(setting))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"flows.0.name": "other"}, 'one entry with group "main"'),
        ({"stack.mtu": 1500}, "stack.mtu = 1500"),
        ({"topology.queue": "1 MB"}, "a model needs packets"),
        ({"timelines": []}, "exactly one, of kind"),
        ({"flows.0.size": "unlimited"}, 'size of "main"'),
    ],
)
def test_a_scenario_of_another_kind_is_one_sentence(migration, change, sentence):
    base = migration.with_({"flows.1.name": "migrated", "timelines.0.flows": ["migrated"]})
    with pytest.raises(ScenarioError, match=sentence):
        features.describe(base.with_(change))


@pytest.mark.parametrize("name", [*(grid for grids in DATA.values() for grid in grids), *MIXES])
def test_built_in_grids_are_settings_that_can_be_described(name):
    points = built_in(name)
    for number in list(points)[::37]:
        assert len(features.vector(features.describe(points.scenario(number)))) == len(features.NAMES)


def test_a_sweep_becomes_a_dataset_and_equal_scenarios_are_one(tmp_path):
    base = built_in("networks").base
    axes = {
        "downtime": {"field": "timelines.0.downtime", "values": ["drop", "hold"]},
        "size": {"fields": ["flows.0.size", "flows.1.size"], "values": ["4 MiB", "8 MiB"]},
    }
    points = Points(parse({"scenario": "-", "seeds": 3, "axes": axes}), base)
    sweep(points, tmp_path, executor=Local(2))
    data = of_sweep(points, pl.read_parquet(tmp_path / "flows"))
    # Without a night its policy is nothing: two scenarios, not four.
    assert data.table.height == 6 and len(set(data.scenarios())) == 2
    run = daybreak.run(points.scenario(0), seed=2)
    fcts = dict(run.flows.select("group", "fct_ns").iter_rows())
    row = data.table.filter((pl.col("seed") == 2) & (pl.col("migrated_mib") == 4)).row(0, named=True)
    assert row["prolongation_s"] == pytest.approx((fcts["migrated"] - fcts["main"]) / 1e9)


def test_points_of_a_grid_get_more_seeds_until_their_means_are_known(tmp_path, monkeypatch):
    size = {"fields": ["flows.0.size", "flows.1.size"], "values": ["4 MiB"]}
    points = Points(parse({"scenario": "-", "seeds": 5, "axes": {"size": size}}), built_in("networks").base)
    monkeypatch.setattr(dataset, "built_in", lambda grid: points)
    monkeypatch.setattr(dataset, "DATA", {"some": ("narrow", "given")})
    monkeypatch.setattr(dataset, "WIDTHS", {"narrow": 1e-9})
    monkeypatch.setattr(dataset, "MOST_RUNS", 7)
    assert dataset.made("some", tmp_path, Local(1)).table.height == 7
    assert pl.read_parquet(tmp_path / "given" / "flows")["seed"].n_unique() == 5


@pytest.mark.usefixtures("small_networks")
def test_splitting_by_run_is_optimistic_and_the_evaluation_shows_it():
    """Noise of whole scenarios cannot be predicted for others, but is learnt by heart from another run of the same."""
    draw = np.random.default_rng(1)
    data = made_up(seeds=3)
    unique = data.table.with_columns(rtt_us=data.table["scenario"].rank("dense").cast(pl.Float64) * 1.37)
    noise = np.repeat(draw.normal(size=120), 3)
    found = evaluate.evaluate(Dataset(unique.with_columns(prolongation_s=pl.Series(noise))))
    assert found["runs_left_out"]["r2"] > 0.5 > 0.2 > found["scenarios_left_out"]["boosting"]["r2"]
    assert found["ceiling"] == pytest.approx(1) and found["ceiling_runs"] == pytest.approx(1)
    assert found["judged_runs"] == 360


def test_scenarios_of_one_run_are_learnt_from_but_judge_nothing(monkeypatch):
    monkeypatch.setattr(evaluate, "BASES", ("boosting",))
    several, once = made_up(scenarios=60), made_up(seed=2, scenarios=200, seeds=1)
    wrong = once.table.with_columns(scenario=pl.lit("once ") + pl.col("scenario"), prolongation_s=pl.lit(50.0))
    both = Dataset(pl.concat([several.table, wrong]))
    assert both.repeated().sum() == 120
    found = evaluate.evaluate(both)
    assert (found["runs"], found["judged_runs"]) == (320, 120)
    # What was only learnt is all wrong: so are the predictions, but not the ceiling of what they are judged by.
    assert found["scenarios_left_out"]["boosting"]["r2"] < 0 < 0.9 < found["ceiling"] < 1


def test_scenarios_with_more_runs_weigh_no_more():
    few, many = made_up(scenarios=60, seeds=4).table, made_up(seed=2, scenarios=20, seeds=12).table
    data = Dataset(pl.concat([few, many.with_columns(scenario=pl.lit("many ") + pl.col("scenario"))]))
    common = data.table.filter(data.of_common_seeds())
    assert common.height == 80 * 4 and set(common["seed"]) == {0, 1, 2, 3}
    assert data.repeated().all()
    # The mean of a scenario is of all of its runs; runs are judged by those that all have.
    mean, ends = np.zeros(data.table.height), np.tile([-50.0, 50.0], (data.table.height, 1))
    ends[data.of_common_seeds()] = 50
    assert evaluate._numbers(data, mean, ends)["coverage"] == 0
    mean = model.target(data) + np.where(data.of_common_seeds(), 3, 0)
    assert evaluate._numbers(data, mean, ends)["r2"] < evaluate._numbers(data, model.target(data), ends)["r2"] == 1
    # Once there is only one run of a scenario, it has none.
    assert not made_up(scenarios=5, seeds=1).of_common_seeds().any()


def test_the_ceiling_is_what_chance_leaves_for_means_and_for_runs():
    data = made_up(scenarios=300, seeds=4)
    found = evaluate._ceilings(data, data.repeated())
    chance = 1 - found["ceiling_runs"]
    assert 1 - found["ceiling"] == pytest.approx(chance / 4, rel=0.2)


def test_a_model_finds_the_law_again_and_its_file_is_the_same_model(tmp_path):
    data = made_up()
    fitted = model.fit(data)
    model.save(fitted, tmp_path / "m.skops")
    again = model.load(tmp_path / "m.skops")
    wanted = [SETTING | {"period_ms": period} for period in (2.0, 20.0)]
    before, after = fitted.predict(wanted), again.predict(wanted)
    assert before == after
    for one, truth in zip(after, (0.25, 0.025), strict=True):
        assert one.prolongation_s == pytest.approx(truth, abs=0.02)
        assert one.low_s <= one.prolongation_s <= one.high_s and one.warnings == ()
        assert len(one.similar) == 3
    assert after[0].similar[0]["period_ms"] == 2
    far = again.predict([SETTING | {"period_ms": 1000.0}])[0]
    assert any("day_ms = 1000 is outside" in warning for warning in far.warnings)
    with pytest.raises(OutputError, match='variant "vegas"'):
        again.predict([SETTING | {"main_variant": "vegas"}])


def test_what_is_not_a_model_is_refused(tmp_path):
    import skops.io

    (tmp_path / "text.skops").write_text("no")
    with pytest.raises(OutputError, match="is not a model"):
        model.load(tmp_path / "text.skops")
    skops.io.dump({"regressor": pytest.approx, "features": []}, tmp_path / "code.skops")
    with pytest.raises(OutputError, match="it has parts of type"):
        model.load(tmp_path / "code.skops")
    # As a model was before it had several centers.
    skops.io.dump({"regressor": ConformalRegressor(), "features": list(features.NAMES)}, tmp_path / "old.skops")
    with pytest.raises(OutputError, match="of another version: make it anew"):
        model.load(tmp_path / "old.skops")


def test_the_papers_model_is_judged_by_its_own_protocol_and_by_settings():
    found, predicted = paper.evaluate(made_up(scenarios=60, seeds=3), search=False)
    assert found["r2"] > 0.9 and found["folds"] == 10 and len(predicted) == 180
    assert math.prod(len(values) for values in paper.PARAMETERS.values()) == 288
    assert all(value in paper.PARAMETERS[name] for name, value in paper.PRINTED.items())
    assert sum(found["importances"].values()) == pytest.approx(1)
    assert found["importances"]["day"] > 0.5


def test_advice_is_the_best_of_what_was_simulated(migration):
    base = built_in("networks").base.with_(
        {"flows.0.size": "16 MiB", "flows.1.size": "16 MiB", "timelines.0.period": "1 ms"}
    )
    found = tune(base, model.fit(made_up(), "boosting"), verified=2, seeds=2, workers=2)
    simulated = [one for one in found if one.simulated]
    assert len(simulated) == 3 and found[: len(simulated)] == simulated
    means = [one.simulated.mean for one in simulated]
    assert means == sorted(means) and {} in [one.changes for one in simulated]
    for one in simulated:
        runs = [daybreak.run(base.with_(one.changes), seed=seed).flows for seed in (1, 2)]
        fcts = [dict(run.select("group", "fct_ns").iter_rows()) for run in runs]
        truth = sum(fct["migrated"] - fct["main"] for fct in fcts) / 2e9
        assert one.simulated.mean == pytest.approx(truth)


def test_advice_can_be_for_utilisation():
    base = built_in("networks").base.with_(
        {"flows.0.size": "16 MiB", "flows.1.size": "4 MiB", "flows.1.count": 2, "timelines.0.period": "1 ms"}
    )
    found = tune(base, model.fit(made_up(), "boosting"), objective="utilisation", verified=3, seeds=2, workers=2)
    simulated = [one for one in found if one.utilisation]
    assert len(simulated) == 4 and found[: len(simulated)] == simulated
    used = [one.utilisation.mean for one in simulated]
    assert used == sorted(used, reverse=True) and 0 < used[-1] < used[0] < 1
    for one in simulated:
        flows = [daybreak.run(base.with_(one.changes), seed=seed).flows for seed in (1, 2)]
        bits = 24 * 2**20 * 8
        truth = [bits / (2e10 * (run["end_ns"].max() - run["start_ns"].min()) / 1e9) for run in flows]
        assert one.utilisation.mean == pytest.approx(sum(truth) / 2)


def test_a_flow_that_does_not_end_has_no_utilisation():
    base = built_in("networks").base.with_({"duration": "10 ms"})
    assert utilisation(daybreak.run(base)) is None


def test_advice_is_judged_by_the_same_seeds_with_and_without_it(tmp_path):
    base = built_in("networks").base.with_({"flows.0.size": "16 MiB", "flows.1.size": "16 MiB"})
    axes = {"cycle": {"field": "timelines.0.period", "values": ["1 ms", "1 s"]}}
    points = Points(parse({"scenario": "-", "seeds": 2, "axes": axes}), base)
    often, never = advice.judge(points, model.fit(made_up(), "boosting"), tmp_path, Local(2))
    assert often.changes and often.is_better and often.difference.mean < 0
    fcts = [
        dict(daybreak.run(points.scenario(0), seed=seed).flows.select("group", "fct_ns").iter_rows()) for seed in (1, 2)
    ]
    assert often.default.mean == pytest.approx(sum(fct["migrated"] - fct["main"] for fct in fcts) / 2e9)
    assert often.difference.mean == pytest.approx(often.advised.mean - often.default.mean)
    row = often.row()
    assert row["advice"].startswith("timelines.0.period=") and row["period_ms"] == 1
    # Flows that are never moved are left as they are: no advice is better.
    assert not never.is_better and never.advised.mean >= never.default.mean
