"""Reference pages, generated from what they describe: `daybreak help`, and docs/reference."""

from collections.abc import Callable, Mapping

from . import scenario, tables

PAGES: Mapping[str, Callable[[], str]] = {
    "scenario": scenario.page,
    "tables": tables.page,
    "nights": lambda: scenario.text("nights.md"),
    "captures": lambda: scenario.text("captures.md"),
}
"""The pages by name; each function returns its text as Markdown."""

__all__ = ["PAGES", "scenario", "tables"]
