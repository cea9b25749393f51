"""The study's claims as code, one file a figure. Each function judges measured settings and fills the scoreboard."""

from __future__ import annotations

from collections.abc import Callable

from daybreak.studies.migration.claims import figure3, figure4, figure5, figure6, figure7, kernel, table2
from daybreak.studies.migration.measured import Evidence
from daybreak.studies.migration.settings import Scale
from daybreak.studies.scoreboard import Scoreboard

Judge = Callable[[Scoreboard, Evidence, Scale], None]

CLAIMS: dict[str, Judge] = {
    "3": figure3.judge,
    "4": figure4.judge,
    "5": figure5.judge,
    "6a": figure6.judge_a,
    "6b": figure6.judge_b,
    "7": figure7.judge,
    "table2": table2.judge,
    "kernel": kernel.judge,
}
"""What judges each figure."""

__all__ = ["CLAIMS", "Judge"]
