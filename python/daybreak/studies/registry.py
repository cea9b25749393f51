"""The studies that `daybreak reproduce` knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from daybreak.errors import UnknownName
from daybreak.studies.migration.reproduce import reproduce as reproduce_migration
from daybreak.studies.migration.settings import FIGURES as MIGRATION_FIGURES
from daybreak.studies.scoreboard import Scoreboard


@dataclass(frozen=True)
class Study:
    """A published experiment: ``reproduce(mode=, figures=, engine=, seeds=, out=, progress=, workers=)``."""

    name: str
    title: str
    figures: tuple[str, ...]
    reproduce: Callable[..., Scoreboard]


STUDIES = {
    study.name: study
    for study in (
        Study(
            "migration",
            "TCP flows that an optical switch moves between two links (CNSM 2022)",
            MIGRATION_FIGURES,
            reproduce_migration,
        ),
    )
}
"""Every study by its name; a new study is a package and a line here."""


def study(name: str) -> Study:
    """The study of that name."""
    if name not in STUDIES:
        raise UnknownName(f'study: "{name}" is not known (known are: {", ".join(sorted(STUDIES))})')
    return STUDIES[name]
