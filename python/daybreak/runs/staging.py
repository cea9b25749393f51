"""Folders of work that is not finished yet. A lock tells that their process lives: what a dead one has left is removed
by the next one that works at the same place.
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
        # It takes its name when it is held: others may look at any moment, and remove what nobody holds.
        held.append((self.path / _TAKEN).open("w"))
        with suppress(OSError):
            # Some file systems know no locks: then nobody removes it but this process.
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
    """Removes what processes that were ended by force have left in `base`."""
    for folder in base.glob(f"{prefix}*"):
        with suppress(OSError):
            if folder.is_symlink():
                continue
            if not (folder / _LOCK).exists():
                # Its guest has cleared it up to the log, or it is only being made.
                if time.time() - folder.stat().st_mtime > _NEW_S:
                    shutil.rmtree(folder, ignore_errors=True)
                continue
            with (folder / _LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


def remove_tree(path: Path) -> None:
    """Removes a folder with all that is in it, however often it is interrupted meanwhile."""
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
