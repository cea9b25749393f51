"""HTML that its content cannot break: every text is escaped where it becomes markup.

Names come from files of any origin. A piece of markup is a `Markup`; any other text is escaped, also as the value of an
attribute.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


class Markup(str):
    """Text that is HTML already."""


Content = str | Iterable[str]
_TAG = re.compile("<[^>]*>")
_LONG = 24
"""Cells with more letters than this may break into lines."""


def element(tag: str, *content: Content, **attributes: str | bool) -> Markup:
    """An element; ``class_`` stands for the attribute ``class``, an underscore in other names for a hyphen."""
    said = "".join(
        f" {_name(name)}" + ("" if value is True else f'="{escape(str(value))}"')
        for name, value in attributes.items()
        if value is not False
    )
    return Markup(f"<{tag}{said}>{text(*content)}</{tag}>")


def text(*content: Content) -> Markup:
    """The concatenated pieces."""
    return Markup(
        "".join(
            part if isinstance(part, Markup) else _plain(part) if isinstance(part, str) else text(*part)
            for part in content
        )
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], numeric: Iterable[str] = ()) -> Markup:
    """A table that scrolls on its own if it is wider than the page; ``numeric`` columns are right-aligned."""
    right = set(numeric)

    def cell(tag: str, column: str, content: str) -> Markup:
        side = "number" if column in right else "words"
        letters = len(_TAG.sub("", content)) if isinstance(content, Markup) else len(content)
        return element(tag, content, class_=side if letters > _LONG else f"{side} short")

    head = element("tr", [cell("th", column, column) for column in columns])
    body = [element("tr", [cell("td", *pair) for pair in zip(columns, row, strict=True)]) for row in rows]
    whole = element("table", element("thead", head), element("tbody", body))
    return element("div", whole, class_="wide", tabindex="0")


def data(content: Any, **attributes: str) -> Markup:
    """A block of JSON for the page's script; no text in it can end the block."""
    said = json.dumps(content, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        said = said.replace(character, f"\\u{ord(character):04x}")
    return element("script", Markup(said), type="application/json", **attributes)


def _plain(part: str) -> str:
    """Escaped text without the characters that HTML forbids."""
    return escape("".join(c if c >= " " or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in part))


def _name(attribute: str) -> str:
    return attribute.rstrip("_").replace("_", "-")
