"""What holds and what does not, in words that are made of the rows alone.

A page has it where no summary was written for its result: with another kernel other rows hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from daybreak.studies import tally
from daybreak.studies.scoreboard import LEFT_OUT, MISSED, NOT_EVALUATED, Claim, Scoreboard

_NUMBERS = 20
"""More printed numbers are in the sections alone."""
_NAMED = 3
"""Of more rows that miss the summary has their number."""


def summary(board: Scoreboard) -> str:
    """Each printed statement and number that was judged, once: what holds, and what does not with the rows that
    miss."""
    held: list[str] = []
    missed: list[str] = []
    are_named = tally.tally(board.claims)["number"].judged <= _NUMBERS
    for (kind, statement), rows in tally.groups(board.claims).items():
        judged = [row for row in rows if row.verdict != NOT_EVALUATED and not row.fitted]
        if not judged or kind not in ("number", "statement") or (kind == "number" and not are_named):
            continue
        misses = [row for row in judged if row.verdict in MISSED]
        if kind == "number":
            (missed if misses else held).append(_number(misses or judged))
        else:
            printed = board.published[statement].printed if statement in board.published else judged[0].what
            (missed if misses else held).append(f"{printed}{_which(misses, len(judged))}")
    parts = (("What holds of what is printed:", held), ("What does not:", missed))
    return "\n".join(f"{head}\n\n" + "\n".join(f"- {one}" for one in lines) + "\n" for head, lines in parts if lines)


def _number(rows: Sequence[Claim]) -> str:
    """The first of the rows that decide, beside what is printed."""
    first, *others = rows
    more = f" (and {len(others)} more)" if others else ""
    printed = first.published if isinstance(first.published, str) else f"{first.published:.4g}"
    return f"{first.what}{more}: printed {printed}, ours {_ours(first)}"


def _which(misses: Sequence[Claim], judged: int) -> str:
    if len(misses) > _NAMED:
        return f"; but {len(misses)} of {judged} rows miss"
    return "".join(f"; but {one.what}: {_ours(one)}" for one in misses)


def _ours(claim: Claim) -> str:
    if claim.verdict == LEFT_OUT:
        return "not compared"
    if claim.ours is None:
        return "no number, as its rule says"
    spread = "" if claim.ci95 is None else f" ({claim.ci95[0]:.4g} to {claim.ci95[1]:.4g})"
    return f"{claim.ours:.4g} {claim.unit}{spread}"
