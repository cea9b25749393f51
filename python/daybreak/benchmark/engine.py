"""Measures the engine on one benchmark.

    python -m daybreak.benchmark.engine S1        one measurement, as JSON; `-` takes a plan from standard input

This module imports nothing but the engine: peak memory is the engine's and an interpreter's.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from daybreak import _native

PLAN = "-"
"""Stands for the plan on standard input."""


def measure(name: str) -> dict[str, float]:
    """Runs a benchmark here: packet-hops, events, seconds in the event loop, and peak memory in bytes."""
    times: list[float] = []

    def note(*_: object) -> None:
        times.append(time.perf_counter())

    given = sys.stdin.buffer.read() if name == PLAN else None
    totals = _native.run_benchmark(name, note) if given is None else _native.run(given, None, note)[1]
    seconds = times[-1] - times[0]
    return totals | {
        "wall_s": seconds,
        "packet_hops_per_s": totals["packet_hops"] / seconds,
        "peak_memory_bytes": _peak_memory(),
    }


def _peak_memory() -> int:
    """Of this program only: after fork and exec, ru_maxrss still has that of the program before."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
