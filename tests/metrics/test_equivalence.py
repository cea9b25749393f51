"""Differences of paired runs: the tests are held to what can be worked out."""

import math

import numpy as np
import pytest

from daybreak.metrics import equivalence as eq


def test_the_signs_of_five_equal_differences_are_alike_in_two_of_32_ways() -> None:
    assert eq.permutation_p([1.0] * 5) == 2 / 32
    # All 2^14 choices are tried; 20,000 draws would only come near.
    assert eq.permutation_p([1.0] * 14) == 2 / 2**14
    assert eq.permutation_p([0.0] * 5) == 1.0
    # 3 + 1 - 1: of the eight sums +-3 +-1 +-1, all six with 3 in size 3 or more.
    assert eq.permutation_p([3.0, 1.0, -1.0]) == 6 / 8
    assert math.isnan(eq.permutation_p([])) and math.isnan(eq.permutation_p([1.0, math.nan]))


def test_drawn_signs_agree_with_all_of_them() -> None:
    values = np.random.default_rng(7).normal(0.4, 1.0, 14)
    exact = eq.permutation_p(values.tolist())
    # A pair without a difference changes nothing, and makes the signs be drawn.
    drawn = eq.permutation_p([*values.tolist(), 0.0])
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))


def test_under_no_difference_the_level_is_held() -> None:
    random = np.random.default_rng(3)
    found = [eq.permutation_p(random.exponential(size=9) * random.choice((-1, 1), size=9)) for _ in range(400)]
    assert np.mean(np.asarray(found) <= 0.05) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 400)


def test_equivalence_needs_the_interval_within_the_margin() -> None:
    # Mean 1, standard error 1 / sqrt(3): t(2) = (3 - 1) * sqrt(3) = 3.46, beyond which 3.71 % lie.
    assert eq.equivalence_p([0.0, 1.0, 2.0], 3.0) == pytest.approx(0.0371, abs=1e-4)
    assert eq.equivalence_p([0.0, -1.0, -2.0], 3.0) == pytest.approx(0.0371, abs=1e-4)
    assert eq.equivalence_p([0.0, 1.0, 2.0], 1.0) == pytest.approx(0.5)
    assert (eq.equivalence_p([2.0] * 3, 3.0), eq.equivalence_p([3.0] * 3, 3.0)) == (0.0, 1.0)
    # Without any spread the mean alone decides, to both sides.
    assert (eq.equivalence_p([-2.0] * 3, 3.0), eq.equivalence_p([-4.0] * 3, 3.0)) == (0.0, 1.0)
    assert math.isnan(eq.equivalence_p([1.0], 3.0))


def test_false_discoveries_are_held_as_benjamini_and_hochberg_do() -> None:
    # The example of their paper (section 3.2): four of fifteen at 0.05.
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1.0,
    ]
    assert eq.rejected(p) == [True] * 4 + [False] * 11
    # In any order, with the greatest p at its limit, 2 / 4 of 0.05, and all that are less with it.
    assert eq.rejected([0.9, 0.025, 0.8, 0.02]) == [False, True, False, True]
    assert eq.rejected([0.9, 0.026, 0.8, 0.02]) == [False] * 4
    assert eq.rejected([0.9, 0.026, 0.8, 0.02], level=0.06) == [False, True, False, True]
    assert eq.rejected([math.nan, 0.04]) == [False, True] and eq.rejected([]) == []


@pytest.mark.parametrize(
    ("different", "p", "judgement"),
    [(True, 0.01, "equivalent"), (False, 0.01, "equivalent"), (True, 0.4, "different"), (False, 0.4, "undecided"),
     (True, math.nan, "different"), (False, math.nan, "undecided"),
     # The level is one at which the hypothesis is rejected.
     (True, 0.05, "equivalent"), (True, 0.0501, "different")],
)  # fmt: skip
def test_a_difference_within_the_margin_is_none(different: bool, p: float, judgement: str) -> None:
    assert eq.judge(different, p) == judgement


def test_drawn_signs_never_have_a_p_value_of_zero() -> None:
    # None of 20,000 draws has 40 equal signs; the signs as they are count as one more.
    assert eq.permutation_p([1.0] * 40) == 1 / 20_001
    assert eq.permutation_p([0.0] * 40) == 1.0


def test_a_drawn_p_value_has_two_sides() -> None:
    values = np.random.default_rng(7).normal(0.4, 1.0, 20)
    assert eq.permutation_p((-values).tolist()) == eq.permutation_p(values.tolist()) < 0.9


def test_one_pair_is_decided_by_chance_alone():
    assert eq.permutation_p([-3.0]) == 1.0
    assert math.isnan(eq.equivalence_p([], 1.0)) and math.isnan(eq.equivalence_p([1.0, math.nan], 3.0))
    assert eq.equivalence_p([0.0, 0.0], 1.0) == 0.0
