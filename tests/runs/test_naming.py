"""The names beside the numbers are those of the engine's own documentation, and say what happened in a run."""

import re
from types import SimpleNamespace

import msgspec
import numpy as np
import polars as pl
import pytest
from ready_files import ROOT

import daybreak
from daybreak._native import variants
from daybreak.runs import naming
from daybreak.scenario.lowering import lower

ROWS = (ROOT / "crates" / "trace" / "src" / "rows.rs").read_text(encoding="utf-8")


def variants_of(enum: str) -> dict[str, tuple[int, str]]:
    """The variants of an enum of rows.rs in snake case, with their numbers and comments."""
    body = re.search(rf"pub enum {enum} \{{(.*?)\n\}}", ROWS, re.DOTALL)[1]
    found = re.findall(r"/// ([^\n]*)\n\s*(\w+) = (\d+)", body)
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): (int(number), text) for text, name, number in found}


def test_states_are_numbered_as_the_table_says():
    said = re.search(r"Congestion state: ([^.]*)\.", ROWS)[1]
    assert ", ".join(f"{number} {name}" for number, name in enumerate(naming.STATES)) == said


def test_scopes_are_numbered_as_the_engine_numbers_them():
    assert {name: number for number, name in enumerate(naming.SCOPES)} == {
        name: number for name, (number, _) in variants_of("BinScope").items()
    }


def test_every_reason_of_a_drop_has_its_name_and_the_kind_of_its_place():
    reasons = variants_of("DropReason")
    kinds = {"queue": "queues", "route switch": "route_switches", "link": "links"}
    # Lists of different lengths, with other names, so that an index into a wrong list cannot be right.
    named_parts = {
        kind: [SimpleNamespace(name=f"{kind}-{i}") for i in range(3 + n)] for n, kind in enumerate(kinds.values())
    }
    plan = SimpleNamespace(flows=[SimpleNamespace(name="f", group=0)], groups=["g"], **named_parts)
    numbers = [number for number, _ in reasons.values()]
    rows = {"reason": numbers, "place": [2] * len(numbers), "flow": [0] * len(numbers), "data": [1, *numbers[1:]]}
    rows["seq"] = [9] * len(numbers)
    types = {"reason": np.uint8, "place": np.uint32, "flow": np.uint32, "data": np.uint8, "seq": np.uint64}
    drops = naming.named("drops", {name: np.array(rows[name], dtype) for name, dtype in types.items()}, plan)
    assert drops["reason"].to_list() == list(reasons)
    places = [re.search(r"`place` is (?:a|that) (route switch|\w+)", text)[1] for _, text in reasons.values()]
    assert drops["place_name"].to_list() == [f"{kinds[place]}-2" for place in places]
    assert drops["data"].to_list() == [number == 1 for number in rows["data"]]


COUNTED = ("rtos", "tlps", "fast_recoveries", "spurious")


def test_a_table_without_rows_has_the_types_of_others():
    plan = SimpleNamespace(flows=[], nodes=[], groups=[], rules=[])
    numbers = {name: np.array([], np.uint64) for name in ("flow", "bytes", "end_ns", "fct_ns", *COUNTED)}
    types = naming.named("flows", numbers, plan).schema
    assert {types[name] for name in ("flow_name", "group", "variant", "src", "dst")} == {pl.String}


def states(scenario, seed=1):
    """The flow's counters, and how often the sender entered each state."""
    run = daybreak.run(scenario.with_({"records": {"window": "every ack"}}), seed=seed)
    entered = run.window["state"].rle().struct.field("value").to_list()
    return run.flows.row(0, named=True), entered


def test_a_lossless_flow_stays_open(one_flow):
    _, entered = states(one_flow)
    assert entered == ["Open"]


def test_fast_recoveries_are_seen_as_recovery(one_flow):
    lossy = one_flow.with_({"flows.0.size": "3 MB", "topology.loss": 0.003})
    for seed in (1, 2, 3):
        flow, entered = states(lossy, seed)
        assert flow["rtos"] == 0 < flow["fast_recoveries"] == entered.count("Recovery")
        assert "Loss" not in entered and entered[-1] == "Open"
        # The first duplicate ACK comes before the third.
        assert entered[entered.index("Recovery") - 1] == "Disorder"


