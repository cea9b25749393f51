"""The notebooks run from their first cell to their last, and show what they say."""

import nbformat
import pytest
from nbclient import NotebookClient
from ready_files import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("place", NOTEBOOKS, ids=lambda place: place.name)
def test_a_notebook_runs(place):
    notebook = nbformat.read(place, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells), "notebooks are committed without results"
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    results = {cell.source: [output.get("data", {}) for output in cell.outputs] for cell in cells}
    for source, shown in results.items():
        last = source.rpartition("\n")[2]
        if "plot(" in last:
            assert any("image/png" in data for data in shown), source
        if last == "run":
            assert any("data:image/png" in data.get("text/html", "") for data in shown)


@pytest.mark.parametrize("place", NOTEBOOKS, ids=lambda place: place.name)
def test_a_notebook_needs_no_matplotlib_by_hand_and_says_how_to_open_it(place):
    cells = nbformat.read(place, as_version=4).cells
    assert not any("matplotlib" in cell.source or "plt." in cell.source for cell in cells)
    assert f"pip install jupyterlab && jupyter lab docs/notebooks/{place.name}" in cells[0].source


def test_there_are_notebooks():
    assert [place.name for place in NOTEBOOKS] == ["first-run.ipynb", "hybrid-variants.ipynb"]
