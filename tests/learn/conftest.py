"""Fits that take little time."""

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skops")

from daybreak.learn import neural, trees


@pytest.fixture(autouse=True, scope="module")
def small_fits():
    """Trees and passes that are enough for laws as simple as those of these tests; models shared by tests as well."""
    few = {"mean": 60, "quantile": 40, "chance": 20}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "KINDS", {name: (few[name], *sizes[1:]) for name, sizes in trees.KINDS.items()})
        patch.setattr(neural, "STAGES", ((2e-3, 12), (5e-4, 4), (1e-4, 2)))
        yield
