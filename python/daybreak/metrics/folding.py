"""Curves over a period that repeats, as the week of a schedule does: the mean of all periods.

Periods are cut into chunks of several, and each chunk is followed as one, so that a curve may go on beyond a period.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from daybreak.metrics.errors import check_columns, positive


def progress(
    crossed: pl.DataFrame, *, period_ns: int, origin_ns: int, until_us: int, periods: int = 1, shift_ns: int = 0
) -> pl.DataFrame:
    """How far flows have got in order since a chunk began: ``time_us`` from 0 to ``until_us`` and ``kilobytes``, the
    mean of all chunks and flows.

    ``crossed`` is that of `crossings.crossings`. A byte has got there when it and all before it have; what came out of
    order counts when the gap is filled, what came again does not count. Between these points the curve of a flow in a
    chunk is a straight line, also up to the end of what waited behind a gap; it is flat before the first and after the
    last. A flow that does not move in a chunk
    counts as zeros. Chunks are ``periods`` periods long, the first begins at ``origin_ns``, and times are shifted by
    ``shift_ns``. Only whole chunks count.
    """
    check_columns("crossed", crossed, ("flow", "seq", "payload_bytes", "left_ns"))
    positive("period_ns", period_ns)
    positive("periods", periods)
    chunk_ns = periods * period_ns
    grid = np.arange(until_us + 1, dtype=np.float64)
    in_order = (
        crossed.filter(pl.col("payload_bytes") > 0)
        .group_by("flow", "seq")
        .agg(pl.col("left_ns").min())
        .sort("flow", "seq")
        .select(
            "flow",
            time_ns=pl.col("left_ns").cum_max().over("flow") + shift_ns - origin_ns,
            seq=pl.col("seq").cast(pl.Int64),
        )
        .unique(["flow", "time_ns"], keep="last", maintain_order=True)
    )
    last_ns = in_order["time_ns"].max() if in_order.height else None
    chunks = int(last_ns) // chunk_ns if isinstance(last_ns, int) else 0
    total = np.zeros_like(grid)
    flows = in_order["flow"].n_unique()
    placed = in_order.with_columns(chunk=pl.col("time_ns") // chunk_ns).filter(
        (pl.col("chunk") >= 0) & (pl.col("chunk") < chunks)
    )
    for one in placed.partition_by("flow", "chunk"):
        times = (one["time_ns"].to_numpy() % chunk_ns) / 1e3
        seqs = one["seq"].to_numpy()
        total += np.interp(grid, times, (seqs - seqs[0]) / 1e3)
    return pl.DataFrame({"time_us": grid, "kilobytes": total / max(1, flows * chunks)})


def occupancy(
    samples: pl.DataFrame,
    *,
    queue: str,
    period_ns: int,
    origin_ns: int,
    until_us: int,
    seen_at_ns: pl.Series | None = None,
) -> pl.DataFrame:
    """What waits in a queue on average at each time of a period: ``time_us`` up to ``until_us``, ``packets``.

    ``samples`` is table `queues`. The sampling interval has to divide the period. Times beyond the period are those of
    the next one. With ``seen_at_ns``, rising times such as those at which packets leave, the queue is known only then
    (by the nearest sample), and taken to change evenly in between, as where it is logged with each packet.
    """
    check_columns("queues", samples, ("queue_name", "time_ns", "packets"))
    positive("period_ns", period_ns)
    mine = samples.filter(pl.col("queue_name") == queue)
    if not mine.height:
        raise ValueError(f'queue: table queues has no samples of "{queue}"')
    if seen_at_ns is not None:
        mine = _seen(mine, seen_at_ns)
    since = pl.col("time_ns").cast(pl.Int64) - origin_ns
    means = mine.filter(since >= 0).group_by(phase_ns=since % period_ns).agg(pl.col("packets").mean()).sort("phase_ns")
    phases, packets = means["phase_ns"].to_numpy() / 1e3, means["packets"].to_numpy()
    rounds = until_us * 1000 // period_ns + 1
    times = np.concatenate([phases + k * period_ns / 1e3 for k in range(rounds)])
    return pl.DataFrame({"time_us": times, "packets": np.tile(packets, rounds)}).filter(pl.col("time_us") <= until_us)


def _seen(samples: pl.DataFrame, at_ns: pl.Series) -> pl.DataFrame:
    """The samples as a reading of the queue at these times alone would have them, interpolated between."""
    times = samples["time_ns"].to_numpy().astype(np.float64)
    at = at_ns.to_numpy().astype(np.float64)
    nearest = np.clip(np.searchsorted(times, at), 1, max(1, times.size - 1))
    nearest -= at - times[nearest - 1] < times[nearest] - at
    seen = np.interp(times, at, samples["packets"].to_numpy()[nearest])
    return samples.with_columns(pl.Series("packets", seen)).filter(
        (pl.col("time_ns") >= at_ns[0]) & (pl.col("time_ns") <= at_ns[-1])
    )
