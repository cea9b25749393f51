"""The base of all ready schedules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..model import Tagged
from ..network import Mark, Marker
from ..timelines import Program, Route
from ..topologies.ready import ReadyNetwork


class Traffic(NamedTuple):
    """The properties of the flows of one entry that schedules need."""

    name: str
    group: str
    source: str
    destination: str
    says_its_way: bool
    """Whether it has a `via`."""


@dataclass(frozen=True)
class Parts:
    """The expansion of a schedule."""

    program: Program
    routes: tuple[Route, ...] = ()
    marks: tuple[Mark, ...] = ()
    markers: tuple[Marker, ...] = ()


class ReadySchedule(Tagged):
    """A program for one kind of topology, with few parameters."""

    network: ClassVar[type[ReadyNetwork]]
    """The topology it is for."""

    def parts(self, network: ReadyNetwork, traffic: Sequence[Traffic]) -> Parts:
        """Its expansion for a network of its kind; raises ValueError with what was expected if it does not fit."""
        raise NotImplementedError
