"""Segment by segment: feeds one end of the model what that end on the real kernel has heard, ACKs or data.

In a comparison of whole runs the engines part at the first difference, and the network makes it larger. Here the model
hears exactly what the kernel heard, at the same nanoseconds, so what differs is a decision of its TCP: a sender has to
send the kernel's segments, in the kernel's order, and no other; a receiver its ACKs, with the same windows and blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from daybreak import _native
from daybreak.engines import program, run_many
from daybreak.errors import EngineError, ScenarioError
from daybreak.runs import Run
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower
from daybreak.sweep import claim

from . import conversations, result, scenarios, suite
from .agree import KERNEL, MODEL, Progress
from .compare import MISS, PASS
from .result import Document
from .suite import Case

Side = Literal["sender", "receiver"]
"""The end of a flow that is replayed."""
SIDES: tuple[Side, ...] = ("sender", "receiver")
RESULT = "segments.json"
RECEIVERS = "receivers.json"
COLUMNS = ("scenario", "identical flows", "segments", "retransmissions", "verdict")
"""Of `by_scenario`."""
LEAST_IDENTICAL = {"sender": 0.98, "receiver": 0.99}
"""Part of the flows of the whole suite that must be identical. Every flow of the quick subset must be."""


@dataclass(frozen=True)
class Replayed:
    """One flow of a scenario."""

    scenario: str
    seed: int
    flow: str
    variant: str
    segments: int
    """Segments that the kernel has sent: a sender's with payload, all of a receiver."""
    retransmissions: int
    """Those of them that it had sent before; 0 of a receiver."""
    same: int
    """Segments up to the first that the model has not sent, or not in this place, or of another length; of a receiver,
    or with another acknowledgement, window, echoed timestamp, SACK blocks or flags."""
    other_push: int
    """Those of them whose PSH flag differs; 0 of a receiver."""
    other_time: int
    """Those of them that left at another time, 2 us before or after the kernel's."""
    model: int
    """Segments that the model has sent, counted in the same way."""

    @property
    def is_identical(self) -> bool:
        """Whether both have sent the same segments and no other."""
        return self.same == self.segments == self.model


def replay(
    path: suite.Source = None,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    seeds: Sequence[int] = (1,),
    out: str | Path = "results/agreement",
    workers: int | None = None,
    progress: Progress | None = None,
    engine: str = KERNEL,
    side: Side = "sender",
) -> Document:
    """Replays the scenarios of the suite in `path`, or of the one that comes with Daybreak; writes segments.json, or
    receivers.json of receivers.

    `quick` takes the quick subset, `only` the scenarios whose name fits a pattern; each is run with every seed. A
    scenario in which a host sends more than one flow's segments is left out. `engine` replaces the kernel, for tests.
    Raises ScenarioError, EngineError, OutputError, Interrupted.
    """
    cases = [case for case in suite.chosen(suite.load(path), quick=quick, only=only) if _has_a_flow_a_host(case)]
    if not cases:
        raise ScenarioError(f"only: in every scenario of {', '.join(only)} a host has several flows: expected one each")
    by_name = {case.name: case for case in cases}
    claim(Path(out), "agreement", *result.RESULTS)
    done = run_many(
        [(captured(case, side), seed) for case in cases for seed in seeds],
        engine=engine,
        workers=workers,
        progress=_told(progress, engine),
        reduce=lambda run: list(flows(by_name[run.manifest["name"]], run, side)),
    )
    programs = {name: program(name) for name in dict.fromkeys((MODEL, engine))}
    found = document([flow for flows in done for flow in flows], programs=programs, seeds=seeds, quick=quick, side=side)
    result.write(found, Path(out) / result_name(side))
    return found


def _has_a_flow_a_host(case: Case) -> bool:
    return case.repeat == 1 and not case.reverse


def result_name(side: Side) -> str:
    """The file of the result."""
    return RESULT if side == "sender" else RECEIVERS


