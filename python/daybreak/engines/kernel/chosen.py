"""The kernel engine bound to a kernel that the user named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from daybreak.runs import EngineOutput
from daybreak.scenario.lowering import Plan

from ..single import OnProgress
from . import run
from .choice import Choice


@dataclass(frozen=True)
class ChosenKernel:
    """The kernel engine for a name such as `kernel:6.12@250`."""

    choice: Choice

    def variants(self) -> list[str]:
        """The congestion controls that are available here."""
        return run.variants(self.choice)

    def ticks(self) -> int | None:
        """Ticks per second of all hosts; `None` if the scenario sets them."""
        return run.ticks(self.choice)

    def linux(self) -> str:
        """The series of Linux of its image."""
        return run.linux(self.choice)

    def check(self, plan: Plan) -> None:
        """Raises PlanError for a plan that it cannot run, NoImage if there is no such kernel."""
        run.check(plan, self.choice)

    def execute(self, plan: Plan, progress: OnProgress | None, staging: Path) -> EngineOutput:
        """Runs a plan in a guest of its own."""
        return run.execute(plan, progress, staging, self.choice)

    def program(self, plan: Plan | None = None) -> str:
        """Identifies the kernel and the guest's program."""
        return run.program(plan, self.choice)


def chosen(text: str) -> ChosenKernel:
    """The engine with the kernel of this name. Raises UnknownName."""
    return ChosenKernel(Choice.parse(text))
