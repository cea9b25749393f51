#!/usr/bin/env python3
"""Writes the plan of a benchmark that is a scenario file, so that a profiler need not see Python.

    python tools/benchmark-plan.py S5 --ms 200 > S5-200ms.json
    cargo run --release -p daybreak-engine --example benchmark -- S5-200ms.json

With --ms it ends after that simulated time, and --starts-ms leaves out flows that start later. Two plans that differ in
--ms alone differ in nothing but what happens between their ends.
"""

import argparse
import sys

from msgspec.structs import replace

from daybreak.benchmark import suite
from daybreak.scenario.lowering import Plan

PS = 1_000_000_000


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=suite.OF_FILES)
    parser.add_argument("--ms", type=float, help="end of the run in milliseconds")
    parser.add_argument("--starts-ms", type=float, help="no flow that starts later, in milliseconds")
    asked = parser.parse_args()
    content = suite.plan(asked.name).content
    if asked.ms is not None:
        latest = asked.ms if asked.starts_ms is None else asked.starts_ms
        flows = [flow for flow in content.flows if flow.start_ps < latest * PS]
        content = replace(content, end_ps=int(asked.ms * PS), flows=flows, stop_when_flows_complete=False)
    sys.stdout.buffer.write(Plan(content).json)


if __name__ == "__main__":
    main()
