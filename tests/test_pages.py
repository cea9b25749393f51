"""Every path, command and make target that the pages name is there."""

import re
from pathlib import Path

import pytest
import typer
from ready_files import ROOT

from daybreak.cli.main import app

FOLDERS = sorted(
    path for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "." and path.name not in ("target", "results")
)
GOLDENS = ROOT / "tests" / "goldens"
"""Pages of made-up results, whose figures are not kept."""
MADE = ("docs/_build", "docs/_made")  # by `make docs`, which also makes a page of the gallery of each ready scenario


def is_made(path: Path) -> bool:
    """Whether `make docs` makes the file, which a fresh clone does not have."""
    name = path.resolve().relative_to(ROOT).as_posix()
    return name.startswith(MADE) or (
        name.startswith("docs/gallery/") and (ROOT / "scenarios" / f"{path.stem}.toml").exists()
    )


def is_there(path: Path) -> bool:
    return path.resolve().is_relative_to(ROOT) and (is_made(path) or path.exists())


PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in folder.rglob("*.md"))]
    if not is_made(page) and GOLDENS not in page.parents
)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def words_in_code(text: str) -> list[str]:
    """The words between backticks, in lines and in blocks."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    lines = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    return [word.strip("\"',;:()") for piece in blocks + lines for word in piece.split()]


def commands(text: str) -> list[list[str]]:
    """The words behind each `daybreak` that stands at the start of a line or of a piece of code."""
    return [found.split() for found in re.findall(r"(?:^ *|`)daybreak((?: [a-z][a-z-]*)+)", text, flags=re.MULTILINE)]


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    places = [target for target in targets if not target.startswith("https://")]
    assert [place for place in places if not is_there(page.parent / place)] == []


@each_page
def test_paths_are_there(page: Path) -> None:
    folders = {folder.name for folder in FOLDERS}
    words = words_in_code(page.read_text(encoding="utf-8"))
    paths = [word for word in words if word.partition("/")[0] in folders and "/" in word]
    named = [path for path in paths if not re.search(r"[<*{]|[A-Z]{3}", path)]
    assert [path for path in named if not is_there(ROOT / path) and not is_there(page.parent / path)] == []


@each_page
def test_commands_are_known(page: Path) -> None:
    for words in commands(page.read_text(encoding="utf-8")):
        command = typer.main.get_command(app)
        for word in words:
            if not hasattr(command, "list_commands"):
                break
            assert word in command.list_commands(None), f"daybreak {' '.join(words)}"
            command = command.get_command(None, word)


@each_page
def test_make_knows_its_targets(page: Path) -> None:
    targets = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", page.read_text(encoding="utf-8"), flags=re.MULTILINE))
    known = re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert targets <= set(known)


def test_there_are_pages() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "fidelity.md"} <= names
    assert len(commands((ROOT / "README.md").read_text(encoding="utf-8"))) > 6
