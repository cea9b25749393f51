"""The dataset of a sweep: one folder per table with Parquet files of several runs each, and `sweep.json`.

`polars.read_parquet("DIR/flows")` reads all runs. Each row has its point, its seed and the values of the axes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from daybreak.errors import OutputError, reason
from daybreak.metrics.fct import RUN_ENDED

from .store import Store

MANIFEST = "sweep.json"
RUNS = "runs"
"""Folder of the store within a sweep's folder."""
_RUNS_A_FILE = 2000


@dataclass(frozen=True, slots=True)
class SweepRun:
    """A run of a sweep whose result is stored."""

    point: int
    seed: int
    digest: bytes


def note(directory: Path, document: Mapping[str, Any]) -> None:
    """Writes `sweep.json`. Raises OutputError."""
    try:
        _replace_text(directory / MANIFEST, json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise OutputError(f"{directory} cannot be written: {reason(error)}") from None


Columns = Callable[[int], Mapping[str, Any]]
"""The values of the axes at a point."""


def write(directory: Path, store: Store, made: Sequence[SweepRun], columns: Columns, tables: Sequence[str]) -> None:
    """Writes the tables of the runs in the order of points and seeds, replacing those of an earlier call.

    Only the runs of one file are in memory at a time. Raises OutputError.
    """
    ordered = sorted(made, key=lambda one: (one.point, one.seed))
    try:
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=directory) as name:
            draft = Path(name)
            for table in tables:
                (draft / table).mkdir()
            for number, start in enumerate(range(0, len(ordered), _RUNS_A_FILE)):
                some = ordered[start : start + _RUNS_A_FILE]
                for table, frame in _tables_of(store, some, columns, tables).items():
                    frame.write_parquet(draft / table / f"part-{number:05d}.parquet", compression="zstd")
            for table in tables:
                _put(draft / table, directory / table)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(f"{directory} cannot be written: {reason(error)}") from None


def _tables_of(
    store: Store, some: Iterable[SweepRun], columns: Columns, tables: Sequence[str]
) -> dict[str, pl.DataFrame]:
    frames: dict[str, list[pl.DataFrame]] = {table: [] for table in tables}
    keys: list[dict[str, Any]] = []
    for one in some:
        kept = store.read(one.digest.hex())
        ended = {RUN_ENDED: kept.manifest["totals"]["ended_ns"]}
        keys.append({"point": one.point, "seed": one.seed, **columns(one.point), **ended})
        for table in tables:
            frames[table].append(kept.tables[table])
    index = pl.DataFrame(keys, infer_schema_length=None)
    return {table: _beside(index, parts) for table, parts in frames.items()}


def _beside(index: pl.DataFrame, parts: list[pl.DataFrame]) -> pl.DataFrame:
    """The rows of the parts, each preceded by its row of the index."""
    rows = pl.concat(parts, how="vertical")
    owner = pl.Series("owner", list(_owners(parts)), dtype=pl.UInt32)
    return pl.concat([index[owner], rows], how="horizontal")


def _owners(parts: Iterable[pl.DataFrame]) -> Iterator[int]:
    for number, part in enumerate(parts):
        yield from (number,) * part.height


def _put(draft: Path, place: Path) -> None:
    if place.exists():
        # It goes with the folder of the drafts.
        place.rename(draft.with_name(f"{draft.name}.old"))
    draft.rename(place)


def _replace_text(place: Path, text: str) -> None:
    draft = place.with_name(f".{place.name}.unfinished")
    draft.write_text(text, encoding="utf-8")
    draft.replace(place)
