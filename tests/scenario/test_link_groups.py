"""Groups of links and hosts in traces, markers, queues and records: a pattern is what it selects, written out."""

import pytest
from scenario.test_host_groups import NETWORKS

from daybreak.errors import ScenarioError
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower


def plan_of(network, **more):
    written = [{"name": "f", "size": "1 kB", "from": "sender-0", "to": "receiver-0"}]
    return lower(Scenario.parse({"name": "groups", "duration": "1 s", "flows": written} | NETWORKS[network] | more), 1)


def traced(network, *links):
    """The links that a trace changes, by name."""
    flows = [{"name": "f", "size": "1 kB", "from": "host-0-0", "to": "host-1-0"}] if network == "hybrid" else None
    trace = {"kind": "trace", "links": list(links), "rows": [{"time": "1 ms", "loss": "1 %"}]}
    plan = plan_of(network, timelines=[trace], **({"flows": flows} if flows else {})).content
    return [plan.links[action.link].name for action in plan.timelines[0].steps[0].actions]


@pytest.mark.parametrize(
    ("network", "pattern", "expected"),
    [
        ("dumbbell", "senders[*]->left", ["sender-0->left", "sender-1->left", "sender-2->left"]),
        ("dumbbell", "right->receivers[1:]", ["right->receiver-1", "right->receiver-2"]),
        ("dumbbell", "left->right", ["bottleneck"]),
        ("dumbbell", "left[0:2]->left", ["sender-0->left", "sender-1->left"]),
        ("hybrid", "circuits[0][*]", ["circuit-0-1"]),
        ("hybrid", "packets[*].back", ["packet-0.back", "packet-1.back"]),
        ("hybrid", "tors[1]->hosts[1][0:2]", ["tor-1->host-1-0", "tor-1->host-1-1"]),
    ],
)
def test_a_trace_changes_the_links_of_a_group(network, pattern, expected):
    if "->" in pattern and "[" not in pattern:
        # Without brackets it is a name, and this link has another one.
        with pytest.raises(ScenarioError, match="there is no such link"):
            traced(network, pattern)
        return
    assert traced(network, pattern) == expected
    # A link that is there twice changes once.
    assert traced(network, pattern, expected[0]) == expected


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("senders[*]->right", 'timelines[0].links = "senders[*]->right": no link is in it'),
        ("senders[0:4]->left", 'the last node of this group is "sender-2": expected no number beyond it'),
        ("senderz[*]->left", "there is no such group of hosts"),
        ("bottlenecks[*]", "there is no group of links at all"),
    ],
)
def test_a_pattern_without_links_is_refused(pattern, sentence):
    with pytest.raises(ScenarioError) as error:
        traced("dumbbell", pattern)
    assert sentence in str(error.value)


def test_markers_queues_and_records_take_groups():
    def content(senders, receivers, links):
        return plan_of(
            "dumbbell",
            marks=[{"name": "m", "shown_as": "ece"}],
            markers=[{"name": "at", "mark": "m", "at": "left", "from": senders, "to": receivers, "on": True}],
            flows=[{"name": f"f{k}", "size": "1 kB", "from": f"sender-{k}", "to": f"receiver-{k}"} for k in range(3)],
            queues=[{"name": "q", "served_by": "bottleneck", "to": receivers, "limit": "9 packets"}],
            records={"links": links, "packets": links, "taps": links},
        ).content

    grouped = content("senders[0:2]", "right[:2]", ["senders[0:2]->left"])
    assert grouped == content(
        ["sender-0", "sender-1"], ["receiver-0", "receiver-1"], ["sender-0->left", "sender-1->left"]
    )
    marked = [any(step.kind == "marker" for step in grouped.paths[flow.data_path]) for flow in grouped.flows]
    assert marked == [True, True, False]
