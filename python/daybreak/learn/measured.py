"""The settings that a model has learnt from: a table, and the arrays that a file has of it.

A setting is known to the kbit/s, the byte and the nanosecond, so a file has whole numbers of these: exact, and a third
of the text. The first bytes of all numbers follow each other, then the second ones, and so on: the high bytes of
neighbours are alike, and compress to little.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from .columns import Array

UNITS = {
    "migrated_mib": 2**20, "migrated_flows": 1, "main_mib": 2**20, "main_flows": 1, "rate_gbps": 10**6,
    "rtt_us": 10**3, "buffer_packets": 1, "period_ms": 10**6, "night_ms": 10**6, "start_ms": 10**6, "hz": 1, "runs": 1,
}  # fmt: skip
"""Steps of each number in a file, per unit of its column."""
_NAMES = ("migrated_variant", "main_variant", "downtime")
_PROLONGATION = "prolongation_s"
COLUMNS = (*_NAMES, *UNITS, _PROLONGATION)
"""Of the table."""


def table(settings: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Settings (`setting.describe`), each with its mean ``prolongation_s`` and of how many ``runs`` that is."""
    # To what a file has of it: a model that is read is the one that was written.
    return (
        pl.DataFrame(list(settings), infer_schema_length=None)
        .with_columns(pl.col(_PROLONGATION).cast(pl.Float32).cast(pl.Float64))
        .select(COLUMNS)
    )


def packed(settings: pl.DataFrame) -> dict[str, Any]:
    """The arrays of a table."""
    found: dict[str, Any] = {_PROLONGATION: _planes(settings[_PROLONGATION].to_numpy().astype("<f4"))}
    for name in _NAMES:
        known, codes = np.unique(settings[name].to_numpy(), return_inverse=True)
        found[name] = [known.tolist(), codes.astype(np.uint8)]
    once: dict[bytes, Array] = {}
    for name, unit in UNITS.items():
        numbers = np.round(settings[name].to_numpy() * unit).astype(np.int64)
        planes = _planes(numbers.astype(f"<{np.min_scalar_type(numbers.max()).str[1:]}"))
        # Groups are alike: an array that an archive is given twice it keeps once.
        found[name] = once.setdefault(planes.tobytes(), planes)
    return found


def unpacked(arrays: Mapping[str, Any]) -> pl.DataFrame:
    """The table of arrays. Raises ValueError where these do not fit each other."""
    columns: dict[str, Any] = {}
    for name in _NAMES:
        known, codes = arrays[name]
        if codes.dtype != np.uint8 or codes.ndim != 1 or (codes >= len(known)).any():
            raise ValueError(f"{name} is not a name for each setting")
        columns[name] = np.array(known, dtype=object)[codes]
    for name, unit in UNITS.items():
        numbers = _joined(name, arrays[name], "u")
        columns[name] = numbers.astype(np.int64) if unit == 1 else numbers / unit
    prolongations = _joined(_PROLONGATION, arrays[_PROLONGATION], "f").astype(float)
    if not np.isfinite(prolongations).all():
        raise ValueError(f"{_PROLONGATION} has values that are no finite numbers")
    if len({len(column) for column in (*columns.values(), prolongations)}) != 1:
        raise ValueError("its settings do not all have all inputs")
    return pl.DataFrame({**columns, _PROLONGATION: prolongations})


def _planes(values: Array) -> Array:
    """Bytes of a number x numbers."""
    return np.ascontiguousarray(values.view(np.uint8).reshape(len(values), values.itemsize).T)


def _joined(name: str, planes: Array, kind: str) -> Array:
    if planes.dtype != np.uint8 or planes.ndim != 2 or len(planes) not in ((4,) if kind == "f" else (1, 2, 4, 8)):
        raise ValueError(f"{name} is not a number for each setting")
    return np.ascontiguousarray(planes.T).view(f"<{kind}{len(planes)}")[:, 0]
