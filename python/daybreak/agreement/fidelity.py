"""Fills the tables of docs/fidelity.md from a result, so that no number is copied by hand.

    python -m daybreak.agreement.fidelity docs/fidelity/agreement.json docs/fidelity.md

Text between the marks "<!-- agreement: NAME -->" and "<!-- end -->" is replaced; marks "segments: NAME" and "receivers:
NAME" take their numbers from segments.json and receivers.json beside the result. The figure is redrawn.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from daybreak.errors import OutputError

from . import page, plots, result, segments
from .causes import cause_of, load
from .result import Document

FIGURE = "fct.svg"


def fill(text: str, found: Document, source: str = "agreement") -> str:
    """The page `text` with the tables of `source` filled in from `found`. Raises OutputError for an unknown table."""
    tables = SOURCES[source]

    def replace(match: re.Match[str]) -> str:
        if match[2] not in tables:
            raise OutputError(f'the page marks "{match[2]}": expected one of {", ".join(tables)}')
        return f"{match[1]}{tables[match[2]](found)}{match[3]}"

    return re.sub(rf"(<!-- {source}: (\w+) -->\n).*?(<!-- end -->)", replace, text, flags=re.DOTALL)


def main(arguments: Sequence[str]) -> None:
    """Fills in a page and draws its figure."""
    source, target = map(Path, arguments)
    found = result.read(source)
    text = fill(target.read_text(encoding="utf-8"), found)
    for side in segments.SIDES:
        replayed = source.with_name(segments.result_name(side))
        text = fill(text, segments.read(replayed), replayed.stem)
    target.write_text(text, encoding="utf-8")
    plots.save_svg(plots.differences(found["rows"]), source.with_name(FIGURE))


def _about(found: Document) -> str:
    return (
        f"{len(found['scenarios'])} scenarios, {page.run_counts(found)} of each on both engines; kernel engine "
        f"`{found['programs']['kernel']}`, simulator `{found['programs']['simulated']}`.\n"
    )


def _targets(found: Document) -> str:
    lines = [
        (page.sentence(target), page.limit(target), page.value(target), str(target["rows"]), target["verdict"])
        for target in found["targets"]
    ]
    return _table(("what", "limit", "found", "rows", "verdict"), lines)


def _metrics(found: Document) -> str:
    return _table(page.METRIC_COLUMNS, page.metric_lines(found))


def _worst(found: Document) -> str:
    columns = ("scenario", "metric", "kernel", "model", "difference", "cause")
    return _table(columns, [page.worst_line(row) for row in found["worst"]])


def _different(found: Document) -> str:
    rows = [row for row in found["rows"] if row["judgement"] == "different"]
    lines = [(*page.worst_line(row | {"cause": ""})[:-1], f"{row['permutation_p']:.2g}") for row in rows]
    if not lines:
        return "None.\n"
    return _table(("scenario", "metric", "kernel", "model", "difference", "p"), lines)


def _refused(found: Document) -> str:
    lines = [(entry["scenario"], entry["why"]) for entry in found["refused"]]
    return _table(("scenario", "why"), lines) if lines else "None.\n"


def _families(found: Document) -> str:
    counted: dict[str, list[str]] = {}
    for scenario in found["scenarios"]:
        counted.setdefault(scenario["what"], []).append(scenario["name"])
    lines = [(names[0].partition("-")[0], what, str(len(names))) for what, names in counted.items()]
    return _table(("family", "what", "scenarios"), lines)


def _senders(found: Document) -> str:
    return f"{_replayed(found)} The kernel's flows retransmitted {found['retransmissions']} segments.\n"


def _receivers(found: Document) -> str:
    return f"{_replayed(found)}\n"


def _replayed(found: Document) -> str:
    engines = f"Kernel engine `{found['programs']['kernel']}`, simulator `{found['programs']['simulated']}`."
    return f"{engines} {segments.sentence(found)}"


def _variants(found: Document) -> str:
    lines: list[tuple[str, ...]] = []
    for variant in sorted({flow["variant"] for flow in found["flows"]}):
        mine = [flow for flow in found["flows"] if flow["variant"] == variant]
        same = [flow for flow in mine if flow["is_identical"]]
        counts = [
            sum(flow[name] for flow in same) for name in ("segments", "retransmissions", "other_time", "other_push")
        ]
        lines.append((variant, str(len(mine)), str(len(same)), *map(str, counts)))
    columns = (
        "variant", "flows", "identical", "their segments", "of these retransmissions", "at another time",
        "with another PSH flag",
    )  # fmt: skip
    return _table(columns, lines)


def _parted(metric: str, found: Document) -> str:
    lines = [
        (
            flow["scenario"], flow["flow"], str(flow["segments"]), str(flow["same"]),
            cause_of(load(), flow["scenario"], metric),
        )
        for flow in found["flows"]
        if not flow["is_identical"]
    ]  # fmt: skip
    if not lines:
        return "None.\n"
    return _table(("scenario", "flow", "segments", "the same from the first", "cause"), lines)


def _table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [columns, ["---"] * len(columns), *lines]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in rows)


TABLES: dict[str, Callable[[Document], str]] = {
    "about": _about, "targets": _targets, "metrics": _metrics, "worst": _worst, "families": _families,
    "different": _different, "refused": _refused,
}  # fmt: skip
"""The tables that a page may contain from agreement.json."""
SOURCES: dict[str, dict[str, Callable[[Document], str]]] = {
    "agreement": TABLES,
    "segments": {"about": _senders, "variants": _variants, "parted": partial(_parted, "segments")},
    "receivers": {"about": _receivers, "parted": partial(_parted, "receivers")},
}
"""The tables by source."""

if __name__ == "__main__":
    main(sys.argv[1:])
