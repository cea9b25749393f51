"""Checks of a metric's arguments, each with an error of one sentence that names the field and the value."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl


def check_columns(name: str, table: pl.DataFrame, columns: Iterable[str]) -> None:
    """Raises ``ValueError`` when the table lacks one of the columns."""
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise ValueError(f"table {name}: no column {missing[0]!r} (it has: {', '.join(table.columns)})")


def positive(name: str, value: float) -> None:
    """Raises ``ValueError`` when the value is not above zero."""
    if not value > 0:
        raise ValueError(f"{name}: {value} is not above zero")
