"""A processor of its own for each guest.

A guest's kernel and each program in it are processes of this machine, of which one runs at a time and wakes the next at
every system call and page fault. Where the next one is on another processor, which has to leave its idle state for it,
a program takes two to three times as long.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def reserved(locks: Path) -> Iterator[int | None]:
    """The number of a processor that no other guest with the same folder `locks` has, until the end of the block.

    It is one of those that the calling thread may use; `None` if all of them are taken, or there is only one.
    """
    usable = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as held:
        yield next((one for one in usable if len(usable) > 1 and _lock(locks / f"processor-{one}", held)), None)


@contextlib.contextmanager
def only(processor: int | None) -> Iterator[None]:
    """Processes that the calling thread starts in the block stay on this processor; on any if it is `None`."""
    if processor is None:
        yield
        return
    usable = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):  # It may have been taken from this process since: then any will do.
        os.sched_setaffinity(0, {processor})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)


def _lock(path: Path, held: contextlib.ExitStack) -> bool:
    """Locks a file until `held` is closed, or this process dies; false if another one has it."""
    file = held.enter_context(path.open("w"))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
