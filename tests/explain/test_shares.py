"""The fair share of each flow at every time, and what fills it, worked out by hand on the migration testbed.

Its links have 10 Gbit/s. A path has three of them and 20 us each way, and a full packet of 9038 bytes on the wire takes
7.2304 us on each link, so that the base round-trip time is 61.6912 us: 77114 bytes at 10 Gbit/s.
"""

import polars as pl
import pytest
from msgspec.structs import replace
from ready_files import ROOT

from daybreak import load
from daybreak.engines import lowered
from daybreak.explain import explain
from daybreak.explain.shares import round_trip_ps, shares, taps
from daybreak.scenario import Scenario

MS = 1_000_000
GBPS = 1_000_000_000
FILLS = {10: 77_114, 5: 38_557, 0: 0}


def content(migration, **changes):
    return lowered(migration.with_(changes) if changes else migration, 1, "simulated").content


def courses(plan, lives, steps=()):
    """By flow: start and end in ms, share in Gbit/s and bytes that fill it, neighbours of one share together."""
    flows = pl.DataFrame(
        [(flow, start * MS, None if end is None else end * MS) for flow, (start, end) in enumerate(lives)],
        schema={"flow": pl.UInt32, "start_ns": pl.UInt64, "end_ns": pl.UInt64}, orient="row",
    )  # fmt: skip
    schema = {"time_ns": pl.UInt64, "timeline": pl.UInt32, "step": pl.UInt32}
    circuits = pl.DataFrame([(round(time * MS), 0, step) for time, step in steps], schema=schema, orient="row")
    found = {}
    for flow, *row in shares(plan, flows, circuits, range(len(lives))).iter_rows():
        start, end, share, fills = row[0] / MS, row[1] / MS, row[2] / GBPS, row[3]
        mine = found.setdefault(flow, [])
        if mine and mine[-1][1:] == (start, share, fills):
            start = mine.pop()[0]
        mine.append((start, end, share, fills))
    return found


@pytest.fixture
def moved(migration):
    """Two flows, of which one is moved every 10 ms, without a path for 1 ms each time."""
    return migration.with_({"timelines.0.night": "1 ms", "timelines.0.downtime": "drop"})


MOVES = [(10, 0), (11, 1), (20, 2), (21, 3)]


def test_a_share_is_the_rate_over_the_flows_that_have_the_link_on_their_path(moved):
    found = courses(content(moved), [(0, 30), (5, 25)], MOVES)
    ten, five, none = ((share, FILLS[share]) for share in (10, 5, 0))
    # From 11 to 20 ms both are on the green link.
    assert found[0] == [(0, 11, *ten), (11, 20, *five), (20, 30, *ten)]
    assert found[1] == [(5, 10, *ten), (10, 11, *none), (11, 20, *five), (20, 21, *none), (21, 25, *ten)]


def test_who_has_ended_or_not_begun_takes_nothing(moved):
    found = courses(content(moved), [(0, 15), (0, 18)], MOVES)
    assert found[1][-2:] == [(11, 15, 5, FILLS[5]), (15, 18, 10, FILLS[10])]
    found = courses(content(moved), [(14, 30), (0, 18)], MOVES)
    assert found[1][-2:] == [(11, 14, 10, FILLS[10]), (14, 18, 5, FILLS[5])]


def test_who_never_ends_takes_its_share_and_has_none_of_its_own_in_the_table(moved):
    found = courses(content(moved), [(12, None), (0, 18)], MOVES)
    assert set(found) == {1}
    assert found[1][-2:] == [(11, 12, 10, FILLS[10]), (12, 18, 5, FILLS[5])]


