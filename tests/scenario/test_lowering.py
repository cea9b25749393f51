"""From scenario to plan: names resolved, numbers exact, mistakes named."""

import pytest
from ready_files import SCENARIO_FILES, SIMULATED_FILES

from daybreak import _native
from daybreak.errors import PlanError, ScenarioError, UnknownName
from daybreak.plan.types import CloseGate, Darken, OpenGate, SetRoute, Step
from daybreak.scenario import Scenario, load
from daybreak.scenario.lowering import lower

MS = 10**9


def lowered(scenario, seed=1):
    return lower(scenario, seed).content


def named(entries, name):
    (entry,) = (entry for entry in entries if entry.name == name)
    return entry


def queues(plan, path):
    """Names of the queues of a path, up to a fork or route switch."""
    return [plan.queues[step.index].name for step in plan.paths[path] if step.kind == "queue"]


@pytest.mark.parametrize("path", SIMULATED_FILES, ids=lambda path: path.stem)
def test_ready_files_make_plans_that_the_engine_reads(path):
    plan = lower(load(path), 1)
    _native.check_plan(plan.json)
    assert lower(load(path), 1).json == plan.json


def test_a_plan_is_whole_numbers(one_flow):
    plan = lowered(one_flow, 7)
    link = named(plan.links, "bottleneck")
    assert link.rate_bps == 10_000_000_000
    assert link.delay_ps == 20_000_000
    assert link.framing_bytes == 38
    queue = named(plan.queues, "bottleneck")
    assert (queue.limit_packets, queue.limit_bytes) == (350, None)
    assert plan.end_ps == 1000 * MS
    assert plan.stop_when_flows_complete is True
    assert plan.flows[0].application.bytes == 1_000_000
    assert plan.seed == 7


def test_an_unlimited_flow_runs_to_the_end(one_flow):
    plan = lowered(one_flow.with_({"flows.0.size": "unlimited"}))
    assert plan.flows[0].application.bytes is None
    assert plan.stop_when_flows_complete is False


def test_every_setting_of_the_stack_arrives(one_flow):
    stack = {
        "rto_min": "5 ms", "mtu": 9000, "tcp_limit_output_bytes": "off", "max_pacing_rate": "3 Gbit/s",
        "tcp_rmem": [1, 2, 3], "tcp_sack": False, "cwnd_clamp": 100,
    }  # fmt: skip
    found = lowered(one_flow.with_({"stack": stack})).stacks[0]
    assert found.rto_min_ps == 5 * MS
    assert found.max_pacing_rate_bps == 3_000_000_000
    assert found.tcp_limit_output_bytes is None
    assert (found.mtu, found.tcp_rmem, found.tcp_sack, found.cwnd_clamp) == (9000, (1, 2, 3), False, 100)


def test_a_flow_may_have_a_stack_of_its_own(one_flow):
    scenario = one_flow.with_({"stacks": {"old": {"tcp_sack": False}}, "flows.0.stack": "old"})
    flow = lowered(scenario).flows[0]
    assert (flow.src_stack, flow.dst_stack) == (1, 1)
    flow = lowered(scenario.with_({"flows.0.receiver_stack": "stack"})).flows[0]
    assert (flow.src_stack, flow.dst_stack) == (1, 0)


def test_paths_of_a_migrated_flow(migration):
    plan = lowered(migration)
    main, moved = plan.flows
    assert queues(plan, main.data_path) == ["sender-main->ingress", "green", "egress->receiver-main"]
    assert queues(plan, main.ack_path) == ["receiver-main->egress", "bypass", "ingress->sender-main"]
    assert plan.paths[moved.data_path][-1] == Step(kind="route_switch", index=0)
    switch = plan.route_switches[0]
    tails = [queues(plan, tail) for tail in switch.alternatives]
    assert tails == [["blue", "egress->receiver-migrated"], ["green", "egress->receiver-migrated"]]
    assert plan.nodes[switch.node].name == "ingress"


