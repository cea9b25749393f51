"""Scenarios: what the user writes, validated, in human units; with a seed they become plans."""

from .choice import CircuitPolicy, Discipline, FlowPolicy, Variant
from .controllers import CircuitController, FlowController
from .files import dumps, load, save, schema
from .network import Link, Mark, Marker, Node, Queue
from .quantities import FlowSize, Framing, Loss, QueueLimit, Rate, Size, Span
from .records import Records
from .scenario import Scenario
from .stack import Stack
from .timelines import Circuit, Migrate, Program, Route
from .times import Exponential, Uniform
from .traffic import Arrivals, Flow, RequestResponse

__all__ = [
    "Arrivals", "Circuit", "CircuitController", "CircuitPolicy", "Discipline", "Exponential", "Flow", "FlowController",
    "FlowPolicy", "FlowSize", "Framing", "Link", "Loss", "Mark", "Marker", "Migrate", "Node", "Program", "Queue",
    "QueueLimit", "Rate", "Records", "RequestResponse", "Route", "Scenario", "Size", "Span", "Stack", "Uniform",
    "Variant", "dumps", "load", "save", "schema",
]  # fmt: skip
