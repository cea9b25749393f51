"""Compares segment by segment: feeds one end of the model the segments that the real kernel's end received.

In a comparison of whole runs the engines diverge at the first difference, and the network amplifies it. Here the model
receives exactly what the kernel received, at the same nanosecond, and its application makes the same calls, so any
difference is a decision of its TCP: each end has to send the kernel's segments, in the kernel's order, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from daybreak import _native
from daybreak.engines import kind, lowered, modelled, program, run_many
from daybreak.errors import ScenarioError
from daybreak.runs import Run
from daybreak.scenario import Scenario
from daybreak.sweeps import claim

from . import conversations, result, scenarios, suite
from .agree import KERNEL, MODEL, Progress
from .compare import MISS, PASS
from .conversations import Conversation
from .result import Document
from .suite import Case

Side = Literal["sender", "receiver"]
"""The end of a flow that is replayed: the one that opens the connection and sends, or requests; or the other one."""
SIDES: tuple[Side, ...] = ("sender", "receiver")
RESULT = "segments.json"
RECEIVERS = "receivers.json"
COLUMNS = ("scenario", "identical flows", "segments", "retransmissions", "verdict")
"""Of `by_scenario`."""
LEAST_IDENTICAL = 0.997
"""Share of the suite's flows that must be identical. In the quick subset every flow must be."""
FIRST_PORT = {MODEL: 10_000, KERNEL: 5_000}
"""Port of the first flow's opener; later flows count up from it on both engines."""


@dataclass(frozen=True)
class ReplayResult:
    """The replay of one end of a flow."""

    scenario: str
    seed: int
    flow: str
    variant: str
    segments: int
    """Number of segments that the kernel's end sent."""
    retransmissions: int
    """Number of those with retransmitted payload."""
    same: int
    """Number of segments before the first that the model did not send at this position, or sent with another sequence
    number, payload, acknowledgement, window, echoed timestamp, SACK blocks, flags, options or ECN field."""
    other_push: int
    """Number of those whose PSH flag differs."""
    other_time: int
    """Number of those sent at another time, 2 us or more before or after the kernel's."""
    model: int
    """Number of segments that the model sent."""

    @property
    def is_identical(self) -> bool:
        """Whether both sent the same segments and no others."""
        return self.same == self.segments == self.model


@dataclass(frozen=True)
class LeftOut:
    """An end that neither received nor sent anything."""

    scenario: str
    seed: int
    flow: str
    why: str


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
    sides: Sequence[Side] = SIDES,
    hz: int | None = None,
    tso_max_bytes: int | None = None,
) -> dict[Side, Document]:
    """Replays the scenarios of the suite in `path`, or of the one that comes with Daybreak; writes segments.json of
    senders, receivers.json of receivers.

    `quick` selects the quick subset, `only` the scenarios whose name matches a pattern; each is run with every seed. A
    scenario in which a host has more than one flow is left out. `engine` replaces the kernel, for tests; `hz` and
    `tso_max_bytes` override these settings of the hosts. Raises ScenarioError, EngineError, OutputError, Interrupted.
    """
    cases = replayable(path, quick=quick, only=only, hz=hz, tso_max_bytes=tso_max_bytes)
    claim(Path(out), "agreement", *result.RESULTS)
    done = run_many(
        [(captured(case), seed) for case in cases for seed in seeds],
        engine=engine,
        workers=workers,
        progress=_progress_of(progress, engine),
        reduce=lambda run: {side: list(flows(run, side)) for side in sides},
    )
    programs = {name: program(name) for name in dict.fromkeys((MODEL, engine))}
    found: dict[Side, Document] = {}
    for side in sides:
        ends = [end for run in done for end in run[side]]
        found[side] = document(ends, programs=programs, seeds=seeds, quick=quick) | {"linux": modelled(engine)}
        result.write(found[side], Path(out) / result_name(side))
    return found


def replayable(path: suite.Source, *, quick: bool, only: Sequence[str], **stack: int | None) -> list[Case]:
    """The scenarios of a suite in which each host has one flow, with these settings of the hosts where they are given.

    Raises ScenarioError if there is none.
    """
    cases = [case for case in suite.chosen(suite.load(path), quick=quick, only=only) if _has_a_flow_a_host(case)]
    if not cases:
        raise ScenarioError(f"only: in every scenario of {', '.join(only)} a host has several flows: expected one each")
    return suite.with_stack(cases, **stack)


def _has_a_flow_a_host(case: Case) -> bool:
    return case.repeat == 1 and not case.reverse


def result_name(side: Side) -> str:
    """Name of the result's file."""
    return RESULT if side == "sender" else RECEIVERS


