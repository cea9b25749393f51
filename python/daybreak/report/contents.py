"""What folders hold that a page is to show: studies and runs, and what else is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from daybreak.errors import OutputError, reason
from daybreak.runs import Run, read
from daybreak.runs.storage import MANIFEST, UNFINISHED
from daybreak.sweeps.folder import purpose_of

from . import study

_PURPOSES = {
    "sweep": "a sweep, whose tables polars.read_parquet reads",
    "agreement": "a comparison of the engines, which has a page of its own",
    "advice": "advice of daybreak tune",
}
"""What other commands leave, by the purpose of their folder."""
_DEEPEST = 4
"""Folders in folders that are looked into."""


@dataclass
class Contents:
    """What was found, in the order of the folders' names."""

    studies: list[study.Reproduction] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """A sentence about each folder that holds something that a page does not show."""


def gather(places: Sequence[Path]) -> Contents:
    """The studies and runs in some folders and in the folders in these, each once. Raises OutputError."""
    found, seen = Contents(), set[tuple[object, ...]]()
    for place in places:
        before = len(found.studies) + len(found.runs) + len(found.left_out)
        own: list[Run] = []
        for folder in _folders(place):
            if (folder / MANIFEST).is_file():
                own.append(read(folder))
            if study.is_study(folder):
                found.studies.append(study.read(folder))
            found.left_out += [f"{folder} holds {what}" for what in _others(folder)]
        for run in sorted(own, key=lambda run: run.seed):
            key = tuple(str(run.manifest[fact]) for fact in ("plan_hash", "versions", "engine"))
            if key not in seen:
                found.runs.append(run)
            seen.add(key)
        if not own and before == len(found.studies) + len(found.runs) + len(found.left_out):
            # Nothing is there that anybody knows: this says why.
            read(place)
    if not found.studies and not found.runs:
        raise OutputError(
            f"there is no run and no study to show: {'; '.join(found.left_out) or 'expected at least one'}"
        )
    return found


def _others(folder: Path) -> Iterator[str]:
    """What a page does not show of a folder."""
    purpose = purpose_of(folder)
    if purpose in _PURPOSES:
        yield _PURPOSES[purpose]
    elif purpose and not study.is_study(folder):
        yield f"the {purpose}, which was not finished"
    if (folder / UNFINISHED).is_file() and not (folder / MANIFEST).is_file():
        yield "a run that was not finished"
    if (folder / "evaluation.json").is_file():
        yield "a model of prolongations"


def _folders(place: Path, depth: int = 0) -> Iterator[Path]:
    """A folder, then those in it."""
    yield place
    try:
        # A link may lead back; what is linked is given by itself.
        inside = [one for one in place.iterdir() if one.is_dir() and not one.is_symlink()] if place.is_dir() else []
    except OSError as error:
        raise OutputError(f"{place} cannot be read: {reason(error)}") from None
    for folder in sorted(inside):
        if depth < _DEEPEST and not folder.name.startswith("."):
            yield from _folders(folder, depth + 1)
