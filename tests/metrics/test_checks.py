"""Every metric names the table and the column that it lacks, and the value that makes no sense."""

import numpy as np
import polars as pl
import pytest
from tables import bins, flows, window

from daybreak.metrics import (
    comparison,
    concurrency,
    crossings,
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
    transient,
    utilisation,
)
from daybreak.metrics import window as windows

MS = 1_000_000
FLOWS = flows({"run": 1, "bytes": 5, "end_ns": MS, "fct_ns": MS}, {"run": 1, "group": "migrated"})
ENDED = fct.table(FLOWS)
BINS = bins(("tap", 0, 0, 7), ("link", 0, 0, 7))
WINDOW = window((0, 0, 5))
LATENCY = pl.DataFrame({"flow": [0], "from_ns": [1], "to_ns": [2], "packets": [3]})
DROPS = pl.DataFrame({"reason": ["night"], "bytes": [9]})
CURVE = pl.DataFrame({"run": [1, 1], "group": ["main", "migrated"], "time_s": [0.0, 0.0], "gbps": [1.0, 2.0]})
CIRCUITS = pl.DataFrame(
    {"time_ns": [5], "timeline_name": ["t"], "step": [0], "before": ["path 0"], "phase": ["path 1"]}
)
INTERVALS = phases.intervals(CIRCUITS)
CYCLES = phases.cycles(INTERVALS, phase="path 0")
COUNTERS = "bytes start_ns end_ns fct_ns"
WITH_IDEAL = FLOWS.with_columns(ideal_fct_ns=pl.lit(5, pl.UInt64))
SLOWED = slowdown.table(WITH_IDEAL)
PACKETS = pl.DataFrame(
    {"packet": 7, "link_name": "in", "arrival_ns": 5, "flow": 0, "data": True, "seq": 1, "payload_bytes": 9}
)
CROSSED = pl.DataFrame({"flow": 0, "seq": 1, "payload_bytes": 9, "exit": "out", "left_ns": 5, "delay_us": 1.0})
QUEUES = pl.DataFrame({"queue_name": "q", "time_ns": 5, "packets": 1, "max_packets": 2})
SAMPLES = WINDOW.with_columns(srtt_ns=pl.lit(1), retransmits=pl.lit(0), in_flight=pl.lit(1), state=pl.lit("Open"))
LOST = pl.DataFrame({"flow": 0, "time_ns": 5, "seq": 1, "reason": "night", "data": True})
AVAILABLE = pl.DataFrame({"flow": 0, "start_ns": 0, "end_ns": MS, "share_bps": 8, "fills_bytes": 9})
SLOTS = pl.DataFrame({"group": "g", "slot": 0, "time_s": 0.0, "value": 1.0})
CONTROL = pl.DataFrame({"time_ns": 5, "controller_name": "c", "flow_name": "f", "phase": "path 1"})
LINKS = pl.DataFrame({"link": 0, "link_name": "l", "bytes": 5})
CAPACITY = pl.DataFrame({"link": 0, "open_share": 1.0, "capacity_bytes": 9.0})
EDGES = np.array([0, MS], dtype=np.int64)
RESPONSE = pl.DataFrame({"time_s": [-1.0, 0.0, 1.0, 2.0], "gbps": [4.0, 1.0, 2.0, 3.0]})

