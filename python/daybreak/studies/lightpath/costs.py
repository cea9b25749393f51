"""What causes the collapse in scenario D, and what avoids it: one mechanism, or one remedy, at a time.

All settings are D at 100 Mb/s and 1000 ms, where 3,333 packets overlap and r3 has room for 500. Since single packets
decide how many window cuts follow each other, the flow is moved at several times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import combinations

import polars as pl
from matplotlib.figure import Figure

from daybreak.figures.ranges import ranges
from daybreak.studies.lightpath.changes import REMEDIES, ROWS
from daybreak.studies.lightpath.measured import WITHIN_S, Evidence
from daybreak.studies.lightpath.settings import NS2, STACKS, Scale, Setting
from daybreak.studies.published import PublishedValues
from daybreak.studies.scoreboard import Scoreboard

APART_S = 0.5
"""Time between two moves."""
OTHER = {NS2: "linux", "linux": "ns2"}
"""The other stack, whose mechanism a stack gets, in the names of changes."""
PAIR_MOVES = 1
XLABEL = "Sending lost in the 40 s after the move [s]"
UNCHANGED = "unchanged"


def moves(scale: Scale, stack: str, *changes: str) -> list[Setting]:
    """A setting, moved by the rule and at several later times."""
    first = Setting("D", 100, 1000, stack=stack)
    base = replace(first, after_s=WITHIN_S[1000], changes=changes)
    return [replace(base, move=f"{first.move_s + APART_S * number:g}") for number in range(scale.moves)]


def of_rows(scale: Scale, stack: str) -> dict[str, list[Setting]]:
    """The unchanged stack, and the stack with each mechanism of the other one, by the mechanism's title."""
    found = {UNCHANGED: moves(scale, stack)}
    for name, row in ROWS.items():
        title = row.title if stack != NS2 else row.linux_title
        found[title] = moves(scale, stack, f"{name}-of-{OTHER[stack]}")
    return found


def of_pairs(scale: Scale) -> dict[tuple[str, str], list[Setting]]:
    """Linux with pairs of mechanisms of ns-2."""
    few = replace(scale, moves=PAIR_MOVES)
    return {
        (first, second): moves(few, "linux", f"{first}-of-ns2", f"{second}-of-ns2")
        for first, second in combinations(ROWS, 2)
        if scale.pairs
    }


def of_remedies(scale: Scale, stack: str) -> dict[str, list[Setting]]:
    """No move, the plain move, and the move with each remedy, by title."""
    plain = moves(scale, stack)
    found = {"no move at all": [one.unmoved() for one in plain], "old path goes on (as in the study)": plain}
    for name, remedy in REMEDIES.items():
        # The TCP of ns-2 has no RACK to disable.
        if (stack, name) != (NS2, "no-rack"):
            found[remedy.title] = moves(scale, stack, name)
    return found


def causes_settings(scale: Scale) -> list[Setting]:
    """The settings of the causes."""
    single = [one for stack in STACKS for settings in of_rows(scale, stack).values() for one in settings]
    return [*single, *(one for settings in of_pairs(scale).values() for one in settings)]


def remedies_settings(scale: Scale) -> list[Setting]:
    """The settings of the remedies."""
    return [one for stack in STACKS for settings in of_remedies(scale, stack).values() for one in settings]


def nothing_published(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """No claims: the paper leaves this open."""


def draw_causes(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """One mechanism at a time, one figure per stack, since each stack gets the other's mechanisms."""
    return {f"causes-{stack}": _figure(evidence, {stack: of_rows(scale, stack)}) for stack in STACKS}


def draw_remedies(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """One remedy at a time, in both stacks."""
    return {"remedies": _figure(evidence, {stack: of_remedies(scale, stack) for stack in STACKS})}


def _figure(evidence: Evidence, cases: Mapping[str, Mapping[str, list[Setting]]]) -> Figure:
    titles = dict.fromkeys(title for by_title in cases.values() for title in by_title)
    rows = {
        title: {STACKS[stack]: _missing(evidence, cases[stack].get(title, [])) for stack in cases} for title in titles
    }  # fmt: skip
    return ranges(rows, xlabel=XLABEL)


def _missing(evidence: Evidence, settings: Iterable[Setting]) -> list[float]:
    return [evidence[one].missing_s for one in settings]


def causes_table(evidence: Evidence, scale: Scale) -> Mapping[str, pl.DataFrame]:
    """All runs of the rows, and of the pairs."""
    pairs = [
        _row(evidence, "linux", f"{ROWS[first].title} + {ROWS[second].title}", one)
        for (first, second), settings in of_pairs(scale).items()
        for one in settings
    ]
    return {"causes": _frame([*_of_stacks(evidence, scale, of_rows), *pairs])}


def remedies_table(evidence: Evidence, scale: Scale) -> Mapping[str, pl.DataFrame]:
    """All runs of the remedies."""
    return {"remedies": _frame(_of_stacks(evidence, scale, of_remedies))}


def _of_stacks(
    evidence: Evidence, scale: Scale, cases: Callable[[Scale, str], Mapping[str, Iterable[Setting]]]
) -> list[tuple[object, ...]]:
    return [
        _row(evidence, stack, title, one)
        for stack in STACKS
        for title, settings in cases(scale, stack).items()
        for one in settings
    ]


def _row(evidence: Evidence, stack: str, title: str, setting: Setting) -> tuple[object, ...]:
    measured = evidence[setting]
    return (
        stack, title, setting.move_s, measured.before_mbps, measured.trough().rate, measured.missing_s,
        measured.lost("receiver", 0, 1), measured.lost("sender", 0, 1), measured.counted("fast_recoveries"),
        measured.counted("rtos"),
    )  # fmt: skip


def _frame(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    columns = {
        "stack": pl.String, "case": pl.String, "move_s": pl.Float64, "before_mbps": pl.Float64,
        "worst_second_mbps": pl.Float64, "missing_s": pl.Float64, "lost_at_r3_1s": pl.Int64,
        "lost_at_sender_1s": pl.Int64, "fast_recoveries": pl.Int64, "rtos": pl.Int64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=columns, orient="row")
