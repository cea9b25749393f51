"""Rows stand in the order of what they are of, whatever the order of the tables that they are made of."""

import numpy as np
import polars as pl
import pytest
from tables import bins, flows, window

from daybreak.metrics import (
    comparison,
    concurrency,
    explanation,
    fairness,
    fct,
    folding,
    measures,
    occupancy,
    over_time,
    phases,
    reordering,
    retransmissions,
    series,
    slowdown,
    throughput,
    utilisation,
)
from daybreak.metrics import window as windows

NAMES = [f"g{number * 7 % 40}" for number in range(40)]
"""In an order which is neither that of the alphabet nor of what is sorted."""
FLOWS = flows(
    *(
        {"run": 1, "group": name, "bytes": 1000, "end_ns": 10 + at, "fct_ns": 10 + at, "segments": 1}
        for at, name in enumerate(NAMES)
    )
).with_columns(ideal_fct_ns=pl.lit(5, pl.UInt64))
SLOWED = slowdown.table(fct.table(FLOWS))
BINS = bins(*(("tap", flow, 0, 5) for flow in reversed(range(40))))
SAMPLES = window(*((flow, 3, 1000) for flow in reversed(range(40)))).with_columns(retransmits=pl.lit(1))
QUEUES = pl.DataFrame({"queue_name": NAMES, "time_ns": 5, "packets": 1, "max_packets": 2})
EDGES = np.array([0, 10], dtype=np.int64)
PARTS = SLOWED.select("group", *(pl.lit(1).alias(name) for name in ("fct_ns", *explanation.COLUMNS)))


@pytest.mark.parametrize("table", [
    lambda: fct.by_run(FLOWS),
    lambda: fct.percentiles(SLOWED, by=["group"], at=(50,)),
    lambda: fct.group_throughput(FLOWS),
    lambda: measures.of_runs(FLOWS, "fct", by=["group"]),
    lambda: slowdown.summary(SLOWED, by=["group"]),
    lambda: slowdown.by_size(SLOWED, by=["group"]),
    lambda: retransmissions.table(FLOWS),
    lambda: reordering.table(FLOWS),
    lambda: fairness.by_run(SLOWED, by=["group"], value="goodput_gbps"),
    lambda: explanation.by_group(PARTS),
    lambda: throughput.series(BINS, FLOWS, bin_ns=10, end_ns=10),
    lambda: throughput.mean_between(BINS, FLOWS, from_ns=0, to_ns=10),
    lambda: windows.series(SAMPLES, FLOWS, bin_ns=10, end_ns=10),
    lambda: over_time.throughput(BINS, FLOWS, EDGES, bin_ns=10, end_ns=10, scope="tap"),
    lambda: over_time.sampled(SAMPLES, FLOWS, EDGES, "bytes_in_flight"),
    lambda: over_time.retransmissions(SAMPLES, FLOWS, EDGES),
    lambda: over_time.losses(SAMPLES, FLOWS, EDGES),
    lambda: over_time.queues(QUEUES.with_columns(group="queue_name"), EDGES, interval_ns=10)
    .rename({"queue_name": "group"}),
    lambda: occupancy.summary(QUEUES).rename({"queue_name": "group"}),
    lambda: occupancy.distribution(QUEUES).rename({"queue_name": "group"}),
    lambda: comparison.paired(FLOWS, FLOWS.reverse()).filter(value="fct_s"),
])  # fmt: skip
def test_groups_are_in_the_order_of_their_first_flows(table):
    assert table()["group"].to_list() == NAMES


def test_the_largest_windows_are_in_the_order_of_the_samples():
    assert windows.largest(SAMPLES, FLOWS)["group"].to_list() == NAMES[::-1]


def test_links_are_in_the_order_of_the_runs_own_table():
    links = pl.DataFrame({"link": list(range(40)), "link_name": NAMES, "bytes": [1] * 40})
    capacity = pl.DataFrame({"link": list(range(40))[::-1], "open_share": 1.0, "capacity_bytes": 9.0})
    assert utilisation.over_run(links, capacity)["link_name"].to_list() == NAMES


