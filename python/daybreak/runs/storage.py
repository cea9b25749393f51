"""Runs on disk: a folder with one Parquet file per table, the packet capture, and `manifest.json`.

A new folder is written under another name and renamed when complete. Files are moved into an existing folder, the
manifest last: only a folder with a manifest is a run, so a partial run is never read. Until then
`manifest.unfinished.json` lists the run's files. All other files are the user's and stay as they are.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import polars as pl

from daybreak.errors import OutputError, reason

from .manifest import problem
from .naming import TABLES, misfit, with_nulls
from .staging import PREFIX, Staging, remove_stale

MANIFEST = "manifest.json"
UNFINISHED = "manifest.unfinished.json"
CAPTURE = "capture.pcapng"
PROGRAMS = "programs"
_REFUSED = (OSError, pl.exceptions.PolarsError)
# These identify a run: with these equal, so are the tables.
_FACTS = ("plan_hash", "engine", "seed", "versions")


class Records(Protocol):
    """The part of a run that is written."""

    manifest: dict[str, Any]
    capture: Path | None
    files: Mapping[str, bytes]

    def tables(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """All tables with their names."""


def write(run: Records, directory: Path, force: bool = False) -> Path:
    """Writes `run` to `directory`. The same run may exist there already; another one is replaced only with `force`."""
    if _is_there(run, directory, force):
        return directory
    check_writable(directory)
    try:
        base = staging_place(directory)
        base.mkdir(parents=True, exist_ok=True)
        with Staging(base) as unfinished:
            made = unfinished / "run"
            made.mkdir()
            _fill(run, made)
            try:
                if not directory.exists():
                    made.rename(directory)
                    return directory
            except OSError:
                # Another process may have written the same run meanwhile; anything else is an error.
                if not directory.exists():
                    raise
            if not _is_there(run, directory, force):
                check_writable(directory)
                _move_into(made, directory)
    except _REFUSED as error:
        raise OutputError(f"{directory} cannot be written: {reason(error)}") from None
    return directory


def write_unfinished(manifest: Mapping[str, Any], files: Mapping[str, bytes], directory: Path) -> bool:
    """Writes files of a run that has failed; the folder is no run, and the next one replaces them.

    False if it holds another run, which stays. Raises OutputError.
    """
    if held(directory) is not None:
        return False
    check_writable(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _clear(directory)
        document = {**manifest, "capture": False, "tables": {}, "totals": {"ended_ns": 0}, "files": sorted(files)}
        (directory / UNFINISHED).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        _fill_files(files, directory)
    except OSError as error:
        raise OutputError(f"{directory} cannot be written: {reason(error)}") from None
    return True


def _is_there(run: Records, directory: Path, force: bool) -> bool:
    there = held(directory)
    if there is None:
        return False
    if is_same(there, run.manifest):
        return is_whole(directory, there)
    if not force:
        raise OutputError(f"{directory} cannot be written: it holds {described(there)}")
    return False


def read(
    directory: Path,
) -> tuple[dict[str, Any], Callable[[str], pl.DataFrame], Path | None, dict[str, bytes]]:
    """The manifest of the run in `directory`, a function that reads a table of it by name, its capture, and the files
    that programs wrote.

    Raises OutputError.
    """
    manifest = _manifest(directory)

    def load(name: str) -> pl.DataFrame:
        place, rows = directory / f"{name}.parquet", manifest["tables"][name]
        try:
            with place.open("rb") as file:
                table = pl.read_parquet(file)
        except _REFUSED as error:
            raise OutputError(f"{place} cannot be read: {reason(error)}") from None
        wrong = misfit(name, table)
        if wrong is None and table.height != rows:
            wrong = f"it has {table.height} rows, the manifest says {rows}"
        if wrong is not None:
            raise OutputError(f"{place} cannot be read: {wrong}")
        # Earlier versions of Daybreak wrote the engines' marks where there is no value.
        return with_nulls(name, table)

    capture = directory / CAPTURE
    try:
        files = {name: (directory / name).read_bytes() for name in _written(manifest)}
    except OSError as error:
        raise OutputError(f"{directory} cannot be read: {reason(error)}") from None
    return manifest, load, capture if capture.is_file() else None, files


def runs_in(directory: Path) -> list[Path]:
    """The runs in the folders of `directory`; none if it is a run itself."""
    if not directory.is_dir() or (directory / MANIFEST).is_file():
        return []
    return sorted(manifest.parent for manifest in directory.glob(f"*/{MANIFEST}") if manifest.is_file())


def held(directory: Path) -> dict[str, Any] | None:
    """The manifest of the run in `directory`; None where there is no run."""
    try:
        return _manifest(directory)
    except OutputError:
        return None


def is_whole(directory: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether every file of the run exists."""
    return all((directory / name).is_file() for name in _files(manifest))


