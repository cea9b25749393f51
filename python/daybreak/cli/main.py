"""Assembles the sub-commands and turns every user error into one sentence and an exit code."""

from __future__ import annotations

import io
import json
import math
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Annotated

import typer

from daybreak.errors import DaybreakError, reason, shown

from .commands import HELP_NAMES, Commands
from .terminal import complain

INTERRUPTED = 130
WRONG_USAGE = 2
# A shell's exit code for a program that a signal ended.
_SIGNALLED = 128
# Two signals within this time are one request to end.
_SAME_REQUEST_S = 2.0
# What Typer says of a word that is none of the choices.
_NO_CHOICE = re.compile(r"Value error, .* is not one of ('.*')\.", re.DOTALL)

app = typer.Typer(
    name="daybreak",
    cls=Commands,
    help="A laboratory for TCP on networks whose paths change under running connections.",
    epilog="Example: daybreak run scenarios/01-one-flow.toml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings=HELP_NAMES,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # slow to import

        print(f"daybreak {version('daybreak')}")
        raise typer.Exit


@app.callback(invoke_without_command=False)
def _program(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """A laboratory for TCP on networks whose paths change under running connections."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The program `daybreak`."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    received: list[int] = []
    code = _run(arguments, lambda: _take_signals_as_ctrl_c(received))
    if received and code == INTERRUPTED:
        code = _SIGNALLED + received[0]
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has closed it; nothing may be printed any more, not even at exit.
        _discard_output()
    except OSError as error:
        _discard_output()
        code = _fail(f"standard output: {reason(error)}", 1, [])
    sys.exit(code)


def _prepare_streams() -> None:
    """Makes every text printable; replaces a closed standard error, and exits if standard output is closed."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        sys.exit(_fail("standard output is closed", 1, []))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _take_signals_as_ctrl_c(received: list[int]) -> None:
    """Treats signals like Ctrl-C, so that finished work is kept and unfinished work removed when a job times out or its
    terminal closes.

    The numbers of signals other than SIGINT are added to `received`. A signal soon after another one is ignored, since
    it would interrupt the removal of unfinished work and leave a child running.
    """
    raised_at = -math.inf

    def interrupt(number: int, _frame: FrameType | None) -> None:
        nonlocal raised_at
        if number != signal.SIGINT:
            received.append(number)
        now = time.monotonic()
        if now - raised_at > _SAME_REQUEST_S:
            raised_at = now
            raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str], when_loaded: Callable[[], None] | None = None) -> int:
    try:
        code = app(args=arguments, prog_name="daybreak", standalone_mode=False, obj=when_loaded)
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
    if code == INTERRUPTED:
        return _fail("interrupted", INTERRUPTED, arguments)
    return code if isinstance(code, int) else 0


def _usage_sentence(error: typer.TyperException) -> str:
    """The sentence about a usage error; empty if the help has been shown instead."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    if isinstance(error.__cause__, ValueError) and parameter is not None:
        # Imported late: the help needs neither.
        from pydantic import ValidationError

        from daybreak.scenario.problems import sentence

        if isinstance(error.__cause__, ValidationError):
            name = max(parameter.opts, key=len) if parameter.opts else parameter.name
            finding = error.__cause__.errors()[0]
            if choices := _NO_CHOICE.fullmatch(finding["msg"]):
                known = choices[1].replace("'", "")
                return f"{name} = {shown(finding['input'])}: expected one of {known}"
            return sentence(name, finding)
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    # Choices are listed one per line there.
    message = re.sub(r"\n\s*", " ", message).replace(". Choose from: ", ": choose from ")
    if not message:
        return ""
    where = f" (see {context.command_path} --help)" if context else ""
    return message[0].lower() + message[1:].rstrip(".") + where


def _fail(sentence: str, code: int, arguments: list[str]) -> int:
    complain(sentence)
    if "--json" in arguments:
        print(json.dumps({"error": sentence}))
    return code
