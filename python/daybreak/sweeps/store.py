"""A content-addressed store of runs: each file is named by a hash of everything that its content depends on.

That is the plan (which has the seed), the engine with its program, and the reduction. A file is a zip archive with
`manifest.json` and one Arrow stream per table. It is written under another name and renamed, so a partial file is never
read. A process that finishes the same run later writes the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import socket
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

import polars as pl

from daybreak.engines import program
from daybreak.errors import OutputError, reason
from daybreak.scenario.lowering import Plan

from .job import Job, Reduction, StoredRun

SUFFIX = ".zip"
_MANIFEST = "manifest.json"
_TABLE = ".arrow"
_UNFINISHED = ".unfinished"
_MACHINE = socket.gethostname()


@dataclass(frozen=True)
class Store:
    """Stores what a reduction makes of runs.

    `program(engine, plan)` identifies the version of an engine's program for a plan: a change invalidates the stored
    runs of such plans only.
    """

    directory: Path
    reduction: Reduction
    program: Callable[[str, Plan], str] = program

    def digest(self, plan: Plan, engine: str) -> str:
        """The name under which a run is stored. Raises EngineError, PlanError where the engine cannot run the plan."""
        facts = (self.reduction.name, str(self.reduction.version), plan.hash, engine, self.program(engine, plan))
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:32]

    def place(self, digest: str) -> Path:
        """The file of that name, in one of 256 folders, so that none has too many files."""
        return self.directory / digest[:2] / f"{digest}{SUFFIX}"

    def has(self, job: Job) -> bool:
        """Whether a job's run is stored."""
        return self.holds(self.digest(job.plan(), job.engine))

    def holds(self, digest: str) -> bool:
        """Whether a run is stored under this name."""
        return self.place(digest).is_file()

    def put(self, digest: str, kept: StoredRun) -> None:
        """Stores a run atomically. Raises OutputError."""
        place = self.place(digest)
        draft = self.directory / _UNFINISHED / f"{_MACHINE}-{os.getpid()}-{uuid.uuid4().hex[:8]}{SUFFIX}"
        content = _packed(kept)
        try:
            try:
                _write(content, draft, place)
            except FileNotFoundError:
                for folder in (place.parent, draft.parent):
                    folder.mkdir(parents=True, exist_ok=True)
                _write(content, draft, place)
        except OSError as error:
            raise OutputError(f"{place} cannot be written: {reason(error)}") from None

    def get(self, job: Job) -> StoredRun:
        """Reads what is stored of a job's run. Raises OutputError if it is not there."""
        return self.read(self.digest(job.plan(), job.engine))

    def read(self, digest: str) -> StoredRun:
        """Reads what is stored under a name. Raises OutputError if nothing is."""
        place = self.place(digest)
        try:
            return _unpacked(place.read_bytes())
        except (OSError, BadZipFile, ValueError, pl.exceptions.PolarsError) as error:
            raise OutputError(f"{place} cannot be read: {reason(error)}") from None

    def forget_unfinished(self) -> None:
        """Removes the partial files of processes of this machine that no longer run."""
        with suppress(OSError):
            for draft in (self.directory / _UNFINISHED).iterdir():
                machine, _, process = draft.name.rpartition("-")[0].rpartition("-")
                if machine == _MACHINE and not _is_running(int(process)):
                    draft.unlink(missing_ok=True)


def _write(content: bytes, draft: Path, place: Path) -> None:
    try:
        draft.write_bytes(content)
        draft.replace(place)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def _packed(kept: StoredRun) -> bytes:
    content = io.BytesIO()
    with ZipFile(content, "w") as archive:
        # A ZipInfo carries no time of its own, so the same run gives the same bytes.
        archive.writestr(ZipInfo(_MANIFEST), json.dumps(kept.manifest))
        for name, table in kept.tables.items():
            stream = io.BytesIO()
            table.write_ipc_stream(stream, compression="zstd")
            archive.writestr(ZipInfo(f"{name}{_TABLE}"), stream.getvalue())
    return content.getvalue()


def _unpacked(content: bytes) -> StoredRun:
    with ZipFile(io.BytesIO(content)) as archive:
        if _MANIFEST not in archive.namelist():
            raise BadZipFile(f"it has no {_MANIFEST}")
        names = [name.removesuffix(_TABLE) for name in archive.namelist() if name.endswith(_TABLE)]
        tables = {name: pl.read_ipc_stream(archive.read(f"{name}{_TABLE}")) for name in names}
        return StoredRun(json.loads(archive.read(_MANIFEST)), tables)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
