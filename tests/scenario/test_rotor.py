"""Rotor switches: which racks are joined when."""

import pytest
from test_strobe import NETWORK, US, hybrid

import daybreak
from daybreak import _native
from daybreak.errors import ScenarioError
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower
from daybreak.scenario.schedules.rotor import Rotor

ROTOR = {"kind": "rotor", "day": "90 us", "night": "10 us", "switches": 2}


def scenario(schedule=None, **more):
    document = {
        "name": "rotor",
        "duration": "20 ms",
        "topology": NETWORK | {"racks": 6},
        "schedule": ROTOR | (schedule or {}),
        "flows": [{"name": "bulk", "from": "host-1-0", "to": "host-4-1", "size": "1 MB"}],
        "records": {"packets": ["circuit-1-4", "packet-1"]},
    }
    return Scenario.parse(document | more)


@pytest.mark.parametrize("racks, switches", [(6, 1), (6, 2), (6, 5), (10, 3), (5, 3)])
@pytest.mark.parametrize("staggered", [False, True])
def test_every_pair_has_a_day_a_round_and_no_rack_more_circuits_than_switches(racks, switches, staggered):
    network = hybrid(racks=racks)
    rotor = Rotor.model_validate(ROTOR | {"switches": switches, "staggered": staggered})
    days, period = rotor.days(network), rotor.week(network)
    assert set(days) == set(network.pairs())
    assert period == 100 * US * -(-(racks - 1) // switches)
    for time in range(0, period, 5 * US):
        joined = [pair for pair, (start, end) in days.items() if (time - start) % period < end - start]
        for rack in range(racks):
            # Out of the rack and into it.
            assert sum(pair[0] == rack for pair in joined) == sum(pair[1] == rack for pair in joined) <= switches
    times = range(0, period, 5 * US)
    dark = {time for time in times if not any((time - s) % period < e - s for s, e in days.values())}
    if not staggered or switches == 1:
        assert dark
    elif (racks - 1) % switches == 0:
        assert not dark, "switches that have their nights in turn are never all dark"


@pytest.mark.parametrize("switches", [1, 2, 5])
def test_staggered_switches_have_their_nights_evenly_in_a_slot(switches):
    rotor = Rotor.model_validate(ROTOR | {"switches": switches, "staggered": True})
    days = rotor.days(hybrid(racks=6)).values()
    assert {end - start for start, end in days} == {90 * US}
    # A slot is 100 us, so that with two switches one goes dark when the other is half way through its own.
    nights = {(start - 10 * US) % (100 * US) for start, _ in days}
    assert nights == {number * 100 * US // switches for number in range(switches)}


def test_its_program_opens_a_circuit_for_its_day():
    network = hybrid(racks=6)
    program = Rotor.model_validate(ROTOR).program(network)
    said = {
        (step.at // US, action.kind)
        for step in program.steps
        for action in step.do
        if (action.queue, action.link) == ("voq-4-1", "circuit-4-1")
    }
    # Way 3 is the first switch's second one.
    assert said == {(0, "close_gate"), (110, "open_gate"), (200, "close_gate")}
    ups = {(action.kind, action.queue) for step in program.steps for action in step.do if action.link == "packet-4"}
    assert ups == {("close_gate", f"voq-4-{j}") for j in range(6) if j != 4}


@pytest.mark.parametrize("packet_network", [False, True])
def test_a_transfer_goes_by_circuits_and_by_packets_only_where_it_may(packet_network):
    run = daybreak.run(scenario({"packet_network": packet_network}))
    (flow,) = run.flows.iter_rows(named=True)
    assert flow["delivered_bytes"] == 1_000_000
    by_link = dict(run.packets.group_by("link_name").len().iter_rows())
    assert by_link["circuit-1-4"] > 0
    assert ("packet-1" in by_link) == packet_network


@pytest.mark.parametrize("document, says", [
    ({"switches": 6}, "switches = 6: expected fewer than the 6 racks"),
    ({"switches": 0}, "switches"),
    ({"day": "0 s"}, "day"),
    ({"night": "-1 us"}, "night"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(document, says):
    with pytest.raises(ScenarioError, match=says):
        lower(scenario(document), 1)


def test_the_plan_is_sound():
    _native.check_plan(lower(scenario({"staggered": True}), 1).json)
