"""Judges a study's claims with other values of its inferences, one at a time, to show how far verdicts depend on
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from daybreak.errors import UnknownName
from daybreak.figures.style import save
from daybreak.studies import variation
from daybreak.studies.evidence import gather
from daybreak.studies.inferences import Inference
from daybreak.studies.protocol import AnyStudy
from daybreak.studies.scales import figures_of, scale_of, varied
from daybreak.studies.scoreboard import Claim, Scoreboard
from daybreak.studies.tally import tally
from daybreak.studies.variation import Change, Count
from daybreak.sweeps import Executor, Local, Report, claim


@dataclass(frozen=True)
class SensitivityResult:
    """A study's claims as it is, and with each value of each inference."""

    base: Sequence[Claim]
    others: Mapping[tuple[str, str], Sequence[Claim]]
    """Claims by name of the inference and value."""

    def changes(self) -> list[Change]:
        """The verdicts that change; one row without a claim for a value that changes none."""
        found: list[Change] = []
        base = {one.id: one for one in self.base}
        for (name, value), claims in self.others.items():
            changed = [
                Change(name, value, one.id, base[one.id].verdict, one.verdict, _number(base[one.id]), _number(one))
                for one in claims
                if one.id in base and one.verdict != base[one.id].verdict
            ]
            found += changed or [Change(name, value)]
        return found

    def counts(self) -> list[Count]:
        """How many printed numbers and statements hold, starting with the unchanged study."""
        return [
            Count("", "", *_holding(self.base)),
            *(Count(name, value, *_holding(claims)) for (name, value), claims in self.others.items()),
        ]


def vary(
    study: AnyStudy,
    *,
    names: Sequence[str] = (),
    mode: str = "full",
    figures: Sequence[str] = (),
    seeds: int | None = None,
    sizes: Mapping[str, str] | None = None,
    out: Path | None = None,
    executor: Executor | None = None,
    progress: Report | None = None,
) -> SensitivityResult:
    """Varies each inference with a field in the study's scale, or those in ``names``, over its values. ``mode``,
    ``seeds`` and ``sizes`` are as in `reproduce` and hold for all runs.

    Writes the two files of `variation` and a figure to ``out``, by default ``results/NAME-sensitivity``; finished runs
    are stored there and reused. Raises UnknownName for an inference that does not exist or is not varied.
    """
    inferences = chosen(study, names)
    figures = figures_of(study, figures)
    place = out or Path("results") / f"{study.name}-sensitivity"
    claim(place, f"sensitivity of study {study.name}", variation.FILE)
    scale = scale_of(study, mode, seeds, sizes)
    points = [(one.name, value, varied(scale, one.changes(value))) for one in inferences for value in one.values]
    gathered = gather(
        study, [scale, *(changed for _, _, changed in points)], place / "runs", figures=figures,
        executor=executor or Local(), progress=progress,
    )  # fmt: skip
    judged = []
    for evidence in gathered:
        board = Scoreboard(
            study.name, engine="simulated", mode=mode, seeds=scale.runs, published=study.published(),
            inferences=study.inferences(),
        )  # fmt: skip
        for figure in figures:
            study.experiments[figure].judge(board, evidence.of_figure(figure), evidence.scale)
        judged.append(board.claims)
    found = SensitivityResult(
        judged[0], {(name, value): claims for (name, value, _), claims in zip(points, judged[1:], strict=True)}
    )
    variation.save(found.changes(), place / variation.FILE)
    variation.save_counts(found.counts(), place / variation.COUNTS)
    save(variation.draw(found.counts(), inferences), place / "figures", variation.FIGURE)
    return found


def chosen(study: AnyStudy, names: Sequence[str]) -> list[Inference]:
    """The inferences of these names, by default all that can be varied. Raises UnknownName."""
    known = {one.name: one for one in study.inferences() if one.field}
    for name in names:
        if name not in known:
            raise UnknownName(f'inference: "{name}" is not one of {", ".join(known) or "none that can be varied"}')
    return [known[name] for name in names] if names else list(known.values())


def _holding(claims: Sequence[Claim]) -> tuple[int, int, int, int]:
    counts = tally(claims)
    numbers, statements = counts["number"], counts["statement"]
    return numbers.hold, numbers.judged, statements.hold, statements.judged


def _number(one: Claim) -> str:
    return "" if one.ours is None else f"{one.ours:.4g}"