def test_timeouts_are_seen_as_loss(migration):
    # A night of 600 ms outlasts the tail loss probe and the first timeout, which is a little over 200 ms.
    night = {"timelines.0.period": "700 ms", "timelines.0.night": "600 ms", "duration": "1.5 s", "stop": "duration"}
    scenario = migration.with_(night).with_({"flows.1.size": "unlimited", "records": {"window": "10 ms"}})
    run = daybreak.run(scenario)
    moved = run.window.filter(flow_name="moved")
    assert run.flows.filter(flow_name="moved")["rtos"].item() > 0
    assert set(moved.filter(pl.col("time_ns") < 700 * 10**6)["state"]) == {"Open"}
    assert set(moved.filter(pl.col("time_ns").is_between(1_000 * 10**6, 1_300 * 10**6))["state"]) == {"Loss"}


def test_what_a_closing_gate_loses_is_lost_at_its_queue():
    between = [
        {"name": name, "rate": "1 Gbit/s", "delay": "20 us", "queue": "100 packets"} for name in ("one", "other")
    ]
    scenario = daybreak.Scenario.parse(
        {
            "name": "a gated queue",
            "duration": "20 ms",
            "topology": {"kind": "parallel_links", "access_rate": "10 Gbit/s", "between": between},
            "queues": [{"name": "voq", "served_by": ["one", "other"], "limit": "100 packets"}],
            "flows": [{"from": "sender-0", "to": "receiver-0", "size": "unlimited", "ack_via": "one.back"}],
            "timelines": [
                {
                    "kind": "circuit", "matchings": [["one", "other"]], "day": "3 ms", "night": "2 ms",
                    "downtime": "drop",
                }
            ],
        }
    )  # fmt: skip
    drops = daybreak.run(scenario).drops.filter(reason="gate_closed")
    assert drops.height > 0
    assert set(drops["place_name"]) == {"voq"}


def test_datagrams_have_no_congestion_control():
    sends = {"kind": "constant_rate", "rate": "100 Mbit/s", "payload": "1 kB", "stop": "1 ms"}
    flows = [{"from": "sender-0", "to": "receiver-0", "name": "sends", "application": sends},
             {"from": "sender-1", "to": "receiver-1", "name": "bulk", "size": "10 kB", "variant": "reno"}]  # fmt: skip
    both = daybreak.Scenario.parse({
        "name": "both", "duration": "20 ms", "flows": flows,
        "topology": {"kind": "dumbbell", "pairs": 2, "rate": "1 Gbit/s", "delay": "10 us", "queue": "9 packets"},
    })  # fmt: skip
    run = daybreak.run(both)
    assert dict(run.flows.select("flow_name", "variant").rows()) == {"sends": "none", "bulk": "reno"}
    assert run.datagrams["variant"].to_list() == ["none"]


def test_of_the_connections_of_a_program_those_of_tcp_have_a_congestion_control():
    scenario = daybreak.load(ROOT / "scenarios" / "21-own-programs.toml")
    plan = lower(scenario, seed=1).content
    protocols = {"protocol": np.array([17, 6, 1, 6, 6])}
    protocols |= dict.fromkeys(("of_flow", "is_reversed"), np.zeros(5, np.uint32))
    # Behind the plan's one rule come all that are modelled: the program has chosen another one, or said what it is.
    modelled = [entry.name for entry in variants()]
    numbers = [naming.UNKNOWN, naming.UNKNOWN, naming.UNKNOWN, 1 + modelled.index("bbr"), 1 + modelled.index("cubic")]
    protocols["variant"] = np.array(numbers, np.uint32)
    found = naming.with_found(plan, protocols)
    rows = naming.named("connections", {"flow": np.arange(1, 6)} | protocols, found)
    assert rows["flow_name"].to_list() == ["echo-0", "echo-1", "echo-2", "echo-3", "echo-4"]
    chosen = ["none", "cubic", "none", "bbr", "cubic"]
    assert rows["variant"].to_list() == chosen
    rows = naming.named("datagrams", {"flow": np.arange(1, 6)}, found)
    assert rows["variant"].to_list() == chosen
    # A run's folder has their names.
    read = naming.with_found(plan, {name: list(values) for name, values in protocols.items()} | {"variant": chosen})
    assert naming.named("datagrams", {"flow": np.arange(1, 6)}, read)["variant"].to_list() == chosen
    assert [flow.rule for flow in read.flows[1:]] == [flow.rule for flow in found.flows[1:]]


