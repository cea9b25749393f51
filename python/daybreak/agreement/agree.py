"""Runs a suite on the real kernel and on the simulator, compares them, and writes what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daybreak.engines import program, run_many
from daybreak.errors import ScenarioError

from . import causes, compare, observed, page, result, scenarios, suite, tolerances
from .store import Store
from .suite import Case

KERNEL, MODEL = "kernel", "simulated"
QUICK_RUNS, FULL_RUNS = 3, 8

Progress = Callable[..., object]
"""Told how many runs are done (with fractions), of how many, and on which engine."""
RunMany = Callable[..., list[Any]]
"""`daybreak.engines.run_many`, or what a test puts in its place."""


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
    many: RunMany = run_many,
    programs: dict[str, str] | None = None,
) -> Agreement:
    """Compares both engines on the suite in `path`, or on the one that comes with Daybreak.

    `quick` takes the quick subset, `only` the scenarios whose name fits a pattern as in a shell, `runs` is the number
    of seeds. `many` and `programs` replace the engines and their versions, for tests. Finished runs are kept under
    ``out/runs`` and found again. Raises ScenarioError, EngineError, Interrupted.
    """
    if runs is not None and runs < 1:
        raise ScenarioError(f"runs: {runs} is not above zero")
    cases = suite.chosen(suite.load(path), quick=quick, only=only)
    seeds = range(1, (runs or (QUICK_RUNS if quick else FULL_RUNS)) + 1)
    out = Path(out)
    store = Store(out / "runs", programs or {engine: program(engine) for engine in (KERNEL, MODEL)})
    jobs = {
        engine: [(case, seed) for seed in seeds for case in cases if not store.has(case, engine, seed)]
        for engine in (MODEL, KERNEL)
    }
    total = 2 * len(seeds) * len(cases)
    done = total - sum(map(len, jobs.values()))
    for engine, missing in jobs.items():
        _run(missing, engine, store, many=many, workers=workers, progress=_from(progress, done, total, engine))
        done += len(missing)
    return _compare(cases, seeds, store, out)


def _run(
    jobs: Sequence[tuple[Case, int]], engine: str, store: Store, *, many: RunMany, workers: int | None,
    progress: Callable[[float, int], object],
) -> None:  # fmt: skip
    """Runs the jobs. What is finished is kept whatever happens later."""
    cases = {case.name: case for case, _ in jobs}

    def keep(run: Any) -> None:
        case = cases[run.manifest["name"]]
        bin_ns = int(scenarios.bin_width(case)) // 1000
        store.put(case, engine, run.manifest["seed"], observed.of_run(run, bin_ns))

    pairs = [(scenarios.scenario(case), seed) for case, seed in jobs]
    many(pairs, engine=engine, workers=workers, progress=progress, reduce=keep)


def _from(progress: Progress | None, done: int, total: int, engine: str) -> Callable[[float, int], object]:
    def report(now: float, _: int) -> None:
        if progress:
            progress(done + now, total, f"{engine}, {int(done + now)} of {total}")

    return report


def _compare(cases: Sequence[Case], seeds: Sequence[int], store: Store, out: Path) -> Agreement:
    limits, known = tolerances.load(), causes.load()
    rows: list[compare.Row] = []
    sections: list[page.Section] = []
    for case in cases:
        # A case's runs are read, used and let go: all of them together would not be small.
        kernel, model = ([store.get(case, engine, seed) for seed in seeds] for engine in (KERNEL, MODEL))
        mine = compare.compare(case, kernel, model, limits)
        rows += mine
        sections.append(page.section(case, kernel, model, mine))
    found = result.document(rows, cases, runs=len(seeds), programs=store.programs, tolerances=limits, causes=known)
    result.write(found, out / "agreement.json")
    (out / "index.html").write_text(page.write(found, sections), encoding="utf-8")
    return Agreement(found, out)
