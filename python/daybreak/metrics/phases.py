"""Phases of a timeline: which path or matching was in force when, from table `circuits`.

Phases have the names of that table: "path 0", "path 1" ... (of a `migrate`), "day 0", "day 1" ... (of a `circuit`),
"night". Tables of several runs have a column ``run``, and so have the results.
"""

from __future__ import annotations

import polars as pl

from daybreak.metrics.errors import check_columns


def intervals(circuits: pl.DataFrame, *, timeline: str | None = None) -> pl.DataFrame:
    """One row a phase: ``phase``, ``start_ns``, ``end_ns``, in the order of time.

    ``timeline`` names one if there are several; programs with the same name form one timeline. The phase before the
    first step starts at 0. A run ends within its last phase, which is taken to be as long as the previous phase of the
    same step; its end is null if there is none.
    """
    check_columns("circuits", circuits, ("time_ns", "timeline_name", "step", "before", "phase"))
    own = _of_timeline(circuits, timeline)
    program = pl.col("timeline") if "timeline" in own.columns else pl.lit(0)
    steps = (
        _with_run(own)
        .select(
            "run",
            pl.col("time_ns").cast(pl.Int64),
            program.cast(pl.Int64).alias("program"),
            pl.col("step").cast(pl.Int64),
            "before",
            "phase",
        )
        .sort("run", "time_ns", maintain_order=True)
    )
    opening = steps.filter((pl.int_range(pl.len()).over("run") == 0) & (pl.col("time_ns") > 0)).with_columns(
        pl.lit(0, pl.Int64).alias("time_ns"), pl.lit(-1, pl.Int64).alias("step"), pl.col("before").alias("phase")
    )
    lasted = (pl.col("end_ns") - pl.col("start_ns")).shift(1).over("run", "program", "step")
    found = (
        pl.concat([opening, steps])
        .sort("run", "time_ns", maintain_order=True)
        .select("run", "program", "step", "phase", start_ns="time_ns", end_ns=pl.col("time_ns").shift(-1).over("run"))
        .with_columns(pl.col("end_ns").fill_null(pl.col("start_ns") + lasted))
        # A step that only changes something else, such as a limit, ends no phase.
        .group_by("run", pl.struct("run", "phase").rle_id().alias("_number"), maintain_order=True)
        .agg(pl.col("phase").first(), pl.col("start_ns").first(), pl.col("end_ns").last())
    )  # fmt: skip
    return found.select(*(["run"] if "run" in circuits.columns else []), "phase", "start_ns", "end_ns")


def of_controller(control: pl.DataFrame, *, controller: str | None = None, flow: str | None = None) -> pl.DataFrame:
    """Phases set by a controller, from table `control`: of its circuit, or of one of its flows.

    One row per phase: ``phase``, ``start_ns``, ``end_ns``, in the order of time. ``controller`` names one if there are
    several, ``flow`` a flow if it controls flows. A flow is on "path 0" from time 0 on. The end of the last phase is
    null.
    """
    check_columns("control", control, ("time_ns", "controller_name", "flow_name", "phase"))
    names = control["controller_name"].unique(maintain_order=True).to_list()
    if controller is None and len(names) > 1:
        raise ValueError(f"controller: expected one of {', '.join(names)}")
    if controller is not None and controller not in names:
        raise ValueError(f"controller: {controller!r} has no decision in the table (there are: {', '.join(names)})")
    own = control if controller is None else control.filter(pl.col("controller_name") == controller)
    if flow is None and own["flow_name"].is_not_null().any():
        raise ValueError("flow: expected the name of a flow, the controller decides about flows")
    of_one = own if flow is None else own.filter(pl.col("flow_name") == flow)
    changes = _with_run(of_one).filter(pl.col("phase").is_not_null())
    changes = changes.select("run", "phase", start_ns=pl.col("time_ns").cast(pl.Int64))
    if flow is not None:
        first = _with_run(control).select("run").unique(maintain_order=True)
        first = first.with_columns(phase=pl.lit("path 0"), start_ns=pl.lit(0, pl.Int64))
        changes = pl.concat([first, changes])
    found = (
        changes.sort("run", "start_ns", maintain_order=True)
        # Of several decisions at one time the last one counts; a phase that continues is not split.
        .filter((pl.col("start_ns") != pl.col("start_ns").shift(-1).over("run")).fill_null(True))
        .filter((pl.col("phase") != pl.col("phase").shift(1).over("run")).fill_null(True))
        .with_columns(end_ns=pl.col("start_ns").shift(-1).over("run"))
    )
    return found if "run" in control.columns else found.drop("run")


