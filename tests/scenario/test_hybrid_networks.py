"""Queues for some packets, queues whose links lead apart, marks, and programs: what the plan says of them."""

import itertools

import pytest
from ready_files import ROOT

import daybreak
from daybreak import _native
from daybreak.errors import ScenarioError, UnknownName
from daybreak.plan import types as plan
from daybreak.scenario import Scenario, load
from daybreak.scenario.lowering import lower

HYBRID = load(ROOT / "scenarios" / "09-hybrid.toml")
# With the links' own queues only.
PLAIN = HYBRID.with_({"queues": [], "timelines": [], "records.sampled_queues": []})


def lowered(scenario):
    result = lower(scenario, 1)
    _native.check_plan(result.json)
    return result.content


def index(entries, name):
    return [entry.name for entry in entries].index(name)


def shown(content, path):
    """A path as words: queues, markers and forks by their names."""
    words = []
    for step in content.paths[path]:
        match step.kind:
            case "queue":
                words.append(content.queues[step.index].name)
            case "marker":
                words.append(f"!{content.markers[step.index].name}")
            case "fork" | "return":
                words.append(f"{step.kind} {content.queues[content.forks[step.index].queue].name}")
    return words


def test_the_link_that_serves_a_voq_decides_where_packets_go():
    content = lowered(HYBRID)
    flow = content.flows[0]
    assert shown(content, flow.data_path) == ["a-1->tor-1", "fork voq-1-2"]
    fork = content.forks[content.paths[flow.data_path][-1].index]
    tails = {content.links[tail.link].name: shown(content, tail.path) for tail in fork.tails}
    assert tails == {"circuit": ["tor-2->b-1"], "packet-1": ["fork input-1-output-2"]}
    assert fork.overflow is None
    # The packet switch sends on to the same host, and back to the same fork.
    (inner,) = (tail.path for tail in fork.tails if content.links[tail.link].name == "packet-1")
    inner = content.forks[content.paths[inner][0].index]
    assert [shown(content, tail.path) for tail in inner.tails] == [["tor-2->b-1"]]
    assert content.paths[inner.overflow] == [plan.Step(kind="return", index=content.paths[flow.data_path][-1].index)]


def test_each_destination_has_its_forks_once():
    content = lowered(HYBRID)
    # Two VOQs and two inputs, and four hosts behind each.
    assert len(content.forks) == 16
    twice = lowered(HYBRID.with_({"flows.0.count": 50}))
    assert len(twice.forks) == 16
    assert twice.paths == content.paths


def racks(count, hosts):
    """Racks with a VOQ to each other one, served by a packet network and a circuit."""
    names = [[f"h{rack}-{host}" for host in range(hosts)] for rack in range(count)]
    pairs = list(itertools.permutations(range(count), 2))
    slow, fast = {"rate": "10 Gbit/s", "delay": "5 us"}, {"rate": "80 Gbit/s", "delay": "30 us"}
    return {
        "name": "racks",
        "duration": "1 ms",
        "nodes": [{"name": name} for rack in names for name in rack]
        + [{"name": f"tor{rack}", "kind": "switch"} for rack in range(count)]
        + [{"name": "core", "kind": "switch"}],
        "links": [{"from": name, "to": f"tor{rack}", **slow} for rack, of_rack in enumerate(names) for name in of_rack]
        + [{"name": f"up{rack}", "from": f"tor{rack}", "to": "core", **slow} for rack in range(count)]
        + [{"name": f"c{a}-{b}", "from": f"tor{a}", "to": f"tor{b}", "duplex": False, **fast} for a, b in pairs],
        "queues": [
            {"name": f"voq{a}-{b}", "served_by": [f"c{a}-{b}", f"up{a}"], "to": f"tor{b}", "limit": "16 packets"}
            for a, b in pairs
        ],
        "flows": [
            {"name": f"{a}>{b}", "from": a, "to": b, "size": "1 kB"}
            for (i, ra), (k, rb) in itertools.permutations(enumerate(names), 2)
            for a in ra
            for b in rb
        ],
    }


def test_all_to_all_between_racks_stays_small():
    count, hosts = 6, 4
    content = lowered(Scenario.parse(racks(count, hosts)))
    assert len(content.flows) == count * hosts * (count - 1) * hosts
    # A fork for each VOQ and host behind it, and two tails for each host, which all racks share.
    assert len(content.forks) == count * (count - 1) * hosts
    tails = {tail.path for fork in content.forks for tail in fork.tails}
    assert len(tails) == 2 * count * hosts
    # No queue of its own for a circuit, since nothing needs it; one for each other link.
    own = [queue.name for queue in content.queues if queue.name.startswith("c")]
    assert own == [] or all(name.startswith("core") for name in own)


