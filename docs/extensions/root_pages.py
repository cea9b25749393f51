"""Pages of the repository's root, as pages of the site: their links are made those of the folder `docs`."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
PAGES = {name.lower(): f"{name}.md" for name in ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING")}
"""By the name of the page on the site, which is empty there, the file that it shows."""


def read(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Puts the file's text in the place of the page's."""
    if docname in PAGES:
        text = (ROOT / PAGES[docname]).read_text(encoding="utf-8")
        source[0] = re.sub(r"\]\((?!https?:|#)([^)]+)\)", lambda link: f"]({moved(link[1])})", text)


def moved(target: str) -> str:
    """A link of a page at the root, as a page in `docs` has it."""
    for name, file in PAGES.items():
        if target == file:
            return f"{name}.md"
    return target.removeprefix("docs/") if target.startswith("docs/") else f"../{target}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
