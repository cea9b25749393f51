"""What is concluded from runs: candidates and their order, advice on another engine, answers of a model."""

import math

import numpy as np
import polars as pl
import pytest
from made_up import SETTING

from daybreak.learn import advice, evaluate, model, paper, setting, simulated
from daybreak.learn import tune as tune_
from daybreak.learn.dataset import COUNTED, Dataset, of_groups
from daybreak.learn.model import Prediction
from daybreak.learn.tune import Advice, Candidate, Outcome
from daybreak.metrics.confidence import of_all

SURE = Prediction(1.0, 0.5, 1.5, 0.1, (), ())


def candidate(*prolongations, period=10.0, dark=1.0, used=0.5, predicted=1.0, moved=True):
    """A candidate that was run; its utilisation falls a little from run to run."""
    runs = tuple(Outcome(one, None if one is None else used - at / 100, moved) for at, one in enumerate(prolongations))
    return Candidate({"p": period}, period, dark, Prediction(predicted, 0, 2, 0, (), ()), runs)


def test_a_cost_is_small_where_the_objective_is_met():
    one = Outcome(2.0, 0.25, True)
    assert (one.cost("prolongation"), one.cost("utilisation")) == (2.0, -0.25)
    # What is not known of one is told by the other: there is none where a flow did not end.
    assert Outcome(2.0, None, True).cost("utilisation") == 2.0
    assert Outcome(None, None, True).cost("utilisation") is Outcome(None, None, True).cost("prolongation") is None


def test_a_candidate_counts_its_runs():
    one = candidate(1.0, 2.0, 6.0, dark=2.0)
    assert (one.duty, one.wait_ms, one.unended, one.unmoved) == (0.8, 7.0, 0, 0)
    assert (one.simulated.mean, one.simulated.runs) == (3.0, 3)
    assert one.utilisation.mean == pytest.approx(0.49)
    some = candidate(1.0, None, 3.0, None, moved=False)
    assert (some.unended, some.unmoved, some.simulated, some.utilisation) == (2, 4, None, None)
    never = candidate()
    assert (never.simulated, never.utilisation, never.unended, never.unmoved) == (None, None, 0, 0)


def test_who_is_worse_is_told_run_by_run():
    one, other = candidate(3.0, 5.0, 9.0), candidate(1.0, 4.0, used=0.25)
    worse = one.worse_than(other, "prolongation")
    # Of the seeds that both have: by 2 and by 1.
    assert (worse.mean, worse.runs) == (1.5, 2)
    assert one.worse_than(other, "utilisation").mean == pytest.approx(-0.25)
    assert one.worse_than(candidate(1.0, None), "prolongation") is None
    assert one.worse_than(candidate(), "prolongation") is None


def test_candidates_are_in_order_of_runs_then_of_means_then_of_predictions():
    often, well, badly = candidate(*[5.0] * 8), candidate(1.0, 1.0), candidate(2.0, 2.0, used=0.9)
    guessed, later = candidate(predicted=-1.0), candidate(predicted=3.0)
    unended = candidate(0.0, None)
    some = [unended, later, badly, guessed, often, well]

    def ordered(objective):
        return sorted(some, key=lambda one: tune_._order(one, objective))

    assert ordered("prolongation") == [often, well, badly, guessed, later, unended]
    assert ordered("utilisation") == [often, badly, well, guessed, later, unended]


def test_those_that_may_be_best_are_not_told_apart():
    best, near, far = candidate(1.0, 1.2, 1.1), candidate(1.1, 1.1, 1.2), candidate(9.0, 9.1, 9.2)
    unrun, unended = candidate(), candidate(1.0, None, 1.0)
    found = Advice((best, near, far, unrun, unended), 50.0, "prolongation")
    assert found.best is best and found.not_told_apart == (near,)
    assert tune_._undecided([far, near, best, unrun], "prolongation") == [2, 1]
    # Runs that are all the same decide nothing.
    assert tune_._undecided([best, candidate(1.0, 1.2, 1.1), far], "prolongation") == []
    assert Advice((unended,), 50.0, "prolongation").best is None
    assert Advice((unended, near), 50.0, "prolongation").not_told_apart == ()


@pytest.mark.parametrize(("periods", "is_longest"), [
    ((50.0,), True), ((60.0,), True), ((20.0,), False), ((50.0, 20.0), False), ((20.0, 50.0), False),
    ((50.0, 90.0), True),
])  # fmt: skip
def test_advice_is_only_the_longest_period_if_no_shorter_one_is_as_good(periods, is_longest):
    same = tuple(candidate(1.0, 1.2, 1.1, period=one) for one in periods)
    assert Advice(same, 50.0, "prolongation").is_only_the_longest == is_longest
    assert not Advice((candidate(None),), 50.0, "prolongation").is_only_the_longest


