"""Folders that keep what a run showed, each named by everything that it depends on: its content's address.

That is the plan (which has the seed), the engine with its program, and the reduction. A folder has a Parquet file a
table and `manifest.json`. Nobody sees half of one: it is filled under another name and renamed. Whoever finishes a run
second finds the first's: both are the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from daybreak.errors import OutputError, reason
from daybreak.scenario.lowering import Plan

from .job import Job, Kept, Reduction, Tables

MANIFEST = "manifest.json"
_UNFINISHED = ".unfinished"


@dataclass(frozen=True)
class Store:
    """Keeps what a reduction makes of runs.

    `programs` tells each engine's program from other versions of it (`engines.program`): one that changes forgets the
    runs of its engine and of no other.
    """

    directory: Path
    reduction: Reduction
    programs: Mapping[str, str]

    def digest(self, plan: Plan, engine: str) -> str:
        """The name of what is kept of a run."""
        facts = (self.reduction.name, str(self.reduction.version), plan.hash, engine, self.programs[engine])
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:32]

    def place(self, digest: str) -> Path:
        """Its folder; there are 256 folders of folders, so that none has too many."""
        return self.directory / digest[:2] / digest

    def has(self, job: Job) -> bool:
        """Whether a job's run is kept."""
        return self.holds(self.digest(job.plan(), job.engine))

    def holds(self, digest: str) -> bool:
        """Whether a run is kept under this name."""
        return self.place(digest).is_dir()

    def put(self, digest: str, kept: Kept) -> None:
        """Keeps a run: all of it, or nothing. Raises OutputError."""
        place = self.place(digest)
        draft = self.directory / _UNFINISHED / f"{_owner(os.getpid())}-{uuid.uuid4().hex[:8]}"
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            draft.mkdir(parents=True)
            for name, table in kept.tables.items():
                table.write_parquet(draft / f"{name}.parquet")
            (draft / MANIFEST).write_text(json.dumps(kept.manifest) + "\n", encoding="utf-8")
            draft.rename(place)
        except (OSError, pl.exceptions.PolarsError) as error:
            # Somebody else may have finished the same run first; nothing else is in order.
            if not place.is_dir():
                raise OutputError(f"{place} cannot be written: {reason(error)}") from None
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def get(self, job: Job) -> Tables:
        """Reads the tables of a job's run. Raises OutputError if it is not kept."""
        place = self.place(self.digest(job.plan(), job.engine))
        try:
            return {path.stem: pl.read_parquet(path) for path in sorted(place.iterdir()) if path.suffix == ".parquet"}
        except (OSError, pl.exceptions.PolarsError) as error:
            raise OutputError(f"{place} cannot be read: {reason(error)}") from None

    def forget_unfinished(self) -> None:
        """Removes what processes of this machine that are gone have left half-written."""
        with suppress(OSError):
            for draft in (self.directory / _UNFINISHED).iterdir():
                machine, _, process = draft.name.rpartition("-")[0].rpartition("-")
                if machine == socket.gethostname() and not _is_running(int(process)):
                    shutil.rmtree(draft, ignore_errors=True)


def _owner(process: int) -> str:
    return f"{socket.gethostname()}-{process}"


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
