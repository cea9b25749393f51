"""What all ready schedules have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..model import Tagged
from ..network import Mark, Marker
from ..timelines import Program, Route
from ..topologies.ready import ReadyNetwork


class Traffic(NamedTuple):
    """The flows of one entry of the scenario, as far as schedules look at them."""

    name: str
    group: str
    source: str
    destination: str
    says_its_way: bool
    """It has a `via`."""


@dataclass(frozen=True)
class Parts:
    """What a schedule stands for."""

    program: Program
    routes: tuple[Route, ...] = ()
    marks: tuple[Mark, ...] = ()
    markers: tuple[Marker, ...] = ()


class ReadySchedule(Tagged):
    """A program for one kind of network, with few parameters."""

    network: ClassVar[type[ReadyNetwork]]
    """What it is for."""

    def parts(self, network: ReadyNetwork, traffic: Sequence[Traffic]) -> Parts:
        """What it stands for in a network of its kind; raises ValueError with what was expected if it does not fit."""
        raise NotImplementedError
