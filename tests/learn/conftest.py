"""Fits that take little time."""

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skops")

from daybreak.learn import trees


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """Enough for laws as simple as those of these tests."""
    monkeypatch.setattr(trees, "ITERATIONS", {"mean": 60, "quantile": 40})