def test_buffers_and_variants_are_looked_at_in_their_order():
    tune_.check([1, 2], ["cubic", "bbr"])
    for given, sentence, field in (
        (([5, 0, 5], []), "buffer 0: expected at least 1 packet", "topology.queue"),
        (([5, 5], ["x"]), "buffer 5: it is given twice", ""),
        (([], ["x", "x"]), "variant x: it is given twice", ""),
        (([], ["bbr", "x"]), 'variant "x": expected one of cubic, bbr, reno, westwood', "flows"),
    ):  # fmt: skip
        with pytest.raises(tune_.ScenarioError) as caught:
            tune_.check(*given)
        assert (str(caught.value), caught.value.field or "") == (sentence, field)


def test_a_mix_is_judged_by_the_means_and_differences_of_its_seeds():
    mix = setting.scenario_of(SETTING)
    found = advice._judged(mix, {"a": 1, "b": "x"}, [1.0, 3.0, 5.0], [0.5, 1.0, 4.5])
    assert (found.default.mean, found.advised.mean, found.difference.mean) == (3.0, 2.0, -1.0)
    assert found.setting == setting.describe(mix)
    assert found.row() == setting.describe(mix) | {
        "advice": "a=1, b=x", "default_s": 3.0, "default_low_s": found.default.low,
        "default_high_s": found.default.high, "advised_s": 2.0, "advised_low_s": found.advised.low,
        "advised_high_s": found.advised.high, "difference_s": -1.0, "difference_low_s": found.difference.low,
        "difference_high_s": found.difference.high, "is_better": True,
    }  # fmt: skip
    assert found.default == of_all([1.0, 3.0, 5.0]) and found.difference == of_all([-0.5, -2.0, -0.5])
    some = advice._judged(mix, {}, [1.0, None], [0.5, 1.0])
    assert (some.default, some.advised.mean, some.difference) == (None, 0.75, None)
    assert some.is_better and not advice._judged(mix, {}, [0.5], [0.5]).is_better


@pytest.mark.parametrize(
    ("relative", "least"), [(1.0, 0.2), (-1.0, 0.2), (0.05, 0.01), (0.01, 0.01), (0.0, 0.01), (2, 0.4)]
)
def test_what_is_tolerated_is_a_fifth_and_never_less_than_that_of_a_twentieth(relative, least):
    assert model.tolerated(relative) == pytest.approx(least)


def test_the_scale_is_logarithmic_on_both_sides_of_zero():
    values = np.array([0.0, math.e - 1, 1 - math.e, math.e**2 - 1])
    assert model.scaled(values) == pytest.approx([0, 1, -1, 2])
    assert model.seconds(model.scaled(values), np.full(4, 3.0)) == pytest.approx(3 * values)


def test_a_prediction_that_is_unsure_is_inside_and_does_not_hold():
    def of(*reasons):
        found = Prediction(1.0, 0.5, 1.5, 0.1, reasons, ())
        return found.holds, found.is_inside

    unsure = "the model is not sure: it says"
    assert [of(), of(unsure), of("stack.hz"), of(unsure, "stack.hz")] == [
        (True, True), (False, True), (False, False), (False, False),
    ]  # fmt: skip
    assert model.classes([SETTING | {"downtime": one} for one in ("hold", "none", "drop")]).tolist() == [2, 0, 1]


def dataset(*rows):
    """Runs of `SETTING`, each with its scenario, its FCTs in s and two flows' timeouts."""
    return Dataset(pl.DataFrame([
        SETTING | {"migrated_flows": 2, "scenario": name, "seed": seed, "migrated_fct_s": migrated, "main_fct_s": main}
        | {f"{group}_{kind}": counted for group in setting.GROUPS for kind in COUNTED}
        for seed, (name, migrated, main, counted) in enumerate(rows)
    ], schema_overrides={"migrated_fct_s": pl.Float64}))  # fmt: skip


def test_networks_learn_what_the_target_comes_from_too():
    data = dataset(("a", 0.5, 0.25, 0), ("a", None, 0.25, 4))
    ideal = 2**29 / 1e10
    found = model._values(data)
    assert found.shape == (2, 1 + 2 * (1 + len(COUNTED)))
    assert found[:, 0] == pytest.approx(np.log1p([0.25 / ideal, (1200 - 0.25) / ideal]))
    # A group's FCT that is not known is the end of the run; counts are those of a flow.
    assert found[0, 1:5] == pytest.approx([np.log(0.5 / ideal), 0, 0, 0])
    assert found[1, 1:5] == pytest.approx([np.log(1200 / ideal), *[np.log1p(2)] * 3])
    assert found[1, 5:] == pytest.approx([np.log(0.25 / ideal), *[np.log1p(2)] * 3])


def test_a_group_is_kept_with_its_mean_and_the_sums_of_its_flows():
    flows = pl.DataFrame({
        "group": ["main", "migrated", "main", "main"], "fct_ns": [1, 10, 2, 6], "rtos": [1, 0, 2, 3],
        "tlps": [4, 5, 6, 7],
    })  # fmt: skip
    assert of_groups(flows) == {
        "migrated_fct_s": 1e-8, "migrated_rtos": 0, "migrated_tlps": 5, "migrated_retransmits": 0, "main_fct_s": 3e-9,
        "main_rtos": 6, "main_tlps": 17, "main_retransmits": 0,
    }  # fmt: skip


