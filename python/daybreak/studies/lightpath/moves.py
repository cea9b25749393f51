"""Determines when the paper's rule moves each flow, and writes moves.csv.

The rule looks at the flow's own throughput, which the run itself produces: a first run without a move shows when the
limit is reached, and the second, the same to the packet up to then, has the move at that time. Run it again when
anything has changed that a flow alone does:
`python -m daybreak.studies.lightpath.moves`, or with words such as `10ms cubic` for the cells that have them in their
names.
"""

from __future__ import annotations

import csv
import math
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import polars as pl

import daybreak
from daybreak.metrics import throughput
from daybreak.studies.lightpath import testbed
from daybreak.studies.lightpath.settings import NAMES, NS2, RATES_MBPS, RTTS_MS, SCALES, STACKS, Setting, grid

HEADER = "Made by: python -m daybreak.studies.lightpath.moves"
SHORTEST_S = 15
"""Length of the first trial run; each further one is twice as long."""
EARLIEST_S = 10
"""The rule applies only from here on, so that a burst of slow start does not count as filling the path."""
SECOND_NS = 1_000_000_000


def threshold(setting: Setting) -> float:
    """Part of the limiting rate that counts as reached: a full link except for a packet cut by the bin.

    In A the window is the limit, and serialisation lengthens the RTT that it is spread over by up to 3 %. Reno and
    Compound fill the path at 100 ms for less than a whole second.
    """
    if setting.scenario == "A":
        return 0.97 if setting.rtt_ms == 1000 else 0.98
    return 0.98 if setting.variant in ("reno", "compound") and setting.rtt_ms == 100 else 0.999


def longest_s(setting: Setting) -> int:
    """Seconds after which a flow is moved even if it has not reached its limit."""
    if setting.rate_mbps == 10_000:
        return {10: 60, 100: 300, 1000: 3600 if setting.stack == NS2 else 120}[setting.rtt_ms]
    if setting.stack == NS2 or setting.variant not in ("cubic", "compound"):
        return 900
    return 240


def found(setting: Setting, guess_s: float = 0.0) -> tuple[float, bool]:
    """The end of the first whole second that meets the rule, and whether there is one. The first trial lasts
    ``guess_s``."""
    length = max(SHORTEST_S, math.ceil(guess_s) + 1)
    while True:
        length = min(length, longest_s(setting))
        scenario = testbed.scenario(replace(setting, move=f"{longest_s(setting)}", moved=False)).with_(
            {"duration": f"{length} s", "records": {"bins": "1 s", "taps": ["receiver"], "drops": False}}
        )
        run = daybreak.run(scenario)
        rates = throughput.series(run.bins, run.flows, bin_ns=SECOND_NS, end_ns=length * SECOND_NS)
        late = rates.filter(pl.col("time_s") >= EARLIEST_S - 1)
        reached = throughput.time_to_reach(late, gbps=threshold(setting) * setting.rate_mbps / 1000)
        if reached is not None:
            return reached, True
        if length == longest_s(setting):
            return length, False
        length *= 2


def write(settings: Iterable[Setting], path: Path) -> None:
    """Writes the file. Existing rows of other settings are kept."""
    rows: dict[tuple[str, str], tuple[str, str]] = {}
    if path.is_file():
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        rows = {(row["cell"], row["stack"]): (row["move_s"], row["limit_reached"]) for row in csv.DictReader(lines)}
    asked = list(settings)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        guesses = [float(rows.get((one.cell, one.stack), ("0",))[0]) for one in asked]
        for setting, (time_s, is_reached) in zip(asked, pool.map(found, asked, guesses), strict=True):
            rows[setting.cell, setting.stack] = (f"{time_s:g}", str(is_reached).lower())
            print(setting.name, *rows[setting.cell, setting.stack], flush=True)
            with path.open("w", encoding="utf-8", newline="") as file:
                print(f"# {HEADER}", file=file)
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(("cell", "stack", "move_s", "limit_reached"))
                writer.writerows((*key, *row) for key, row in sorted(rows.items()))


if __name__ == "__main__":
    every = replace(
        SCALES["full"], cells=tuple((rate, rtt) for rate in RATES_MBPS for rtt in RTTS_MS), packets=math.inf
    )
    wanted = [one for stack in STACKS for one in grid(every, stack, NAMES)]
    words = sys.argv[1:]
    write(
        [one for one in wanted if all(word in one.name.split("-") for word in words)],
        Path(__file__).with_name("moves.csv"),
    )
