"""What the plan says of controllers, and what a run's table says of their decisions."""

import polars as pl
import pytest
from ready_files import ROOT

import daybreak
from daybreak import _native
from daybreak.errors import PlanError, ScenarioError, UnknownName
from daybreak.metrics import phases
from daybreak.plan import types as plan
from daybreak.scenario import load
from daybreak.scenario.lowering import lower

OFFLOAD = load(ROOT / "scenarios" / "10-offload.toml")
LIGHT_PATHS = load(ROOT / "scenarios" / "11-light-paths.toml")
ON_DEMAND = load(ROOT / "scenarios" / "12-on-demand.toml")


def lowered(scenario):
    result = lower(scenario, 1)
    _native.check_plan(result.json)
    return result.content


def test_a_circuit_is_opened_and_closed_at_every_queue_that_it_serves():
    content = lowered(OFFLOAD)
    (controller,) = content.controllers
    voq = [queue.name for queue in content.queues].index("voq")
    circuit = [link.name for link in content.links].index("circuit")
    assert controller.controls == plan.ControlledCircuit(
        queues=[voq],
        open=[plan.OpenGate(queue=voq, link=circuit)],
        close=[plan.CloseGate(queue=voq, link=circuit, downtime="hold")],
    )
    assert controller.setup_ps == 50_000_000
    assert controller.policy.parameters["high_threshold"] == plan.Value(unit="packets", value=30)


def test_each_controlled_flow_has_route_switches_of_its_own():
    content = lowered(LIGHT_PATHS)
    controls = content.controllers[0].controls
    assert isinstance(controls, plan.ControlledFlows)
    assert [content.flows[one.flow].name for one in controls.flows] == ["data-0", "data-1", "data-2", "backup"]
    assert controls.paths == 3
    assert [one.priority for one in controls.flows] == [0, 0, 0, 1]
    switches = [switch for one in controls.flows for switch in one.route_switches]
    assert sorted(switches) == [0, 1, 2, 3]
    for one in controls.flows:
        last = content.paths[content.flows[one.flow].data_path][-1]
        assert (last.kind, last.index) == ("route_switch", one.route_switches[0])
    # Mice have none, and flows between the same hosts share the paths behind their switches.
    assert len({tuple(switch.alternatives) for switch in content.route_switches}) == 1


def test_the_acks_are_moved_with_the_data_where_that_is_said():
    with_acks = LIGHT_PATHS.with_(
        {"flows.1.ack_via": [], "controllers.0.ack_between": ["ip.back", "light-1.back", "light-2.back"]}
    )
    document = with_acks.document()
    for link in document["links"]:
        link.pop("duplex", None)
    content = lowered(type(with_acks).parse(document))
    for one in content.controllers[0].controls.flows:
        flow = content.flows[one.flow]
        assert [content.paths[path][-1].index for path in (flow.data_path, flow.ack_path)] == one.route_switches


def test_the_name_that_is_a_flows_alone_says_its_priority_and_deadline():
    values = {"priorities": {"data": 1, "data-1": 5}, "deadlines": {"data": "2 s", "backup": "300 ms"}}
    controls = lowered(LIGHT_PATHS.with_({f"controllers.0.{key}": value for key, value in values.items()}))
    flows = controls.controllers[0].controls.flows
    # The scenario's own priority of "backup" stays.
    assert [one.priority for one in flows] == [1, 5, 1, 1]
    assert [one.deadline_ps for one in flows] == [2 * 10**12] * 3 + [3 * 10**11]


def test_what_goes_wrong_is_said_in_a_sentence():
    with pytest.raises(UnknownName, match=r'priorities = "mouse": there is no such flow or group of this controller'):
        lower(LIGHT_PATHS.with_({"controllers.0.priorities": {"mouse": 2}}), 1)
    with pytest.raises(ScenarioError, match=r"flow large-1 is moved by controllers\[0\] already"):
        lower(ON_DEMAND.with_({"controllers": [ON_DEMAND.document()["controllers"][0] | {"name": x} for x in "ab"]}), 1)
    with pytest.raises(PlanError, match=r"low_threshold is 31 packets: expected at most the high_threshold"):
        daybreak.run(OFFLOAD.with_({"controllers.0.policy": {"low_threshold": "31 packets"}}))
    with pytest.raises(ScenarioError, match="two controllers have one name"):
        lower(ON_DEMAND.with_({"controllers": ON_DEMAND.document()["controllers"] * 2}), 1)


