"""Explanations: the parts add up exactly, and are what the scenario was made to show."""

import explanations
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ready_files import ROOT, SIMULATED_FILES

import daybreak
from daybreak.engines import lowered
from daybreak.errors import OutputError, ScenarioError
from daybreak.explain import explain
from daybreak.metrics.explanation import COLUMNS, PARTS
from daybreak.plan.downtimes import POLICIES
from daybreak.plan.types import Bulk


def parts(found, flow=0):
    row = found.flows.row(flow, named=True)
    return {part: row[f"{part}_ns"] / row["fct_ns"] for part in PARTS}


def check_sums(found):
    for row in found.flows.iter_rows(named=True):
        assert sum(row[name] for name in COLUMNS) == row["fct_ns"]
        assert min(row[name] for name in COLUMNS) >= 0
    for name in ("fct_ns", *COLUMNS):
        assert found.groups[name].sum() == found.flows[name].sum()


@pytest.mark.parametrize("path", SIMULATED_FILES, ids=lambda path: path.stem)
def test_the_parts_of_every_ready_scenario_add_up(path):
    scenario = daybreak.load(path)
    if scenario.controllers:
        with pytest.raises(ScenarioError, match="only the paths that timelines change"):
            explain(scenario)
        return
    if all(flow.application for flow in (*scenario.flows, *scenario.arrivals)):
        with pytest.raises(ScenarioError, match="none of them is a bulk transfer"):
            explain(scenario)
        return
    found = explain(scenario)
    check_sums(found)
    others = [note for note in found.notes if "no bulk transfer" in note]
    assert bool(others) == any(flow.application for flow in (*scenario.flows, *scenario.arrivals))
    bulk = [flow for flow in lowered(scenario, 1, "simulated").content.flows if isinstance(flow.application, Bulk)]
    assert found.flows.height + found.unfinished == len(bulk)


@settings(max_examples=40, deadline=None)
@given(
    variants=st.lists(st.sampled_from(["cubic", "reno", "bbr", "westwood", "vegas"]), min_size=2, max_size=2),
    period=st.sampled_from(["1 ms", "3 ms", "10 ms"]),
    night=st.sampled_from(["0 s", "100 us", "900 us"]),
    downtime=st.sampled_from([*POLICIES]),
    queue=st.sampled_from(["5 packets", "40 packets", "400 packets"]),
    rate=st.sampled_from(["100 Mbit/s", "1 Gbit/s", "40 Gbit/s"]),
    rtt=st.sampled_from(["20 us", "1 ms"]),
    mtu=st.sampled_from([1500, 9000]),
    count=st.integers(1, 4),
    seed=st.integers(1, 100),
)
def test_the_parts_add_up_in_any_scenario(
    variants, period, night, downtime, queue, rate, rtt, mtu, count, seed
):  # fmt: skip
    flow = {"size": "1 MB", "count": count, "start": {"exponential": "100 us"}}
    scenario = daybreak.Scenario.parse(
        {
            "name": "any", "duration": "20 s", "stack": {"mtu": mtu},
            "topology": {"kind": "migration_testbed", "rate": rate, "rtt": rtt, "queue": queue},
            "flows": [
                flow | {"name": "a", "from": "sender-main", "to": "receiver-main", "via": "green"}
                | {"variant": variants[0]},
                flow | {"name": "b", "from": "sender-migrated", "to": "receiver-migrated", "variant": variants[1]},
            ],
            "timelines": [
                {
                    "kind": "migrate", "flows": ["b"], "between": ["blue", "green"], "period": period, "night": night,
                    "downtime": downtime,
                }
            ],
        }
    )  # fmt: skip
    check_sums(explain(scenario, seed))


@pytest.mark.parametrize("rate", ["100 Mbit/s", "10 Gbit/s"])
@pytest.mark.parametrize("mtu", [1500, 9000])
def test_a_flow_alone_spends_its_time_in_transfer(one_flow, rate, mtu):
    alone = one_flow.with_({"topology.rate": rate, "flows.0.size": "20 MB", "stack.mtu": mtu, "duration": "10 s"})
    found = parts(explain(alone))
    assert found["transfer"] > 0.9
    assert found["transfer"] + found["ramp_up"] + found["queueing"] == pytest.approx(1, abs=1e-12)


