"""Leaf-spine networks with direct links: as much capacity as without them, and who has which link when."""

import json
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import daybreak
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower
from daybreak.scenario.topologies.leaf_spine import LeafSpine

NETWORK = {
    "kind": "leaf_spine", "leaves": 6, "spines": 2, "hosts_per_leaf": 2, "rate": "1 Gbit/s", "delay": "20 us",
    "queue": "100 packets", "direct": [[0, 3], [1, 4], [2, 5]],
}  # fmt: skip
MS = 1_000_000_000
SPINE = [{"via": f"leaf-{k}->spine-0", "ack_via": f"leaf-{k + 3}->spine-0"} for k in range(3)]


def flow(name, pair, host=0, **more):
    ends = {"from": f"host-{2 * pair + host}", "to": f"host-{2 * (pair + 3) + host}"}
    return {"name": name, "size": "10 MB", **ends, **more}


def scenario(flows, duration="1 s", **schedule):
    return Scenario.parse(
        {
            "name": "direct turns",
            "duration": duration,
            "topology": NETWORK,
            "schedule": {"kind": "direct_turns", "turn": "10 ms", **schedule},
            "flows": flows,
            "records": {"links": ["direct-0-3", "direct-1-4", "leaf-0->spine-0", "leaf-1->spine-0"], "bins": "1 ms"},
        }
    )


def capacity(network):
    """Rate of the links of each leaf to other switches."""
    _, links = network.build()
    total = Counter()
    for link in links:
        for end in (link.from_, link.to):
            if end.startswith("leaf") and "host" not in link.from_ + link.to:
                total[end] += int(link.rate)
    return total


@given(st.data())
def test_direct_links_add_no_capacity_whatever_is_joined(data):
    leaves, spines = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 4))
    pairs = [(i, j) for i in range(leaves) for j in range(i)]
    direct = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=6))
    sizes = NETWORK | {"leaves": leaves, "spines": spines, "spine_rate": "3 Gbit/s"}
    plain = LeafSpine.model_validate(sizes | {"direct": []})
    taken = Counter(leaf for pair in direct for leaf in pair)
    if any(count >= spines for count in taken.values()):
        with pytest.raises(ValidationError, match="must stay"):
            LeafSpine.model_validate(sizes | {"direct": direct})
        return
    joined = LeafSpine.model_validate(sizes | {"direct": direct})
    assert capacity(joined) == capacity(plain)
    _, links = joined.build()
    assert {link.name for link in links if link.name} == {f"direct-{i}-{j}" for i, j in direct}


def steps(scenario):
    """For each time of the period, gates that open and close, and routes that are set."""
    plan = json.loads(lower(scenario, 1).json)
    names = [queue["name"] for queue in plan["queues"]]
    found = {}
    for step in plan["timelines"][0]["steps"]:
        found[step["offset_ps"] // MS] = [
            f"{action['kind']} {names[action['queue']]}" if "queue" in action else action["kind"]
            for action in step["actions"]
        ]
    return found


def test_one_pair_has_its_link_at_a_time_and_the_first_from_the_start():
    found = steps(scenario([flow("a", 0), flow("b", 1), flow("c", 2)]))
    closed = {ms: sorted(a[11:] for a in done if a.startswith("close_gate")) for ms, done in found.items()}
    opened = {ms: sorted(a[10:] for a in done if a.startswith("open_gate")) for ms, done in found.items()}
    ways = [[f"direct-{k}-{k + 3}", f"direct-{k}-{k + 3}.back"] for k in range(3)]
    assert opened == {0: ways[0], 10: ways[1], 20: ways[2]}
    # At the start all others are closed, the last pair's as the end of its turn.
    assert closed == {0: ways[1] + ways[2], 10: ways[0], 20: ways[1]}


