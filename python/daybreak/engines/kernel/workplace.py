"""Where guests run: a directory a run, removed with it; and where the guest's program and its switch are.

A run that was ended by force may leave its directory. Its lock is free then, and the next run removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import NoGuest

PROGRAM = "daybreak-guest"
SWITCH = "libdaybreak_switch.so"
_LOCK = ".lock"
_TAKEN = ".lock-taken"
# A directory without a lock may be that of a run that is about to start.
_NEW_S = 60


@dataclass(frozen=True)
class Workplace:
    """The directory of one run."""

    directory: Path


@contextlib.contextmanager
def open_run() -> Iterator[Workplace]:
    """A new directory for a run; what dead runs have left is removed on the way."""
    base = _base()
    _remove_stale(base)
    directory = Path(tempfile.mkdtemp(prefix="run-", dir=base))
    # It takes its name when it is held: others may look at any moment, and remove what nobody holds.
    with (directory / _TAKEN).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (directory / _TAKEN).rename(directory / _LOCK)
        try:
            yield Workplace(directory)
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def guest_program() -> Path:
    """The program that is the guest's init: beside this package, or built by cargo in a working copy.

    The switch, a library that the guest's kernel loads, lies beside it.
    """
    here = Path(__file__).resolve()
    places = [here.with_name(PROGRAM)]
    root = next((folder for folder in here.parents if (folder / "Cargo.toml").is_file()), None)
    if root:
        built = [root / "target" / profile / PROGRAM for profile in ("release", "debug")]
        places += sorted((path for path in built if path.is_file()), key=lambda path: -path.stat().st_mtime_ns)
    found = next((path for path in places if path.is_file() and switch_library(path).is_file()), None)
    if found is None:
        build = "cargo build --release -p daybreak-guest -p daybreak-guest-switch"
        raise NoGuest(f"the guest's program and its switch are not built; make them with: {build}")
    return found


def switch_library(program: Path) -> Path:
    """The switch that belongs to a guest's program."""
    return program.with_name(SWITCH)


def memory_directory() -> str:
    """Where the guest's memory is a file without a name: in memory if there is room, else on disk."""
    with contextlib.suppress(OSError):
        room = os.statvfs("/dev/shm")
        if room.f_bavail * room.f_frsize >= 2**30:
            return "/dev/shm"
    return tempfile.gettempdir()


def _base() -> Path:
    base = Path(tempfile.gettempdir()) / f"daybreak-kernel-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    if base.stat().st_uid != os.getuid():
        raise NoGuest(f"{base} belongs to another user: expected a directory of yours")
    return base


def _remove_stale(base: Path) -> None:
    for directory in base.glob("run-*"):
        lock = directory / _LOCK
        with contextlib.suppress(OSError):
            if not lock.exists():
                # Its guest has cleared it up to the log, or it is only being made.
                if time.time() - directory.stat().st_mtime > _NEW_S:
                    shutil.rmtree(directory, ignore_errors=True)
                continue
            with lock.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory, ignore_errors=True)