def captured(case: Case, side: Side = "sender") -> Scenario:
    """The scenario with both directions of the link of every sender, or of every receiver, captured.

    The jitter, which keeps senders apart, is left on the way out only: so what is captured on the way back tells when
    it arrives.
    """
    end = {"sender": "from", "receiver": "to"}[side]
    document = scenarios.scenario(case).document()
    links: list[dict[str, Any]] = []
    capture: list[str] = []
    for link in document["links"]:
        if not link[end].startswith(side):
            links.append(link)
            continue
        out = link | {"duplex": False, "name": f"{link[end]} out"}
        back = out | {"from": link["to"], "to": link["from"], "name": f"{link[end]} back"}
        back.pop("jitter", None)
        links += [out, back]
        capture += [out["name"], back["name"]]
    document["links"] = links
    document["records"] = {"capture": capture, "drops": False, "circuits": False}
    return Scenario.parse(document, source=f'suite, scenario "{case.name}", captured')


def flows(case: Case, run: Run, side: Side = "sender") -> Iterator[Replayed]:
    """Replays every flow of a run of the captured scenario. Raises EngineError where the capture is not whole."""
    plan = lower(captured(case, side), run.manifest["seed"])
    assert run.capture is not None
    talks = conversations.read(run.capture)
    if len(talks) != len(plan.content.flows):
        raise EngineError(
            f"{case.name}: the capture has {len(talks)} connections, but {len(plan.content.flows)} flows ran"
        )
    for index, (flow, talk) in enumerate(zip(plan.content.flows, talks, strict=True)):
        if side == "sender":
            sent, summary = _native.replay(plan.json, index, talk.sent, talk.heard)
        else:
            sent, summary = _native.answer(plan.json, index, talk.heard, talk.sent)
        names = ("segments", "retransmissions", "same", "other_push", "other_time")
        counts = {name: summary.get(name, 0) for name in names}
        variant = plan.content.rules[flow.rule].name
        seed = run.manifest["seed"]
        yield Replayed(case.name, seed, flow.name, variant, **counts, model=len(sent["seq"]))


def document(
    found: Sequence[Replayed], *, programs: dict[str, str], seeds: Sequence[int], quick: bool, side: Side = "sender"
) -> Document:
    """Everything that was found, for machines."""
    identical = sum(flow.is_identical for flow in found)
    limit = 1.0 if quick else LEAST_IDENTICAL[side]
    return {
        "programs": programs,
        "seeds": list(seeds),
        "identical": identical,
        "limit": limit,
        "verdict": PASS if identical >= limit * len(found) else MISS,
        "segments": sum(flow.segments for flow in found),
        "same": sum(flow.same for flow in found),
        "other_time": sum(flow.other_time for flow in found),
        "retransmissions": sum(flow.retransmissions for flow in found),
        "flows": [asdict(flow) | {"is_identical": flow.is_identical} for flow in found],
    }


def by_scenario(found: Document) -> list[tuple[str, ...]]:
    """A line a scenario; where a flow is not identical, the verdict is where it parts."""
    flows: dict[str, list[Document]] = {}
    for flow in found["flows"]:
        flows.setdefault(flow["scenario"], []).append(flow)
    return [
        (
            name,
            f"{sum(flow['is_identical'] for flow in mine)} of {len(mine)}",
            str(sum(flow["segments"] for flow in mine)),
            str(sum(flow["retransmissions"] for flow in mine)),
            PASS if all(flow["is_identical"] for flow in mine) else _parting(mine),
        )
        for name, mine in flows.items()
    ]


def sentence(found: Document) -> str:
    """What was found, in one sentence."""
    return (
        f"{found['identical']} of {len(found['flows'])} flows are identical over the whole transfer, "
        f"{found['same']} of {found['segments']} segments in all before the first difference, "
        f"{found['same'] - found['other_time']} of them at the same time."
    )


def read(path: Path) -> Document:
    """Reads segments.json. Raises OutputError."""
    return result.read_document(path, "the result of a replay", parts=("flows", "identical"))


def _parting(flows: Sequence[Document]) -> str:
    return ", ".join(
        f"{flow['flow']} parts at segment {flow['same'] + 1} of {flow['segments']} (seed {flow['seed']})"
        for flow in flows
        if not flow["is_identical"]
    )


def _told(progress: Progress | None, engine: str) -> Callable[[float, int], object]:
    def report(now: float, total: int) -> None:
        if progress:
            progress(now, total, f"{engine}, {int(now)} of {total}")

    return report
