"""Assembles the page. Its content security policy lets it load nothing and run no script but its own."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.resources import files

from daybreak.sweeps import Report, Results

from . import runs, study, sweep
from .contents import Contents
from .html import Markup, element, text
from .writing import GENERATOR

MOST_BESIDE = 4
"""Largest number of scenarios whose figures are shown side by side."""


@dataclass(frozen=True)
class SweepPart:
    """A sweep."""

    results: Results

    @property
    def title(self) -> str:
        """The name of its folder."""
        return f"{self.results.name} (sweep)"


Part = runs.RunGroup | study.Reproduction | SweepPart


def report(contents: Contents, *, title: str = "", explained: bool = True, progress: Report | None = None) -> str:
    """The page about the contents. Runs of one scenario are shown together, and what is left out is listed.

    With ``explained`` the first run of each scenario is repeated with the records that an explanation needs. Raises
    OutputError.
    """
    parts: list[Part] = [*contents.studies, *map(SweepPart, contents.sweeps), *runs.grouped(contents.runs)]
    report_progress = progress or (lambda done, total: None)
    sections = []
    for number, part in enumerate(parts):
        report_progress(number, len(parts))
        match part:
            case study.Reproduction():
                content = study.section(part)
            case SweepPart():
                content = sweep.section(part.results)
            case runs.RunGroup():
                share = partial(_report_share, report_progress, number, len(parts))
                content = runs.section(part, explained=explained, progress=share)
        sections.append(element("section", element("h2", part.title), content, id=f"part-{number + 1}"))
    several = [part for part in parts if isinstance(part, runs.RunGroup)]
    if 1 < len(several) <= MOST_BESIDE:
        beside = runs.side_by_side(several)
        sections.insert(0, element("section", element("h2", "Side by side"), beside, id="side-by-side"))
    report_progress(len(parts), len(parts))
    if contents.left_out:
        left_out = element("ul", [element("li", sentence) for sentence in contents.left_out])
        sections.append(element("section", element("h2", "Left out"), left_out))
    return _page(
        title or " and ".join(part.title for part in parts[:2]) + (" ..." if len(parts) > 2 else ""), parts, sections
    )


def _report_share(report: Report, number: int, parts: int, done: float) -> object:
    """Reports that `number` of the parts are done, and the share `done` of the next one."""
    return report(number + done, parts)


def _page(title: str, parts: Sequence[Part], sections: Sequence[Markup]) -> str:
    styles, script = (files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    )
    links = [
        element("a", part.title, href=f"#part-{number + 1}") for number, part in enumerate(parts)
    ]  # fmt: skip
    head = text(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta name="generator" content="{GENERATOR}">'),
        element("title", title), element("style", Markup(styles)),
    )  # fmt: skip
    body = text(
        element(
            "header", element("h1", title), element("p", f"Made by Daybreak {version('daybreak')}."),
            element("nav", links) if len(links) > 1 else "",
        ),
        element("main", element("noscript", element("p", "The figures need JavaScript.")), sections),
        element("script", Markup(script)),
    )  # fmt: skip
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}</body>\n</html>\n'
