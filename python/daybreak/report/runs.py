"""The part of a page about the runs of one scenario: facts, groups, figures, where the time went, flows, scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from daybreak import plots
from daybreak.errors import DaybreakError, PlotError
from daybreak.explain import Explanation, explain
from daybreak.figures.explanation import COLOURS
from daybreak.figures.explanation import MOST_FLOWS as _MOST_BARS
from daybreak.metrics import units
from daybreak.metrics.explanation import COLUMNS, PARTS, rows
from daybreak.runs import Run

from . import detail, figure, network, summary
from .html import Markup, data, element, table, text

_BESIDES = ("sequence",)
_MOST_FLOWS = 200
_MOST_EXPLAINED = 5000
"""Limit for explanations, which process each ACK of each flow."""


@dataclass(frozen=True)
class RunGroup:
    """Runs of one scenario on one engine."""

    runs: tuple[Run, ...]

    @property
    def title(self) -> str:
        """The scenario's name, and the engine."""
        manifest = self.runs[0].manifest
        return f"{manifest['name']} ({manifest['engine']})"


def grouped(runs: Sequence[Run]) -> list[RunGroup]:
    """Groups runs by scenario and engine, in order."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        key = repr((run.manifest["scenario"], run.manifest["engine"], run.manifest["versions"]))
        found.setdefault(key, []).append(run)
    return [RunGroup(tuple(some)) for some in found.values()]


_FIGURED = 0.4
"""The part of a section's time until an explanation begins, about."""


def section(some: RunGroup, *, explained: bool, progress: Callable[[float], object] = lambda done: None) -> Markup:
    """The section of a group of runs; ``explained`` repeats one run to show where the time of its flows went.
    `progress` is called with the part of the section that is done."""
    manifest = some.runs[0].manifest
    description = manifest["scenario"].get("description", "")
    flows = [summary.flow_table(run) for run in some.runs]
    over_time = _figure(some.runs)
    progress(_FIGURED)
    causes = _explanation(some.runs[0], explained=explained, progress=progress)
    return text(
        element("p", description) if description else "",
        _facts(some.runs), element("h3", "Groups"), _groups(flows),
        network.section(some.runs), element("h3", "Over time"), over_time,
        element("h3", "Where the completion times went"), causes, _flows(flows),
        element("details", element("summary", "The scenario"), element("pre", some.runs[0].scenario.to_toml())),
    )  # fmt: skip


def _facts(runs: Sequence[Run]) -> Markup:
    manifest = runs[0].manifest
    versions = manifest["versions"]
    seeds = [run.seed for run in runs]
    facts = {
        "engine": manifest["engine"],
        "seeds": ", ".join(map(str, seeds[:20])) + (f" ... ({len(seeds)} runs)" if len(seeds) > 20 else ""),
        "simulated time": network.simulated_time(runs),
        "version": f"Daybreak {versions['daybreak']}, plan {versions['plan']}, program {versions['program'][:48]}",
        "plan" if len(runs) == 1 else "plan of the first seed": manifest["plan_hash"][:16],
    }
    return element("dl", [text(element("dt", name), element("dd", value)) for name, value in facts.items()])


def _groups(flows: Sequence[pl.DataFrame]) -> Markup:
    rows = summary.group_rows(flows)
    columns, cells = summary.group_columns(rows)
    few = summary.few_flows(rows)
    found = text(table(columns, cells, numeric=columns[2:]), element("p", f"{few.capitalize()}.") if few else "")
    sizes = summary.size_rows(flows)
    if len({row["over_bytes"] for row in sizes}) < 2:
        return found
    columns, cells = summary.size_columns(sizes)
    said = "Slowdown is the completion time over that of the flow alone on its path."
    return text(
        found, element("h3", "Slowdown by size"), element("p", said), table(columns, cells, numeric=columns[3:])
    )


def _figure(runs: Sequence[Run]) -> Markup:
    networks: dict[Run, plots.Network] = {}
    try:
        shown = plots.figure_content(runs, besides=_BESIDES, networks=networks)
    except PlotError as error:
        return element("p", str(error))
    (document,) = figure.documents(shown)
    (fine,) = detail.finer(runs, [document], besides=_BESIDES, networks=networks)
    said = [shown.subtitle, *shown.notes]
    return text(
        _explorer(document, fine, runs[0]),
        element("ul", [element("li", note) for note in said if note], class_="notes") if any(said) else "",
    )


