"""Groups of hosts: a pattern is the hosts that it says, on every network, and its flows keep their names."""

import pytest

from daybreak.errors import ScenarioError
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower

LINK = {"rate": "10 Gbit/s", "delay": "1 us", "queue": "9 packets"}
NETWORKS = {
    "dumbbell": {"topology": LINK | {"kind": "dumbbell", "pairs": 3}},
    "parallel_links": {
        "topology": {
            "kind": "parallel_links", "pairs": 3, "access_rate": "10 Gbit/s",
            "between": [LINK | {"name": "a"}, LINK | {"name": "b"}],
        },
    },
    "leaf_spine": {"topology": LINK | {"kind": "leaf_spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 3}},
    "hybrid": {
        "topology": {
            "kind": "hybrid", "racks": 2, "hosts": 3, "host_rate": "10 Gbit/s", "host_delay": "1 us",
            "packet_rate": "10 Gbit/s", "packet_delay": "1 us", "circuit_rate": "10 Gbit/s", "circuit_delay": "1 us",
            "voq": "9 packets",
        },
    },
    "light_path": {
        "topology": {
            "kind": "light_path", "rtt": "20 ms", "sender_rate": "1 Gbit/s", "ip_rate": "2 Gbit/s",
            "optical_rate": "3 Gbit/s", "receiver_rate": "4 Gbit/s",
        },
    },
    "migration_testbed": {"topology": {"kind": "migration_testbed"}},
    # Names in any order, with gaps, from 1 on, and of other hosts.
    "own": {
        "nodes": [
            {"name": name, "kind": "switch" if name == "tor" else "host"}
            for name in ("server-10", "server-2", "tor", "client", "server-1", "b-7-1", "-3")
        ],
        "links": [
            {"from": "server-1", "to": "tor", "rate": "1 Gbit/s", "delay": "1 us"},
            {"from": "tor", "to": "client", "rate": "1 Gbit/s", "delay": "1 us"},
            {"from": "server-10", "to": "tor", "rate": "1 Gbit/s", "delay": "1 us"},
            {"from": "server-2", "to": "tor", "rate": "1 Gbit/s", "delay": "1 us"},
            {"from": "b-7-1", "to": "tor", "rate": "1 Gbit/s", "delay": "1 us", "duplex": False},
            {"from": "tor", "to": "b-7-1", "rate": "1 Gbit/s", "delay": "1 us", "duplex": False},
        ],
    },
}  # fmt: skip


def flows(network, seed=1, **flow):
    """Name, sender and receiver of each flow of one entry."""
    written = {"name": "f", "size": "1 kB"} | {key.rstrip("_"): value for key, value in flow.items()}
    document = {"name": "groups", "duration": "1 s", "flows": [written]} | NETWORKS[network]
    plan = lower(Scenario.parse(document), seed).content
    return [(flow.name, plan.nodes[flow.src].name, plan.nodes[flow.dst].name) for flow in plan.flows]


def hosts(network, pattern, other):
    """The hosts of a group that sends to another host."""
    return [source for _, source, _ in flows(network, from_=pattern, to=other)]


@pytest.mark.parametrize(
    ("network", "pattern", "other", "expected"),
    [
        ("dumbbell", "senders[*]", "receiver-0", ["sender-0", "sender-1", "sender-2"]),
        ("dumbbell", "senders[1:3]", "receiver-0", ["sender-1", "sender-2"]),
        ("dumbbell", "senders[:2]", "receiver-0", ["sender-0", "sender-1"]),
        ("dumbbell", "right[1:]", "receiver-0", ["receiver-1", "receiver-2"]),
        ("parallel_links", "receivers[2]", "sender-0", ["receiver-2"]),
        ("leaf_spine", "hosts[*]", "host-1", ["host-0", "host-2", "host-3", "host-4", "host-5"]),
        ("leaf_spine", "leaf-1[0:2]", "host-0", ["host-3", "host-4"]),
        ("hybrid", "hosts[1][*]", "host-0-0", ["host-1-0", "host-1-1", "host-1-2"]),
        ("hybrid", "hosts[*][2]", "host-0-0", ["host-0-2", "host-1-2"]),
        ("hybrid", "tor-1[1]", "host-0-0", ["host-1-1"]),
        ("light_path", "r1[*]", "receiver", ["sender"]),
        ("migration_testbed", "ingress[*]", "receiver-main", ["sender-main", "sender-migrated"]),
        # By number, in the order of the network; a gap is none of the hosts.
        ("own", "servers[*]", "client", ["server-10", "server-2", "server-1"]),
        ("own", "servers[1:10]", "client", ["server-2", "server-1"]),
        ("own", "servers[10]", "client", ["server-10"]),
        ("own", "bs[7][*]", "client", ["b-7-1"]),
        ("own", "tor[*]", "client", ["server-10", "server-2", "server-1", "b-7-1"]),
        ("own", "tor[1:3]", "server-1", ["server-2", "client"]),
    ],
)
def test_a_pattern_is_the_hosts_that_it_says(network, pattern, other, expected):
    assert hosts(network, pattern, other) == expected


def test_flows_of_a_group_are_called_after_its_hosts():
    assert [name for name, *_ in flows("dumbbell", from_="senders[0:2]", to="receiver-0")] == [
        "f/sender-0", "f/sender-1",
    ]  # fmt: skip
    assert [name for name, *_ in flows("dumbbell", from_="sender-0", to="receivers[1]")] == ["f/receiver-1"]
    assert [name for name, *_ in flows("dumbbell", from_="senders[2]", to="receivers[1]", count=2)] == [
        "f/sender-2->receiver-1-0", "f/sender-2->receiver-1-1",
    ]  # fmt: skip
    assert [name for name, *_ in flows("dumbbell", from_="sender-0", to="receiver-0", count=2)] == ["f-0", "f-1"]


def test_two_groups_are_all_pairs_or_one_to_one():
    everyone = flows("leaf_spine", from_="hosts[0:3]", to="hosts[1:4]")
    assert [(source[-1], destination[-1]) for _, source, destination in everyone] == [
        ("0", "1"), ("0", "2"), ("0", "3"), ("1", "2"), ("1", "3"), ("2", "1"), ("2", "3"),
    ]  # fmt: skip
    in_place = flows("leaf_spine", from_="leaf-0[*]", to="leaf-1[*]", pairing="one_to_one")
    assert [pair for _, *pair in in_place] == [[f"host-{i}", f"host-{i + 3}"] for i in range(3)]


def plan_of(**flow):
    document = {"name": "groups", "duration": "1 s", **NETWORKS["dumbbell"]} | {
        "flows": [{"name": "f", "size": "1 kB", "start": {"uniform": ["0 s", "1 ms"]}} | flow]
    }
    return lower(Scenario.parse(document), 5).content


def test_a_host_that_joins_a_group_changes_no_other_flow():
    few, many = (plan_of(**{"from": group, "to": "receiver-0"}) for group in ("senders[1:2]", "senders[*]"))
    starts = {flow.name: flow.start_ps for flow in many.flows}
    assert len(set(starts.values())) == 3
    assert {flow.name: flow.start_ps for flow in few.flows}.items() <= starts.items()


def test_the_flows_of_a_group_are_one_group_and_move_together():
    document = {
        "name": "moved", "duration": "1 s", **NETWORKS["parallel_links"],
        "flows": [{"name": "f", "size": "1 kB", "from": "senders[*]", "to": "receiver-0"}],
        "timelines": [{"kind": "migrate", "flows": ["f"], "between": ["a", "b"], "period": "1 ms"}],
    }  # fmt: skip
    plan = lower(Scenario.parse(document), 1).content
    assert plan.groups == ["f"]
    assert all(any(step.kind == "route_switch" for step in plan.paths[flow.data_path]) for flow in plan.flows)


def test_a_hosts_name_comes_before_a_pattern():
    """A name with brackets is a host where there is one."""
    document = {
        "name": "brackets", "duration": "1 s",
        "nodes": [{"name": "a[0]"}, {"name": "b"}],
        "links": [{"from": "a[0]", "to": "b", "rate": "1 Gbit/s", "delay": "1 us"}],
        "flows": [{"name": "f", "from": "a[0]", "to": "b", "size": "1 kB"}],
    }  # fmt: skip
    assert [flow.name for flow in lower(Scenario.parse(document), 1).content.flows] == ["f"]


@pytest.mark.parametrize(
    ("pairs", "senders", "receivers"),
    [
        ({"kind": "incast", "from": "leaf-1[*]", "to": "host-0"}, {3, 4, 5}, {0}),
        ({"kind": "fan_out", "from": "host-0", "to": ["hosts[2:4]", "host-5"]}, {0}, {2, 3, 5}),
        ({"kind": "random", "from": "leaf-0[*]", "to": "leaf-1[1:]"}, {0, 1, 2}, {4, 5}),
        ({"kind": "all_to_all", "hosts": "hosts[1:3]"}, {1, 2}, {1, 2}),
        ({"kind": "permutation", "hosts": "leaf-1[*]"}, {3, 4, 5}, {3, 4, 5}),
    ],
)
def test_pairs_of_generators_take_groups(pairs, senders, receivers):
    generator = {
        "name": "g", "pairs": pairs, "sizes": {"kind": "fixed", "size": "1 kB"}, "every": "1 us", "count": 100,
    }  # fmt: skip
    document = {"name": "groups", "duration": "1 s", "arrivals": [generator]} | NETWORKS["leaf_spine"]
    plan = lower(Scenario.parse(document), 1).content
    names = [node.name for node in plan.nodes]
    assert {names[flow.src] for flow in plan.flows} == {f"host-{i}" for i in senders}
    assert {names[flow.dst] for flow in plan.flows} == {f"host-{i}" for i in receivers}


def test_a_million_pairs_and_more_are_refused_before_they_are_made():
    flow = {"name": "f", "size": "1 kB", "from": "senders[*]", "to": "senders[*]", "count": 100_000}
    topology = NETWORKS["dumbbell"]["topology"] | {"pairs": 10_000}
    document = {"name": "groups", "duration": "1 s", "topology": topology, "flows": [flow]}
    with pytest.raises(ScenarioError, match=r"100000 for 99,990,000 pairs of hosts: makes 9,999,000,000,000 flows"):
        lower(Scenario.parse(document), 1)


def test_programs_are_told_the_host_of_each_pair():
    run = {"kind": "program", "client": ["get", "{server}", "{client}"]}
    flow = {"from": "senders[0:2]", "to": "receiver-0", "application": run, "size": None}
    document = {
        "name": "groups", "duration": "1 s", **NETWORKS["dumbbell"],
        "flows": [{key: value for key, value in flow.items() if value is not None}],
    }  # fmt: skip
    plan = lower(Scenario.parse(document), 1).content
    assert [flow.application.client.arguments for flow in plan.flows] == [
        ["get", "receiver-0", "sender-0"], ["get", "receiver-0", "sender-1"],
    ]  # fmt: skip
