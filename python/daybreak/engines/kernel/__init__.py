"""The engine that runs a scenario on the real Linux TCP stack, in virtual time."""

from .chosen import ChosenKernel, chosen
from .run import check, execute, linux, program, ticks, variants

__all__ = ["ChosenKernel", "check", "chosen", "execute", "linux", "program", "ticks", "variants"]
