"""Every queue at a switch of every ready topology takes every discipline by a key, and packets pass it."""

import pytest

import daybreak
from daybreak._native import queues
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower
from daybreak.scenario.topologies import REGISTRY

NEEDED = {"ecn_threshold": {"threshold": "20 packets"}}
LINK = {"rate": "1 Gbit/s", "delay": "5 us", "queue": "50 packets"}
TOPOLOGIES = {
    "dumbbell": {"access_rate": "2 Gbit/s", **LINK},
    "parallel_links": {
        "access_rate": "2 Gbit/s",
        "between": [{"name": "green", **LINK}, {"name": "blue", **LINK}],
    },
    "migration_testbed": {"rate": "1 Gbit/s", "queue": "50 packets"},
    "leaf_spine": {"leaves": 3, "spines": 2, "hosts_per_leaf": 1, "direct": [[0, 1]], **LINK},
    "hybrid": {
        "racks": 2, "hosts": 1, "host_rate": "2 Gbit/s", "to_host_rate": "1 Gbit/s", "host_delay": "1 us",
        "packet_rate": "1 Gbit/s", "packet_delay": "5 us", "circuit_rate": "2 Gbit/s", "circuit_delay": "5 us",
        "voq": "50 packets",
    },
    "light_path": {
        "sender_rate": "2 Gbit/s", "ip_rate": "1 Gbit/s", "optical_rate": "1 Gbit/s", "receiver_rate": "1 Gbit/s",
        "rtt": "1 ms", "queue": "50 packets",
    },
}  # fmt: skip
ENDS = {
    "dumbbell": ("sender-0", "receiver-0"),
    "parallel_links": ("sender-0", "receiver-0"),
    "migration_testbed": ("sender-main", "receiver-main"),
    "leaf_spine": ("host-0", "host-2"),
    "hybrid": ("host-0-0", "host-1-0"),
    "light_path": ("sender", "receiver"),
}
VIA = {"parallel_links": ["green"], "migration_testbed": ["green"], "light_path": ["ip-1", "ip-2"]}


def scenario(kind, discipline):
    topology = {"kind": kind, **TOPOLOGIES[kind]}
    (model,) = (one for one in REGISTRY if one.model_fields["kind"].default == kind)
    keys = [key for key in model.model_fields if key.endswith("_kind")]
    chosen = {"name": discipline, **NEEDED.get(discipline, {})}
    topology |= dict.fromkeys(keys, chosen)
    if kind == "parallel_links":
        topology["between"] = [link | {"queue_kind": chosen} for link in topology["between"]]
    source, destination = ENDS[kind]
    flow = {"from": source, "to": destination, "size": "3 MB", "count": 2}
    if kind in VIA:
        flow["via"] = VIA[kind]
    return Scenario.parse(
        {
            "name": f"{kind} with {discipline}", "duration": "2 s", "topology": topology, "flows": [flow],
            "stack": {"tcp_ecn": 1},
        }
    )  # fmt: skip


def test_the_table_has_every_topology():
    assert sorted(TOPOLOGIES) == sorted(model.model_fields["kind"].default for model in REGISTRY)


@pytest.mark.parametrize("discipline", [entry.name for entry in queues()])
@pytest.mark.parametrize("kind", TOPOLOGIES)
def test_every_queue_takes_every_discipline(kind, discipline):
    one = scenario(kind, discipline)
    content = lower(one, 1).content
    at_switches = [queue for queue in content.queues if content.nodes[queue.node].kind == "switch"]
    assert {queue.discipline.name for queue in at_switches} == {discipline}
    run = daybreak.run(one)
    assert run.flows["end_ns"].null_count() == 0
    assert run.flows["delivered_bytes"].to_list() == [3_000_000, 3_000_000]


@pytest.mark.parametrize("kind", TOPOLOGIES)
def test_the_hosts_links_of_every_topology_take_jitter(kind):
    parsed = Scenario.parse(
        {
            "name": "jitter", "duration": "1 s", "topology": {"kind": kind, **TOPOLOGIES[kind], "jitter": "3 us"},
            "flows": [{"from": ENDS[kind][0], "to": ENDS[kind][1], "size": "1 kB"} | (
                {"via": VIA[kind]} if kind in VIA else {}
            )],
        }
    )  # fmt: skip
    content = lower(parsed, 1).content
    from_hosts = [link.jitter_ps for link in content.links if content.nodes[link.from_].kind == "host"]
    between = [
        link.jitter_ps
        for link in content.links
        if {content.nodes[end].kind for end in (link.from_, link.to)} == {"switch"}
    ]
    # The migration testbed has jitter in the direction of the data alone.
    answers = {0} if kind == "migration_testbed" else set()
    assert set(from_hosts) == {3_000_000} | answers and set(between) == {0}
