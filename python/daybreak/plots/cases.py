"""Groups runs into cases: the runs of one scenario on one engine, which differ only by seed.

A curve of a figure shows a flow, a group, a variant or all flows of a case, as the mean over the case's runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import polars as pl

from daybreak.errors import PlotError, UsageError
from daybreak.runs import Run

CURVE = "curve"
"""The column of a case's flows with the curve that each belongs to."""
BY = {"flow": "flow_name", "group": "group", "variant": "variant", "run": "case"}
"""What a curve may stand for, and the column with its name."""
MOST_NAMES = 7
"""With more flows or groups than there are colours, their mean and range are drawn."""


@dataclass(frozen=True)
class Case:
    """Runs of one scenario on one engine, and their flows with the column `CURVE`, one table per run."""

    name: str
    runs: tuple[Run, ...]
    flows: tuple[pl.DataFrame, ...] = ()

    @property
    def curves(self) -> list[str]:
        """The names of its curves, in the order of its flows."""
        return list(dict.fromkeys(name for table in self.flows for name in table[CURVE].unique(maintain_order=True)))


def cases(runs: Sequence[Run], labels: Sequence[str] | None = None) -> list[Case]:
    """The cases in the order of their first runs. Raises PlotError, UsageError.

    A case is named after its scenario; where several scenarios share a name, also after its engine if that
    distinguishes them, or else by the label of its first run in ``labels``, or by its number.
    """
    if not runs:
        raise PlotError("runs: expected at least one")
    found: dict[str, list[int]] = {}
    for at, run in enumerate(runs):
        found.setdefault(repr((run.manifest["scenario"], run.manifest["engine"])), []).append(at)
    together = [tuple(runs[at] for at in some) for some in found.values()]
    for some in together:
        seeds = [run.seed for run in some]
        if len(set(seeds)) < len(seeds):
            raise PlotError(
                f"seed {max(seeds, key=seeds.count)} is there twice: runs with the same seed are the same run"
            )
    firsts = [some[0] for some in found.values()]
    names = _names([some[0] for some in together], [labels[at] for at in firsts] if labels else None)
    return [Case(name, some) for name, some in zip(names, together, strict=True)]


def _names(firsts: Sequence[Run], labels: Sequence[str] | None) -> list[str]:
    names = [str(run.manifest["name"]) for run in firsts]
    ways = [names, [f"{name} ({run.manifest['engine']})" for name, run in zip(names, firsts, strict=True)]]
    ways += [list(labels)] if labels else []
    ways.append([f"{name} {at + 1}" for at, name in enumerate(names)])
    return next((way for way in ways if len(set(way)) == len(way)), [f"run {at + 1}" for at in range(len(names))])


def with_curves(found: Sequence[Case], by: str | None, pattern: str | None, *, apart: bool) -> tuple[list[Case], str]:
    """The cases with their flows, and what the curves stand for, one of `BY`: ``by`` if given. ``pattern`` selects
    flows by name; cases that are drawn ``apart`` need no distinct names. Raises PlotError, UsageError.
    """
    if by is not None and by not in BY:
        raise UsageError(f'by = "{by}": expected {", ".join(list(BY)[:-1])} or {list(BY)[-1]}')
    tables = [[_of(run, case.name, pattern) for run in case.runs] for case in found]
    is_alone = apart or len(found) == 1
    kind = by or (_of_one(tables) if is_alone else _of_several(tables))
    named = []
    for case, of_case in zip(found, tables, strict=True):
        names = {name for table in of_case for name in table[BY[kind]]}
        others = {n for other in tables if other is not of_case for table in other for n in table[BY[kind]]}
        if is_alone or kind == "run" or not names & others:
            column = pl.col(BY[kind])
        elif len(names) == 1:
            column = pl.col("case")
        else:
            column = pl.format("{}: {}", "case", BY[kind])
        flows = tuple(table.with_columns(column.alias(CURVE)) for table in of_case)
        named.append(Case(case.name, case.runs, flows))
    return named, kind


def _of(run: Run, case: str, pattern: str | None) -> pl.DataFrame:
    flows = run.flows.with_columns(pl.lit(case).alias("case"))
    if pattern is None:
        return flows
    fits = pl.Series([fnmatchcase(name, pattern) for name in flows["flow_name"]], dtype=pl.Boolean)
    if not fits.any():
        known = flows["flow_name"].head(5).to_list()
        more = ", ..." if len(flows) > len(known) else ""
        raise PlotError(f'no flow is called "{pattern}": there are {", ".join(known)}{more}')
    return flows.filter(fits)


def _of_one(tables: Sequence[Sequence[pl.DataFrame]]) -> str:
    """Flows, unless there are too many to distinguish and only a few groups."""
    count = {
        kind: len({name for of_case in tables for table in of_case for name in table[BY[kind]].unique()})
        for kind in ("flow", "group")
    }
    return "flow" if count["flow"] <= MOST_NAMES or count["group"] > MOST_NAMES else "group"


def _of_several(tables: Sequence[Sequence[pl.DataFrame]]) -> str:
    """Variants, if these distinguish the cases."""
    counts = Counter(name for of_case in tables for name in {n for table in of_case for n in table["variant"]})
    each = [{name for table in of_case for name in table["variant"]} for of_case in tables]
    return "variant" if all(len(names) == 1 for names in each) and max(counts.values()) == 1 else "run"
