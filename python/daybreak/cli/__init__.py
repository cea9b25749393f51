"""The command line: one file per sub-command, no logic."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from types import FrameType

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """The program `daybreak`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from .main import main as program  # takes a moment

    try:
        program(arguments)
    finally:
        # Only the interpreter's shutdown follows.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end(_number: int, _frame: FrameType | None) -> None:
    """Handles Ctrl-C while modules are loaded: there is nothing to keep, and an import may turn the exception into
    another."""
    os.write(2, b"daybreak: interrupted\n")
    os._exit(INTERRUPTED)


__all__ = ["main"]