def test_the_table_names_what_was_decided_and_the_phases_follow():
    run = daybreak.run(OFFLOAD)
    assert run.control["controller_name"].unique().to_list() == ["offload"]
    assert run.control["flow"].is_null().all()
    events = run.control["event"].to_list()
    assert events[:3] == ["released", "setting_up", "in_force"]
    found = phases.of_controller(run.control)
    assert found["phase"].to_list()[:3] == ["night", "day 0", "night"]
    lit = run.control.filter(pl.col("event") == "in_force")["time_ns"][0]
    assert found.row(1, named=True)["start_ns"] == lit
    # The circuit carries bytes only in its days.
    bins = run.bins.filter((pl.col("name") == "circuit") & (pl.col("bytes") > 0))
    days = found.filter(pl.col("phase") == "day 0")
    for start in bins["start_ns"]:
        overlaps = (pl.col("start_ns") < start + 10**6) & (pl.col("end_ns").fill_null(2**62) > start)
        assert days.filter(overlaps).height
    assert bins.height


def test_a_flow_is_on_its_first_path_until_it_is_moved():
    run = daybreak.run(ON_DEMAND)
    control = run.control
    assert set(control["flow_name"]) == {"large-1", "large-2", "large-3"}
    ends = dict(zip(run.flows["flow_name"], run.flows["end_ns"], strict=True))
    first = phases.of_controller(control, flow="large-1")
    assert first.rows() == [
        ("path 0", 0, 10_000_000),
        ("path 1", 10_000_000, ends["large-1"]),
        ("path 0", ends["large-1"], None),
    ]
    second = phases.of_controller(control, controller="broker", flow="large-2")
    assert second["start_ns"].to_list()[1] == ends["large-1"] + 10_000_000
    with pytest.raises(ValueError, match="expected the name of a flow"):
        phases.of_controller(control)
    with pytest.raises(ValueError, match="'x' has no decision"):
        phases.of_controller(control, controller="x")


def test_elephants_get_light_paths_and_mice_do_not():
    run = daybreak.run(LIGHT_PATHS)
    moved = run.control.filter(pl.col("event") == "in_force")
    assert {"backup"} < set(moved["flow_name"]) <= {"data-0", "data-1", "data-2", "backup"}
    # Never two flows on one light-path.
    for path in (1, 2):
        holders = run.control.filter((pl.col("path") == path) & pl.col("event").is_in(["setting_up", "released"]))
        assert holders["event"].to_list() == ["setting_up", "released"] * (holders.height // 2)
    plain = daybreak.run(LIGHT_PATHS.with_({"controllers": [], "flows.0.via": ["ip"], "flows.1.via": ["ip"]}))
    assert plain.control.is_empty()
    mean = [of.flows.filter(pl.col("group") == "data")["fct_ns"].mean() for of in (run, plain)]
    assert mean[0] < mean[1]


def test_time_division_needs_no_controller():
    """Round robin whatever the demand (each has the direct link for 20 ms) is a program over routes."""
    names = ["large-1", "large-2", "large-3"]
    turns = [
        {
            "at": f"{20 * k} ms",
            "do": [
                {"kind": "set_route", "route": names[k - 1], "path": 0},
                {"kind": "set_route", "route": name, "path": 1},
            ],
        }
        for k, name in enumerate(names)
    ]
    scenario = ON_DEMAND.with_({
        "controllers": [],
        "routes": [{"name": name, "flows": [name], "between": ["up", "direct"]} for name in names],
        "timelines": [{"kind": "program", "name": "turns", "period": "60 ms", "steps": turns}],
        "flows.1.start": "0 s", "flows.2.start": "0 s",
        "records.taps": ["direct"], "records.bins": "20 ms",
    })  # fmt: skip
    bins = daybreak.run(scenario).bins.filter(pl.col("scope") == "tap")
    turn = bins.select(pl.col("name"), pl.col("bytes"), turn=(pl.col("start_ns") // 20_000_000) % 3)
    for k, name in enumerate(names):
        of_flow = turn.filter(pl.col("name") == name)
        own = of_flow.filter(pl.col("turn") == k)["bytes"].sum()
        # What still waits for the link at the end of a turn, 300 packets at most, is sent in the next one.
        assert own > 0.75 * of_flow["bytes"].sum() > 0
