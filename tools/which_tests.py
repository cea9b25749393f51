"""A plugin of pytest for tools/mutants-python.py: notes which tests run which lines, or runs some tests in an order.

With coverage measuring, what is measured is labelled with the test. With the path of a file in `MUTANTS_TESTS`, only
the tests in it are run, file by file as it names them; times are written to `MUTANTS_SECONDS`.
"""

import json
import os
from pathlib import Path

import coverage
import pytest

_seconds: dict[str, float] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is not asked for. A file's tests stay together: they share what is set up for a module."""
    if not (path := os.environ.get("MUTANTS_TESTS")):
        return
    asked = json.loads(Path(path).read_text(encoding="utf-8"))
    place = {name: number for number, name in enumerate(asked)}
    chosen = [item for item in items if item.nodeid in place]
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in place])
    items[:] = sorted(chosen, key=lambda item: place[item.nodeid])


def pytest_runtest_logstart(nodeid: str) -> None:
    """Labels what follows with the test."""
    if (measuring := coverage.Coverage.current()) is not None:
        measuring.switch_context(nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds up the time of a test with its fixtures."""
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    """Writes the times."""
    if path := os.environ.get("MUTANTS_SECONDS"):
        Path(path).write_text(json.dumps(_seconds), encoding="utf-8")