def test_a_migration_begins_after_one_period_and_starts_with_its_night(migration):
    scenario = migration.with_({"timelines.0.night": "1 ms", "timelines.0.start": "5 ms"})
    (line,) = lowered(scenario).timelines
    assert (line.start_ps, line.period_ps) == (15 * MS, 20 * MS)
    steps = [(step.offset_ps // MS, type(step.actions[0])) for step in line.steps]
    assert steps == [(0, Darken), (1, SetRoute), (10, Darken), (11, SetRoute)]
    routes = [step.actions[0].alternative for step in line.steps[1::2]]
    assert routes == [1, 0]


def test_flows_between_the_same_hosts_share_their_paths(migration):
    plan = lowered(migration.with_({"flows.1.count": 5}))
    assert len(plan.route_switches) == 1
    assert [flow.name for flow in plan.flows[1:]] == [f"moved-{k}" for k in range(5)]
    assert len({(flow.data_path, flow.ack_path) for flow in plan.flows[1:]}) == 1
    assert len(plan.paths) == 6, "data and ACKs of both, and two tails"


def test_acks_may_move_too(migration):
    links = [
        {"name": name, "from": "egress", "to": "ingress", "duplex": False, "rate": "1 Gbit/s", "delay": "1 us"}
        for name in ("up", "down")
    ]
    plan = lowered(migration.with_({"links": links, "timelines.0.ack_between": ["up", "down"]}))
    assert plan.paths[plan.flows[1].ack_path][-1] == Step(kind="route_switch", index=1)
    assert [action.route_switch for action in plan.timelines[0].steps[0].actions] == [0, 1]


def circuit_steps(scenario, **circuit):
    document = {"kind": "circuit", "matchings": ["bottleneck"], "day": "3 ms", "night": "1 ms"} | circuit
    plan = lowered(scenario.with_({"timelines": [document]}))
    words = {OpenGate: "open", CloseGate: "close"}
    return [
        (line.start_ps // MS, line.period_ps // MS, [
            (step.offset_ps // MS, [(words[type(gate)], plan.links[gate.link].name) for gate in step.actions])
            for step in line.steps
        ])
        for line in plan.timelines
    ]  # fmt: skip


def test_a_circuit_has_days_and_nights(one_flow):
    assert circuit_steps(one_flow) == [(0, 4, [(0, [("open", "bottleneck")]), (3, [("close", "bottleneck")])])]


def test_a_circuit_is_dark_before_its_start(one_flow):
    before, program = circuit_steps(one_flow, start="2 ms", week="9 ms")
    assert before == (0, 1000, [(0, [("close", "bottleneck")])])
    assert program[:2] == (2, 9)


def test_matchings_take_turns(one_flow):
    (program,) = circuit_steps(one_flow, matchings=["bottleneck", "bottleneck.back"], night="0 s")
    assert program == (0, 6, [
        (0, [("close", "bottleneck.back"), ("open", "bottleneck")]),
        (3, [("close", "bottleneck"), ("open", "bottleneck.back")]),
    ])  # fmt: skip


def test_links_may_share_a_queue():
    plan = lowered(load(SCENARIO_FILES[4]))
    voq = named(plan.queues, "voq")
    assert [plan.links[link].name for link in voq.served_by] == ["circuit", "packet"]
    assert "voq" in queues(plan, plan.flows[0].data_path)
    assert plan.forks == [], "both links lead to one switch"


def test_random_starts_come_from_the_flows_own_stream(one_flow):
    jitter = {"flows.0.start": {"uniform": ["1 ms", "2 ms"]}}
    starts = [lowered(one_flow.with_(jitter), seed).flows[0].start_ps for seed in range(50)]
    assert all(MS <= start <= 2 * MS for start in starts)
    assert len(set(starts)) == 50
    two = one_flow.with_(jitter).document()
    two["flows"].append(two["flows"][0] | {"name": "another"})
    assert lowered(one_flow.parse(two), 3).flows[0].start_ps == starts[3]


def test_responses_move_where_only_the_acks_do(migration):
    ends = {"from": "receiver-migrated", "to": "sender-migrated", "via": "bypass"}
    asks = {"kind": "request_response", "request": "200 B", "response": "1 MB"}
    flow = {"name": "moved", "application": asks} | ends
    move = {"kind": "migrate", "flows": ["moved"], "ack_between": ["blue", "green"], "period": "10 ms"}
    plan = lowered(migration.with_({"flows": [flow], "timelines": [move]}))
    (moved,) = plan.flows
    kinds = [[step.kind for step in plan.paths[path]] for path in (moved.data_path, moved.ack_path)]
    assert "route_switch" not in kinds[0] and kinds[1][-1] == "route_switch"
    (switch,) = plan.route_switches
    assert len(set(switch.alternatives)) == 2
    assert [action.alternative for step in plan.timelines[0].steps for action in step.actions] == [1, 0]


def arrivals(scenario, seed=1, **changes):
    sizes = {"choice": [f"{2**n} MiB" for n in range(9)], "total": "1 GiB", "max_flows": 20}
    generator = {"name": "a", "from": "sender-0", "to": "receiver-0", "every": "10 ms", "sizes": sizes} | changes
    return lowered(scenario.with_({"flows": [], "arrivals": [generator]}), seed).flows


def test_random_sizes_add_up_within_the_number_of_flows(one_flow):
    counts, seen = set(), set()
    for seed in range(200):
        sizes = [flow.application.bytes for flow in arrivals(one_flow, seed)]
        assert sum(sizes) == 2**30
        counts.add(len(sizes))
        seen |= set(sizes)
    assert max(counts) <= 20
    assert len(counts) > 3
    assert seen == {2**n for n in range(20, 29)}


def test_arrivals_come_one_interval_apart(one_flow):
    assert [flow.start_ps for flow in arrivals(one_flow)][:3] == [0, 10 * MS, 20 * MS]
    paired = arrivals(one_flow, at_once=2, start="1 ms")
    assert [flow.start_ps for flow in paired][:4] == [MS, MS, 11 * MS, 11 * MS]


def test_generators_may_share_their_sizes(one_flow):
    first = [flow.application.bytes for flow in arrivals(one_flow, stream="same")]
    assert first == [flow.application.bytes for flow in arrivals(one_flow, name="b", stream="same")]
    assert first != [flow.application.bytes for flow in arrivals(one_flow, name="b")]


def test_sizes_that_cannot_add_up(one_flow):
    with pytest.raises(
        ScenarioError, match=r"arrivals\[0\].sizes.total = 10 MB: at most 3 flows of 3 MB cannot add up"
    ):
        arrivals(one_flow, sizes={"choice": ["3 MB"], "total": "10 MB", "max_flows": 3})


def test_ecmp_spreads_flows_over_equal_paths():
    scenario = load(SCENARIO_FILES[6]).with_({"flows.0.count": 30})
    plan = lowered(scenario)
    spines = {queues(plan, flow.data_path)[1] for flow in plan.flows[:30]}
    assert spines == {"leaf-1->spine-0", "leaf-1->spine-1"}
    plan = lowered(scenario.with_(routing="first"))
    assert {queues(plan, flow.data_path)[1] for flow in plan.flows[:30]} == {"leaf-1->spine-0"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"flows.0.to": "receiver-9"},
            'flows[0].to = "receiver-9": there is no such host (did you mean "receiver-0"?)',
        ),
        ({"flows.0.from": "left"}, 'flows[0].from = "left": expected a host, left is a switch'),
        ({"flows.0.to": "sender-0"}, 'flows[0].to = "sender-0": expected another host than the sender'),
        ({"flows.0.variant": "cubik"}, 'flows[0].variant = "cubik": there is no such variant (did you mean "cubic"?)'),
        ({"flows.0.via": "nowhere"}, 'flows[0].via = "nowhere": there is no such link'),
        ({"flows.0.via": ["bottleneck", "bottleneck"]}, "flows[0].via: the path would cross a link twice"),
        ({"flows.0.stack": "bsd"}, 'flows[0].stack = "bsd": there is no such stack'),
        ({"flows.0.start": "2 s"}, "flow flow-0 would start at 2 s: expected a start before the end at 1 s"),
        ({"flows": []}, "the scenario has no flows"),
        ({"nodes": [{"name": "island"}], "flows.0.to": "island"}, 'there is no path from "sender-0" to "island"'),
        ({"nodes": [{"name": "left"}]}, 'node "left" exists twice'),
        (
            {"links": [{"from": "x", "to": "left", "rate": "1 Gbit/s", "delay": "0"}]},
            'from = "x": there is no such node',
        ),
        ({"records": {"taps": ["green"]}}, 'records.taps[0] = "green": there is no such link'),
        ({"records": {"sampled_queues": ["q"]}}, 'records.sampled_queues[0] = "q": there is no such queue'),
        (
            {
                "timelines": [
                    {"kind": "migrate", "group": "x", "between": ["bottleneck", "bottleneck"], "period": "1 s"}
                ]
            },
            'timelines[0].group = "x": there is no such group; known are flow-0',
        ),
        (
            {"timelines": [{"kind": "migrate", "flows": ["flow-0"], "between": ["bottleneck", []], "period": "1 s"}]},
            "all paths of flow flow-0 are the same",
        ),
        (
            {"timelines": [{"kind": "circuit", "matchings": ["bottleneck"], "day": "1 s", "night": "1 s"}] * 2},
            'link "bottleneck" is opened and closed by "circuit-0" already',
        ),
        (
            {"queues": [{"name": "q", "limit": "9 packets", "served_by": ["bottleneck", "bottleneck"]}]},
            'queues[0].served_by[1] = "bottleneck": expected another link, it is there already',
        ),
    ],
)
def test_what_cannot_be_resolved_is_named(one_flow, changes, sentence):
    with pytest.raises(ScenarioError) as error:
        lower(one_flow.with_(changes), 1)
    assert sentence in str(error.value)
    assert 'scenario "one flow": ' in str(error.value)


