"""The sub-commands, each imported only when called, so that none waits for another's dependencies."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

HELP_NAMES = {"help_option_names": ["-h", "--help"]}
COMMANDS = {
    "run": (
        "run",
        "Run a scenario and summarise its flows. Runs that exist in the folder are not repeated.",
    ),
    "plot": ("plot", "Draw what runs show over time: throughput, windows, RTTs, queues, drops and retransmissions."),
    "report": ("report", "Write one page about runs and studies that any browser shows, without a network."),
    "export": ("export", "Write a run in the format of another viewer: Perfetto's trace events, or qlog."),
    "sweep": ("sweep", "Run a scenario at all points of a grid, and write one dataset."),
    "compare": (
        "compare",
        "Compare scenarios, or runs of them: differences from the first with 95 % confidence intervals.",
    ),
    "explain": ("explain", "Split each flow's completion time into its causes."),
    "learn": ("learn", "Make the data of a model of FCT prolongation, fit it, and judge it."),
    "predict": (
        "predict",
        "Estimate how much longer the migrated flow takes than the main one: "
        "predicted if a model is sure, else simulated.",
    ),
    "tune": (
        "tune",
        "Advise a reconfiguration period for which the migrated flow is prolonged least, "
        "or the circuits are used most.",
    ),
    "validate": ("validate", "Check a scenario without running it."),
    "list": ("listing", "List the names that a scenario or a command may use."),
    "schema": ("schema", "Print the JSON Schema of scenario files, for editors."),
    "reproduce": ("reproduce", "Run a published study and put its numbers beside ours."),
    "agree": ("agree", "Run a suite on the real kernel and on the simulator, and report how far they are apart."),
    "bench": ("bench", "Measure the simulator: packet-hops per wall second and peak memory."),
    "help": ("help_", "Print a reference page; as Markdown, if it does not go to a terminal."),
    "kernel": ("kernel", "The real-kernel engine: build its images, see what is missing, run dialogues with them."),
}
"""By name the module of each command, and the first paragraph of its docstring for the list of commands."""


class Commands(TyperGroup):
    """A group whose commands are in modules of their own."""

    _lists = False

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; only its name and summary while commands are listed."""
        if cmd_name not in COMMANDS:
            return None
        module, summary = COMMANDS[cmd_name]
        if self._lists:
            return TyperCommand(cmd_name, help=summary)
        return loaded(cmd_name, module)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command and its arguments; after the import, calls the context's object if there is one."""
        resolved = super().resolve_command(ctx, args)
        if ctx.obj is not None:
            ctx.obj()
        return resolved

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help without importing any command."""
        self._lists = True
        super().format_help(ctx, formatter)


def loaded(name: str, module: str) -> Any:
    """The command `name` from its module."""
    app = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich", context_settings=HELP_NAMES
    )
    import_module(f"{__package__}.{module}").add_to(app)
    command = get_command(app)
    command.name = name
    _flow(command)
    return command


def _flow(command: Any) -> None:
    """Makes each paragraph of the help one line, which the terminal breaks at its own width."""
    if command.help:
        command.help = "\n\n".join(" ".join(part.split()) for part in command.help.split("\n\n"))
    for one in getattr(command, "commands", {}).values():
        _flow(one)
