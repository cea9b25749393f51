"""Prints tables that fit the terminal.

The columns of a table that is too wide are split into blocks, each with the labels of its rows: no column and no label
is left out. Only labels that would take half of the width are cut, in the middle.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import accumulate

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from .terminal import console, plain

_GAP = 2
_LEAST_LABEL = 12

Cells = Sequence[Text]


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    numeric: Sequence[str] = (),
    keys: Sequence[str] = (),
) -> None:
    """Prints a table; ``numeric`` columns are right-aligned. Text columns before the first of these are labels. Those
    of ``keys``, which a user types, keep to one line as long as the others can be wrapped; no text is cut."""
    cells = [[cell if isinstance(cell, Text) else Text(plain(cell)) for cell in row] for row in rows]
    out = console()
    labels = next((at for at, column in enumerate(columns) if column in numeric), 0)
    keys = keys if _width(columns, cells, [columns.index(key) for key in keys]) <= out.width // 2 else ()
    if not labels or _width(columns, cells, range(len(columns))) <= out.width:
        _print(columns, cells, range(len(columns)), {*numeric, *keys}, numeric)
        return
    _shorten(columns, cells, labels, out.width // 2)
    for number, block in enumerate(_blocks(columns, cells, labels, out.width)):
        if number:
            out.print()
        _print(columns, cells, [*range(labels), *block], {*numeric, *keys}, numeric)


def _print(
    columns: Sequence[str], cells: Sequence[Cells], shown: Sequence[int], whole: Set[str], numeric: Sequence[str]
) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
    for at in shown:
        column = columns[at]
        table.add_column(
            Text(plain(column)), justify="right" if column in numeric else "left", overflow="fold",
            no_wrap=column in whole,
        )  # fmt: skip
    for row in cells:
        table.add_row(*(row[at] for at in shown))
    console().print(table)


def _blocks(columns: Sequence[str], cells: Sequence[Cells], labels: int, width: int) -> list[list[int]]:
    """Splits the other columns into blocks that fit beside the labels."""
    blocks: list[list[int]] = [[]]
    for at in range(labels, len(columns)):
        together = [*range(labels), *blocks[-1], at]
        if blocks[-1] and _width(columns, cells, together) > width:
            blocks.append([])
        blocks[-1].append(at)
    return blocks


def _width(columns: Sequence[str], cells: Sequence[Cells], shown: Sequence[int]) -> int:
    return sum(_widest(columns, cells, at) + _GAP for at in shown) - _GAP


def _widest(columns: Sequence[str], cells: Sequence[Cells], at: int) -> int:
    return max([cell_len(plain(columns[at])), *(row[at].cell_len for row in cells)])


def _shorten(columns: Sequence[str], cells: Sequence[list[Text]], labels: int, room: int) -> None:
    """Cuts the longest labels until all of them fit into `room` columns of the terminal."""
    widths = [_widest(columns, cells, at) for at in range(labels)]
    while sum(widths) + _GAP * labels > room and max(widths) > _LEAST_LABEL:
        longest = widths.index(max(widths))
        widths[longest] -= 1
    for at, width in enumerate(widths):
        for row in cells:
            if row[at].cell_len > width:
                row[at] = Text(cut(row[at].plain, width))


def cut(text: str, width: int) -> str:
    """A text in at most ``width`` columns of a terminal: its beginning and its end, so that names that differ at either
    end stay distinct. Wide letters, such as Chinese ones, take two columns."""
    if cell_len(text) <= width:
        return text
    before = _beginning(text, (width - 1) // 2)
    after = _beginning(text[::-1], width - 1 - cell_len(before))[::-1]
    return f"{before}\N{HORIZONTAL ELLIPSIS}{after}"


def _beginning(text: str, width: int) -> str:
    """As many letters as fit into ``width`` columns."""
    ends = accumulate(map(cell_len, text))
    return "".join(letter for letter, end in zip(text, ends, strict=True) if end <= width)


def numbered(names: Sequence[str]) -> list[str]:
    """The names, each that is there several times with its position behind it."""
    return [name if names.count(name) == 1 else f"{name} {number}" for number, name in enumerate(names, 1)]
