"""What is a mean is one: of 1, 2 and 6 it is 3, where the median is 2 and half of the range more."""

import numpy as np
import polars as pl
import pytest
from tables import bins, flows, window

from daybreak.metrics import (
    comparison,
    concurrency,
    confidence,
    fct,
    measures,
    occupancy,
    over_time,
    phases,
    series,
    slowdown,
    throughput,
    transient,
)

S = 10**9
THREE = (1, 2, 6)
FLOWS = flows(
    *(
        {
            "run": 1, "bytes": 10**9, "start_ns": 0, "end_ns": at * S, "fct_ns": at * S, "ideal_fct_ns": S,
            "retransmits": at, "rtos": at,
        }
        for at in THREE
    )
)  # fmt: skip
GOODPUTS = (8.0, 4.0, 8 / 6)
CURVE = pl.DataFrame({"run": [1, 1, 1], "group": "g", "time_s": [0.0, 1.0, 2.0], "x": [1.0, 2.0, 6.0]})
RUNS = pl.DataFrame({"run": [1, 2, 3], "group": "g", "time_s": 0.0, "x": [1.0, 2.0, 6.0]})
CYCLES = pl.DataFrame({"run": [1, 1, 1], "cycle": [0, 1, 2], "start_ns": [0, S, 2 * S], "end_ns": [S, 2 * S, 3 * S]})


@pytest.mark.parametrize("mean", [
    lambda: fct.by_run(FLOWS)["fct_s"].item(),
    lambda: measures.of_runs(FLOWS, "fct", by=["run"])["value"].item(),
    lambda: measures.of_runs(FLOWS, "slowdown.mean", by=["run"])["value"].item(),
    lambda: measures.of_runs(FLOWS, "retransmits", by=["run"])["value"].item(),
    lambda: measures.of_runs(FLOWS, "rtos", by=["run"])["value"].item(),
    lambda: slowdown.summary(slowdown.table(FLOWS), by=[])["mean_slowdown"].item(),
    lambda: confidence.over_runs(RUNS, ["group"], "x")["mean"].item(),
    lambda: confidence.interval(THREE).mean,
    lambda: concurrency.means(CURVE, "g", "x")[0],
    lambda: transient.mean_between(CURVE, "x", 0, 3),
    lambda: series.mean_curve(RUNS, "g", "x", bin_ns=S, recorded_ns=S, end_s=1.0)["mean"].item(),
    lambda: phases.folded(CURVE, CYCLES, "x", parts=1, skip=0)[0],
    lambda: phases.peaks(CURVE, CYCLES, "x", bin_ns=S, skip=0)[0],
    lambda: over_time.spread(RUNS.rename({"x": "value"}))["mean"].item(),
    lambda: occupancy.summary(pl.DataFrame({"queue_name": "q", "packets": THREE, "max_packets": 9}))[
        "mean_packets"
    ].item(),
    lambda: over_time.sampled(
        window((0, 0, 1), (1, 0, 2), (2, 0, 6)), FLOWS, np.array([0, 10]), "bytes_in_flight", mean=True
    )["value"].item(),
])  # fmt: skip
def test_a_mean_is_no_median(mean):
    assert mean() == 3.0


def test_goodputs_have_their_mean():
    mean = pytest.approx(sum(GOODPUTS) / 3)
    assert fct.group_throughput(FLOWS)["mean_goodput"].item() == mean
    assert measures.of_runs(FLOWS, "goodput.mean", by=["run"])["value"].item() == mean


def test_a_comparison_has_the_means_of_both():
    runs = pl.concat([FLOWS[at : at + 1].with_columns(run=pl.lit(at)) for at in range(3)])
    found = comparison.paired(runs, runs.with_columns(retransmits=pl.col("retransmits") * 2))
    rows = {row["value"]: (row["first"], row["second"], row["difference"]) for row in found.to_dicts()}
    assert rows["fct_s"] == (3.0, 3.0, 0.0)
    assert rows["retransmits"] == (3.0, 6.0, 3.0)
    assert found.columns == [
        "group", "value", "runs", "first", "second", "difference", "low", "high", "is_different", "unfinished",
    ]  # fmt: skip


def test_the_height_of_several_windows_is_their_mean():
    # A first window that does not count, then heights of 1, 2 and 6 in the mean of three runs.
    rising = [9.0, 0.0, 0.0, 1.0, 0.0, 2.0, 6.0, 0.0]
    runs = [
        pl.DataFrame({"run": run, "time_s": [at / 1e9 for at in range(8)], "x": [value * part for value in rising]})
        for run, part in ((1, 0.0), (2, 0.5), (3, 2.5))
    ]
    assert series.mean_height(pl.concat(runs), "x", bin_ns=1, window_ns=2) == pytest.approx(3.0)