def test_a_flow_takes_its_direct_link_in_its_turn_only():
    run = daybreak.run(scenario([flow("a", 0), flow("b", 1)]))
    bins = run.bins.filter(pl.col("scope") == "link").with_columns((pl.col("start_ns") // 10_000_000).alias("turn"))
    carried = {
        name: dict(part.group_by("turn").agg(pl.col("bytes").sum()).sort("turn").rows())
        for (name,), part in bins.group_by(["name"])
    }
    full = 0.9 * 10e-3 * 1e9 / 8
    for name, own, spine in (("direct-0-3", 0, "leaf-0->spine-0"), ("direct-1-4", 1, "leaf-1->spine-0")):
        assert set(carried[name]) <= {own, own + 3, own + 6, own + 9}
        assert carried[name][own] > 0.5 * full
        assert all(carried[spine].get(turn, 0) > 0.5 * full for turn in range(1, 6) if turn % 3 not in (own,))
    assert None not in run.flows["fct_ns"].to_list()


def test_other_groups_stay_where_they_are():
    run = daybreak.run(scenario([flow("large", 0), flow("small", 0, 1, **SPINE[0])], groups=["large"], duration="9 ms"))
    carried = dict(run.bins.filter(pl.col("scope") == "link").group_by("name").agg(pl.col("bytes").sum()).rows())
    assert carried["direct-0-3"] > 500_000 and carried["leaf-0->spine-0"] > 500_000
    assert "leaf-1->spine-0" not in carried


def held(**schedule):
    """A flow that has filled its direct link's queue when its turn ends: its counts, and the packets lost."""
    narrow = {"topology.spine_rate": "500 Mbit/s", "records.drops": True}
    run = daybreak.run(scenario([flow("a", 0), flow("b", 1)], **schedule).with_(narrow))
    one = run.flows.filter(pl.col("flow_name") == "a")
    lost = run.drops.filter(pl.col("place_name") == "direct-0-3")["reason"].to_list()
    return one["retransmits"][0], one["duplicates"][0], Counter(lost)


def test_what_waits_for_a_link_that_goes_is_held_lost_or_sent():
    _, of_held, lost = held(waiting="hold")
    assert "gate_closed" not in lost
    sent_again, of_lost, lost = held(waiting="drop")
    assert sent_again >= lost["gate_closed"] > 100
    # Held packets come when the link is back, long after they were sent again.
    assert of_held > of_lost + 100
    # Packets that are still sent are overtaken on the spine; what is sent again for that is needless.
    sent_again, of_sent, lost = held(waiting="drain")
    assert sum(lost.values()) == 0 and sent_again == of_sent > 0


@pytest.mark.parametrize("downtime", ["make_before_break", "hold"])
def test_in_a_night_flows_that_move_stay_on_the_spine_or_have_no_path(downtime):
    bins = daybreak.run(scenario([flow("a", 0)], night="4 ms", downtime=downtime)).bins
    bins = bins.filter(pl.col("scope") == "link")
    in_night = bins.filter((pl.col("start_ns") >= 1_000_000) & (pl.col("start_ns") < 4_000_000))
    assert set(in_night["name"]) == ({"leaf-0->spine-0"} if downtime == "make_before_break" else set())
    assert bins.filter(pl.col("name") == "direct-0-3")["start_ns"].min() == 4_000_000


def test_a_direct_link_is_the_shortest_way_and_a_broker_may_give_it_to_several():
    network = NETWORK | {"direct": [[0, 3]]}
    between = ["leaf-0->spine-0"], ["direct-0-3"], ["direct-0-3"]
    run = daybreak.run(
        Scenario.parse(
            {
                "name": "shared",
                "duration": "1 s",
                "topology": network | {"hosts_per_leaf": 3},
                "flows": [
                    {"name": f"f{k}", "group": "all", "from": f"host-{k}", "to": f"host-{9 + k}", "size": size}
                    for k, size in enumerate(["1 MB", "1 MB", "5 MB"])
                ],
                "controllers": [
                    {
                        "kind": "paths", "name": "broker", "group": "all", "between": between,
                        "ack_between": [["leaf-3->spine-0"], ["direct-0-3.back"], ["direct-0-3.back"]],
                        "policy": "first_come",
                    }
                ],
            }
        )
    )  # fmt: skip
    at_start = run.control.filter((pl.col("event") == "in_force") & (pl.col("time_ns") == 0))
    assert at_start["flow_name"].to_list() == ["f0", "f1"] and at_start["path"].to_list() == [1, 2]
    later = run.control.filter((pl.col("event") == "in_force") & (pl.col("time_ns") > 0))
    assert later["flow_name"].to_list() == ["f2"]
