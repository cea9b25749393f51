"""The scoreboard: published values beside ours, each with a verdict.

A claim with a printed number is judged by its tolerance (``pass`` or ``miss``), a claim about an order, a ratio or a
trend by code (``shape-pass`` or ``shape-miss``). Claims that a reduced run cannot judge, or that cannot be compared,
are ``not-evaluated``, with the reason in the note. Printed values that were not compared are ``left-out``, and count as
missed. `tally` defines how rows are counted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daybreak.metrics.confidence import Interval, interval, of_all
from daybreak.studies.inferences import Inference, fitted_to
from daybreak.studies.published import Kind, PublishedEntry, PublishedValues

PASS, MISS, SHAPE_PASS, SHAPE_MISS, NOT_EVALUATED = "pass", "miss", "shape-pass", "shape-miss", "not-evaluated"
LEFT_OUT = "left-out"
MISSED = (MISS, SHAPE_MISS, LEFT_OUT)
"""Verdicts of claims that do not hold."""


def within(tolerance: str, published: float, ours: float) -> bool:
    """Whether ``ours`` is within a tolerance such as ``"1 %"`` (of the published value) or ``"0.1"`` (absolute)."""
    text = tolerance.strip()
    try:
        allowed = abs(published) * float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise ValueError(f'tolerance: {tolerance!r} is neither like "1 %" nor a number') from None
    return abs(ours - published) <= allowed


@dataclass(frozen=True)
class Claim:
    """One line of the scoreboard."""

    id: str
    figure: str
    what: str
    published: float | str
    ours: float | None
    unit: str
    ci95: tuple[float, float] | None
    tolerance: str
    verdict: str
    note: str
    kind: Kind
    statement: str
    """What it counts as: rows with equal values count once (`tally`)."""
    fitted: str
    """The inference that was fitted to it, which excludes it from the count; empty if there is none."""
    explanation: str
    """Why it misses, as far as it was looked into."""
    source: str = ""
    """Which of the study's sources has it, where there are several."""

    def row(self) -> dict[str, Any]:
        """The claim as a row of `scoreboard.json`."""
        return {
            "id": self.id,
            "figure": self.figure,
            "what": self.what,
            "published": self.published,
            "ours": self.ours,
            "unit": self.unit,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "tolerance": self.tolerance,
            "verdict": self.verdict,
            "note": self.note,
            "kind": self.kind,
            "statement": self.statement,
            "fitted": self.fitted,
            "explanation": self.explanation,
            **({"source": self.source} if self.source else {}),
        }

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Claim:
        """The claim of a row made by `row`. Raises KeyError, TypeError."""
        ci95 = row["ci95"]
        return cls(**{**row, "ci95": None if ci95 is None else (ci95[0], ci95[1])})