def _explorer(document: dict[str, Any], fine: dict[str, Any], run: Run) -> Markup:
    """A figure that can be zoomed into, with the flows of one run if these are not its curves."""
    whole = detail.with_flows(document, run)
    if whole is document:
        return element("div", data(whole), detail.block(fine), class_="figure")
    flows = detail.flows(run)
    said = (
        "Drag over a time to zoom in: the flows of a short time are shown one by one."
        if flows
        else f"More than {detail.MOST_FLOWS:,} flows: none is shown by itself, daybreak plot --flows draws some."
    )
    return text(
        element("div", data(whole), detail.block(fine | flows), class_="figure"), element("p", said, class_="notes")
    )


def side_by_side(some: Sequence[RunGroup]) -> Markup:
    """The figures of several scenarios side by side with common axes, which zoom together."""
    runs = [run for one in some for run in one.runs]
    networks: dict[Run, plots.Network] = {}
    try:
        shown = plots.figure_content(runs, facet=True, besides=_BESIDES, networks=networks)
    except PlotError as error:
        return element("p", f"They cannot be shown side by side: {error}.")
    documents = figure.documents(shown)
    fine = detail.finer(runs, documents, facet=True, besides=_BESIDES, networks=networks)
    firsts = [one.runs[0] for one, facet in zip(some, shown.facets, strict=True) if facet.rows]
    parts = [
        element("div", element("h3", one["title"]), _explorer(one, more, run))
        for one, more, run in zip(documents, fine, firsts, strict=True)
    ]
    said = [shown.subtitle, *shown.notes]
    return text(
        element("div", parts, class_="beside"),
        element("ul", [element("li", note) for note in said if note], class_="notes") if any(said) else "",
    )


def _explanation(run: Run, *, explained: bool, progress: Callable[[float], object]) -> Markup:
    if not explained:
        return element("p", "Not asked for.")
    if run.flows.height > _MOST_EXPLAINED:
        count = f"{run.flows.height:,} flows, which is more than {_MOST_EXPLAINED:,}"
        return element("p", f"Not made of {count}: daybreak explain RUN does.")
    try:
        found = explain(
            run.scenario, run.seed, run.manifest["engine"], run,
            progress=lambda done, _: progress(_FIGURED + (1 - _FIGURED) * done),
        )  # fmt: skip
    except DaybreakError as error:
        return element("p", f"There is no explanation: {error}.")
    if not found.flows.height:
        return element("p", "No flow has ended, so that there is nothing to explain.")
    return _bars(found, run.seed)


def _bars(found: Explanation, seed: int) -> Markup:
    """Bars with the numbers behind them: for each group of several flows their mean, then the first flows."""
    present = [number for number, name in enumerate(COLUMNS) if found.flows[name].sum()]
    shown = rows(found.flows, found.groups, most_flows=_MOST_BARS)
    longest = max(fct for _, fct, _ in shown) or 1.0
    scale, unit = units.unit_of((fct for _, fct, _ in shown), units.TIMES)
    bars = []
    for name, _, parts in shown:
        pieces = [
            element(
                "i", title=f"{_words(number)}: {units.digits(parts[number] / scale)} {unit}",
                style=f"width:{100 * parts[number] / longest:.4f}%;background:{COLOURS[PARTS[number]]}",
            )
            for number in present
            if parts[number]
        ]  # fmt: skip
        bars.append(text(element("span", name), element("div", pieces)))
    key = [
        element("span", element("i", style=f"background:{COLOURS[PARTS[number]]}"), _words(number))
        for number in present
    ]  # fmt: skip
    columns = (f"[{unit}]", "FCT", *(_words(number) for number in present))
    texts = [
        (name, *(units.digits(value / scale, 7) for value in (fct, *(parts[number] for number in present))))
        for name, fct, parts in shown
    ]
    more = found.flows.height - _MOST_BARS
    left_out = [f"{more} more flows are not shown."] if more > 0 else []
    left_out += [f"{note[:1].upper()}{note[1:]}." for note in found.notes]
    return text(
        element("p", f"Seed {seed}. The parts of a flow add up to its completion time; of a group they are means."),
        element("div", key, class_="key"), element("div", bars, class_="bars"),
        element("details", element("summary", "The numbers"), table(columns, texts, numeric=columns[1:])),
        [element("p", sentence) for sentence in left_out],
    )  # fmt: skip


def _words(part: int) -> str:
    return PARTS[part].replace("_", " ")


def _flows(tables: Sequence[pl.DataFrame]) -> Markup:
    total = sum(map(len, tables))
    first = pl.concat([one.head(_MOST_FLOWS) for one in tables[:_MOST_FLOWS]]).head(_MOST_FLOWS)
    columns, cells = summary.flow_columns(first, is_one_run=len(tables) == 1)
    more = f"The first {_MOST_FLOWS} of {total} flows." if total > _MOST_FLOWS else f"{total} flows."
    return element(
        "details", element("summary", "Flows"), element("p", more),
        table(columns, cells, numeric=columns[columns.index("size") :]),
    )  # fmt: skip
