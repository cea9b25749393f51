"""Finds what a page shows of folders: studies, sweeps and runs, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from daybreak.errors import OutputError, reason
from daybreak.runs import Run, read
from daybreak.runs.storage import MANIFEST, UNFINISHED
from daybreak.studies import variation
from daybreak.sweeps import Results, is_sweep, read_results
from daybreak.sweeps.folder import purpose_of

from . import study

_PURPOSES = {
    "agreement": "a comparison of the engines, which has a page of its own",
    "advice": "advice of daybreak tune",
    "learn": "a model of prolongations",
}
"""Results of other commands, by the purpose of their folder."""
_DEEPEST = 4
"""Depth to which folders are searched."""


@dataclass
class Contents:
    """What was found, in the order of the folders' names."""

    studies: list[study.Reproduction] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    sweeps: list[Results] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """One sentence per folder with content that a page does not show."""


def gather(places: Sequence[Path]) -> Contents:
    """The studies, sweeps and runs in the folders and their subfolders, each once. Raises OutputError."""
    found, seen = Contents(), set[tuple[object, ...]]()
    for place in places:
        before = _size(found)
        own: list[Run] = []
        for folder in _folders(place):
            if (folder / MANIFEST).is_file():
                own.append(read(folder))
            if is_sweep(folder):
                try:
                    found.sweeps.append(read_results(folder))
                except OutputError:
                    found.left_out.append(f"{folder} holds a sweep whose tables cannot be read, or are not finished")
            if study.is_study(folder):
                found.studies.append(study.read(folder))
            found.left_out += [f"{folder} holds {what}" for what in _others(folder)]
        for run in sorted(own, key=lambda run: run.seed):
            key = tuple(str(run.manifest[fact]) for fact in ("plan_hash", "versions", "engine"))
            if key not in seen:
                found.runs.append(run)
            seen.add(key)
        if not own and before == _size(found):
            # Nothing recognisable is there: this raises the reason.
            read(place)
    if not found.studies and not found.runs and not found.sweeps:
        raise OutputError(
            f"there is no run, sweep or study to show: {'; '.join(found.left_out) or 'expected at least one'}"
        )
    return found


def _size(found: Contents) -> int:
    return len(found.studies) + len(found.runs) + len(found.sweeps) + len(found.left_out)


def _others(folder: Path) -> Iterator[str]:
    """Sentences about content of a folder that a page does not show."""
    purpose = purpose_of(folder)
    if purpose in _PURPOSES:
        yield _PURPOSES[purpose]
    elif purpose and purpose != "sweep" and not study.is_study(folder):
        is_finished = (folder / variation.FILE).is_file()
        yield f"the {purpose}" if is_finished else f"the {purpose}, which was not finished"
    if (folder / UNFINISHED).is_file() and not (folder / MANIFEST).is_file():
        yield "a run that was not finished"


def _folders(place: Path, depth: int = 0) -> Iterator[Path]:
    """A folder, then its subfolders."""
    yield place
    try:
        # A link may lead back, and its target can be named directly.
        inside = [one for one in place.iterdir() if one.is_dir() and not one.is_symlink()] if place.is_dir() else []
    except OSError as error:
        raise OutputError(f"{place} cannot be read: {reason(error)}") from None
    for folder in sorted(inside):
        if depth < _DEEPEST and not folder.name.startswith("."):
            yield from _folders(folder, depth + 1)
