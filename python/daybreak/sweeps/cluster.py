"""Runs the tasks of a sweep on a Dask cluster whose workers have the same Daybreak installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from daybreak.errors import EngineError, Interrupted, reason

from .executor import Ended
from .job import StoredRun, Task

_CONNECT_S = 10
_AHEAD = 2
"""Tasks submitted per thread of the cluster, so that no thread waits for its next one."""


@dataclass(frozen=True)
class Dask:
    """Runs tasks on the cluster of the scheduler at `address`, such as ``tcp://host:8786``.

    Tasks of a lost worker run again on another one. Only as many tasks as the cluster has room for are submitted, and
    each result is released as soon as it has arrived.
    """

    address: str

    def run(self, tasks: Iterable[Task], ended: Ended, progress: Callable[[float], object]) -> None:
        client = self._connect()
        try:
            _run(client, iter(tasks), ended, progress)
        except KeyboardInterrupt:
            raise Interrupted from None
        finally:
            # Also cancels tasks whose results are no longer wanted.
            client.close()

    def _connect(self) -> Any:
        try:
            import distributed  # noqa: PLC0415  an optional package, which takes a second to import
            from distributed.comm.addressing import parse_address, parse_host_port  # noqa: PLC0415
        except ImportError:
            raise EngineError('a scheduler needs the package "distributed": pip install daybreak[dask]') from None
        try:
            # A client whose address is none waits for its own end, and complains when it is over.
            parse_host_port(parse_address(self.address)[1])
            return distributed.Client(self.address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(f'scheduler "{self.address}" cannot be reached: {reason(error)}') from None


def _run(client: Any, tasks: Any, ended: Ended, progress: Callable[[float], object]) -> None:
    from distributed import as_completed  # noqa: PLC0415  optional

    client.wait_for_workers(1, timeout=_CONNECT_S)
    room = max(1, _AHEAD * sum(client.nthreads().values()))
    running: dict[str, Task] = {}
    completed = as_completed(loop=client.loop)

    def hand_over() -> None:
        while len(running) < room and (task := next(tasks, None)) is not None:
            future = client.submit(_perform, task, key=f"daybreak-{task.digest}", pure=False)
            running[future.key] = task
            completed.add(future)

    done = 0
    hand_over()
    while running:
        future = next(completed)
        error = future.exception()
        task = running.pop(future.key)
        ended(task, _as_exception(error) if error else future.result())
        future.release()
        done += 1
        progress(done)
        hand_over()


def _as_exception(error: BaseException) -> Exception:
    return error if isinstance(error, Exception) else EngineError(f"{type(error).__name__}: {error}")


def _perform(task: Task) -> StoredRun:
    return task()
