"""What table `circuits` says that a step does, for every kind of timeline."""

import daybreak
from daybreak.plan import types as plan
from daybreak.runs.phases import phases
from daybreak.scenario import Scenario


def said(scenario):
    """Time in ms, phase before and after of each step."""
    table = daybreak.run(scenario).circuits
    return [(time / 1e6, before, phase) for time, before, phase in table.select("time_ns", "before", "phase").rows()]


def moved(migration, **line):
    return said(migration.with_({"duration": "45 ms", "flows.1.size": "unlimited", "stop": "duration"} | {
        f"timelines.0.{key}": value for key, value in line.items()
    }))  # fmt: skip


def test_paths_are_those_of_between(migration):
    assert moved(migration) == [
        (10, "path 0", "path 1"), (20, "path 1", "path 0"), (30, "path 0", "path 1"), (40, "path 1", "path 0"),
    ]  # fmt: skip


def test_a_migration_has_nights(migration):
    assert moved(migration, night="1 ms", start="15 ms") == [
        (25, "path 0", "night"), (26, "night", "path 1"), (35, "path 1", "night"), (36, "night", "path 0"),
        (45, "path 0", "night"),
    ]  # fmt: skip


def test_with_make_before_break_the_old_path_goes_on(migration):
    assert moved(migration, night="1 ms", downtime="make_before_break")[:3] == [
        (10, "path 0", "path 0"), (11, "path 0", "path 1"), (20, "path 1", "path 1"),
    ]  # fmt: skip


def circuit(**program):
    between = [{"name": name, "rate": "1 Gbit/s", "delay": "1 us", "queue": "9 packets"} for name in ("a", "b", "c")]
    return said(
        Scenario.parse(
            {
                "name": "week",
                "duration": "13 ms",
                "topology": {"kind": "parallel_links", "access_rate": "1 Gbit/s", "between": between},
                "flows": [{"from": "sender-0", "to": "receiver-0", "size": "unlimited", "ack_via": "c.back"}],
                "timelines": [{"kind": "circuit", "day": "3 ms", "night": "1 ms"} | program],
            }
        )
    )


def test_days_are_those_of_matchings():
    assert circuit(matchings=["a", "b"]) == [
        (0, "night", "day 0"), (3, "day 0", "night"), (4, "night", "day 1"), (7, "day 1", "night"),
        (8, "night", "day 0"), (11, "day 0", "night"), (12, "night", "day 1"),
    ]  # fmt: skip
    assert circuit(matchings=[["a", "b"], "b"], night="0 s") == [
        (0, "day 1", "day 0"), (3, "day 0", "day 1"), (6, "day 1", "day 0"), (9, "day 0", "day 1"),
        (12, "day 1", "day 0"),
    ]  # fmt: skip


def test_a_circuit_is_dark_before_its_start():
    assert circuit(matchings=["a"], start="5 ms") == [
        (0, "night", "night"), (5, "night", "day 0"), (8, "day 0", "night"), (9, "night", "day 0"),
        (12, "day 0", "night"), (13, "night", "day 0"),
    ]  # fmt: skip


def test_other_numbers_are_no_other_phase():
    limit = plan.SetLimit(queue=0, packets=5, bytes=None)
    steps = [
        plan.TimelineStep(offset_ps=0, actions=[plan.SetRoute(route_switch=0, alternative=1), limit]),
        plan.TimelineStep(offset_ps=1, actions=[limit, plan.SetRate(link=0, rate_bps=10**9)]),
    ]
    assert phases(steps) == [("path 1", "path 1")] * 2
    assert phases([]) == []
