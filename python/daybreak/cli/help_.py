"""daybreak help"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from .tables import print_table
from .terminal import Json, print_json, print_page, say


class Topic(StrEnum):
    """The pages."""

    scenario = "scenario"
    tables = "tables"
    nights = "nights"
    captures = "captures"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("help", epilog="Example: daybreak help tables")(help_)


_TOPICS = {
    Topic.scenario: "every key of a scenario file",
    Topic.tables: "every column of a run",
    Topic.nights: "what a reconfiguration does to packets",
    Topic.captures: "how to take one",
}


def help_(
    topic: Annotated[
        Topic | None,
        typer.Argument(
            help="scenario: every key of a scenario file. tables: every column of a run. "
            "nights: what a reconfiguration does to packets. captures: how to take one. If not given, the topics.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a reference page; as Markdown, if it does not go to a terminal."""
    if topic is None:
        if as_json:
            print_json([{"topic": one.value, "summary": summary} for one, summary in _TOPICS.items()])
        else:
            print_table(
                ("daybreak help ...", "what the page has"), [(one.value, what) for one, what in _TOPICS.items()]
            )
            say("The commands: daybreak --help, and daybreak COMMAND --help.")
        return
    from daybreak.reference import PAGES

    page = PAGES[topic]()
    if as_json:
        print_json({"topic": topic.value, "markdown": page})
    else:
        print_page(page)
