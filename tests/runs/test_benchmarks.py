"""Benchmarks that are scenario files: what they are of, and that they are measured as the engine's own are."""

import json
import subprocess
import sys

from msgspec.structs import replace
from ready_files import ROOT

from daybreak.benchmark import suite
from daybreak.plan.applications import is_limited
from daybreak.scenario.lowering import Plan


def test_s5_has_jitter_on_the_ports_and_moves_ten_of_its_flows():
    content = suite.plan("S5").content
    assert [flow.application.bytes for flow in content.flows] == 20 * [256 * 2**20]
    assert {link.name for link in content.links if link.jitter_ps} == {
        f"{a}->{b}"
        for pair in ("main", "migrated")
        for a, b in ((f"sender-{pair}", "ingress"), ("ingress", f"sender-{pair}"))
    }
    moved = {path for path, steps in enumerate(content.paths) if any(step.kind == "route_switch" for step in steps)}
    assert sum(flow.data_path in moved for flow in content.flows) == 10


def test_s7_marks_and_its_flows_ask_for_40_percent():
    content = suite.plan("S7").content
    assert {queue.discipline.name for queue in content.queues if content.nodes[queue.node].kind == "switch"} == {
        "ecn_threshold"
    }
    assert [rule.name for rule in content.rules] == ["dctcp"] and all(
        map(is_limited, [f.application for f in content.flows])
    )
    asked = sum(flow.application.bytes for flow in content.flows) * 8 / 20e-3
    # The relative deviation of a sum of that many web-search sizes is some 10 %.
    assert 0.3 < asked / 1_280e9 < 0.5


def test_a_plan_on_standard_input_is_measured():
    content = suite.plan("S7").content
    short = Plan(replace(content, end_ps=10**8, flows=content.flows[:5]))
    command = [sys.executable, "-m", "daybreak.benchmark.engine", "-"]
    done = subprocess.run(command, input=short.json, capture_output=True, check=True)
    measured = json.loads(done.stdout)
    assert measured["ended_ns"] == 100_000 and measured["packet_hops"] > 0
    assert measured["packet_hops_per_s"] == measured["packet_hops"] / measured["wall_s"]


def test_a_plan_for_a_profiler_is_the_benchmark_s_cut_short():
    command = [sys.executable, ROOT / "tools" / "benchmark-plan.py", "S7", "--ms", "2", "--starts-ms", "1"]
    cut = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    whole = json.loads(suite.plan("S7").json)
    assert cut["end_ps"] == 2 * 10**9
    assert cut["flows"] == [flow for flow in whole["flows"] if flow["start_ps"] < 10**9] != []
    assert {key for key in whole if cut[key] != whole[key]} == {"end_ps", "flows", "stop_when_flows_complete"}
