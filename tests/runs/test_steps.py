"""What table `circuits` says that a step does, for every kind of timeline."""

import daybreak
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


def program(*steps, start="0 s", timelines=()):
    """Steps of a program over links a, b and c, each of which has a queue of its own."""
    between = [{"name": name, "rate": "1 Gbit/s", "delay": "1 us", "queue": "9 packets"} for name in "abc"]

    def actions(text):
        return [
            {"kind": kind, "queue": link, "link": link} if kind != "set_limit"
            else {"kind": kind, "queue": link, "limit": "5 packets"}
            for kind, link in (part.split() for part in text.split(", "))
        ]  # fmt: skip

    lines = [
        {"kind": "program", "name": name, "period": "10 ms", "start": begin,
         "steps": [{"at": f"{at} ms", "do": actions(text)} for at, text in of]}
        for name, begin, of in (("one", start, steps), *timelines)
    ]  # fmt: skip
    document = {
        "name": "program", "duration": "21 ms", "timelines": lines,
        "topology": {"kind": "parallel_links", "access_rate": "1 Gbit/s", "between": between},
        "flows": [{"from": "sender-0", "to": "receiver-0", "size": "unlimited", "ack_via": "c.back"}],
    }  # fmt: skip
    return said(Scenario.parse(document))


def test_other_numbers_are_no_other_phase():
    assert program((0, "close_gate a"), (2, "open_gate a, set_limit a"), (5, "set_limit b"))[:3] == [
        (0, "day 0", "night"), (2, "night", "day 0"), (5, "day 0", "day 0"),
    ]  # fmt: skip
    assert program((0, "set_limit a"))[0] == (0, "", "")


def test_gates_are_open_before_the_first_step():
    assert program((3, "close_gate a"), (6, "open_gate a"))[:3] == [
        (3, "day 0", "night"), (6, "night", "day 0"), (13, "day 0", "night"),
    ]  # fmt: skip
    # From the second round on only a is open: what was before is a day of its own.
    assert program((3, "close_gate a, close_gate b"), (6, "open_gate a"))[:4] == [
        (3, "day 0", "night"), (6, "night", "day 1"), (13, "day 1", "night"), (16, "night", "day 1"),
    ]  # fmt: skip


def test_gates_that_two_programs_change_are_as_both_leave_them():
    found = program(
        (1, "close_gate a"), (4, "open_gate a"), timelines=[("two", "2 ms", [(0, "open_gate a"), (7, "close_gate a")])]
    )
    assert found[:6] == [
        (1, "day 0", "night"), (2, "night", "day 0"), (4, "day 0", "day 0"), (9, "day 0", "night"),
        (11, "night", "night"), (12, "night", "day 0"),
    ]  # fmt: skip


def test_routes_that_are_on_different_paths_are_named_apart(migration):
    moved = {"between": ["blue", "green"]}
    document = migration.document() | {
        "duration": "9 ms", "stop": "duration",
        "routes": [{"name": "r", "flows": ["moved"]} | moved, {"name": "s", "flows": ["main"]} | moved],
        "timelines": [
            {"kind": "program", "period": "8 ms", "steps": [
                {"at": "1 ms", "do": [{"kind": "set_route", "route": "r", "path": 1}]},
                {"at": "2 ms", "do": [{"kind": "darken", "route": "s", "downtime": "drop"}]},
                {"at": "3 ms", "do": [{"kind": "set_route", "route": "s", "path": 1}]},
            ]},
        ],
    }  # fmt: skip
    document["flows"] = [{key: value for key, value in flow.items() if key != "via"} for flow in document["flows"]]
    assert said(Scenario.parse(document))[:3] == [
        (1, "path 0", "path 0 and path 1"), (2, "path 0 and path 1", "night and path 1"),
        (3, "night and path 1", "path 1"),
    ]  # fmt: skip
