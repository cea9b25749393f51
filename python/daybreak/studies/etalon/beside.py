"""Compares the model with Linux 6.1 in the same scenarios, including dilation: if both miss a value, the emulator
differs.

    python -m daybreak.studies.etalon.beside -o docs/results/etalon-kernel/beside.csv

Both engines have the emulator's hosts, but with the TCP of Linux 6.1.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from daybreak.engines import run_many
from daybreak.runs import Run
from daybreak.studies.etalon.measured import of_run
from daybreak.studies.etalon.settings import (
    BEFORE_RETCP,
    SCALES,
    STATIC,
    VARIANTS,
    Scale,
    Setting,
    dynamic,
    of_variant,
    static,
)
from daybreak.studies.etalon.testbed import scenario

ENGINES = ("simulated", "kernel")
QUANTITIES = ("utilisation", "p50_all", "p99_all", "p50_circuit", "p99_packet")
"""Percent, then microseconds."""


def settings(scale: Scale) -> list[Setting]:
    """All variants with static and with growing VOQs, CUBIC with static VOQs of all sizes, reTCP with all lead
    times."""
    chosen = [setting for variant in VARIANTS for setting in of_variant(scale, variant)]
    chosen += [static(scale, "cubic", packets) for packets in STATIC]
    chosen += [dynamic(scale, "retcp", tau) for tau in BEFORE_RETCP]
    return list(dict.fromkeys(chosen))


def beside(scale: Scale, *, seed: int = 1, workers: int | None = None) -> pl.DataFrame:
    """One row per setting: for each quantity the model's value, the kernel's, and their difference."""
    chosen = settings(scale)
    jobs = [(scenario(setting, real_hosts=True), seed) for setting in chosen]
    found = {engine: run_many(jobs, engine=engine, workers=workers, reduce=_values) for engine in ENGINES}
    rows = []
    for setting, *values in zip(chosen, *(found[engine] for engine in ENGINES), strict=True):
        row: dict[str, str | float | None] = {"setting": setting.name}
        for quantity in QUANTITIES:
            model, kernel = (value[quantity] for value in values)
            row |= {f"{quantity}_model": model, f"{quantity}_linux": kernel}
            row[f"{quantity}_difference"] = None if model is None or kernel is None else model - kernel
        rows.append(row)
    return pl.DataFrame(rows)


def _values(run: Run) -> dict[str, Any]:
    return of_run(run)["values"].row(0, named=True)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--weeks", type=int, default=SCALES["quick"].weeks, help="weeks of each run")
    parser.add_argument("--workers", type=int, help="runs at a time")
    options = parser.parse_args()
    if options.weeks < 1:
        parser.error(f"--weeks: {options.weeks} is not above zero")
    table = beside(replace(SCALES["quick"], weeks=options.weeks), workers=options.workers)
    table.write_csv(options.out, float_precision=2)
    for quantity in QUANTITIES:
        apart = [abs(difference) for difference in table[f"{quantity}_difference"].drop_nulls()]
        print(f"{quantity:12} differs by {median(apart):.2f} (median), {max(apart):.2f} (largest)")


if __name__ == "__main__":
    main()
