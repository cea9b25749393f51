"""Counts a scoreboard's rows: each printed number and statement once, by kind.

Rows of one statement, such as one number for four variants and three periods, count once, and hold if all of them do.
Rows that an inference was fitted to are left out of the count. A printed value that no row compares counts as missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from daybreak.studies.published import Kind
from daybreak.studies.scoreboard import LEFT_OUT, MISSED, NOT_EVALUATED, PASS, SHAPE_PASS, Claim

NOUNS: dict[str, tuple[str, str]] = {
    "number": ("printed number", "printed numbers"),
    "statement": ("printed statement", "printed statements"),
    "set-up": ("check of the set-up", "checks of the set-up"),
    "own": ("comparison of our own", "comparisons of our own"),
}


@dataclass(frozen=True)
class Count:
    """Counts of one kind: how many hold, how many were judged, and how many were not."""

    hold: int = 0
    judged: int = 0
    left_out: int = 0
    """Those among the judged that were never compared, so they do not hold."""
    fitted: int = 0
    """Those not judged since an inference was fitted to them."""
    not_evaluated: int = 0


def tally(claims: Iterable[Claim]) -> dict[Kind, Count]:
    """Counts by kind, in the order of `Kind`."""
    found = groups(claims)
    return {kind: _count([rows for (of, _), rows in found.items() if of == kind]) for kind in get_args(Kind)}


def by_section(sections: Iterable[Sequence[Claim]]) -> list[dict[Kind, Count]]:
    """Counts by kind for each section, which add up to those of `tally`: a statement with rows in several sections
    belongs to the first."""
    parts = [list(claims) for claims in sections]
    left = groups(claim for claims in parts for claim in claims)
    found = []
    for claims in parts:
        mine = [left.pop(group) for group in groups(claims) if group in left]
        found.append(tally(claim for rows in mine for claim in rows))
    return found


def groups(claims: Iterable[Claim]) -> dict[tuple[str, str], list[Claim]]:
    """The rows of each printed number and statement, by kind and statement."""
    found: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims:
        found.setdefault((claim.kind, claim.statement), []).append(claim)
    return found


def _count(groups: Iterable[list[Claim]]) -> Count:
    hold = judged = left_out = fitted = not_evaluated = 0
    for rows in groups:
        free = [row for row in rows if not row.fitted]
        evaluated = [row for row in free if row.verdict != NOT_EVALUATED]
        if not free:
            fitted += 1
        elif not evaluated:
            not_evaluated += 1
        else:
            judged += 1
            hold += all(row.verdict in (PASS, SHAPE_PASS) for row in evaluated)
            left_out += any(row.verdict == LEFT_OUT for row in evaluated)
    return Count(hold, judged, left_out, fitted, not_evaluated)


def headline(claims: Iterable[Claim]) -> str:
    """One sentence on what the publication prints: "7 of 9 printed numbers within the tolerance, 3 of 4 ..."."""
    every = list(claims)
    statements = tally(every)["statement"]
    held = f"{statements.hold} of {_of(statements.judged, 'statement')} held"
    sources = by_source(every)
    if len(sources) == 1:
        (numbers,) = sources.values()
        return f"{numbers.hold} of {_of(numbers.judged, 'number')} within the tolerance and {held}"
    parts = [
        f"{one.hold} of {one.judged} number{'' if one.judged == 1 else 's'} {source}" for source, one in sources.items()
    ]
    return f"{', '.join(parts)} are within the tolerance, and {held}"


def by_source(claims: Iterable[Claim]) -> dict[str, Count]:
    """The counts of printed numbers by the source that has them, those that fewest have first; one count where a study
    has one source."""
    of_source: dict[str, list[list[Claim]]] = {}
    for (kind, _), rows in groups(claims).items():
        if kind == "number":
            of_source.setdefault(next((row.source for row in rows if row.source), ""), []).append(rows)
    found = {source: _count(rows) for source, rows in of_source.items()}
    return dict(sorted(found.items(), key=lambda one: one[1].judged)) if found else {"": Count()}


def others(claims: Iterable[Claim]) -> str:
    """One sentence about the claims that are not in the headline; empty if there are none."""
    every = list(claims)
    counts, fitted = tally(every), sum(bool(claim.fitted) for claim in every)
    parts = [
        f"{counts[kind].hold} of {_of(counts[kind].judged, kind)}" for kind in ("set-up", "own") if counts[kind].judged
    ]
    printed = [counts[kind] for kind in ("number", "statement")]
    for words, number in (
        ("left out of the comparison, which count as missed", sum(one.left_out for one in printed)),
        (
            f"not counted, since an inference was fitted to them ({_rows(fitted)})",
            sum(one.fitted for one in counts.values()),
        ),
        ("not evaluated", sum(one.not_evaluated for one in counts.values())),
    ):
        if number:
            parts.append(f"{number} {words}")
    return "; ".join(parts)


def largest_differences(claims: Iterable[Claim], count: int) -> list[Claim]:
    """The printed numbers with the largest relative differences from ours, each number once."""
    farthest: dict[str, tuple[float, Claim]] = {}
    for claim in claims:
        if claim.kind != "number" or claim.ours is None or isinstance(claim.published, str) or claim.fitted:
            continue
        if claim.verdict in MISSED and claim.published:
            distance = abs(claim.ours / claim.published - 1)
            if distance > farthest.get(claim.statement, (0.0, claim))[0]:
                farthest[claim.statement] = distance, claim
    return [claim for _, claim in sorted(farthest.values(), key=lambda one: -one[0])[:count]]


def _rows(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


def _of(number: int, kind: str) -> str:
    return f"{number} {NOUNS[kind][number != 1]}"
