"""Measurements from the runs of one setting, as needed by claims and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import polars as pl

from daybreak.metrics import confidence, crossings, fct, folding
from daybreak.runs import Run
from daybreak.scenario import Hybrid, Strobe
from daybreak.studies.etalon.settings import Hosts, Setting
from daybreak.studies.etalon.testbed import CIRCUIT_GBPS, pair
from daybreak.studies.kept import UNENDED_FLOW_COLUMNS
from daybreak.sweeps import Reduction, Tables

LEAST_PAYLOAD = 1000
"""Bytes: smaller packets count neither for utilisation nor for latency."""
CHUNK_WEEKS = 3
SHIFT_US = 30
"""Shift of sequence curves: the circuit's delay, so that a day begins when it does for the sender."""
NETWORKS = ("all", "circuit", "packet")


@dataclass(frozen=True)
class Measurements:
    """The runs of one setting.

    ``values`` has one row per run: `utilisation` (percent) and, for each of `NETWORKS`, `p50_...` and `p99_...` (us).
    ``progress`` (`time_us`, `kilobytes`) and ``occupancy`` (`time_us`, `packets`) are the curves of `metrics.folding`
    from the end of one day of the circuit to beyond the end of the next, with ``run``.
    """

    setting: Setting
    flows: pl.DataFrame
    values: pl.DataFrame
    progress: pl.DataFrame
    occupancy: pl.DataFrame

    def of(self, name: str) -> list[float | None]:
        """A column of ``values``, one value per run."""
        return self.values.sort("run")[name].to_list()

    def mean(self, name: str) -> float:
        """The mean of a column; NaN if a run has no value."""
        found = confidence.of_all(self.of(name))
        return float("nan") if found is None else found.mean

    @property
    def curve(self) -> pl.DataFrame:
        """The mean of ``progress``."""
        return self.progress.group_by("time_us").agg(pl.col("kilobytes").mean()).sort("time_us")

    @property
    def waiting(self) -> pl.DataFrame:
        """The mean of ``occupancy``."""
        return self.occupancy.group_by("time_us").agg(pl.col("packets").mean()).sort("time_us")


Evidence = Mapping[Setting, Measurements]
"""The settings of a figure."""


def of_run(run: Run) -> Tables:
    """The tables of one run, small enough to keep for all runs."""
    network, schedule = run.scenario.topology, run.scenario.schedule
    assert isinstance(network, Hybrid) and isinstance(schedule, Strobe)
    racks = schedule.as_racks or network.racks
    source, destination = pair(racks)
    circuit, packet = f"circuit-{source}-{destination}", f"packet-{destination}.back"
    crossed = crossings.crossings(
        run.packets.filter(pl.col("payload_bytes") > LEAST_PAYLOAD),
        entries=[f"host-{source}-{k}->tor-{source}" for k in range(network.hosts)],
        exits=[circuit, packet],
    )
    week = schedule.week(network)
    day_end = schedule.days(network)[source, destination][-1][1] % week
    times = {"period_ns": week // 1000, "origin_ns": day_end // 1000, "until_us": week // 1_000_000 + 450}
    return {
        "flows": run.flows.select(UNENDED_FLOW_COLUMNS),
        "values": values(crossed, circuit, open_share=int(schedule.day) / week),
        "progress": folding.progress(crossed, periods=CHUNK_WEEKS, shift_ns=-SHIFT_US * 1000, **times),
        "occupancy": folding.occupancy(
            run.queues, queue=f"voq-{source}-{destination}", seen_at_ns=crossed["left_ns"], **times
        ),
    }


REDUCTION = Reduction("etalon", 2, of_run)
"""The reduction of each run."""


def values(crossed: pl.DataFrame, circuit: str, *, open_share: float) -> pl.DataFrame:
    """Utilisation in percent and percentiles of latency in us.

    The emulator's log has latencies in whole microseconds, rounded down, and its utilisation refers to nine tenths of a
    circuit's slot: its day.
    """
    row: dict[str, float | None] = {
        "utilisation": 100
        * crossings.utilisation(crossed, link=circuit, rate_bps=CIRCUIT_GBPS * 1e9, open_share=open_share)
    }
    logged = crossed.with_columns(pl.col("delay_us").floor())
    of_circuit = pl.col("exit") == circuit
    for network, which in zip(NETWORKS, (pl.lit(True), of_circuit, ~of_circuit), strict=True):
        mine = logged.filter(which)
        found = crossings.percentiles(mine, at=(50, 99, 100))
        row |= {f"p50_{network}": found[50], f"p99_{network}": found[99], f"max_{network}": found[100]}
    return pl.DataFrame([row], schema=dict.fromkeys(row, pl.Float64))


def of_runs(setting: Setting, runs: Mapping[int, Tables]) -> Measurements:
    """Combines the tables of a setting's runs; ``runs`` maps seeds to tables."""
    if not runs:
        raise ValueError(f'setting "{setting.name}": no runs')
    flows, *others = (
        confidence.stack((seed, runs[seed][name]) for seed in sorted(runs))
        for name in ("flows", "values", "progress", "occupancy")
    )
    return Measurements(setting, fct.table(flows), *others)


def again(setting: Setting, folder: Path) -> Mapping[int, Tables]:
    """What the tables of a result have of the runs of a setting, by seed: values and counts, and no curves.

    Of the hosts they have the delay alone, so that there are no runs of hosts that differ in anything else."""
    if replace(setting.hosts, delay_ns=Hosts.delay_ns) != Hosts():
        return {}
    known = {
        "variant": setting.variant, "small_packets": setting.small, "large_packets": setting.large,
        "tau_us": setting.tau_us, "mark_us": setting.mark_us, "racks": setting.racks, "night_us": setting.night_us,
        "day_us": setting.day_us, "timer_dilation": setting.dilation, "weeks": setting.weeks,
        "host_delay_ns": setting.hosts.delay_ns,
    }  # fmt: skip
    mine = _all_values(folder).filter(pl.col(name).eq_missing(pl.lit(value)) for name, value in known.items())
    curves = {"progress": {"time_us": pl.Float64, "kilobytes": pl.Float64},
              "occupancy": {"time_us": pl.Float64, "packets": pl.Float64}}  # fmt: skip
    columns = dict.fromkeys(UNENDED_FLOW_COLUMNS, 0)
    return {
        row["run"]: {
            "values": pl.DataFrame([{name: row[name] for name in _measured_names()}]),
            "flows": pl.DataFrame([columns | {name: row[name] for name in row if name in columns}]),
            **{name: pl.DataFrame(schema=schema) for name, schema in curves.items()},
        }
        for row in mine.drop("variant").to_dicts()
    }


def _measured_names() -> list[str]:
    return ["utilisation", *(f"{what}_{of}" for of in NETWORKS for what in ("p50", "p99", "max"))]


@cache
def _all_values(folder: Path) -> pl.DataFrame:
    empty = dict.fromkeys(("large_packets", "tau_us", "mark_us"), pl.Int64)
    paths = sorted([*folder.glob("values-*.csv"), *folder.glob("delays.csv")])
    usual = pl.DataFrame(schema={"host_delay_ns": pl.Int64})
    tables = [pl.read_csv(path, infer_schema_length=None, schema_overrides=empty) for path in paths]
    every = pl.concat([usual, *tables], how="diagonal_relaxed")
    return every.with_columns(pl.col("host_delay_ns").fill_null(Hosts.delay_ns)).unique(maintain_order=True)
