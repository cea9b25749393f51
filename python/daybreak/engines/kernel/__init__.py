"""The engine that runs a scenario on the real Linux TCP stack, in virtual time."""

from .run import check, execute, program, variants

__all__ = ["check", "execute", "program", "variants"]
