"""Daybreak's packet-level simulator."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from daybreak import _native
from daybreak.errors import EngineError, reason
from daybreak.runs import EngineOutput
from daybreak.runs.staging import Staging
from daybreak.scenario.lowering import Plan

from .single import OnProgress, Progress


def variants() -> list[str]:
    """The congestion controls that it models."""
    return [entry.name for entry in _native.variants()]


def ticks() -> None:
    """None: the scenario states how often its hosts tick."""


def linux() -> None:
    """None: the scenario states which Linux its stacks are."""


def check(plan: Plan) -> None:
    """Raises PlanError for a plan that it cannot run."""
    _native.check_plan(plan.json)


def execute(plan: Plan, progress: OnProgress | None, staging: Path) -> EngineOutput:
    """Runs a plan without holding the interpreter's lock."""
    report = (lambda *numbers: progress(Progress(*numbers))) if progress else None
    if not plan.content.records.capture_links:
        return EngineOutput(*_native.run(plan.json, None, report))
    try:
        staged = Staging(staging)
    except OSError as error:
        raise EngineError(f"{staging} cannot take the capture: {reason(error)}") from None
    capture = staged.path / "capture.pcapng"
    try:
        tables, totals = _native.run(plan.json, str(capture), report)
    except BaseException:
        staged.remove()
        raise
    return EngineOutput(tables, totals, capture, keep=staged)


def program(plan: Plan | None = None) -> str:
    """The digest of the native module, which runs every plan."""
    return f"native module {_digest()}"


@cache
def _digest() -> str:
    return f"{hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:8]}"
