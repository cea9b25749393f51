"""Scenarios: what the user writes, validated, in human units; with a seed they become plans."""

from .files import dumps, load, save, schema
from .network import Link, Node, SharedQueue
from .quantities import FlowSize, Framing, Loss, QueueLimit, Rate, Size, Span
from .records import Records
from .scenario import Scenario
from .stack import Stack
from .timelines import Circuit, Migrate
from .traffic import Arrivals, Exponential, Flow, Sizes, Uniform

__all__ = [
    "Arrivals", "Circuit", "Exponential", "Flow", "FlowSize", "Framing", "Link", "Loss", "Migrate", "Node",
    "QueueLimit", "Rate", "Records", "Scenario", "SharedQueue", "Size", "Sizes", "Span", "Stack", "Uniform",
    "dumps", "load", "save", "schema",
]  # fmt: skip
