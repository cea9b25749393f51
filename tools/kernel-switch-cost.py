#!/usr/bin/env python3
"""What the kernel engine's switch costs: one flow through the fabric, beside the same flow through netem alone.

    python tools/kernel-switch-cost.py [SCENARIO.toml]        (default: scenarios/01-one-flow.toml)

Both guests are booted in turn, ten times each; the least processor time of each counts, less that of a guest that
only carries a small flow, so that booting is left out.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import daybreak
from daybreak.engines.kernel import image, workplace
from daybreak.engines.kernel.run import memory
from daybreak.engines.kernel.tables import read
from daybreak.scenario.lowering import Plan, lower

TIMES = 10


def once(plan: Plan, alone: bool) -> tuple[float, float, int]:
    """Processor seconds, wall seconds, and packets that NICs sent."""
    program = workplace.guest_program()
    with workplace.open_run() as run:
        (run / "plan.json").write_bytes(plan.json)
        (run / "daybreak-guest").symlink_to(program)
        if alone:
            (run / "baseline").touch()
        command = [str(program), "host", str(image.find().program), memory(plan.content)]
        before, began = cpu_s(), time.monotonic()
        guest = subprocess.Popen(
            command, cwd=run, env={"DAYBREAK_SEED": "1"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        lines = guest.stdout.read().decode().splitlines()
        guest.wait()
        wall = time.monotonic() - began
        if "." not in lines:
            sys.exit("\n".join(lines))
        if alone:
            packets = next(int(line[2:]) for line in lines if line.startswith("= "))
        else:
            nics = [i for i, link in enumerate(plan.content.links) if host(plan, link.from_)]
            packets = int(read(run / "tables")[0]["links"]["packets"][nics].sum())
        return cpu_s() - before, wall, packets


def host(plan: Plan, node: int) -> bool:
    """Whether a node is a host."""
    return plan.content.nodes[node].kind == "host"


def cpu_s() -> float:
    """Processor time of the processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measures and prints."""
    path = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "scenarios" / "01-one-flow.toml"
    scenario = daybreak.load(path)
    large, small = lower(scenario, 1), lower(scenario.with_({"flows.0.size": "1 MB"}), 1)
    cost = {}
    for alone in (True, False):
        runs = [(once(large, alone), once(small, alone)) for _ in range(TIMES)]
        cpu, wall, packets = (min(a[k] for a, _ in runs) - min(b[k] for _, b in runs) for k in range(3))
        cost[alone] = cpu / packets
        name = "netem alone" if alone else "the switch"
        each = f"{cpu / packets * 1e6:7.2f} us CPU  {wall / packets * 1e6:7.2f} us wall each"
        print(f"{name:12} {packets:8.0f} packets  {each}")
    print(f"the switch costs {cost[False] / cost[True]:.1f} times netem alone ({os.cpu_count()} processors)")


if __name__ == "__main__":
    main()
