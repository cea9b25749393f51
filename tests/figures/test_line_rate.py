"""Throughput beside the rate of a link: bands end there, and what is above it is said."""

import polars as pl
import pytest

from daybreak.figures import throughput
from daybreak.figures.curves import BAND, Panel


def panel(*means, half=3.0):
    table = pl.DataFrame({"time_s": [float(at) for at in range(len(means))], "mean": [float(mean) for mean in means]})
    return Panel("p", {"flow": table.with_columns(low=pl.col("mean") - half, high=pl.col("mean") + half)})


def band(figure):
    (collection,) = figure.axes[0].collections
    return [height for _, height in collection.get_paths()[0].vertices]


def test_bands_end_at_the_rate_and_at_zero():
    heights = band(throughput.over_time([panel(9, 10, 1)], rate_gbps=10))
    assert max(heights) == 10 and min(heights) == 0


def test_a_mean_above_the_rate_needs_a_word_and_has_it_in_the_legend():
    with pytest.raises(ValueError, match=r"above: expected words, a mean of 10.5 Gb/s exceeds the rate of 10 Gb/s"):
        throughput.over_time([panel(9, 10.5)], rate_gbps=10)
    figure = throughput.over_time([panel(9, 10.5)], rate_gbps=10, above="two links carry the flow")
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["flow", "rate of a link; above it, two links carry the flow", BAND]
    assert figure.axes[0].get_ylim()[1] > 10.5 and max(band(figure)) == 10.5
    below = throughput.over_time([panel(9, 10)], rate_gbps=10, above="two links carry the flow")
    assert [text.get_text() for text in below.legends[0].get_texts()] == ["flow", BAND]