def captured(case: Case) -> Scenario:
    """The scenario with both directions of every host's link captured.

    The jitter, which desynchronises senders, stays on the outgoing links only, so a packet captured on the way to a
    host arrives at a known time.
    """
    document = scenarios.scenario(case).document()
    links: list[dict[str, Any]] = []
    capture: list[str] = []
    for link in document["links"]:
        host = next((link[end] for end in ("from", "to") if link[end].startswith(SIDES)), None)
        if host is None:
            links.append(link)
            continue
        switch = link["to"] if link["from"] == host else link["from"]
        leaving = link | {"duplex": False, "from": host, "to": switch, "name": f"{host} out"}
        coming = leaving | {"from": switch, "to": host, "name": f"{host} in"}
        coming.pop("jitter", None)
        links += [leaving, coming]
        capture += [leaving["name"], coming["name"]]
    document["links"] = links
    document["records"] = {"capture": capture, "drops": False, "circuits": False}
    return Scenario.parse(document, source=f'suite, scenario "{case.name}", captured')


def flows(run: Run, side: Side) -> Iterator[ReplayResult | LeftOut]:
    """Replays one end of every flow of a run of the captured scenario. Raises EngineError, OutputError."""
    return (replayed for replayed, _ in replays(run, side))


def replays(run: Run, side: Side) -> Iterator[tuple[ReplayResult | LeftOut, Conversation | None]]:
    """As `flows`, with the captured conversation of each."""
    name, seed = run.manifest["name"], run.seed
    plan = lowered(run.scenario, seed, run.manifest["engine"])
    assert run.capture is not None
    talks = conversations.read(run.capture, side)
    for index, flow in enumerate(plan.content.flows):
        talk = talks.get(FIRST_PORT[kind(run.manifest["engine"])] + index)
        if talk is None:
            what = "it sent no SYN" if side == "sender" else "no SYN of it arrived"
            yield LeftOut(name, seed, flow.name, f"{what} before the run ended"), None
            continue
        is_client = side == "sender"
        sent, received = (talk.sent, talk.received) if is_client else (talk.received, talk.sent)
        ours, summary = _native.replay(plan.json, index, is_client, sent, received)
        counts = {name: summary[name] for name in ("segments", "retransmissions", "same", "other_push", "other_time")}
        variant = plan.content.rules[flow.rule].name
        yield ReplayResult(name, seed, flow.name, variant, **counts, model=len(ours["seq"])), talk


def document(
    ends: Sequence[ReplayResult | LeftOut], *, programs: dict[str, str], seeds: Sequence[int], quick: bool
) -> Document:
    """The complete result for one side, for machines."""
    found = [end for end in ends if isinstance(end, ReplayResult)]
    identical = sum(flow.is_identical for flow in found)
    limit = 1.0 if quick else LEAST_IDENTICAL
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
        "left_out": [asdict(end) for end in ends if isinstance(end, LeftOut)],
    }


def by_scenario(found: Document) -> list[tuple[str, ...]]:
    """One line per scenario; if a flow is not identical, the verdict states where it diverges."""
    flows: dict[str, list[Document]] = {}
    for flow in found["flows"]:
        flows.setdefault(flow["scenario"], []).append(flow)
    left_out: list[tuple[str, ...]] = [
        (end["scenario"], "0 of 0", "0", "0", f"{end['flow']} is left out: {end['why']} (seed {end['seed']})")
        for end in found["left_out"]
    ]
    lines: list[tuple[str, ...]] = [
        (
            name,
            f"{sum(flow['is_identical'] for flow in mine)} of {len(mine)}",
            str(sum(flow["segments"] for flow in mine)),
            str(sum(flow["retransmissions"] for flow in mine)),
            PASS if all(flow["is_identical"] for flow in mine) else _parting(mine),
        )
        for name, mine in flows.items()
    ]
    return lines + left_out


def sentence(found: Document) -> str:
    """The result in one sentence."""
    return (
        f"{found['identical']} of {len(found['flows'])} flows are identical over the whole transfer, "
        f"{found['same']} of {found['segments']} segments in all before the first difference, "
        f"{found['same'] - found['other_time']} of them at the same time." + _left_out(len(found["left_out"]))
    )


def _left_out(count: int) -> str:
    if count == 0:
        return ""
    return " 1 flow is left out." if count == 1 else f" {count} flows are left out."


def read(path: Path) -> Document:
    """Reads segments.json. Raises OutputError."""
    return result.read_document(path, "the result of a replay", parts=("flows", "identical"))


def _parting(flows: Sequence[Document]) -> str:
    return ", ".join(
        f"{flow['flow']} parts at segment {flow['same'] + 1} of {flow['segments']} (seed {flow['seed']})"
        for flow in flows
        if not flow["is_identical"]
    )


def _progress_of(progress: Progress | None, engine: str) -> Callable[[float, int], object]:
    def report(now: float, total: int) -> None:
        if progress:
            progress(now, total, engine)

    return report
