"""Compares several kernels on one suite, segment by segment: each with the model, and each pair with each other.

For the model, each end of a flow is replayed (`segments`): the model receives what that kernel's end received. For two
kernels the runs are compared: up to the first segment that differs both have received the same, so this is where they
diverge, and later differences follow from it. Random draws of a congestion rule (BBR's first phase) are each kernel's
own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from daybreak.engines import modelled, program, run_many
from daybreak.engines.kernel import image
from daybreak.engines.kernel.choice import Choice
from daybreak.errors import ScenarioError
from daybreak.runs import Run
from daybreak.sweeps import claim

from . import conversations, result, segments, suite
from .agree import KERNEL, MODEL, Progress
from .conversations import Columns
from .page import label
from .result import Document
from .segments import LeftOut, ReplayResult, Side

PUSH = 8
"""The TCP flag that is counted separately, as in a replay."""
TOLERANCE_NS = 2_000
"""Tolerance within which segments count as sent at the same time, as in a replay."""
_APART = ("time_ns", "ts_val", "flags", "ts_ecr")


@dataclass(frozen=True)
class End:
    """One end of a flow in a run with one kernel."""

    scenario: str
    seed: int
    flow: str
    side: Side
    replayed: ReplayResult | LeftOut
    fct_ns: int | None
    """`None` for a flow that did not end."""
    said: np.ndarray[Any, np.dtype[np.uint64]]
    """One number per sent segment, equal for equal segments."""
    times_ns: np.ndarray[Any, np.dtype[np.int64]]

    @property
    def key(self) -> tuple[str, int, str, Side]:
        """Identifies the end across kernels."""
        return self.scenario, self.seed, self.flow, self.side


def engine_of(kernel: str) -> str:
    """The engine's name for a kernel of `--kernels`."""
    return f"{KERNEL}:{kernel}"


def compare(
    kernels: Sequence[str],
    path: suite.Source = None,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    seeds: Sequence[int] = (1,),
    out: str | Path = "results/agreement",
    workers: int | None = None,
    progress: Progress | None = None,
    sides: Sequence[Side] = segments.SIDES,
    hz: int | None = None,
    tso_max_bytes: int | None = None,
    engines: Sequence[str] | None = None,
) -> Document:
    """Runs the suite with each of the `kernels` ("6.1", "6.12@250"); writes kernels.json.

    The other arguments are those of `segments.replay`; `engines` replaces the kernels' engines, for tests. Raises
    ScenarioError, UnknownName, EngineError, OutputError, Interrupted.
    """
    check(kernels)
    names = list(engines or map(engine_of, kernels))
    cases = segments.replayable(path, quick=quick, only=only, hz=hz, tso_max_bytes=tso_max_bytes)
    programs = {name: program(name) for name in (*names, MODEL)}
    claim(Path(out), "agreement", *result.RESULTS)
    jobs = [(segments.captured(case), seed) for case in cases for seed in seeds]
    found: dict[str, dict[tuple[str, int, str, Side], End]] = {}
    for number, name in enumerate(names):
        done = run_many(
            jobs, engine=name, workers=workers, progress=_progress_of(progress, name, number, len(names)),
            reduce=lambda run: list(_ends(run, sides)),
        )  # fmt: skip
        found[name] = {end.key: end for ends in done for end in ends}
    document = _document(found, programs=programs, seeds=seeds)
    result.write(document, Path(out) / result.KERNELS)
    return document


def check(kernels: Sequence[str]) -> None:
    """Raises ScenarioError unless these are at least two distinct kernels, UnknownName for one that is none, and
    NoImage for one without an image."""
    if len(set(kernels)) < max(2, len(kernels)) or not all(kernels):
        raise ScenarioError(f"kernels: {','.join(kernels)}: expected two different ones or more, such as 6.1,6.12")
    for kernel in kernels:
        image.find(Choice.parse(kernel))


def _ends(run: Run, sides: Sequence[Side]) -> Iterator[End]:
    """The ends of a run's flows, with their replay and their segments as numbers."""
    fcts = dict(run.flows.select("flow_name", "fct_ns").iter_rows())
    for side in sides:
        for one, talk in segments.replays(run, side):
            empty: Columns = {name: np.zeros(0, np.uint64) for name in conversations.NAMES}
            sent, received = (empty, empty) if talk is None else (talk.sent, talk.received)
            if side == "receiver":
                sent, received = received, sent
            times_ns = sent["time_ns"].astype(np.int64)
            yield End(one.scenario, one.seed, one.flow, side, one, fcts[one.flow], numbers(sent, received), times_ns)


