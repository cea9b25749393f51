"""Scenarios: the user's input, validated, in human units; with a seed they become plans.

A scenario is made from the tables of a scenario file, or from these objects, whose quantities are text with units:

    Scenario(
        name="one flow",
        duration="2 s",
        topology=Dumbbell(rate="10 Gbit/s", delay="20 us", queue="350 packets"),
        flows=[Flow(from_="sender-0", to="receiver-0", size="100 MB")],
    )
"""

from .choice import CircuitPolicy, Discipline, FlowPolicy, Variant
from .controllers import CircuitController, FlowController
from .files import load, save, schema
from .network import Link, Mark, Marker, Node, Queue
from .quantities import FlowSize, Framing, Load, Loss, QueueLimit, Rate, Size, Span
from .records import Records
from .scenario import Scenario
from .schedules.direct_turns import DirectTurns
from .schedules.rotor import Rotor
from .schedules.strobe import Strobe
from .stack import Stack
from .timelines import Circuit, Migrate, Program, Route
from .times import Exponential, Uniform
from .topologies.dumbbell import Dumbbell
from .topologies.hybrid import Hybrid
from .topologies.leaf_spine import LeafSpine
from .topologies.light_path import LightPath
from .topologies.migration_testbed import MigrationTestbed
from .topologies.parallel_links import ParallelLinks
from .traces import LinkTrace
from .traffic import Arrivals, ConstantRate, Flow, RequestResponse

__all__ = [
    "Arrivals", "Circuit", "CircuitController", "CircuitPolicy", "ConstantRate", "DirectTurns", "Discipline",
    "Dumbbell", "Exponential", "Flow", "FlowController", "FlowPolicy", "FlowSize", "Framing", "Hybrid", "LeafSpine",
    "LightPath", "Link", "LinkTrace", "Load", "Loss", "Mark", "Marker", "Migrate", "MigrationTestbed", "Node",
    "ParallelLinks",
    "Program", "Queue", "QueueLimit", "Rate", "Records", "RequestResponse", "Rotor", "Route", "Scenario", "Size",
    "Span", "Stack", "Strobe", "Uniform", "Variant", "load", "save", "schema",
]  # fmt: skip
