"""Measures of what an event does to a rate, on tables small enough to compute by hand."""

import polars as pl
import pytest

from daybreak.metrics import transient

SERIES = pl.DataFrame(
    {"time_s": [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0], "mbps": [90.0, 100.0, 130.0, 60.0, 80.0, 96.0, 100.0]}
)


def test_before_is_the_last_bin_before_the_event():
    assert transient.before(SERIES, "mbps") == 100.0
    with pytest.raises(ValueError, match="no bin before"):
        transient.before(SERIES.filter(pl.col("time_s") >= 0), "mbps")


def test_the_trough_is_the_lowest_bin_in_its_time():
    assert transient.trough(SERIES, "mbps", width_s=1, within_s=10) == transient.Trough(60.0, 2.0)
    assert transient.trough(SERIES, "mbps", width_s=1, within_s=1) == transient.Trough(130.0, 1.0)


def test_of_two_lowest_bins_the_first_is_the_trough():
    flat = SERIES.with_columns(mbps=pl.lit(5.0))
    assert transient.trough(flat, "mbps", width_s=1, within_s=10) == transient.Trough(5.0, 1.0)


@pytest.mark.parametrize(("level", "recovered"), [(50, 0.0), (60, 0.0), (75, 3.0), (95, 4.0), (99, 5.0), (101, None)])
def test_recovery_counts_from_the_event_and_not_what_was_before_the_trough(level, recovered):
    assert transient.recovery_s(SERIES, "mbps", width_s=1, level=level, within_s=10) == recovered


def test_a_level_is_reached_at_the_end_of_the_first_bin_that_has_it():
    assert transient.reached_s(SERIES, "mbps", width_s=1, level=96) == 1.0
    assert transient.reached_s(SERIES, "mbps", width_s=1, level=131) is None


def test_a_mean_is_of_the_bins_that_start_between():
    assert transient.mean_between(SERIES, "mbps", 1, 3) == 70.0
    assert transient.mean_between(SERIES, "mbps", 9, 10) != transient.mean_between(SERIES, "mbps", 9, 10)


def test_a_line_and_how_straight_it_is():
    rising = pl.DataFrame({"time_s": [0.0, 1.0, 2.0, 3.0], "mbps": [1.0, 3.0, 5.0, 7.0]})
    found = transient.line(rising, "mbps", 0, 4)
    assert found.slope == pytest.approx(2) and found.r2 == pytest.approx(1)
    # Of (0, 0), (1, 1), (2, 0): the slope is 0, and nothing is explained.
    bent = pl.DataFrame({"time_s": [0.0, 1.0, 2.0], "mbps": [0.0, 1.0, 0.0]})
    assert transient.line(bent, "mbps", 0, 3).r2 == pytest.approx(0)
    with pytest.raises(ValueError, match="2 bins"):
        transient.line(rising, "mbps", 0, 2)


@pytest.mark.parametrize("column", ["time_s", "mbps"])
@pytest.mark.parametrize("measure", [
    lambda series: transient.before(series, "mbps"),
    lambda series: transient.mean_between(series, "mbps", 1, 3),
    lambda series: transient.trough(series, "mbps", width_s=1, within_s=10),
    lambda series: transient.recovery_s(series, "mbps", width_s=1, level=1, within_s=10),
    lambda series: transient.reached_s(series, "mbps", width_s=1, level=1),
])  # fmt: skip
def test_a_column_that_is_missing_is_named(measure, column):
    with pytest.raises(ValueError, match=f"table series: no column '{column}'"):
        measure(SERIES.drop(column))
