"""What the claims and figures need of the runs of one setting, and readings of it.

Everything is a polars table with a column ``run`` (the seed), so that it can as well come from another engine,
from files, or from a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from daybreak.metrics import confidence, fct, throughput, window
from daybreak.studies.migration.settings import Setting
from daybreak.studies.migration.testbed import BIN_MS, PAYLOAD, RATE_GBPS

BIN_NS = BIN_MS * 1_000_000
GROUPS = ("migrated", "main")
"""What is measured; Table II has others, of an earlier run."""
FLOW_COLUMNS = (
    "flow", "flow_name", "group", "variant", "bytes", "start_ns", "end_ns", "fct_ns", "segments", "retransmits", "rtos",
    "tlps", "fast_recoveries", "spurious", "dup_acks", "reordered", "duplicates",
)  # fmt: skip
"""Columns of `flows` that are kept."""


@dataclass(frozen=True)
class Measured:
    """The runs of one setting.

    ``flows`` has a row a flow with ``fct_s`` and ``end_s``; ``throughput`` (``group, time_s, gbps``, wire bytes at
    the taps) and ``windows`` (``group, time_s, kilobytes, outstanding``, see `windows`) have a row for each 1 ms bin.
    """

    setting: Setting
    flows: pl.DataFrame
    throughput: pl.DataFrame
    windows: pl.DataFrame


Evidence = Mapping[Setting, Measured]
"""All settings of a reproduction."""


def of_run(run: Any) -> dict[str, pl.DataFrame]:
    """The three tables of one run, small enough to keep for all runs."""
    flows = run.flows.select(FLOW_COLUMNS).filter(pl.col("group").is_in(GROUPS))
    last = flows.filter(pl.col("end_ns") != fct.NEVER_NS)["end_ns"].max()
    end_ns = max(int(run.bins["start_ns"].max() or 0) + BIN_NS, int(last or 0))
    return {
        "flows": flows,
        "throughput": throughput.series(run.bins, flows, bin_ns=BIN_NS, end_ns=end_ns),
        "windows": windows(run.window, flows, end_ns),
    }


def windows(samples: pl.DataFrame, flows: pl.DataFrame, end_ns: int) -> pl.DataFrame:
    """Windows over time: ``group``, ``time_s``, ``kilobytes`` in flight, and kilobytes ``outstanding``.

    How the paper took its windows is not printed; the claims are judged by what is in flight. What is lost or has
    arrived out of order is in flight no more, although it is outstanding until it is acknowledged: a sender that waits
    for a timeout may have 3 MB outstanding and a window of ten segments.
    """
    in_flight = samples.with_columns(bytes_in_flight=pl.col("in_flight").cast(pl.Int64) * PAYLOAD)
    both = [window.series(table, flows, bin_ns=BIN_NS, end_ns=end_ns) for table in (in_flight, samples)]
    return both[0].with_columns(both[1]["kilobytes"].alias("outstanding"))


def of_runs(setting: Setting, runs: Mapping[int, Mapping[str, pl.DataFrame]]) -> Measured:
    """Puts the tables of the runs of a setting together; ``runs`` are by seed."""
    if not runs:
        raise ValueError(f'setting "{setting.name}": no runs')
    seeds = sorted(runs)
    return Measured(
        setting,
        fct.table(confidence.stack((seed, runs[seed]["flows"]) for seed in seeds)),
        confidence.stack((seed, runs[seed]["throughput"]) for seed in seeds),
        confidence.stack((seed, runs[seed]["windows"]) for seed in seeds),
    )


def fcts(measured: Measured, group: str) -> list[float | None]:
    """Mean FCT of the group's flows in seconds, one value a run; None where a flow did not end."""
    return fct.by_run(measured.flows).filter(group=group).sort("run")["fct_s"].to_list()


def prolongations(measured: Measured) -> list[float | None]:
    """FCT of the migrated less that of the main flow in seconds, one value a run."""
    return fct.prolongation(measured.flows).sort("run")["prolongation_s"].to_list()


def while_both(measured: Measured, table: pl.DataFrame) -> pl.DataFrame:
    """The bins of a table (``throughput`` or ``windows``) that lie within the time in which both flows run."""
    bounds = measured.flows.group_by("run").agg(
        (pl.col("start_ns").max() / 1e9).alias("from_s"), pl.col("end_s").min().alias("to_s")
    )
    width = BIN_NS / 1e9
    inside = (pl.col("time_s") >= pl.col("from_s")) & (pl.col("time_s") + width <= pl.col("to_s"))
    return table.join(bounds, on="run").filter(inside).drop("from_s", "to_s")


def in_state(measured: Measured, table: pl.DataFrame, state: int, *, last_part: float = 1.0) -> pl.DataFrame:
    """The bins in state 0 (separate links) or 1 (shared link); only the last part of each interval if asked."""
    period = measured.setting.period_ms
    # Times are bin starts, whole multiples of the bin; rounding keeps 0.05 s from being 49.999 ms.
    at = (pl.col("time_s") * 1000).round(3)
    inside = (at // period) % 2 == state
    return table.filter(inside & (at % period >= period * (1 - last_part)))


def after_first(measured: Measured, group: str, *, delay_s: float = 0.0) -> pl.DataFrame:
    """The group's throughput from the other flow's end (and ``delay_s``) to its own end."""
    ends = measured.flows.select("run", "group", "end_s")
    own = ends.filter(pl.col("group") == group).select("run", pl.col("end_s").alias("own_s"))
    other = ends.filter(pl.col("group") != group).select("run", pl.col("end_s").alias("other_s"))
    width = BIN_NS / 1e9
    inside = (pl.col("time_s") >= pl.col("other_s") + delay_s) & (pl.col("time_s") + width <= pl.col("own_s"))
    joined = measured.throughput.filter(pl.col("group") == group).join(own, on="run").join(other, on="run")
    return joined.filter(inside).drop("own_s", "other_s")


def means(table: pl.DataFrame, group: str, value: str = "gbps") -> list[float]:
    """Mean of ``value`` over the group's bins, one value a run that has any."""
    mine = table.filter(pl.col("group") == group)
    return mine.group_by("run").agg(pl.col(value).mean()).sort("run")[value].to_list()


def curve(table: pl.DataFrame, group: str, value: str, *, bin_ms: int, end_s: float) -> pl.DataFrame:
    """Mean over runs with 95 % interval of a group's curve in wider bins: ``time_s, mean, low, high, runs``.

    A run that has ended counts as 0, so the curve falls as flows end. ``time_s`` is the middle of a bin.
    """
    slots = -(-round(end_s * 1000) // bin_ms)
    mine = table.filter(pl.col("group") == group)
    wide = (
        mine.with_columns(((pl.col("time_s") * 1000).round(3) // bin_ms).cast(pl.Int64).alias("slot"))
        .group_by("run", "slot")
        .agg(pl.col(value).sum() / (bin_ms / BIN_MS))
    )
    grid = pl.DataFrame({"slot": pl.Series(range(slots), dtype=pl.Int64)})
    runs = mine.select("run").unique().sort("run")
    dense = (
        runs.join(grid, how="cross")
        .join(wide, on=["run", "slot"], how="left")
        .with_columns(pl.col(value).fill_null(0.0), ((pl.col("slot") + 0.5) * bin_ms / 1000).alias("time_s"))
    )
    return confidence.over_runs(dense.sort("slot", "run"), ["time_s"], value)


def fraction_of_link(gbps: float) -> float:
    """A rate as a part of the link's."""
    return gbps / RATE_GBPS
