"""Exports runs to the formats of other viewers, streamed and atomic."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path

import polars as pl

from daybreak.engines import plan_of
from daybreak.errors import OutputError, UsageError
from daybreak.plan import ways
from daybreak.plots.files import may_be_replaced, put
from daybreak.runs import Run

from . import perfetto, qlog

FORMATS = {"perfetto": ".json", "qlog": ".qlog"}
"""The formats, and the suffix of their files."""
MOST_ROWS = 3_000_000
"""Limit on the samples and losses in a file: more than a viewer can open."""
_TOLD_EVERY = 1000
"""Items between two reports of progress."""
MADE_BY = '"Daybreak '
"""The mark by which our files are recognised."""


def check(place: Path, *, force: bool) -> None:
    """Raises OutputError where `write` would refuse ``place``."""
    may_be_replaced(place, MADE_BY, "no export of Daybreak's", force=force)


def write(
    run: Run,
    place: Path,
    kind: str,
    *,
    flows: str | None = None,
    force: bool = False,
    progress: Callable[[float, float], object] = lambda done, total: None,
) -> int:
    """Writes a run in one of `FORMATS`, with the flows whose names match the pattern and, if there is one, only the
    queues on their ways; returns the number of flows. `progress(done, total)` counts flows, samples and losses.

    Raises OutputError, UsageError.
    """
    if kind not in FORMATS:
        raise UsageError(f'format "{kind}" is not known: expected {" or ".join(FORMATS)}')
    check(place, force=force)
    chosen = _chosen(run, flows)
    queues = _queues(run, None if flows is None else chosen) if kind == "perfetto" else run.queues.clear()
    rows = _rows(run, chosen, queues)
    done = told = 0

    def count(more: int) -> None:
        nonlocal done, told
        done += more
        if done - told >= _TOLD_EVERY:
            told = done
            progress(done, rows)

    pieces = _perfetto(run, chosen, queues, count) if kind == "perfetto" else _qlog(run, chosen, count)
    put((piece.encode("utf-8") for piece in pieces), place)
    return chosen.height


def _chosen(run: Run, pattern: str | None) -> pl.DataFrame:
    if pattern is None:
        return run.flows
    fits = pl.Series([fnmatchcase(name, pattern) for name in run.flows["flow_name"]], dtype=pl.Boolean)
    if not fits.any():
        raise OutputError(f'no flow is called "{pattern}": there are {", ".join(run.flows["flow_name"].head(5))}')
    return run.flows.filter(fits)


def _queues(run: Run, flows: pl.DataFrame | None) -> pl.DataFrame:
    """The samples of all queues, or of those that packets and ACKs of these flows may come to."""
    if flows is None or not run.queues.height:
        return run.queues
    content = plan_of(run)
    chosen = [content.flows[flow] for flow in flows["flow"]]
    paths = {path for flow in chosen for path in (flow.data_path, flow.ack_path)}
    found = {queue for path in paths for queue, _ in ways.arrivals(content, path)}
    return run.queues.filter(pl.col("queue").is_in(found))


def _rows(run: Run, flows: pl.DataFrame, queues: pl.DataFrame) -> int:
    """The number of flows, samples and losses. Raises OutputError if there are too many."""
    mine = pl.col("flow").is_in(flows["flow"].to_list())
    rows = flows.height + queues.height + sum(table.filter(mine).height for table in (run.window, run.drops))
    if rows > MOST_ROWS:
        raise OutputError(
            f"the run has {rows:,} samples and losses, more than {MOST_ROWS:,}, which a viewer can open: choose flows "
            "with --flows, or run it with longer intervals in records"
        )
    return rows


def _perfetto(run: Run, flows: pl.DataFrame, queues: pl.DataFrame, count: Callable[[int], object]) -> Iterator[str]:
    facts = {"tool": f"Daybreak {version('daybreak')}", "scenario": run.manifest["name"], "seed": run.seed}
    # Without displayTimeUnit, which old versions of Perfetto took for the unit of all times.
    yield '{"otherData":' + json.dumps(facts) + ',"traceEvents":[\n'
    between = ""
    for event in perfetto.events(run, flows, queues, count):
        yield between + json.dumps(event, separators=(",", ":"))
        between = ",\n"
    yield "\n]}\n"


def _qlog(run: Run, flows: pl.DataFrame, count: Callable[[int], object]) -> Iterator[str]:
    content = plan_of(run)
    payload = {}
    for number in flows["flow"]:
        stack = content.stacks[content.flows[number].src_stack]
        payload[number] = stack.mtu - 40 - (12 if stack.tcp_timestamps else 0)
    head = {
        "qlog_version": "0.3", "qlog_format": "JSON", "title": run.manifest["name"],
        "description": f"Daybreak {version('daybreak')}, engine {run.manifest['engine']}, seed {run.seed}",
    }  # fmt: skip
    yield json.dumps(head)[:-1] + ', "traces": [\n'
    between = ""
    for trace in qlog.traces(run, flows, payload, count):
        yield between + json.dumps(trace, separators=(",", ":"))
        between = ",\n"
    yield "\n]}\n"
