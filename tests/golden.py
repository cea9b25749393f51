"""Texts that are compared with files: `pytest --update-goldens` writes them anew; review the difference."""

import pytest
from ready_files import ROOT

FOLDER = ROOT / "tests" / "goldens"


@pytest.fixture
def golden(request):
    """Compares a text with a file of tests/goldens, or of another folder of the repository."""

    def compare(name: str, text: str, folder=FOLDER):
        path = folder / name
        if request.config.getoption("--update-goldens"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{path.relative_to(ROOT)} differs: pytest --update-goldens"

    return compare