def test_a_queue_takes_the_packets_that_it_is_for():
    document = racks(2, 2)
    document["queues"] = [
        {"name": "first", "served_by": "up0", "to": ["h1-0"], "limit": "5 packets", "kind": "red"},
        {"name": "rest", "served_by": "up0", "to": ["tor1"], "limit": "6 packets"},
    ]
    document["links"] = [link for link in document["links"] if not link.get("name", "").startswith("c")]
    content = lowered(Scenario.parse(document))
    paths = {flow.name: shown(content, flow.data_path) for flow in content.flows}
    assert paths["h0-0>h1-0"] == ["h0-0->tor0", "first", "up1.back", "tor1->h1-0"]
    assert paths["h0-0>h1-1"] == ["h0-0->tor0", "rest", "up1.back", "tor1->h1-1"]
    assert paths["h1-0>h0-0"][1] == "up1"


MARKED = {
    "marks": [{"name": "circuit", "shown_as": "ece"}],
    "markers": [{"name": "soon", "mark": "circuit", "at": "tor-1", "from": "tor-2", "to": ["a-1", "a-2"]}],
}


def test_markers_stand_on_the_way_of_their_packets():
    content = lowered(HYBRID.with_(MARKED))
    one, _, three, _ = content.flows
    assert "!soon" not in shown(content, one.data_path)
    tails = [
        {tuple(shown(content, tail.path)) for fork in content.forks for tail in fork.tails if shown(content, tail.path)}
    ][0]
    assert ("!soon", "tor-1->a-1") in tails and ("!soon", "tor-1->a-2") in tails
    assert ("tor-1->a-3",) in tails and ("!soon", "tor-1->a-3") not in tails
    assert content.markers == [plan.Marker(name="soon", node=index(content.nodes, "tor-1"), mark=0, on=False)]
    assert shown(content, three.ack_path) == ["b-3->tor-2", "fork voq-2-1"]


def test_a_marker_at_the_destination_stands_behind_every_link_that_leads_there():
    """Also where the link behind a queue that leads apart is the last one of the way."""
    ends = [("a", "near"), ("near", "b"), ("near", "far"), ("far", "b"), ("b", "far"), ("far", "a")]
    links = [
        {"name": "-".join(pair), "from": pair[0], "to": pair[1], "rate": "1 Gbit/s", "delay": "1 us"} for pair in ends
    ]
    nodes = [{"name": name, "kind": "host" if name in "ab" else "switch"} for name in ("a", "b", "near", "far")]
    document = {
        "name": "apart", "duration": "1 s", "nodes": nodes, "links": links,
        "queues": [{"name": "both", "served_by": ["near-b", "near-far"], "to": ["b"], "limit": "9 packets"}],
        "flows": [{"from": "a", "to": "b", "size": "1 MB"}],
        "marks": MARKED["marks"],
        "markers": [{"name": "there", "mark": "circuit", "at": "b", "from": ["a"], "to": ["b"]}],
    }  # fmt: skip
    content = lowered(Scenario.parse(document))
    assert shown(content, content.flows[0].data_path) == ["a-near", "fork both"]
    (fork,) = content.forks
    tails = {content.links[tail.link].name: shown(content, tail.path) for tail in fork.tails}
    assert tails == {"near-b": ["!there"], "near-far": ["far-b", "!there"]}


def test_marks_reach_the_sender_and_slow_it_down():
    week = HYBRID.document()["timelines"][0]
    week["steps"][0]["do"].append({"kind": "set_mark", "marker": "soon", "on": True})
    # Long enough that one loss more or less does not decide.
    longer = HYBRID.with_({"duration": "320 ms"})
    marked = longer.with_(MARKED | {"timelines": [week]})
    plain, slowed = (daybreak.run(scenario).flows["delivered_bytes"].to_list() for scenario in (longer, marked))
    assert slowed[0] + slowed[1] < (plain[0] + plain[1]) * 0.9
    assert slowed[2] + slowed[3] > plain[2] + plain[3]


def program(*do, **fields):
    steps = [{"at": "10 us", "do": list(do)}]
    return {"timelines": [{"kind": "program", "period": "1 ms", "steps": steps} | fields]}


