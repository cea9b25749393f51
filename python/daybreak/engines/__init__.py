"""Engines: each runs a plan and fills the same tables. One that cannot do what a scenario asks refuses by name."""

from .pool import run_many, side_by_side
from .single import ENGINES, MODELLED, Progress, check, kind, lowered, modelled, program, run, with_kernel

__all__ = [
    "ENGINES", "MODELLED", "Progress", "check", "kind", "lowered", "modelled", "program", "run", "run_many",
    "side_by_side", "with_kernel",
]  # fmt: skip
