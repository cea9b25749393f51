"""The engine that runs a scenario on the real Linux TCP stack, in virtual time."""

from .run import execute, program

__all__ = ["execute", "program"]
