"""Writes the page to a file atomically, and never over a file that is not ours."""

from __future__ import annotations

from pathlib import Path

from daybreak.errors import UsageError
from daybreak.plots.files import may_be_replaced, put

GENERATOR = "Daybreak report"
"""The generator named in the page, by which our pages are recognised."""
_ENDINGS = (".html", ".htm")


def check(place: Path, *, force: bool = False) -> None:
    """Raises UsageError or OutputError when `write` would refuse ``place``, before anything is made."""
    if place.suffix.lower() not in _ENDINGS:
        raise UsageError(f"{place} cannot be written: expected a name that ends in .html")
    may_be_replaced(place, f'<meta name="generator" content="{GENERATOR}">', "no report of Daybreak's", force=force)


def write(page: str, place: Path, *, force: bool = False) -> Path:
    """Writes the page. An existing file is replaced only if it is a report, or with ``force``."""
    check(place, force=force)
    return put([page.encode("utf-8")], place)
