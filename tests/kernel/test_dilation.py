"""Hosts whose clocks run faster than the network's, on the kernel engine."""

import msgspec
import numpy as np
import polars as pl
import pytest
from ready_files import ROOT
from real_kernel import with_kernel

import daybreak
from daybreak.engines.kernel import dilation
from daybreak.errors import PlanError
from daybreak.runs import EngineOutput
from daybreak.scenario import Scenario, load
from daybreak.scenario.lowering import lower


def scenario(**changes):
    document = {
        "name": "dilated",
        "duration": "100 ms",
        "stop": "duration",
        "topology": {
            "kind": "hybrid", "racks": 3, "hosts": 16, "host_rate": "40 Gbit/s", "host_delay": "2 us",
            "packet_rate": "10 Gbit/s", "packet_delay": "5 us", "circuit_rate": "80 Gbit/s", "circuit_delay": "30 us",
            "voq": "16 packets",
        },
        "schedule": {"kind": "strobe", "day": "180 us", "night": "20 us", "as_racks": 8},
        "stack": {"mtu": 9000, "timer_dilation": 20, "tcp_limit_output_bytes": "off"},
        "flows": [
            {"name": f"flow-{k}", "group": "all", "from": f"host-0-{k}", "to": f"host-1-{k}", "size": "unlimited"}
            for k in range(16)
        ],
        "records": {"window": "1 ms", "packets": ["host-0-0->tor-0", "circuit-0-1", "packet-1.back"]},
    }  # fmt: skip
    return Scenario.parse(document | changes, source="test")


def test_the_network_is_stretched_and_the_hosts_are_not():
    plan = lower(scenario(), seed=1).content
    slow = dilation.slowed(plan, dilation.of(plan))
    assert slow.end_ps == 20 * plan.end_ps
    for link, slower in zip(plan.links, slow.links, strict=True):
        assert (slower.rate_bps * 20, slower.delay_ps) == (link.rate_bps, link.delay_ps * 20)
    for timeline, slower in zip(plan.timelines, slow.timelines, strict=True):
        assert slower.period_ps == 20 * timeline.period_ps
        assert [step.offset_ps for step in slower.steps] == [20 * step.offset_ps for step in timeline.steps]
    assert slow.records.window_ps == 20 * plan.records.window_ps
    assert [flow.start_ps for flow in slow.flows] == [20 * flow.start_ps for flow in plan.flows]
    (stack,) = plan.stacks
    assert slow.stacks == [msgspec.structs.replace(stack, timer_dilation=1)]
    assert slow.rules == plan.rules


def test_times_come_back_and_what_does_not_exist_stays_so():
    never = 2**64 - 1
    columns = {
        "end_ns": np.array([40, never], np.uint64),
        "pacing_bps": np.array([5, never], np.uint64),
        "bytes": np.array([7, 8], np.uint64),
    }
    recorded = dilation.in_network_time(EngineOutput({"flows": columns}, {"ended_ns": 60, "events": 60}), 20)
    flows = recorded.tables["flows"]
    assert flows["end_ns"].tolist() == [2, never]
    assert flows["pacing_bps"].tolist() == [100, never]
    assert flows["bytes"].tolist() == [7, 8]
    assert recorded.totals == {"ended_ns": 3, "events": 60}


def test_what_cannot_be_slowed_down_is_refused_by_name():
    two = scenario(stacks={"other": {"timer_dilation": 10}})
    document = two.document()
    document["flows"][0]["receiver_stack"] = "other"
    with pytest.raises(PlanError, match=r"timer_dilation is 20: .* others have 10"):
        dilation.of(lower(Scenario.parse(document, source="test"), seed=1).content)
    captured = scenario(records={"capture": ["circuit-0-1"]})
    with pytest.raises(PlanError, match="timer_dilation is 20: a capture"):
        dilation.of(lower(captured, seed=1).content)
    offload = load(ROOT / "scenarios" / "10-offload.toml").with_({"stack.timer_dilation": 20})
    with pytest.raises(PlanError, match=r"timer_dilation is 20: .* cannot slow down the controller"):
        dilation.of(lower(offload, seed=1).content)
    odd = lower(scenario(stack={"timer_dilation": 7}), seed=1).content
    with pytest.raises(PlanError, match="timer_dilation is 7: the rate 40000000000 bit/s cannot be divided"):
        dilation.slowed(odd, dilation.of(odd))


@with_kernel
def test_the_kernel_does_with_a_slow_network_what_the_model_does_with_fast_clocks():
    runs = {engine: daybreak.run(scenario(), engine=engine) for engine in ("simulated", "kernel")}
    carried = {engine: run.flows["delivered_bytes"].sum() for engine, run in runs.items()}
    assert carried["kernel"] == pytest.approx(carried["simulated"], rel=0.02)
    # With clocks that agree there would be next to none: the least wait is twice as long as the run.
    timeouts = {engine: run.flows["rtos"].sum() for engine, run in runs.items()}
    assert timeouts["kernel"] == pytest.approx(timeouts["simulated"], rel=0.5) and timeouts["simulated"] > 10, timeouts
    assert runs["kernel"].manifest["totals"]["ended_ns"] == 100_000_000
    windows = runs["kernel"].window.filter(pl.col("srtt_ns").is_not_null())
    assert 50_000 < windows["srtt_ns"].median() < 500_000


@with_kernel
def test_a_packet_has_one_number_on_all_its_way():
    run = daybreak.run(scenario(), engine="kernel")
    packets = run.packets.filter(pl.col("payload_bytes") > 0)
    sent = packets.filter(pl.col("link_name") == "host-0-0->tor-0")
    crossed = packets.filter(pl.col("link_name") != "host-0-0->tor-0").filter(pl.col("flow_name") == "flow-0")
    assert sent["packet"].is_unique().all() and crossed["packet"].is_unique().all()
    both = crossed.join(sent, on="packet", suffix="_sent")
    assert both.height == crossed.height > 100
    assert (both["seq"] == both["seq_sent"]).all()
    assert (both["time_ns"] > both["time_ns_sent"]).all()