def test_each_flow_that_is_moved_has_the_path_that_its_own_moves_chose(moved):
    """They change places at 11 ms, and the rate of one link tells who is where."""
    moves = {"kind": "migrate", "period": "10 ms", "night": "1 ms", "downtime": "drop"}
    both = [moves | {"name": name, "flows": [name], "between": way} for name, way in (
        ("main", ["green", "blue"]), ("moved", ["blue", "green"]),
    )]  # fmt: skip
    document = moved.document()
    del document["flows"][0]["via"]
    scenario = Scenario.parse(document | {"timelines": both})
    plan = content(scenario)
    slow = [replace(link, rate_bps=5 * GBPS) if link.name == "green" else link for link in plan.links]
    lives = pl.DataFrame(
        {"flow": [0, 1], "start_ns": [0, 0], "end_ns": [20 * MS, 20 * MS]},
        schema={"flow": pl.UInt32, "start_ns": pl.UInt64, "end_ns": pl.UInt64},
    )
    schema = {"time_ns": pl.UInt64, "timeline": pl.UInt32, "step": pl.UInt32}

    def of(flow, *steps):
        circuits = pl.DataFrame([(time * MS, *step) for time, *step in steps], schema=schema, orient="row")
        found = shares(replace(plan, links=slow), lives, circuits, [0, 1]).filter(flow=flow)
        return [(start // MS, end // MS, share // GBPS) for _, start, end, share, _ in found.iter_rows()]

    both_moves = [(10, 0, 0), (10, 1, 0), (11, 0, 1), (11, 1, 1)]
    assert of(0, *both_moves) == [(0, 10, 5), (10, 11, 0), (11, 20, 10)]
    assert of(1, *both_moves) == [(0, 10, 10), (10, 11, 0), (11, 20, 5)]
    # The night of one is none of the other.
    assert of(0, (10, 0, 0)) == [(0, 10, 5), (10, 20, 0)] and of(1, (10, 0, 0)) == [(0, 20, 10)]


def test_make_before_break_leaves_no_time_without_a_path(moved):
    plan = content(moved, **{"timelines.0.downtime": "make_before_break"})
    found = courses(plan, [(0, 30), (5, 25)], MOVES)
    assert found[1] == [(5, 11, 10, FILLS[10]), (11, 21, 5, FILLS[5]), (21, 25, 10, FILLS[10])]


def program(*steps):
    return [{"kind": "program", "name": "p", "period": "100 ms", "steps": [{"at": at, "do": do} for at, do in steps]}]


def test_a_rate_that_changes_is_the_share_from_then_on(migration):
    slower = [{"kind": "set_rate", "link": "green", "rate": "4 Gbit/s"}]
    plan = content(migration, timelines=program(("5 ms", slower)), **{"flows.1.via": "blue"})
    (first, later), (other,) = courses(plan, [(0, 30), (0, 30)], [(5, 0)]).values()
    assert first == (0, 5, 10, FILLS[10]) and other == (0, 30, 10, FILLS[10])
    # Two links of 10 and one of 4 Gbit/s: 7.2304 us twice, 18.076 us once, and 40 us.
    assert later[:3] == (5, 30, 4) and later[3] == int(4e9 * (2 * 7.2304e-6 + 18.076e-6 + 40e-6) / 8)


def test_a_delay_that_changes_fills_more_from_then_on(migration):
    longer = [{"kind": "set_delay", "link": "green", "delay": "1 ms"}, {"kind": "set_loss", "link": "green", "loss": 0}]
    plan = content(migration, timelines=program(("5 ms", longer)), **{"flows.1.via": "blue"})
    green = next(link for link in plan.links if link.name == "green")
    (first, later), _ = courses(plan, [(0, 30), (0, 30)], [(5, 0)]).values()
    assert first == (0, 5, 10, FILLS[10])
    assert later[:3] == (5, 30, 10) and later[3] - first[3] == pytest.approx(
        1.25 * (10**9 - green.delay_ps) / 1e3, abs=2
    )


def test_a_closed_gate_is_no_path_until_it_opens(migration):
    close, open_ = ({"kind": f"{what}_gate", "queue": "green", "link": "green"} for what in ("close", "open"))
    plan = content(migration, timelines=program(("5 ms", [close]), ("7 ms", [open_])), **{"flows.1.via": "blue"})
    found = courses(plan, [(0, 30), (0, 30)], [(5, 0), (7, 1)])
    assert found[0] == [(0, 5, 10, FILLS[10]), (5, 7, 0, 0), (7, 30, 10, FILLS[10])]
    assert found[1] == [(0, 30, 10, FILLS[10])]


@pytest.mark.parametrize("circuit_to", ["right", "beyond"])
def test_of_the_links_that_serve_a_queue_the_fastest_whose_gate_is_open_counts(circuit_to):
    """They are tried in another order; both end at one switch, or each has a way of its own from there."""
    link = {"rate": "40 Gbit/s", "delay": "1 us"}
    gate = {"queue": "voq", "link": "circuit"}
    scenario = Scenario.parse({
        "name": "two ways",
        "duration": "1 s",
        "nodes": [
            {"name": "a"}, {"name": "b"},
            *({"name": name, "kind": "switch"} for name in ("left", "right", "beyond")),
        ],
        "links": [
            link | {"from": "a", "to": "left"}, link | {"from": "right", "to": "b"},
            link | {"from": "beyond", "to": "b"},
            link | {"name": "packet", "from": "left", "to": "right", "rate": "1 Gbit/s"},
            link | {"name": "circuit", "from": "left", "to": circuit_to, "rate": "10 Gbit/s", "duplex": False},
        ],
        "queues": [{"name": "voq", "served_by": ["packet", "circuit"], "limit": "100 packets"}],
        "flows": [{"from": "a", "to": "b", "size": "1 MB"}],
        "timelines": program(("5 ms", [gate | {"kind": "close_gate"}]), ("7 ms", [gate | {"kind": "open_gate"}])),
    })  # fmt: skip
    plan = content(scenario)
    assert {step.kind for step in plan.paths[plan.flows[0].data_path]} == {"queue"} | (
        {"fork"} if circuit_to == "beyond" else set()
    )
    (found,) = courses(plan, [(0, 30)], [(5, 0), (7, 1)]).values()
    assert [row[:3] for row in found] == [(0, 5, 10), (5, 7, 1), (7, 30, 10)]


@pytest.mark.parametrize(("client", "server", "share"), [("receiver", "sender", 5), ("sender", "receiver", 10)])
def test_responses_take_a_share_where_they_go_and_requests_take_none(client, server, share):
    dumbbell = {"kind": "dumbbell", "pairs": 2, "rate": "10 Gbit/s", "delay": "20 us", "queue": "50 packets"}
    asks = {"kind": "request_response", "request": "300 B", "response": "20 kB", "exchanges": 3}
    flows = [
        {"from": "sender-0", "to": "receiver-0", "size": "1 MB"},
        {"from": f"{client}-1", "to": f"{server}-1", "application": asks},
    ]
    scenario = Scenario.parse({"name": "asks", "duration": "1 s", "topology": dumbbell, "flows": flows})
    found = courses(content(scenario), [(0, 30), (0, 30)])
    assert [row[:3] for row in found[0]] == [(0, 30, share)]


def test_two_flows_of_one_path_are_each_filled_by_packets_of_their_own_size(migration):
    plan = content(migration)
    first, _ = plan.flows
    stacks = [*plan.stacks, replace(plan.stacks[0], mtu=1500)]
    of_both = replace(plan, stacks=stacks, flows=[first, replace(first, src_stack=len(plan.stacks))])
    found = courses(of_both, [(0, 30), (0, 30)])
    # Three links, on each of which a packet of 1538 bytes takes 1.2304 us, and 40 us.
    assert found == {0: [(0, 30, 5, FILLS[5])], 1: [(0, 30, 5, int(5e9 * (3 * 1.2304e-6 + 40e-6) / 8))]}
    assert round_trip_ps(of_both, 0) == round_trip_ps(plan, 0)


def test_the_longest_round_trip_has_packets_of_the_slowest_link(one_flow):
    # 10 Gbit/s throughout: a full packet takes 1538 * 8 / 10 = 1230.4 ns on each of the links, of 20 us in all.
    plan = lowered(one_flow, 1, "simulated").content
    path = [step for step in plan.paths[plan.flows[0].data_path] if step.kind == "queue"]
    delays = sum(link.delay_ps for link in plan.links)
    assert round_trip_ps(plan, 0) == len(path) * 1_230_400 + delays
    assert round_trip_ps(plan, 16) == round_trip_ps(plan, 0) + 16 * 1_230_400
    # An explanation looks at the flow in bins of this and 16 packets, in which its rate is no single packet's.
    assert explain(one_flow).run.scenario.records.bins == -(-round_trip_ps(plan, 16) // 1000) * 1000
    slow = one_flow.with_({"topology.rate": "1 Gbit/s"})
    plan = lowered(slow, 1, "simulated").content
    slowest = min(link.rate_bps for link in plan.links)
    assert round_trip_ps(plan, 3) - round_trip_ps(plan, 0) == 3 * 1538 * 8 * 10**12 // slowest


def test_every_data_packet_that_arrives_crosses_a_tap_once():
    there = {"from": "sender-0", "to": "receiver-1", "size": "1 MB"}
    back = {"from": "receiver-0", "to": "sender-1", "size": "1 MB"}
    dumbbell = {"kind": "dumbbell", "pairs": 2, "rate": "1 Gbit/s", "delay": "20 us", "queue": "50 packets"}
    scenario = Scenario.parse({"name": "taps", "duration": "1 s", "topology": dumbbell, "flows": [there, back]})
    plan = lowered(scenario, 1, "simulated").content
    assert [plan.links[link].to for link in taps(plan, [0, 1])] == sorted(flow.dst for flow in plan.flows)
    assert [plan.links[link].to for link in taps(plan, [1])] == [plan.flows[1].dst]


def test_flows_that_are_not_chosen_take_their_share_and_have_no_row(moved):
    plan = content(moved)
    flows = pl.DataFrame(
        {"flow": [0, 1], "start_ns": [0, 5 * MS], "end_ns": [9 * MS, 8 * MS]},
        schema={"flow": pl.UInt32, "start_ns": pl.UInt64, "end_ns": pl.UInt64},
    )
    both_on_green = plan_on_one_path(plan)
    circuits = pl.DataFrame(schema={"time_ns": pl.UInt64, "timeline": pl.UInt32, "step": pl.UInt32})
    found = shares(both_on_green, flows, circuits, [0])
    assert found.select("flow", "start_ns", "end_ns", "share_bps").rows() == [
        (0, 0, 5 * MS, 10 * GBPS), (0, 5 * MS, 8 * MS, 5 * GBPS), (0, 8 * MS, 9 * MS, 10 * GBPS),
    ]  # fmt: skip


def test_a_flow_elsewhere_that_begins_and_ends_splits_no_interval(moved):
    flows = pl.DataFrame(
        {"flow": [0, 1], "start_ns": [0, 5 * MS], "end_ns": [9 * MS, 8 * MS]},
        schema={"flow": pl.UInt32, "start_ns": pl.UInt64, "end_ns": pl.UInt64},
    )
    circuits = pl.DataFrame(schema={"time_ns": pl.UInt64, "timeline": pl.UInt32, "step": pl.UInt32})
    found = shares(content(moved), flows, circuits, [0])
    assert found.select("start_ns", "end_ns", "share_bps").rows() == [(0, 9 * MS, 10 * GBPS)]


def plan_on_one_path(plan):
    """The plan with both flows on the path of the first."""
    first, second = plan.flows
    return replace(plan, flows=[first, replace(second, data_path=first.data_path)])


def lives_of(plan, longest_ps):
    """Two thirds of the flows end, one after the other."""
    flows = plan.flows[:9]
    rows = [
        (number, flow.start_ps // 1000, None if number % 3 == 2 else (longest_ps - number * longest_ps // 20) // 1000)
        for number, flow in enumerate(flows)
    ]
    schema = {"flow": pl.UInt32, "start_ns": pl.UInt64, "end_ns": pl.UInt64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def steps_of(plan, longest_ps):
    """The steps of all timelines up to a time."""
    rows = [
        ((line.start_ps + period * line.period_ps + step.offset_ps) // 1000, number, at)
        for number, line in enumerate(plan.timelines)
        for period in range(longest_ps // line.period_ps + 1)
        for at, step in enumerate(line.steps)
    ]
    schema = {"time_ns": pl.UInt64, "timeline": pl.UInt32, "step": pl.UInt32}
    return pl.DataFrame(sorted(rows), schema=schema, orient="row").filter(pl.col("time_ns") <= longest_ps // 1000)


def test_the_shares_of_ready_schedules(golden):
    """Flows that start when the file says so, and end within two periods of the schedule."""
    text = []
    for name in ("04-downtime", "05-circuit", "13-strobe", "14-direct-links", "16-time-division"):
        plan = lowered(load(ROOT / "scenarios" / f"{name}.toml"), 1, "simulated").content
        longest_ps = 2 * max(line.period_ps for line in plan.timelines)
        flows = lives_of(plan, longest_ps)
        found = shares(plan, flows, steps_of(plan, longest_ps), flows["flow"].to_list())
        text.append(f"{name}: round trip and 16 packets {round_trip_ps(plan, 16) / 1e6:.3f} us")
        for flow, start, end, share, fills in found.sort("flow", "start_ns").iter_rows():
            flow_name = plan.flows[flow].name
            text.append(f"  {flow_name} {start / 1e3:.3f} to {end / 1e3:.3f} us: {share / 1e9:.3f} Gb/s, {fills} B")
    golden("shares.txt", "\n".join(text) + "\n")