# A call, its tables by the names that errors have, and the columns of each that it needs.
CALLS = {
    "fct.table": (lambda flows: fct.table(flows), {"flows": (FLOWS, COUNTERS)}),
    "fct.by_run": (lambda flows: fct.by_run(flows), {"flows": (FLOWS, f"run group {COUNTERS}")}),
    "fct.ended_by": (lambda flows: fct.ended_by(flows, part=0.5), {"flows": (ENDED, "run end_s")}),
    "fct.group_throughput": (lambda flows: fct.group_throughput(flows), {"flows": (FLOWS, f"run group {COUNTERS}")}),
    "fairness.shares": (lambda rates: fairness.shares(rates), {"rates": (CURVE, "gbps")}),
    "latency": (
        lambda latency_, flows: latency.percentiles(latency_, flows),
        {"latency": (LATENCY, "flow from_ns to_ns packets"), "flows": (FLOWS, "flow group")},
    ),
    "reordering": (
        lambda flows: reordering.table(flows), {"flows": (FLOWS, "group segments reordered duplicates dup_acks")},
    ),
    "retransmissions": (
        lambda flows: retransmissions.table(flows),
        {"flows": (FLOWS, "group segments retransmits rtos tlps fast_recoveries spurious")},
    ),
    "losses": (lambda drops: retransmissions.losses(drops), {"drops": (DROPS, "reason bytes")}),
    "throughput.series": (
        lambda bins, flows: throughput.series(bins, flows, bin_ns=MS, end_ns=MS),
        {"bins": (BINS, "scope id start_ns bytes"), "flows": (FLOWS, "flow group")},
    ),
    "mean_between": (
        lambda bins, flows: throughput.mean_between(bins, flows, from_ns=0, to_ns=MS),
        {"bins": (BINS, "scope id start_ns bytes"), "flows": (FLOWS, "flow group")},
    ),
    "time_to_reach": (lambda series: throughput.time_to_reach(series, gbps=1), {"series": (CURVE, "time_s gbps")}),
    "ramps_s": (
        lambda series, flows: throughput.ramps_s(series, flows, gbps=1, bin_ns=MS),
        {"series": (CURVE, "run time_s gbps"), "flows": (FLOWS, "run start_ns")},
    ),
    "utilisation.of_links": (
        lambda bins: utilisation.of_links(bins, rate_bps=10**9, from_ns=0, to_ns=MS),
        {"bins": (BINS, "scope id start_ns bytes")},
    ),
    "utilisation.over_time": (
        lambda bins: utilisation.over_time(bins, rate_bps=10**9, bin_ns=MS),
        {"bins": (BINS, "scope id start_ns bytes")},
    ),
    "window.series": (
        lambda window, flows: windows.series(window, flows, bin_ns=MS, end_ns=MS),
        {"window": (WINDOW, "flow time_ns bytes_in_flight"), "flows": (FLOWS, "flow group")},
    ),
    "window.peaks": (
        lambda window, flows: windows.peaks(window, flows, cycle_ns=MS, from_ns=0, to_ns=MS),
        {"window": (WINDOW, "flow time_ns bytes_in_flight"), "flows": (FLOWS, "flow group")},
    ),
    "window.largest": (
        lambda window, flows: windows.largest(window, flows),
        {"window": (WINDOW, "flow time_ns bytes_in_flight"), "flows": (FLOWS, "flow group")},
    ),
    "while_all_run": (
        lambda series, flows: concurrency.while_all_run(series, flows, bin_ns=MS),
        {"series": (CURVE, "run time_s"), "flows": (ENDED, "run group start_ns end_s")},
    ),
    "after_others": (
        lambda series, flows: concurrency.after_others(series, flows, "main", bin_ns=MS),
        {"series": (CURVE, "run group time_s"), "flows": (ENDED, "run group start_ns end_s")},
    ),
    "means": (lambda series: concurrency.means(series, "main", "gbps"), {"series": (CURVE, "run group gbps")}),
    "part_below": (
        lambda series: concurrency.part_below(series, "main", "migrated", "gbps", bin_ns=MS),
        {"series": (CURVE, "run group time_s gbps")},
    ),
    "mean_curve": (
        lambda table: series.mean_curve(table, "main", "gbps", bin_ns=MS, recorded_ns=MS, end_s=0.001),
        {"series": (CURVE, "run group time_s gbps")},
    ),
    "mean_height": (
        lambda table: series.mean_height(table, "gbps", bin_ns=MS, window_ns=MS),
        {"series": (CURVE, "run time_s gbps")},
    ),
    "intervals": (
        lambda circuits: phases.intervals(circuits),
        {"circuits": (CIRCUITS, "time_ns timeline_name step before phase")},
    ),
    "cycles": (lambda table: phases.cycles(table, phase="path 0"), {"intervals": (INTERVALS, "phase start_ns")}),
    "of_longest_run": (
        lambda table: phases.of_longest_run(table),
        {"intervals": (INTERVALS.with_columns(pl.lit(1).alias("run")), "run start_ns")},
    ),
    "folded": (
        lambda table, cycles: phases.folded(table, cycles, "gbps", parts=2),
        {"series": (CURVE, "time_s gbps"), "cycles": (CYCLES, "cycle start_ns end_ns")},
    ),
    "peaks": (
        lambda table, cycles: phases.peaks(table, cycles, "gbps", bin_ns=MS),
        {"series": (CURVE, "run time_s gbps"), "cycles": (CYCLES, "cycle start_ns end_ns")},
    ),
    "of_controller": (
        lambda control: phases.of_controller(control, flow="f"),
        {"control": (CONTROL, "time_ns controller_name flow_name phase")},
    ),
    "paired": (
        lambda flows: comparison.paired(flows, flows),
        {"flows": (WITH_IDEAL, f"run group retransmits rtos ideal_fct_ns {COUNTERS}")},
    ),
    "of_runs": (
        lambda flows: measures.of_runs(flows, "fct", by=["run", "group"]),
        {"flows": (WITH_IDEAL, f"run group ideal_fct_ns {COUNTERS}")},
    ),
    "fct.percentiles": (
        lambda flows: fct.percentiles(flows, by=["run", "group"], at=(50,)),
        {"flows": (ENDED, "run group bytes fct_s")},
    ),
    "prolongation": (lambda flows: fct.prolongation(flows), {"flows": (FLOWS, f"run group {COUNTERS}")}),
    "fairness.by_run": (lambda rates: fairness.by_run(rates, by=["group"]), {"rates": (CURVE, "run group gbps")}),
    "slowdown.table": (lambda flows: slowdown.table(flows), {"flows": (WITH_IDEAL, "fct_ns ideal_fct_ns")}),
    "slowdown.summary": (
        lambda flows: slowdown.summary(flows, by=["run", "group"]),
        {"flows": (SLOWED, "run group ideal_fct_ns slowdown")},
    ),
    "slowdown.by_size": (
        lambda flows: slowdown.by_size(flows), {"flows": (SLOWED, "bytes ideal_fct_ns slowdown")},
    ),
    "crossings": (
        lambda packets: crossings.crossings(packets, entries=["in"], exits=["in"]),
        {"packets": (PACKETS, "packet flow data seq payload_bytes link_name arrival_ns")},
    ),
    "crossings.percentiles": (lambda crossed: crossings.percentiles(crossed), {"crossed": (CROSSED, "delay_us")}),
    "crossings.utilisation": (
        lambda crossed: crossings.utilisation(crossed, link="out", rate_bps=1, open_share=1),
        {"crossed": (CROSSED, "exit left_ns payload_bytes")},
    ),
    "progress": (
        lambda crossed: folding.progress(crossed, period_ns=5, origin_ns=0, until_us=1),
        {"crossed": (CROSSED, "flow seq payload_bytes left_ns")},
    ),
    "occupancy": (
        lambda queues: folding.occupancy(queues, queue="q", period_ns=5, origin_ns=0, until_us=1),
        {"queues": (QUEUES, "queue_name time_ns packets")},
    ),
    "distribution": (lambda queues: occupancy.distribution(queues), {"queues": (QUEUES, "queue_name packets")}),
    "occupancy.summary": (
        lambda queues: occupancy.summary(queues), {"queues": (QUEUES, "queue_name packets max_packets")},
    ),
    "explanation": (
        lambda window, shares: explanation.table(
            WITH_IDEAL.head(1), window, BINS, LOST, shares, bin_ns=MS, packet_bytes={0: 1}
        ),
        {
            "window": (SAMPLES, "flow time_ns in_flight srtt_ns state"),
            "shares": (AVAILABLE, "flow start_ns end_ns share_bps fills_bytes"),
        },
    ),
    "over_time.throughput": (
        lambda bins, flows: over_time.throughput(bins, flows, EDGES, bin_ns=MS, end_ns=MS),
        {"bins": (BINS, "scope id start_ns bytes"), "flows": (FLOWS, "flow group")},
    ),
    "sampled": (
        lambda window, flows: over_time.sampled(window, flows, EDGES, "bytes_in_flight"),
        {"window": (WINDOW, "flow time_ns bytes_in_flight"), "flows": (FLOWS, "flow group")},
    ),
    "over_time.retransmissions": (
        lambda window, flows: over_time.retransmissions(window, flows, EDGES),
        {"window": (SAMPLES, "flow time_ns retransmits"), "flows": (FLOWS, "flow group")},
    ),
    "over_time.losses": (
        lambda drops, flows: over_time.losses(drops, flows, EDGES),
        {"drops": (LOST, "time_ns flow"), "flows": (FLOWS, "flow group")},
    ),
    "over_time.queues": (
        lambda queues: over_time.queues(queues, EDGES, interval_ns=MS),
        {"queues": (QUEUES, "queue_name time_ns max_packets")},
    ),
    "fold": (
        lambda table: over_time.fold(table, "group", slots=1), {"table": (SLOTS, "group slot time_s value")},
    ),
    "over_run": (
        lambda links, capacity: utilisation.over_run(links, capacity),
        {"links": (LINKS, "link link_name bytes"), "capacity": (CAPACITY, "link open_share capacity_bytes")},
    ),
    "line": (lambda series: transient.line(series, "gbps", -1, 3), {"series": (RESPONSE, "time_s gbps")}),
    "label": (
        lambda table, intervals: phases.label(table, intervals),
        {"series": (CURVE, "time_s"), "intervals": (INTERVALS, "start_ns end_ns")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_missing_column_is_named_with_its_table(name):
    call, tables = CALLS[name]
    whole = [table for table, _ in tables.values()]
    call(*whole)
    for place, (table_name, (table, columns)) in enumerate(tables.items()):
        for column in columns.split():
            lacking = [*whole[:place], table.drop(column), *whole[place + 1 :]]
            with pytest.raises(ValueError, match=rf"^table {table_name}: no column '{column}' \(it has: \w"):
                call(*lacking)


@pytest.mark.parametrize("name", CALLS)
def test_only_these_columns_are_needed(name):
    call, tables = CALLS[name]
    least = [table.select(columns.split()) for table, columns in tables.values()]
    call(*least)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: throughput.series(BINS, FLOWS, bin_ns=0, end_ns=MS), "bin_ns: 0 is not above zero"),
        (lambda: throughput.series(BINS, FLOWS, bin_ns=MS, end_ns=-1), "end_ns: -1 is not above zero"),
        (lambda: throughput.mean_between(BINS, FLOWS, from_ns=5, to_ns=5), "to_ns - from_ns: 0 is not above zero"),
        (
            lambda: throughput.of_flows(BINS, FLOWS, by="group", scope="link"),
            "scope: 'link' does not count flows; expected one of arrived, delivered, tap",
        ),
        (lambda: utilisation.of_links(BINS, rate_bps=0, from_ns=0, to_ns=1), "rate_bps: 0 is not above zero"),
        (lambda: utilisation.of_links(BINS, rate_bps=1, from_ns=9, to_ns=2), "to_ns - from_ns: -7 is not above zero"),
        (lambda: utilisation.over_time(BINS, rate_bps=-1, bin_ns=1), "rate_bps: -1 is not above zero"),
        (lambda: utilisation.over_time(BINS, rate_bps=1, bin_ns=0), "bin_ns: 0 is not above zero"),
        (lambda: windows.series(WINDOW, FLOWS, bin_ns=0, end_ns=1), "bin_ns: 0 is not above zero"),
        (lambda: windows.series(WINDOW, FLOWS, bin_ns=1, end_ns=0), "end_ns: 0 is not above zero"),
        (lambda: windows.peaks(WINDOW, FLOWS, cycle_ns=0, from_ns=0, to_ns=1), "cycle_ns: 0 is not above zero"),
        (lambda: concurrency.while_all_run(CURVE, ENDED, bin_ns=0), "bin_ns: 0 is not above zero"),
        (lambda: concurrency.after_others(CURVE, ENDED, "main", bin_ns=0), "bin_ns: 0 is not above zero"),
        (lambda: concurrency.part_below(CURVE, "a", "b", "gbps", bin_ns=0), "bin_ns: 0 is not above zero"),
        (
            lambda: series.mean_curve(CURVE, "main", "gbps", bin_ns=0, recorded_ns=1, end_s=1),
            "bin_ns: 0 is not above zero",
        ),
        (lambda: series.mean_height(CURVE, "gbps", bin_ns=1, window_ns=0), "window_ns: 0 is not above zero"),
        (
            lambda: crossings.utilisation(CROSSED, link="out", rate_bps=0, open_share=1),
            "rate_bps: 0 is not above zero",
        ),
        (
            lambda: crossings.utilisation(CROSSED, link="out", rate_bps=1, open_share=0),
            "open_share: 0 is not above zero",
        ),
        (
            lambda: folding.progress(CROSSED, period_ns=0, origin_ns=0, until_us=1),
            "period_ns: 0 is not above zero",
        ),
        (
            lambda: folding.progress(CROSSED, period_ns=1, origin_ns=0, until_us=1, periods=0),
            "periods: 0 is not above zero",
        ),
        (
            lambda: folding.occupancy(QUEUES, queue="q", period_ns=0, origin_ns=0, until_us=1),
            "period_ns: 0 is not above zero",
        ),
        (
            lambda: explanation.table(FLOWS, SAMPLES, BINS, LOST, AVAILABLE, bin_ns=0, packet_bytes={0: 1}),
            "bin_ns: 0 is not above zero",
        ),
        (
            lambda: over_time.throughput(BINS, FLOWS, EDGES, bin_ns=0, end_ns=1),
            "bin_ns: 0 is not above zero",
        ),
        (lambda: over_time.queues(QUEUES, EDGES, interval_ns=0), "interval_ns: 0 is not above zero"),
        (lambda: slowdown.by_size(SLOWED, edges=(0, 5)), r"edges: \[0, 5\] are not sizes in rising order"),
        (lambda: slowdown.by_size(SLOWED, edges=(5, 5)), r"edges: \[5, 5\] are not sizes in rising order"),
        (lambda: fairness.jain([3, -2, -1]), "rates: -2.0 is negative"),
        (
            lambda: fct.prolongation(FLOWS.with_columns(group=pl.lit("x"))),
            r"group: 'migrated' is not in the flows \(there are: x\)",
        ),
        (lambda: fct.prolongation(FLOWS, main="y"), r"group: 'y' is not in the flows \(there are: main, migrated\)"),
    ],
)
def test_what_makes_no_sense_is_named(call, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        call()


PERCENTILES = {
    "latency": (lambda at: latency.percentiles(LATENCY, FLOWS, at=at), r"is not in \(0, 100\]"),
    "fct": (lambda at: fct.percentiles(ENDED, by=["group"], at=at), "is not above 0 and at most 100"),
    "slowdown": (lambda at: slowdown.summary(SLOWED, by=["group"], at=at), "is not above 0 and at most 100"),
    "crossings": (lambda at: crossings.percentiles(CROSSED, at=at), r"is not in \[0, 100\]"),
}


@pytest.mark.parametrize("name", PERCENTILES)
def test_percentiles_are_above_0_and_at_most_100(name):
    call, words = PERCENTILES[name]
    # Between packets the least delay is a percentile too.
    call((0 if name == "crossings" else 0.1, 1, 100))
    for wrong in (-1, 100.1) if name == "crossings" else (0, -1, 100.1):
        with pytest.raises(ValueError, match=f"^at: percentile {wrong} {words}$"):
            call((50, wrong))