def test_a_small_window_is_ramp_up_below_the_share(one_flow):
    """Ten segments, twenty, forty: a long path is filled late."""
    far = one_flow.with_({"topology.delay": "5 ms", "topology.queue": "10000 packets", "flows.0.size": "2 MB"})
    found = parts(explain(far))
    assert found["ramp_up"] > 0.85 and found["queueing"] < 0.01


@pytest.mark.parametrize("night", ["500 us", "2 ms"])
def test_held_packets_wait_for_the_circuit_for_as_long_as_the_nights(migration, night):
    moved = migration.with_({"timelines.0.night": night, "timelines.0.downtime": "hold", "flows.0.size": "1 kB"})
    found = explain(moved)
    row = found.flows.filter(flow_name="moved").row(0, named=True)
    ended = found.run.flows.filter(flow_name="moved")["end_ns"].item()
    steps = found.run.circuits.filter(found.run.circuits["time_ns"] < ended)
    nights = (steps["phase"] == "night").sum()
    length = {"500 us": 500_000, "2 ms": 2_000_000}[night]
    assert nights >= 2 and abs(row["circuit_wait_ns"] - nights * length) <= length
    assert row["night_loss_ns"] == row["timeout_ns"] == 0


def test_dropped_packets_are_night_loss_with_the_timeouts_that_follow(migration):
    moved = migration.with_({"timelines.0.night": "1 ms", "timelines.0.downtime": "drop", "flows.0.size": "1 kB"})
    found = explain(moved)
    row = found.flows.filter(flow_name="moved").row(0, named=True)
    assert found.run.drops["reason"].unique().to_list() == ["night"]
    assert row["night_loss_ns"] > 0.05 * row["fct_ns"]
    assert row["fast_recovery_ns"] == row["timeout_ns"] == 0


def test_random_loss_is_recovery_and_timeouts_and_nothing_of_a_night(one_flow):
    lossy = {
        "name": "lossy", "duration": "20 s", "nodes": [{"name": "a"}, {"name": "s", "kind": "switch"}, {"name": "b"}],
        "links": [
            {"from": "a", "to": "s", "rate": "1 Gbit/s", "delay": "50 us"},
            {"name": "x", "from": "s", "to": "b", "rate": "1 Gbit/s", "delay": "50 us", "loss": 0.01}
            | {"queue": "500 packets"},
        ],
        "flows": [{"from": "a", "to": "b", "size": "10 MB"}],
    }  # fmt: skip
    found = explain(daybreak.Scenario.parse(lossy))
    check_sums(found)
    flow = found.run.flows.row(0, named=True)
    of = parts(found)
    assert flow["fast_recoveries"] > 10 and of["fast_recovery"] > 0.02
    assert (of["timeout"] > 0) == (flow["rtos"] + flow["tlps"] > 0)
    assert of["night_loss"] == of["circuit_wait"] == 0


def test_the_timer_of_a_lost_syn_or_of_a_tail_is_a_timeout():
    """Nothing is heard for 1 s after the loss of a SYN or SYN-ACK, and for 200 ms after that of the last packet."""
    cluster = explain(daybreak.load(ROOT / "scenarios/15-web-search.toml"))
    counted = cluster.flows.join(cluster.run.flows.select("flow", "rtos", "tlps"), on="flow")
    without = counted.filter(counted["rtos"] + counted["tlps"] == 0)
    assert without["timeout_ns"].sum() == 0
    late = counted.filter(counted["fct_ns"] > 1_000_000_000)
    assert late.height and (late["timeout_ns"] > 0.9 * late["fct_ns"]).all()
    incast = explain(daybreak.load(ROOT / "scenarios/25-incast.toml")).flows
    waited = incast.filter(incast["fct_ns"] > 4_000_000)
    assert waited.height == 9 and (waited["timeout_ns"] > 0.8 * waited["fct_ns"]).all()


