"""daybreak list"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from daybreak import _native
from daybreak.engines import ENGINES
from daybreak.scenario.choice import default_text, range_text
from daybreak.scenario.model import Model, members
from daybreak.scenario.schedules import REGISTRY as SCHEDULES
from daybreak.scenario.timelines import Timeline
from daybreak.scenario.topologies import REGISTRY as TOPOLOGIES
from daybreak.scenario.workloads import PAIRS, PROCESSES, SIZES

from .tables import print_table
from .terminal import Json, print_json

Entries = list[tuple[str, str]]


class What(StrEnum):
    """The registries."""

    variants = "variants"
    queues = "queues"
    schedules = "schedules"
    studies = "studies"
    topologies = "topologies"
    sizes = "sizes"
    processes = "processes"
    pairs = "pairs"
    engines = "engines"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("list", epilog="Example: daybreak list variants")(list_)


def list_(
    what: Annotated[
        What | None, typer.Argument(help="What to list; by default the available lists.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """List the names that a scenario or a command may use."""
    if what is None:
        _list_lists(as_json)
        return
    if what in _PARAMETRISED:
        plain, entries_with_parameters = _PARAMETRISED[what]()
        _list_with_parameters(plain, entries_with_parameters, as_json)
        return
    entries = _REGISTRIES[what]()
    if as_json:
        print_json([{"name": name, "summary": summary} for name, summary in entries])
    else:
        print_table(("name", "summary"), entries, keys=("name",))


_LISTS = {
    What.variants: "congestion controls, with their parameters",
    What.queues: "queue disciplines, with their parameters",
    What.schedules: "kinds of timelines, and policies of controllers",
    What.studies: "published studies that 'daybreak reproduce' runs",
    What.topologies: "ready topologies",
    What.sizes: "distributions of the sizes of flows",
    What.processes: "arrival processes",
    What.pairs: "choices of host pairs",
    What.engines: "engines that run scenarios",
}


def _list_lists(as_json: bool) -> None:
    if as_json:
        print_json([{"name": what.value, "summary": summary} for what, summary in _LISTS.items()])
        return
    print_table(("daybreak list ...", "what it lists"), [(what.value, summary) for what, summary in _LISTS.items()])


def _list_with_parameters(plain: Entries, entries: list[_native.Entry], as_json: bool) -> None:
    if as_json:
        print_json(
            [{"name": name, "summary": summary, "parameters": []} for name, summary in plain]
            + [
                {
                    "name": entry.name,
                    "summary": entry.summary,
                    "parameters": [_document(one) for one in entry.parameters],
                }
                for entry in entries
            ]
        )
        return
    print_table(("name", "summary"), plain + [(entry.name, entry.summary) for entry in entries], keys=("name",))
    rows = [
        (entry.name, parameter.name, default_text(parameter), range_text(parameter), parameter.summary)
        for entry in entries
        for parameter in entry.parameters
    ]
    if rows:
        print_table(("name", "parameter", "default", "range", "summary"), rows, keys=("name", "parameter"))


def _document(parameter: _native.Parameter) -> dict[str, Any]:
    unit, default = parameter.default or (None, None)
    low, high = parameter.range or (None, None)
    return {
        "name": parameter.name, "kind": parameter.kind, "default": default, "default_unit": unit, "least": low,
        "most": high, "summary": parameter.summary,
    }  # fmt: skip


def _models(*models: type[Model]) -> Entries:
    return [(model.model_fields["kind"].default, _summary(model)) for model in models]


def _summary(model: type) -> str:
    return " ".join((model.__doc__ or "").partition("\n\n")[0].split())


def _studies() -> Entries:
    from daybreak import studies

    return list(studies.STUDIES.items())


def _schedules() -> tuple[Entries, list[_native.Entry]]:
    """Kinds of timelines, and the policies of controllers."""
    return _models(*members(Timeline), *SCHEDULES), _native.circuit_policies() + _native.flow_policies()


_PARAMETRISED: dict[What, Callable[[], tuple[Entries, list[_native.Entry]]]] = {
    What.variants: lambda: ([], _native.variants()),
    What.queues: lambda: ([], _native.queues()),
    What.schedules: _schedules,
}
"""Entries without parameters, and entries with optional parameters."""


_REGISTRIES: dict[What, Callable[[], Entries]] = {
    What.studies: _studies,
    What.topologies: lambda: _models(*TOPOLOGIES),
    What.sizes: lambda: _models(*SIZES),
    What.processes: lambda: _models(*PROCESSES),
    What.pairs: lambda: _models(*PAIRS),
    What.engines: lambda: list(ENGINES.items()),
}
