"""Every queue at a switch of every ready topology takes every discipline by a key, and packets pass it."""

import pytest
from networks import NETWORKS

import daybreak
from daybreak._native import queues
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower
from daybreak.scenario.topologies import REGISTRY

NEEDED = {"ecn_threshold": {"threshold": "20 packets"}}


def scenario(kind, discipline):
    topology = {"kind": kind, **NETWORKS[kind].small}
    (model,) = (one for one in REGISTRY if one.model_fields["kind"].default == kind)
    keys = [key for key in model.model_fields if key.endswith("_kind")]
    chosen = {"name": discipline, **NEEDED.get(discipline, {})}
    topology |= dict.fromkeys(keys, chosen)
    if kind == "parallel_links":
        topology["between"] = [link | {"queue_kind": chosen} for link in topology["between"]]
    source, destination = NETWORKS[kind].ends
    flow = {"from": source, "to": destination, "size": "3 MB", "count": 2, "via": NETWORKS[kind].via}
    return Scenario.parse(
        {
            "name": f"{kind} with {discipline}", "duration": "2 s", "topology": topology, "flows": [flow],
            "stack": {"tcp_ecn": 1},
        }
    )  # fmt: skip


def test_the_table_has_every_topology():
    assert sorted(NETWORKS) == sorted(model.model_fields["kind"].default for model in REGISTRY)


@pytest.mark.parametrize("discipline", [entry.name for entry in queues()])
@pytest.mark.parametrize("kind", NETWORKS)
def test_every_queue_takes_every_discipline(kind, discipline):
    one = scenario(kind, discipline)
    content = lower(one, 1).content
    at_switches = [queue for queue in content.queues if content.nodes[queue.node].kind == "switch"]
    assert {queue.discipline.name for queue in at_switches} == {discipline}
    run = daybreak.run(one)
    assert run.flows["end_ns"].null_count() == 0
    assert run.flows["delivered_bytes"].to_list() == [3_000_000, 3_000_000]


@pytest.mark.parametrize("kind", NETWORKS)
def test_the_hosts_links_of_every_topology_take_jitter(kind):
    network = NETWORKS[kind]
    source, destination = network.ends
    parsed = Scenario.parse(
        {
            "name": "jitter", "duration": "1 s", "topology": {"kind": kind, **network.small, "jitter": "3 us"},
            "flows": [{"from": source, "to": destination, "size": "1 kB", "via": network.via}],
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