def is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two manifests are of one run: the same plan, on the same engine, by the same program."""
    return all(one.get(fact) == other.get(fact) for fact in _FACTS)


def described(manifest: Mapping[str, Any]) -> str:
    """A run in words, for messages."""
    return f'a run of "{manifest.get("name")}" with seed {manifest["seed"]} on engine {manifest.get("engine")}'


def remove(directory: Path) -> None:
    """Removes the files of the run in `directory`, and the folder if nothing else is in it. Raises OutputError."""
    try:
        _clear(directory)
        (directory / UNFINISHED).unlink(missing_ok=True)
        with suppress(OSError):
            directory.rmdir()
    except OSError as error:
        raise OutputError(f"the run in {directory} cannot be removed: {reason(error)}") from None


def check_writable(directory: Path) -> None:
    """Raises OutputError, before anything is run, when `directory` could not become a run."""
    if directory.is_symlink() and not directory.exists():
        raise OutputError(f"{directory} cannot be written: it is a link to a place that does not exist")
    if directory.exists():
        _check_files(directory)
    place = staging_place(directory).absolute()
    while not place.exists():
        place = place.parent
    check_folder(place, directory)


def check_folder(place: Path, directory: Path) -> None:
    """Raises OutputError when nothing can be written in the existing folder `place`, on behalf of `directory`."""
    if not place.is_dir():
        raise OutputError(f"{directory} cannot be written: {place} is not a directory")
    try:
        # Permissions are not the only reason; writing a file finds all of them.
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise OutputError(f"{directory} cannot be written: {reason(error)}") from None


def staging_place(directory: Path) -> Path:
    """Where the future run in `directory` is written: on the same file system, so that it can be renamed."""
    return directory if directory.exists() else directory.parent


def forget_unfinished(directory: Path) -> None:
    """Removes what killed processes have left where runs for `directory` are written."""
    for place in {directory, directory.parent}:
        if place.is_dir():
            remove_stale(place)


def _check_files(directory: Path) -> None:
    """Raises OutputError if a file that no run has written is in the way."""
    if not directory.is_dir():
        raise OutputError(f"{directory} cannot be written: it exists and is not a run")
    manifest = _marked(directory)
    entries = {entry.name: entry for entry in directory.iterdir() if not entry.name.startswith(PREFIX)}
    if manifest is None and entries:
        raise OutputError(f"{directory} cannot be written: it exists and is not a run")
    own = {MANIFEST, UNFINISHED, *_files(manifest)} if manifest is not None else set()
    possible = {MANIFEST, UNFINISHED, CAPTURE, *(f"{name}.parquet" for name in TABLES)}
    programs = entries.get(PROGRAMS)
    if programs and not (manifest and _written(manifest) and programs.is_dir() and not programs.is_symlink()):
        raise OutputError(f"{programs} is in the way: no run has written it")
    for name, entry in entries.items():
        if name in possible and (name not in own or not entry.is_file() or entry.is_symlink()):
            raise OutputError(f"{entry} is in the way: no run has written it")


def _manifest(directory: Path, name: str = MANIFEST) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((directory / name).read_text(encoding="utf-8"))
    except OSError as error:
        inside = runs_in(directory)
        if inside:
            raise OutputError(
                f"{directory} is not a run but holds {len(inside)} of them: give one, such as {inside[0]}"
            ) from None
        raise OutputError(f"{directory} is not a run: {name}: {reason(error)}") from None
    except (ValueError, RecursionError):
        raise OutputError(f"{directory} is not a run: {name} is not JSON") from None
    wrong = problem(manifest)
    if wrong is not None:
        raise OutputError(f"{directory} is not a run: {name}: {wrong}")
    return manifest


def _marked(directory: Path) -> dict[str, Any] | None:
    """The manifest of a finished or unfinished run."""
    for name in (MANIFEST, UNFINISHED):
        with suppress(OutputError):
            return _manifest(directory, name)
    return None


def _files(manifest: Mapping[str, Any]) -> list[str]:
    """The files of a run beside its manifest; only names that a run may write, whatever the manifest lists."""
    capture = [CAPTURE] if manifest.get("capture", True) else []
    return [*(f"{name}.parquet" for name in TABLES if name in manifest["tables"]), *capture, *_written(manifest)]


def _written(manifest: Mapping[str, Any]) -> list[str]:
    """The files that programs wrote."""
    return [name for name in manifest.get("files", []) if _is_programs(PurePosixPath(name))]


def _is_programs(path: PurePosixPath) -> bool:
    return len(path.parts) > 1 and path.parts[0] == PROGRAMS and ".." not in path.parts


def _fill(run: Records, directory: Path) -> None:
    for name, table in run.tables():
        table.write_parquet(directory / f"{name}.parquet", compression="zstd")
    if run.capture:
        _link_or_copy(run.capture, directory / CAPTURE)
    _fill_files(run.files, directory)
    (directory / MANIFEST).write_text(json.dumps(run.manifest, indent=1) + "\n", encoding="utf-8")


def _fill_files(files: Mapping[str, bytes], directory: Path) -> None:
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _clear(directory: Path) -> None:
    """Removes the files of the existing run; a crash in between leaves a folder that still lists them."""
    manifest = _marked(directory)
    if manifest is None:
        return
    if (directory / MANIFEST).exists():
        (directory / MANIFEST).replace(directory / UNFINISHED)
    for name in _files(manifest):
        (directory / name).unlink(missing_ok=True)
    for name in _written(manifest):
        # Folders with other content stay.
        for folder in list(PurePosixPath(name).parents)[:-1]:
            with suppress(OSError):
                (directory / folder).rmdir()


def _move_into(made: Path, directory: Path) -> None:
    _clear(directory)
    names = _files(_manifest(made))
    (made / MANIFEST).replace(directory / UNFINISHED)
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).replace(directory / name)
    (directory / UNFINISHED).replace(directory / MANIFEST)
