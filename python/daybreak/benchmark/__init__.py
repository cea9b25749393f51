"""Measures the engine on the benchmark scenarios, each in a process of its own.

    python -m daybreak.benchmark S1        one measurement, as JSON

This module imports nothing but the engine: peak memory is the engine's and an interpreter's.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from daybreak import _native
from daybreak.errors import EngineError

STANDARD = ("S1", "S2", "S3", "S4")
"""The benchmarks that are run without a choice."""


def measure(name: str) -> dict[str, float]:
    """Runs a benchmark here: packet-hops, events, seconds in the event loop, and peak memory in bytes."""
    times: list[float] = []
    totals = _native.run_benchmark(name, lambda *_: times.append(time.perf_counter()))
    seconds = times[-1] - times[0]
    return totals | {
        "wall_s": seconds,
        "packet_hops_per_s": totals["packet_hops"] / seconds,
        "peak_memory_bytes": _peak_memory(),
    }


def measure_apart(name: str) -> dict[str, float]:
    """As `measure`, in a process of its own. Raises EngineError."""
    done = subprocess.run(
        [sys.executable, "-m", "daybreak.benchmark", name], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise EngineError(f"benchmark {name} failed: {(done.stderr.strip() or 'no output').splitlines()[-1]}")
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _peak_memory() -> int:
    """Of this program only: after fork and exec, ru_maxrss still has that of the program before."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
