"""Executors for tests: one that runs tasks one after the other and remembers them, and one in other processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace

from daybreak.errors import Interrupted
from daybreak.sweeps import Ended, StoredRun, Task


def simulated(task: Task) -> StoredRun:
    """The task on the simulator, whichever engine it asks for."""
    return replace(task, job=replace(task.job, engine="simulated"))()


@dataclass
class Serial:
    """Runs tasks in this thread; `interrupt_at` of them are run before Ctrl-C is pressed."""

    perform: Callable[[Task], StoredRun] = simulated
    interrupt_at: int | None = None
    ran: list[tuple[str, str, int]] = field(default_factory=list)
    """Engine, scenario and seed of each."""

    def run(self, tasks: Iterable[Task], ended: Ended, progress: Callable[[float], object]) -> None:
        for task in tasks:
            if len(self.ran) == self.interrupt_at:
                raise Interrupted
            self.ran.append((task.job.engine, task.job.scenario.name, task.job.seed))
            ended(task, self.perform(task))
            progress(len(self.ran))


@dataclass(frozen=True)
class Processes:
    """Runs tasks in other processes, to which they are pickled: what an executor on other machines would do."""

    workers: int = 2

    def run(self, tasks: Iterable[Task], ended: Ended, progress: Callable[[float], object]) -> None:
        source, running, done = iter(tasks), {}, 0
        with ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            while True:
                while len(running) < 2 * self.workers and (task := next(source, None)):
                    running[pool.submit(task)] = task
                if not running:
                    return
                over: set[Future[StoredRun]] = wait(running, return_when=FIRST_COMPLETED).done
                for future in over:
                    error = future.exception()
                    ended(running.pop(future), error if isinstance(error, Exception) else future.result())
                    done += 1
                    progress(done)
