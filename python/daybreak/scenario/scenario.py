"""The scenario: the user's input, validated, in human units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import tomli_w
from pydantic import Field, ValidationError

from daybreak.errors import ScenarioError, shown

from .controllers import Controller
from .model import Model, check_texts
from .network import Link, Mark, Marker, Node, Queue
from .problems import scenario_error
from .quantities import Quantity, Span
from .records import Records
from .schedules import Schedule
from .stack import Stack
from .timelines import Route, Timeline
from .topologies import Topology
from .traffic import Arrivals, Flow


class Scenario(Model):
    """The complete description of one experiment; with a seed it becomes a plan that an engine runs."""

    name: str = Field(min_length=1, max_length=200)
    """Descriptive name."""
    description: str = ""
    """Its purpose."""
    duration: Span = Field(gt=0)
    """Latest end of the run."""
    stop: Literal["flows_complete", "duration"] = "flows_complete"
    """Stop as soon as every flow of limited size is complete, at the latest at `duration`."""
    topology: Topology | None = None
    """A ready network, by its kind in `daybreak list topologies`."""
    schedule: Schedule | None = None
    """A ready schedule for the topology, by its kind in `daybreak list schedules`."""
    nodes: tuple[Node, ...] = ()
    """Hosts and switches, besides those of the topology."""
    links: tuple[Link, ...] = ()
    """Links, besides those of the topology."""
    queues: tuple[Queue, ...] = ()
    """Queues besides the links' own: shared by links, or for some packets only."""
    marks: tuple[Mark, ...] = ()
    """Marks that the network can write on packets."""
    markers: tuple[Marker, ...] = ()
    """Places that write marks on packets."""
    routing: Literal["first", "ecmp"] = "first"
    """Among equally short paths take the one listed first, or draw one for each flow."""
    flows: tuple[Flow, ...] = ()
    """Flows."""
    arrivals: tuple[Arrivals, ...] = ()
    """Generators of flows."""
    routes: tuple[Route, ...] = ()
    """Flows that programs move between paths, by name."""
    timelines: tuple[Timeline, ...] = ()
    """Programs that change the network."""
    controllers: tuple[Controller, ...] = ()
    """Controllers, which change the network in response to its state."""
    stack: Stack = Stack()
    """The default TCP stack of all flows."""
    stacks: dict[str, Stack] = {}
    """Other stacks, by name."""
    records: Records = Records()
    """The records that a run makes."""

    @classmethod
    def parse(cls, document: dict[str, Any], source: str = "scenario") -> Self:
        """Makes a scenario from a document in the shape of a scenario file.

        `source` names it in errors. Raises ScenarioError.
        """
        check_texts(document, source)
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise scenario_error(error, document, source) from None

    def document(self) -> dict[str, Any]:
        """The scenario in the shape of a scenario file, without defaults."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)

    def to_toml(self) -> str:
        """The text of a scenario file that loads to an equal scenario."""
        return tomli_w.dumps(self.document())

    def with_(self, changes: dict[str, Any] | None = None, **fields: Any) -> Self:
        """A changed copy: `scenario.with_({"flows.0.variant": "bbr", "timelines.0.period": "10 ms"}, name="b")`.

        A key is the dotted path of a field of the scenario file; a table given for a table replaces only the keys that
        it contains. Raises ScenarioError.
        """
        document = self.document()
        for path, value in ((changes or {}) | fields).items():
            _set(document, path, plain(value))
        return self.parse(document, source=f'scenario "{self.name}", changed')


def plain(value: Any) -> Any:
    """A value as in a scenario file: objects as tables, quantities as text."""
    if isinstance(value, Model):
        return value.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value


def _set(document: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for key in parents:
        if isinstance(document, list):
            if not key.isdigit() or int(key) >= len(document):
                raise ScenarioError(f'"{path}" cannot be changed: "{key}" is not in a list of {len(document)}', path)
            document = document[int(key)]
        else:
            document = document.setdefault(key, {})
        if not isinstance(document, dict | list):
            raise ScenarioError(f'"{path}" cannot be changed: "{key}" is {shown(document)}, not a table', path)
    if isinstance(document, list):
        if not last.isdigit() or int(last) >= len(document):
            raise ScenarioError(f'"{path}" cannot be changed: "{last}" is not in a list of {len(document)}', path)
        document[int(last)] = value
    elif isinstance(value, dict) and isinstance(document.get(last), dict):
        document[last] = document[last] | value
    else:
        document[last] = value
