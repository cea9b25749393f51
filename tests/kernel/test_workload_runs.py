"""Flows that generators make are ordinary flows of the plan: real Linux runs them as well."""

import pytest
from real_kernel import LACKING

import daybreak
from daybreak.scenario import Scenario

if LACKING:
    pytest.skip(f"the kernel engine's workloads are left out: {LACKING}", allow_module_level=True)


def test_both_engines_run_the_flows_that_were_drawn():
    scenario = Scenario.parse({
        "name": "workload", "duration": "5 s",
        "topology": {"kind": "dumbbell", "pairs": 2, "rate": "1 Gbit/s", "delay": "20 us", "queue": "350 packets"},
        "arrivals": [{
            "name": "g", "pairs": {"kind": "random"}, "process": {"kind": "poisson", "load": 0.2, "link": "bottleneck"},
            "sizes": {"kind": "bounded_pareto", "shape": 1.2, "least": "2 kB", "most": "1 MB"}, "count": 12,
            "application": {"kind": "request_response", "request": "300 B"},
        }],
    })  # fmt: skip
    model, linux = (daybreak.run(scenario, engine=engine, seed=3).flows for engine in ("simulated", "kernel"))
    drawn = ["flow", "src", "dst", "start_ns", "bytes", "delivered_bytes"]
    assert model.select(drawn).equals(linux.select(drawn))
    assert len(set(model["bytes"])) > 8 and linux["end_ns"].null_count() == 0
