"""Where the tasks of a sweep run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from daybreak.engines import Progress, side_by_side
from daybreak.errors import Interrupted

from .job import StoredRun, Task

Ended = Callable[[Task, StoredRun | Exception], object]
"""Called with each task that has ended, and its result or the error that ended it."""


class Executor(Protocol):
    """Runs tasks, in threads or in processes of this machine or of others."""

    def run(self, tasks: Iterable[Task], ended: Ended, progress: Callable[[float], object]) -> None:
        """Runs every task and calls `ended` for each, in any order and from any thread of this process.

        A task is taken from `tasks` only when there is room for it, by one thread at a time. `progress` is called
        periodically from the calling thread with the number of tasks that have ended (may be fractional). An error of a
        task is passed to `ended`; one raised by `tasks` or `ended` stops everything and is raised. Ctrl-C stops
        everything and raises Interrupted.
        """


@dataclass(frozen=True)
class Local:
    """Runs tasks in threads of this process, by default as many as there are processors."""

    workers: int | None = None

    def run(self, tasks: Iterable[Task], ended: Ended, progress: Callable[[float], object]) -> None:
        def work(task: Task, watch: Callable[[Progress], object]) -> None:
            try:
                outcome: StoredRun | Exception = task(watch)
            except Interrupted:
                raise
            except Exception as error:
                outcome = error
            ended(task, outcome)

        side_by_side(tasks, work, workers=self.workers, progress=progress)
