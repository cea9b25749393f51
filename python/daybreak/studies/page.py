"""The page of prose of a reproduction: what was done, what was inferred, and every claim beside its figure.

The words are the study's, in its ``page.toml``: ``title``, ``about``, ``sizes`` (where fields of the scale may stand in
braces), ``inferred``, and for each experiment a table ``figure.NAME`` with ``title`` and ``text``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daybreak.studies.protocol import AnyStudy, Scale
from daybreak.studies.scoreboard import MISS, NOT_EVALUATED, PASS, SHAPE_MISS, SHAPE_PASS, Claim, Scoreboard, markdown

_AS_THE_MODE_SAYS: Mapping[str, str] = {}


@dataclass(frozen=True)
class Section:
    """One figure of the page: its key, the names of its image files, and its claims."""

    figure: str
    images: tuple[str, ...]
    claims: tuple[Claim, ...]


def words(study: AnyStudy) -> dict[str, Any]:
    """The study's words."""
    return tomllib.loads(study.folder.joinpath("page.toml").read_text(encoding="utf-8"))


def command(
    study: AnyStudy, board: Scoreboard, figures: Sequence[str], sizes: Mapping[str, str] = _AS_THE_MODE_SAYS
) -> str:
    """The command that makes this result again."""
    parts = ["daybreak", "reproduce", study.name, f"--{board.mode}"]
    if board.engine != "simulated":
        parts += ["--engine", board.engine]
    if board.seeds != study.scales[board.mode].runs:
        parts += ["--seeds", str(board.seeds)]
    parts += [part for name, value in sizes.items() for part in (f"--{name}", value)]
    if len(figures) < len(study.figures):
        parts += [part for figure in figures for part in ("--figure", figure)]
    return " ".join(parts)


def write(
    study: AnyStudy,
    board: Scoreboard,
    sections: Sequence[Section],
    scale: Scale,
    sizes: Mapping[str, str] = _AS_THE_MODE_SAYS,
) -> str:
    """The page in markdown."""
    said, counts = words(study), board.counts()
    judged = sum(counts.values()) - counts[NOT_EVALUATED]
    held = counts[PASS] + counts[SHAPE_PASS]
    parts = [
        f"# {said['title']}\n",
        f"Made by `{command(study, board, [section.figure for section in sections], sizes)}`.\n",
        f"{said['about']}, engine `{board.engine}`, mode `{board.mode}`. {said['sizes'].format(**vars(scale))}\n",
        f"**{held} of {judged} claims hold**: {counts[PASS]} numbers within their tolerance and "
        f"{counts[MISS]} outside, {counts[SHAPE_PASS]} statements that hold and {counts[SHAPE_MISS]} that do not; "
        f"{counts[NOT_EVALUATED]} not evaluated. Tolerances were fixed before the first run.\n",
        "## What was inferred\n",
        said["inferred"],
    ]
    for section in sections:
        title, text = (said["figure"][section.figure][key] for key in ("title", "text"))
        parts += [f"## {title}\n", text]
        parts += [f"![{title}](figures/{name}.png)\n" for name in section.images]
        if section.claims:
            parts.append(markdown(section.claims))
        notes = [f"- `{claim.id}` ({claim.verdict}): {claim.note}" for claim in section.claims if claim.note]
        if notes:
            parts.append("<details><summary>Notes</summary>\n\n" + "\n".join(dict.fromkeys(notes)) + "\n\n</details>\n")
    return "\n".join(parts)
