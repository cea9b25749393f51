#!/usr/bin/env python3
"""Benchmark S8: what a small run from Python and a start of the command cost, in CPU time.

    python tools/start-cost.py            the least of several measurements each, since a busy machine only adds

Compare two versions in turns on one machine; the numbers of two machines say nothing about a change.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import daybreak
from daybreak.scenario.lowering import lower

ONE_FLOW = Path(__file__).resolve().parents[1] / "scenarios" / "01-one-flow.toml"
SMALL = {"flows.0.size": "20 kB"}
COMMANDS = {
    "daybreak --version": ("--version",),
    "daybreak --help": ("--help",),
    "daybreak run 01": ("run", str(ONE_FLOW)),
}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repeat", type=int, default=5, help="measurements of each command; runs are cheaper, and 20 times as many"
    )
    asked = parser.parse_args()
    for name, arguments in COMMANDS.items():
        least = min(_of_command(arguments) for _ in range(asked.repeat))
        print(f"{name:<24}{1e3 * least:8.0f} ms")
    scenario = daybreak.load(ONE_FLOW).with_(SMALL)
    runs = 20 * asked.repeat
    print(f"{'a small run':<24}{1e3 * _least(lambda: daybreak.run(scenario, seed=1).flows, runs):8.2f} ms")
    print(f"{'of which lowering':<24}{1e3 * _least(lambda: lower(scenario, 1).json, runs):8.2f} ms")


def _of_command(arguments: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "daybreak", *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _least(call: Callable[[], object], times: int) -> float:
    def once() -> float:
        start = time.process_time()
        call()
        return time.process_time() - start

    return min(once() for _ in range(times))


if __name__ == "__main__":
    main()
