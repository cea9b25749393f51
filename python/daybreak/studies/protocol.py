"""The parts of a study: settings, evidence, claims, figures and a page, each as data or as functions.

A study is a folder with a module `study`, whose ``STUDY`` combines these, and data files beside it:

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
    """One point of a study's parameter space; equal settings are run once."""

    @property
    def name(self) -> str:
        """Unique name, for tables."""


class Scale(Protocol):
    """The size of a reproduction: a dataclass of the study's own sizes and numbers.

    They may be varied (`sensitivity`), and are inserted into the text of its page.
    """

    @property
    def runs(self) -> int:
        """Number of runs of each setting, or of most settings."""

    def runs_of(self, setting: Any) -> int:
        """Number of runs of a setting."""

    def with_runs(self, runs: int) -> Self:
        """A copy with ``runs`` runs of every setting."""


class Measurements(Protocol):
    """The measurements from the runs of one setting."""

    @property
    def flows(self) -> pl.DataFrame:
        """The flows of all runs, as from `metrics.fct.table`, with ``run`` (the seed)."""


S = TypeVar("S", bound=Setting)
C = TypeVar("C", bound=Scale)
M = TypeVar("M", bound=Measurements)


@dataclass(frozen=True)
class Experiment(Generic[S, C, M]):
    """One value of `--figure`: a figure or table of the publication with its settings, claims and drawings."""

    settings: Callable[[C], Sequence[S]]
    """The settings that it needs."""
    judge: Callable[[Scoreboard, Mapping[S, M], C], None] = lambda board, measured, scale: None
    """Judges its claims by the measurements."""
    draw: Callable[[Mapping[S, M], C, PublishedValues], Mapping[str, Figure]] = lambda measured, scale, published: {}
    """Draws its figures; returns them by file name."""
    tables: Callable[[Mapping[S, M], C], Mapping[str, pl.DataFrame]] = lambda measured, scale: {}
    """Its tables besides those that every study has, by file name."""
    of_model: bool = False
    """Whether it is about the simulator's own hosts, such as beside real ones: no other engine can run it instead."""


@dataclass(frozen=True)
class Study(Generic[S, C, M]):
    """A published experiment that can be run here."""

    name: str
    folder: Traversable
    """The folder of its data files."""
    scales: Mapping[str, C]
    """The sizes of ``--quick`` and ``--full``, by "quick" and "full"."""
    experiments: Mapping[str, Experiment[S, C, M]]
    """The experiments by value of `--figure`, in the order of the page."""
    job: Callable[[S, int, str], Job]
    """The job of a setting with a seed, on the given engine unless the setting has its own."""
    reduction: Reduction
    """The reduction of each run."""
    measured: Callable[[S, Mapping[int, Tables]], M]
    """Combines the stored tables of a setting's runs, by seed."""
    cost: Callable[[S], float] = lambda _: 0.0
    """How long a run of a setting takes, in any unit: the longest are run first."""
    again: Callable[[S, Path], Mapping[int, Tables]] | None = None
    """What the tables of a result in a folder have of the runs of a setting, by seed, for studies that can be judged
    from these again."""

    @property
    def figures(self) -> tuple[str, ...]:
        """The values of `--figure`."""
        return tuple(self.experiments)

    def figures_of(self, engine: str) -> tuple[str, ...]:
        """Those that an engine can run."""
        simulated = kind(engine) == "simulated"
        return tuple(name for name, one in self.experiments.items() if simulated or not one.of_model)

    def settings(self, scale: C, figures: Sequence[str] = ()) -> list[S]:
        """The settings of all experiments, or of those in ``figures``, each once."""
        wanted = figures or self.figures
        return list(dict.fromkeys(setting for figure in wanted for setting in self.experiments[figure].settings(scale)))

    def published(self) -> PublishedValues:
        """The published values."""
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
        """The inferences."""
        return load_inferences(self.folder.joinpath("inferences.toml"))


AnyStudy = Study[Any, Any, Any]
"""A study with any type of settings."""
