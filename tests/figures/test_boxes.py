"""Box plots: what the boxes, the means and the percentiles stand at."""

import numpy as np
import pytest

from daybreak.figures.boxes import ENOUGH, Box, BoxPanel, boxes

VALUES = [1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 10.0, 10.0]


def lines(figure):
    return [np.asarray(line.get_ydata(), dtype=float) for line in figure.axes[0].lines]


def test_a_box_goes_from_least_to_largest_and_the_mean_has_its_percentiles():
    figure = boxes([BoxPanel("one", {"place": {"a": Box(VALUES, (0.5, 5.0, 12.0))}})], ylabel="y")
    found = lines(figure)
    assert len(VALUES) >= ENOUGH
    assert any(np.allclose(y, 3.0) for y in found), "median"
    assert {1.0, 10.0} <= {float(value) for y in found for value in y}, "whiskers"
    beside = [np.mean(VALUES), np.percentile(VALUES, 95), np.percentile(VALUES, 99)]
    assert any(np.allclose(y, beside) for y in found if len(y) == 3)
    assert any(np.allclose(y, [0.5, 12.0]) for y in found if len(y) == 2), "printed range"
    assert any(np.allclose(y, [5.0]) for y in found if len(y) == 1), "printed mean"


def test_each_row_has_its_own_axis_and_each_series_its_name():
    one = {"p": {"a": Box([1.0, 1.1]), "b": Box([1.05])}, "q": {"a": Box([700.0, 705.0])}}
    figure = boxes([BoxPanel("x", one), BoxPanel("y", {"p": {"a": Box([30.0])}})], ylabel="s")
    assert [axes.get_ylabel() for axes in figure.axes] == ["p\ns", "", "q\ns", ""]
    # A spread of some percent fills most of its axis.
    for axes, (low, high) in ((figure.axes[0], (1.0, 1.1)), (figure.axes[2], (700.0, 705.0))):
        bottom, top = axes.get_ylim()
        assert high - low > 0.5 * (top - bottom)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["a, a line a run", "b, a line a run", "mean of the runs"]


def test_a_few_values_are_a_line_each():
    figure = boxes([BoxPanel("x", {"p": {"a": Box([1.0, 3.0], (0.5, 2.0, 4.0))}})], ylabel="y")
    drawn = {float(end[1]) for lines in figure.axes[0].collections for line in lines.get_segments() for end in line}
    assert drawn == {1.0, 3.0}
    assert any(np.allclose(y, [2.0]) for y in lines(figure) if len(y) == 1), "mean"


def test_values_that_are_missing_leave_the_place_empty():
    figure = boxes([BoxPanel("x", {"p": {"a": Box([]), "b": Box([1.0])}})], ylabel="y")
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["a", "b"]
    assert not [x for line in figure.axes[0].lines for x in line.get_xdata() if x < 0.5]


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match="no boxes"):
        boxes([], ylabel="y")
