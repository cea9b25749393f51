"""Controllers over real Linux: the same code decides, from what real packets show."""

import polars as pl
import pytest
from ready_files import ROOT
from real_kernel import LACKING

import daybreak
from daybreak.scenario import load

if LACKING:
    pytest.skip(f"the kernel engine's runs are left out: {LACKING}", allow_module_level=True)


def both(name, **changes):
    scenario = load(ROOT / "scenarios" / name).with_(changes)
    return [daybreak.run(scenario, engine=engine) for engine in ("kernel", "simulated")]


def decisions(run, event):
    return run.control.filter(pl.col("event") == event).select("time_ns", "flow_name", "path")


def test_a_real_queue_opens_and_closes_a_circuit():
    kernel, model = both("10-offload.toml")
    for run in (kernel, model):
        assert run.control["event"].to_list()[:4] == ["released", "setting_up", "in_force", "released"]
        set_up, in_force = (decisions(run, event)["time_ns"][0] for event in ("setting_up", "in_force"))
        assert set_up % 20_000 == 0
        assert in_force - set_up == 50_000
        carried = run.links.filter(pl.col("link_name") == "circuit")["packets"].item()
        assert carried > 300
    # Slow start fills the queue alike.
    first = [decisions(run, "setting_up")["time_ns"][0] for run in (kernel, model)]
    assert first[0] == pytest.approx(first[1], abs=40_000)
    assert kernel.flows["fct_ns"].max() == pytest.approx(model.flows["fct_ns"].max(), rel=0.1)


def test_real_flows_ask_for_a_link_and_give_it_back():
    kernel, model = both("12-on-demand.toml")
    for run in (kernel, model):
        starts = run.flows.filter(pl.col("group") == "large")["start_ns"].to_list()
        ends = run.flows.filter(pl.col("group") == "large")["end_ns"].to_list()
        assert decisions(run, "requested")["time_ns"].to_list() == starts
        assert decisions(run, "released").rows() == [(end, f"large-{i}", 1) for i, end in enumerate(ends, 1)]
        in_force = decisions(run, "in_force")["time_ns"].to_list()
        assert in_force == [10_000_000, ends[0] + 10_000_000, ends[1] + 10_000_000]
    large = [run.flows.filter(pl.col("group") == "large")["fct_ns"].to_list() for run in (kernel, model)]
    assert large[0] == pytest.approx(large[1], rel=0.1)


def test_real_elephants_are_found_and_moved():
    kernel, model = both("11-light-paths.toml")
    moved = [decisions(run, "in_force").select("flow_name", "path").rows() for run in (kernel, model)]
    assert {name for name, _ in moved[0]} == {name for name, _ in moved[1]}
    assert ("backup", 1) in moved[0] or ("backup", 2) in moved[0]
    for run in (kernel, model):
        # Decisions are made at readings, every 10 ms, and moves are in force 5 ms later.
        assert all(time % 10_000_000 == 0 for time in decisions(run, "requested")["time_ns"])
        assert all(time % 10_000_000 == 5_000_000 for time in decisions(run, "in_force")["time_ns"])


def test_two_runs_are_identical():
    one, other = (both("10-offload.toml")[0] for _ in range(2))
    assert one.control.equals(other.control)
    assert one.flows.equals(other.flows)
