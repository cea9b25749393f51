"""A run whose tables are written by hand, so that what is made of them depends on no engine."""

from types import SimpleNamespace

import polars as pl

import daybreak
from daybreak.figures.curves import Panel
from daybreak.figures.shading import Shading
from daybreak.figures.stacked import Facet, Row
from daybreak.plots import FigureContent

MS = 1_000_000
SCENARIO = {
    "name": "by hand", "description": "Two <kinds> of flows", "duration": "50 ms",
    "topology": {"kind": "migration_testbed", "queue": "60 packets"},
    "flows": [
        {"name": "main", "from": "sender-main", "to": "receiver-main", "size": "8 MiB", "via": "green"},
        {"name": "moved", "from": "sender-migrated", "to": "receiver-migrated", "size": "16 MiB"},
    ],
    "timelines": [
        {"kind": "migrate", "flows": ["moved"], "between": ["blue", "green"], "period": "10 ms", "night": "1 ms"}
    ],
    "records": {"bins": "1 ms", "window": "1 ms", "queues": "1 ms"},
}  # fmt: skip
FLOWS = {
    "flow_name": ["a", "b", "c", "d & co"], "group": ["short", "short", "long", "endless"],
    "variant": ["cubic", "reno", "cubic", "bbr"], "src": ["h1", "h1", "h2", "h3"], "dst": ["r1", "r2", "r2", "r3"],
    "bytes": [3_000, 4_500, 20_000_000, None], "start_ns": [0, 2 * MS, MS, 10 * MS],
    "end_ns": [5 * MS, 9 * MS, 41 * MS, None], "fct_ns": [5 * MS, 7 * MS, 40 * MS, None],
    "ideal_fct_ns": [2 * MS, 3 * MS, 32 * MS, None], "delivered_bytes": [3_000, 4_500, 20_000_000, 60_000_000],
    "segments": [3, 4, 2300, 9000], "retransmits": [0, 1, 17, 230], "rtos": [0, 1, 2, None], "tlps": [0, 0, 1, 3],
    "fast_recoveries": [0, 0, 4, 11], "spurious": [0, 0, 1, 2], "dup_acks": [0, 2, 30, 60],
    "reordered": [0, 0, 3, 5], "duplicates": [0, 0, 0, 1], "outstanding_bytes": [0, 0, 0, 9000],
}  # fmt: skip
WINDOW = {
    "flow": [0, 1, 1, 2, 2, 3, 3], "time_ns": [MS, 3 * MS, 4 * MS, 5 * MS, 6 * MS, 20 * MS, 21 * MS],
    "cwnd": [10, 11, 22, 33, 16, 44, 88], "ssthresh": [None, None, 11, 60, 16, None, 40],
    "bytes_in_flight": [1500, 3000, 4500, 90_000, 45_000, 12_000, 24_000],
    "srtt_ns": [None, 100_000, 150_000, 250_500, 300_000, 90_000, 80_000],
    "pacing_bps": [None, None, None, None, None, 10**9, 2 * 10**9],
    "state": ["Open", "Open", "Loss", "Open", "Recovery", "Open", "Open"],
}  # fmt: skip
BINS = [
    ("arrived", 0, "a", 0, 125_000), ("arrived", 2, "c", 2 * MS, 250_000), ("arrived", 3, "d & co", 3 * MS, 500_000),
    ("link", 7, "green", 4 * MS, 625_000), ("delivered", 0, "a", 0, 125_000), ("tap", 1, "b", 0, 3_000),
]  # fmt: skip
DROPS = [
    (4 * MS, "full", "green", 2, "c", True, 90_001), (5 * MS, "night", "blue", 2, "c", True, 120_001),
    (6 * MS, "random", "back", 1, "b", False, 7), (7 * MS, "random", "green", 3, "d & co", True, 555),
]  # fmt: skip
CIRCUITS = [(10 * MS, 0, "blue", "night"), (11 * MS, 1, "night", "green"), (20 * MS, 2, "green", "night")]
CONTROL = [
    (0, "broker", "requested", "b", None), (MS, "manager", "requested", "c", None),
    (3 * MS, "manager", "in_force", "c", "path 1"), (4 * MS, "hybrid", "setting_up", None, "night"),
    (5 * MS, "hybrid", "in_force", None, "day 0"), (6 * MS, "broker", "in_force", "a", "path 1"),
    (30 * MS, "manager", "released", "c", "path 0"),
]  # fmt: skip
MANIFEST = {
    "name": "by hand", "engine": "simulated", "plan_hash": "0123456789abcdef0123",
    "versions": {"daybreak": "9.8.7", "plan": 2, "program": f"native module {60 * 'f'}"},
    "totals": {"packet_hops": 129, "events": 134, "ended_ns": 50 * MS},
}  # fmt: skip


