"""Curves folded over a repeating period, such as the week of a schedule: the mean over all periods.

Several successive periods may form one window, so that a curve may extend beyond a period.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from daybreak.metrics.errors import check_columns, positive


def progress(
    crossed: pl.DataFrame, *, period_ns: int, origin_ns: int, until_us: int, periods: int = 1, shift_ns: int = 0
) -> pl.DataFrame:
    """In-order progress of flows since the start of a window: ``time_us`` from 0 to ``until_us`` and ``kilobytes``, the
    mean over all windows and flows.

    ``crossed`` is the result of `crossings.crossings`. A byte counts when it and all before it have crossed: data out
    of order when the gap is filled, duplicates not at all. Between these points the curve of a flow in a window is
    interpolated linearly, also up to the end of data that waited behind a gap; it is flat before the first and after
    the last. A flow without progress in a window counts as zeros. A window is ``periods`` periods of ``period_ns``
    long, the first begins at ``origin_ns``, and times are shifted by ``shift_ns``. Only whole windows count.
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
    """Mean occupancy of a queue at each time of a period: ``time_us`` up to ``until_us``, ``packets``.

    ``samples`` is table `queues`. The sampling interval has to divide ``period_ns``; the first period begins at
    ``origin_ns``. Times beyond the period belong to the next one. With ``seen_at_ns``, rising times such as those at
    which packets leave, the queue is read only then (from the nearest sample) and interpolated in between, as if it
    were logged with each packet.
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
    """The samples reduced to readings at these times and interpolated in between."""
    times = samples["time_ns"].to_numpy().astype(np.float64)
    at = at_ns.to_numpy().astype(np.float64)
    nearest = np.clip(np.searchsorted(times, at), 1, max(1, times.size - 1))
    nearest -= at - times[nearest - 1] < times[nearest] - at
    seen = np.interp(times, at, samples["packets"].to_numpy()[nearest])
    return samples.with_columns(pl.Series("packets", seen)).filter(
        (pl.col("time_ns") >= at_ns[0]) & (pl.col("time_ns") <= at_ns[-1])
    )