@pytest.fixture
def voq_for_one_host(one_flow):
    """The bottleneck has a queue for receiver-1 alone, so that packets to receiver-0 need one of its own."""
    return one_flow.with_(
        {
            "topology.pairs": 2,
            "queues": [{"name": "voq", "limit": "9 packets", "served_by": "bottleneck", "to": "receiver-1"}],
            "records": {"queues": "1 ms"},
        }
    )


def test_the_queue_that_a_link_needs_besides_is_one_like_the_others(voq_for_one_host):
    limit = {"kind": "set_limit", "queue": "bottleneck", "limit": "5 packets"}
    timeline = {"kind": "program", "period": "2 s", "steps": [{"at": "1 ms", "do": [limit]}]}
    plan = lowered(voq_for_one_host.with_({"timelines": [timeline]}))
    index = plan.queues.index(named(plan.queues, "bottleneck"))
    assert queues(plan, plan.flows[0].data_path).count("bottleneck") == 1
    assert index in plan.records.queues, "it is sampled"
    assert plan.timelines[0].steps[0].actions[0].queue == index, "an action finds it"


def test_every_link_has_such_a_queue_of_its_own_which_all_flows_share():
    link = {"rate": "1 Gbit/s", "delay": "1 us", "duplex": False}
    ends = [("a", "x"), ("b", "x"), ("x", "y"), ("y", "z"), ("z", "c"), ("z", "d"), ("c", "a"), ("c", "b"), ("d", "a")]
    scenario = Scenario.parse({
        "name": "in a row",
        "duration": "1 s",
        "nodes": [{"name": name} for name in "abcd"] + [{"name": name, "kind": "switch"} for name in "xyz"],
        "links": [link | {"from": from_, "to": to} for from_, to in ends],
        "queues": [
            {"name": f"voq-{name}", "limit": "9 packets", "served_by": name, "to": "d"} for name in ("x->y", "y->z")
        ],
        "flows": [{"from": from_, "to": to, "size": "1 MB"} for from_, to in (("a", "d"), ("a", "c"), ("b", "c"))],
    })  # fmt: skip
    plan = lowered(scenario)
    assert [queues(plan, flow.data_path) for flow in plan.flows] == [
        ["a->x", "voq-x->y", "voq-y->z", "z->d"], ["a->x", "x->y", "y->z", "z->c"], ["b->x", "x->y", "y->z", "z->c"],
    ]  # fmt: skip
    assert [plan.links[queue.served_by[0]].name for queue in plan.queues[-2:]] == ["x->y", "y->z"]
    assert len(plan.queues) == len(ends) + 2


