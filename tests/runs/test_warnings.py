"""Warnings about plans that are sound and surprising."""

import pytest

from daybreak.runs.warnings import warnings_of
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower


def _moved(period: str, night: str = "1 ms", **changes: object) -> list[str]:
    moves = {"kind": "migrate", "group": "f", "between": ["one", "two"], "period": period, "night": night}
    return _warned(moves | {"downtime": "drop"} | changes)


def _warned(timeline: dict[str, object]) -> list[str]:
    scenario = Scenario.parse(
        {
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
            "timelines": [timeline],
        },
        source="test",
    )  # fmt: skip
    return warnings_of(lower(scenario, 1).content)


@pytest.mark.parametrize("period", ["200 ms", "10 ms", "8 ms", "40 ms"])
def test_nights_that_timeouts_meet_are_named(period: str) -> None:
    (sentence,) = _moved(period)
    assert 'timeline "migrate-0": its nights lose packets, and come back after 200 ms' in sentence


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
