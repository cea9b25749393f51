"""Engines: each runs a plan and fills the same tables. An engine that lacks what a scenario needs refuses by name."""

from .pool import run_many, side_by_side
from .single import ENGINES, MODELLED, Progress, check, kind, lowered, modelled, plan_of, program, run, with_kernel

__all__ = [
    "ENGINES", "MODELLED", "Progress", "check", "kind", "lowered", "modelled", "plan_of", "program", "run",
    "run_many", "side_by_side", "with_kernel",
]  # fmt: skip