def numbers(sent: Columns, received: Columns) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """A number a sent segment, of all that a replay compares: equal for equal segments, whatever either kernel has
    drawn for the timestamps of a connection."""
    # An echo counts from the first timestamp that was received.
    first = received["ts_val"][0] if len(received["ts_val"]) else np.uint64(0)
    echo = np.where(sent["ts_ecr"] == 0, 0, (sent["ts_ecr"] - first) & np.uint64(0xFFFF_FFFF)).astype(np.uint64)
    columns = [sent[name] for name in conversations.NAMES if name not in _APART]
    columns += [sent["flags"] & np.uint64(0xFF ^ PUSH), echo, (sent["ts_val"] != 0).astype(np.uint64)]
    mixed = np.zeros(len(sent["time_ns"]), np.uint64)
    for column in columns:
        # Wraps around: a multiplicative hash.
        mixed = (mixed ^ (mixed >> np.uint64(29)) ^ column) * np.uint64(0x9E37_79B9_7F4A_7C15) + np.uint64(1)
    return mixed


def _document(
    found: Mapping[str, Mapping[tuple[str, int, str, Side], End]], *, programs: Mapping[str, str], seeds: Sequence[int]
) -> Document:
    ends = list(dict.fromkeys(key for by in found.values() for key in by))
    return {
        "programs": dict(programs),
        "kernels": list(found),
        "modelled": {name: modelled(name) for name in found},
        "seeds": list(seeds),
        "ends": [_row([by.get(key) for by in found.values()], key, list(found)) for key in ends],
    }


def _row(ends: Sequence[End | None], key: tuple[str, int, str, Side], names: Sequence[str]) -> Document:
    scenario, seed, flow, side = key
    by = dict(zip(names, ends, strict=True))
    return {
        "scenario": scenario, "seed": seed, "flow": flow, "side": side,
        "model": {
            name: asdict(end.replayed) | {"is_identical": _is_the_models(end)} for name, end in by.items() if end
        },
        "fct_ns": {name: end.fct_ns if end else None for name, end in by.items()},
        "between": [
            {"first": one, "second": two} | between(by[one], by[two]) for one, two in itertools.combinations(names, 2)
        ],
    }  # fmt: skip


def _is_the_models(end: End) -> bool:
    return isinstance(end.replayed, ReplayResult) and end.replayed.is_identical


def between(one: End | None, two: End | None) -> Document:
    """How far two kernels send the same segments: the number before the first difference, and whether they are
    identical."""
    if one is None or two is None:
        return {"same": 0, "other_time": 0, "is_identical": False}
    least = min(len(one.said), len(two.said))
    different = np.flatnonzero(one.said[:least] != two.said[:least])
    same = int(different[0]) if len(different) else least
    apart = np.abs(one.times_ns[:same] - two.times_ns[:same]) > TOLERANCE_NS
    identical = same == len(one.said) == len(two.said)
    return {"same": same, "other_time": int(apart.sum()), "is_identical": identical}


def columns(found: Document) -> tuple[str, ...]:
    """Of `by_scenario`."""
    names = [label(name) for name in found["kernels"]]
    pairs = [f"{one} = {two}" for one, two in itertools.combinations(names, 2)]
    first, *others = names
    costs = [f"FCT, {other} / {first}" for other in others]
    return ("scenario", "ends", *(f"{name} = model" for name in names), *pairs, *costs)


def by_scenario(found: Document, *, all_: bool = False) -> list[tuple[str, ...]]:
    """One line per scenario with differences, or per scenario with `all_`; the last line sums up all scenarios."""
    scenarios: dict[str, list[Document]] = {}
    for end in found["ends"]:
        scenarios.setdefault(end["scenario"], []).append(end)
    lines = [_line(found, name, ends) for name, ends in scenarios.items() if all_ or not all(map(_is_one, ends))]
    return [*lines, _line(found, "all", found["ends"])]


def _is_one(end: Document) -> bool:
    return all(pair["is_identical"] for pair in end["between"]) and all(
        one["is_identical"] for one in end["model"].values()
    )


def _line(found: Document, name: str, ends: Sequence[Document]) -> tuple[str, ...]:
    kernels = found["kernels"]
    models = [sum(end["model"].get(kernel, {}).get("is_identical", False) for end in ends) for kernel in kernels]
    pairs = [sum(end["between"][i]["is_identical"] for end in ends) for i in range(len(ends[0]["between"]))]
    costs = [_cost(ends, kernels[0], other) for other in kernels[1:]]
    return (name, str(len(ends)), *map(str, models), *map(str, pairs), *costs)


def _cost(ends: Sequence[Document], first: str, other: str) -> str:
    """The mean ratio of completion times, over flows that end with both kernels."""
    flows = {(end["scenario"], end["seed"], end["flow"]): end["fct_ns"] for end in ends}
    ratios = [fct[other] / fct[first] for fct in flows.values() if fct[first] and fct[other]]
    return f"{sum(ratios) / len(ratios):.4f}" if ratios else "-"


def _progress_of(progress: Progress | None, name: str, number: int, of: int) -> Any:
    def report(now: float, total: int) -> None:
        if progress:
            progress(number * total + now, of * total, f"{label(name)}, {int(now)} of {total}")

    return report
