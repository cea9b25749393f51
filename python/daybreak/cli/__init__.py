"""The command line: one file a sub-command, no logic."""

from __future__ import annotations

import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """The program `daybreak`."""
    try:
        # Loading takes a moment, in which Ctrl-C is as good as later.
        from .main import main as program

        program(arguments)
    except KeyboardInterrupt:
        print("daybreak: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


__all__ = ["main"]