def test_a_part_below_compares_the_means_of_bins():
    # Of 1, 2 and 6 the mean is above 2.5, and the median is below.
    table = pl.concat([CURVE, CURVE.with_columns(group=pl.lit("h"), x=pl.lit(2.5))])
    assert concurrency.part_below(table, "g", "h", "x", bin_ns=3 * S) == 0.0
    assert concurrency.part_below(table, "h", "g", "x", bin_ns=3 * S) == 1.0


def test_a_flow_that_did_not_end_has_the_goodput_of_its_time_in_the_run():
    table = flows(
        {"bytes": 10, "start_ns": 2, "end_ns": 4, "fct_ns": 2},
        {"bytes": None, "start_ns": 6},
        {"bytes": 7, "start_ns": 20},
    )
    table = table.with_columns(pl.Series("delivered_bytes", [10, 30, 0], dtype=pl.UInt64), run_ended_ns=pl.lit(16))
    # 10 bytes in 2 ns; 30 in the 10 ns from its start to the end of the run; none in a flow that would begin later.
    assert fct.table(table)["goodput_gbps"].to_list() == [40.0, 24.0, 0.0]
    assert fct.table(table.drop("run_ended_ns"))["goodput_gbps"].to_list() == [40.0, None, None]
    assert fct.table(table).columns == [*table.columns, "fct_s", "end_s", "goodput_gbps"]


def endless(*goodputs):
    """Flows of unlimited size of two runs, with the bits that each delivered in a nanosecond."""
    return flows(*({"run": run, "bytes": None} for run in (1, 2) for _ in goodputs)).with_columns(
        run_ended_ns=pl.lit(8, pl.UInt64), ideal_fct_ns=pl.lit(None, pl.UInt64),
        delivered_bytes=pl.Series([*goodputs, *(2 * one for one in goodputs)], dtype=pl.UInt64),
    )  # fmt: skip


def test_goodputs_of_flows_that_do_not_end_are_compared_and_nothing_else_of_them():
    found = comparison.paired(endless(4, 6), endless(5, 9)).select("value", "runs", "first", "second", "difference")
    assert found.rows() == [
        ("goodput_gbps", 2, 7.5, 10.5, 3.0), ("retransmits", 2, 0.0, 0.0, 0.0), ("rtos", 2, 0.0, 0.0, 0.0),
    ]  # fmt: skip
    # The goodputs of flows with an end are their completion times again.
    ended = FLOWS.with_columns(run_ended_ns=pl.lit(8 * S), delivered_bytes="bytes")
    assert "goodput_gbps" not in comparison.paired(ended, ended)["value"].to_list()


def test_a_flow_without_a_goodput_is_slower_than_all_others():
    table = pl.concat([FLOWS, FLOWS.head(1).with_columns(pl.lit(None, pl.UInt64).alias("fct_ns"))])
    found = {at: measures.of_runs(table, f"goodput.p{at}", by=["run"])["value"].item() for at in (25, 26, 75, 100)}
    assert found == {25: 0.0, 26: pytest.approx(8 / 6), 75: 4.0, 100: 8.0}
    assert measures.of_runs(table, "goodput.mean", by=["run"])["value"].item() is None


def test_readings_of_throughput_are_whole_tables():
    late = FLOWS.with_columns(pl.col("start_ns", "end_ns") + 2 * S, group=pl.lit("h"))
    table = pl.concat([FLOWS, late.head(2), late.tail(1).with_columns(pl.lit(None, pl.UInt64).alias("fct_ns"))])
    assert fct.group_throughput(table).rows() == [
        (1, "main", pytest.approx(sum(GOODPUTS) / 3), pytest.approx(24 / 9), pytest.approx(24 / 6)),
        (1, "h", None, None, None),
    ]
    assert fct.group_throughput(FLOWS, by="variant").columns == [
        "run", "variant", "mean_goodput", "pooled_goodput", "group_goodput",
    ]  # fmt: skip
    whole = pl.concat([late, FLOWS])
    assert fct.group_throughput(whole)["group_goodput"].to_list() == pytest.approx([4.0, 4.0])


def test_bins_without_a_byte_are_in_no_mean_of_a_bin():
    found = throughput.mean_between(
        bins(("tap", 0, 0, 1), ("tap", 1, 5, 2), ("tap", 2, 9, 6), ("arrived", 0, 1, 9)), FLOWS, from_ns=0, to_ns=8
    )
    assert found.rows() == [("main", 3.0)]