def test_a_reordering_that_looks_like_a_loss_is_spurious_recovery():
    """A move to a shorter path: later packets overtake, and nothing is lost."""
    between = {"from": "in", "to": "out", "duplex": False, "rate": "10 Gbit/s", "queue": "9000 packets"}
    links = [
        {"from": "a", "to": "in", "rate": "10 Gbit/s", "delay": "5 us"},
        {"name": "short", "delay": "5 us"} | between,
        {"name": "long", "delay": "3 ms"} | between,
        {"name": "back", "from": "out", "to": "in", "duplex": False, "rate": "10 Gbit/s", "delay": "5 us"},
        {"from": "out", "to": "b", "rate": "10 Gbit/s", "delay": "5 us"},
    ]  # fmt: skip
    document = {
        "name": "reordering", "duration": "5 s", "links": links, "stack": {"mtu": 9000},
        "nodes": [
            {"name": "a"}, {"name": "b"}, {"name": "in", "kind": "switch"}, {"name": "out", "kind": "switch"},
        ],
        "flows": [{"name": "f", "from": "a", "to": "b", "size": "50 MB", "ack_via": "back"}],
        "timelines": [{"kind": "migrate", "flows": ["f"], "between": ["long", "short"], "period": "20 ms"}],
    }  # fmt: skip
    found = explain(daybreak.Scenario.parse(document))
    assert not found.run.drops.filter(found.run.drops["data"]).height
    flow = found.run.flows.row(0, named=True)
    of = parts(found)
    assert flow["fast_recoveries"] > 0
    assert of["spurious_recovery"] > 0 and of["fast_recovery"] == of["timeout"] == of["night_loss"] == 0


MIXED = {
    "name": "mixed", "duration": "2 s",
    "topology": {"kind": "dumbbell", "pairs": 4, "rate": "1 Gbit/s", "delay": "20 us", "queue": "20 packets"},
    "flows": [
        {"name": "bulk", "from": "senders[0:3]", "to": "receiver-0", "size": "300 kB", "count": 10},
        {"name": "late", "from": "sender-1", "to": "receiver-1", "size": "100 kB", "start": "1 ms"},
        {
            "name": "asks", "from": "sender-3", "to": "receiver-3",
            "application": {"kind": "request_response", "request": "300 B", "response": "20 kB", "exchanges": 3},
        },
    ],
}  # fmt: skip


def test_flows_that_are_no_bulk_transfers_are_named_and_the_others_explained():
    found = explain(daybreak.Scenario.parse(MIXED))
    check_sums(found)
    assert found.flows.height == 31 and "asks" not in found.flows["group"].to_list()
    assert found.notes == ("left out: asks, which is no bulk transfer",)


@pytest.mark.parametrize(("count", "words"), [(0, None), (1, "1 flow"), (2, "2 flows")])
def test_flows_that_do_not_end_are_counted(one_flow, count, words):
    ends = {"from": "sender-0", "to": "receiver-0", "size": "10 kB"}
    late = [ends | {"name": f"late-{number}", "size": "1 GB"} for number in range(count)]
    found = explain(one_flow.with_({"flows": [ends, *late], "duration": "5 ms"}))
    assert (found.flows.height, found.unfinished) == (1, count)
    assert found.notes == ((f"{words} did not end, so that there is nothing to explain",) if words else ())


def test_of_many_flows_some_of_each_group_are_explained_as_they_are_among_all():
    scenario = daybreak.Scenario.parse(MIXED)
    everything, some = explain(scenario), explain(scenario, most_flows=6)
    assert some.flows["group"].to_list() == ["bulk"] * 5 + ["late"]
    assert some.flows.equals(everything.flows.filter(everything.flows["flow"].is_in(some.flows["flow"].to_list())))
    assert some.notes[0].startswith("6 of 31 flows are explained, evenly spaced")
    # Nothing is recorded of the others, so that the memory does not grow with them.
    explained = set(some.flows["flow"])
    assert set(some.run.window["flow"]) == explained and set(some.run.drops["flow"]) <= explained
    assert set(some.run.bins["id"]) == explained
    assert some.run.flows.equals(everything.run.flows)


