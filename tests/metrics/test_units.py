"""Numbers as people read them."""

import math

import pytest

from daybreak.metrics.units import (
    SIZES,
    TIMES,
    digits,
    in_one_unit,
    over,
    rate,
    size,
    span,
    time,
    time_with_margin,
    unit_of,
)


@pytest.mark.parametrize(("over_bytes", "upto", "text"), [
    (0, 10_000, "to 10 kB"), (10_000, 100_000, "10 kB to 100 kB"), (1, 999, "1 B to 999 B"),
    (10_000_000, None, "over 10 MB"), (0, None, "over 0 B"),
])  # fmt: skip
def test_a_bin_of_sizes_has_its_edges(over_bytes, upto, text):
    assert span(over_bytes, upto) == text


@pytest.mark.parametrize(("count", "text"), [
    (None, "unlimited"), (0, "0 B"), (1, "1 B"), (999, "999 B"), (1000, "1 kB"), (1500, "1.5 kB"), (999_999, "1000 kB"),
    (10**6, "1 MB"), (1_234_567, "1.235 MB"), (10**9, "1 GB"), (5 * 10**12, "5000 GB"),
])  # fmt: skip
def test_a_size_has_the_greatest_unit_of_which_it_is_one(count, text):
    assert size(count) == text


@pytest.mark.parametrize(("value", "text"), [
    (2.5, "2.5 Gbit/s"), (1000, "1 Tbit/s"), (0.999, "999 Mbit/s"), (2e-5, "20 kbit/s"), (5e-8, "50 bit/s"),
    (5e-10, "0.5 bit/s"), (0, "0 bit/s"), (-3.0, "-3 Gbit/s"),
])  # fmt: skip
def test_a_rate_has_too(value, text):
    assert rate(value) == text


@pytest.mark.parametrize(("value", "text"), [
    (None, "-"), (60, "60 s"), (1, "1 s"), (0.25, "250 ms"), (4e-6, "4 us"), (7e-9, "7 ns"), (-0.5, "-500 ms"),
])  # fmt: skip
def test_a_time_has_too(value, text):
    assert time(value) == text


@pytest.mark.parametrize(("values", "unit"), [
    # The geometric means are 10 ms and 1 s, and just below it.
    ([0.001, 0.1], (1e-3, "ms")), ([0.01, 100.0], (1.0, "s")), ([0.01, 99.0], (1e-3, "ms")),
    # The sign does not count, nor what is 0 or missing.
    ([-0.01, -0.02, 0.0, None], (1e-3, "ms")), ([0.0, None], (1.0, "s")), ([], (1.0, "s")),
    # What is smaller than all has the last one.
    ([1e-12], (1e-9, "ns")),
    # A mean of logarithms is not exact.
    ([0.001] * 3, (1e-3, "ms")),
])  # fmt: skip
def test_many_have_the_unit_of_their_geometric_mean(values, unit):
    assert unit_of(values, TIMES) == unit


def test_values_are_all_in_the_unit_that_most_read_best_in():
    assert in_one_unit([0.001, None, 0.25, 0.0], TIMES) == (["1.000", "-", "250.0", "0"], "ms")
    assert in_one_unit(iter([1500.0, 2_000_000.0]), SIZES) == (["1.500", "2000"], "kB")
    # The logarithm of 1000 and back is a little less than that.
    assert in_one_unit([1000.0], SIZES) == (["1.000"], "kB")


@pytest.mark.parametrize(("value", "text"), [
    (None, "-"), (math.nan, "-"), (0.0, "0"), (math.inf, "inf"), (-math.inf, "-inf"), (1.0, "1.000"), (12.345, "12.35"),
    (99.995, "100.0"), (1234.5, "1234"), (123456.0, "123500"), (0.00012345678, "0.0001235"), (-2.5, "-2.500"),
    # As many digits as a float has behind the point, and no more.
    (1.5e-14, "0.00000000000001500"), (1.5e-15, "1.500e-15"),
])  # fmt: skip
def test_numbers_have_four_significant_digits_and_no_exponent(value, text):
    assert digits(value) == text


def test_fewer_digits_may_be_asked_for():
    assert [digits(value, 2) for value in (1234.0, 1.26, 0.099)] == ["1200", "1.3", "0.099"]


def test_nothing_stays_nothing_in_every_unit():
    assert (over(None, 1e-3), over(0.5, 0.25)) == (None, 2.0)


@pytest.mark.parametrize(("mean", "margin", "text"), [
    (2.382e-6, 3.1e-7, "2.382 ± 0.31 us"), (0.5622, 0.005, "562.2 ± 5.0 ms"), (2.0, 0.0, "2.000 s"),
    (-0.001, 0.02, "-1.000 ± 20 ms"), (0.0, 0.0, "0 s"),
])  # fmt: skip
def test_a_mean_and_its_margin_have_one_unit(mean, margin, text):
    assert time_with_margin(mean, margin) == text


def test_times_of_few_digits_have_no_exponent():
    assert [time(value, 2) for value in (0.5563, 2.382e-6, 1234.0)] == ["560 ms", "2.4 us", "1200 s"]