def test_a_program_says_what_is_done_by_names():
    content = lowered(
        PLAIN.with_(
            MARKED
            | {"routes": [{"name": "r", "flows": ["one"], "between": ["circuit", "packet-1"]}]}
            | program(
                {"kind": "open_gate", "queue": "circuit", "link": "circuit"},
                {"kind": "close_gate", "queue": "circuit", "link": "circuit", "downtime": "drain"},
                {"kind": "set_limit", "queue": "packet-1", "limit": "30 kB"},
                {"kind": "set_limit", "queue": "packet-1", "limit": "unlimited"},
                {"kind": "set_rate", "link": "circuit", "rate": "40 Gbit/s"},
                {"kind": "set_delay", "link": "circuit", "delay": "3 us"},
                {"kind": "set_loss", "link": "circuit", "loss": "0.1 %"},
                {"kind": "set_mark", "marker": "soon", "on": True},
                {"kind": "set_route", "route": "r", "path": 1},
                {"kind": "darken", "route": "r", "downtime": "drop"},
                start="5 us",
            )
        )
    )
    circuit, packet = index(content.queues, "circuit"), index(content.queues, "packet-1")
    link = index(content.links, "circuit")
    assert content.timelines == [
        plan.Timeline(
            name="program-0",
            start_ps=5 * 10**6,
            period_ps=10**9,
            steps=[
                plan.TimelineStep(
                    offset_ps=10**7,
                    actions=[
                        plan.OpenGate(queue=circuit, link=link),
                        plan.CloseGate(queue=circuit, link=link, downtime="drain"),
                        plan.SetLimit(queue=packet, packets=None, bytes=30_000),
                        plan.SetLimit(queue=packet, packets=None, bytes=None),
                        plan.SetRate(link=link, rate_bps=40 * 10**9),
                        plan.SetDelay(link=link, delay_ps=3_000_000),
                        plan.SetLoss(link=link, loss_ppb=1_000_000),
                        plan.SetMark(marker=0, on=True),
                        plan.SetRoute(route_switch=0, alternative=1),
                        plan.Darken(route_switch=0, downtime="drop"),
                    ],
                )
            ],
        )
    ]


def test_a_program_moves_a_route():
    document = racks(2, 1)
    document |= {
        "queues": [],
        "duration": "3 ms",
        "flows": [{"name": "f", "from": "h0-0", "to": "h1-0", "size": "unlimited"}],
        "routes": [{"name": "way", "flows": ["f"], "between": ["up0", "c0-1"]}],
        "records": {"links": ["up0", "c0-1"], "bins": "1 ms"},
    }
    steps = [{"at": "1 ms", "do": [{"kind": "set_route", "route": "way", "path": 1}]}]
    document["timelines"] = [{"kind": "program", "period": "10 ms", "steps": steps}]
    bins = daybreak.run(Scenario.parse(document)).bins
    carried = {(row["name"], row["start_ns"]): row["bytes"] for row in bins.iter_rows(named=True)}
    assert carried["up0", 0] > 0 and ("c0-1", 0) not in carried
    assert carried["c0-1", 2_000_000] > 0 and ("up0", 2_000_000) not in carried


def test_rates_and_limits_change_what_is_delivered(one_flow):
    unlimited = one_flow.with_({"flows.0.size": "unlimited", "duration": "20 ms", "topology.access_rate": "40 Gbit/s"})
    plain = daybreak.run(unlimited).flows["delivered_bytes"][0]
    slow = program({"kind": "set_rate", "link": "bottleneck", "rate": "1 Gbit/s"}, period="1 s")
    assert daybreak.run(unlimited.with_(slow)).flows["delivered_bytes"][0] < plain / 5
    cut = program({"kind": "set_limit", "queue": "bottleneck", "limit": "2 packets"}, period="1 s")
    assert daybreak.run(unlimited.with_(cut)).table("drops")["reason"].unique().to_list() == ["queue_full"]


