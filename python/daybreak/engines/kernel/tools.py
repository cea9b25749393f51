"""The programs and files that building a kernel needs, and where to get each."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Tool:
    """A required program or file. `package` is its name on Debian and Ubuntu."""

    name: str
    package: str
    header: str | None = None

    @property
    def remedy(self) -> str:
        return f"on Debian or Ubuntu: apt-get install {self.package}"

    def is_present(self) -> bool:
        if self.header is None:
            return shutil.which(self.name) is not None
        return shutil.which("gcc") is None or _compiles(self.header)  # without gcc, gcc is what is missing


NEEDED = (
    Tool("make", "make"),
    Tool("gcc", "gcc"),
    Tool("ld", "binutils"),
    Tool("flex", "flex"),
    Tool("bison", "bison"),
    Tool("bc", "bc"),
    Tool("tar", "tar"),
    Tool("xz", "xz-utils"),
    Tool("the C library's headers", "libc6-dev", header="stdio.h"),
)


def missing() -> list[Tool]:
    """All required tools that this machine lacks."""
    return [tool for tool in NEEDED if not tool.is_present()]


def _compiles(header: str) -> bool:
    done = subprocess.run(
        ["gcc", "-E", "-x", "c", "-"], input=f"#include <{header}>\n", capture_output=True, text=True, check=False
    )
    return done.returncode == 0
