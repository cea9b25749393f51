"""Puts the page together. It may load nothing, and runs no script but its own: its policy says so to the browser."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from daybreak.errors import OutputError
from daybreak.runs import Run, read_all

from . import runs, study
from .html import Markup, element, text
from .writing import GENERATOR

Report = Callable[[float, int], object]


def report(places: Sequence[Path], *, title: str = "", explained: bool = True, progress: Report | None = None) -> str:
    """The page about folders of runs, folders that hold folders of runs, and folders of studies.

    Runs of one scenario are shown together. With ``explained`` the first run of each is repeated with the records that
    an explanation needs. Raises OutputError.
    """
    reproductions, found = _read(places)
    parts: list[runs.Together | study.Reproduction] = [*reproductions, *runs.together(found)]
    tell = progress or (lambda done, total: None)
    sections = []
    for number, part in enumerate(parts):
        tell(number, len(parts))
        content = (
            study.section(part) if isinstance(part, study.Reproduction) else runs.section(part, explained=explained)
        )
        sections.append(element("section", element("h2", part.title), content, id=f"part-{number + 1}"))
    tell(len(parts), len(parts))
    return _page(
        title or " and ".join(part.title for part in parts[:2]) + (" ..." if len(parts) > 2 else ""), parts, sections
    )


def _read(places: Sequence[Path]) -> tuple[list[study.Reproduction], list[Run]]:
    reproductions: list[study.Reproduction] = []
    found: dict[tuple[str, str], Run] = {}
    for place in places:
        if study.is_study(place):
            reproductions.append(study.read(place))
            continue
        for run in read_all(place):
            key = (str(run.manifest["plan_hash"]), repr(run.manifest["versions"]) + str(run.manifest["engine"]))
            found.setdefault(key, run)
    if not reproductions and not found:
        raise OutputError("runs: expected at least one")
    return reproductions, list(found.values())


def _page(title: str, parts: Sequence[runs.Together | study.Reproduction], sections: Sequence[Markup]) -> str:
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
