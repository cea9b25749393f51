"""Keeps what is observed of every run in a directory named by everything that it depends on.

That is the plan (which has the seed), the engine and the engine's program. A suite that is interrupted goes on where
it was, and a new simulator does not make the kernel's runs again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from daybreak.runs import kept
from daybreak.scenario.lowering import lower

from . import scenarios
from .observed import Observed
from .suite import Case

FORMAT = 1
"""Version of the kept tables; a new one forgets the old ones."""


@dataclass(frozen=True)
class Store:
    """Where observed runs are kept; ``programs`` tells each engine's program from other versions of it."""

    directory: Path
    programs: dict[str, str]

    def place(self, case: Case, engine: str, seed: int) -> Path:
        """The directory of one run."""
        plan = lower(scenarios.scenario(case), seed)
        name = kept.name(seed, FORMAT, plan.hash, engine, self.programs[engine])
        return self.directory / engine / case.name / name

    def has(self, case: Case, engine: str, seed: int) -> bool:
        """Whether the run is kept."""
        return self.place(case, engine, seed).is_dir()

    def put(self, case: Case, engine: str, seed: int, observed: Observed) -> None:
        """Keeps a run: all of it, or nothing."""
        kept.put(self.place(case, engine, seed), {"flows": observed.flows, "curves": observed.curves})

    def get(self, case: Case, engine: str, seed: int) -> Observed:
        """Reads a run that is kept."""
        place = self.place(case, engine, seed)
        return Observed(pl.read_parquet(place / "flows.parquet"), pl.read_parquet(place / "curves.parquet"))
