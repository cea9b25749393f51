"""The page of a comparison: one self-contained HTML file."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from . import plots
from .compare import CURVES, METRICS, MISS, PASS, Row
from .observed import Observation
from .result import Document
from .suite import Case

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: .8rem 0 } td, th { padding: .15rem .7rem; text-align: left }
th { border-bottom: 1px solid #999 } tr:nth-child(even) td { background: #f5f5f5 }
td.n { text-align: right; font-variant-numeric: tabular-nums } img { max-width: 100% }
.pass { color: #00704f } .miss { color: #b03000; font-weight: 600 } .not-evaluated { color: #777 }
h2 { margin-top: 2.2rem } h3 { margin-bottom: .2rem } summary { cursor: pointer }
"""

JUDGEMENTS = ("equivalent", "undecided", "different")
METRIC_COLUMNS = ("metric", "tolerance", "rows", "agree", *JUDGEMENTS)
"""Columns of the table of metrics."""

Cell = str | tuple[str, str]
"""The content of a table's cell, optionally with its class."""


@dataclass(frozen=True)
class Section:
    """One scenario of the page."""

    case: Case
    rows: tuple[Row, ...]
    image: bytes


def section(case: Case, kernel: Sequence[Observation], model: Sequence[Observation], rows: Sequence[Row]) -> Section:
    """The section of a scenario, with its curves drawn."""
    return Section(case, tuple(rows), plots.png(plots.overlay(case, kernel, model)))


def write(found: Document, sections: Sequence[Section]) -> str:
    """The page."""
    first, second = labels(found)
    kernel, model = (found["programs"][name] for name in found["engines"])
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Agreement of {first} and {second}</title>',
        f"<style>{STYLE}</style><body><h1>Agreement of {second} with {first}</h1>",
        f"<p>{len(sections)} scenarios, {run_counts(found)} of each on both engines with the same seeds: {first} "
        f"(<code>{escape(kernel)}</code>) and {second} (<code>{escape(model)}</code>). A difference is "
        f"{second} less {first}; intervals are 95 % over the runs. Tolerances were fixed before the first comparison."
        "</p>",
        "<h2>Targets</h2>",
        target_table(found["targets"]),
        "<h2>Metrics</h2>",
        metric_table(found),
        "<h2>The largest differences and their causes</h2>",
        worst_table(found["worst"], (first, second)),
        f"<h2>Scenarios</h2><p>Solid: {first}. Dashed: {second}. Bands: 95 % of the mean over the runs.</p>",
        *(_section(section, (first, second)) for section in sections),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def target_table(targets: Sequence[Document]) -> str:
    """The suite's targets."""
    rows: list[list[Cell]] = [
        [escape(sentence(target)), limit(target), value(target), (str(target["rows"]), "n"), verdict(target["verdict"])]
        for target in targets
    ]
    return _table(("what", "limit", "found", "rows", "verdict"), rows)


def run_counts(found: Document) -> str:
    """States how often scenarios were run."""
    fewest, most = found["runs"]
    return f"{fewest} runs" if fewest == most else f"{fewest} to {most} runs"


def sentence(target: Document) -> str:
    """Describes a target."""
    what = {
        "median": "median absolute difference",
        "p90": "90th percentile of it",
        "agreeing": "rows that agree",
        "different": "rows that are different",
    }
    return f"{target['metric']}: {what[target['statistic']]}"


def limit(target: Document) -> str:
    """Its limit."""
    return f"{'at least' if target['statistic'] == 'agreeing' else 'at most'} {target['limit'] * 100:g} %"


def value(target: Document) -> str:
    """The value that was found."""
    return "-" if target["value"] is None else f"{target['value'] * 100:.1f} %"


def metric_table(found: Document) -> str:
    """The table of agreeing rows per metric."""
    return _table(
        METRIC_COLUMNS,
        [[(cell, "n") if i > 1 else escape(cell) for i, cell in enumerate(line)] for line in metric_lines(found)],
    )


