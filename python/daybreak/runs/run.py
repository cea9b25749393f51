"""A run: its tables, and the manifest that states their origin."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

import daybreak
from daybreak.errors import OutputError
from daybreak.scenario import Scenario, Span
from daybreak.scenario.lowering import Plan

from . import storage
from .naming import Columns, named, with_found
from .staging import Staging

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.figure import Figure


@dataclass(frozen=True)
class EngineOutput:
    """What an engine returns."""

    tables: Mapping[str, Columns]
    """Columns by table."""
    totals: Mapping[str, int]
    """Counts of the whole run, such as packet_hops, events and ended_ns."""
    capture: Path | None = None
    """The packets of the captured links, as a pcapng file."""
    keep: object = None
    """An object that must stay alive as long as the capture's file is needed."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files that programs wrote, by path in the run's folder."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The engine's entry in the manifest."""


class Run:
    """The records of one run.

    Tables are polars frames with the columns of `crates/trace/src/rows.rs`, and names beside the numbers. Each is made
    on first access. A run can be pickled, with all of its tables and its capture.
    """

    def __init__(
        self,
        manifest: dict[str, Any],
        load: Callable[[str], pl.DataFrame],
        capture: Path | None = None,
        keep: object = None,
        files: Mapping[str, bytes] = MappingProxyType({}),
    ):
        self.manifest = manifest
        """What was run: scenario, seed, engine, versions, the plan's hash, and totals."""
        self.capture = capture
        """The packets of the captured links, as a pcapng file; it lives as long as the run."""
        self.files = files
        """Files that programs wrote, by path in the run's folder: `programs/NAME-client/stdout` and so on."""
        self._load = load
        self._keep = keep
        self._tables: dict[str, pl.DataFrame] = {}

    @classmethod
    def of(cls, scenario: Scenario, plan: Plan, engine: str, program: str, recorded: EngineOutput) -> Run:
        """The run of a scenario whose `plan` was executed by an engine's `program`, which returned `recorded`."""
        manifest = {
            "name": scenario.name,
            **identity(plan, engine, program),
            **recorded.facts,
            "capture": recorded.capture is not None,
            "totals": dict(recorded.totals),
            "tables": {
                name: len(next(iter(columns.values()))) if columns else 0 for name, columns in recorded.tables.items()
            },
            "scenario": scenario.document(),
        }
        if recorded.files:
            manifest["files"] = sorted(recorded.files)

        content = with_found(plan.content, recorded.tables.get("connections"))

        def load(name: str) -> pl.DataFrame:
            return named(name, recorded.tables[name], content)

        return cls(manifest, load, recorded.capture, recorded.keep, recorded.files)

    @property
    def flows(self) -> pl.DataFrame:
        """One row a flow: size in bytes, start, end and completion time in ns, retransmissions, timeouts."""
        return self.table("flows")

    @property
    def bins(self) -> pl.DataFrame:
        """Bytes by time bin (ns); `scope` is "arrived", "delivered", "tap" or "link". With `records.bins`."""
        return self.table("bins")

    @property
    def window(self) -> pl.DataFrame:
        """The senders' windows over time: `cwnd` and `ssthresh` in segments, times in ns. With `records.window`."""
        return self.table("window")

    @property
    def queues(self) -> pl.DataFrame:
        """Occupancy of the sampled queues over time, in packets and bytes. With `records.queues`."""
        return self.table("queues")

    @property
    def queue_totals(self) -> pl.DataFrame:
        """One row a queue: packets marked, dropped, overflowed and returned in the whole run."""
        return self.table("queue_totals")

    @property
    def connections(self) -> pl.DataFrame:
        """One row a connection of a program: its protocol and ports."""
        return self.table("connections")

    @property
    def programs(self) -> pl.DataFrame:
        """One row a program: its start and end (ns), exit code and signal."""
        return self.table("programs")

    @property
    def drops(self) -> pl.DataFrame:
        """One row a lost packet: when (ns), where, why. With `records.drops`."""
        return self.table("drops")

    @property
    def losses(self) -> pl.DataFrame:
        """Lost packets in time bins (ns), by place and reason."""
        return self.table("losses")

    @property
    def circuits(self) -> pl.DataFrame:
        """One row a step of a timeline: when (ns), and which circuit, path or night began."""
        return self.table("circuits")

    @property
    def control(self) -> pl.DataFrame:
        """One row a decision of a controller: when (ns), and what it was about."""
        return self.table("control")

    @property
    def links(self) -> pl.DataFrame:
        """One row a link: packets and bytes that crossed it in the whole run."""
        return self.table("links")

    @property
    def latency(self) -> pl.DataFrame:
        """Histograms of the one-way delay (ns) of each flow's data packets. With `records.latency`."""
        return self.table("latency")

    @property
    def packets(self) -> pl.DataFrame:
        """One row a packet and listed link, with its time in ns. With `records.packets`."""
        return self.table("packets")

    @property
    def exchanges(self) -> pl.DataFrame:
        """One row a request with its response, times in ns; only where a flow has that application."""
        return self.table("exchanges")

    @property
    def datagrams(self) -> pl.DataFrame:
        """One row a flow over UDP: datagrams sent, delivered and lost, delays in ns; only where there is one."""
        return self.table("datagrams")

    @property
    def scenario(self) -> Scenario:
        """The scenario that was run."""
        return Scenario.parse(self.manifest["scenario"])

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.manifest["seed"])

    def table(self, name: str) -> pl.DataFrame:
        """A table by its name."""
        if name not in self.manifest["tables"]:
            raise OutputError(f'the run has no table "{name}": it has {", ".join(self.manifest["tables"])}')
        if name not in self._tables:
            self._tables[name] = self._load(name)
        return self._tables[name]

    def tables(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """All tables with their names."""
        for name in self.manifest["tables"]:
            yield name, self.table(name)

    def write(self, directory: str | Path, force: bool = False) -> Path:
        """Writes one Parquet file per table, the capture and `manifest.json`, atomically.

        A folder that holds another run is refused; with `force` that run is replaced. Files that no run has written
        stay. Raises OutputError.
        """
        return storage.write(self, Path(directory), force)

    def plot(
        self,
        *,
        what: str | Sequence[str] | None = None,
        by: str | None = None,
        flows: str | None = None,
        from_: str | Span | None = None,
        to: str | Span | None = None,
        fold: str | Span | None = None,
        timeline: str | None = None,
        phase: str | None = None,
    ) -> Figure:
        """Draws the run over time: `daybreak.plot` of this run alone, which explains the options.

        ``what`` are quantities such as "throughput, cwnd", by default all that are recorded. ``by`` is what a curve
        stands for: "flow", "group" or "variant". ``flows`` is a pattern for their names. ``from_`` and ``to`` are times
        such as "5 ms"; ``fold`` overlays weeks of this length, or "week" those of the timeline. ``timeline`` and
        ``phase`` name what is shaded. Raises PlotError, UsageError.

        A notebook displays the figure as the result of a cell; in a script call its method `show`.
        """
        return daybreak.plot(
            [self], what=what, by=by, flows=flows, from_=from_, to=to, fold=fold, timeline=timeline, phase=phase
        )

    def _repr_html_(self) -> str:
        return daybreak.as_html(self)

    def __reduce__(self) -> tuple[Callable[..., Run], tuple[object, ...]]:
        packets = self.capture.read_bytes() if self.capture else None
        return _arrived, (self.manifest, dict(self.tables()), packets, dict(self.files))

    def __repr__(self) -> str:
        shown = {key: self.manifest[key] for key in ("name", "seed", "engine", "tables")}
        return f"Run({json.dumps(shown)})"


def identity(plan: Plan, engine: str, program: str) -> dict[str, Any]:
    """Identifies a run: two runs with equal identities have equal tables."""
    return {
        "seed": plan.content.seed,
        "engine": engine,
        "versions": {"daybreak": _version(), "plan": plan.content.version, "program": program},
        "plan_hash": plan.hash,
    }


def read(directory: str | Path) -> Run:
    """The run in `directory`; its tables are read on first access. Raises OutputError."""
    manifest, load, capture, files = storage.read(Path(directory))
    return Run(manifest, load, capture, files=files)


def read_all(directory: str | Path) -> list[Run]:
    """The run in `directory`, or the runs in the folders in it, in the order of their seeds. Raises OutputError."""
    place = Path(directory)
    inside = storage.runs_in(place)
    return sorted(map(read, inside), key=lambda run: run.seed) if inside else [read(place)]


def _arrived(
    manifest: dict[str, Any], tables: dict[str, pl.DataFrame], packets: bytes | None, files: dict[str, bytes]
) -> Run:
    """Unpickles a run. Its capture becomes a file of this process."""
    if packets is None:
        return Run(manifest, tables.__getitem__, files=files)
    staging = Staging(Path(tempfile.gettempdir()))
    capture = staging.path / storage.CAPTURE
    capture.write_bytes(packets)
    return Run(manifest, tables.__getitem__, capture, keep=staging, files=files)


@cache
def _version() -> str:
    """Daybreak's version, cached because looking it up takes longer than a small run."""
    return version("daybreak")
