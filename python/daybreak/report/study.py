"""The section about a study's folder: the claims with their verdicts, and the figures."""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daybreak.errors import OutputError, reason
from daybreak.studies import tally
from daybreak.studies.scoreboard import LEFT_OUT, MISS, NOT_EVALUATED, PASS, SHAPE_MISS, SHAPE_PASS, Claim

from .html import Markup, element, table, text

SCOREBOARD = "scoreboard.json"
_KEYS = ("study", "engine", "mode", "seeds", "claims")
_VERDICTS = {PASS: "good", SHAPE_PASS: "good", MISS: "bad", SHAPE_MISS: "bad", LEFT_OUT: "bad", NOT_EVALUATED: "open"}
_COLUMNS = ("figure", "verdict", "kind", "claim", "published", "ours", "95 % interval", "unit", "tolerance")


@dataclass(frozen=True)
class Reproduction:
    """The results of `daybreak reproduce`."""

    folder: Path
    board: dict[str, Any]
    claims: tuple[Claim, ...]

    @property
    def title(self) -> str:
        """The study, and the engine."""
        return f"Study {self.board['study']} ({self.board['engine']})"


def is_study(folder: Path) -> bool:
    """Whether a folder has a scoreboard."""
    return (folder / SCOREBOARD).is_file()


def read(folder: Path) -> Reproduction:
    """The results in a folder. Raises OutputError."""
    place = folder / SCOREBOARD
    try:
        board = json.loads(place.read_text(encoding="utf-8"))
        if not isinstance(board, dict) or any(key not in board for key in _KEYS):
            raise ValueError("it is no scoreboard")
        if any(isinstance(row, dict) and "kind" not in row for row in board["claims"]):
            raise ValueError("it is of another version: make it again with daybreak reproduce")
        claims = tuple(Claim.of_row(row) for row in board["claims"])
        for claim in claims:
            _row(claim)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(f"{place} cannot be read: {reason(error)}") from None
    return Reproduction(folder, board, claims)


def section(found: Reproduction) -> Markup:
    """The part of the page."""
    board = found.board
    counts = Counter(claim.verdict for claim in found.claims)
    facts = {"engine": board["engine"], "mode": board["mode"], "runs of a setting": str(board["seeds"])}
    notes = [
        element("li", element("code", claim.id), f" ({claim.verdict}): {'; '.join(texts)}")
        for claim in found.claims
        if (texts := [part for part in (claim.explanation, claim.note) if part])
    ]
    filters = [_filter(verdict, counts[verdict]) for verdict in _VERDICTS if counts[verdict]]
    return text(
        element("dl", [text(element("dt", name), element("dd", str(value))) for name, value in facts.items()]),
        element("p", element("strong", tally.headline(found.claims)), f". {tally.others(found.claims)}"),
        element("div", filters, class_="filter"),
        table(_COLUMNS, [_row(claim) for claim in found.claims], numeric=_COLUMNS[4:7]),
        element("details", element("summary", "Notes"), element("ul", notes)) if notes else "",
        [_image(place) for place in sorted((found.folder / "figures").glob("*.png"))],
    )  # fmt: skip


def _filter(verdict: str, count: int) -> Markup:
    return element(
        "button", f"{verdict} {count}", type="button", class_=_VERDICTS[verdict], data_verdict=verdict,
        aria_pressed="true",
    )  # fmt: skip


def _row(claim: Claim) -> tuple[str, ...]:
    ci95 = claim.ci95
    return (
        claim.figure, element("span", claim.verdict, class_=f"verdict {_VERDICTS.get(claim.verdict, 'open')}"),
        claim.kind, element("span", claim.what, title=claim.id), _number(claim.published), _number(claim.ours),
        f"{_number(ci95[0])} to {_number(ci95[1])}" if ci95 else "", claim.unit, claim.tolerance,
    )  # fmt: skip


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, int | float) else str(value)


def _image(place: Path) -> Markup:
    try:
        content = base64.b64encode(place.read_bytes()).decode("ascii")
    except OSError as error:
        raise OutputError(f"{place} cannot be read: {reason(error)}") from None
    picture = element("img", alt=place.stem, src=f"data:image/png;base64,{content}", loading="lazy")
    return element("figure", Markup(picture.removesuffix("</img>")), element("figcaption", place.stem))
