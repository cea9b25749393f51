"""Warnings about plans that are sound and surprising."""

import pytest

from daybreak.runs.warnings import warnings_of
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower


def _moved(period: str, night: str = "1 ms", **changes: object) -> list[str]:
    moves = {"kind": "migrate", "group": "f", "between": ["one", "two"], "period": period, "night": night}
    return _warned(moves | {"downtime": "drop"} | changes)


def _warned(timeline: dict[str, object]) -> list[str]:
    return warnings_of(lower(Scenario.parse(_document([timeline]), source="test"), 1).content)


def _document(timelines: list[dict[str, object]]) -> dict[str, object]:
    return {
        "name": "moved",
        "duration": "1 s",
        "nodes": [{"name": "a"}, {"name": "b"}, {"name": "s", "kind": "switch"}, {"name": "t", "kind": "switch"}],
        "links": [
            {"from": "a", "to": "s", "rate": "1 Gbit/s", "delay": "10 us"},
            {"from": "t", "to": "b", "rate": "1 Gbit/s", "delay": "10 us"},
            {"name": "one", "from": "s", "to": "t", "rate": "1 Gbit/s", "delay": "10 us"},
            {"name": "two", "from": "s", "to": "t", "rate": "1 Gbit/s", "delay": "10 us"},
        ],
        "flows": [{"name": "f", "from": "a", "to": "b", "size": "1 MB"}],
        "timelines": timelines,
    }


@pytest.mark.parametrize("period", ["200 ms", "10 ms", "8 ms", "40 ms"])
def test_nights_that_timeouts_meet_are_named(period: str) -> None:
    (sentence,) = _moved(period)
    assert sentence == (
        'timeline "migrate-0": its nights lose packets, and come back after 200 ms, the shortest retransmission '
        "timeout. A flow that loses its last packets in one may send them again into others, and never end. Take a "
        "period of which no multiple is this time"
    )


@pytest.mark.parametrize("period", ["11 ms", "30 ms", "190 ms", "400 ms", "7 ms"])
def test_other_periods_are_not(period: str) -> None:
    assert _moved(period) == []


def test_only_nights_that_lose_packets_count() -> None:
    assert _moved("10 ms", downtime="hold") == []
    assert _moved("10 ms", night="0 ms") == []


@pytest.mark.parametrize(("downtime", "count"), [("drop", 1), ("hold", 0), ("drain", 0)])
def test_nights_of_circuits_count_if_they_empty_the_queue(downtime: str, count: int) -> None:
    circuit = {"kind": "circuit", "matchings": [["one"]], "day": "9 ms", "night": "1 ms", "downtime": downtime}
    assert len(_warned(circuit)) == count


def test_each_timeline_and_each_shortest_timeout_has_its_own_sentence() -> None:
    def lines(*periods: str) -> list[dict[str, object]]:
        return [
            {"kind": "migrate", "name": f"of-{name}", "group": name, "between": ["one", "two"], "period": period,
             "night": "1 ms", "downtime": "drop"}
            for name, period in zip("fg", periods, strict=True)
        ]  # fmt: skip

    base = _document(lines("10 ms", "200 ms"))
    base["stacks"] = {"quick": {"rto_min": "30 ms"}}
    base["flows"] = [
        {"name": "f", "group": "f", "from": "a", "to": "b", "size": "1 MB"},
        {"name": "g", "group": "g", "from": "a", "to": "b", "size": "1 MB", "stack": "quick"},
    ]
    found = warnings_of(lower(Scenario.parse(base, source="test"), 1).content)
    assert [sentence.partition(": ")[0] + sentence.partition("after")[2][:7].rstrip(",") for sentence in found] == [
        'timeline "of-f" 30 ms', 'timeline "of-f" 200 ms', 'timeline "of-g" 200 ms',
    ]  # fmt: skip


def _of_dctcp(queue: dict[str, object] | None, *variants: str) -> list[str]:
    document = _document([])
    document["flows"] = [
        {"name": f"f{number}", "from": "a", "to": "b", "size": "1 MB", "variant": variant, "via": "one"}
        for number, variant in enumerate(variants)
    ]
    document["links"][2]["queue"] = "100 packets"  # type: ignore[index]
    document["links"][2] |= queue or {}  # type: ignore[index]
    return warnings_of(lower(Scenario.parse(document, source="test"), 1).content)


def test_dctcp_without_a_queue_that_marks_is_named() -> None:
    assert _of_dctcp(None, "cubic") == []
    (sentence,) = _of_dctcp(None, "dctcp", "cubic", "dctcp")
    assert sentence == (
        'flow "f0" and 1 more: dctcp reacts to marks, and no queue on its path marks: only losses slow it down. Let '
        'the bottleneck be an "ecn_threshold" queue, or one with ecn = true'
    )


@pytest.mark.parametrize(
    ("queue", "count"),
    [
        ({"queue_kind": {"name": "ecn_threshold", "threshold": "20 packets"}}, 0),
        ({"queue_kind": {"name": "red"}}, 0),
        ({"queue_kind": {"name": "red", "ecn": False}}, 1),
        ({"queue_kind": {"name": "codel"}}, 1),
        ({"queue_kind": {"name": "codel", "ecn": True}}, 0),
    ],
)
def test_a_queue_on_the_path_that_marks_is_enough(queue: dict[str, object], count: int) -> None:
    assert len(_of_dctcp(queue, "dctcp")) == count


def test_a_queue_that_marks_on_the_way_back_is_enough_too() -> None:
    """The answers to requests are data there."""
    document = _document([])
    link = {"from": "s", "to": "t", "rate": "1 Gbit/s", "delay": "10 us", "queue": "100 packets", "duplex": False}
    marks = {"queue_kind": {"name": "ecn_threshold", "threshold": "20 packets"}}
    back = {"name": "back", "from": "t", "to": "s"}
    document["flows"] = [
        {"name": "f", "from": "a", "to": "b", "size": "1 MB", "variant": "dctcp", "via": "one", "ack_via": "back"}
    ]
    for kind, count in ((marks, 0), ({}, 1)):
        document["links"] = [*document["links"][:2], link | {"name": "one"}, link | back | kind]  # type: ignore[index]
        assert len(warnings_of(lower(Scenario.parse(document, source="test"), 1).content)) == count
