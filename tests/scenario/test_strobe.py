"""Racks joined by packets and circuits, and the week in which each pair of them has its day."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daybreak import _native
from daybreak.errors import ScenarioError
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower
from daybreak.scenario.quantities import QueueLimit, Span
from daybreak.scenario.schedules.cycle import changes, is_inside
from daybreak.scenario.schedules.strobe import Strobe
from daybreak.scenario.topologies.hybrid import Hybrid

US = 1_000_000
NETWORK = {
    "kind": "hybrid", "racks": 3, "hosts": 2, "host_rate": "40 Gbit/s", "host_delay": "1 us",
    "packet_rate": "10 Gbit/s", "packet_delay": "5 us", "circuit_rate": "80 Gbit/s", "circuit_delay": "30 us",
    "voq": "16 packets",
}  # fmt: skip
STROBE = {"kind": "strobe", "day": "180 us", "night": "20 us"}


def hybrid(**changed):
    return Hybrid.model_validate(NETWORK | changed)


def strobe(**changed):
    return Strobe.model_validate(STROBE | changed)


def scenario(network=None, schedule=None, **more):
    document = {
        "name": "hybrid",
        "duration": "10 ms",
        "topology": NETWORK | (network or {}),
        "schedule": STROBE | (schedule or {}),
        "flows": [{"from": "host-1-0", "to": "host-2-1", "size": "unlimited"}],
    }
    return Scenario.parse(document | more)


def states(program, *, of, kind=None):
    """What a program says of one queue, link or marker, as [(us, what)]; of several at one time the last."""
    said = {}
    for step in program.steps:
        for action in step.do:
            names = {getattr(action, name, None) for name in ("queue", "link", "marker")}
            if set(of) <= names and (kind is None or action.kind in kind):
                what = {"open_gate": True, "close_gate": False}.get(action.kind)
                if action.kind == "set_mark":
                    what = action.on
                elif action.kind == "set_limit":
                    what = int(action.limit)
                elif action.kind == "set_parameter":
                    what = action.value
                said[step.at // US] = what
    return sorted(said.items())


@given(
    st.lists(st.tuples(st.integers(-300, 300), st.integers(0, 150)), max_size=5),
    st.integers(1, 120),
)
def test_changes_say_when_any_interval_is_there(starts, period):
    intervals = [(start, start + length) for start, length in starts]
    found = changes(intervals, period)
    times = [time for time, _ in found]
    assert times[0] == 0 and times == sorted(set(times)) and all(time < period for time in times)
    assert all(before != after for (_, before), (_, after) in pairwise(found))
    for time in range(period):
        said = [state for at, state in found if at <= time][-1]
        assert said == any((time - start) % period < min(end - start, period) for start, end in intervals)


@given(st.integers(-50, 50), st.integers(1, 40), st.integers(-100, 200), st.integers(0, 60), st.integers(41, 100))
def test_an_interval_of_any_period_counts(begin, length, start, wait, period):
    end = start + wait
    shifted = [(begin + k * period, begin + length + k * period) for k in range(-20, 21)]
    expected = any(one <= end and other > start for one, other in shifted)
    assert is_inside([(begin, begin + length)], start, end, period) == expected


@pytest.mark.parametrize("racks", [2, 3, 5, 8])
def test_each_pair_has_one_day_a_week_and_no_rack_two_at_a_time(racks):
    network, schedule = hybrid(racks=racks), strobe()
    days = schedule.days(network)
    assert schedule.week(network) == (racks - 1) * 200 * US
    assert len(days) == racks * (racks - 1)
    assert all(len(mine) == 1 for mine in days.values())
    for start in {mine[0][0] for mine in days.values()}:
        pairs = [pair for pair, mine in days.items() if mine[0][0] == start]
        assert sorted(i for i, _ in pairs) == sorted(j for _, j in pairs) == list(range(racks))


@pytest.mark.parametrize("racks", [3, 4, 8, 25])
def test_mimicked_racks_take_days_from_the_last_ones(racks):
    """Three racks with the week of more: the first configuration is there again and again, the other one once."""
    network, schedule = hybrid(), strobe(as_racks=racks)
    days = schedule.days(network)
    week = (racks - 1) * 200
    assert schedule.week(network) == week * US
    assert [(start // US, end // US) for start, end in days[1, 2]] == [(week - 180, week)]
    assert [start // US for start, _ in days[2, 1]] == list(range(20, week - 200, 200))


def test_the_week_of_the_published_runs():
    """The emulator's timeline with 25 racks; 0 is the end of the data's day."""
    program = strobe(as_racks=25).program(hybrid())
    assert int(program.period) == 4800 * US
    assert states(program, of=["voq-1-2", "packet-1"]) == [(0, True), (4600, False)]
    assert states(program, of=["voq-1-2", "circuit-1-2"]) == [(0, False), (4620, True)]
    # The ACKs' circuit is there in all other days; their packet network only from the end of the last of them.
    assert states(program, of=["voq-2-1", "packet-2"]) == [(0, False), (4600, True)]
    acks = states(program, of=["voq-2-1", "circuit-2-1"])
    assert acks[:5] == [(0, False), (20, True), (200, False), (220, True), (400, False)]
    assert acks[-2:] == [(4420, True), (4600, False)]


def test_gates_close_before_others_open():
    for step in strobe(as_racks=8).program(hybrid()).steps:
        kinds = [action.kind == "close_gate" for action in step.do]
        assert kinds == sorted(kinds, reverse=True)


@pytest.mark.parametrize(
    ("as_racks", "before", "expected"),
    [
        (25, 0, [(0, 16), (4620, 50)]),
        (25, 1800, [(0, 16), (2820, 50)]),
        (3, 100, [(0, 16), (120, 50)]),
        # The next day comes so soon that the VOQ stays large.
        (3, 220, [(0, 50)]),
        (3, 600, [(0, 50)]),
    ],
)
def test_voqs_grow_before_their_day(as_racks, before, expected):
    schedule = strobe(as_racks=as_racks, resize={"limit": "50 packets", "before": f"{before} us"})
    assert states(schedule.program(hybrid()), of=["voq-1-2"], kind={"set_limit"}) == expected


def test_a_threshold_goes_with_the_size():
    network = {"voq_kind": {"name": "ecn_threshold", "threshold": "10 packets"}}
    resize = {"limit": "50 packets", "before": "300 us", "threshold": "31 packets"}
    program = strobe(as_racks=25, resize=resize).program(hybrid(**network))
    assert states(program, of=["voq-1-2"], kind={"set_parameter"}) == [(0, "10 packets"), (4320, "31 packets")]
    lower(scenario(network, {"as_racks": 25, "resize": resize}), 1)


@pytest.mark.parametrize(
    ("racks", "before", "off_late"),
    # The emulator's windows: marks begin exactly before the day and end late after it.
    [(25, tau, late) for tau, late in ((0, 0), (50, 150), (100, 100), (150, 50), (200, 0), (250, 150), (300, 100))]
    + [(25, 600, 0), (25, 1200, 0)]
    + [(8, tau, 100 if tau // 100 % 2 else 0) for tau in range(0, 1201, 100)],
)
def test_marks_end_when_the_emulator_looks(racks, before, off_late):
    week = (racks - 1) * 200
    schedule = strobe(as_racks=racks, announce={"before": f"{before} us", "until": "next_check"})
    said = states(schedule.program(hybrid()), of=["circuit-1-2"], kind={"set_mark"})
    expected = {0: off_late > 0, off_late: False, week - 180 - before: True}
    assert said == sorted(expected.items())


def test_marks_of_short_weeks_never_end():
    schedule = strobe(announce={"before": "600 us", "until": "next_check"})
    assert states(schedule.program(hybrid()), of=["circuit-1-2"], kind={"set_mark"}) == [(0, True)]


def test_marks_may_end_with_the_day():
    schedule = strobe(as_racks=25, announce={"before": "50 us"})
    assert states(schedule.program(hybrid()), of=["circuit-1-2"], kind={"set_mark"}) == [(0, False), (4570, True)]


def test_marks_are_on_what_comes_back_to_the_senders():
    content = lower(scenario(schedule={"announce": {"before": "50 us"}}), 1).content
    (flow,) = content.flows
    nodes = [node.name for node in content.nodes]
    marker = next(marker for marker in content.markers if marker.name == "circuit-1-2")
    assert nodes[marker.node] == "tor-1"
    reached = {step.index for path in content.paths for step in path if step.kind == "marker"}
    assert content.markers.index(marker) in reached
    assert not any(step.kind == "marker" for step in content.paths[flow.data_path])


@pytest.mark.parametrize(("racks", "hosts"), [(3, 2), (4, 3), (6, 4)])
def test_packets_wait_for_two_networks_and_come_back_from_full_fifos(racks, hosts):
    content = lower(scenario({"racks": racks, "hosts": hosts}), 1)
    _native.check_plan(content.json)
    links = [link.name for link in content.content.links]
    queues = {queue.name: queue for queue in content.content.queues}
    voq = queues["voq-1-2"]
    assert [links[link] for link in voq.served_by] == ["circuit-1-2", "packet-1"]
    assert (voq.limit_packets, voq.returned_limit_packets) == (16, 5)
    assert queues["fifo-1-2"].limit_packets == 3
    (flow,) = content.content.flows
    assert [step.kind for step in content.content.paths[flow.data_path]] == ["queue", "fork"]


def test_hosts_of_one_rack_do_not_leave_it():
    inside = scenario(flows=[{"from": "host-1-0", "to": "host-1-1", "size": "1 MB"}])
    content = lower(inside, 1).content
    path = content.paths[content.flows[0].data_path]
    assert [content.queues[step.index].name for step in path] == ["host-1-0->tor-1", "tor-1->host-1-1"]


def test_a_saved_scenario_keeps_its_schedule():
    said = scenario(schedule={"as_racks": 8, "announce": {"before": "50 us", "until": "next_check"}})
    assert Scenario.parse(said.document()) == said
    assert lower(Scenario.parse(said.document()), 1).hash == lower(said, 1).hash


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"topology": {"kind": "dumbbell", "rate": "1 Gbit/s", "delay": "1 us", "queue": "9 packets"}}, '"dumbbell"'),
        ({"schedule": STROBE | {"as_racks": 2}}, "as_racks = 2: expected at least the 3 racks"),
        (
            {"topology": NETWORK | {"racks": 2}, "schedule": STROBE | {"as_racks": 8}},
            "as_racks = 8: it changes nothing with 2 racks",
        ),
        (
            {"schedule": STROBE | {"night": "0 us", "announce": {"until": "next_check"}}},
            "expected a night above 0 s",
        ),
        ({"topology": NETWORK | {"returned_limit": "5 kB"}}, "returned_limit of 5 kB: expected packets"),
        ({"schedule": STROBE | {"resize": {"limit": "50 packets", "threshold": "31 packets"}}}, "threshold"),
    ],
)
def test_what_does_not_fit_is_said(changed, sentence):
    with pytest.raises(ScenarioError) as error:
        lower(scenario(**changed), 1)
    assert sentence in str(error.value)


def test_quantities_of_programs_are_exact():
    schedule = strobe(day="9 us", night="1 us", as_racks=8)
    program = schedule.program(hybrid())
    assert program.period == Span(70 * US)
    assert hybrid().voq == QueueLimit.parse("16 packets")
