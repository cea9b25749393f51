"""Metrics: pure functions from record tables to tables, one file per family.

A metric takes the tables of a run (``run.flows``, ``run.bins`` ...) and returns a polars table with the
unit in each column's name. Tables of several runs carry a column ``run`` (see `confidence.stack`).
"""

from daybreak.metrics import (
    comparison,
    concurrency,
    confidence,
    crossings,
    equivalence,
    explanation,
    fairness,
    fct,
    folding,
    latency,
    measures,
    occupancy,
    over_time,
    phases,
    reordering,
    retransmissions,
    series,
    slowdown,
    throughput,
    totals,
    transient,
    units,
    utilisation,
    window,
)

__all__ = [
    "comparison",
    "concurrency",
    "confidence",
    "crossings",
    "equivalence",
    "explanation",
    "fairness",
    "fct",
    "folding",
    "latency",
    "measures",
    "occupancy",
    "over_time",
    "phases",
    "reordering",
    "retransmissions",
    "series",
    "slowdown",
    "throughput",
    "totals",
    "transient",
    "units",
    "utilisation",
    "window",
]