def metric_lines(found: Document) -> list[tuple[str, ...]]:
    """The lines of that table."""
    lines: list[tuple[str, ...]] = []
    for metric in METRICS:
        mine = [row for row in found["rows"] if row["metric"] == metric]
        agreeing = sum(row["verdict"] == PASS for row in mine)
        counts = [sum(row["judgement"] == judgement for row in mine) for judgement in JUDGEMENTS]
        shown = ["-" if metric in CURVES else str(count) for count in counts]
        lines.append((metric, found["tolerances"][metric], str(len(mine)), str(agreeing), *shown))
    return lines


def labels(found: Document) -> tuple[str, str]:
    """The labels of the two engines in tables; results from earlier versions have no names."""
    first, second = (label(name) for name in found.get("engines", ("kernel", "simulated")))
    return first, second


def label(engine: str) -> str:
    """The label of an engine in tables: model, kernel, or Linux with its version."""
    kind, colon, which = engine.partition(":")
    return f"Linux {which}" if colon else {"simulated": "model"}.get(kind, kind)


def worst_table(worst: Sequence[Document], names: tuple[str, str]) -> str:
    """The rows that differ most."""
    rows = [[escape(cell) for cell in worst_line(row)] for row in worst]
    return _table(("scenario", "metric", *names, "difference", "cause"), rows)


def worst_line(row: Document) -> tuple[str, ...]:
    """One line of that table."""
    name = f"{row['metric']} of {row['of']}" if row["of"] else row["metric"]
    shown = [f"{_plain(row[engine]['mean'])} {row['unit']}" for engine in ("kernel", "model")]
    relative = "" if row["relative"] is None else f"{row['relative'] * 100:+.1f} %"
    return (row["scenario"], name, *shown, relative or _plain(row["difference"]), row["cause"])


def verdict(name: str) -> str:
    """A verdict as coloured markup."""
    return f'<span class="{name}">{name}</span>'


def _section(section: Section, names: tuple[str, str]) -> str:
    case = section.case
    picture = base64.b64encode(section.image).decode()
    missed = sum(row.verdict == MISS for row in section.rows)
    state = verdict(PASS) if not missed else f'<span class="miss">{missed} of {len(section.rows)} miss</span>'
    rows: list[list[Cell]] = [
        [
            escape(f"{row.metric} {row.of}".strip()), (_mean(row.kernel), "n"), (_mean(row.model), "n"),
            (f"{row.difference:+.4g}" if math.isfinite(row.difference) else "-", "n"),
            (f"{row.relative * 100:+.1f} %" if math.isfinite(row.relative) else "-", "n"),
            escape(row.unit), verdict(row.verdict) + (" (within noise)" if _is_noise(row) else ""),
        ]
        for row in section.rows
    ]  # fmt: skip
    table = _table(("metric", *names, "difference", "", "unit", "verdict"), rows)
    return (
        f'<h3 id="{escape(case.name)}">{escape(case.name)}</h3><p>{escape(case.what)}: {case.rate}, {case.rtt}, '
        f"{case.queue_packets()} packets of buffer, MTU {case.mtu}, {case.payload_bytes()} bytes a flow. {state}</p>"
        f'<img alt="goodput, window and queue over time" src="data:image/png;base64,{picture}">'
        f"<details><summary>Numbers</summary>{table}</details>"
    )


def _is_noise(row: Row) -> bool:
    return row.verdict == MISS and row.within_noise


def _mean(interval: Any) -> str:
    half = interval.high - interval.mean
    spread = f" ± {half:.2g}" if math.isfinite(half) else ""
    return f"{interval.mean:.5g}{spread}"


def _plain(number: float | None) -> str:
    return "-" if number is None else f"{number:.4g}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    head = "".join(f"<th>{column}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f'<td class="{c[1]}">{c[0]}</td>' if isinstance(c, tuple) else f"<td>{c}</td>" for c in row)
        + "</tr>"
        for row in rows
    )  # fmt: skip
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
