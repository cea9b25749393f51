"""What a study is: settings, evidence, claims, figures and a page, each as data or as functions of its own.

A study is a folder with a module `study`, whose ``STUDY`` puts these together, and data files beside it:

- ``published.toml`` or ``published.csv``: what was printed (`published`);
- ``page.toml``: the words of its page (`page`);
- ``inferences.toml``: what it needs and the publication does not give (`inferences`);
- ``explanations.toml``, where claims miss: why, by claim id; ``explanations-kernel.toml`` where it is on the kernel
  engine that they do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

import polars as pl
from matplotlib.figure import Figure

from daybreak.engines import kind
from daybreak.studies.inferences import Inference, load_inferences
from daybreak.studies.published import PublishedValues, load_explanations, load_published
from daybreak.studies.scoreboard import Scoreboard
from daybreak.sweeps import Job, Reduction, Tables


class Setting(Protocol, Hashable):
    """One point of what a study varies; equal settings are run once."""

    @property
    def name(self) -> str:
        """Unique name, for tables."""


class Scale(Protocol):
    """How large a reproduction is: a dataclass of the study's own sizes and numbers.

    They may be varied (`sensitivity`), and stand in the words of its page.
    """

    @property
    def runs(self) -> int:
        """Runs of each setting, or of most."""

    def runs_of(self, setting: Any) -> int:
        """Runs of a setting."""

    def with_runs(self, runs: int) -> Self:
        """The same with so many runs of every setting."""


class Measured(Protocol):
    """What the runs of one setting have shown."""

    @property
    def flows(self) -> pl.DataFrame:
        """The flows of all runs as `metrics.fct.table` has them, with ``run`` (the seed)."""


S = TypeVar("S", bound=Setting)
C = TypeVar("C", bound=Scale)
M = TypeVar("M", bound=Measured)


@dataclass(frozen=True)
class Experiment(Generic[S, C, M]):
    """What `--figure` takes: a figure or a table of the publication with its settings, claims and drawings."""

    settings: Callable[[C], Sequence[S]]
    """What it needs to have been run."""
    judge: Callable[[Scoreboard, Mapping[S, M], C], None] = lambda board, measured, scale: None
    """Makes its claims of what was measured in these settings."""
    draw: Callable[[Mapping[S, M], C, PublishedValues], Mapping[str, Figure]] = lambda measured, scale, published: {}
    """Draws its figures, by file name."""
    tables: Callable[[Mapping[S, M], C], Mapping[str, pl.DataFrame]] = lambda measured, scale: {}
    """Its tables besides those that every study has, by file name."""
    of_model: bool = False
    """Whether it is about the simulator's own hosts, such as beside real ones: no other engine can run it instead."""


@dataclass(frozen=True)
class Study(Generic[S, C, M]):
    """A published experiment that can be run here."""

    name: str
    folder: Traversable
    """Where its data files are."""
    scales: Mapping[str, C]
    """The sizes of ``--quick`` and ``--full``, by "quick" and "full"."""
    experiments: Mapping[str, Experiment[S, C, M]]
    """By what `--figure` takes, in the order of the page."""
    job: Callable[[S, int, str], Job]
    """A run of a setting with a seed, on the engine that was asked for, or on that of a setting that has its own."""
    reduction: Reduction
    """What is kept of each run."""
    measured: Callable[[S, Mapping[int, Tables]], M]
    """Puts together what was kept of the runs of a setting, by seed."""
    cost: Callable[[S], float] = lambda _: 0.0
    """How long a run of a setting takes, in any unit: the longest are run first."""
    again: Callable[[S, Path], Mapping[int, Tables]] | None = None
    """What the tables of a result in a folder have of the runs of a setting, by seed, for studies that can be judged
    from these again."""

    @property
    def figures(self) -> tuple[str, ...]:
        """What `--figure` takes."""
        return tuple(self.experiments)

    def figures_of(self, engine: str) -> tuple[str, ...]:
        """Those that an engine can run."""
        simulated = kind(engine) == "simulated"
        return tuple(name for name, one in self.experiments.items() if simulated or not one.of_model)

    def settings(self, scale: C, figures: Sequence[str] = ()) -> list[S]:
        """The settings of all experiments, or of some, each once."""
        wanted = figures or self.figures
        return list(dict.fromkeys(setting for figure in wanted for setting in self.experiments[figure].settings(scale)))

    def published(self) -> PublishedValues:
        """What was printed."""
        files = [self.folder.joinpath(f"published.{kind}") for kind in ("toml", "csv")]
        found: PublishedValues = {}
        for path in files:
            if path.is_file():
                found |= load_published(path)
        return found

    def explanations(self, engine: str = "simulated") -> dict[str, str]:
        """Why claims miss that an engine's runs have made, by claim id."""
        own = self.folder.joinpath(f"explanations-{kind(engine)}.toml")
        return load_explanations(own if own.is_file() else self.folder.joinpath("explanations.toml"))

    def inferences(self) -> tuple[Inference, ...]:
        """What the publication does not give."""
        return load_inferences(self.folder.joinpath("inferences.toml"))


AnyStudy = Study[Any, Any, Any]
"""A study, whatever its settings are."""
