"""The directive `{commands}`: every command of the program, with its arguments and options, from the program itself."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from daybreak.cli.commands import COMMANDS, loaded


class CommandPages(SphinxDirective):
    """A section for each command."""

    def run(self) -> list[nodes.Node]:
        lines: list[str] = []
        for name, (module, _) in COMMANDS.items():
            lines += described(f"daybreak {name}", loaded(name, module))
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def described(name: str, command: Any) -> list[str]:
    """A command as Markdown; of a group, each of its commands."""
    if hasattr(command, "commands"):
        parts = [line for key, one in command.commands.items() for line in described(f"{name} {key}", one)]
        return [f"## {name}", "", plain(command.help), "", *parts] if command.help else parts
    context = command.context_class(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    lines = [f"## {name}", "", plain(command.help), "", "```text", usage, "```", ""]
    rows = [record for parameter in command.params if (record := parameter.get_help_record(context))]
    if rows:
        lines += ["| argument or option | meaning |", "|---|---|"]
        lines += [f"| `{cell(names)}` | {cell(plain(text))} |" for names, text in rows]
        lines.append("")
    if command.epilog:
        lines += [f"Example: `{plain(command.epilog).removeprefix('Example: ')}`", ""]
    return lines


def cell(text: str) -> str:
    """Text as a cell of a table has it."""
    return text.replace("|", r"\|")


def plain(text: str) -> str:
    """Help as one paragraph after the other, without the marks of the terminal."""
    paragraphs = re.sub(r"\[/?[a-z ]+\]", "", text.replace("\b", "")).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension."""
    app.add_directive("commands", CommandPages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
