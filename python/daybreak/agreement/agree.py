"""Runs a suite on the real kernel and on the simulator, compares them, and writes the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from daybreak.engines import MODELLED, check, lowered, modelled, program
from daybreak.errors import PlanError, ScenarioError
from daybreak.scenario.lowering import Plan
from daybreak.sweeps import Executor, Job, Local, Store, claim, execute

from . import causes, compare, page, result, scenarios, suite, tolerances
from .observed import REDUCTION, Observation
from .suite import Case

KERNEL, MODEL = "kernel", "simulated"
Engines = tuple[str, str]
"""The engines that are compared: the reference, usually the kernel, and the one whose differences from it are taken."""
QUICK_RUNS, FULL_RUNS, MOST_RUNS = 3, 8, 100

Progress = Callable[..., object]
"""Called with the number of finished runs (may be fractional), the total, and the engine."""


@dataclass(frozen=True)
class Agreement:
    """The result of a comparison."""

    result: result.Document
    """The content of agreement.json."""
    directory: Path
    """The folder of agreement.json, index.html and the stored runs."""

    @property
    def is_reached(self) -> bool:
        """Whether no target is missed."""
        return all(target["verdict"] != compare.MISS for target in self.result["targets"])


def agree(
    path: suite.Source = None,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    runs: int | None = None,
    most: int | None = None,
    out: str | Path = "results/agreement",
    workers: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    programs: dict[str, str] | None = None,
    engines: Engines = (KERNEL, MODEL),
    kept: str | Path | None = None,
    hz: int | None = None,
    tso_max_bytes: int | None = None,
) -> Agreement:
    """Compares both engines on the suite in `path`, a file or a list of cases, or on the one that comes with Daybreak.

    `quick` selects the quick subset, `only` the scenarios whose name matches one of these shell patterns; `runs` is the
    initial number of seeds. Scenarios with a row that is neither equivalent nor different are run with more seeds, up
    to `most`: 100 if neither is given and not `quick`. A scenario that an engine refuses is listed as such. `executor`
    and `programs` replace the `workers` threads and the engines' programs. `engines` replaces the pair of engines, for
    example by two kernels; `hz` and `tso_max_bytes` override these settings of the hosts. Finished runs are stored in
    ``kept``, by default ``out/runs``, and reused. Raises ScenarioError, EngineError, Interrupted.
    """
    if runs is not None and runs < 1:
        raise ScenarioError(f"runs: {runs} is not above zero")
    first = runs or (QUICK_RUNS if quick else FULL_RUNS)
    most = max(first, most or (first if quick or runs else MOST_RUNS))
    out = Path(out)
    claim(out, "agreement", *result.RESULTS)
    usual = programs or {engine: program(engine) for engine in engines}
    store = Store(Path(kept or out / "runs"), REDUCTION, program if programs is None else _given(programs))
    suites = _Suites(store, executor or Local(workers), progress, engines, usual)
    # Where programs are replaced, so are the engines.
    able = engines[::-1] if programs is None else (MODEL,)
    chosen = suite.chosen(suite.load(path), quick=quick, only=only)
    chosen = suite.with_stack(chosen, hz=hz, tso_max_bytes=tso_max_bytes)
    cases, refused = _possible(_beside(chosen, engines) if programs is None else chosen, able)
    found: dict[str, list[compare.Row]] = {}
    counts = dict.fromkeys((case.name for case in cases), first)
    undecided = cases
    while undecided:
        suites.run(undecided, counts)
        for case in undecided:
            kernel, model = suites.observed(case, counts[case.name])
            found[case.name] = compare.compare(case, kernel, model, suites.limits)
        rows = compare.judged([row for case in cases for row in found[case.name]])
        open_rows = {row.scenario for row in rows if row.judgement == "undecided"}
        undecided = [case for case in cases if case.name in open_rows and counts[case.name] < most]
        counts |= {case.name: min(2 * counts[case.name], most) for case in undecided}
    return suites.write(
        cases, refused, counts, out, compare.judged([row for case in cases for row in found[case.name]])
    )


def _given(programs: Mapping[str, str]) -> Callable[[str, Plan], str]:
    """The engines' programs whatever the plan."""
    return lambda engine, _: programs[engine]


def _beside(cases: Sequence[Case], engines: Engines) -> list[Case]:
    """The cases with the kernel's version of Linux, if the model is compared with a kernel."""
    versions = {modelled(engine) for engine in engines if engine != MODEL}
    if MODEL not in engines or versions == {MODELLED[0]}:
        return list(cases)
    given = {"linux": versions.pop()}
    return [case.model_copy(update={"stack": case.stack | given}) for case in cases]


def _possible(cases: Sequence[Case], engines: Sequence[str]) -> tuple[list[Case], dict[str, str]]:
    """The cases that both engines can run, and the reasons why others cannot be run."""
    possible, refused = list[Case](), dict[str, str]()
    for case in cases:
        try:
            scenario = scenarios.scenario(case)
            for engine in engines:
                check(lowered(scenario, 1, engine), engine)
        except (ScenarioError, PlanError) as error:
            refused[case.name] = str(error)
        else:
            possible.append(case)
    return possible, refused


class _Suites:
    """Runs cases on both engines, and reads what is stored of them."""

    def __init__(
        self, store: Store, executor: Executor, progress: Progress | None, engines: Engines,
        programs: Mapping[str, str],
    ):  # fmt: skip
        self._store, self._executor, self._progress, self._engines = store, executor, progress, engines
        self._programs = programs
        self.limits = tolerances.load()

    def run(self, cases: Sequence[Case], counts: Mapping[str, int]) -> None:
        """Runs each case with the number of seeds in `counts`; stored runs are reused."""
        each = sum(counts[case.name] for case in cases)
        for number, engine in enumerate(self._engines[::-1]):
            jobs = [
                Job(scenarios.scenario(case), seed, engine)
                for case in cases
                for seed in range(1, counts[case.name] + 1)
            ]
            report = _from(self._progress, number * each, 2 * each, engine)
            execute(jobs, self._store, executor=self._executor, progress=report)

    def observed(self, case: Case, runs: int) -> tuple[list[Observation], list[Observation]]:
        """The runs of a case on both engines, read case by case since all runs together would not be small."""
        scenario = scenarios.scenario(case)

        def of(engine: str) -> list[Observation]:
            return [Observation(**self._store.get(Job(scenario, seed, engine)).tables) for seed in range(1, runs + 1)]

        first, second = self._engines
        return of(first), of(second)

    def write(
        self, cases: Sequence[Case], refused: Mapping[str, str], counts: Mapping[str, int], out: Path,
        rows: Sequence[compare.Row],
    ) -> Agreement:  # fmt: skip
        """Writes agreement.json and the page."""
        sections = [
            page.section(
                case, *self.observed(case, counts[case.name]), [row for row in rows if row.scenario == case.name]
            )
            for case in cases
        ]
        runs = (min(counts.values(), default=0), max(counts.values(), default=0))
        found = result.document(
            rows, cases, runs=runs, programs=self._programs, tolerances=self.limits, causes=causes.load(),
            refused=refused, engines=self._engines,
        )  # fmt: skip
        result.write(found, out / "agreement.json")
        (out / "index.html").write_text(page.write(found, sections), encoding="utf-8")
        return Agreement(found, out)


def _from(progress: Progress | None, before: int, total: int, engine: str) -> Callable[[float, int | None], object]:
    def report(now: float, _: int | None) -> None:
        if progress:
            progress(before + now, total, engine)

    return report
