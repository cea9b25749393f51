"""Places of guests: one directory per run, removed with it; the guest's program and its switch."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from daybreak.runs.staging import Staging

from .errors import NoGuest

PROGRAM = "daybreak-guest"
SWITCH = "libdaybreak_switch.so"
_RUN = "run-"


def open_run() -> Staging:
    """A new directory for a run, removed at the end of its block; also removes leftovers of dead runs."""
    return Staging(_base(), _RUN)


def guest_program() -> Path:
    """The guest's init program: beside this package, or built by cargo in a working copy.

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
    """The directory of the unnamed file that backs the guest's memory: in memory if there is room, else on disk."""
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
