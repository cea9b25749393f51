"""Runs the jobs whose results a store lacks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sized

from daybreak.errors import DaybreakError

from .executor import Executor, Local
from .job import Job, StoredRun, Task
from .store import Store

Report = Callable[[float, int | None], object]
"""Called with the number of finished jobs (may be fractional) and the total, None where it is unknown."""


def execute(
    jobs: Iterable[Job],
    store: Store,
    *,
    executor: Executor | None = None,
    progress: Report | None = None,
    failed: Callable[[Job, Exception], object] | None = None,
    found: Callable[[Job, str], object] | None = None,
    kept: Callable[[Job, str], object] | None = None,
) -> None:
    """Runs the jobs that the store does not hold, in order. A finished job is stored whatever happens later.

    `jobs` is consumed lazily, one job as each slot becomes free, so it may be of any length and may decide from the
    results stored so far whether more are needed. `failed(job, error)` is called for each job that ends with an error,
    and the others go on; without it the first error stops all and is raised. `found(job, digest)` is called for each
    job that the store held already, `kept(job, digest)` for each that it holds now. Raises Interrupted on Ctrl-C.
    """
    store.forget_unfinished()
    total = len(jobs) if isinstance(jobs, Sized) else None
    settled = 0
    one_at_a_time = threading.Lock()

    def fail(job: Job, error: Exception) -> None:
        if failed is None:
            raise error
        with one_at_a_time:
            failed(job, error)

    def notify(listener: Callable[[Job, str], object] | None, job: Job, digest: str) -> None:
        if listener:
            with one_at_a_time:
                listener(job, digest)

    def missing() -> Iterator[Task]:
        nonlocal settled
        for job in jobs:
            try:
                plan = job.plan()
                digest = store.digest(plan, job.engine)
            except DaybreakError as error:
                fail(job, error)
                settled += 1
                continue
            if store.holds(digest):
                notify(found, job, digest)
                settled += 1
            else:
                yield Task(job, store.reduction, store.program(job.engine, plan), digest, plan)

    def ended(task: Task, outcome: StoredRun | Exception) -> None:
        if isinstance(outcome, Exception):
            fail(task.job, outcome)
        else:
            store.put(task.digest, outcome)
            notify(kept, task.job, task.digest)

    def report(done: float) -> None:
        if progress:
            progress(settled + done, total)

    report(0)
    (executor or Local()).run(missing(), ended, report)
