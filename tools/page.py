#!/usr/bin/env python3
"""Writes the page of a study again without running it: after its words were edited, or a part of it was run anew.

    python tools/page.py lightpath                         the words of page.toml, published.csv and explanations.toml
    python tools/page.py lightpath --take results/part     and the claims, figures and tables of a run with --figure
    python tools/page.py space-switch --again              and those of all sections, from the tables of the result
    python tools/page.py space-switch --again gap          and those of one section
    python tools/page.py migration --page migration-kernel another page of the study, such as the kernel's

The page is docs/results/STUDY/results.md, beside which scoreboard.json has its claims. Without --take and --again
verdicts and numbers stay as they were made. A rule that has changed is judged by --again in studies whose tables have
enough (`protocol.Study.again`); in others it needs a run. What a claim counts as is taken from published.* and
inferences.toml.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from daybreak import studies
from daybreak.figures.style import save
from daybreak.studies import page, variation
from daybreak.studies.inferences import Inference, fitted_to
from daybreak.studies.protocol import AnyStudy
from daybreak.studies.published import PublishedValues
from daybreak.studies.scales import scale_of
from daybreak.studies.scoreboard import MISSED, Claim, Scoreboard, markdown

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
COMMAND = re.compile(r"Made by `(daybreak reproduce [^`]*)`")
IMAGE = re.compile(rf"^(?:!\[.*\]\(figures/(.*)\.png\)|{re.escape(page.AT_THE_TOP)})$", re.MULTILINE)
HEAD = "| claim | kind |"
"""How a section's table of claims begins."""
REST = ""
"""In place of an experiment: what no section has."""
OF_ALL = ("claims.md", "fct.csv", "flows.parquet", "recovery.csv")
"""Tables that are of all sections: those of a part do not replace them."""


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study")
    parser.add_argument("--page", metavar="FOLDER", help="below docs/results; the study's own if not given")
    parser.add_argument("--take", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--again", nargs="*", metavar="FIGURE", help="judge and draw from the tables of the result")
    arguments = parser.parse_args()
    study = studies.study(arguments.study)
    home = RESULTS / (arguments.page or study.name.replace("-", "_"))
    result = _result(study, home)
    sections = _read(study, home)
    for part in arguments.take:
        sections |= {figure: one for figure, one in _read(study, part).items() if one.claims or one.images}
        for place in (*part.glob("figures/*"), *part.glob("tables/*")):
            if place.name not in OF_ALL:
                shutil.copyfile(place, home / place.relative_to(part))
    if arguments.again is not None:
        for figure in arguments.again or study.figures:
            sections[figure] = _again(study, home, figure, result)
    _write(study, home, sections, result)


@dataclass(frozen=True)
class Result:
    """How a result was made."""

    board: Scoreboard
    scale: Any
    sizes: dict[str, str]

    def empty(self) -> Scoreboard:
        """A scoreboard like its own, without claims."""
        mine = self.board
        return Scoreboard(
            mine.study, engine=mine.engine, mode=mine.mode, seeds=mine.seeds, published=mine.published,
            explanations=mine.explanations, inferences=mine.inferences, hosts=mine.hosts,
        )  # fmt: skip


def _result(study: AnyStudy, home: Path) -> Result:
    document = json.loads((home / "scoreboard.json").read_text(encoding="utf-8"))
    made = COMMAND.search((home / "results.md").read_text(encoding="utf-8"))
    words = shlex.split(made[1] if made else "")[3:]
    options = dict(pairwise(words))
    sizes = {name: options[f"--{name}"] for name in vars(study.scales["full"]) if f"--{name}" in options}
    board = Scoreboard(
        study.name, engine=document["engine"], mode=document["mode"], seeds=document["seeds"],
        published=study.published(), explanations=study.explanations(document["engine"]),
        inferences=study.inferences(), hosts=document.get("hosts", ""),
    )  # fmt: skip
    seeds = int(options["--seeds"]) if "--seeds" in options else None
    return Result(board, scale_of(study, board.mode, seeds, sizes), sizes)


def _again(study: AnyStudy, home: Path, figure: str, result: Result) -> page.Section:
    """A section judged and drawn from the result's tables."""
    if study.again is None:
        raise SystemExit(f"{study.name}: its tables do not have what its claims need")
    experiment, board = study.experiments[figure], result.empty()
    settings = experiment.settings(result.scale)
    measured = {setting: study.measured(setting, study.again(setting, home / "tables")) for setting in settings}
    experiment.judge(board, measured, result.scale)
    drawn = experiment.draw(measured, result.scale, board.published)
    for name, image in drawn.items():
        save(image, home / "figures", name)
    for name, table in experiment.tables(measured, result.scale).items():
        table.write_csv(home / "tables" / f"{name}.csv", float_precision=6)
    return page.Section(figure, tuple(drawn), tuple(board.claims))


def _read(study: AnyStudy, folder: Path) -> dict[str, page.Section]:
    """The sections of a result, by experiment; what is in none is under the name of `REST`."""
    document = json.loads((folder / "scoreboard.json").read_text(encoding="utf-8"))
    explanations = study.explanations(document["engine"])
    published, inferences = study.published(), study.inferences()
    claims = iter([
        _counted(published, inferences, _worded(explanations, Claim.of_row(row))) for row in document["claims"]
    ])  # fmt: skip
    main = page.words(study)["main"]
    titles = {said["title"]: figure for figure, said in page.words(study)["figure"].items()}
    found = {}
    for part in (folder / "results.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        figure = titles.get(part.partition("\n")[0], "")
        if figure:
            rows = part.partition(HEAD)[2].partition("\n\n")[0].splitlines()[2:]
            images = [one or main for one in IMAGE.findall(part)]
            found[figure] = page.Section(figure, tuple(images), tuple(islice(claims, len(rows))))
    return {**found, REST: page.Section(REST, (), tuple(claims))}


def _worded(explanations: Mapping[str, str], claim: Claim) -> Claim:
    """A claim with the explanation as it is written now."""
    if claim.verdict not in MISSED:
        return claim
    key = next((key for key in (claim.id, claim.statement) if key in explanations), None)
    return replace(claim, explanation="" if key is None else explanations[key])


def _counted(published: PublishedValues, inferences: Sequence[Inference], claim: Claim) -> Claim:
    """A claim with its kind, source, what it counts as, and what was fitted to it, as the data files have them now."""
    key = max((key for key in published if f"{claim.id}.".startswith(f"{key}.")), key=len, default=None)
    if key is None:
        return claim
    entry, suffix = published[key], claim.id[len(key) + 1 :]
    return replace(
        claim, kind=entry.kind_of(suffix), statement=entry.statement(suffix), source=entry.source,
        fitted=fitted_to(inferences, claim.id),
    )  # fmt: skip


def _write(study: AnyStudy, home: Path, sections: dict[str, page.Section], result: Result) -> None:
    board = result.board
    ordered = [sections[figure] for figure in study.figures if figure in sections]
    for section in (*ordered, sections[REST]):
        board.take(section.claims)
    if board.mode == "full" and not result.sizes and len(ordered) == len(study.figures):
        board.complete()
    board.write(home / "scoreboard.json")
    (home / "tables" / "claims.md").write_text(markdown(board.claims), encoding="utf-8")
    (home / "results.md").write_text(
        page.write(study, board, ordered, result.scale, result.sizes, of_record=True), encoding="utf-8"
    )
    if board.engine != "simulated":
        return
    if counts := variation.load_counts(study.folder):
        save(variation.draw(counts, study.inferences()), home / "figures", variation.FIGURE)
    if changes := variation.load(study.folder):
        variation.save([one for found in changes.values() for one in found], home / "tables" / variation.FILE)


if __name__ == "__main__":
    main()
