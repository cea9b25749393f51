"""Tables of a scenario file that are in separate CSV files, whose rows replace the file's name."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any, ClassVar

from daybreak.errors import ScenarioError, reason

from ..model import Tagged
from ..quantities import reject

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?", re.ASCII)
MOST_ROWS = 1_000_000
"""Limit on the rows of one file."""


class FromRows(Tagged):
    """A model with a table that may be in a file: `daybreak.load` inserts the rows, so that a scenario is
    self-contained."""

    columns: ClassVar[dict[str, str]]
    """The columns in the header of the file, and the unit of plain numbers in each."""
    rows_key: ClassVar[str]
    """The key of the table."""

    def _has_rows(self, file: str | None) -> None:
        """Raises if there are no rows, or the name of a file whose rows were not loaded."""
        if file is not None:
            raise reject(
                f'has file = "{file}": expected {self.rows_key}; a file is read where the scenario is loaded from one'
            )
        if not getattr(self, self.rows_key):
            raise reject(f"expected {self.rows_key}, or a file with them")


def read_rows(path: Path, columns: dict[str, str], field: str) -> list[list[Any]]:
    """The rows of a CSV file with these columns. Raises ScenarioError."""
    header, lines = read_lines(path, field)
    if header != list(columns):
        raise ScenarioError(
            f'{field} = "{path}": has the columns {", ".join(header) or "none"}: expected {", ".join(columns)}', field
        )
    return [[_value(cell, unit) for cell, unit in zip(row, columns.values(), strict=True)] for row in lines]


def read_lines(path: Path, field: str) -> tuple[list[str], list[list[str]]]:
    """The header of a CSV file and the cells of its other lines, equally many in each. Raises ScenarioError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise ScenarioError(f'{field} = "{path}" cannot be read: {reason(error)}', field) from None
    lines = [
        (number, row)
        for number, row in enumerate(csv.reader(text.splitlines()), 1)
        if row and not row[0].startswith("#")
    ]
    header = [cell.strip() for cell in lines[0][1]] if lines else []
    if len(lines) - 1 > MOST_ROWS:
        raise ScenarioError(f'{field} = "{path}": has {len(lines) - 1:,} rows: expected at most {MOST_ROWS:,}', field)
    rows = []
    for number, row in lines[1:]:
        if len(row) != len(header):
            raise ScenarioError(
                f'{field} = "{path}": line {number} has {len(row)} values: expected {len(header)}', field
            )
        rows.append([cell.strip() for cell in row])
    return header, rows


def _value(cell: str, unit: str) -> Any:
    """A cell as a value of a scenario file."""
    if unit == "text" or not _NUMBER.fullmatch(cell):
        return cell
    return float(cell) if unit == "number" else f"{cell} {unit}"
