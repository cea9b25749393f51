"""Runs many scenarios in parallel threads: engines release the interpreter's lock while they work."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, overload

from daybreak.errors import Interrupted, whole
from daybreak.runs import Run
from daybreak.scenario import Scenario

from .single import Progress, find, run

T = TypeVar("T")
Job = Scenario | tuple[Scenario, int]
Watch = Callable[[Progress], object]

# Interval of progress reports, in seconds.
_INTERVAL = 0.1
_END = object()


@overload
def run_many(
    jobs: Iterable[Job],
    *,
    engine: str = ...,
    workers: int | None = ...,
    progress: Callable[[float, int], object] | None = ...,
    staging: Path | None = ...,
) -> list[Run]: ...
@overload
def run_many(
    jobs: Iterable[Job],
    *,
    engine: str = ...,
    workers: int | None = ...,
    progress: Callable[[float, int], object] | None = ...,
    staging: Path | None = ...,
    reduce: Callable[[Run], T],
) -> list[T]: ...
def run_many(
    jobs: Iterable[Job],
    *,
    engine: str = "simulated",
    workers: int | None = None,
    progress: Callable[[float, int], object] | None = None,
    staging: Path | None = None,
    reduce: Callable[[Run], Any] | None = None,
) -> list[Any]:
    """Runs scenarios (with seed 1) or pairs of a scenario and a seed, and returns their runs in the same order.

    The runs do not depend on `workers`, by default the number of processors. `reduce` maps each run, as soon as it is
    finished, to what is kept of it: use it when all tables of all runs would not fit into memory. `progress` is called
    from this thread with the number of finished runs (may be fractional) and the total. `staging` is as in `run`.

    Ctrl-C stops the unfinished runs and raises Interrupted, whose `finished` holds the results of the others.
    """
    pairs = [job if isinstance(job, tuple) else (job, 1) for job in jobs]
    find(engine)
    results: dict[int, Any] = {}

    def one(index: int, watch: Watch) -> None:
        scenario, seed = pairs[index]
        finished = run(scenario, engine, seed, watch, staging)
        results[index] = reduce(finished) if reduce else finished

    def report(done: float) -> None:
        if progress:
            progress(done, len(pairs))

    try:
        side_by_side(range(len(pairs)), one, workers=workers, progress=report)
    except Interrupted:
        raise Interrupted(finished=tuple(results[index] for index in sorted(results))) from None
    return [results[index] for index in range(len(pairs))]


def side_by_side(
    items: Iterable[T],
    work: Callable[[T, Watch], object],
    *,
    workers: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> None:
    """Calls `work` with each item in one of `workers` threads, by default as many as there are processors.

    A thread takes an item when it is free, so only as many items are in memory as there are threads; one thread at a
    time takes one. `work` passes its second argument to the engine, which reports its progress there and stops when all
    threads are to stop. `progress` is called periodically from this thread with the number of items done (may be
    fractional).

    The first exception of `items` or `work` stops everything and is raised; Ctrl-C stops everything and raises
    Interrupted.
    """
    source, turn, stop = iter(items), threading.Lock(), threading.Event()
    threads = (os.cpu_count() or 1) if workers is None else whole("workers", workers, 1)
    done = [0.0] * threads
    # Not a future: its lock is taken in Python code, where an interrupt would leave it locked.
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def take_turns(number: int) -> None:
        finished = 0

        def watch(now: Progress) -> None:
            done[number] = finished + min(now.fraction, 1.0)
            if stop.is_set():
                raise Interrupted

        while not stop.is_set():
            with turn:
                item: Any = next(source, _END)
            if item is _END:
                return
            work(item, watch)
            finished += 1
            done[number] = finished

    def thread(number: int) -> None:
        try:
            take_turns(number)
        except BaseException as error:
            ended.put(error)
        else:
            ended.put(None)

    pool = [threading.Thread(target=thread, args=(number,), name=f"daybreak-{number}") for number in range(threads)]
    try:
        for one in pool:
            one.start()
        _wait(ended, threads, lambda: progress(sum(done)) if progress else None)
    except BaseException as error:
        stop.set()
        if not isinstance(error, KeyboardInterrupt):
            raise
        raise Interrupted from None
    finally:
        for one in pool:
            if one.ident is not None:
                one.join()


def _wait(ended: queue.SimpleQueue[BaseException | None], threads: int, report: Callable[[], object]) -> None:
    """Waits until all threads have ended, reports progress, and raises the first error. Ctrl-C is raised here."""
    while threads:
        try:
            error = ended.get(timeout=_INTERVAL)
        except queue.Empty:
            pass
        else:
            threads -= 1
            if error:
                raise error
        report()
