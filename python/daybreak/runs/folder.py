"""The folder of `daybreak run -o`: a run itself, or one run per seed in folders `seed-1`, `seed-2` and so on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daybreak.errors import OutputError
from daybreak.scenario import Scenario

from . import storage

_SEED = re.compile(r"seed-\d+")
# Descriptions for people; no run depends on them.
_WORDS = ("name", "description")


@dataclass(frozen=True)
class Folder:
    """The place of each seed's run."""

    root: Path
    places: Mapping[int, Path]
    finished: Mapping[int, Path]
    """Runs that exist already, with the same plan, engine and program."""
    others: Sequence[Path]
    """Other runs, which are removed once all of ours are written; empty unless forced."""

    def staging(self) -> Path:
        """Makes and returns the folder in which captures are written until their run is finished."""
        place = self.root if self.root not in self.places.values() else storage.staging_place(self.root)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{place} cannot be written: {error.strerror}") from None
        return place

    def keep_failed(self, scenario: Scenario, identity: Mapping[str, Any], files: Mapping[str, bytes]) -> Path | None:
        """Writes what the programs of a failed run wrote in its place, which stays no run and is replaced by the next
        one; returns their folder, or None if another run is there. Raises OutputError."""
        place = self.places[identity["seed"]]
        manifest = {"name": scenario.name, **identity, "scenario": scenario.document()}
        return place / storage.PROGRAMS if storage.write_unfinished(manifest, files, place) else None

    def remove_others(self) -> None:
        """Removes the files of the other runs, and nothing else. Raises OutputError."""
        for place in self.others:
            if place not in self.places.values():
                storage.remove(place)


def claim(
    root: Path,
    scenario: Scenario,
    seeds: Sequence[int],
    identity: Callable[[int], Mapping[str, Any]],
    force: bool = False,
) -> Folder:
    """Assigns a place to the run of each seed, before anything is run or changed. Raises OutputError.

    `identity(seed)` identifies a seed's run (`runs.identity`). A folder that holds other runs is refused, unless
    `force`; further seeds of the same experiment do not count as other runs.
    """
    storage.forget_unfinished(root)
    by_seed = [place for place in sorted(root.glob("seed-*")) if _SEED.fullmatch(place.name)]
    runs = [(place, manifest) for place in (root, *by_seed) if (manifest := storage.held(place)) is not None]
    is_one = len(seeds) == 1 and all(place == root for place, _ in runs)
    places = {seed: root if is_one else root / f"seed-{seed}" for seed in seeds}
    ours = {place: seed for seed, place in places.items()}
    finished, others = {}, []
    for place, manifest in runs:
        if place in ours:
            expected = identity(ours[place])
            if not storage.is_same(manifest, expected):
                others.append((place, _why(manifest, expected, scenario) or "it holds a run of another plan"))
            elif storage.is_whole(place, manifest):
                finished[ours[place]] = place
        elif place == root:
            others.append((place, "it holds one run, not one a seed"))
        else:
            why = _why(manifest, {**identity(seeds[0]), "seed": manifest["seed"]}, scenario)
            if why:
                others.append((place, why))
    if others and not force:
        place, why = others[0]
        raise OutputError(f"{place} cannot be used: {why}; choose another folder, or --force to replace the run")
    _check(root, [place for seed, place in places.items() if seed not in finished])
    return Folder(root, places, finished, [place for place, _ in others])


def _why(manifest: Mapping[str, Any], expected: Mapping[str, Any], scenario: Scenario) -> str:
    """What makes a run another one; empty where it may be another seed of the same experiment."""
    if _document(manifest["scenario"]) != _document(scenario.document()):
        return f'it holds a run of another scenario, "{manifest.get("name")}"'
    if manifest.get("engine") != expected["engine"]:
        return f"it holds a run on engine {manifest.get('engine')}"
    if manifest["seed"] != expected["seed"]:
        return f"it holds the run of seed {manifest['seed']}"
    if manifest.get("versions") != expected["versions"]:
        return "it holds a run by another build of Daybreak"
    return ""


def _document(scenario: Any) -> Any:
    return {key: value for key, value in scenario.items() if key not in _WORDS} if isinstance(scenario, dict) else None


def _check(root: Path, places: Sequence[Path]) -> None:
    if root.is_symlink():
        storage.check_writable(root / "x" if root.is_dir() else root)
    absent = [place for place in places if not place.exists() and not place.is_symlink()]
    for place in places:
        if place.exists() or place.is_symlink():
            storage.check_writable(place)
    # One check is enough: all are written in the same folder.
    for place in absent[:1]:
        storage.check_writable(place)