def test_a_packet_arrives_after_its_last_bit_and_the_links_delay_and_goes_on_at_once():
    """1538 bytes at 1 Gbit/s and 10 us, then at 4 Gbit/s and 35 us; 38 of the bytes are framing."""
    ends = [("a", "s", "1 Gbit/s", "10 us"), ("s", "b", "4 Gbit/s", "35 us"),
            ("b", "s", "1 Gbit/s", "1 us"), ("s", "a", "1 Gbit/s", "1 us")]  # fmt: skip
    links = [
        {"name": f"{one}-{other}", "from": one, "to": other, "rate": rate, "delay": delay, "framing": 38}
        for one, other, rate, delay in ends
    ]
    run = daybreak.run(daybreak.Scenario.parse({
        "name": "chain", "duration": "1 s", "links": links,
        "nodes": [{"name": "a"}, {"name": "s", "kind": "switch"}, {"name": "b"}],
        "flows": [{"from": "a", "to": "b", "size": "100 kB"}], "records": {"packets": ["a-s", "s-b"]},
    }))  # fmt: skip
    full = run.packets.filter(pl.col("data") & (pl.col("bytes") == 1500))
    first, second = (full.filter(link_name=name) for name in ("a-s", "s-b"))
    assert set(first["arrival_ns"] - first["time_ns"].cast(pl.Int64)) == {1538 * 8 + 10_000}
    assert set(second["arrival_ns"] - second["time_ns"].cast(pl.Int64)) == {1538 * 2 + 35_000}
    # The second link is faster, so that nothing waits for it.
    assert first["arrival_ns"].to_list() == second["time_ns"].to_list() and first.height == 100_000 // 1448


def test_flows_that_were_found_are_numbered_past_names_that_are_taken():
    scenario = daybreak.load(ROOT / "scenarios" / "21-own-programs.toml")
    plan = lower(scenario, seed=1).content
    (echo,) = plan.flows
    taken = msgspec.structs.replace(plan, flows=[echo, msgspec.structs.replace(echo, name="echo-1")])
    columns = {
        "of_flow": np.zeros(3, np.uint32),
        "is_reversed": np.array([0, 1, 0]),
        "protocol": np.full(3, naming.TCP),
        "variant": np.full(3, naming.UNKNOWN, np.uint32),
    }
    found = naming.with_found(taken, columns).flows[2:]
    assert [flow.name for flow in found] == ["echo-0", "echo-2", "echo-3"]
    there = (echo.src, echo.dst)
    assert [(flow.src, flow.dst) for flow in found] == [there, there[::-1], there]
    ways = (echo.data_path, echo.ack_path)
    assert [(flow.data_path, flow.ack_path) for flow in found] == [ways, ways[::-1], ways]
    assert naming.with_found(plan, None) is plan


@pytest.mark.parametrize(("change", "wrong"), [
    ({}, None),
    ({"mine": [0.5]}, None), ({"mine": ["x"]}, None),
    ({"mine_ns": [0.5]}, "column mine_ns has values of type Float64: expected whole numbers"),
    ({"mine_ns": [5]}, None),
    ({"mine_name": [5]}, "column mine_name has values of type Int64: expected text"),
    ({"bytes": [0.5]}, "column bytes has values of type Float64: expected whole numbers"),
    ({"flow_name": [5]}, "column flow_name has values of type Int64: expected text"),
    ({"reason": [5]}, "column reason has values of type Int64: expected text"),
    ({"data": ["yes"]}, "column data has values of type String: expected true or false"),
    ({"data": [1]}, None),
    ({"time_ns": None}, "it has no column time_ns (it may be of another version of Daybreak)"),
])  # fmt: skip
def test_a_table_of_a_file_has_the_columns_of_a_run_and_may_have_others(one_flow, change, wrong):
    lossy = one_flow.with_({"topology.loss": 0.01})
    drops = daybreak.run(lossy).drops.head(1)
    gone = [name for name, values in change.items() if values is None]
    table = drops.drop(gone).with_columns(pl.Series(name, values) for name, values in change.items() if values)
    assert naming.misfit("drops", table) == wrong


def test_what_a_controller_decides_about_no_flow_has_none():
    """The engine marks it by the greatest number, which is no flow's and is no number in the table."""
    plan = SimpleNamespace(
        flows=[SimpleNamespace(name="f"), SimpleNamespace(name="g")],
        controllers=[SimpleNamespace(name="c", controls=[])],
    )
    event = naming.EVENTS.index("requested")
    rows = {"controller": [0] * 3, "event": [event] * 3, "flow": [1, 2**32 - 1, 0], "path": [0] * 3}
    types = {"controller": np.uint32, "event": np.uint8, "flow": np.uint32, "path": np.uint32}
    table = naming.named("control", {name: np.array(rows[name], types[name]) for name in rows}, plan)
    assert table.select("flow", "flow_name").rows() == [(1, "g"), (None, None), (0, "f")]
