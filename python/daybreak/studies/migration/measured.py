"""Measurements from the runs of one setting: tables with a column ``run`` (the seed)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from daybreak.metrics import concurrency, confidence, fct, phases, throughput, window
from daybreak.metrics.confidence import Interval, interval
from daybreak.runs import Run
from daybreak.studies.kept import FLOW_COLUMNS
from daybreak.studies.migration.settings import Setting
from daybreak.studies.migration.testbed import BIN_MS
from daybreak.sweeps import Reduction, Tables

BIN_NS = BIN_MS * 1_000_000
GROUPS = ("migrated", "main")
"""Groups that are measured; Table II has others, of an earlier round of transfers."""


@dataclass(frozen=True)
class Measurements:
    """The runs of one setting.

    ``flows`` has one row per flow with ``fct_s`` and ``end_s``; ``throughput`` (``group, time_s, gbps``, wire bytes at
    the taps) and ``windows`` (``group, time_s, kilobytes, outstanding``, see `windows`) have a row for each 1 ms bin;
    ``phases`` has the intervals in which the migrated flow was on each path, or on none (`metrics.phases.intervals`).
    Settings of kind "forest" and "exchanges" have ``flows`` only; in the latter, those of responses.
    """

    setting: Setting
    flows: pl.DataFrame
    throughput: pl.DataFrame
    windows: pl.DataFrame
    phases: pl.DataFrame

    def fcts(self, group: str) -> list[float | None]:
        """Mean FCT of the group's flows in seconds, one value per run; None if a flow did not end."""
        return fct.by_run(self.flows).filter(group=group).sort("run")["fct_s"].to_list()

    def fct(self, group: str) -> Interval | None:
        """Mean FCT over the runs; None if a flow did not end in some run."""
        return confidence.of_all(self.fcts(group))

    def prolongation(self) -> Interval | None:
        """FCT of the migrated minus that of the main flow in seconds; None if a flow did not end in some run."""
        return confidence.of_all(fct.prolongation(self.flows).sort("run")["prolongation_s"].to_list())

    def while_both(self, table: pl.DataFrame) -> pl.DataFrame:
        """The bins of ``throughput`` or ``windows`` in the time in which both flows run."""
        return concurrency.while_all_run(table, self.flows, bin_ns=BIN_NS)

    def rates(self) -> tuple[Interval, Interval]:
        """Mean throughput of the migrated and of the main flow while both run."""
        table = self.while_both(self.throughput)
        migrated, main = (interval(concurrency.means(table, group, "gbps")) for group in GROUPS)
        return migrated, main

    def rates_after(self, group: str, *, delay_s: float = 0.0) -> list[float]:
        """Throughput of a flow from the other one's end (plus ``delay_s``) to its own, one value per run."""
        later = concurrency.after_others(self.throughput, self.flows, group, bin_ns=BIN_NS, delay_s=delay_s)
        return concurrency.means(later, group, "gbps")


Evidence = Mapping[Setting, Measurements]
"""The settings of a figure."""


def of_run(run: Run) -> Tables:
    """The tables of one run, small enough to store for all runs. Times count from the millisecond in which it begins,
    so that runs can be overlaid."""
    begin_ns = begin_of(run)
    flows = counted_from(begin_ns, run.flows.select(FLOW_COLUMNS).filter(pl.col("group").is_in(GROUPS)))
    if any(one.application for one in run.scenario.arrivals):
        return {"flows": _of_responses(flows, run.table("exchanges"))}
    if run.scenario.records.window is None:
        return {"flows": flows}
    bins, samples, circuits = (counted_from(begin_ns, table) for table in (run.bins, run.window, run.circuits))
    last_bin_ns = bins.select(pl.col("start_ns").max().fill_null(0)).item()
    end_ns = max(int(last_bin_ns) + BIN_NS, *flows["end_ns"].drop_nulls(), 0)
    return {
        "flows": flows,
        "throughput": throughput.series(bins, flows, bin_ns=BIN_NS, end_ns=end_ns),
        "windows": windows(samples, flows, end_ns),
        "circuits": circuits.filter(pl.col("timeline_name") == "migrated"),
    }


REDUCTION = Reduction("migration", 3, of_run)
"""The reduction of each run."""


def begin_of(run: Run) -> int:
    """Start in ns of the bin in which the switch's cycle begins, or the flows if nothing moves."""
    starts = [int(line.start) // 1000 for line in run.scenario.timelines] or [int(run.flows["start_ns"].min() or 0)]  # type: ignore[arg-type]
    return min(starts) // BIN_NS * BIN_NS


def counted_from(begin_ns: int, table: pl.DataFrame) -> pl.DataFrame:
    """A table with its times, but not its durations, relative to ``begin_ns``."""
    times = [name for name in ("start_ns", "end_ns", "time_ns") if name in table.columns]
    return table.with_columns(pl.col(name) - begin_ns for name in times)


def _of_responses(flows: pl.DataFrame, exchanges: pl.DataFrame) -> pl.DataFrame:
    """The flows with the size of their only response, and the time from opening the connection to its last byte."""
    own = exchanges.select("flow", "start_ns", "end_ns", "fct_ns", bytes="response_bytes")
    others = flows.drop("start_ns", "end_ns", "fct_ns", "bytes")
    return others.join(own, on="flow", how="left", validate="1:1", maintain_order="left").select(flows.columns)


def windows(samples: pl.DataFrame, flows: pl.DataFrame, end_ns: int) -> pl.DataFrame:
    """Windows over time: ``group``, ``time_s``, ``kilobytes`` in flight, and kilobytes ``outstanding``.

    The paper does not print how it measured windows; the claims are judged by the data in flight. Data that is lost or
    has arrived out of order is no longer in flight, although it is outstanding until acknowledged: a sender that waits
    for a timeout may have 3 MB outstanding and a window of ten segments.
    """
    outstanding = samples.with_columns(bytes_in_flight="outstanding_bytes")
    both = [window.series(table, flows, bin_ns=BIN_NS, end_ns=end_ns) for table in (samples, outstanding)]
    return both[0].with_columns(both[1]["kilobytes"].alias("outstanding"))


def of_runs(setting: Setting, runs: Mapping[int, Tables]) -> Measurements:
    """Combines the tables of a setting's runs; ``runs`` maps seeds to tables."""
    if not runs:
        raise ValueError(f'setting "{setting.name}": no runs')

    def stacked(name: str) -> pl.DataFrame:
        return confidence.stack((seed, runs[seed][name]) for seed in sorted(runs))

    flows = stacked("flows")
    if setting.kind in ("forest", "exchanges"):
        return Measurements(setting, fct.table(flows), *(pl.DataFrame() for _ in range(3)))
    rates, held, circuits = map(stacked, ("throughput", "windows", "circuits"))
    return Measurements(setting, fct.table(flows), rates, held, phases.intervals(circuits))
