"""Checks the finished site: each link within it leads somewhere, and no page needs anything of another machine."""

from __future__ import annotations

import itertools
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

NEEDED = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src"), ("object", "data")}
"""What a browser loads to show a page."""

MADE = ("genindex.html", "py-modindex.html")
"""Pages that Sphinx makes, whose headings are letters."""


class Page(HTMLParser):
    """The links and the anchors of a page, and what is wrong with its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str, str]] = []
        self.anchors: set[str] = set()
        self.wrong: list[str] = []
        self.headings: list[int] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := given.get(key))}
        self.links += [(tag, key, value) for key in ("href", "src", "data") if (value := given.get(key))]
        words = given.get("alt") or ""
        # Where a notebook gives none, it is the name of the file.
        if tag == "img" and words in ("", given.get("src")) and "sidebar-logo" not in (given.get("class") or ""):
            self.wrong.append(f"the image {given.get('src')} has no words in its place")
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.headings.append(int(tag[1]))


def problems(site: Path) -> list[str]:
    """What is wrong with the pages of a site, a sentence each."""
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}
    found = []
    for file, page in pages.items():
        name = file.relative_to(site)
        found += [f"{name}: {text}" for text in page.wrong]
        skips = any(low > high + 1 for high, low in itertools.pairwise(page.headings))
        if (page.headings.count(1) != 1 or skips) and name.name not in MADE:
            found.append(f"{name}: its headings are of the levels {page.headings}")
        for tag, key, link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or link.startswith("//"):
                if (tag, key) in NEEDED:
                    found.append(f"{name}: {link} would be loaded from a network")
                continue
            if parts.scheme:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{name}: {link} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: {link} has no such place")
    return found


def check(app: Sphinx, error: Exception | None) -> None:
    """Ends the build with what is wrong."""
    if error or app.builder.format != "html":
        return
    if found := problems(Path(app.outdir)):
        raise ExtensionError("the site is not sound:\n" + "\n".join(found[:40]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
