"""Runs one scenario on one engine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast, get_args

from msgspec.structs import replace

from daybreak.errors import OutputError, PlanError, ScenarioError, UnknownName
from daybreak.plan import types
from daybreak.runs import EngineOutput, Run
from daybreak.runs.naming import with_found
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import Plan, lower
from daybreak.scenario.lowering.names import look_up

ENGINES = {
    "simulated": "Daybreak's packet-level simulator",
    "kernel": "real Linux TCP in virtual time",
}
"""The engines, each with a one-line description; each is a module of this package that implements `Engine`.

A variant of an engine is named after it: `kernel:6.12@250`.
"""

MODELLED: tuple[types.Linux, ...] = get_args(types.Linux)
"""The versions of Linux that are modelled; the first is the default."""


class Progress(NamedTuple):
    """The progress of a run."""

    now_ps: int
    """Simulated time."""
    end_ps: int
    """Latest end of the run."""
    events: int
    """Events processed."""
    flows_complete: int
    """Number of complete flows of limited size."""
    flows_limited: int
    """Number of flows of limited size."""

    @property
    def fraction(self) -> float:
        """The part that is done (0 to 1): by time or by complete flows, whichever is further."""
        flows = self.flows_complete / self.flows_limited if self.flows_limited else 0.0
        return max(self.now_ps / self.end_ps, flows)


OnProgress = Callable[[Progress], object]


class Engine(Protocol):
    """The interface of an engine's module."""

    def variants(self) -> list[str]:
        """The congestion controls that are available here."""

    def ticks(self) -> int | None:
        """Ticks per second of all hosts, if the engine fixes them; `None` if the scenario sets them."""

    def linux(self) -> str | None:
        """The series of Linux of all hosts, such as "6.12", if the engine fixes it; `None` if the scenario sets it."""

    def check(self, plan: Plan) -> None:
        """Raises PlanError for a plan that it cannot run, EngineError where it cannot run any."""

    def execute(self, plan: Plan, progress: OnProgress | None, staging: Path) -> EngineOutput:
        """Runs a plan; an exception raised by `progress` stops it. A capture is written to a folder in `staging`."""

    def program(self, plan: Plan | None = None) -> str:
        """Identifies the program that runs this plan, or plans if none is given. Raises EngineError if it is missing,
        PlanError if it cannot run the plan."""


def run(
    scenario: Scenario,
    engine: str = "simulated",
    seed: int = 1,
    progress: OnProgress | None = None,
    staging: str | Path | None = None,
) -> Run:
    """Runs `scenario` with `seed`. Raises ScenarioError, PlanError or EngineError.

    The packets of a capture are kept in `staging`, by default the system's temporary folder, as long as the run lives;
    `Run.write` saves them, at no cost if `staging` is on the same file system.
    """
    return execute(scenario, lowered(scenario, seed, engine), engine, progress, staging)


def execute(
    scenario: Scenario,
    plan: Plan,
    engine: str,
    progress: OnProgress | None = None,
    staging: str | Path | None = None,
) -> Run:
    """Runs an already lowered plan of `scenario`. Arguments and errors as in `run`."""
    runner = find(engine)
    recorded = runner.execute(plan, progress, Path(staging or tempfile.gettempdir()))
    return Run.of(scenario, plan, engine, runner.program(plan), recorded)


def lowered(scenario: Scenario, seed: int, engine: str) -> Plan:
    """The plan of `scenario` with `seed`, with the engine's congestion controls, ticks and version of Linux.

    Raises ScenarioError, PlanError where a stack has another version of Linux.
    """
    runner = find(engine)
    plan = lower(scenario, seed, runner.variants())
    ticks, linux = runner.ticks(), runner.linux()
    given: dict[str, Any] = {} if ticks is None else {"hz": ticks}
    if linux is not None:
        _refuse_another(linux, [stack.linux for stack in plan.content.stacks])
        given |= {"linux": modelled(engine)}
    stacks = [replace(stack, **given) for stack in plan.content.stacks]
    return plan if stacks == plan.content.stacks else Plan(replace(plan.content, stacks=stacks))


def plan_of(run: Run) -> types.Plan:
    """The plan of a finished run, with the flows that were discovered in it, so that it has every flow of the tables.

    Raises ScenarioError, PlanError, and OutputError if another version of Daybreak made another plan.
    """
    plan = lowered(run.scenario, run.seed, run.manifest["engine"]).content
    connections = run.connections.to_dict(as_series=False) if "connections" in run.manifest["tables"] else None
    found = with_found(plan, connections)
    names = [
        flow.name for number, flow in enumerate(found.flows)
        if number >= len(plan.flows) or not isinstance(flow.application, types.Program)
    ]  # fmt: skip
    if names != run.flows["flow_name"].to_list():
        raise OutputError("the run is of another version of Daybreak: run it again")
    return found


def modelled(engine: str) -> types.Linux:
    """The version of Linux whose model stands beside this engine: the newest that is not newer, else the oldest."""
    linux = find(engine).linux()
    if linux is None:
        return MODELLED[0]
    oldest_first = sorted(MODELLED, key=_in_order)
    return next((one for one in reversed(oldest_first) if _in_order(one) <= _in_order(linux)), oldest_first[0])


def _in_order(version: str) -> tuple[int, ...]:
    """The numbers of a version, which sort as the versions do."""
    return tuple(int(number) for number in version.split("."))


def _refuse_another(linux: str, asked: Sequence[str]) -> None:
    """Raises PlanError if stacks ask for different versions, or for one that is not the kernel's; the default counts as
    none."""
    others = sorted(set(asked) - {MODELLED[0]})
    if len(set(asked)) > 1:
        found = ", ".join(sorted(set(asked)))
        raise PlanError(
            f"the kernel engine cannot run this: linux of the stacks is {found}: all hosts are in one kernel"
        )
    if others and others != [linux]:
        raise PlanError(
            f"the kernel engine cannot run this: linux of the stacks is {others[0]}, and the kernel is Linux {linux}: "
            f"name the kernel with --kernel {others[0]}"
        )


def check(plan: Plan, engine: str) -> None:
    """Raises PlanError for a plan that this engine cannot run, EngineError where it cannot run any."""
    find(engine).check(plan)


def program(engine: str, plan: Plan | None = None) -> str:
    """Identifies an engine's program: another program may run the same plan differently.

    Only what runs this plan counts, and without one what the engine usually runs. Raises EngineError, PlanError.
    """
    return find(engine).program(plan)


def find(name: str) -> Engine:
    """The engine of this name. Raises UnknownName."""
    module = import_module(f"daybreak.engines.{kind(name)}")
    _, colon, which = name.partition(":")
    if not colon:
        return cast(Engine, module)
    if not hasattr(module, "chosen"):
        raise UnknownName(f'engine = "{name}": there is one {kind(name)} engine: expected no colon')
    return cast(Engine, module.chosen(which))


def kind(name: str) -> str:
    """The engine's name without its variant: "kernel" of "kernel:6.12". Raises UnknownName."""
    of, _, _ = name.partition(":")
    look_up(of, list(ENGINES), "engine", "engine")
    return of


def with_kernel(engine: str, kernel: str | None) -> str:
    """The engine's name with the variant given by `--kernel`. Raises UnknownName, ScenarioError."""
    if kernel is None:
        find(engine)
        return engine
    if engine != "kernel":
        raise ScenarioError(f'kernel: "{kernel}" is for engine kernel, and the engine is {engine}')
    named = f"{engine}:{kernel}"
    find(named)
    return named
