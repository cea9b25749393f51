"""How large a circuit fabric runs: all-to-all traffic between racks under a strobe and under a rotor schedule.

    python tools/fabric-scale.py [--racks 64] [--hosts 16] [--duration "26 ms"]

Each host sends 100 kB to one host of every other rack. For each schedule a process of its own is started, so that its
peak memory is its own; a line says packet-hops, packet-hops per second of the engine, events and peak memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from typing import Any

from daybreak.engines.single import execute
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower

SCHEDULES: dict[str, dict[str, Any]] = {
    "strobe": {"kind": "strobe", "day": "180 us", "night": "20 us"},
    "rotor": {"kind": "rotor", "day": "90 us", "night": "10 us", "switches": 8, "staggered": True},
}


def scenario(schedule: str, racks: int, hosts: int, duration: str) -> Scenario:
    """A fabric with traffic between all racks."""
    flows = [
        {"name": f"{i}-{k}>{j}", "from": f"host-{i}-{k}", "to": f"host-{j}-{k}", "size": "100 kB"}
        for i in range(racks)
        for j in range(racks)
        if i != j
        for k in range(hosts)
    ]
    document = {
        "name": schedule,
        "duration": duration,
        "topology": {
            "kind": "hybrid", "racks": racks, "hosts": hosts, "host_rate": "40 Gbit/s", "host_delay": "1.5 us",
            "packet_rate": "10 Gbit/s", "packet_delay": "5 us", "circuit_rate": "80 Gbit/s", "circuit_delay": "30 us",
            "voq": "64 packets",
        },
        "schedule": SCHEDULES[schedule],
        "stack": {"mtu": 9000},
        "flows": flows,
        "records": {"bins": None, "drops": False, "circuits": False},
    }  # fmt: skip
    return Scenario.parse(document, source=schedule)


def measure(schedule: str, racks: int, hosts: int, duration: str) -> str:
    """Runs it here and says how it went."""
    prepared = scenario(schedule, racks, hosts, duration)
    plan = lower(prepared, seed=1)
    began = time.perf_counter()
    run = execute(prepared, plan, "simulated")
    seconds = time.perf_counter() - began
    hops, events = (run.manifest["totals"][name] for name in ("packet_hops", "events"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    delivered = run.flows["delivered_bytes"].sum() / 1e9
    complete = run.flows["fct_ns"].is_not_null().sum()
    return (
        f"{schedule}: {len(prepared.flows):,} flows, {complete:,} complete, {delivered:.2f} GB delivered; "
        f"{hops:,} packet-hops, {hops / seconds / 1e6:.2f} million a second, {events:,} events; {peak:.2f} GiB at most"
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--racks", type=int, default=64)
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--duration", default="26 ms")
    parser.add_argument("--schedule", choices=SCHEDULES, help="only this one, in this process")
    options = parser.parse_args()
    if options.schedule:
        print(measure(options.schedule, options.racks, options.hosts, options.duration), flush=True)
        return
    for schedule in SCHEDULES:
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--schedule", schedule], check=True)


if __name__ == "__main__":
    main()