def test_a_limit_that_is_lowered_loses_what_no_longer_fits(one_flow):
    unlimited = one_flow.with_({"flows.0.size": "unlimited", "duration": "20 ms", "topology.access_rate": "40 Gbit/s"})
    lower_it = {"kind": "set_limit", "queue": "bottleneck", "limit": "2 packets"}
    raise_it = {"kind": "set_limit", "queue": "bottleneck", "limit": "350 packets"}
    steps = [{"at": "0 s", "do": [raise_it]}, {"at": "5 ms", "do": [lower_it]}]
    run = daybreak.run(unlimited.with_({"timelines": [{"kind": "program", "period": "6 ms", "steps": steps}]}))
    reasons = dict(run.table("drops").group_by("reason").len().iter_rows())
    assert reasons["limit_lowered"] > 10
    dropped = run.table("queue_totals").filter(queue_name="bottleneck")["dropped_packets"].item()
    assert dropped == sum(reasons.values())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"queues.0.to": ["tor-9"]},
            'queues[0].to[0] = "tor-9": there is no such node (did you mean "tor-',
        ),
        (
            {"queues.0.to": "packet-switch"},
            'queues[0].to[0] = "packet-switch": expected a host, or a switch that has hosts',
        ),
        ({"queues.0.served_by": ["circuit", "packet-2"]}, "expected links that start at one switch"),
        ({"queues.2.arriving_by": "circuit"}, 'queues[2].arriving_by[0] = "circuit": expected a link that ends at'),
        ({"queues.0.priority": 3}, 'queues[0].priority = 3: expected 0, or scheduler = "strict_priority" for link'),
        ({"queues.0.returned_limit": "3 kB"}, "queues[0] has a returned_limit of 3 kB: expected packets"),
        ({"queues.0.kind": "blue"}, 'queues[0].kind = "blue": there is no such queue discipline; known are drop_tail'),
        (
            {"queues.0.kind": {"name": "ecn_threshold"}},
            'queues[0].kind.threshold is missing: expected packets or bytes, 1 to 1099511627776, such as "10 packets"',
        ),
        (
            {"queues.0.kind": {"name": "drop_tail", "threshold": "3 packets"}},
            "queues[0].kind.threshold: drop_tail has no such parameter; it has none",
        ),
        (
            {"queues.0.kind": {"name": "red", "weigth": 0.1}},
            'queues[0].kind.weigth: red has no such parameter (did you mean "weight"?); known are min_threshold, max_',
        ),
        ({"queues.0.kind": {"name": "red", "weight": 2}}, "queues[0].kind.weight = 2: expected a number from 1e-06 to"),
        (
            {"flows.0.variant": {"name": "cubic", "hystart": 1}},
            "flows[0].variant.hystart = 1: expected true or false",
        ),
        ({"flows.0.variant": 7}, "flows[0].variant = 7: expected a variant: a name such as"),
        ({"flows.0.via": ["packet-1", "packet-2.back", "tor-2->b-2", "b-2->tor-2"]}, "hosts do not forward"),
        ({"flows.0.via": ["packet-1", "packet-2.back"]}, None),
        (
            program({"kind": "set_mark", "marker": "x", "on": True}),
            'do[0].marker = "x": there is no marker at all',
        ),
        (
            program({"kind": "open_gate", "queue": "voq-1-2", "link": "packet-2"}),
            'do[0].link = "packet-2": expected a link that serves queue "voq-1-2", circuit, packet-1',
        ),
        (
            program({"kind": "set_limit", "queue": "tor-1->a-0", "limit": "3 packets"}),
            'timelines[0].steps[0].do[0].queue = "tor-1->a-0": there is no such queue (did you mean',
        ),
        (
            program({"kind": "set_parameter", "queue": "voq-2-1", "parameter": "threshold", "value": True}),
            "timelines[0].steps[0].do[0].threshold = true: expected packets or bytes, 1 to 1099511627776, such as",
        ),
        (
            program({"kind": "set_parameter", "queue": "voq-2-1", "parameter": "k", "value": True}),
            "timelines[0].steps[0].do[0].k: ecn_threshold has no such parameter; known are threshold, count_arrival",
        ),
        (
            program({"kind": "set_route", "route": "r", "path": 0}),
            'do[0].route = "r": there is no route at all',
        ),
        (program({"kind": "open_gates", "queue": "voq-1-2"}), 'do[0].kind = "open_gates": expected'),
        (program({"kind": "set_rate", "link": "circuit"}), "timelines[0].steps[0].do[0].rate is missing"),
        (program({"kind": "set_delay", "link": "circuit"}), "timelines[0].steps[0].do[0].delay is missing"),
        (program({"kind": "set_delay", "link": "no", "delay": "1 us"}), 'do[0].link = "no": there is no such link'),
        (program({"kind": "set_loss", "link": "circuit", "loss": 1}), "do[0].loss = 1: expected a probability below 1"),
        (program({"kind": "set_loss", "link": "no", "loss": 0}), 'do[0].link = "no": there is no such link'),
        (program({"kind": "set_rate", "link": "circuit", "rate": "1 Gbit/s"}, period="5 us"), "a step at 10 us"),
    ],
)  # fmt: skip
def test_mistakes_are_named(changes, sentence):
    if sentence is None:
        lowered(HYBRID.with_(changes))
        return
    # A table would only replace the keys that it has.
    plain = HYBRID.with_({"queues.0.kind": "drop_tail", "timelines": []})
    with pytest.raises(ScenarioError) as error:
        lower(plain.with_(changes), 1)
    assert sentence in str(error.value)


