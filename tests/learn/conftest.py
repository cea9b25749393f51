"""Fits that take little time."""

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skops")

from made_up import QUICK, SETTINGS, made_up

from daybreak.learn import design, files, model, neural, trees


@pytest.fixture(autouse=True, scope="module")
def small_fits():
    """Trees and passes that are enough for laws as simple as those of these tests; models shared by tests as well."""
    few = {"mean": 60, "quantile": 40, "chance": 20}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "KINDS", {name: (few[name], *sizes[1:]) for name, sizes in trees.KINDS.items()})
        patch.setattr(neural, "STAGES", ((2e-3, 12), (5e-4, 4), (1e-4, 2)))
        yield


@pytest.fixture(scope="module")
def small():
    """A model of few settings, made by a law and calibrated."""
    found = model.fit(made_up(SETTINGS), **QUICK)
    model.calibrate(found, [made_up(settings=list(design.drawn(100, seed)), runs=4, seed=seed) for seed in (8, 9)])
    return found


@pytest.fixture(scope="module")
def shipped():
    """The model that comes with the package."""
    return files.load()
