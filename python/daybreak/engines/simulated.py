"""Daybreak's packet-level simulator."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from daybreak import _native
from daybreak.runs import Recorded
from daybreak.scenario.lowering import Plan

from .single import Progress, Report


def variants() -> list[str]:
    """The rules that it models."""
    return [entry.name for entry in _native.variants()]


def check(plan: Plan) -> None:
    """Raises PlanError for a plan that it cannot run."""
    _native.check_plan(plan.json)


def execute(plan: Plan, progress: Report | None = None) -> Recorded:
    """Runs a plan; other Python threads go on meanwhile."""
    report = (lambda *numbers: progress(Progress(*numbers))) if progress else None
    if not plan.content.records.capture_links:
        return Recorded(*_native.run(plan.json, None, report))
    directory = tempfile.TemporaryDirectory(prefix="daybreak-")
    capture = Path(directory.name) / "capture.pcapng"
    tables, totals = _native.run(plan.json, str(capture), report)
    return Recorded(tables, totals, capture, keep=directory)


def program() -> str:
    """The digest of the native module."""
    return f"native module {hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:8]}"
