"""Requests and responses, datagrams and marks on real Linux."""

from typing import Any

import polars as pl
import pytest
from real_kernel import LACKING

import daybreak
from daybreak.errors import PlanError
from daybreak.scenario import Scenario

if LACKING:
    pytest.skip(f"the kernel engine's applications are left out: {LACKING}", allow_module_level=True)

MARKS = {"name": "ecn_threshold", "threshold": "30 packets"}


def dumbbell(*flows: dict[str, Any], **more: Any) -> Scenario:
    ends = [{"from": f"sender-{i}", "to": f"receiver-{i}"} | flow for i, flow in enumerate(flows)]
    topology = {"kind": "dumbbell", "pairs": len(flows), "rate": "10 Gbit/s", "delay": "20 us", "queue": "1000 packets"}
    topology |= more.pop("topology", {})
    return Scenario.parse({"name": "applications", "duration": "5 s", "topology": topology, "flows": ends} | more)


def asks(**fields: Any) -> dict[str, Any]:
    return {"application": {"kind": "request_response"} | fields}


@pytest.mark.parametrize(
    ("request_size", "response", "think", "mtu", "rate"),
    [
        ("300 B", "100 B", "1 ms", 1500, "10 Gbit/s"),
        ("1 B", "100 kB", "0 s", 1500, "10 Gbit/s"),
        ("2 kB", "1 MB", "300 ms", 1500, "1 Gbit/s"),
        ("300 kB", "200 B", "50 us", 9000, "10 Gbit/s"),
    ],
)
def test_exchanges_take_as_long_as_in_the_simulator(request_size, response, think, mtu, rate):
    flow = asks(request=request_size, response=response, exchanges=4, think=think)
    scenario = dumbbell(flow, topology={"rate": rate}, stack={"mtu": mtu})
    model, linux = (daybreak.run(scenario, engine=engine) for engine in ("simulated", "kernel"))
    ours, theirs = model.table("exchanges"), linux.table("exchanges")
    assert len(ours) == len(theirs) == 4
    for one, other in zip(ours["fct_ns"], theirs["fct_ns"], strict=True):
        # A real NIC's clock may be slow by one part in 2000.
        assert abs(one - other) <= max(200, one // 1000)
    starts, ends = theirs["start_ns"], theirs["end_ns"]
    thinks = int(scenario.flows[0].application.think) // 1000
    assert all(0 <= start - end - thinks <= 1 for start, end in zip(starts[1:], ends, strict=False))
    same = ["bytes", "delivered_bytes", "retransmits"]
    assert model.flows.select(same).equals(linux.flows.select(same))
    assert model.flows["segments"][0] == linux.flows["segments"][0]


def test_a_server_starts_with_what_the_one_before_has_learnt_of_the_client():
    narrow = {"queue": "20 packets", "rate": "1 Gbit/s", "access_rate": "10 Gbit/s", "delay": "100 us"}
    ends = {"from": "sender-0", "to": "receiver-0", "variant": "reno"}
    flow = ends | asks(request="1 kB", response="1 MB", exchanges=2, think="1 ms")
    scenario = dumbbell(
        flow | {"name": "first"},
        flow | {"name": "second", "start": "60 ms"},
        topology=narrow | {"pairs": 1},
        stack={"mtu": 1500, "tcp_no_metrics_save": False, "tcp_no_ssthresh_metrics_save": False},
        records={"window": "100 us"},
    )
    found = {}
    for engine in ("simulated", "kernel"):
        run = daybreak.run(scenario, engine=engine)
        first = [run.window.filter(pl.col("flow") == flow)["ssthresh"][0] for flow in (0, 1)]
        found[engine] = (first, run.flows["retransmits"].to_list(), run.flows["fct_ns"].to_list())
    ours, theirs = found["simulated"], found["kernel"]
    assert ours[:2] == theirs[:2]
    assert ours[0][0] is None and ours[0][1] < 40
    assert all(abs(one - other) < 1_000 for one, other in zip(ours[2], theirs[2], strict=True))


@pytest.mark.parametrize(
    ("variant", "limit", "paces"), [("cubic", None, False), ("cubic", "1 Gbit/s", True), ("bbr", None, True)]
)
def test_a_pacing_rate_is_reported_where_the_sender_waits_for_it(variant, limit, paces):
    stack = {"max_pacing_rate": limit} if limit else {}
    scenario = dumbbell({"size": "2 MB", "variant": variant}, stack=stack, records={"window": "1 ms"})
    for engine in ("simulated", "kernel"):
        rates = daybreak.run(scenario, engine=engine).window["pacing_bps"]
        assert len(rates) > 0
        assert (rates.null_count() == 0) if paces else (rates.null_count() == len(rates)), engine


def test_the_server_answers_through_losses():
    narrow = {"queue": "30 packets", "rate": "1 Gbit/s", "access_rate": "10 Gbit/s"}
    scenario = dumbbell(asks(request="1 kB", response="2 MB", exchanges=5), topology=narrow)
    run = daybreak.run(scenario, engine="kernel")
    (flow,) = run.flows.iter_rows(named=True)
    assert flow["retransmits"] > 0
    assert flow["fast_recoveries"] > 0
    assert flow["delivered_bytes"] == 5 * 2_001_000
    assert len(run.table("exchanges")) == 5
    assert flow["end_ns"] == run.table("exchanges")["end_ns"][-1]


@pytest.mark.parametrize(("packets", "seed"), [(1, 6), (2, 3), (10, 2), (40, 1)])
def test_both_engines_lose_the_same_packets_of_small_flows(packets, seed):
    """What is lost depends on the packet alone; a FIN of its own goes behind the data."""
    flow = {"size": f"{packets * 1448} B"}
    lossy = {"rate": "1 Gbit/s", "access_rate": "10 Gbit/s", "delay": "1 ms", "loss": 0.2}
    scenario = dumbbell(flow, topology=lossy, stack={"mtu": 1500}, records={"drops": True})
    lost = []
    for engine in ("simulated", "kernel"):
        run = daybreak.run(scenario, engine=engine, seed=seed)
        drops = run.table("drops").select("place", "data", "seq", "bytes").rows()
        lost.append((drops, run.flows["retransmits"].to_list(), run.flows["fct_ns"][0] // 10_000_000))
    assert lost[0] == lost[1]
    assert lost[0][0]


@pytest.mark.parametrize(
    "flow",
    [{"size": "600 kB"}, asks(request="100 kB", response="300 kB", exchanges=3, think="1 ms")],
    ids=["bulk", "asks"],
)
@pytest.mark.parametrize("sack", [True, False])
def test_both_engines_count_the_same_duplicate_acks(flow, sack):
    lossy = {"rate": "1 Gbit/s", "access_rate": "10 Gbit/s", "delay": "1 ms", "loss": 0.02}
    scenario = dumbbell(flow, topology=lossy, stack={"mtu": 1500, "tcp_sack": sack})
    model, linux = (daybreak.run(scenario, engine=engine).flows for engine in ("simulated", "kernel"))
    same = ["segments", "retransmits", "fast_recoveries", "reordered", "duplicates", "dup_acks"]
    assert model.select(same).equals(linux.select(same)), (model.select(same), linux.select(same))
    # What comes behind a hole is answered with one at most: a window that grows meanwhile makes it an update.
    assert 0 < model["dup_acks"][0] <= model["reordered"][0] + model["duplicates"][0]


def test_datagrams_are_carried_counted_and_timed():
    source = {"kind": "constant_rate", "rate": "800 Mbit/s", "payload": "1000 B", "stop": "10 ms"}
    fast = {"kind": "constant_rate", "rate": "3 Gbit/s", "payload": "1472 B"}
    scenario = dumbbell(
        {"application": source},
        {"application": fast},
        topology={"rate": "2 Gbit/s", "access_rate": "10 Gbit/s", "queue": "50 packets"},
        duration="20 ms",
        records={"latency": True, "drops": True},
    )
    model, linux = (daybreak.run(scenario, engine=engine) for engine in ("simulated", "kernel"))
    for ours, theirs in zip(*(run.table("datagrams").iter_rows(named=True) for run in (model, linux)), strict=True):
        assert theirs["sent"] == ours["sent"]
        assert theirs["sent"] == theirs["delivered"] + theirs["lost"] + theirs["in_flight"]
        assert theirs["lost"] == pytest.approx(ours["lost"], rel=0.05, abs=10)
        assert theirs["delay_min_ns"] == pytest.approx(ours["delay_min_ns"], abs=100)
        assert theirs["delay_mean_ns"] == pytest.approx(ours["delay_mean_ns"], rel=0.02)
    assert linux.table("datagrams")["sent"][0] == 1000
    lost = linux.table("drops").group_by("flow").len().sort("flow")["len"].to_list()
    assert lost == [n for n in linux.table("datagrams")["lost"] if n]
    delays = linux.table("latency").group_by("flow").agg(pl.col("packets").sum()).sort("flow")
    assert delays["packets"].to_list() == linux.table("datagrams")["delivered"].to_list()


@pytest.mark.parametrize("variant", ["cubic", "reno"])
@pytest.mark.parametrize("mtu", [1500, 9000])
def test_marks_of_a_queue_slow_real_senders_down(variant, mtu):
    def run(ecn: int) -> daybreak.Run:
        document = {
            "name": "marks",
            "duration": "30 ms",
            "nodes": [{"name": "a"}, {"name": "s", "kind": "switch"}, {"name": "t", "kind": "switch"}, {"name": "b"}],
            "links": [
                {"from": "a", "to": "s", "rate": "40 Gbit/s", "delay": "1 us"},
                {"name": "core", "from": "s", "to": "t", "rate": "10 Gbit/s", "delay": "20 us"},
                {"from": "t", "to": "b", "rate": "40 Gbit/s", "delay": "1 us"},
            ],
            "queues": [{"name": "marks", "served_by": "core", "limit": "1000 packets", "kind": MARKS}],
            "stack": {"mtu": mtu, "tcp_ecn": ecn},
            "flows": [{"from": "a", "to": "b", "size": "unlimited", "variant": variant}],
            "records": {"window": "100 us"},
        }
        scenario = Scenario.parse(document)
        return daybreak.run(scenario, engine="kernel")

    marked, deaf = run(1), run(0)
    assert marked.table("queue_totals")["marked_packets"].sum() > 0
    assert deaf.table("queue_totals")["marked_packets"].sum() == 0
    # A window that is halved at 30 packets never comes near to the 1000 of the queue.
    assert marked.table("drops").is_empty() and marked.flows["retransmits"][0] == 0
    late = pl.col("time_ns") > 10_000_000
    cwnd = [run.table("window").filter(late)["cwnd"].max() for run in (marked, deaf)]
    assert cwnd[0] < cwnd[1] / 2
    assert "CWR" in marked.table("window")["state"].to_list()
    # Half of a window that fills path and queue still fills the path, nearly.
    assert marked.flows["delivered_bytes"][0] > 0.7 * 10e9 / 8 * 0.030


def test_switches_of_cubic_are_set_for_all_of_its_flows():
    def state_at_first_loss(variant: Any) -> int:
        flows = [{"size": "20 MB", "variant": variant}]
        narrow = {"queue": "2000 packets", "rate": "1 Gbit/s", "access_rate": "10 Gbit/s", "delay": "5 ms"}
        run = daybreak.run(dumbbell(*flows, topology=narrow, records={"window": "1 ms"}), engine="kernel")
        return int(run.table("window")["cwnd"].max())  # type: ignore[arg-type]

    # HyStart leaves slow start when the queue begins to grow, long before it is full.
    with_hystart = state_at_first_loss("cubic")
    without = state_at_first_loss({"name": "cubic", "hystart": False})
    assert without > 1.5 * with_hystart


def test_other_parameters_are_refused_in_a_sentence():
    scenario = dumbbell({"size": "1 MB", "variant": {"name": "cubic", "beta": 0.8}})
    with pytest.raises(PlanError, match=r'beta of variant "cubic" is 0.8: Linux has no such parameter of cubic to set'):
        daybreak.run(scenario, engine="kernel")


@pytest.mark.parametrize(
    "variant",
    [
        {"name": "vegas", "alpha": 30, "beta": 40},
        {"name": "bic", "beta": 0.5, "low_window": 30},
        {"name": "hybla", "rtt0": "1 ms"},
    ],
    ids=lambda variant: variant["name"],
)
def test_parameters_of_a_variant_do_the_same_on_both_engines(variant):
    flow = {"name": "bulk", "size": "unlimited"}
    topology = {"access_rate": "10 Gbit/s", "rate": "1 Gbit/s", "delay": "2 ms", "queue": "60 packets"}

    def mean_window(engine, chosen):
        more = {"topology": topology, "duration": "1 s", "records": {"window": "1 ms"}}
        run = daybreak.run(dumbbell(flow | {"variant": chosen}, **more), engine=engine)
        return run.window.filter(pl.col("time_ns") > 200_000_000)["cwnd"].mean()

    with_parameters = {engine: mean_window(engine, variant) for engine in ("simulated", "kernel")}
    assert with_parameters["kernel"] == pytest.approx(with_parameters["simulated"], rel=0.03)
    assert mean_window("kernel", variant["name"]) != pytest.approx(with_parameters["kernel"], rel=0.03)
