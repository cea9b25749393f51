"""daybreak help"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from .terminal import Json, print_json, print_page


class Topic(StrEnum):
    """The pages."""

    scenario = "scenario"
    tables = "tables"
    nights = "nights"
    captures = "captures"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("help", epilog="Example: daybreak help tables")(help_)


def help_(
    topic: Annotated[
        Topic,
        typer.Argument(
            help="scenario: every key of a scenario file. tables: every column of a run. "
            "nights: what a reconfiguration does to packets. captures: how to take one."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Print a reference page; as Markdown, if it does not go to a terminal."""
    from daybreak.reference import PAGES

    page = PAGES[topic]()
    if as_json:
        print_json({"topic": topic.value, "markdown": page})
    else:
        print_page(page)