def run(seed=1, slower=0, **changes):
    """The run; with another seed flows may take longer, by a number of nanoseconds."""
    scenario = daybreak.Scenario.parse(SCENARIO)
    flows = pl.DataFrame({"flow": range(4)} | FLOWS, schema_overrides=dict.fromkeys(("flow", "rtos"), pl.UInt32))
    later = [pl.col(name) + slower for name in ("end_ns", "fct_ns")]
    names = pl.DataFrame({"flow": range(4), "flow_name": FLOWS["flow_name"]}, schema_overrides={"flow": pl.UInt32})
    window = pl.DataFrame(WINDOW, schema_overrides={"flow": pl.UInt32}).join(names, on="flow", maintain_order="left")
    found = {
        "seed": seed, "scenario": scenario,
        "manifest": MANIFEST | {"seed": seed, "scenario": scenario.document()},
        "flows": flows.with_columns(later).with_columns(
            pl.col("start_ns", "end_ns", "fct_ns", "ideal_fct_ns", "bytes", "delivered_bytes").cast(pl.UInt64)
        ),
        "window": window,
        "bins": pl.DataFrame(BINS, schema=("scope", "id", "name", "start_ns", "bytes"), orient="row"),
        "queues": pl.DataFrame(
            {"time_ns": [0, MS], "queue_name": ["green", "blue"], "packets": [3, 60], "max_packets": [5, 61]}
        ),
        "drops": pl.DataFrame(
            DROPS, schema=("time_ns", "reason", "place_name", "flow", "flow_name", "data", "seq"), orient="row"
        ),
        "control": pl.DataFrame(
            CONTROL, schema=("time_ns", "controller_name", "event", "flow_name", "phase"), orient="row"
        ),
        "circuits": pl.DataFrame(CIRCUITS, schema=("time_ns", "step", "before", "phase"), orient="row").with_columns(
            timeline_name=pl.lit("move"), timeline=pl.lit(0, pl.UInt32)
        ),
    }  # fmt: skip
    return SimpleNamespace(**found | changes)


def shown(finer=1, titles=("",)):
    """A figure of two rows for each title, the first of them with days and nights; finer has more points."""
    times = [at * 0.01 / finer for at in range(5 * finer)]

    def curve(scale, has_range=False):
        values = [scale * (1 + at % 7) for at in range(len(times))]
        low, high = ([value * part if has_range else None for value in values] for part in (0.9, 1.2))
        return pl.DataFrame(
            {"time_s": times, "mean": values, "low": low, "high": high},
            schema_overrides=dict.fromkeys(("low", "high"), pl.Float64),
        )

    days = [("blue", 0, 10), ("night", 10, 11), ("green", 11, 20), ("night", 20, 21), ("blue", 21, None)]
    intervals = pl.DataFrame(
        [(phase, start * MS, end and end * MS) for phase, start, end in days],
        schema={"phase": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64}, orient="row",
    )  # fmt: skip
    shading = Shading(intervals, "green", r"on \$green\$").until(40 * MS)
    rates = Panel("Throughput", {"a": curve(1.23456), "c": curve(2.0, has_range=True)}, shading, end_s=0.04)
    queue = Panel("Queue of green", {"": curve(10.0)}, end_s=0.04, colours=("#123456",))
    rows = (Row(rates, "Throughput\n[Gbit/s]", has_names=True), Row(queue, "Queue\n[packets]"))
    facets = tuple(Facet(title, rows) for title in titles)
    return FigureContent(facets, "by hand", "Two runs", "Time [s]", ("One thing is left out", ""))
