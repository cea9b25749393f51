"""Begins a sweep in a folder that may hold a dataset: the same sweep extends it, another one would replace it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from daybreak.errors import OutputError, reason

from . import dataset
from .grid import Points
from .labels import is_among

# Descriptions for people; no run depends on them.
_WORDS = ("name", "description")
UNFINISHED = "is_being_extended"
"""Key of `sweep.json`: a larger sweep has begun in the folder, and the description is still that of the dataset."""


def facts(points: Points) -> dict[str, Any]:
    """What identifies a sweep, for `sweep.json`."""
    grid = points.grid.model_dump(mode="json", exclude_defaults=True)
    return {"grid": grid, "scenario": points.base.document()}


def begin(directory: Path, points: Points, new: Mapping[str, Any], force: bool) -> None:
    """Notes in the folder that the sweep with these facts begins, beside the description of the dataset it holds.

    Raises OutputError if the dataset has points or seeds beyond these; with `force` removes it instead. The stored runs
    stay.
    """
    held = _held(directory)
    if held is not None and (what := _lost(held, new, list(points.seeds))):
        _remove(directory, held, what, force)
        held = None
    if held is None:
        dataset.note(directory, {**new, "complete": False})
    elif any(held.get(fact) != value for fact, value in new.items()):
        dataset.note(directory, held | {UNFINISHED: True})


def _remove(directory: Path, held: Mapping[str, Any], what: str, force: bool) -> None:
    if not force:
        raise OutputError(
            f"{directory} cannot be used: it holds a sweep {what}; choose another folder, or --force to replace its "
            "dataset (in Python force=True)"
        )
    try:
        for table in _keep(held["grid"]):
            if (directory / table).is_dir():
                shutil.rmtree(directory / table)
    except OSError as error:
        raise OutputError(f"{directory} cannot be written: {reason(error)}") from None


def _held(directory: Path) -> dict[str, Any] | None:
    """The description of the folder's dataset; None if there is none."""
    try:
        document = json.loads((directory / dataset.MANIFEST).read_text(encoding="utf-8"))
        has_some = any(any((directory / table).glob("*.parquet")) for table in _keep(document["grid"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return document if has_some else None


def _keep(grid: Mapping[str, Any]) -> list[str]:
    return list(grid.get("keep", ["flows"]))


def _lost(held: Mapping[str, Any], new: Mapping[str, Any], seeds: Sequence[int]) -> str:
    """Describes what the held sweep has and the new one would not."""
    before, after = held["grid"], new["grid"]
    if "scenario" in held and _document(held["scenario"]) != _document(new["scenario"]):
        return f'of another scenario, "{held["scenario"].get("name")}"'
    if before.get("engine") != after.get("engine"):
        return f"on engine {before.get('engine', 'simulated')}"
    old, axes = before.get("axes", {}), after.get("axes", {})
    if set(old) != set(axes):
        return f"over {', '.join(old)}" if old else "without axes"
    for name, axis in old.items():
        if _fields(axis) != _fields(axes[name]):
            return f'whose axis "{name}" is of {", ".join(_fields(axis))}'
        for value in _values(axis):
            if not is_among(value, _values(axes[name])):
                shown = next(iter(value)) if axis.get("points") else value
                return f'whose axis "{name}" has {json.dumps(shown, ensure_ascii=False)}'
    drawn = [(grid.get("sample"), grid.get("sample_seed"), grid.get("axes")) for grid in (before, after)]
    if drawn[1][0] is not None and drawn[0] != drawn[1]:
        return "of other points, which are drawn from the product of the axes"
    missing = [seed for seed in _seeds(before) if seed not in seeds]
    if missing:
        return f"with seed {missing[0]}"
    gone = [table for table in _keep(before) if table not in _keep(after)]
    return f"with table {gone[0]}" if gone else ""


def _document(scenario: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in scenario.items() if key not in _WORDS}


def _fields(axis: Mapping[str, Any]) -> list[str]:
    return ["several fields"] if axis.get("points") else list(axis.get("fields") or [axis.get("field")])


def _values(axis: Mapping[str, Any]) -> list[Any]:
    points = axis.get("points")
    return [{name: changes} for name, changes in points.items()] if points else list(axis["values"])


def _seeds(grid: Mapping[str, Any]) -> Sequence[int]:
    seeds = grid.get("seeds", 1)
    return range(1, seeds + 1) if isinstance(seeds, int) else list(seeds)
