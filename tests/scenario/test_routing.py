"""Paths: the fewest links, by way of links that are named, and never through a host."""

import pytest

from daybreak.errors import ScenarioError
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower


def scenario(*links, hosts=("a", "b", "m"), switches=("x", "y", "z"), **flow):
    """A flow from a to b; a link is "a-x", joined both ways, or "a>x", one way."""
    document = {
        "name": "paths",
        "duration": "1 s",
        "nodes": [{"name": name} for name in hosts] + [{"name": name, "kind": "switch"} for name in switches],
        "links": [
            {"from": link[0], "to": link[2], "duplex": link[1] == "-", "rate": "1 Gbit/s", "delay": "1 us"}
            for link in links
        ],
        "flows": [{"from": "a", "to": "b", "size": "1 MB"} | flow],
    }
    return Scenario.parse(document)


def path(scenario, seed=1):
    plan = lower(scenario, seed).content
    steps = plan.paths[plan.flows[0].data_path]
    return [plan.links[plan.queues[step.index].served_by[0]].name for step in steps]


def test_the_path_with_the_fewest_links_is_taken():
    assert path(scenario("a-x", "x-y", "y-z", "z-b", "x-b")) == ["a->x", "x->b"]


def test_a_host_with_two_ports_does_not_forward():
    # Through the host m there would be one link less than through the switches.
    links = ("a-x", "x-m", "m-b", "x-y", "y-z", "z-b")
    assert path(scenario(*links)) == ["a->x", "x->y", "y->z", "z->b"]
    with pytest.raises(ScenarioError, match='there is no path from "a" to "b"'):
        lower(scenario("a-x", "x-m", "m-b"), 1)


@pytest.mark.parametrize("routing", ["first", "ecmp"])
def test_a_host_does_not_forward_where_its_way_is_as_short(routing):
    # m stands as far from b as y does, and is listed first.
    two = scenario("a-x", "x-m", "m-b", "x-y", "y-b").with_(routing=routing)
    assert {tuple(path(two, seed)) for seed in range(20)} == {("a->x", "x->y", "y->b")}


def test_a_path_cannot_be_led_through_a_host():
    links = ("a-x", "x-m", "m-y", "y-b", "x-y")
    with pytest.raises(ScenarioError, match=r'flows\[0\].via: the path would lead through "m": hosts do not forward'):
        lower(scenario(*links, via=["x->m", "m->y"]), 1)


def test_acks_do_not_cross_a_host_either():
    # The way back through m is the only one: the switches' links go one way.
    with pytest.raises(ScenarioError, match='there is no path from "b" to "a"'):
        lower(scenario("a-x", "x>y", "y-b", "b-m", "m-a"), 1)


def test_a_named_link_is_taken_though_the_path_grows():
    assert path(scenario("a-x", "x-b", "x-y", "y-b", via="x->y")) == ["a->x", "x->y", "y->b"]