def test_groups_of_one_size_have_the_same_number_of_explained_flows():
    flow = {"from": "sender-0", "to": "receiver-0", "size": "10 kB", "count": 10}
    flows = [flow | {"name": name} for name in ("first", "second", "third")]
    some = explain(daybreak.Scenario.parse(MIXED | {"flows": flows}), most_flows=6)
    assert some.flows["group"].to_list() == ["first", "first", "second", "second", "third", "third"]


def test_a_kept_run_is_explained_as_it_was(migration, tmp_path):
    run = daybreak.run(migration, seed=3)
    found = explain(run.scenario, run.seed, "simulated", run)
    assert found.flows["fct_ns"].to_list() == run.flows["fct_ns"].to_list()
    other = daybreak.run(migration.with_({"flows.0.size": "31 MiB"}), seed=3)
    with pytest.raises(OutputError, match="end at other times"):
        explain(run.scenario, run.seed, "simulated", other)


def test_the_parts_add_up_in_the_suite(capsys):
    """Some of the agreement suite; `tools/explanations.py` takes all of it."""
    assert explanations.main("moved-*") == 0
    assert "at most 0 ns" in capsys.readouterr().out


def test_more_than_three_that_are_left_out_are_counted():
    ask = MIXED["flows"][2]
    names = ["asks", "begs", "calls", "digs", "eats"]
    for count, words in (
        (2, "asks, begs, which are no bulk transfers"),
        (3, "asks, begs, calls, which are no bulk transfers"),
        (4, "asks, begs, calls and 1 more, which are no bulk transfers"),
        (5, "asks, begs, calls and 2 more, which are no bulk transfers"),
    ):
        others = [ask | {"name": name} for name in names[:count]]
        found = explain(daybreak.Scenario.parse(MIXED | {"flows": [*others, *MIXED["flows"][:2]]}), most_flows=5)
        assert found.notes == (
            "5 of 31 flows are explained, evenly spaced in the order of each group; means are over these",
            f"left out: {words}",
        )
        bulk = [f"bulk/sender-{sender}-{number}" for sender in range(3) for number in range(10)]
        # Every 30 / 4 of a group of 30; the group of one first.
        assert found.flows["flow_name"].to_list() == [*(bulk[at] for at in (0, 7, 15, 22)), "late"]


def test_progress_is_a_part_of_one_and_ends_with_it(one_flow):
    seen = []
    explain(one_flow, progress=lambda *told: seen.append(told))
    assert {total for _, total in seen} == {1.0} and seen[-1] == (1.0, 1.0)
    parts_done = [done for done, _ in seen]
    assert parts_done == sorted(parts_done) and all(0 <= done <= 0.8 for done in parts_done[:-1])


def test_what_cannot_be_explained_is_one_sentence(one_flow):
    on_demand = daybreak.load(next(path for path in SIMULATED_FILES if path.stem == "10-offload"))
    name = on_demand.controllers[0].name
    with pytest.raises(ScenarioError) as refused:
        explain(on_demand)
    assert str(refused.value) == f'controllers: "{name}": only the paths that timelines change can be explained'
    asks = {"kind": "request_response", "request": "300 B", "response": "20 kB", "exchanges": 3}
    flow = {"from": "sender-0", "to": "receiver-0", "application": asks}
    with pytest.raises(ScenarioError) as refused:
        explain(one_flow.with_({"flows": [flow]}))
    assert str(refused.value) == "flows: none of them is a bulk transfer, and only these can be explained"


def test_the_run_of_an_explanation_says_what_it_has_recorded(one_flow):
    """All that arrives at the receivers of the explained flows, every ACK, and nothing else that the file asks for."""
    asked = one_flow.with_({"records": {"queues": "1 ms", "bins": "5 ms", "links": ["bottleneck"]}})
    found = explain(asked)
    records = found.run.scenario.records
    assert (records.taps, records.window) == (("right->receiver-0",), "every ack")
    assert found.run.queues.height == 0 and set(found.run.bins["scope"]) == {"arrived", "tap", "delivered"}
    assert found.run.window.height > 100
