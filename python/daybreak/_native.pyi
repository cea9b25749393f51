"""The engine of Daybreak, its registries and its random streams."""

from collections.abc import Callable
from typing import Any, Literal, final

import numpy as np

__all__ = [
    "Entry",
    "Parameter",
    "Stream",
    "benchmark_plan",
    "benchmarks",
    "check_plan",
    "circuit_policies",
    "control_events",
    "downtimes",
    "drop_reasons",
    "ecn_variants",
    "flow_policies",
    "plan_schema",
    "queues",
    "replay",
    "run",
    "run_benchmark",
    "tables",
    "variants",
]

@final
class Stream:
    """One component's own sequence of random numbers, named by the run's seed and the component's path."""

    def __new__(cls, seed: int, path: str) -> Stream: ...
    def next_u64(self) -> int:
        """A number uniform over 0 to 2^64 - 1."""
    def below(self, bound: int) -> int:
        """A number uniform in `range(bound)`, without bias."""
    def unit(self) -> float:
        """A number uniform in [0, 1), with 53 random bits."""

@final
class Entry:
    """An entry of a registry."""

    @property
    def name(self) -> str:
        """Its name in scenarios."""
    @property
    def summary(self) -> str:
        """One line about it."""
    @property
    def parameters(self) -> list[Parameter]:
        """Its parameters."""

@final
class Parameter:
    """A parameter of an entry."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def kind(self) -> str:
        """ "switch", "number", "count", "packets", "bytes", "time", "rate" or "length"."""
    @property
    def default(self) -> tuple[str, bool | int | float] | None:
        """Unit and default value; None if a value is required."""
    @property
    def range(self) -> tuple[int | float, int | float] | None:
        """Least and greatest value; None for a switch."""
    @property
    def summary(self) -> str:
        """One line about it."""

def variants() -> list[Entry]:
    """Every TCP variant."""

def ecn_variants() -> list[str]:
    """The TCP variants that react to the marks of queues, and so negotiate ECN whatever `tcp_ecn` is."""

def queues() -> list[Entry]:
    """Every queue discipline."""

def circuit_policies() -> list[Entry]:
    """Every policy for controllers of a circuit."""

def flow_policies() -> list[Entry]:
    """Every policy for controllers of flows."""

def control_events() -> list[str]:
    """The decisions of controllers, in the order of the numbers in table `control`."""

def downtimes() -> list[tuple[str, Literal["lose", "hold", "old_path"], Literal["empty", "keep", "drain", "part"]]]:
    """The downtime policies: of each its name, what happens to packets that arrive at a dark route ("lose", "hold" or
    "old_path"), and to a queue when one of its gates closes ("empty", "keep", "drain" or "part").
    """

def drop_reasons() -> list[tuple[str, str]]:
    """The reasons for losses, in the order of the numbers in table `drops`: a name, and what the place is an index of
    ("queue", "link" or "route_switch").
    """

def tables() -> list[tuple[str, str, list[tuple[str, str, str]]]]:
    """Every record table: its name, what a row is, and its columns with their types and meanings."""

def check_plan(plan: bytes) -> None:
    """Raises PlanError unless the plan can be run."""

def plan_schema() -> str:
    """The JSON Schema of a plan, from which its Python types are made."""

def run(
    plan: bytes, capture: str | None = None, progress: Callable[[int, int, int, int, int], object] | None = None
) -> tuple[dict[str, dict[str, np.ndarray[Any, Any]]], dict[str, int]]:
    """Runs a plan to its end.

    `capture` is the file for the packets of the plan's captured links. `progress` is called periodically with the
    simulated time, its end (both in ps), the number of events so far, of complete flows and of flows of limited size;
    an exception that it raises ends the run, as does Ctrl-C in the main thread.

    Returns the columns by table, and the totals of the run.
    """

def replay(
    plan: bytes,
    flow: int,
    client: bool,
    sent: dict[str, np.ndarray[Any, Any]],
    received: dict[str, np.ndarray[Any, Any]],
) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, int]]:
    """Feeds the segments that one end of a flow received to the model's end, and compares what both sent.

    `client` is true for the end that opens the connection. `sent` and `received` map a column's name to an array of
    64-bit numbers, one per segment. Returns the columns of what the model sent, and a summary of the comparison.
    """

def benchmarks() -> list[tuple[str, str]]:
    """Every benchmark: its name and a one-line description."""

def benchmark_plan(name: str) -> str:
    """The plan of a benchmark, as JSON."""

def run_benchmark(name: str, progress: Callable[[int, int, int, int, int], object] | None = None) -> dict[str, int]:
    """Runs a benchmark and returns its totals; `progress` as in `run`, called before the first event as well."""
