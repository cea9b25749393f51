"""What a model is told of a scenario, and what it is not told and names."""

import pytest

import daybreak
from daybreak.errors import ScenarioError
from daybreak.learn import design, setting
from daybreak.plan.downtimes import POLICIES
from daybreak.scenario import Scenario


def as_migrated(migration):
    return migration.with_({"flows.1.name": "migrated", "timelines.0.flows": ["migrated"]})


def test_a_setting_is_what_the_scenario_says(migration):
    found = setting.describe(
        as_migrated(migration).with_(
            {"timelines.0.night": "1 ms", "timelines.0.start": "4 ms", "stack.hz": 250, "flows.1.count": 2}
        )
    )
    assert (found["rate_gbps"], found["rtt_us"], found["buffer_packets"]) == (10, 40, 350)
    assert (found["period_ms"], found["night_ms"], found["downtime"]) == (10, 1, "drop")
    assert (found["start_ms"], found["hz"], found["migrated_mib"], found["migrated_flows"]) == (4, 250, 64, 2)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"flows.0.name": "other"}, 'one entry with group "main"'),
        ({"stack.mtu": 1500}, "stack.mtu = 1500"),
        ({"topology.queue": "1 MB"}, "a model needs packets"),
        ({"timelines": []}, "timelines are none, and controllers 0: a model needs exactly one timeline, of kind"),
        ({"flows.0.size": "unlimited"}, 'size of "main" = unlimited: a model needs one that'),
    ],
)
def test_a_scenario_of_another_kind_is_one_sentence(migration, change, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        setting.describe(as_migrated(migration).with_(change))


ASKS = {"kind": "request_response", "request": "1 kB", "response": "1 MB", "exchanges": 2}
FLOW = {"name": "third", "from": "sender-main", "to": "receiver-main", "size": "1 MB"}


@pytest.mark.parametrize(("change", "sentence", "field"), [
    ({"stack.mtu": 1500}, "stack.mtu = 1500: the models know 9000 only", "stack.mtu"),
    ({"topology.queue": "1 MB"}, 'topology.queue = "1 MB": a model needs packets', "topology.queue"),
    ({"flows.0.size": "unlimited"},
     'flows: size of "main" = unlimited: a model needs one that is limited', "flows"),
    ({"flows.1.size": None, "flows.1.application": ASKS},
     'flows: size of "migrated" = none: a model needs one that is limited', "flows"),
    ({"flows.0.group": "other"},
     'flows: a model needs one entry with group "main", no others than "migrated" and "main", and no arrivals',
     "flows"),
])  # fmt: skip
def test_what_is_not_of_the_testbeds_kind_is_named_with_its_field(migration, change, sentence, field):
    with pytest.raises(ScenarioError) as caught:
        setting.describe(as_migrated(migration).with_(change))
    assert (str(caught.value), caught.value.field) == (f'scenario "migration": {sentence}', field)


def test_a_third_flow_is_none_that_a_model_knows(migration):
    flows = [*as_migrated(migration).document()["flows"], FLOW]
    with pytest.raises(ScenarioError, match='one entry with group "migrated", no others than'):
        setting.describe(as_migrated(migration).with_({"flows": flows}))


def test_two_moves_of_the_flows_are_one_too_many(migration):
    (moves,) = as_migrated(migration).document()["timelines"]
    more = moves | {"name": "again", "flows": ["main"], "between": ["green", "blue"]}
    flows = as_migrated(migration).document()["flows"]
    flows[0].pop("via")
    with pytest.raises(ScenarioError, match="timelines are migrate, migrate, and controllers 0: a model needs exactly"):
        setting.describe(as_migrated(migration).with_({"timelines": [moves, more], "flows": flows}))


def test_a_second_timeline_is_refused_though_only_one_moves_flows(migration):
    whole = as_migrated(migration)
    step = {"at": "0 s", "do": [{"kind": "set_rate", "link": "green", "rate": "1 Gbit/s"}]}
    more = {"kind": "program", "period": "1 ms", "steps": [step]}
    sentence = "timelines are migrate, program, and controllers 0: a model needs exactly one timeline"
    with pytest.raises(ScenarioError, match=sentence):
        setting.describe(whole.with_({"timelines": [*whole.document()["timelines"], more]}))


def test_another_topology_is_named_with_its_scenario(one_flow):
    with pytest.raises(ScenarioError) as caught:
        setting.describe(one_flow)
    sentence = 'scenario "one flow": topology.kind = "dumbbell": a model needs the topology "migration_testbed"'
    assert str(caught.value) == sentence


def test_own_hosts_and_links_are_no_testbed():
    links = [{"from": one, "to": other, "rate": "1 Gbit/s", "delay": "1 us"} for one, other in ("ab", "ba")]
    nodes = [{"name": name, "kind": "host"} for name in "ab"]
    flows = [{"from": "a", "to": "b", "size": "1 MB"}]
    scenario = {"name": "own", "duration": "1 s", "nodes": nodes, "links": links, "flows": flows}
    with pytest.raises(ScenarioError) as caught:
        setting.describe(Scenario.parse(scenario))
    sentence = 'scenario "own": topology is missing: a model needs the topology "migration_testbed"'
    assert str(caught.value) == sentence


@pytest.mark.parametrize("drawn", list(design.drawn(4, 8)), ids=lambda one: one["downtime"])
def test_policies_that_are_taken_for_others_give_the_same_flows(drawn):
    """`drain` is `hold`, and `make_before_break` is no night and later moves: to the last byte of the table."""
    night = {"night_ms": drawn["night_ms"] or drawn["period_ms"] / 7, "migrated_mib": 8.0, "main_mib": 8.0}
    one = drawn | night | {"migrated_flows": 1, "main_flows": 1}
    base = setting.testbed()

    def flows(downtime):
        scenario = base.with_(setting.changes(one | {"downtime": downtime}))
        again = setting.scenario_of(setting.describe(scenario))
        return [daybreak.run(each, seed=3).flows for each in (scenario, again)]

    for downtime in POLICIES:
        before, after = flows(downtime)
        assert before.equals(after), downtime


def test_settings_are_scenarios_without_differences():
    for one in design.drawn(20, 2):
        scenario = setting.scenario_of(one)
        found = setting.describe(scenario)
        assert found == pytest.approx({k: v for k, v in one.items() if not isinstance(v, str)} | {
            k: v for k, v in one.items() if isinstance(v, str)
        })  # fmt: skip
        assert setting.differences(scenario, found) == ()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"stack.rto_min": "100 ms"}, 'stack.rto_min = "100 ms"; only "200 ms" was measured'),
        ({"stack.tcp_sack": False}, "stack.tcp_sack = false"),
        ({"stack.initial_window": 20}, "stack.initial_window = 20"),
        ({"flows.0.start": "0 s"}, 'flows.migrated.start = "0 s"; only "0 s to 5 ms" was measured'),
        ({"flows.1.variant": {"name": "cubic", "beta": 0.8}}, "flows.main.variant.beta = 0.8"),
        ({"topology.jitter": "1 us"}, 'topology.jitter = "1 us"'),
        ({"topology.rate": "20 Gbit/s"}, 'topology.jitter = "7.23 us"; only "3.615 us" was measured'),
        ({"flows.1.via": ["blue"]}, 'flows.main.via.0 = "blue"'),
        ({"timelines.0.between": ["green", "blue"]}, "timelines.0.between"),
        ({"timelines.0.hold_limit": "10 packets"}, "timelines.0.hold_limit"),
        ({"links": [{"from": "ingress", "to": "egress", "rate": "1 Gbit/s", "delay": "1 us"}]}, "links.0"),
    ],
)
def test_what_a_setting_does_not_say_is_named(change, sentence):
    scenario = setting.testbed().with_(change)
    found = setting.differences(scenario, setting.describe(scenario))
    assert any(sentence in one for one in found), found


def test_what_makes_no_difference_is_not_named():
    changes = {
        "name": "mine", "duration": "1 s", "stop": "duration", "records.queues": "1 ms", "topology.jitter": "7.24 us",
        "flows.0.ack_via": [], "timelines.0.name": "mine", "flows.0.group": "migrated", "flows.0.name": "a",
        "timelines.0.flows": ["a"], "timelines.0.group": None,
    }  # fmt: skip
    scenario = setting.testbed().with_(changes)
    assert setting.differences(scenario, setting.describe(scenario)) == ()
    other = scenario.with_({"flows": [*reversed(scenario.document()["flows"])]})
    assert setting.differences(other, setting.describe(other)) == ()
