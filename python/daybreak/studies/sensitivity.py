"""How much do a study's claims hang on one of its inferences? Judges them with several values of it.

    python -m daybreak.studies.sensitivity migration buffer 100 150 200 --figure 4 --figure 5

runs these figures at their full size with each value of the field ``buffer`` of the study's scale, and writes two
tables: one with a row a claim and a column a value, one with the counts. Finished runs are kept and found again.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from daybreak.studies.evidence import gather
from daybreak.studies.protocol import AnyStudy
from daybreak.studies.registry import study as find
from daybreak.studies.scales import varied
from daybreak.studies.scoreboard import PASS, SHAPE_PASS, Claim, Scoreboard
from daybreak.sweep import Executor, Local, Report

Found = Mapping[str, Sequence[Claim]]
"""Claims by the value that they were judged with."""


def judge(
    study: AnyStudy,
    field: str,
    values: Sequence[str],
    *,
    figures: Sequence[str] = (),
    seeds: int,
    out: Path,
    executor: Executor | None = None,
    progress: Report | None = None,
) -> Found:
    """The claims of the figures, judged with each value of a field of the study's full scale."""
    scales = [varied(study.scales["full"], {field: value}).with_runs(seeds) for value in values]
    gathered = gather(study, scales, out / "runs", figures=figures, executor=executor or Local(), progress=progress)
    found: dict[str, Sequence[Claim]] = {}
    for value, evidence in zip(values, gathered, strict=True):
        board = Scoreboard(study.name, engine="simulated", mode="full", seeds=seeds, published=study.published())
        for figure in figures or study.figures:
            study.experiments[figure].judge(board, evidence.of_figure(figure), evidence.scale)
        found[value] = board.claims
    return found


def holds(claim: Claim) -> bool:
    """Whether a claim's verdict is that it holds."""
    return claim.verdict in (PASS, SHAPE_PASS)


def write(found: Found, field: str, seeds: int, out: Path) -> None:
    """``claims-N-runs.csv``: what was measured, with an asterisk where it misses; ``counts-N-runs.csv``: how many of
    the claims hold. N is the number of runs."""
    with (out / f"claims-{seeds}-runs.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["claim", "published", *(f"{field} {value}" for value in found)])
        for claims in zip(*found.values(), strict=True):
            published = claims[0].published
            cells = [f"{_number(claim.ours)}{'' if holds(claim) else ' *'}" for claim in claims]
            rows.writerow([claims[0].id, published if isinstance(published, float) else "", *cells])
    with (out / f"counts-{seeds}-runs.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([field, "claims", "hold", "miss"])
        for value, judged in found.items():
            misses = [claim.id for claim in judged if not holds(claim)]
            rows.writerow([value, len(judged), len(judged) - len(misses), " ".join(misses)])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Judge a study's claims with several values of an inference.")
    parser.add_argument("study")
    parser.add_argument("field", help="a field of the study's scale")
    parser.add_argument("values", nargs="+")
    parser.add_argument("--figure", action="append", default=[], help="only this figure; may be given several times")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int)
    parser.add_argument("-o", "--out", type=Path)
    asked = parser.parse_args()
    out = asked.out or Path("results") / f"{asked.study}-{asked.field}"
    out.mkdir(parents=True, exist_ok=True)
    found = judge(
        find(asked.study), asked.field, asked.values, figures=asked.figure, seeds=asked.seeds, out=out,
        executor=Local(asked.workers),
    )  # fmt: skip
    write(found, asked.field, asked.seeds, out)


if __name__ == "__main__":
    main()
