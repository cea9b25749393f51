"""The tables: every measured value, as numbers for other tools."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from daybreak.studies.etalon.measured import Evidence, Measurements
from daybreak.studies.etalon.settings import Scale


def values(name: str, evidence: Evidence, scale: Scale) -> Mapping[str, pl.DataFrame]:
    """Utilisation, latencies and TCP counters, one row per run."""
    return {f"values-{name}": pl.concat([_rows(one) for one in evidence.values()])}


def delays(evidence: Evidence, scale: Scale) -> Mapping[str, pl.DataFrame]:
    """The rows of `values`, each with the hosts' delay of its run, in nanoseconds."""
    rows = [
        _rows(one).select(pl.lit(setting.hosts.delay_ns, dtype=pl.Int64).alias("host_delay_ns"), pl.all())
        for setting, one in evidence.items()
    ]
    return {"delays": pl.concat(rows)}


def _rows(measured: Measurements) -> pl.DataFrame:
    setting = measured.setting
    said = [
        pl.lit(value, dtype=kind).alias(name)
        for name, value, kind in (
            ("variant", setting.variant, pl.String),
            ("small_packets", setting.small, pl.Int64),
            ("large_packets", setting.large, pl.Int64),
            ("tau_us", setting.tau_us, pl.Int64),
            ("mark_us", setting.mark_us, pl.Int64),
            ("racks", setting.racks, pl.Int64),
            ("night_us", setting.night_us, pl.Int64),
            ("day_us", setting.day_us, pl.Int64),
            ("timer_dilation", setting.dilation, pl.Int64),
            ("weeks", setting.weeks, pl.Int64),
        )
    ]
    counts = measured.flows.group_by("run").agg(
        pl.col("segments", "retransmits", "rtos", "tlps", "fast_recoveries").cast(pl.Int64).sum()
    )
    found = measured.values.join(counts, on="run").sort("run")
    return found.select(*said, "run", pl.exclude("run"))