def test_a_model_is_judged_on_what_was_known_of_settings():
    """Two settings of two runs each: 0.1 and 0.3, and 0.8 and 1.2, in the target and in the ideal time."""
    runs, number = np.array([0.1, 0.3, 0.8, 1.2]), np.array([0, 0, 1, 1])
    center = np.array([0.3, 0.9])
    ends = np.array([[0.0, 0.2], [0.9, 1.2]])
    known = evaluate._Known(runs, number, runs, center, ends, simulated=[np.array([0.5, 0.7]), np.zeros(0)])
    both = np.array([True, True])
    found = known.numbers(both)
    # Means of 0.2 and 1.0, with a variance of 0.16; the variances over the runs are 0.01 and 0.04.
    assert found["settings"] == 2 and found["r2"] == pytest.approx(1 - 0.01 / 0.16)
    assert found["ceiling"] == pytest.approx(1 - 0.025 / 0.16) and found["coverage"] == 0.5
    said = np.expm1(center)
    relative = [(said[0] - 0.2) / 0.2, (said[1] - 1.0) / 1.0]
    assert found["relative_error"] == pytest.approx(sum(relative) / 2) and found["notable"] == 2
    # Errors of 0.15, of which 0.04 are tolerated, and of 0.46, of which 0.2 are.
    assert found["within"] == 0.0
    # Where the model is not sure of the first one, its two runs are the answer: 0.6.
    answers = known.answers(both, np.array([False, True]))
    assert (answers["settings"], answers["simulated"], answers["runs"], answers["known"]) == (2, 0.5, 2.0, 0.0)
    first = np.log1p([0.5, 0.7]).mean()
    assert answers["r2"] == pytest.approx(1 - ((first - 0.2) ** 2 + 0.01) / 2 / 0.16)
    assert answers["relative_error"] == pytest.approx((0.4 / 0.2 + relative[1]) / 2)
    sure = known.answers(both, both)
    assert (sure["simulated"], sure["runs"], sure["known"], sure["r2"]) == (0.0, 0.0, None, pytest.approx(found["r2"]))
    # One setting has no variance, and without runs there is no answer.
    assert known.numbers(np.array([True, False])) == {"settings": 1} == known.answers(np.array([True, False]), both)
    unsimulated = evaluate._Known(runs, number, runs, center, ends, simulated=[])
    assert unsimulated.answers(both, np.array([False, True])) == {"settings": 2}
    assert unsimulated.answers(both, both) == sure


def test_errors_are_those_of_answers_in_the_ideal_time():
    means, truth = np.array([0.0, 1.0, 2.0]), np.array([0.04, 1.0, -3.0])
    found = evaluate._errors(np.array([0.0, 1.0, 1.0]), np.array([0.045, 0.81, -2.3]), means, truth)
    assert found["r2"] == pytest.approx(1 - (1 / 3) / (2 / 3))
    # Only the second one is notable; the last one is wrong by more than the 0.6 that are tolerated.
    assert (found["notable"], found["relative_error"]) == (1, pytest.approx(0.19))
    assert found["within"] == pytest.approx(2 / 3)
    none = evaluate._errors(means, truth, means, np.array([0.04, 0.05, -3.0]))
    assert (none["notable"], none["relative_error"]) == (0, None)


def test_the_papers_inputs_and_what_they_are_worth():
    rows = [
        SETTING | {"period_ms": 10.0, "night_ms": 1.0},
        SETTING | {"period_ms": 5.0, "night_ms": 2.0, "main_variant": "bbr"},
    ]
    data = Dataset(pl.DataFrame(rows))
    assert paper.inputs(data).tolist() == [
        [9, 1, 1, 0, 0, 0, 0, 0, 1, 0], [3, 2, 1, 0, 0, 0, 0, 1, 0, 0],
    ]  # fmt: skip
    worth = paper._by_input(np.array([0.1, 0.2, 0.01, 0.02, 0.03, 0.04, 0.1, 0.1, 0.2, 0.2]))
    assert worth == pytest.approx({"migrated variant": 0.1, "main variant": 0.6, "day": 0.1, "night": 0.2})
    twice = Dataset(pl.DataFrame([rows[0], rows[1], rows[0]]))
    assert paper._by_cycle(twice, np.array([1.0, 5.0, 3.0])) == {"3+2 ms": 5.0, "9+1 ms": 2.0}


def test_a_mean_of_simulations_is_known_by_its_margin():
    assert simulated.Simulated((1.0, 1.1), 2.0).is_known and not simulated.Simulated((1.0, 1.1), 0.1).is_known
    assert not simulated.Simulated((1.0,), 2.0).is_known and not simulated.Simulated((1.0, None), 99.0).is_known
    margin = of_all([1.0, 1.1]).margin
    assert simulated.Simulated((1.0, 1.1), margin).is_known
    assert (simulated.Simulated((1.0, None), 1.0).mean, simulated.Simulated((1.0, 3.0), 1.0).mean.mean) == (None, 2.0)
