"""Which buffer did the testbed have? Judges the study's claims at several, since the paper does not print it.

`python -m daybreak.studies.migration.sweep` runs figures 4 to 7 at their full size with each buffer and writes two
tables: one with a row a claim and a column a buffer, one with the counts. What it has found stands in the directory
`buffer` beside this file.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from daybreak.studies.migration import reproduce, runner
from daybreak.studies.migration.claims import CLAIMS
from daybreak.studies.migration.settings import SCALES, of_figure
from daybreak.studies.scoreboard import PASS, SHAPE_PASS, Claim, Scoreboard, load_published
from daybreak.sweep import Local, Report, execute

FIGURES = ("4", "5", "6a", "6b", "7")
"""Those whose claims hang on the buffer; Table II misses its numbers with any."""
BUFFERS = (100, 150, 200, 250, 300, 350, 400)
"""In packets of 9000 bytes."""
SEEDS = 10


def sweep(
    buffers: Sequence[int], seeds: int, out: Path, *, workers: int | None = None, progress: Report | None = None
) -> dict[int, list[Claim]]:
    """The claims judged with each buffer. Finished runs are kept under ``out/runs`` and found again."""
    store = runner.store(out / "runs", "simulated")
    scales = {buffer: replace(SCALES["full"], buffer=buffer) for buffer in buffers}
    settings = [
        (setting, seed)
        for scale in scales.values()
        for figure in FIGURES
        for setting in of_figure(figure, scale)
        for seed in range(1, seeds + 1)
    ]
    execute(runner.jobs(settings, "simulated"), store, executor=Local(workers), progress=progress)
    found: dict[int, list[Claim]] = {}
    for buffer, scale in scales.items():
        board = Scoreboard(
            "migration", engine="simulated", mode="full", seeds=seeds, published=load_published(reproduce.PUBLISHED)
        )
        for figure in FIGURES:
            evidence = {
                setting: runner.get(store, setting, range(1, seeds + 1), "simulated")
                for setting in of_figure(figure, scale)
            }
            CLAIMS[figure](board, evidence, scale)
        found[buffer] = board.claims
    return found


def holds(claim: Claim) -> bool:
    """Whether a claim's verdict is that it holds."""
    return claim.verdict in (PASS, SHAPE_PASS)


def write(found: dict[int, list[Claim]], seeds: int, out: Path) -> None:
    """``claims-N-runs.csv``: what was measured, with an asterisk where it misses; ``counts-N-runs.csv``: how many of
    the claims hold. N is the number of runs."""
    buffers = list(found)
    with (out / f"claims-{seeds}-runs.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["claim", "published", *(f"{buffer} packets" for buffer in buffers)])
        for claims in zip(*found.values(), strict=True):
            published = claims[0].published
            cells = [f"{_number(claim.ours)}{'' if holds(claim) else ' *'}" for claim in claims]
            rows.writerow([claims[0].id, published if isinstance(published, float) else "", *cells])
    with (out / f"counts-{seeds}-runs.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["packets", "claims", "hold", "miss"])
        for buffer, judged in found.items():
            misses = [claim.id for claim in judged if not holds(claim)]
            rows.writerow([buffer, len(judged), len(judged) - len(misses), " ".join(misses)])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Judge the study's claims with several buffers.")
    parser.add_argument("--buffers", default=",".join(map(str, BUFFERS)), help="packets, with commas between")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int)
    parser.add_argument("-o", "--out", type=Path, default=Path("results/migration-buffer"))
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    buffers = [int(text) for text in asked.buffers.split(",")]
    write(sweep(buffers, asked.seeds, asked.out, workers=asked.workers), asked.seeds, asked.out)


if __name__ == "__main__":
    main()
