"""A processor of its own for each guest.

A guest's kernel and each program in it are processes of this machine, of which one runs at a time and wakes the next at
every system call and page fault. Where the next one is on another processor, which has to leave its idle state for it,
a program takes two to three times as long.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

OWNER = f"daybreak-{os.getuid()}"
"""Whose guests do not share processors: all of this user, in any process."""


@contextlib.contextmanager
def reserved(owner: str = OWNER) -> Iterator[int | None]:
    """The number of a processor that no other guest of this owner has, until the end of the block.

    It is one of those that the calling thread may use; `None` if all of them are taken, or there is only one.
    """
    usable = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as held:
        yield next((one for one in usable if len(usable) > 1 and _takes(f"{owner}-processor-{one}", held)), None)


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


def _takes(name: str, held: contextlib.ExitStack) -> bool:
    """Takes a name that one process of the machine may have, until `held` is closed or this process dies; false if
    another one has it. It is the abstract address of a socket: a file would be left behind."""
    taken = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    try:
        taken.bind(f"\0{name}")
    except OSError:
        return False
    return True
