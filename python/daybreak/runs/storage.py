"""Runs on disk: a folder with a Parquet file a table, the packet capture, and `manifest.json`.

A folder is made under another name and renamed when it is whole, so that nobody ever sees half a run.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from daybreak.errors import OutputError, reason

MANIFEST = "manifest.json"
_CAPTURE = "capture.pcapng"
_REFUSED = (OSError, pl.exceptions.PolarsError)


class Records(Protocol):
    """What is written: a run."""

    manifest: dict[str, Any]
    capture: Path | None

    def tables(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """All tables with their names."""


def write(run: Records, directory: Path) -> Path:
    """Writes `run` to `directory`, which becomes it or, if it is a run already, is replaced by it."""
    if directory.exists() and not _may_replace(directory):
        raise OutputError(f"{directory} cannot be written: it exists and is not a run")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    except OSError as error:
        raise OutputError(f"{directory} cannot be written: {reason(error)}") from None
    try:
        _fill(run, unfinished)
        _put_in_place(unfinished, directory)
    except _REFUSED as error:
        raise OutputError(f"{directory} cannot be written: {reason(error)}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return directory


def read(directory: Path) -> tuple[dict[str, Any], Callable[[str], pl.DataFrame], Path | None]:
    """The manifest of the run in `directory`, what reads a table of it, and its capture. Raises OutputError."""
    try:
        manifest: dict[str, Any] = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except OSError as error:
        inside = runs_in(directory)
        if inside:
            raise OutputError(
                f"{directory} is not a run but holds {len(inside)} of them: give one, such as {inside[0]}"
            ) from None
        raise OutputError(f"{directory} is not a run: {MANIFEST}: {reason(error)}") from None
    except ValueError:
        raise OutputError(f"{directory} is not a run: {MANIFEST} is not JSON") from None
    if not isinstance(manifest, dict) or not {"scenario", "seed", "tables"} <= manifest.keys():
        raise OutputError(f"{directory} is not a run: {MANIFEST} lacks the scenario, the seed or the tables")

    def load(name: str) -> pl.DataFrame:
        try:
            return pl.read_parquet(directory / f"{name}.parquet")
        except _REFUSED as error:
            raise OutputError(f"{directory / name}.parquet cannot be read: {reason(error)}") from None

    capture = directory / _CAPTURE
    return manifest, load, capture if capture.is_file() else None


def runs_in(directory: Path) -> list[Path]:
    """The runs in the folders of `directory`; none if it is a run itself."""
    if not directory.is_dir() or (directory / MANIFEST).is_file():
        return []
    return sorted(manifest.parent for manifest in directory.glob(f"*/{MANIFEST}") if manifest.is_file())


def check_writable(directory: Path) -> None:
    """Raises OutputError, before anything is run, when `directory` could not become a run."""
    if directory.exists() and not _may_replace(directory):
        raise OutputError(f"{directory} cannot be written: it exists and is not a run")
    above = directory.parent.absolute()
    while not above.exists():
        above = above.parent
    if not above.is_dir():
        raise OutputError(f"{directory} cannot be written: {above} is not a directory")
    try:
        # Permissions are not the only reason; a file tells all of them.
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        raise OutputError(f"{directory} cannot be written: {reason(error)}") from None


def _may_replace(directory: Path) -> bool:
    return directory.is_dir() and ((directory / MANIFEST).is_file() or not any(directory.iterdir()))


def _fill(run: Records, directory: Path) -> None:
    for name, table in run.tables():
        table.write_parquet(directory / f"{name}.parquet", compression="zstd")
    if run.capture:
        shutil.copyfile(run.capture, directory / _CAPTURE)
    (directory / MANIFEST).write_text(json.dumps(run.manifest, indent=1) + "\n", encoding="utf-8")
    # mkdtemp makes folders that only their owner may read.
    umask = os.umask(0)
    os.umask(umask)
    directory.chmod(0o777 & ~umask)


def _put_in_place(unfinished: Path, directory: Path) -> None:
    if not directory.exists():
        unfinished.rename(directory)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{directory.name}.old.", dir=directory.parent))
    directory.rename(old / "run")
    try:
        unfinished.rename(directory)
    except OSError:
        (old / "run").rename(directory)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
