"""The command line: one file a sub-command, no logic."""

from .main import main

__all__ = ["main"]
