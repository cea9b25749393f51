"""Runs many scenarios side by side in threads: an engine lets the others run while it works."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, overload

from daybreak.errors import Interrupted
from daybreak.runs import Run
from daybreak.scenario import Scenario

from .single import Progress, find, run

T = TypeVar("T")
Job = Scenario | tuple[Scenario, int]
Report = Callable[[float, int], object]

# How often the progress is told, in seconds.
_INTERVAL = 0.1


@overload
def run_many(
    jobs: Iterable[Job], *, engine: str = ..., workers: int | None = ..., progress: Report | None = ...
) -> list[Run]: ...
@overload
def run_many(
    jobs: Iterable[Job],
    *,
    engine: str = ...,
    workers: int | None = ...,
    progress: Report | None = ...,
    reduce: Callable[[Run], T],
) -> list[T]: ...
def run_many(
    jobs: Iterable[Job],
    *,
    engine: str = "simulated",
    workers: int | None = None,
    progress: Report | None = None,
    reduce: Callable[[Run], Any] | None = None,
) -> list[Any]:
    """Runs scenarios (with seed 1) or pairs of a scenario and a seed, and returns their runs in the same order.

    The runs do not depend on `workers`, which is the number of processors without one. `reduce` makes of each run,
    as soon as it is finished, what is kept of it: use it when all tables of all runs would not fit into memory.
    `progress` is called from this thread with the number of finished runs (with fractions) and of all.

    Ctrl-C stops the runs that are not finished and raises Interrupted, whose `finished` holds the others' results.
    """
    pairs = [job if isinstance(job, tuple) else (job, 1) for job in jobs]
    find(engine)
    stop = threading.Event()
    fractions = [0.0] * len(pairs)
    results: dict[int, Any] = {}
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def one(index: int) -> None:
        def watch(now: Progress) -> None:
            fractions[index] = min(now.fraction, 1.0)
            if stop.is_set():
                raise Interrupted

        if stop.is_set():
            raise Interrupted
        scenario, seed = pairs[index]
        finished = run(scenario, engine, seed, watch)
        results[index] = reduce(finished) if reduce else finished
        fractions[index] = 1.0

    def job(index: int) -> None:
        try:
            one(index)
        except BaseException as error:
            ended.put(error)
        else:
            ended.put(None)

    with ThreadPoolExecutor(workers or os.cpu_count() or 1, thread_name_prefix="daybreak") as pool:
        try:
            for index in range(len(pairs)):
                pool.submit(job, index)
            _watch(ended, fractions, progress)
        except BaseException as error:
            stop.set()
            pool.shutdown(cancel_futures=True)
            if not isinstance(error, KeyboardInterrupt):
                raise
            raise Interrupted(finished=tuple(results[index] for index in sorted(results))) from None
    return [results[index] for index in range(len(pairs))]


def _watch(ended: queue.SimpleQueue[BaseException | None], fractions: list[float], progress: Report | None) -> None:
    """Waits until so many jobs have ended as there are fractions, tells the progress, and raises the first error.

    Ctrl-C comes here at any time. A future would not do: its lock is taken in Python code, and an interrupt in there
    leaves it taken for ever.
    """
    left = len(fractions)
    while left:
        try:
            error = ended.get(timeout=_INTERVAL)
        except queue.Empty:
            pass
        else:
            left -= 1
            if error:
                raise error
        if progress:
            progress(sum(fractions), len(fractions))
