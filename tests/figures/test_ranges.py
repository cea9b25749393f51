"""Medians with their ranges."""

import pytest

from daybreak.figures.ranges import ranges

ROWS = {"as it is": {"Linux": [3.0, 1.0, 2.0], "ns-2": [5.0]}, "changed": {"Linux": [4.0]}}


def test_a_point_is_the_median_and_a_line_the_range():
    axes = ranges(ROWS, xlabel="Time [s]").axes[0]
    points = {line.get_label(): list(line.get_xdata()) for line in axes.lines}
    assert points == {"Linux": [2.0, 4.0], "ns-2": [5.0]}
    spans = [segment[:, 0].tolist() for lines in axes.collections for segment in lines.get_segments()]
    assert spans == [[1.0, 3.0], [4.0, 4.0], [5.0, 5.0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(ROWS)


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match="rows: none given"):
        ranges({}, xlabel="")