def test_a_week_opens_all_queues_of_its_links(voq_for_one_host):
    week = {"kind": "circuit", "matchings": ["bottleneck"], "day": "1 ms", "night": "1 ms"}
    plan = lowered(voq_for_one_host.with_({"timelines": [week]}))
    opened = [action.queue for action in plan.timelines[0].steps[0].actions if isinstance(action, OpenGate)]
    assert sorted(plan.queues[index].name for index in opened) == ["bottleneck", "voq"]


def test_an_unknown_variant_lists_the_known_ones(one_flow):
    with pytest.raises(UnknownName) as error:
        lower(one_flow.with_({"flows.0.variant": "vegas2"}), 1)
    assert ", ".join(entry.name for entry in _native.variants()) in str(error.value)


def test_two_timelines_cannot_move_one_flow(migration):
    twice = migration.document()["timelines"] * 2
    with pytest.raises(ScenarioError, match=r"flow moved is moved by timelines\[0\] already"):
        lower(migration.with_({"timelines": twice}), 1)


def test_a_host_cannot_switch_paths(migration):
    link = {"name": "second-port", "from": "sender-migrated", "to": "ingress", "rate": "1 Gbit/s", "delay": "0"}
    scenario = migration.with_({"links": [link], "timelines.0.between": ["blue", ["second-port", "blue"]]})
    with pytest.raises(ScenarioError, match='part at host "sender-migrated": expected a switch'):
        lower(scenario, 1)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_have_64_bits(one_flow, seed):
    with pytest.raises(ScenarioError, match="expected a whole number from 0 to 2"):
        lower(one_flow, seed)


def test_the_engine_refuses_what_is_not_a_plan():
    with pytest.raises(PlanError, match="the plan cannot be read"):
        _native.check_plan(b"{}")
