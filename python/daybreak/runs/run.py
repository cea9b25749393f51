"""A run: its tables, and the manifest that says where they come from."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from daybreak.errors import OutputError
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import Plan

from . import storage
from .naming import named

if TYPE_CHECKING:
    from collections.abc import Iterator

Columns = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Recorded:
    """What an engine hands over."""

    tables: Mapping[str, Columns]
    """Columns by table."""
    totals: Mapping[str, int]
    """Counts of the whole run, such as packet_hops, events and ended_ns."""
    capture: Path | None = None
    """The packets of the captured links, as a pcapng file."""
    keep: object = None
    """Whatever must live as long as the capture's file is needed."""


class Run:
    """The records of one run.

    Tables are polars frames with the columns of `crates/trace/src/rows.rs`, and names beside the numbers. Each is
    made when it is first asked for. A run can be pickled: all of its tables and its capture travel with it.
    """

    def __init__(
        self,
        manifest: dict[str, Any],
        load: Callable[[str], pl.DataFrame],
        capture: Path | None = None,
        keep: object = None,
    ):
        self.manifest = manifest
        """What was run: scenario, seed, engine, versions, the plan's hash, and totals."""
        self.capture = capture
        """The packets of the captured links, as a pcapng file; it lives as long as the run."""
        self._load = load
        self._keep = keep
        self._tables: dict[str, pl.DataFrame] = {}

    @classmethod
    def of(cls, scenario: Scenario, plan: Plan, engine: str, recorded: Recorded) -> Run:
        """The run of a scenario whose plan an engine has executed."""
        manifest = {
            "name": scenario.name,
            "seed": plan.content.seed,
            "engine": engine,
            "versions": {"daybreak": _version(), "plan": plan.content.version},
            "plan_hash": plan.hash,
            "totals": dict(recorded.totals),
            "tables": {
                name: len(next(iter(columns.values()))) if columns else 0 for name, columns in recorded.tables.items()
            },
            "scenario": scenario.document(),
        }

        def load(name: str) -> pl.DataFrame:
            return named(name, frame(recorded.tables[name]), plan.content)

        return cls(manifest, load, recorded.capture, recorded.keep)

    @property
    def flows(self) -> pl.DataFrame:
        """One row a flow."""
        return self.table("flows")

    @property
    def bins(self) -> pl.DataFrame:
        """Bytes by time bin; `scope` is "delivered", "tap" or "link"."""
        return self.table("bins")

    @property
    def window(self) -> pl.DataFrame:
        """The senders' windows over time."""
        return self.table("window")

    @property
    def queues(self) -> pl.DataFrame:
        """Queue occupancy over time."""
        return self.table("queues")

    @property
    def drops(self) -> pl.DataFrame:
        """One row a lost packet."""
        return self.table("drops")

    @property
    def circuits(self) -> pl.DataFrame:
        """One row a step of a timeline."""
        return self.table("circuits")

    @property
    def links(self) -> pl.DataFrame:
        """One row a link: its totals."""
        return self.table("links")

    @property
    def latency(self) -> pl.DataFrame:
        """Histograms of one-way delay."""
        return self.table("latency")

    @property
    def scenario(self) -> Scenario:
        """The scenario that was run."""
        return Scenario.parse(self.manifest["scenario"])

    @property
    def seed(self) -> int:
        """The seed that it was run with."""
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

    def write(self, directory: str | Path) -> Path:
        """Writes a Parquet file a table, the capture and `manifest.json`: all of it or nothing. Raises OutputError."""
        return storage.write(self, Path(directory))

    def __reduce__(self) -> tuple[Callable[..., Run], tuple[object, ...]]:
        return _arrived, (self.manifest, dict(self.tables()), self.capture.read_bytes() if self.capture else None)

    def __repr__(self) -> str:
        shown = {key: self.manifest[key] for key in ("name", "seed", "engine", "tables")}
        return f"Run({json.dumps(shown)})"


def read(directory: str | Path) -> Run:
    """The run in `directory`; its tables are read when they are asked for. Raises OutputError."""
    return Run(*storage.read(Path(directory)))


def _arrived(manifest: dict[str, Any], tables: dict[str, pl.DataFrame], packets: bytes | None) -> Run:
    """A run that has been pickled. Its capture becomes a file of this process."""
    if packets is None:
        return Run(manifest, tables.__getitem__)
    directory = tempfile.TemporaryDirectory(prefix="daybreak-")
    capture = Path(directory.name) / "capture.pcapng"
    capture.write_bytes(packets)
    return Run(manifest, tables.__getitem__, capture, keep=directory)


@cache
def _version() -> str:
    """Daybreak's, which takes longer to look up than a small run."""
    return version("daybreak")


def frame(columns: Columns) -> pl.DataFrame:
    """A polars frame over the columns' own memory."""
    return pl.DataFrame({name: pl.from_arrow(pa.array(values)) for name, values in columns.items()})
