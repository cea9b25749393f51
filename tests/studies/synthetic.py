"""Made-up measurements of the study's settings: a fluid model whose rates a test chooses.

`paper` has the study behave as the paper says, `contrary` the opposite, so that every claim can be seen to
pass and to miss.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from daybreak.metrics import fct, phases
from daybreak.studies.migration.measured import Evidence, Measurements
from daybreak.studies.migration.settings import FIGURES, Scale, Setting, of_figure

MIB = 2**20
COUNTS = ("segments", "retransmits", "rtos", "tlps", "fast_recoveries", "spurious", "dup_acks", "reordered")


@dataclass(frozen=True)
class Course:
    """A flow's rates in Gb/s in states 0 and 1 and after the other's end, and its windows in KB.

    The window is at its peak in state 0 and at its valley in state 1.
    """

    rates: tuple[float, float, float]
    windows: tuple[float, float, float] = (1800.0, 600.0, 3000.0)


Profile = Callable[[Setting], dict[str, Course]]


def evidence(profile: Profile, scale: Scale, runs: int = 5) -> Evidence:
    """Measurements of all settings of all figures, in their order."""
    settings = dict.fromkeys(setting for figure in FIGURES for setting in of_figure(figure, scale))
    prolonged = {paper: as_the_forest_needs, contrary: as_no_forest_knows}[profile]
    return {
        setting: of_forest(setting, prolonged, runs) if setting.kind == "forest" else measured(setting, profile, runs)
        for setting in settings
    }


def measured(setting: Setting, profile: Profile, runs: int) -> Measurements:
    """Measurements of one setting; each run's rates differ by up to 0.1 %."""
    parts = [one_run(setting, profile(setting), run) for run in range(1, runs + 1)]
    flows, throughput, windows, circuits = (pl.concat(tables) for tables in zip(*parts, strict=True))
    return Measurements(setting, fct.table(flows), throughput, windows, phases.intervals(circuits))


