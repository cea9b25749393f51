"""What the package imports is what its metadata asks for."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions

from ready_files import ROOT

PACKAGE = ROOT / "python" / "daybreak"
OF_EXTRAS = {"daybreak/learn": "learn", "daybreak/cli/learn.py": "learn", "daybreak/sweeps/cluster.py": "dask"}
"""Modules, by the beginning of their path, that an extra is for; none is imported before it is needed."""

OF_ANOTHER = {"pydantic-core": "pydantic"}
"""Distributions that another one comes with, and documents as its own."""


def _asked() -> dict[str, set[str]]:
    """Names of distributions: of the package itself under "", and of each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = {"": project["dependencies"]} | project["optional-dependencies"]
    return {
        extra: {_normal(re.match(r"[\w.-]+", one)[0]) for one in some}  # type: ignore[index]
        for extra, some in lists.items()
    }


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _imported(text: str) -> Iterator[str]:
    """The top-level modules that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.split(".")[0]


def test_what_is_imported_is_asked_for():
    asked, of_module = _asked(), packages_distributions()
    used: set[str] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        place = f"daybreak/{path.relative_to(PACKAGE)}"
        extra = next((extra for begin, extra in OF_EXTRAS.items() if place.startswith(begin)), "")
        for module in set(_imported(path.read_text(encoding="utf-8"))) - set(sys.stdlib_module_names) - {"daybreak"}:
            names = {OF_ANOTHER.get(_normal(name), _normal(name)) for name in of_module[module]}
            assert names & (asked[""] | asked.get(extra, set())), f"{place} imports {module}"
            used |= names
    for extra in ("", *set(OF_EXTRAS.values())):
        assert asked[extra] <= used, f'nothing imports what "{extra}" asks for: {asked[extra] - used}'
