#!/usr/bin/env python3
"""Runs Table I of the migration study (grids/table1.toml) and writes its flows as one row a run.

    python tools/table1.py [-o results/table1] [--table docs/sweeps/table1.parquet] [--grid GRID] [--workers N]

Runs that the folder has are not made again. The grid says how many seeds.
"""

import argparse
from pathlib import Path

import polars as pl

from daybreak.sweeps import Local, read, sweep

ROOT = Path(__file__).parent.parent
AXES = ("migrated_variant", "main_variant", "cycle", "load")
GROUPS = ("migrated", "main")


def compact(flows: pl.DataFrame) -> pl.DataFrame:
    """One row a run, in the order of points and seeds: of each group the mean FCT and the sums of what was sent again.

    A mean is null where a flow of the group did not end.
    """
    columns = []
    for group in GROUPS:
        mine = pl.col("group") == group
        fct = pl.col("fct_ns").filter(mine)
        columns += [
            pl.when(fct.null_count() == 0).then(fct.mean() / 1e9).alias(f"{group}_fct_s"),
            pl.col("retransmits").filter(mine).sum().alias(f"{group}_retransmits").cast(pl.UInt32),
            pl.col("rtos").filter(mine).sum().alias(f"{group}_rtos").cast(pl.UInt32),
        ]
    runs = flows.group_by("point", "seed", *AXES).agg(columns)
    return runs.sort("point", "seed").drop("point").with_columns(pl.col("seed").cast(pl.UInt16))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", type=Path, default=ROOT / "grids" / "table1.toml")
    parser.add_argument("-o", dest="place", type=Path, default=ROOT / "results" / "table1")
    parser.add_argument("--table", type=Path, default=ROOT / "docs" / "sweeps" / "table1.parquet")
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    outcome = sweep(read(given.grid), given.place, executor=Local(given.workers))
    if outcome.failures:
        raise SystemExit(f"{len(outcome.failures)} runs failed; the first: {outcome.failures[0].error}")
    table = compact(pl.read_parquet(given.place / "flows"))
    given.table.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(given.table, compression="zstd", compression_level=19)
    print(f"{outcome.new} new runs in {outcome.seconds:.0f} s; {given.table}: {table.height} runs")


if __name__ == "__main__":
    main()