def cycles(intervals: pl.DataFrame, *, phase: str) -> pl.DataFrame:
    """One row per cycle, from the start of a ``phase`` to its next start: ``cycle`` (from 0), ``start_ns``, ``end_ns``.

    The last cycle is taken to be as long as the one before it.
    """
    check_columns("intervals", intervals, ("phase", "start_ns"))
    starts = _with_run(intervals).filter(pl.col("phase") == phase).sort("run", "start_ns")
    following, preceding = (pl.col("start_ns").shift(step).over("run") for step in (-1, 1))
    found = starts.select(
        "run",
        pl.int_range(pl.len()).over("run").alias("cycle"),
        "start_ns",
        following.fill_null(2 * pl.col("start_ns") - preceding).alias("end_ns"),
    )
    return found if "run" in intervals.columns else found.drop("run")


def of_longest_run(intervals: pl.DataFrame) -> pl.DataFrame:
    """The intervals of the run that has the most of them, since runs of one scenario differ in length."""
    check_columns("intervals", intervals, ("run", "start_ns"))
    if not intervals.height:
        return intervals
    longest = intervals.sort("start_ns", "run")["run"][-1]
    return intervals.filter(pl.col("run") == longest)


def label(series: pl.DataFrame, intervals: pl.DataFrame) -> pl.DataFrame:
    """Adds to a curve the interval, or cycle, in which each of its bins starts.

    ``series`` has ``time_s``, the starts of bins, to whole nanoseconds. It gets the columns of ``intervals`` and
    ``at_ns``, the time since the interval's start. Bins in no interval are left out.
    """
    check_columns("series", series, ("time_s",))
    check_columns("intervals", intervals, ("start_ns", "end_ns"))
    by = "run" if "run" in intervals.columns else None
    return (
        series.with_row_index("_row")
        .with_columns((pl.col("time_s") * 1e9).round().cast(pl.Int64).alias("_ns"))
        .sort("_ns")
        .join_asof(
            intervals.sort("start_ns"), left_on="_ns", right_on="start_ns", by=by, coalesce=False,
            check_sortedness=False,
        )
        .filter(pl.col("start_ns").is_not_null() & (pl.col("end_ns").is_null() | (pl.col("_ns") < pl.col("end_ns"))))
        .with_columns((pl.col("_ns") - pl.col("start_ns")).alias("at_ns"))
        .sort("_row")
        .drop("_ns", "_row")
    )  # fmt: skip


def during(series: pl.DataFrame, intervals: pl.DataFrame, phase: str, *, last_part: float = 1.0) -> pl.DataFrame:
    """The bins of a curve that start in a ``phase``, or in the last part of it (0.5: its second half)."""
    length = pl.col("end_ns") - pl.col("start_ns")
    inside = (pl.col("phase") == phase) & (pl.col("at_ns") >= length * (1 - last_part)).fill_null(last_part == 1.0)
    return label(series, intervals).filter(inside).select(series.columns)


def _with_run(table: pl.DataFrame) -> pl.DataFrame:
    return table if "run" in table.columns else table.with_columns(pl.lit(0, pl.Int64).alias("run"))


def _of_timeline(circuits: pl.DataFrame, timeline: str | None) -> pl.DataFrame:
    names = circuits["timeline_name"].unique(maintain_order=True).to_list()
    if timeline is None:
        if len(names) > 1:
            raise ValueError(f"timeline: expected one of {', '.join(names)}")
        return circuits
    if timeline not in names:
        raise ValueError(f"timeline: {timeline!r} has no step in the table (there are: {', '.join(names)})")
    return circuits.filter(pl.col("timeline_name") == timeline)


def folded(series: pl.DataFrame, cycles: pl.DataFrame, value: str, *, parts: int, skip: int = 1) -> list[float]:
    """Mean of the column ``value`` in each of ``parts`` equal parts of the cycle, over all runs and all cycles after
    the first ``skip``."""
    check_columns("series", series, ("time_s", value))
    check_columns("cycles", cycles, ("cycle", "start_ns", "end_ns"))
    inside = label(series, cycles).filter(pl.col("cycle") >= skip)
    part = (pl.col("at_ns") * parts // (pl.col("end_ns") - pl.col("start_ns"))).alias("part")
    return inside.group_by(part).agg(pl.col(value).mean()).sort("part")[value].to_list()


def peaks(series: pl.DataFrame, cycles: pl.DataFrame, value: str, *, bin_ns: int, skip: int = 1) -> list[float]:
    """Mean over complete cycles of the largest ``value`` in each, without the first ``skip``: one number per run, in
    the order of the runs. ``bin_ns`` is the width of the curve's bins."""
    check_columns("series", series, ("run", "time_s", value))
    check_columns("cycles", cycles, ("cycle", "start_ns", "end_ns"))
    bins = label(series, cycles).filter(pl.col("cycle") >= skip)
    of_cycle = bins.group_by("run", "cycle").agg(
        pl.len().alias("bins"), (pl.col("end_ns") - pl.col("start_ns")).first().alias("length"), pl.col(value).max()
    )
    whole = of_cycle.filter(pl.col("bins") * bin_ns == pl.col("length"))
    return whole.group_by("run").agg(pl.col(value).mean()).sort("run")[value].to_list()
