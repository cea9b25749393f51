"""Fills the tables of docs/fidelity.md from a result, so that no number is copied by hand.

    python -m daybreak.agreement.fidelity docs/fidelity/agreement.json docs/fidelity.md

What stands between the marks "<!-- agreement: NAME -->" and "<!-- end -->" is replaced. The figure is drawn anew beside
the result.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from daybreak.errors import OutputError

from . import page, plots, result
from .result import Document

FIGURE = "fct.svg"
_MARKED = re.compile(r"(<!-- agreement: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, found: Document) -> str:
    """The page with its tables made of `found`. Raises OutputError if it marks a table that there is not."""

    def replace(match: re.Match[str]) -> str:
        if match[2] not in TABLES:
            raise OutputError(f'the page marks "{match[2]}": expected one of {", ".join(TABLES)}')
        return match[1] + TABLES[match[2]](found) + match[3]

    return _MARKED.sub(replace, text)


def main(arguments: Sequence[str]) -> None:
    """Fills a page and draws its figure."""
    source, target = map(Path, arguments)
    found = result.read(source)
    target.write_text(fill(target.read_text(encoding="utf-8"), found), encoding="utf-8")
    plots.save_svg(plots.differences(found["rows"]), source.with_name(FIGURE))


def _about(found: Document) -> str:
    return (
        f"{len(found['scenarios'])} scenarios, {found['runs']} runs of each on both engines; kernel engine "
        f"`{found['programs']['kernel']}`, simulator `{found['programs']['simulated']}`.\n"
    )


def _targets(found: Document) -> str:
    lines = [
        (page.sentence(target), page.limit(target), page.value(target), str(target["rows"]), target["verdict"])
        for target in found["targets"]
    ]
    return _table(("what", "limit", "found", "rows", "verdict"), lines)


def _metrics(found: Document) -> str:
    columns = ("metric", "tolerance", "rows", "agree", "differ within noise", "differ")
    return _table(columns, page.metric_lines(found))


def _worst(found: Document) -> str:
    columns = ("scenario", "metric", "kernel", "model", "difference", "cause")
    return _table(columns, [page.worst_line(row) for row in found["worst"]])


def _families(found: Document) -> str:
    counted: dict[str, list[str]] = {}
    for scenario in found["scenarios"]:
        counted.setdefault(scenario["what"], []).append(scenario["name"])
    lines = [(names[0].partition("-")[0], what, str(len(names))) for what, names in counted.items()]
    return _table(("family", "what", "scenarios"), lines)


def _table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [columns, ["---"] * len(columns), *lines]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in rows)


TABLES: dict[str, Callable[[Document], str]] = {
    "about": _about, "targets": _targets, "metrics": _metrics, "worst": _worst, "families": _families,
}  # fmt: skip
"""Every table that a page may mark."""

if __name__ == "__main__":
    main(sys.argv[1:])
