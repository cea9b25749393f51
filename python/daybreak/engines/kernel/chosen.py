"""The engine with a kernel that the user has named: its functions, bound to the choice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from daybreak.runs import Recorded
from daybreak.scenario.lowering import Plan

from ..single import Report
from . import run
from .choice import Choice


@dataclass(frozen=True)
class ChosenKernel:
    """The kernel engine as `kernel:6.12@250` names it."""

    choice: Choice

    def variants(self) -> list[str]:
        """The congestion controls that it has here."""
        return run.variants(self.choice)

    def ticks(self) -> int | None:
        """Ticks a second of all hosts; `None` where the scenario says them."""
        return run.ticks(self.choice)

    def linux(self) -> str:
        """The series of Linux that its image is made of."""
        return run.linux(self.choice)

    def check(self, plan: Plan) -> None:
        """Raises PlanError for a plan that it cannot run, NoImage where the kernel is not there."""
        run.check(plan, self.choice)

    def execute(self, plan: Plan, progress: Report | None, staging: Path) -> Recorded:
        """Runs a plan in a guest of its own."""
        return run.execute(plan, progress, staging, self.choice)

    def program(self) -> str:
        """What identifies the kernel and the guest's program."""
        return run.program(self.choice)


def chosen(text: str) -> ChosenKernel:
    """The engine with the kernel of this name. Raises UnknownName."""
    return ChosenKernel(Choice.parse(text))
