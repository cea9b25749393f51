"""Advice: what is offered, what is simulated, and what is said of it."""

import pytest
from made_up import QUICK, made_up

import daybreak
from daybreak.errors import ScenarioError
from daybreak.learn import advice, design, model
from daybreak.learn.setting import testbed as the_testbed
from daybreak.learn.tune import periods, tune, utilisation
from daybreak.sweeps import Local, Points
from daybreak.sweeps.grid import parse


@pytest.fixture(scope="module")
def small():
    found = model.fit(made_up(200), **QUICK)
    model.calibrate(found, [made_up(settings=list(design.drawn(200, 8)), runs=4, seed=8)])
    return found


def base(**changes):
    given = {"flows.0.size": "64 MiB", "flows.1.size": "64 MiB", "timelines.0.period": "3 ms"}
    return the_testbed().with_(given | changes)


def test_periods_are_offered_up_to_the_length_of_the_transfer():
    """64 MiB take 54 ms at 10 Gbit/s, 640 MiB half a second."""
    assert periods(base()) == [2, 5, 10, 20, 50]
    assert periods(base(**{"flows.0.size": "640 MiB"})) == [2, 5, 10, 20, 50, 100, 200, 500]
    assert periods(base(**{"timelines.0.period": "9 ms", "timelines.0.night": "5 ms"})) == [10, 20, 50]


def test_a_transfer_without_periods_to_choose_is_refused(small):
    with pytest.raises(ScenarioError, match=r"bytes take 0\.000839 s at the rate"):
        tune(base(**{"flows.0.size": "1 MiB"}), small)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"buffers": [0]}, "buffer 0: expected at least 1 packet"),
        ({"buffers": [-3]}, "buffer -3: expected at least 1 packet"),
        ({"buffers": [100, 200, 100]}, "buffer 100: it is given twice"),
        ({"variants": ["bbr", "bbr"]}, "variant bbr: it is given twice"),
        ({"variants": ["vegas"]}, 'variant "vegas": expected one of cubic, bbr, reno, westwood'),
    ],
)
def test_candidates_that_are_none_are_refused(small, given, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        tune(base(), small, **given)


def test_advice_is_the_best_of_what_was_simulated_and_nothing_is_simulated_twice(small, monkeypatch):
    monkeypatch.setattr(model, "TOLERATED", 1e9)
    scenario = base(**{"timelines.0.period": "10 ms"})
    found = tune(scenario, small, buffers=[250, 60], verified=2, seeds=2, workers=2)
    simulated = [one for one in found.candidates if one.simulated]
    assert len(simulated) == 3 and found.candidates[:3] == tuple(simulated)
    # 5 periods and 2 buffers; one of these is the setting as it is.
    assert len(found.candidates) == 10 and [one.changes for one in found.candidates].count({}) == 1
    assert {"timelines.0.period": "10 ms", "topology.queue": "250 packets"} not in [o.changes for o in found.candidates]
    means = [one.simulated.mean for one in simulated]
    assert means == sorted(means)
    for one in simulated:
        runs = [daybreak.run(scenario.with_(one.changes), seed=seed).flows for seed in (1, 2)]
        fcts = [dict(run.select("group", "fct_ns").iter_rows()) for run in runs]
        assert one.simulated.mean == pytest.approx(sum(fct["migrated"] - fct["main"] for fct in fcts) / 2e9)
    used = tune(scenario, small, objective="utilisation", verified=4, seeds=2, workers=2).candidates
    values = [one.utilisation.mean for one in used]
    assert values == sorted(values, reverse=True) and 0 < values[-1] < values[0] < 1


def test_what_the_model_cannot_predict_is_simulated(small):
    found = tune(base(**{"stack.rto_min": "100 ms"}), small, verified=1, seeds=2, workers=2)
    assert all(one.simulated and not one.predicted.holds for one in found.candidates)


def test_flows_that_are_never_moved_and_advice_that_is_only_the_longest_are_told(small):
    often = tune(base(**{"timelines.0.night": "300 us"}), small, verified=5, seeds=2, workers=2)
    assert often.longest_ms == 50 and often.is_only_the_longest == (often.best.period_ms == 50)
    assert often.is_only_the_longest and not any(one.is_unmoved for one in often.candidates if one.period_ms < 20)
    late = tune(base(**{"timelines.0.start": "300 ms"}), small, verified=1, seeds=2, workers=2)
    assert all(one.is_unmoved for one in late.candidates if one.simulated)


def test_a_flow_that_does_not_end_has_no_utilisation():
    assert utilisation(daybreak.run(the_testbed().with_({"duration": "10 ms"}))) is None


def test_advice_is_judged_by_the_same_seeds_with_and_without_it(small, tmp_path):
    axes = {"cycle": {"field": "timelines.0.period", "values": ["2 ms", "1 s"]}}
    points = Points(parse({"scenario": "-", "seeds": 2, "axes": axes}), base())
    often, never = advice.judge(points, small, tmp_path, Local(2))
    assert often.difference is None or often.difference.mean == pytest.approx(often.advised.mean - often.default.mean)
    fcts = [
        dict(daybreak.run(points.scenario(0), seed=seed).flows.select("group", "fct_ns").iter_rows()) for seed in (1, 2)
    ]
    assert often.default.mean == pytest.approx(sum(fct["migrated"] - fct["main"] for fct in fcts) / 2e9)
    assert often.row()["period_ms"] == 2
    assert never.default.mean == pytest.approx(never.advised.mean, abs=0.05)


@pytest.mark.parametrize("name", advice.MIXES)
def test_built_in_mixes_are_scenarios_of_the_testbed(name):
    points = advice.built_in(name)
    for number in points:
        assert periods(points.scenario(number))
