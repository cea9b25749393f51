"""The plan: a scenario in its resolved form, as engines read it. Its types are made from the engine's."""

from . import types

__all__ = ["types"]
