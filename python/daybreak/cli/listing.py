"""daybreak list"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from daybreak import _native
from daybreak.engines import ENGINES
from daybreak.scenario.model import Tagged
from daybreak.scenario.timelines import Circuit, Migrate
from daybreak.scenario.topologies import REGISTRY as TOPOLOGIES

from .terminal import Json, print_json, print_table

Entries = list[tuple[str, str]]


class What(StrEnum):
    """The registries."""

    variants = "variants"
    queues = "queues"
    schedules = "schedules"
    studies = "studies"
    topologies = "topologies"
    engines = "engines"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("list", epilog="Example: daybreak list variants")(list_)


def list_(what: Annotated[What, typer.Argument(help="What to list.")], as_json: Json = False) -> None:
    """List the names that a scenario or a command may use."""
    entries = _REGISTRIES[what]()
    if as_json:
        print_json([{"name": name, "summary": summary} for name, summary in entries])
    else:
        print_table(("name", "summary"), entries)


def _models(*models: type[Tagged]) -> Entries:
    return [(model.model_fields["kind"].default, _summary(model)) for model in models]


def _summary(model: type) -> str:
    return " ".join((model.__doc__ or "").partition("\n\n")[0].split())


def _studies() -> Entries:
    from daybreak import studies

    return list(studies.STUDIES.items())


_REGISTRIES: dict[What, Callable[[], Entries]] = {
    What.variants: _native.variants,
    What.queues: _native.queues,
    What.schedules: lambda: _models(Migrate, Circuit),
    What.studies: _studies,
    What.topologies: lambda: _models(*TOPOLOGIES),
    What.engines: lambda: list(ENGINES.items()),
}
