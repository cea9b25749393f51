"""How many flows are under way."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .over_time import Edges


def under_way(flows: pl.DataFrame, edges: Edges, *, end_ns: int) -> NDArray[np.float64]:
    """The mean number of flows that have started and not ended, in each step between two edges (ns).

    From the columns ``start_ns`` and ``fct_ns`` of table `flows`; a flow that did not end is under way until
    ``end_ns``. The integral over a step is exact: flows that are shorter than it count by their time.
    """
    starts = np.sort(flows["start_ns"].to_numpy().astype(np.int64))
    known = flows.select(pl.col("start_ns").cast(pl.Int64) + pl.col("fct_ns").cast(pl.Int64)).to_series()
    ends = np.sort(known.fill_null(end_ns).to_numpy())
    passed = _since(starts, edges) - _since(ends, edges)
    return np.asarray(np.diff(passed) / np.diff(edges), dtype=np.float64)


def _since(times: NDArray[np.int64], edges: Edges) -> NDArray[np.float64]:
    """For each edge the sum of the times that have passed since those of ``times`` before it."""
    count = np.searchsorted(times, edges)
    sums = np.concatenate([[0], np.cumsum(times)])
    return np.asarray(count * edges - sums[count], dtype=np.float64)
