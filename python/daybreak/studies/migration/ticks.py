"""Which cycle is worst for hosts with other ticks and another age: quantifies the effect of an inference.

A downtime ends with a tail loss probe or a retransmission timeout. Both fire on ticks, whose rate (HZ) the paper does
not print. Figure 8 shows which cycle prolongs most; this shows for which hosts.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from daybreak.figures.grids import Axis, heat
from daybreak.metrics import fct
from daybreak.metrics.confidence import of_all
from daybreak.studies.migration.measured import Evidence
from daybreak.studies.migration.plots import Figures
from daybreak.studies.migration.settings import CYCLES, TICKS, Scale, of_hosts, with_night
from daybreak.studies.published import PublishedValues

HOSTS = {1: "TCP of Linux 4.15 to 5.4", 0: "TCP of Linux 6.1.192"}
"""Labels of the values of `Testbed.older`."""


def table(evidence: Evidence, scale: Scale) -> pl.DataFrame:
    """FCT prolongation over all pairs of variants: ``hosts, hz, cycle, runs, unended, mean_s, low_s, high_s``.

    ``unended`` is the number of runs in which a flow did not end within the 120 s of the scenario; the mean, with its
    95 % interval, exists only without such runs.
    """
    rows = []
    for older, hosts in HOSTS.items():
        for hz in TICKS:
            for cycle in CYCLES:
                seconds: list[float | None] = []
                for setting in with_night(scale):
                    if (setting.period_ms, setting.night_ms) == cycle:
                        flows = evidence[of_hosts(setting, hz, older)].flows
                        seconds += fct.prolongation(flows)["prolongation_s"].to_list()
                found = of_all(seconds)
                numbers = (None,) * 3 if found is None else (found.mean, found.low, found.high)
                name = f"{cycle[0] - cycle[1]}+{cycle[1]} ms"
                rows.append((hosts, hz, name, len(seconds), seconds.count(None), *numbers))
    schema = pl.Schema({
        "hosts": pl.String, "hz": pl.Int64, "cycle": pl.String, "runs": pl.Int64, "unended": pl.Int64,
        "mean_s": pl.Float64, "low_s": pl.Float64, "high_s": pl.Float64,
    })  # fmt: skip
    return pl.DataFrame(rows, schema, orient="row")


def tables(evidence: Evidence, scale: Scale) -> dict[str, pl.DataFrame]:
    """`table` by file name."""
    return {"ticks": table(evidence, scale)} if with_night(scale) else {}


def draw(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """One heat map per age of the hosts, with ticks over cycles."""
    if not with_night(scale):
        return {}
    found = table(evidence, scale)
    shape = (len(TICKS), len(CYCLES))
    facets = [
        (hosts, found.filter(hosts=hosts)["mean_s"].fill_null(np.nan).to_numpy().reshape(shape))
        for hosts in HOSTS.values()
    ]
    x = Axis("day + night", found["cycle"].unique(maintain_order=True).to_list())
    y = Axis("ticks a second (HZ)", [str(hz) for hz in TICKS])
    title = "Mean prolongation, all pairs of variants; endless: in some runs a flow had not ended after 120 s"
    return {"figure8-ticks": heat(facets, x=x, y=y, label="FCT prolongation [s]", title=title, unknown="endless")}
