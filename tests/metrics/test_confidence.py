import math

import polars as pl
import pytest

from daybreak.metrics.confidence import interval, of_all, over_runs, stack, t_quantile


def test_interval_of_worked_numbers():
    # mean 3, s = sqrt(2.5), t(4) = 2.776445, half = 2.776445 * sqrt(2.5 / 5) = 1.963243
    found = interval([1, 2, 3, 4, 5])
    assert found.mean == 3
    assert found.low == pytest.approx(3 - 1.963243, abs=1e-6)
    assert found.high == pytest.approx(3 + 1.963243, abs=1e-6)
    assert found.runs == 5


def test_t_quantiles_of_the_tables():
    assert t_quantile(2) == pytest.approx(12.7062, abs=1e-4)
    assert t_quantile(30) == pytest.approx(2.04523, abs=1e-5)
    assert t_quantile(30, level=0.99) == pytest.approx(2.75639, abs=1e-5)


def test_one_value_has_no_interval():
    found = interval([7])
    assert found.mean == 7 and math.isnan(found.low) and math.isnan(found.high)
    assert not found.contains(7)
    assert not found.overlaps(interval([6, 8]))


def test_overlap():
    assert interval([1, 2, 3]).overlaps(interval([2, 3, 4]))
    assert not interval([1.0, 1.01, 0.99]).overlaps(interval([2.0, 2.01, 1.99]))


def test_over_runs_groups_and_leaves_single_runs_without_interval():
    table = pl.DataFrame({"group": ["a", "a", "b"], "run": [1, 2, 1], "x": [1.0, 3.0, 5.0]})
    found = over_runs(table, ["group"], "x")
    a, b = found.to_dicts()
    # s = sqrt(2), half = 12.7062 * sqrt(2) / sqrt(2)
    assert a["mean"] == 2 and a["high"] == pytest.approx(2 + 12.7062, abs=1e-4) and a["runs"] == 2
    assert b["mean"] == 5 and b["low"] is None and b["high"] is None


def test_over_runs_keeps_the_order_of_the_groups():
    groups = [f"g{number * 7 % 40}" for number in range(40)]
    table = pl.DataFrame({"group": groups * 2 + groups[:20], "x": [float(number) for number in range(100)]})
    found = over_runs(table, ["group"], "x")
    assert found["group"].to_list() == groups
    assert found["runs"].to_list() == [3] * 20 + [2] * 20
    assert found.columns == ["group", "mean", "low", "high", "runs"]


def test_of_all_has_no_mean_if_one_is_missing():
    assert of_all([1.0, 2.0, 3.0]) == interval([1, 2, 3])
    assert of_all([1.0, None]) is None and of_all([]) is None


def test_an_interval_is_told_with_its_half_width():
    assert interval([1, 2, 3, 4, 5]).text() == "3 +- 2"
    assert interval([0.123456]).text() == "0.1235"


def test_the_margin_is_half_of_the_interval():
    assert interval([1, 2, 3, 4, 5]).margin == pytest.approx(1.963243, abs=1e-6)
    # With one value nothing is known of the others.
    assert interval([7]).margin == 0


def test_stack_names_the_run():
    one = pl.DataFrame({"x": [1]})
    assert stack([(4, one), (9, one)])["run"].to_list() == [4, 9]
