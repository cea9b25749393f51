"""Runs a suite on the real kernel and on the simulator, compares them, and writes what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from daybreak.engines import program
from daybreak.errors import ScenarioError
from daybreak.sweep import Executor, Job, Local, Store, claim, execute

from . import causes, compare, page, result, scenarios, suite, tolerances
from .observed import REDUCTION, Observed
from .suite import Case

KERNEL, MODEL = "kernel", "simulated"
QUICK_RUNS, FULL_RUNS = 3, 8

Progress = Callable[..., object]
"""Told how many runs are done (with fractions), of how many, and on which engine."""


@dataclass(frozen=True)
class Agreement:
    """What a comparison found."""

    result: result.Document
    """The content of agreement.json."""
    directory: Path
    """Where agreement.json, index.html and the kept runs are."""

    @property
    def is_reached(self) -> bool:
        """Whether no target is missed."""
        return all(target["verdict"] != compare.MISS for target in self.result["targets"])


def agree(
    path: str | Path | None = None,
    *,
    quick: bool = False,
    only: str | None = None,
    runs: int | None = None,
    out: str | Path = "results/agreement",
    workers: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    programs: dict[str, str] | None = None,
) -> Agreement:
    """Compares both engines on the suite in `path`, or on the one that comes with Daybreak.

    `quick` takes the quick subset, `only` the scenarios whose name fits a pattern as in a shell, `runs` is the number
    of seeds. `executor` and `programs` replace the `workers` threads and the engines' programs. Finished runs are kept
    under ``out/runs`` and found again. Raises ScenarioError, EngineError, Interrupted.
    """
    if runs is not None and runs < 1:
        raise ScenarioError(f"runs: {runs} is not above zero")
    cases = suite.chosen(suite.load(path), quick=quick, only=only)
    seeds = range(1, (runs or (QUICK_RUNS if quick else FULL_RUNS)) + 1)
    out = Path(out)
    claim(out, "agreement", *result.RESULTS)
    store = Store(out / "runs", REDUCTION, programs or {engine: program(engine) for engine in (KERNEL, MODEL)})
    each = len(seeds) * len(cases)
    for number, engine in enumerate((MODEL, KERNEL)):
        jobs = [Job(scenarios.scenario(case), seed, engine) for seed in seeds for case in cases]
        execute(
            jobs, store, executor=executor or Local(workers), progress=_from(progress, number * each, 2 * each, engine)
        )
    return _compare(cases, seeds, store, out)


def _from(progress: Progress | None, before: int, total: int, engine: str) -> Callable[[float, int | None], object]:
    def report(now: float, _: int | None) -> None:
        if progress:
            progress(before + now, total, f"{engine}, {int(before + now)} of {total}")

    return report


def _compare(cases: Sequence[Case], seeds: Sequence[int], store: Store, out: Path) -> Agreement:
    limits, known = tolerances.load(), causes.load()
    rows: list[compare.Row] = []
    sections: list[page.Section] = []
    for case in cases:
        # A case's runs are read, used and let go: all of them together would not be small.
        scenario = scenarios.scenario(case)
        kernel, model = (
            [Observed(**store.get(Job(scenario, seed, engine)).tables) for seed in seeds] for engine in (KERNEL, MODEL)
        )
        mine = compare.compare(case, kernel, model, limits)
        rows += mine
        sections.append(page.section(case, kernel, model, mine))
    found = result.document(rows, cases, runs=len(seeds), programs=store.programs, tolerances=limits, causes=known)
    result.write(found, out / "agreement.json")
    (out / "index.html").write_text(page.write(found, sections), encoding="utf-8")
    return Agreement(found, out)
