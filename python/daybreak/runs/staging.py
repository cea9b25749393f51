"""Folders of unfinished work. A lock shows that their process is alive; what a dead one has left is removed by the next
process that works in the same place.
"""

from __future__ import annotations

import fcntl
import secrets
import shutil
import time
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

PREFIX = ".daybreak-unfinished-"
_LOCK = ".lock"
_TAKEN = ".lock-taken"
# A folder without a lock may be that of a process that is about to take it.
_NEW_S = 60


class Staging:
    """A new folder in `base`: it goes with this object, at the end of the program, or when its block is left.

    Raises OSError.
    """

    def __init__(self, base: Path, prefix: str = PREFIX):
        remove_stale(base, prefix)
        self.path = base / f"{prefix}{secrets.token_hex(8)}"
        held: list[IO[str]] = []
        # Before the folder is made, so that Ctrl-C leaves none behind whenever it comes.
        self._remove = weakref.finalize(self, _remove, self.path, held)
        self.path.mkdir(mode=0o700)
        # It gets its name only once it is locked: other processes remove folders without a lock.
        held.append((self.path / _TAKEN).open("w"))
        with suppress(OSError):
            # Some file systems have no locks: then only this process removes it.
            fcntl.flock(held[0], fcntl.LOCK_EX)
        (self.path / _TAKEN).rename(self.path / _LOCK)

    def remove(self) -> None:
        """Removes the folder now."""
        self._remove()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._remove()


def remove_stale(base: Path, prefix: str = PREFIX) -> None:
    """Removes what killed processes have left in `base`."""
    for folder in base.glob(f"{prefix}*"):
        with suppress(OSError):
            if folder.is_symlink():
                continue
            if not (folder / _LOCK).exists():
                # Its guest has cleared everything but the log, or it is just being made.
                if time.time() - folder.stat().st_mtime > _NEW_S:
                    shutil.rmtree(folder, ignore_errors=True)
                continue
            with (folder / _LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


def remove_tree(path: Path) -> None:
    """Removes a folder with its content, even if interrupted repeatedly meanwhile."""
    interrupted: KeyboardInterrupt | None = None
    while True:
        try:
            shutil.rmtree(path, ignore_errors=True)
            break
        except KeyboardInterrupt as signal:
            interrupted = signal
    if interrupted:
        raise interrupted


def _remove(path: Path, held: list[IO[str]]) -> None:
    try:
        remove_tree(path)
    finally:
        for lock in held:
            lock.close()
