"""Folders that keep what a run showed, named by everything that it depends on.

Nobody sees half of one, and whoever finishes a run second finds the first's: both are the same.
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

import polars as pl


def name(seed: int, *facts: object) -> str:
    """The name of a run's folder, by its seed and everything else that it depends on."""
    digest = hashlib.sha256(" ".join(str(fact) for fact in facts).encode()).hexdigest()
    return f"{seed}-{digest[:16]}"


def put(place: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Keeps tables in the folder `place`, a Parquet file each: all of them, or nothing."""
    draft = place.with_name(f"{place.name}.{uuid.uuid4().hex[:8]}.part")
    draft.mkdir(parents=True)
    try:
        for table_name, table in tables.items():
            table.write_parquet(draft / f"{table_name}.parquet")
        draft.rename(place)
    except OSError:
        # Somebody else may have finished the same run first; nothing else is in order.
        if not place.is_dir():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
