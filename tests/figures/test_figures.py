import math

import polars as pl
import pytest
from matplotlib.figure import Figure

from daybreak.figures import style
from daybreak.figures.curves import BAND, Panel, small_multiples
from daybreak.figures.fct import Bar, bars
from daybreak.figures.shading import MOST_BANDS, Shading
from daybreak.figures.throughput import over_time
from daybreak.figures.window import over_time as windows_over_time
from daybreak.metrics.confidence import Interval

CURVE = pl.DataFrame(
    {"time_s": [0.0, 0.1, 0.2], "mean": [1.0, 10.0, 5.0], "low": [0.5, 9.9, 4.0], "high": [2.0, 10.1, 6.0]}
)
ONE_RUN = CURVE.with_columns(pl.lit(None, dtype=pl.Float64).alias("low"), pl.lit(None, dtype=pl.Float64).alias("high"))


def panel(title="CUBIC (50 ms)", **more):
    return Panel(title, {"migrated": CURVE, "main": CURVE}, **more)


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_a_panel_has_its_curves_bands_labels_and_limits():
    figure = over_time([panel(end_s=0.25)], rate_gbps=10, columns=1)
    (axes,) = figure.axes
    assert axes.get_title() == "CUBIC (50 ms)"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Time [s]", "Throughput [Gb/s]")
    assert axes.get_xlim() == (0, 0.25) and axes.get_ylim()[0] == 0 and 10 < axes.get_ylim()[1] < 12
    drawn = lines(axes)
    assert set(drawn) == {"migrated", "main"}
    assert drawn["main"].get_color() == style.COLOURS["main"]
    assert list(drawn["main"].get_ydata()) == [1, 10, 5]
    assert len(axes.collections) == 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["migrated", "main", BAND]


def test_one_run_has_no_band():
    figure = over_time([Panel("one", {"main": ONE_RUN})], rate_gbps=10)
    assert not figure.axes[0].collections


def test_small_multiples_share_the_axis_and_drop_empty_places():
    figure = small_multiples([panel("a"), panel("b"), panel("c")], ylabel="y", top=1, columns=2)
    assert [axes.get_title() for axes in figure.axes] == ["a", "b", "c"]
    assert figure.axes[0].get_ylabel() == "y" and figure.axes[1].get_ylabel() == ""
    with pytest.raises(ValueError, match="panels"):
        small_multiples([], ylabel="y", top=1)


def test_layered_curves_get_thinner():
    figure = over_time([panel(layered=True)], rate_gbps=10)
    widths = [line.get_linewidth() for line in figure.axes[0].get_lines()]
    assert widths[0] > widths[1]


def shading(period_ms, periods, night_ms=0):
    """The shading of a flow that is moved every period, shared in every second one."""
    rows = [("path 0", 0, period_ms)]
    for number in range(1, periods):
        start = number * period_ms
        if night_ms:
            rows.append(("night", start, start + night_ms))
        rows.append((f"path {number % 2}", start + night_ms, start + period_ms))
    table = pl.DataFrame(rows, schema=["phase", "start_ns", "end_ns"], orient="row")
    return Shading(table.with_columns(pl.col("start_ns", "end_ns") * 1_000_000), "path 1", "sharing one link")


def test_shading_shows_the_shared_intervals_and_the_nights():
    shaded = shading(100, 6, night_ms=10)
    assert [edge for band in shaded.bands(0.35) for edge in band] == pytest.approx([0.11, 0.2, 0.31, 0.35])
    assert [edge for night in shaded.nights(0.305) for edge in night] == pytest.approx(
        [0.1, 0.11, 0.2, 0.21, 0.3, 0.305]
    )
    figure = over_time([panel(shading=shaded, end_s=0.45)], rate_gbps=10)
    assert len(figure.axes[0].patches) == 2 + 4
    assert [text.get_text() for text in figure.legends[0].get_texts()][2:] == ["sharing one link", "night", BAND]


def test_a_phase_whose_end_is_not_known_goes_on():
    table = pl.DataFrame({"phase": ["path 0", "path 1"], "start_ns": [0, 10**8], "end_ns": [10**8, None]})
    assert Shading(table, "path 1", "shared").bands(0.4) == [(0.1, 0.4)]
    assert Shading(table, "path 1", "shared").bands(0.1) == []


@pytest.mark.parametrize(("periods", "bands"), [(2 * MOST_BANDS, MOST_BANDS), (2 * MOST_BANDS + 2, 0)])
def test_bands_too_narrow_to_see_are_left_out(periods, bands):
    figure = over_time([panel(shading=shading(1, periods), end_s=0.001 * periods)], rate_gbps=10)
    assert len(figure.axes[0].patches) == bands


def test_windows_have_their_unit_and_room_above():
    figure = windows_over_time([panel()])
    assert figure.axes[0].get_ylabel() == "In flight [KB]"
    assert figure.axes[0].get_ylim()[1] > 10


def test_bars_with_intervals_and_published_values():
    known, single = Interval(3.0, 2.5, 3.5, 5), Interval(2.0, math.nan, math.nan, 1)
    figure = bars(
        [Bar("10 ms", "main", known, 3.1), Bar("10 ms", "migrated", single), Bar("50 ms", "main", known)],
        ylabel="FCT [s]",
    )
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["10 ms", "50 ms"]
    assert sorted(patch.get_height() for patch in axes.patches) == [2, 3, 3]
    diamonds = [line for line in axes.get_lines() if line.get_marker() == "D"]
    assert [list(line.get_ydata()) for line in diamonds] == [[3.1]]
    assert axes.get_ylabel() == "FCT [s]"


def test_saved_files_are_the_same_bytes_every_time(tmp_path):
    for directory in ("a", "b"):
        style.save(over_time([panel(shading=shading(100, 4))], rate_gbps=10), tmp_path / directory, "figure")
    for name in ("figure.png", "figure.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert b"<dc:date>" not in (tmp_path / "a" / "figure.svg").read_bytes()


def test_letters_that_no_font_has_are_told_and_do_not_warn(recwarn):
    figure = Figure()
    with style.style():
        figure.subplots().set_title("rack \N{CJK UNIFIED IDEOGRAPH-4E2D} \N{LATIN SMALL LETTER E WITH ACUTE} \ue000")
    assert "\ue000" not in style.unknown_letters(figure)
    assert "\N{LATIN SMALL LETTER E WITH ACUTE}" not in style.unknown_letters(figure)
    has_one = len(style._families()) > 1
    assert ("\N{CJK UNIFIED IDEOGRAPH-4E2D}" in style.unknown_letters(figure)) == (not has_one)
    assert style.rendered(figure, "png").startswith(b"\x89PNG")
    assert not [one for one in recwarn if "Glyph" in str(one.message)]
