"""Every table as an engine's numbers make it: its columns in their order, names beside numbers, null for no value."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import daybreak
from daybreak.plan.types import Bulk, Choice, ControlledCircuit, ControlledFlows, Value
from daybreak.runs import naming
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower

NONE_32, NONE_64 = 2**32 - 1, 2**64 - 1


def parts(kind, *names):
    return [SimpleNamespace(name=f"{kind}-{name}") for name in names]


PLAN = SimpleNamespace(
    flows=[SimpleNamespace(name=name, group=group, rule=rule, application=Bulk(bytes=1))
           for name, group, rule in (("f", 1, 0), ("g", 0, 1), ("h", 1, 2))],
    groups=["low", "high"],
    rules=[Choice(name="cubic", parameters={}), Choice(name="reno", parameters={})],
    queues=parts("queue", "a", "b"), links=[SimpleNamespace(name="link-a", framing_bytes=38, rate_bps=10**9,
    delay_ps=10_000_000), SimpleNamespace(name="link-b", framing_bytes=0, rate_bps=2 * 10**9, delay_ps=600)],
    route_switches=parts("switch", "a", "b"), timelines=[], controllers=[
        SimpleNamespace(name="circuit", controls=ControlledCircuit(queues=[], open=[], close=[])),
        SimpleNamespace(name="mover", controls=ControlledFlows(flows=[], paths=2, downtime="drop")),
    ],
)  # fmt: skip


def made(table, **columns):
    """The table of an engine's columns, which have the engine's types."""
    types = {name: kind for one, _, given in naming.described() if one == table for name, kind, _ in given}
    assert list(types) == list(columns)
    kinds = {"u8": np.uint8, "u32": np.uint32, "u64": np.uint64}
    arrays = {name: np.array(values, kinds[types[name]]) for name, values in columns.items()}
    return naming.named(table, arrays, PLAN)


CASES = {
    "bins": (
        {"scope": [0, 1, 2, 3, 2], "id": [2, 1, 1, 0, 0], "start_ns": [5, 6, 7, 8, 9], "bytes": [1, 2, 3, 4, 5]},
        {
            "scope": ["delivered", "tap", "link", "arrived", "link"], "id": [2, 1, 1, 0, 0],
            "name": ["h", "g", "link-b", "f", "link-a"], "start_ns": [5, 6, 7, 8, 9], "bytes": [1, 2, 3, 4, 5],
        },
    ),
    "window": (
        {
            "flow": [2, 0, 1, 1], "time_ns": [7, 9, 7, 3], "cwnd": [1, 2, 3, 4], "ssthresh": [5, NONE_32, 6, 7],
            "in_flight": [8, 9, 8, 9], "bytes_in_flight": [10, 11, 12, 13], "outstanding_bytes": [14, 15, 16, 17],
            "srtt_ns": [18, 19, 0, 20], "pacing_bps": [21, 0, 22, 23], "retransmits": [0, 1, 2, 3],
            "state": [4, 3, 1, 0],
        },
        {
            # In the order of time, and flow by flow at one time.
            "flow": [1, 1, 2, 0], "flow_name": ["g", "g", "h", "f"], "group": ["low", "low", "high", "high"],
            "variant": ["reno", "reno", "none", "cubic"], "time_ns": [3, 7, 7, 9], "cwnd": [4, 3, 1, 2],
            "ssthresh": [7, 6, 5, None], "in_flight": [9, 8, 8, 9], "bytes_in_flight": [13, 12, 10, 11],
            "outstanding_bytes": [17, 16, 14, 15], "srtt_ns": [20, None, 18, 19], "pacing_bps": [23, 22, 21, None],
            "retransmits": [3, 2, 0, 1], "state": ["Open", "Disorder", "Loss", "Recovery"],
        },
    ),
    "queues": (
        {"queue": [1, 0], "time_ns": [1, 2], "packets": [3, 4], "bytes": [5, 6], "max_packets": [7, 8]},
        {
            "queue": [1, 0], "queue_name": ["queue-b", "queue-a"], "time_ns": [1, 2], "packets": [3, 4],
            "bytes": [5, 6], "max_packets": [7, 8],
        },
    ),
    "drops": (
        {
            "time_ns": [9, 8, 7], "reason": [0, 1, 2], "place": [1, 1, 1], "flow": [2, 0, 1], "data": [1, 0, 1],
            "seq": [5, 6, 0], "bytes": [1, 2, 3],
        },
        {
            "time_ns": [9, 8, 7], "reason": ["queue_full", "night", "random_loss"], "place": [1, 1, 1],
            "place_name": ["queue-b", "switch-b", "link-b"], "flow": [2, 0, 1], "flow_name": ["h", "f", "g"],
            "group": ["high", "high", "low"], "data": [True, False, True], "seq": [5, None, 0], "bytes": [1, 2, 3],
        },
    ),
    "losses": (
        {
            "start_ns": [9, 8], "reason": [4, 7], "place": [0, 0], "flow": [1, 0], "data": [0, 1], "packets": [2, 3],
            "bytes": [4, 5],
        },
        {
            "start_ns": [9, 8], "reason": ["hold_full", "return_full"], "place": [0, 0],
            "place_name": ["switch-a", "queue-a"], "flow": [1, 0], "flow_name": ["g", "f"], "group": ["low", "high"],
            "data": [False, True], "packets": [2, 3], "bytes": [4, 5],
        },
    ),
    "control": (
        {
            "time_ns": [1, 2, 3, 4, 5], "controller": [0, 0, 1, 1, 1], "event": [0, 2, 1, 2, 3],
            "flow": [NONE_32, NONE_32, 2, 2, 1], "path": [0, 0, 1, 1, 0],
        },
        {
            "time_ns": [1, 2, 3, 4, 5], "controller": [0, 0, 1, 1, 1],
            "controller_name": ["circuit", "circuit", "mover", "mover", "mover"],
            "event": ["requested", "in_force", "setting_up", "in_force", "released"],
            "flow": [None, None, 2, 2, 1], "flow_name": [None, None, "h", "h", "g"], "path": [0, 0, 1, 1, 0],
            "phase": [None, "day 0", "night", "path 1", "path 0"],
        },
    ),
    "latency": (
        {"flow": [1, 0], "from_ns": [1, 2], "to_ns": [3, 4], "packets": [5, 6]},
        {
            "flow": [1, 0], "flow_name": ["g", "f"], "group": ["low", "high"], "variant": ["reno", "cubic"],
            "from_ns": [1, 2], "to_ns": [3, 4], "packets": [5, 6],
        },
    ),
    "packets": (
        {
            "time_ns": [1000, 2000, 3000], "link": [0, 1, 0], "packet": [3, 4, 5], "flow": [0, 1, 2], "data": [1, 0, 1],
            "seq": [1, 2, 3], "payload_bytes": [1448, 0, 10], "bytes": [1500, 52, 62],
        },
        {
            # 1538 bytes at 1 Gbit/s and 10 us; 52 at 2 Gbit/s, 208 ns, and 0.6 ns; 100 at 1 Gbit/s.
            "time_ns": [1000, 2000, 3000], "arrival_ns": [1000 + 12_304 + 10_000, 2209, 3000 + 800 + 10_000],
            "link": [0, 1, 0], "link_name": ["link-a", "link-b", "link-a"], "packet": [3, 4, 5], "flow": [0, 1, 2],
            "flow_name": ["f", "g", "h"], "group": ["high", "low", "high"], "variant": ["cubic", "reno", "none"],
            "data": [True, False, True], "seq": [1, 2, 3], "payload_bytes": [1448, 0, 10], "bytes": [1500, 52, 62],
        },
    ),
    "links": (
        {"link": [0, 1], "packets": [1, 2], "bytes": [3, 4], "lost": [5, 6], "in_flight": [7, 8]},
        {
            "link": [0, 1], "link_name": ["link-a", "link-b"], "packets": [1, 2], "bytes": [3, 4], "lost": [5, 6],
            "in_flight": [7, 8],
        },
    ),
    "queue_totals": (
        {
            "queue": [0, 1], "marked_packets": [1, 2], "dropped_packets": [3, 4], "overflowed_packets": [5, 6],
            "returned_packets": [7, 8],
        },
        {
            "queue": [0, 1], "queue_name": ["queue-a", "queue-b"], "marked_packets": [1, 2], "dropped_packets": [3, 4],
            "overflowed_packets": [5, 6], "returned_packets": [7, 8],
        },
    ),
    "exchanges": (
        {
            "flow": [2, 0], "exchange": [0, 1], "request_bytes": [1, 2], "response_bytes": [3, 4], "start_ns": [5, 6],
            "end_ns": [7, 8], "fct_ns": [2, 2],
        },
        {
            "flow": [2, 0], "flow_name": ["h", "f"], "group": ["high", "high"], "variant": ["none", "cubic"],
            "exchange": [0, 1], "request_bytes": [1, 2], "response_bytes": [3, 4], "start_ns": [5, 6],
            "end_ns": [7, 8], "fct_ns": [2, 2],
        },
    ),
    "datagrams": (
        {
            "flow": [2], "sent": [9], "delivered": [7], "lost": [1], "in_flight": [1], "reordered": [2],
            "delay_min_ns": [3], "delay_mean_ns": [4], "delay_max_ns": [5],
        },
        {
            "flow": [2], "flow_name": ["h"], "group": ["high"], "variant": ["none"], "sent": [9], "delivered": [7],
            "lost": [1], "in_flight": [1], "reordered": [2], "delay_min_ns": [3], "delay_mean_ns": [4],
            "delay_max_ns": [5],
        },
    ),
    "connections": (
        {
            "flow": [1, 2], "of_flow": [0, 0], "is_reversed": [0, 1], "protocol": [6, 17], "src_port": [1, 2],
            "dst_port": [3, 4], "variant": [NONE_32, NONE_32],
        },
        {
            "flow": [1, 2], "flow_name": ["g", "h"], "group": ["low", "high"], "of_flow": [0, 0], "is_reversed": [0, 1],
            "protocol": [6, 17], "src_port": [1, 2], "dst_port": [3, 4], "variant": ["reno", "none"],
        },
    ),
    "programs": (
        {
            "flow": [1, 0, 0], "end": [1, 0, 1], "start_ns": [1, NONE_64, 3], "end_ns": [4, NONE_64, NONE_64],
            "exit_code": [0, NONE_32, 2], "signal": [NONE_32, NONE_32, 9], "stdout_bytes": [5, 0, 6],
            "stderr_bytes": [7, 0, 8],
        },
        {
            "flow": [1, 0, 0], "flow_name": ["g", "f", "f"], "end": ["server", "client", "server"],
            "start_ns": [1, None, 3], "end_ns": [4, None, None], "exit_code": [0, None, 2], "signal": [None, None, 9],
            "stdout_bytes": [5, 0, 6], "stderr_bytes": [7, 0, 8],
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("table", CASES)
def test_a_table_has_names_beside_its_numbers(table):
    given, expected = CASES[table]
    found = made(table, **given)
    assert found.to_dict(as_series=False) == expected and found.columns == list(expected)


@pytest.mark.parametrize("table", CASES)
def test_a_table_without_rows_has_the_columns_and_types_of_others(table):
    given, _ = CASES[table]
    assert made(table, **{name: [] for name in given}).schema == made(table, **given).schema
    assert naming.schema()[table] == tuple(made(table, **given).columns)
    assert naming.empty()[table].schema == made(table, **given).schema


@pytest.mark.parametrize("table", CASES)
def test_a_table_of_a_file_is_as_it_was_written(table, tmp_path):
    found = made(table, **CASES[table][0])
    assert naming.misfit(table, found) is None
    assert naming.with_nulls(table, found).equals(found)


MARKED = [
    ("flows", column, mark)
    for column, mark in (("bytes", 0), ("end_ns", NONE_64), ("fct_ns", NONE_64), ("rtos", NONE_32), ("tlps", NONE_32),
                         ("fast_recoveries", NONE_32), ("spurious", NONE_32))
] + [("window", "ssthresh", NONE_32), ("window", "srtt_ns", 0), ("window", "pacing_bps", 0),
     ("programs", "start_ns", NONE_64), ("programs", "end_ns", NONE_64), ("programs", "exit_code", NONE_32),
     ("programs", "signal", NONE_32)]  # fmt: skip


@pytest.mark.parametrize(("table", "column", "mark"), MARKED)
def test_the_mark_of_a_column_is_null_also_where_an_earlier_version_wrote_it(table, column, mark):
    types = {name: kind for one, _, given in naming.described() if one == table for name, kind, _ in given}
    columns = {name: pl.Series([3, 3], dtype=pl.UInt64 if kind == "u64" else pl.UInt32) for name, kind in types.items()}
    marked = pl.DataFrame(columns | {column: pl.Series([3, mark], dtype=columns[column].dtype)})
    found = naming.with_nulls(table, marked)
    assert found[column].to_list() == [3, None] and found[column].dtype == marked[column].dtype
    assert found.drop(column).equals(naming.with_nulls(table, marked).drop(column))
    assert found.select(name for name in columns if name != column).equals(marked.drop(column))


def test_flows_of_an_earlier_version_get_an_unknown_ideal_time():
    names = ("flow", "bytes", "end_ns", "fct_ns", "rtos", "tlps", "fast_recoveries", "spurious")
    columns = {name: [5] for name in names}
    found = naming.with_nulls("flows", pl.DataFrame(columns))
    assert found.columns == [*list(columns)[:4], "ideal_fct_ns", *list(columns)[4:]]
    assert found["ideal_fct_ns"].to_list() == [None] and found["ideal_fct_ns"].dtype == pl.UInt64
    with_it = pl.DataFrame(columns | {"ideal_fct_ns": [4]})
    assert naming.with_nulls("flows", with_it)["ideal_fct_ns"].to_list() == [4]


@pytest.mark.parametrize("kind", [pl.Int64, pl.Int32, pl.UInt16, pl.UInt64])
def test_numbers_of_a_file_may_be_of_another_type_than_a_runs(kind):
    types = {name: kind for one, _, given in naming.described() if one == "programs" for name, kind, _ in given}
    table = pl.DataFrame({name: pl.Series([0, 7, None], dtype=kind) for name in types})
    assert naming.misfit("programs", table.drop("end")) == (
        "it has no column end (it may be of another version of Daybreak)"
    )
    assert naming.with_nulls("programs", table).equals(table)


def test_drops_of_acks_of_a_file_have_no_first_byte_either():
    drops = pl.DataFrame({"data": [1, 0], "seq": [7, 8]})
    assert naming.with_nulls("drops", drops)["seq"].to_list() == [7, None]


@pytest.mark.parametrize(("parameters", "text"), [
    ({}, "cubic"), ({"hystart": False}, "cubic hystart=false"),
    ({"beta": 0.8, "alpha": True}, "cubic alpha=true beta=0.8"),
    ({"c": 2, "b": 1_500_000}, "cubic b=1.5e+06 c=2"),
])  # fmt: skip
def test_a_variant_has_its_parameters_in_the_order_of_their_names(parameters, text):
    values = {name: Value(unit="number", value=value) for name, value in parameters.items()}
    assert naming.variant(Choice(name="cubic", parameters=values)) == text


def test_flows_have_their_ends_their_rules_and_the_time_that_they_would_need_alone():
    scenario = Scenario.parse(
        {
            "name": "flows", "duration": "30 ms", "stop": "duration",
            "topology": {"kind": "dumbbell", "pairs": 2, "rate": "1 Gbit/s", "delay": "10 us", "queue": "99 packets"},
            "flows": [
                {"name": "a", "group": "x", "from": "sender-1", "to": "receiver-0", "size": "10 kB", "variant": "reno"},
                {"name": "b", "group": "y", "from": "receiver-0", "to": "sender-0", "size": "unlimited"},
            ],
        }
    )  # fmt: skip
    run = daybreak.run(scenario)
    assert run.flows.columns == list(naming.schema()["flows"])
    names = run.flows.select("flow", "flow_name", "group", "variant", "src", "dst", "bytes").rows()
    assert names == [
        (0, "a", "x", "reno", "sender-1", "receiver-0", 10_000), (1, "b", "y", "cubic", "receiver-0", "sender-0", None),
    ]  # fmt: skip
    first, second = run.flows.select("ideal_fct_ns", "fct_ns", "end_ns").rows()
    # 10 kB at 1 Gbit/s are 80 us; with the handshake, over links of 10 us, it may need some more, but no less alone.
    assert 80_000 < first[0] <= first[1] == first[2] and second == (None, None, None)
    # The other way round, each row has its own names.
    content = lower(scenario, 1).content
    types = {name: kind for one, _, given in naming.described() if one == "flows" for name, kind, _ in given}
    columns = {name: np.array([1, 0], np.uint32 if kind == "u32" else np.uint64) for name, kind in types.items()}
    turned = naming.named("flows", columns, content)
    assert turned["flow_name"].to_list() == ["b", "a"] and turned["ideal_fct_ns"].to_list() == [None, first[0]]
    assert turned["src"].to_list() == ["receiver-0", "sender-1"]


def test_a_step_has_the_name_of_its_timeline_and_the_phases_around_it(migration):
    circuits = daybreak.run(migration.with_({"duration": "15 ms", "stop": "duration"})).circuits
    assert circuits.to_dict(as_series=False) == {
        "time_ns": [10_000_000], "timeline": [0], "timeline_name": ["migrate-0"], "step": [0], "before": ["path 0"],
        "phase": ["path 1"],
    }  # fmt: skip
    assert (
        tuple(circuits.columns) == naming.schema()["circuits"] and circuits.schema == naming.empty()["circuits"].schema
    )


def test_where_a_links_rate_or_delay_changes_no_arrival_is_known(one_flow):
    changes = [
        {
            "kind": "program",
            "name": "p",
            "period": "10 ms",
            "steps": [{"at": "5 ms", "do": [{"kind": "set_delay", "link": "bottleneck", "delay": "30 us"}]}],
        }
    ]
    run = daybreak.run(one_flow.with_({"records": {"packets": ["bottleneck", "sender-0->left"]}, "timelines": changes}))
    by_link = {name: table["arrival_ns"] for (name,), table in run.packets.group_by("link_name")}
    assert set(by_link) == {"bottleneck", "sender-0->left"}
    assert by_link["bottleneck"].null_count() == len(by_link["bottleneck"]) > 0
    assert by_link["sender-0->left"].null_count() == 0
