"""Logarithmic axes have plain numbers, over decades and within one."""

import polars as pl
import pytest

from daybreak.figures import distributions
from daybreak.figures.log_axis import label


def marks(low, high):
    """The labels within the ends of the x axis of a cumulative distribution from one value to another."""
    table = pl.DataFrame({"value": [low, high], "share": [0.5, 1.0]})
    figure = distributions.cumulative({"a": table}, xlabel="x", ylabel="y", title="", log=True)
    (axes,) = figure.axes
    axes.set_xlim(low, high)
    figure.draw_without_rendering()
    shown = [text.get_text() for text in axes.get_xticklabels(which="both") if low <= text.get_position()[0] <= high]
    return [text for text in shown if text]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.0, 2.2, ["1", "1.25", "1.5", "1.75", "2"]),
        (1.003, 1.0065, ["1.003", "1.004", "1.005", "1.006"]),
        (60, 480, ["100", "200", "300", "400"]),
        (0.9, 110, ["1", "2", "5", "10", "20", "50", "100"]),
        (0.05, 90000, ["0.1", "1", "10", "100", "1000", "10000"]),
    ],
)
def test_marks_are_plain_numbers(low, high, expected):
    assert marks(low, high) == expected


def test_only_very_long_and_very_short_numbers_have_exponents():
    assert [label(value) for value in (0.001, 0.5, 20, 500_000)] == ["0.001", "0.5", "20", "500000"]
    assert [label(value) for value in (1e6, 2e6, 1e-4)] == ["$10^{6}$", r"$2\times10^{6}$", "$10^{-4}$"]
    assert len(marks(1e-9, 1e9)) <= 9


def test_percentiles_by_size_have_them_too():
    figure = distributions.by_bins(
        ["small", "large"], {"a": {"p50": [1.2, 1.9], "p99": [1.4, 2.5]}}, xlabel="x", ylabel="y", title=""
    )
    figure.draw_without_rendering()
    shown = [text.get_text() for text in figure.axes[0].get_yticklabels(which="both")]
    assert "2" in shown and not any("times" in text for text in shown)