class Scoreboard:
    """Collects the claims of one reproduction.

    ``explanations`` has texts for claims that are known to miss, which are added to misses; verdicts never depend on
    them.
    """

    def __init__(
        self,
        study: str,
        *,
        engine: str,
        mode: str,
        seeds: int,
        published: PublishedValues,
        explanations: Mapping[str, str] | None = None,
        inferences: Sequence[Inference] = (),
        hosts: str = "",
    ):
        """``hosts`` is what the engine's hosts are where it is not the study that says it, such as a kernel."""
        self.hosts = hosts
        self.study, self.engine, self.mode, self.seeds = study, engine, mode, seeds
        self.published, self.explanations, self.inferences = published, explanations or {}, inferences
        self._claims: dict[str, Claim] = {}

    @property
    def claims(self) -> list[Claim]:
        """The claims, in the order in which they were added."""
        return list(self._claims.values())

    def value(
        self,
        key: str,
        ours: Sequence[float | None] | Interval,
        *,
        suffix: str = "",
        note: str = "",
        **words: object,
    ) -> None:
        """Adds a claim judged by its published number and tolerance; ``ours`` has one value per run.

        ``suffix`` completes the id of a member of a family, whose number is that of the suffix in the entry's
        ``values`` or the entry's own. ``words`` fill the braces in the entry's ``what``.
        """
        entry = self.published[key]
        number = entry.values.get(suffix, entry.value)
        if number is None:
            raise ValueError(f"published value {key!r}: the entry has no number")
        subject = _Subject(entry, entry.what.format(**words), suffix, number, entry.tolerance)
        if self._too_small(subject):
            return
        measured = _measured(ours)
        if measured is None:
            self._add(subject, None, MISS, _join(entry, "a flow did not end", note))
            return
        verdict = PASS if within(entry.tolerance, number, measured.mean) else MISS
        self._add(subject, measured, verdict, _join(entry, note))

    def shape(
        self,
        key: str,
        holds: bool,
        ours: Sequence[float | None] | Interval | float | None = None,
        *,
        suffix: str = "",
        note: str = "",
        **words: object,
    ) -> None:
        """Adds a claim judged by code: ``holds`` is the judgement, ``note`` has the measured numbers behind it."""
        entry = self.published[key]
        subject = _Subject(entry, entry.what.format(**words), suffix, _printed(entry), "")
        if self._too_small(subject):
            return
        measured = interval([ours]) if isinstance(ours, int | float) else _measured(ours) if ours is not None else None
        self._add(subject, measured, SHAPE_PASS if holds else SHAPE_MISS, _join(entry, note))

    def not_evaluated(self, key: str, why: str) -> None:
        """Adds a claim that cannot be judged here, with the reason ``why``."""
        entry = self.published[key]
        self._add(_Subject(entry, entry.what, "", _printed(entry), ""), None, NOT_EVALUATED, _join(entry, why))

    def left_out(self, key: str, why: str, *, suffix: str = "", **words: object) -> None:
        """A claim that is printed and that nothing here was run for: it counts as missed."""
        entry = self.published[key]
        subject = _Subject(entry, entry.what.format(**words), suffix, _printed(entry, suffix), entry.tolerance)
        self._add(subject, None, LEFT_OUT, _join(entry, why))

    def complete(self) -> None:
        """Adds published values that were not compared: missed, unless the entry states why it cannot be compared."""
        compared = {claim.id for claim in self.claims}
        for entry in self.published.values():
            for suffix in entry.values or ("",):
                name = f"{entry.key}.{suffix}" if suffix else entry.key
                if name in compared or any(one.startswith(f"{name}.") for one in compared):
                    continue
                subject = _Subject(entry, _without_words(entry.what), suffix, _printed(entry, suffix), entry.tolerance)
                if entry.not_comparable:
                    self._add(subject, None, NOT_EVALUATED, _join(entry, entry.not_comparable))
                else:
                    self._add(subject, None, LEFT_OUT, _join(entry, "printed, and not compared here"))

    def take(self, claims: Iterable[Claim]) -> None:
        """Adds existing claims. Raises ValueError if an id is used twice."""
        for claim in claims:
            if claim.id in self._claims:
                raise ValueError(f"claim id: {claim.id!r} is used twice")
            self._claims[claim.id] = claim

    def document(self) -> dict[str, Any]:
        """The content of `scoreboard.json`."""
        return {
            "study": self.study,
            "engine": self.engine,
            **({"hosts": self.hosts} if self.hosts else {}),
            "mode": self.mode,
            "seeds": self.seeds,
            "claims": [claim.row() for claim in self.claims],
        }

    def write(self, path: Path) -> None:
        """Writes `scoreboard.json`."""
        path.write_text(json.dumps(self.document(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def counts(self) -> dict[str, int]:
        """Number of claims by verdict."""
        return {
            verdict: sum(claim.verdict == verdict for claim in self.claims)
            for verdict in (PASS, MISS, SHAPE_PASS, SHAPE_MISS, LEFT_OUT, NOT_EVALUATED)
        }

    def _too_small(self, subject: _Subject) -> bool:
        if self.mode != "quick" or subject.entry.quick:
            return False
        self._add(subject, None, NOT_EVALUATED, "needs the full size and number of runs")
        return True

    def _add(self, subject: _Subject, measured: Interval | None, verdict: str, note: str) -> None:
        entry = subject.entry
        name = f"{entry.key}.{subject.suffix}" if subject.suffix else entry.key
        ours, ci95 = None, None
        if measured is not None and not math.isnan(measured.mean):
            ours = _rounded(measured.mean)
            ci95 = None if math.isnan(measured.low) else (_rounded(measured.low), _rounded(measured.high))
        claim = Claim(
            id=name,
            figure=entry.figure,
            what=subject.what,
            published=subject.published,
            ours=ours,
            unit=entry.unit,
            ci95=ci95,
            tolerance=subject.tolerance,
            verdict=verdict,
            note=note,
            kind=entry.kind_of(subject.suffix),
            statement=entry.statement(subject.suffix),
            fitted=fitted_to(self.inferences, name),
            explanation=self.explanations.get(name, "") if verdict in MISSED else "",
            source=entry.source,
        )
        self.take([claim])


@dataclass(frozen=True)
class _Subject:
    """The subject of a claim before it is judged."""

    entry: PublishedEntry
    what: str
    suffix: str
    published: float | str
    tolerance: str


def text(value: Interval | None) -> str:
    """A mean with its half width as text for notes; None means that a flow did not end."""
    return "unfinished" if value is None else value.text()


def markdown(claims: Iterable[Claim]) -> str:
    """The claims as a markdown table."""
    lines = [
        "| claim | kind | published | ours | 95 % interval | unit | tolerance | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for claim in claims:
        spread = "" if claim.ci95 is None else f"{claim.ci95[0]:.4g} to {claim.ci95[1]:.4g}"
        ours = "" if claim.ours is None else f"{claim.ours:.4g}"
        printed = claim.published if isinstance(claim.published, str) else f"{claim.published:.4g}"
        verdict = f"**{claim.verdict}**" if claim.verdict in MISSED else claim.verdict
        verdict += f" (fitted: {claim.fitted})" if claim.fitted else ""
        cells = (claim.what, claim.kind, printed, ours, spread, claim.unit, claim.tolerance, verdict)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _printed(entry: PublishedEntry, suffix: str = "") -> float | str:
    number = entry.values.get(suffix, entry.value)
    return entry.printed if number is None else number


def _without_words(what: str) -> str:
    """The text of an entry with unfilled braces removed."""
    return re.sub(r",? ?\{\w+\}", "", what)


def _measured(ours: Sequence[float | None] | Interval) -> Interval | None:
    return ours if isinstance(ours, Interval) else of_all(ours)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _join(entry: PublishedEntry, *notes: str) -> str:
    return "; ".join(note for note in (*notes, entry.note) if note)