def test_bins_stay_in_the_order_of_the_curve():
    table = pl.DataFrame({"run": [9, 4, 7] * 14, "group": "a", "time_s": [float(at) for at in range(42)]})
    ended = pl.DataFrame(
        {"run": [4, 7, 9] * 2, "group": ["b"] * 3 + ["a"] * 3, "start_ns": 0, "end_s": [0.0] * 3 + [99.0] * 3}
    )
    alone = concurrency.after_others(table, ended, "a", bin_ns=10**9)
    assert alone.equals(table)
    assert concurrency.while_all_run(table, ended.tail(3), bin_ns=10**9).equals(table)


def test_numbers_of_runs_are_in_the_order_of_their_seeds():
    seeds = [number * 7 % 40 for number in range(40)]
    table = pl.DataFrame({"run": seeds, "group": "a", "time_s": 0.0, "gbps": [float(seed) for seed in seeds]})
    assert concurrency.means(table, "a", "gbps") == sorted(seeds)
    cycles = pl.DataFrame({"run": seeds, "cycle": 0, "start_ns": 0, "end_ns": 10**9})
    assert phases.peaks(table, cycles, "gbps", bin_ns=10**9, skip=0) == sorted(seeds)
    starts = pl.DataFrame({"run": seeds, "start_ns": 0})
    ramps = throughput.ramps_s(table, starts, gbps=20, bin_ns=10**9)
    assert ramps == [None] * 20 + [1.0] * 20


def test_a_mean_curve_is_in_the_order_of_time():
    times = [number * 7 % 40 for number in range(40)]
    table = pl.DataFrame(
        {"run": 1, "group": "a", "time_s": [at / 1e9 for at in times], "x": [float(at) for at in times]}
    )
    found = series.mean_curve(table, "a", "x", bin_ns=1, recorded_ns=1, end_s=40e-9)
    assert found["mean"].to_list() == list(range(40))
    spread = over_time.spread(table.rename({"x": "value"}))
    assert spread["mean"].to_list() == list(range(40))


def test_phases_of_many_runs_are_run_by_run_in_the_order_of_time():
    steps = [(run, time) for time in (30, 10, 20) for run in range(20)]
    circuits = pl.DataFrame(
        {
            "run": [run for run, _ in steps], "time_ns": [time for _, time in steps], "timeline_name": "t", "step": 0,
            "before": "night", "phase": [f"day {time}" for _, time in steps],
        }
    )  # fmt: skip
    found = phases.intervals(circuits).select("run", "phase", "start_ns", "end_ns").rows()
    assert found == [
        row for run in range(20)
        for row in ((run, "night", 0, 10), (run, "day 10", 10, 20), (run, "day 20", 20, 30), (run, "day 30", 30, 40))
    ]  # fmt: skip
    control = circuits.with_columns(controller_name=pl.lit("c"), flow_name=pl.lit("f"))
    decided = phases.of_controller(control, flow="f").select("run", "phase", "start_ns", "end_ns").rows()
    assert decided == [
        row for run in range(20)
        for row in (
            (run, "path 0", 0, 10), (run, "day 10", 10, 20), (run, "day 20", 20, 30), (run, "day 30", 30, None),
        )
    ]  # fmt: skip


def test_a_folded_curve_stays_in_its_order():
    table = pl.DataFrame(
        {"group": NAMES, "slot": list(range(40)), "time_s": [0.5 * at for at in range(40)], "value": 1.0}
    )
    folded = over_time.fold(table, "group", slots=4)
    assert folded.columns == ["group", "value", "week", "slot", "time_s"]
    assert folded["group"].to_list() == NAMES
    assert folded["time_s"].to_list() == [0.0, 0.5, 1.0, 1.5] * 10
    crossed = pl.DataFrame({"flow": 0, "seq": [1, 1001], "payload_bytes": 1000, "left_ns": [0, 20]})
    assert folding.progress(crossed, period_ns=10, origin_ns=0, until_us=0).columns == ["time_us", "kilobytes"]
