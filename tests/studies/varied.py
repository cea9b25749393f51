"""Made-up measurements of whole studies, in which no two settings and no two runs have the same values.

Whether a claim holds on them is chance; what stands in a row of the board is of its own setting, group and run.
"""

import random
from dataclasses import replace

import polars as pl
import synthetic

from daybreak.metrics import fct, phases
from daybreak.studies.lightpath import management
from daybreak.studies.lightpath.measured import Measurements as LightPath
from daybreak.studies.lightpath.settings import ManagedSetting
from daybreak.studies.migration.measured import Measurements as Migration

RUNS = 3


def migration(settings):
    """The study's settings, each with rates of its own that are up to 15 % from those of `synthetic.paper`."""
    return {setting: _of_migration(setting) for setting in dict.fromkeys(settings)}


def _of_migration(setting):
    if setting.kind == "forest":
        return synthetic.of_forest(setting, synthetic.as_the_forest_needs, RUNS)
    if setting.kind in ("groups", "exchanges"):
        return Migration(setting, fct.table(_groups(setting)), *(pl.DataFrame() for _ in range(3)))
    parts = [synthetic.one_run(setting, _courses(setting, run), run) for run in range(1, RUNS + 1)]
    flows, throughput, windows, circuits = (pl.concat(tables) for tables in zip(*parts, strict=True))
    # Neither is level between two moves; and what is lost or SACKed is outstanding, and not in flight.
    number = (pl.col("time_s") * 1000).round().cast(pl.Int64)
    throughput = throughput.with_columns(gbps=pl.col("gbps") * (1 + 0.01 * (number % 7 - 3)))
    windows = windows.with_columns(kilobytes=pl.col("kilobytes") * (1 + 0.02 * (number % 5 - 2)))
    windows = windows.with_columns(outstanding=pl.col("kilobytes") + 200 + number % 11)
    return Migration(setting, fct.table(flows), throughput, windows, phases.intervals(circuits))


def _courses(setting, run):
    drawn = random.Random(f"{setting.name} {run}")
    return {
        group: synthetic.Course(*(tuple(value * drawn.uniform(0.85, 1.0) for value in values) for values in parts))
        for group, course in synthetic.paper(setting).items()
        for parts in [(course.rates, course.windows)]
    }


def _groups(setting):
    """Three transfers of other sizes in each group."""
    rows = []
    for run in range(1, RUNS + 1):
        drawn = random.Random(f"{setting.name} {run}")
        for group, gbps in (("migrated", 1.4 - setting.period_ms / 1000), ("main", 1.26)):
            for number, mib in enumerate((8, 64, 512)):
                ns = round(mib * 2**20 * 8 / (gbps * drawn.uniform(0.9, 1.1)))
                start = 10**6 * number
                row = {"flow": number, "flow_name": group, "group": group, "variant": "cubic", "bytes": mib * 2**20}
                row |= {"start_ns": start, "end_ns": ns + start, "fct_ns": ns, "duplicates": 0, "run": run}
                rows.append(row | {name: mib + at for at, name in enumerate(synthetic.COUNTS)})
    return pl.DataFrame(rows)


def lightpath(settings):
    """The study's settings, each with a rate before the move, in its worst seconds and after it of its own."""
    return {
        setting: _managed(setting) if isinstance(setting, ManagedSetting) else _moved(setting)
        for setting in dict.fromkeys(settings)
    }


LOWEST = {"A": (1.0, 1.6), "B": (0.75, 0.99), "C1": (0.75, 0.99), "C2": (0.8, 1.3), "D": (0.05, 0.4)}
"""The rate in the seconds after the move, in parts of the limit, by scenario."""
LATER = {"A": (1.58, 1.75), "C2": (1.4, 3.0)}
"""That from then on; in other scenarios up to 5 % from the limit."""


def _moved(setting):
    drawn = random.Random(replace(setting, moved=True).name)
    rate, after_s = setting.rate_mbps, max(int(setting.after_s), 1)
    before, lowest, later = (
        rate * drawn.uniform(*span)
        for span in ((0.965, 1.0), LOWEST[setting.scenario], LATER.get(setting.scenario, (0.95, 1.05)))
    )
    ends, before_slope, slope = drawn.choice((0, 1, 2, 3, 4, 5, 6, 8, 10**6)), drawn.uniform(0.033, 0.036), 0.1
    if setting.scenario == "C2":
        slope = drawn.uniform(0.049, 0.054) * rate

    def mbps(at):
        if at < 0 or not setting.moved:
            return min(before, before * (1 + (at + 10) * before_slope)) + drawn.uniform(-0.002, 0.002) * rate
        return lowest + at if at < ends else later + slope * at

    seconds = [(1000, float(at), mbps(at)) for at in range(-40, after_s)]
    tenths = [(100, at / 10, drawn.uniform(0.9, 1.5) * rate) for at in range(-2, 10 * after_s)]
    ms = [(1, at / 1000, drawn.uniform(1.4, 2) * rate) for at in range(8)]
    rates = [(*row, 0.9 * row[2], 1.1 * row[2]) for row in (*seconds, *tenths, *ms)]
    windows = [
        (
            at / 10 - 2,
            30 + at + drawn.randint(0, 1),
            20,
            setting.rtt_ms * (1 if at <= 20 else 0.6) * drawn.uniform(1, 1.05),
        )
        for at in range(10 * after_s)
    ]
    places = ("sender", "ip-1", "ip-2", "optical", "receiver")
    most = 0 if setting.scenario == "A" and drawn.random() < 0.7 else 40
    losses = [
        (place, at, drawn.randint(0, most)) for place in places for at in (-3.5, -1.25, 0.004, 0.03, 0.3, 1.2, 3.0)
    ]
    queues = [
        (queue, at / 10, drawn.randint(0, 400), drawn.choice((300, 499, 500)))
        for queue in ("sender", "receiver")
        for at in range(-5, 10 * after_s)
    ]
    counts = {
        "dup_acks": 9000,
        "fast_recoveries": 90,
        "spurious": 30,
        "reordered": 4000,
        "retransmits": 700,
        "rtos": 50,
    }
    flows = {name: [round(drawn.uniform(0.5, 0.7) * (0.4 + setting.after_s) * most)] for name, most in counts.items()}
    names = (("width_ms", "time_s", "mbps", "goodput_mbps", "arriving_mbps"), ("time_s", "cwnd", "ssthresh", "srtt_ms"),
             ("queue", "time_s", "packets", "max_packets"), ("place", "time_s", "lost"))  # fmt: skip
    tables = [
        pl.DataFrame(rows, schema=schema, orient="row")
        for rows, schema in zip((rates, windows, queues, losses), names, strict=True)
    ]
    tables[1] = tables[1].with_columns(state=pl.lit("Open"), in_flight=pl.col("cwnd") - 1)
    return LightPath(setting, pl.DataFrame(flows | {"run": [1]}), *tables)


def _managed(setting):
    """Two flows of each group and run, the first of which gets a light-path."""
    flows, control = [], []
    for run in range(1, RUNS + 1):
        drawn = random.Random(f"{setting.name} {run}")
        for number, group in enumerate(group for group in management.GROUPS for _ in range(2)):
            counts = {name: drawn.randint(0, 9) for name in management.COUNTS}
            flows.append(
                {"flow": number, "group": group, "run": run, "fct_s": drawn.uniform(1, 9) * (1 + number)} | counts
            )
            control.append(
                {"flow": number, "run": run, "time_ns": number, "event": ("in_force", "refused")[number % 2]}
            )
    return management.Outcome(pl.DataFrame(flows), pl.DataFrame(control))
