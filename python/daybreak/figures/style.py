"""The common style of all figures: fonts, colours that colour-blind readers can distinguish, and saving.

Figures are made without pyplot, so they need no display and leave a notebook's backend alone. Saving a figure twice
gives the same bytes: no dates, no random ids, no software version.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, fontManager, get_font
from matplotlib.text import Text

from daybreak.errors import PlotError

# Okabe and Ito's palette, which stays distinguishable under all common colour vision deficiencies.
BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#56B4E9",
    "#CC79A7",
    "#000000",
)
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
COLOURS = {"main": BLUE, "migrated": VERMILION, "baseline": GREEN}
"""Names with a fixed colour in every figure; others take those of `CYCLE` in order."""

Dash = str | tuple[int, tuple[float, ...]]
_DASHES: tuple[Dash, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))

DAY, NIGHT = "#fbedc8", "#d0d0d0"

_FAMILY = "DejaVu Sans"
_OTHER_SCRIPTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei",
    "IPAexGothic", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Noto Sans Devanagari",
)  # fmt: skip
"""Fallback fonts for other scripts: names in these are shown where one is installed."""

RC: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "figure.dpi": 100,
    "font.size": 9,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "svg.fonttype": "path",
    "svg.hashsalt": "daybreak",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}

WIDTH_INCHES = 7.2
"""Width of a figure that spans a page of two columns."""

MADE_BY = "Daybreak"
"""The program that a figure's file names as its maker."""

_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": MADE_BY},
    "svg": {"Creator": MADE_BY, "Date": None},
    "pdf": {"Creator": MADE_BY, "Producer": None, "CreationDate": None},
}
FORMATS = tuple(_METADATA)
"""Endings of the files that `write` can write."""


class Picture(Figure):
    """A figure that a notebook displays as a cell's result, and a script in a window of its own."""

    def show(self, warn: bool = True) -> None:
        """Opens a window and waits until it is closed. Raises PlotError where no window can be opened."""
        # Imported only when a window is needed: it looks for a display and a toolkit.
        from matplotlib import pyplot  # noqa: PLC0415

        pyplot.figure(self)
        # A notebook's backend has no window and displays figures in the page.
        if self.canvas.required_interactive_framework is None and "inline" not in pyplot.get_backend():
            pyplot.close(self)
            raise PlotError('there is no display to show the figure on: write it with savefig("NAME.png")')
        pyplot.show(block=True)

    def _repr_png_(self) -> bytes:
        return rendered(self, "png", dpi=110)


@contextmanager
def style() -> Iterator[None]:
    """Applies the style within a ``with`` block."""
    with matplotlib.rc_context(RC | {"font.family": list(_families())}):
        yield


def colour(name: str, position: int) -> str:
    """Colour of the curve ``name``, the ``position``-th of its figure."""
    return COLOURS.get(name, CYCLE[position % len(CYCLE)])


def dash(position: int) -> Dash:
    """Line style of the ``position``-th curve of a figure: another one each time that the colours are used up."""
    return _DASHES[position // len(CYCLE) % len(_DASHES)]


def words(text: str, most: int = 40) -> str:
    """A name escaped for figures, so that it is neither read as a formula nor hidden, and cut to ``most`` letters."""
    short = text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
    # matplotlib leaves labels that begin with an underscore out of legends, and reads formulas between dollar signs.
    return ("\N{ZERO WIDTH SPACE}" if short.startswith("_") else "") + short.replace("$", r"\$")


def save(figure: Figure, directory: Path, name: str, *, dpi: int = 160) -> list[Path]:
    """Writes ``name.png`` and ``name.svg`` to the directory and returns their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    png, svg = directory / f"{name}.png", directory / f"{name}.svg"
    with style():
        figure.savefig(png, dpi=dpi, metadata={"Software": None})
        figure.savefig(svg, metadata={"Date": None, "Creator": None})
    return [png, svg]


def rendered(figure: Figure, kind: str, *, dpi: int = 160) -> bytes:
    """The figure as the bytes of a file of one of `FORMATS`, which names `MADE_BY`."""
    with style(), io.BytesIO() as file, warnings.catch_warnings():
        # `unknown_letters` reports them.
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        figure.savefig(file, format=kind, dpi=dpi, metadata=_METADATA[kind])
        return file.getvalue()


def unknown_letters(figure: Figure) -> str:
    """The letters of a figure that none of its fonts has, and that appear as boxes."""
    letters = {letter for text in figure.findobj(Text) for letter in text.get_text() if letter.isprintable()}
    for family in _families():
        letters -= set(map(chr, get_font(findfont(family)).get_charmap()))
    return "".join(sorted(letter for letter in letters if not letter.isspace()))


@cache
def _families() -> tuple[str, ...]:
    """The main font, then the installed ones for other scripts."""
    installed = set(fontManager.get_font_names())
    return (_FAMILY, *(family for family in _OTHER_SCRIPTS if family in installed))
