"""Puts the sub-commands together and turns every error of a user into one sentence and an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

import typer
from pydantic import ValidationError

from daybreak.errors import DaybreakError, reason
from daybreak.scenario.problems import sentence

from . import (
    agree,
    bench,
    compare,
    explain,
    kernel,
    learn,
    listing,
    predict,
    reproduce,
    run,
    schema,
    sweep,
    tune,
    validate,
)

INTERRUPTED = 130
WRONG_USAGE = 2

app = typer.Typer(
    add_completion=False,
    name="daybreak",
    help="A laboratory for TCP on networks whose paths change under running connections.",
    epilog="Example: daybreak run scenarios/01-one-flow.toml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    run, sweep, compare, explain, learn, predict, tune, validate, listing, schema, reproduce, agree, bench,
):  # fmt: skip
    command.add_to(app)
app.add_typer(kernel.app, name="kernel")


@app.callback(invoke_without_command=False)
def _program() -> None:
    """A laboratory for TCP on networks whose paths change under running connections."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The program `daybreak`."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    code = _run(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; nothing is left to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    try:
        code = app(args=arguments, prog_name="daybreak", standalone_mode=False)
    except DaybreakError as error:
        return _fail(str(error), error.exit_code, arguments)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", INTERRUPTED, arguments)
    except typer.TyperException as error:
        usage = _usage_sentence(error)
        return _fail(usage, WRONG_USAGE, arguments) if usage else WRONG_USAGE
    except BrokenPipeError:
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _fail(f"{place}{reason(error)}", 1, arguments)
    return code if isinstance(code, int) else 0


def _usage_sentence(error: typer.TyperException) -> str:
    """What is wrong with the words of the command; empty when the help has been shown instead."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    if isinstance(error.__cause__, ValidationError) and parameter is not None:
        name = max(parameter.opts, key=len) if parameter.opts else parameter.name
        return sentence(name, error.__cause__.errors()[0])
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    if not message:
        return ""
    where = f" (see {context.command_path} --help)" if context else ""
    return message[0].lower() + message[1:].rstrip(".") + where


def _fail(sentence: str, code: int, arguments: list[str]) -> int:
    print(f"daybreak: {sentence}", file=sys.stderr)
    if "--json" in arguments:
        print(json.dumps({"error": sentence}))
    return code
