"""The most that flows can bring to their receivers: worked by hand on small networks."""

import pytest

from daybreak.plan import ways
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower


def plan(flows, **topology):
    document = {"name": "ways", "duration": "1 ms", "topology": topology, "flows": flows}
    return lower(Scenario.parse(document), 1).content


def flow(source, destination, **more):
    return {"from": source, "to": destination, "size": "1 MB"} | more


def hybrid(racks, flows):
    return plan(
        flows, kind="hybrid", racks=racks, hosts=2, host_rate="40 Gbit/s", host_delay="1 us", packet_rate="10 Gbit/s",
        packet_delay="1 us", circuit_rate="50 Gbit/s", circuit_delay="1 us", voq="9 packets",
    )  # fmt: skip


def test_flows_over_one_bottleneck_share_it():
    content = plan(
        [flow("sender-0", "receiver-0"), flow("sender-1", "receiver-1")],
        kind="dumbbell", pairs=2, rate="10 Gbit/s", delay="1 us", queue="9 packets",
    )  # fmt: skip
    assert ways.most_bps(content, [0]) == pytest.approx(10e9, rel=1e-6)
    assert ways.most_bps(content, [0, 1]) == pytest.approx(10e9, rel=1e-6)
    assert ways.most_bps(content, []) == 0


def test_a_circuit_and_a_packet_network_add_up_as_far_as_hosts_send():
    content = hybrid(2, [flow("host-0-0", "host-1-0"), flow("host-0-1", "host-1-1"), flow("host-1-0", "host-0-0")])
    # One host's link has 40 Gbit/s; two have 80, of which the circuit and the packet network carry 60.
    assert ways.most_bps(content, [0]) == pytest.approx(40e9, rel=1e-6)
    assert ways.most_bps(content, [0, 1]) == pytest.approx(60e9, rel=1e-6)
    # A host that sends and receives does both at its rate, and passes nothing on.
    assert ways.most_bps(content, [0, 2]) == pytest.approx(80e9, rel=1e-6)


def test_a_flow_that_is_moved_may_take_any_of_its_paths_and_links_their_greatest_rate():
    document = {
        "name": "moved", "duration": "1 ms",
        "topology": {"kind": "parallel_links", "access_rate": "8 Gbit/s", "between": [
            {"name": "slow", "rate": "1 Gbit/s", "delay": "1 us", "queue": "9 packets"},
            {"name": "fast", "rate": "5 Gbit/s", "delay": "1 us", "queue": "9 packets"},
        ]},
        "flows": [flow("sender-0", "receiver-0", ack_via="slow.back", name="f")],
        "timelines": [{"kind": "migrate", "flows": ["f"], "between": ["slow", "fast"], "period": "1 ms"}],
    }  # fmt: skip
    content = lower(Scenario.parse(document), 1).content
    names = {content.links[link].name for link in ways.links(content, content.flows[0].data_path)}
    assert {"slow", "fast"} <= names
    # While it moves both carry some of it.
    assert ways.most_bps(content, [0]) == pytest.approx(6e9, rel=1e-6)
    document["timelines"].append(
        {"kind": "program", "period": "1 ms", "steps": [
            {"at": "0 s", "do": [{"kind": "set_rate", "link": "slow", "rate": "2 Gbit/s"}]}]}
    )  # fmt: skip
    content = lower(Scenario.parse(document), 1).content
    assert ways.most_bps(content, [0]) == pytest.approx(7e9, rel=1e-6)
