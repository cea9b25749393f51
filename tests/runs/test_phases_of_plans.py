"""The names of phases: of what a controller decides, of days of circuits, and of programs that share gates."""

import pytest
from msgspec.structs import replace

from daybreak.plan import types as plan
from daybreak.runs import phases
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower

CIRCUIT = plan.ControlledCircuit(queues=[0], open=[], close=[])


def flows(downtime):
    return plan.ControlledFlows(flows=[], paths=3, downtime=downtime)


@pytest.mark.parametrize(("controls", "event", "phase"), [
    (CIRCUIT, "requested", None), (CIRCUIT, "setting_up", "night"), (CIRCUIT, "in_force", "day 0"),
    (CIRCUIT, "released", "night"),
    (flows("drop"), "requested", None), (flows("drop"), "setting_up", "night"), (flows("hold"), "setting_up", "night"),
    # The old path goes on until the new one is there.
    (flows("make_before_break"), "setting_up", "path 0"),
    (flows("drop"), "in_force", "path 2"), (flows("drop"), "released", "path 0"),
])  # fmt: skip
def test_a_decision_of_a_controller_begins_a_phase_or_none(controls, event, phase):
    assert phases.controlled_phase(controls, event, 2) == phase


def content(*timelines):
    """A plan of links a, b and c with a queue each."""
    between = [{"name": name, "rate": "1 Gbit/s", "delay": "1 us", "queue": "9 packets"} for name in "abc"]
    document = {
        "name": "program", "duration": "21 ms",
        "topology": {"kind": "parallel_links", "access_rate": "1 Gbit/s", "between": between},
        "flows": [{"from": "sender-0", "to": "receiver-0", "size": "unlimited", "ack_via": "c.back"}],
        "timelines": [
            {
                "kind": "program", "name": name, "period": "10 ms", "start": start,
                "steps": [{"at": f"{at} ms", "do": [action(one) for one in text.split(", ")]} for at, text in steps],
            }
            for name, start, steps in timelines
        ],
    }  # fmt: skip
    return lower(Scenario.parse(document), 1).content


def action(text):
    kind, link = text.split()
    if kind == "set_limit":
        return {"kind": kind, "queue": link, "limit": "5 packets"}
    return {"kind": kind, "queue": link, "link": link}


TURNS = ("turns", "0 s", [
    (0, "close_gate b, close_gate c, open_gate a"), (2, "close_gate a"), (3, "open_gate b, open_gate c"),
    (5, "close_gate b"), (8, "close_gate c"),
])  # fmt: skip


def test_days_are_numbered_as_they_first_come_and_have_their_links():
    made = content(TURNS)
    links = {name: number for number, link in enumerate(made.links) if (name := link.name) in ("a", "b", "c")}
    assert phases.days(made, 0) == {
        "day 0": {links["a"]}, "day 1": {links["b"], links["c"]}, "day 2": {links["c"]},
    }  # fmt: skip
    periods = phases.periods(made, 0)
    later = [("night", "day 0"), ("day 0", "night"), ("night", "day 1"), ("day 1", "day 2"), ("day 2", "night")]
    assert list(periods.first) == list(periods.later) == later


def test_a_program_of_routes_or_limits_has_no_days(migration):
    assert phases.days(lower(migration, 1).content, 0) == {}
    limits = content(("limits", "0 s", [(1, "set_limit a")]))
    assert phases.days(limits, 0) == {} and phases.sharing(limits) == set()
    assert phases.periods(limits, 0) == ([("", "")], [("", "")])


def test_programs_that_change_the_same_gates_share_them_and_others_do_not():
    one, two = ("one", "0 s", [(1, "close_gate a"), (4, "open_gate a")]), ("two", "0 s", [(2, "close_gate b")])
    three = ("three", "2 ms", [(0, "open_gate a"), (7, "close_gate a")])
    assert phases.sharing(content(one, two)) == set()
    made = content(two, one, three)
    assert phases.sharing(made) == {1, 2}
    # Steps of both in the order of time, 1, 2, 4, 9 and 11 ms.
    assert phases.walked(made, [(1, 0), (2, 0), (1, 1), (2, 1), (1, 0)]) == [
        ("day 0", "night"), ("night", "day 0"), ("day 0", "day 0"), ("day 0", "night"), ("night", "night"),
    ]  # fmt: skip
    assert phases.walked(made, []) == []


def test_a_shared_gate_that_is_turned_at_once_was_before_as_it_will_be():
    one = ("one", "0 s", [(0, "close_gate a"), (4, "open_gate a")])
    other = ("two", "0 s", [(6, "close_gate a, close_gate b")])
    made = content(one, other)
    # Alone the first program leaves the gate open at the end of each period.
    assert phases.walked(made, [(0, 0), (0, 1), (1, 0), (0, 0)]) == [
        ("day 0", "night"), ("night", "day 0"), ("day 0", "night"), ("night", "night"),
    ]  # fmt: skip


def test_a_link_is_a_circuit_if_all_of_its_gates_are_shut_at_once():
    """Link a serves two queues, of which b serves one as well."""
    one = content(("p", "0 s", [(1, "close_gate a")]))
    a, b = (next(number for number, link in enumerate(one.links) if link.name == name) for name in "ab")
    (x,) = (number for number, queue in enumerate(one.queues) if a in queue.served_by)
    queues = [replace(queue, served_by=[a, b]) if number == x else queue for number, queue in enumerate(one.queues)]
    y = len(queues)
    two = replace(one, queues=[*queues, replace(queues[x], name="y", served_by=[a])])

    def first(*steps):
        gates = {"open": lambda queue, link=a: plan.OpenGate(queue=queue, link=link),
                 "shut": lambda queue, link=a: plan.CloseGate(queue=queue, link=link, downtime="hold")}  # fmt: skip
        done = [
            plan.TimelineStep(offset_ps=at, actions=[gates[does](*gate) for does, *gate in actions])
            for at, actions in enumerate(steps, 1)
        ]
        made = replace(two, timelines=[replace(two.timelines[0], steps=done)])
        return [phase for _, phase in phases.periods(made, 0).first], phases.days(made, 0)

    both, days = first([("shut", x)], [("shut", y)], [("open", x), ("open", y)])
    assert both == ["day 0", "night", "day 0"] and days == {"day 0": {a}}
    # What else serves a queue of the circuit, and never goes dark, is none: link b has a queue of its own.
    other, days = first(
        [("shut", x), ("shut", y)], [("shut", x, b)], [("open", x), ("open", y)], [("open", x, b)],
    )  # fmt: skip
    assert other == ["night", "night", "day 0", "day 0"] and days == {"day 0": {a}}
    # Alone the gate is one of a queue that has no other.
    assert first([("shut", y)], [("open", y)])[0] == ["night", "day 0"]
    # In turn, the link is never dark: each gate is a circuit of its own.
    assert first([("shut", x)], [("open", x), ("shut", y)], [("open", y)])[0] == ["day 1", "day 2", "day 0"]
