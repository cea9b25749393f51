"""Measurements from the run of one setting: rates, windows, queues and losses around the move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from daybreak.metrics import confidence, fct, transient
from daybreak.metrics.transient import Trough
from daybreak.runs import Run
from daybreak.studies.kept import UNENDED_FLOW_COLUMNS
from daybreak.studies.lightpath.settings import Setting
from daybreak.studies.lightpath.testbed import BIN_MS, PACKET, PAYLOAD
from daybreak.sweeps import Tables

BIN_NS = BIN_MS * 1_000_000
WIDTHS_MS = {1000: (-10_000.0, 10_000.0), 100: (-2.0, 10.0), 1: (-0.01, 1.0)}
"""Widths of the bins of table ``rates``, and the seconds around the move that are stored."""
SECOND = 1.0
WITHIN_S = {10: 10.0, 100: 10.0, 1000: 40.0}
"""Seconds after the move within which the trough is searched, by base RTT in ms."""
ENOUGH = 0.95
"""Part of a rate at which a flow counts as recovered."""


@dataclass(frozen=True)
class Measurements:
    """The run of one setting. Times are in seconds after the move.

    ``rates`` has ``width_ms, time_s`` (start of the bin) and Mb/s of packets on the wire: ``mbps`` that left r3 for the
    receiver, duplicates included, ``goodput_mbps`` that were delivered in order, and ``arriving_mbps`` at r3 from both
    paths. ``windows`` has ``time_s, cwnd, ssthresh, in_flight, srtt_ms, state``, ``queues`` has ``queue, time_s,
    packets, max_packets``, and ``losses`` has ``place, time_s`` (start of a bin of 1 ms) and ``lost``.
    """

    setting: Setting
    flows: pl.DataFrame
    rates: pl.DataFrame
    windows: pl.DataFrame
    queues: pl.DataFrame
    losses: pl.DataFrame

    def bins(self, width_ms: int) -> pl.DataFrame:
        """The rates in bins of one width."""
        return self.rates.filter(pl.col("width_ms") == width_ms)

    @property
    def before_mbps(self) -> float:
        """The rate in the last second before the move."""
        return transient.before(self.bins(1000), "mbps")

    def trough(self, rate: str = "mbps") -> Trough:
        """The lowest second after the move."""
        within = WITHIN_S.get(self.setting.rtt_ms, WITHIN_S[100])
        return transient.trough(self.bins(1000), rate, width_s=SECOND, within_s=within)

    @property
    def reduction(self) -> float:
        """Relative reduction of the rate in the lowest second, compared to before the move; negative if it rises."""
        return 1 - self.trough().rate / self.before_mbps

    def recovery_s(self, level_mbps: float) -> float | None:
        """Seconds until the rate is back at 95 % of a level; 0 if it is never below, None if it does not recover."""
        within = WITHIN_S.get(self.setting.rtt_ms, WITHIN_S[100])
        level = ENOUGH * level_mbps
        return transient.recovery_s(self.bins(1000), "mbps", width_s=SECOND, level=level, within_s=within)

    @property
    def missing_s(self) -> float:
        """Missing goodput while the trough is searched, as seconds of sending at the rate before."""
        within = WITHIN_S.get(self.setting.rtt_ms, WITHIN_S[100])
        later = transient.mean_between(self.bins(1000), "goodput_mbps", 0.0, within)
        return within * (1.0 - later / self.before_mbps)

    @property
    def peak_mbps(self) -> float:
        """The largest rate in a tenth of a second of the first second."""
        tenths = self.bins(100).filter((pl.col("time_s") >= 0) & (pl.col("time_s") < SECOND))
        return float(tenths["mbps"].cast(pl.Float64).max() or 0.0)  # type: ignore[arg-type]

    def lost(self, place: str, from_s: float = 0.0, to_s: float = float("inf")) -> int:
        """Data packets lost in the queue of a link, in milliseconds that start between two times."""
        part = self.losses.filter((pl.col("place") == place) & (pl.col("time_s") >= from_s) & (pl.col("time_s") < to_s))
        return int(part["lost"].sum())

    def lost_anywhere(self, from_s: float = 0.0) -> int:
        """Number of data packets lost from a time on, in the sender or the network."""
        return int(self.losses.filter(pl.col("time_s") >= from_s)["lost"].sum())

    def queue_at_move(self, queue: str) -> int:
        """Number of packets waiting in a queue at the move."""
        samples = self.queues.filter((pl.col("queue") == queue) & (pl.col("time_s") < 0.05 * SECOND))
        return int(samples["packets"][-1]) if samples.height else 0

    def counted(self, name: str) -> int:
        """A counter of the flow, over the whole run."""
        return int(self.flows[name].sum())


Evidence = Mapping[Setting, Measurements]
"""The settings of a figure."""


def of_run(run: Run) -> Tables:
    """The tables of one run, small enough to store."""
    move_ns = moved_ns(run)
    flow = run.flows["flow"][0]
    relative = (pl.col("time_ns").cast(pl.Int64) - move_ns) / 1e9
    windows = run.window.filter(pl.col("flow") == flow).select(
        relative.alias("time_s"), "cwnd", "ssthresh", "in_flight", (pl.col("srtt_ns") / 1e6).alias("srtt_ms"), "state"
    )
    queues = run.queues.select(pl.col("queue_name").alias("queue"), relative.alias("time_s"), "packets", "max_packets")
    losses = (
        run.losses.filter(pl.col("data"))
        .group_by(
            pl.col("place_name").alias("place"), ((pl.col("start_ns").cast(pl.Int64) - move_ns) // BIN_NS).alias("bin")
        )
        .agg(pl.col("packets").cast(pl.Int64).sum().alias("lost"))
        .sort("place", "bin")
        .select("place", (pl.col("bin") * BIN_NS / 1e9).alias("time_s"), "lost")
    )
    return {
        "flows": run.flows.select(UNENDED_FLOW_COLUMNS),
        "rates": pl.concat(_rates(run.bins, move_ns, width, *span) for width, span in WIDTHS_MS.items()),
        "windows": windows,
        "queues": queues,
        "losses": losses,
    }


def moved_ns(run: Run) -> int:
    """Time at which the flow was moved, or would have been."""
    return int(run.circuits.filter(pl.col("timeline_name") == "move")["time_ns"][-1])


def _rates(bins: pl.DataFrame, move_ns: int, width_ms: int, from_s: float, to_s: float) -> pl.DataFrame:
    width_ns = width_ms * 1_000_000
    slots = bins.with_columns(((pl.col("start_ns").cast(pl.Int64) - move_ns) // width_ns).alias("slot"))
    first = max(int(from_s * 1e9) // width_ns, -(move_ns // width_ns))
    end_ns = int(bins["start_ns"].max() or 0) + BIN_NS - move_ns  # type: ignore[arg-type]
    last = min(int(to_s * 1e9), end_ns) // width_ns
    scopes = {"tap": ("mbps", 1.0), "delivered": ("goodput_mbps", PACKET / PAYLOAD), "link": ("arriving_mbps", 1.0)}
    sums = (
        slots.group_by("slot", "scope")
        .agg(pl.col("bytes").cast(pl.Int64).sum())
        .pivot(on="scope", index="slot", values="bytes")
    )
    axis = pl.DataFrame({"slot": range(first, last)}, schema={"slot": pl.Int64})
    joined = axis.join(sums, on="slot", how="left", maintain_order="left")
    columns = [
        (pl.col(scope).fill_null(0) * (8e3 * factor / width_ns) if scope in joined.columns else pl.lit(0.0)).alias(name)
        for scope, (name, factor) in scopes.items()
    ]
    width = pl.lit(width_ms, dtype=pl.Int64).alias("width_ms")
    return joined.select(width, (pl.col("slot") * width_ns / 1e9).alias("time_s"), *columns)


def of_runs(setting: Setting, runs: Mapping[int, Tables]) -> Measurements:
    """Combines the tables of a setting's runs; all runs are equal, since nothing is random."""
    if not runs:
        raise ValueError(f'setting "{setting.name}": no runs')
    tables = runs[min(runs)]
    flows = confidence.stack((seed, runs[seed]["flows"]) for seed in sorted(runs))
    return Measurements(
        setting, fct.table(flows), tables["rates"], tables["windows"], tables["queues"], tables["losses"]
    )