def one_run(setting: Setting, courses: dict[str, Course], run: int) -> tuple[pl.DataFrame, ...]:
    """Steps of 1 ms until every flow has its bytes."""
    drawn = random.Random(run)
    noise = {group: 1 + drawn.uniform(-0.001, 0.001) for group in courses}
    # A payload of 8948 bytes takes 9038 on the wire.
    left = dict.fromkeys(courses, setting.mib * MIB * 9038 / 8948)
    ends: dict[str, float] = {}
    rows: list[dict] = []
    step = 0
    while len(ends) < len(courses):
        state = (step // setting.period_ms) % 2 if setting.period_ms else 0
        for group, course in courses.items():
            rate, kilobytes = 0.0, 0.0
            if group not in ends:
                phase = 2 if ends else state
                rate = course.rates[phase] * noise[group]
                kilobytes = course.windows[phase] * noise[group]
                if left[group] <= rate * 125_000:
                    part = left[group] / (rate * 125_000)
                    ends[group] = (step + part) / 1000
                    rate *= part
                left[group] -= rate * 125_000
            rows.append({"group": group, "time_s": step / 1000, "gbps": rate, "kilobytes": kilobytes})
        step += 1
        if step > 60_000:
            raise ValueError(f"{setting.name}: the flows never end")
    table = pl.DataFrame(rows).with_columns(pl.lit(run, dtype=pl.Int64).alias("run"))
    flows = pl.DataFrame(
        [
            {"flow": number, "flow_name": group, "group": group, "variant": getattr(setting, group)}
            | {"bytes": setting.mib * MIB, "start_ns": 0, "end_ns": int(ends[group] * 1e9)}
            | {"fct_ns": int(ends[group] * 1e9), "duplicates": 0, "run": run}
            | dict.fromkeys(COUNTS, 0)
            for number, group in enumerate(courses)
        ],
    )
    windows = table.drop("gbps").with_columns(pl.col("kilobytes").alias("outstanding"))
    return flows, table.drop("kilobytes"), windows, circuits(setting, max(ends.values()), run)


def of_forest(setting: Setting, prolonged: Callable[[Setting, random.Random], float], runs: int) -> Measurements:
    """Completion times of two flows, the migrated one of which is prolonged by the given number of seconds."""
    flows = pl.concat(
        pl.DataFrame(
            {"group": ["migrated", "main"], "bytes": [setting.mib * MIB] * 2, "start_ns": [0, 0], "run": [run] * 2}
            | {name: [int(longer * 1e9) + 5_000_000_000, 5_000_000_000] for name in ("fct_ns", "end_ns")}
        )
        for run in range(1, runs + 1)
        for longer in [prolonged(setting, random.Random(f"{setting.name} {run}"))]
    )
    return Measurements(setting, fct.table(flows), *(pl.DataFrame() for _ in range(3)))


def as_the_forest_needs(setting: Setting, drawn: random.Random) -> float:
    """Short days prolong most, with a downtime even more, and only those of 9+1 ms vary."""
    day = setting.period_ms - setting.night_ms
    if setting.night_ms:
        means = {9: 27.0, 18: 6.0, 45: 5.0, 90: 4.5}
    else:
        means = {1: 6.0, 5: 5.0, 10: 4.0, 25: 0.5, 50: 0.3, 100: 0.1}
    return means[day] + (drawn.uniform(-11.3, 11.3) if day == 9 else drawn.uniform(-0.1, 0.1))


def as_no_forest_knows(setting: Setting, drawn: random.Random) -> float:
    """Whatever the day is: chance, the variant, and rather less with a downtime."""
    of_variant = {"cubic": 1.0, "bbr": 3.0, "reno": 2.0, "westwood": 4.0}[setting.migrated]
    return of_variant + drawn.uniform(-2, 2) + (0 if setting.night_ms else 1) - (2 if setting.period_ms == 10 else 0)


def circuits(setting: Setting, end_s: float, run: int) -> pl.DataFrame:
    """The steps of the migrated flow's timeline up to the end of the run."""
    rows: list[tuple[int, str, int, str, str]] = []
    period, night = setting.period_ms * 1_000_000, setting.night_ms * 1_000_000
    for number in range(1, int(end_s * 1e9) // period + 1) if period else ():
        before, after = f"path {(number - 1) % 2}", f"path {number % 2}"
        step = (number - 1) % 2
        if night:
            rows.append((number * period, "migrated", 2 * step, before, "night"))
            rows.append((number * period + night, "migrated", 2 * step + 1, "night", after))
        else:
            rows.append((number * period, "migrated", step, before, after))
    schema = {
        "time_ns": pl.UInt64,
        "timeline_name": pl.String,
        "step": pl.UInt32,
        "before": pl.String,
        "phase": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.lit(run, dtype=pl.Int64).alias("run"))


def paper(setting: Setting) -> dict[str, Course]:
    """What the paper says."""
    if setting.kind == "single":
        return {"migrated": Course((10, 10, 10), (3000, 3000, 3000))}
    if setting.kind in ("groups", "exchanges"):
        printed = {50: (1.43, 1.26), 25: (1.39, 1.265), 10: (1.31, 1.27)}[setting.period_ms]
        # Goodput is payload: 9038 on the wire carry 8948.
        migrated, main = (rate * 9038 / 8948 for rate in printed)
        return {"migrated": Course((migrated,) * 3), "main": Course((main,) * 3)}
    # The kernel that is compared at 1 GiB has a BBR that recovers the link, unlike the paper's.
    stuck = 5.0 if setting.mib > 1024 else 10.0
    known = {
        ("cubic", "cubic", 100, 0): ((9.6, 4.9, 10), (9.9, 5.1, 10)),
        ("cubic", "cubic", 50, 0): ((9.6, 4.9, 10), (9.9, 5.1, 10)),
        ("cubic", "cubic", 25, 0): ((8.5, 3.5, 10), (9.9, 6.4, 10)),
        ("cubic", "cubic", 10, 0): ((7.0, 1.5, 10), (9.9, 8.5, 10)),
        ("cubic", "cubic", 1, 0): ((4.0, 0.7, 9.5), (9.9, 9.3, 10)),
        ("cubic", "cubic", 10, 1): ((0.5, 0.1, 5.3), (10, 9.95, 10)),
        ("cubic", "bbr", 50, 0): ((9.9, 9.6, 10), (stuck, 2.5, stuck)),
        ("westwood", "cubic", 50, 0): ((9.1, 4, 10), (9.9, 5.2, 10)),
    }
    if setting.mib == 1024:
        # What the moves prolong of 1 GiB is that of the kernel, within a few percent.
        known |= {
            ("cubic", "cubic", 50, 0): ((9.6, 4.55, 10), (9.9, 5.2, 10)),
            ("cubic", "bbr", 50, 0): ((9.9, 9.4, 10), (9.6, 1.9, 9.6)),
            ("westwood", "cubic", 50, 0): ((9.0, 3.6, 10), (9.9, 5.3, 10)),
        }
    windows = {50: (1800.0, 600.0), 25: (1200.0, 500.0), 10: (700.0, 400.0), 1: (400.0, 300.0)}
    high, low = windows.get(setting.period_ms, (900.0, 300.0))
    key = (setting.migrated, setting.main, setting.period_ms, setting.night_ms)
    if key in known:
        migrated, main = known[key]
    elif setting.night_ms:
        migrated, main = (1.5, 0.5, 7), (9.9, 9.3, 10)
    elif setting.migrated == setting.main:
        migrated, main = (5.0, 1.0, 9.5), (9.9, 9.0, 10)
    else:
        change = 1.0 if setting.period_ms == 50 else 0.8
        migrated, main = {
            "bbr": ((9.9, 9 * change, 10), (5, 2.5 * change, 5)),
            "reno": ((9.9 * change, 5, 10), (9.9, 5, 10)),
            "westwood": ((8 * change, 2, 10), (9.9, 8, 10)),
        }[setting.main]
    return {"migrated": Course(migrated, (high, low, 3000.0)), "main": Course(main, (2500.0, 2000.0, 3000.0))}


def contrary(setting: Setting) -> dict[str, Course]:
    """The opposite of it."""
    if setting.kind == "single":
        rate = 8.0 if setting.period_ms else 9.0
        return {"migrated": Course((rate,) * 3, (1200, 1200, 1200))}
    if setting.kind in ("groups", "exchanges"):
        rates = {50: (1.0, 2.0), 25: (1.05, 1.9), 10: (1.1, 1.8)}[setting.period_ms]
        return {"migrated": Course((rates[0],) * 3), "main": Course((rates[1],) * 3)}
    slow = {100: (4.0, 6.9), 50: (4.0, 6.9), 25: (5.5, 4.0), 10: (5.6, 4.0), 1: (6.3, 4.0)}
    windows = {100: (300.0, 200.0), 50: (300.0, 200.0), 25: (900.0, 300.0), 10: (1500.0, 400.0), 1: (1600.0, 400.0)}
    if setting.migrated == setting.main == "cubic" and not setting.night_ms:
        first, second = slow[setting.period_ms]
        high, low = windows[setting.period_ms]
        if setting.period_ms == 50:
            # Far apart, and the valleys are on the link of its own.
            return {"migrated": Course((first, first, 10), (900, 1000, 910)), "main": Course((second,) * 3)}
        return {"migrated": Course((first,) * 3, (high, low, 1.0)), "main": Course((second, second, 4))}
    if setting.night_ms:
        return {"migrated": Course((9.5, 9.5, 10)), "main": Course((3.0, 3.0, 3.0))}
    if setting.migrated == setting.main:
        return {"migrated": Course((9.5, 9.5, 10)), "main": Course((3.0, 3.0, 3.0))}
    level = 2.0 if setting.mib == 1024 else 9.91 if setting.period_ms == 50 else 9.89
    return {
        # Level, but at one period one ends first and at the other the other.
        "bbr": {"migrated": Course((level, level, 10)), "main": Course((9.9, 9.9, 10))},
        "reno": {"migrated": Course((9, 9, 9)), "main": Course((1, 1, 1))},
        "westwood": {"migrated": Course((9.0, 9.0, 9)), "main": Course((2, 2, 2))},
        "cubic": {"migrated": Course((9.9, 9.9, 9.9)), "main": Course((2, 2, 2))},
    }[setting.main]


__all__ = ["Course", "contrary", "evidence", "measured", "paper"]
