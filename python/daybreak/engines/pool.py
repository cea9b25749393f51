"""Runs many scenarios side by side in threads: an engine lets the others run while it works."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
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

    def one(index: int) -> Any:
        def watch(now: Progress) -> None:
            fractions[index] = min(now.fraction, 1.0)
            if stop.is_set():
                raise Interrupted

        if stop.is_set():
            raise Interrupted
        scenario, seed = pairs[index]
        finished = run(scenario, engine, seed, watch)
        result = reduce(finished) if reduce else finished
        fractions[index] = 1.0
        return result

    with ThreadPoolExecutor(workers or os.cpu_count() or 1, thread_name_prefix="daybreak") as pool:
        futures = [pool.submit(one, index) for index in range(len(pairs))]
        try:
            _watch(futures, fractions, progress)
        except KeyboardInterrupt:
            _abandon(futures, stop)
            wait(futures)
            raise Interrupted(finished=tuple(_results(futures))) from None
        except BaseException:
            _abandon(futures, stop)
            raise
    return [future.result() for future in futures]


def _watch(futures: list[Future[Any]], fractions: list[float], progress: Report | None) -> None:
    """Waits for all, tells the progress, and raises the first error."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=_INTERVAL, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
        if progress:
            progress(sum(fractions), len(fractions))


def _abandon(futures: list[Future[Any]], stop: threading.Event) -> None:
    stop.set()
    for future in futures:
        future.cancel()


def _results(futures: list[Future[Any]]) -> Iterable[Any]:
    for future in futures:
        if not future.cancelled() and future.exception() is None:
            yield future.result()