def test_a_packet_cannot_return_to_nowhere():
    document = HYBRID.document()
    del document["queues"][0]["returned_limit"]
    with pytest.raises(
        ScenarioError, match=r'"input-1-output-2" has overflow = "return", but packets of flows\[0\] come'
    ):
        lower(Scenario.parse(document), 1)


def test_via_cannot_choose_what_a_link_decides():
    document = racks(2, 2)
    document["nodes"].append({"name": "detour", "kind": "switch"})
    for name, ends in (("in", ("core", "detour")), ("out", ("detour", "tor1"))):
        link = {"name": name, "from": ends[0], "to": ends[1], "duplex": False, "rate": "1 Gbit/s", "delay": "1 us"}
        document["links"].append(link)
    document["flows"] = [document["flows"][0] | {"via": ["up0", "in", "out"]}]
    with pytest.raises(ScenarioError, match='behind queue "voq0-1" packets take the shortest way'):
        lower(Scenario.parse(document), 1)


def test_two_queues_cannot_both_take_everything():
    document = racks(2, 2)
    document["queues"] = [{"name": name, "served_by": "up0", "limit": "5 packets"} for name in "ab"]
    with pytest.raises(ScenarioError, match="serves another queue already"):
        lower(Scenario.parse(document), 1)


def test_choices_are_saved_as_they_were_given(one_flow):
    changed = one_flow.with_({"flows.0.variant": {"name": "cubic", "beta": 0.8, "hystart": False}})
    assert changed.document()["flows"][0]["variant"] == {"name": "cubic", "beta": 0.8, "hystart": False}
    assert "variant" not in one_flow.document()["flows"][0]
    assert Scenario.parse(changed.document()) == changed
    plain = changed.with_({"flows.0.variant": "bbr"})
    assert plain.document()["flows"][0]["variant"] == "bbr"
    assert lowered(changed).rules == [
        plan.Choice(
            name="cubic",
            parameters={
                "beta": plan.Value(unit="number", value=0.8),
                "hystart": plan.Value(unit="switch", value=False),
            },
        )
    ]


# On a long way the curve decides, on a short one the Reno-friendly region; HyStart needs a queue that grows.
LONG = {"topology": {"rate": "200 Mbit/s", "access_rate": "1 Gbit/s", "delay": "25 ms", "queue": "100 packets"}}
SHORT = {"topology": {"access_rate": "40 Gbit/s", "queue": "20 packets"}}


@pytest.mark.parametrize(
    ("way", "duration", "parameter", "value"),
    [
        (LONG, "10 s", "beta", 0.5),
        (LONG, "26 s", "fast_convergence", False),
        (SHORT, "50 ms", "tcp_friendliness", False),
        ({"topology": {"access_rate": "40 Gbit/s"}}, "50 ms", "hystart", False),
    ],
)
def test_parameters_of_a_rule_reach_it(one_flow, way, duration, parameter, value):
    def run(variant):
        changes = {"flows.0.size": "unlimited", "duration": duration, "records": {"window": "1 ms"}}
        run = daybreak.run(one_flow.with_(way | changes | {"flows.0.variant": variant}))
        return run.flows["variant"][0], run.window["cwnd"].to_list()

    _, plain = run("cubic")
    variant, windows = run({"name": "cubic", parameter: value})
    assert variant == f"cubic {parameter}={str(value).lower()}"
    assert windows != plain
    default = next(one for one in _native.variants()[1].parameters if one.name == parameter).default[1]
    assert run({"name": "cubic", parameter: default})[1] == plain


def test_two_settings_of_a_rule_are_two_rules(one_flow):
    scenario = one_flow.with_({"topology.pairs": 2}).document()
    flow = scenario["flows"][0]
    scenario["flows"] = [
        flow | {"name": "a"},
        flow | {"name": "b", "variant": {"name": "cubic", "beta": 0.5}},
        flow | {"name": "c", "variant": {"name": "cubic"}},
    ]
    content = lowered(Scenario.parse(scenario))
    assert [flow.rule for flow in content.flows] == [0, 1, 0]


def test_an_unknown_variant_is_still_named(one_flow):
    with pytest.raises(UnknownName, match=r'flows\[0\].variant = "vegas2": there is no such variant'):
        lower(one_flow.with_({"flows.0.variant": {"name": "vegas2", "alpha": 3}}), 1)
