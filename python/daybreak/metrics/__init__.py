"""Metrics: pure functions from record tables to tables, one file a family.

A metric takes the tables of a run (``run.flows``, ``run.bins`` ...) and returns a polars table with the
unit in each column's name. Tables of several runs carry a column ``run`` (see `confidence.stack`).
"""

from daybreak.metrics import (
    confidence,
    fairness,
    fct,
    latency,
    reordering,
    retransmissions,
    throughput,
    utilisation,
    window,
)

FAMILIES = {
    "confidence": confidence,
    "fairness": fairness,
    "fct": fct,
    "latency": latency,
    "reordering": reordering,
    "retransmissions": retransmissions,
    "throughput": throughput,
    "utilisation": utilisation,
    "window": window,
}
"""Every family by its name; a new metric family is a file and a line here."""

__all__ = [
    "FAMILIES",
    "confidence",
    "fairness",
    "fct",
    "latency",
    "reordering",
    "retransmissions",
    "throughput",
    "utilisation",
    "window",
]
