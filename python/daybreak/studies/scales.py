"""What of a study is run: its figures, and its scale, with other sizes than its two modes and the parts of it that are
inferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from daybreak.errors import ScenarioError, UnknownName

if TYPE_CHECKING:
    from daybreak.studies.protocol import AnyStudy

Part = TypeVar("Part")


def scale_of(study: AnyStudy, mode: str, seeds: int | None = None, sizes: Mapping[str, str] | None = None) -> Any:
    """The study's scale for a mode ("quick" or "full"), with fields overridden by ``sizes`` and ``seeds`` runs per
    setting.

    Raises UnknownName, and ScenarioError where a number is not possible.
    """
    if mode not in study.scales:
        raise UnknownName(f'mode: "{mode}" is not one of {", ".join(study.scales)}')
    if seeds is not None and seeds < 1:
        raise ScenarioError(f"seeds: {seeds} is not above zero")
    scale = varied(study.scales[mode], sizes or {})
    return scale if seeds is None else scale.with_runs(seeds)


def figures_of(study: AnyStudy, names: Sequence[str], engine: str = "simulated") -> tuple[str, ...]:
    """The figures of these names, by default all that the engine can make. Raises UnknownName, and ScenarioError for
    one that it cannot."""
    possible = study.figures_of(engine)
    for name in names:
        if name not in study.figures:
            raise UnknownName(f'figure: "{name}" is not one of {", ".join(study.figures)}')
        if name not in possible:
            raise ScenarioError(f'figure: "{name}" is about the hosts of the simulator, not of engine {engine}')
    return tuple(names) or possible


def varied(scale: Any, changes: Mapping[str, str]) -> Any:
    """A copy of a scale with changed fields, given as text. Raises UnknownName, ScenarioError."""
    known = {one.name: getattr(scale, one.name) for one in fields(scale)}
    values: dict[str, Any] = {}
    for field, text in changes.items():
        if field not in known:
            raise UnknownName(f'field: "{field}" is not one of {", ".join(known)}')
        kind = type(known[field])
        try:
            values[field] = kind(text)
        except ValueError:
            raise ScenarioError(f'{field}: "{text}" is not of type {kind.__name__}') from None
    try:
        return replace(scale, **values)
    except ValueError as error:
        raise ScenarioError(str(error)) from None


def unusual(part: Any) -> str:
    """The non-default fields of a dataclass, for names: ``hz=1000-phase=0``; empty if there are none."""
    usual = type(part)()
    changed = [one.name for one in fields(part) if getattr(part, one.name) != getattr(usual, one.name)]
    return "-".join(f"{name}={getattr(part, name)}" for name in changed)


def part_of(scale: Any, kind: type[Part]) -> Part:
    """The fields that a scale shares with the dataclass ``kind``, as an instance of it."""
    return kind(**{one.name: getattr(scale, one.name) for one in fields(cast("Any", kind))})
