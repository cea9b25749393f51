"""Fits that take little time."""

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skops")

from daybreak.learn import trees


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """Enough for laws as simple as those of these tests."""
    few = {"mean": 60, "quantile": 40, "chance": 20}
    kinds = {name: (few[name], *sizes[1:]) for name, sizes in trees.KINDS.items()}
    monkeypatch.setattr(trees, "KINDS", kinds)
