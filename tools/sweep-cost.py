#!/usr/bin/env python3
"""What sweeps cost: how they scale with workers, and what each run takes besides the simulator.

    python tools/sweep-cost.py scaling [--runs 60]         two threads beside one, two Dask workers beside one
    python tools/sweep-cost.py small [--runs 100000]       many small runs: peak memory, and overhead of a run

Scaling is reported as ratios of wall times, the best of three rounds, in which one and two workers alternate. The
overhead is processor time: that of the whole sweep, less what the simulator takes for the same plans.
"""

import argparse
import itertools
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from daybreak.engines import lowered, single
from daybreak.scenario import Scenario
from daybreak.sweeps import Dask, Executor, Local, Points, sweep
from daybreak.sweeps.grid import parse

TURNS = 3
SMALL = {
    "name": "small", "duration": "1 s", "records": {"drops": False, "circuits": False},
    "topology": {"kind": "dumbbell", "rate": "1 Gbit/s", "delay": "500 us", "queue": "100 packets"},
    "flows": [{"name": "flow", "from": "sender-0", "to": "receiver-0", "size": "30 kB",
               "start": {"uniform": ["0 s", "1 ms"]}}],
}  # fmt: skip
# A run as long as the migration study's with 2 GiB a flow: what a cluster costs a run weighs as much as there.
LARGE = SMALL | {"name": "large", "duration": "60 s", "flows": [SMALL["flows"][0] | {"size": "4 GB"}]}
_seeds = itertools.count(1)


def points(document: dict, runs: int) -> Points:
    """One scenario with seeds that no sweep has had."""
    seeds = list(itertools.islice(_seeds, runs))
    return Points(parse({"scenario": "-", "seeds": seeds}), Scenario.parse(document))


def seconds(some: Points, executor: Executor) -> float:
    """Wall time of a sweep from nothing."""
    with tempfile.TemporaryDirectory() as place:
        began = time.monotonic()
        outcome = sweep(some, Path(place) / "sweep", executor=executor)
        took = time.monotonic() - began
        assert not outcome.failures, outcome.failures[0].error
    return took


def scaling(runs: int) -> None:
    """Compares one worker with two."""
    _compare("threads", runs, lambda workers: seconds(points(LARGE, runs), Local(workers)))
    from distributed import LocalCluster  # noqa: PLC0415  optional

    def on_dask(workers: int) -> float:
        with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
            # Workers import Daybreak with their first task.
            seconds(points(SMALL, 20), Dask(cluster.scheduler_address))
            return seconds(points(LARGE, runs), Dask(cluster.scheduler_address))

    _compare("Dask workers", runs, on_dask)


def _compare(name: str, runs: int, measure: Callable[[int], float]) -> None:
    turns = [(measure(1), measure(2)) for _ in range(TURNS)]
    one, two = (min(column) for column in zip(*turns, strict=True))
    print(
        f"{name}: {runs / one:.1f} runs/s with 1, {runs / two:.1f} with 2: efficiency {one / two / 2:.0%}", flush=True
    )


def small(runs: int) -> None:
    """Sweeps many small runs."""
    some = points(SMALL, runs)
    before = time.process_time()
    wall = seconds(some, Local(2))
    whole = (time.process_time() - before) / runs
    plans = [lowered(some.base, seed, "simulated") for seed in some.grid.seeds[:500]]
    before = time.process_time()
    for plan in plans:
        single.execute(some.base, plan, "simulated")
    alone = (time.process_time() - before) / len(plans)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{runs} runs, {runs / wall:.0f} runs/s: {whole * 1e3:.2f} ms of processor time each, the run itself "
          f"{alone * 1e3:.2f} ms: overhead {(whole - alone) * 1e3:.2f} ms; peak memory {memory:.0f} MiB")  # fmt: skip


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("scaling", "small"))
    parser.add_argument("--runs", type=int)
    given = parser.parse_args()
    scaling(given.runs or 60) if given.what == "scaling" else small(given.runs or 100_000)


if __name__ == "__main__":
    main()
