"""Two measures of candidates against each other."""

import math

import pytest

from daybreak.figures.tradeoff import Point, tradeoff
from daybreak.metrics.confidence import Interval, interval

LABELS = {"xlabel": "x", "ylabel": "y", "price": "z"}


def test_each_candidate_has_a_mark_at_its_means_and_bars_as_wide_as_its_intervals():
    wide, single = interval([1.0, 2.0, 3.0]), Interval(5.0, math.nan, math.nan, 1)
    figure = tradeoff([Point("a", wide, single, 3.0), Point("b$", single, wide, 4.0)], **LABELS)
    axes = figure.axes[0]
    marks = [container.lines[0].get_xydata()[0].tolist() for container in axes.containers]
    assert marks == [[2.0, 5.0], [5.0, 2.0]]
    across, upright = (segments.get_segments()[0] for segments in axes.containers[0].lines[2])
    assert across[:, 0].tolist() == pytest.approx([wide.low, wide.high]) and upright[:, 1].tolist() == [5.0, 5.0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", r"b\$"]


def test_candidates_at_one_point_share_their_mark_and_marks_differ_where_colours_are_used_up():
    same, other = interval([1.0, 2.0]), interval([3.0, 4.0])
    figure = tradeoff([Point("a", same, other, 1), Point("b", other, same, 1), Point("c", same, other, 1)], **LABELS)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a = c", "b"]
    assert len(figure.axes[0].containers) == 2
    many = [Point(str(at), interval([at, at + 1.0]), same, 1) for at in range(9)]
    looks = [
        (container.lines[0].get_color(), container.lines[0].get_marker())
        for container in tradeoff(many, **LABELS).axes[0].containers
    ]
    assert len(set(looks)) == 9


def test_no_candidate_is_an_error():
    with pytest.raises(ValueError, match="points"):
        tradeoff([], **LABELS)


def test_the_price_stands_beside_the_measures_with_its_own_scale():
    same, far = interval([1.0, 2.0]), interval([300.0, 301.0])
    left, right = tradeoff([Point("a", same, same, 2.0), Point("b", same, far, 101.0)], **LABELS).axes
    assert [axes.get_xlabel() for axes in (left, right)] == ["x", "z"] and left.get_ylabel() == "y"
    assert [one.lines[0].get_xydata()[0].tolist() for one in right.containers] == [[2.0, 1.5], [101.0, 300.5]]
    assert right.get_xscale() == "log" and left.get_xscale() == "linear"
    # Bars that reach below 0 have no place on a logarithmic axis.
    low = interval([-1.0, 3.0])
    assert tradeoff([Point("a", same, low, 2.0), Point("b", same, far, 3.0)], **LABELS).axes[0].get_yscale() == "linear"
    # The same measures at another price are another candidate.
    assert len(tradeoff([Point("a", same, same, 1), Point("b", same, same, 2)], **LABELS).axes[0].containers) == 2
