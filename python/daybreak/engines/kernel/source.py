"""Finds the kernel source: the distribution's `linux-source` package or a directory of the user's.

The source is only read. What a build needs of it is copied (`unpack`), about a sixth of the whole.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...errors import UsageError
from .errors import BuildError, MissingTool
from .recipe import Recipe
from .versions import is_of, numbers, series

PACKAGE_DIRECTORY = Path("/usr/src")
ENDS = 1 << 20
_TARBALL_NAME = re.compile(r"linux-source-.*\.tar(\.(xz|gz|bz2|zst))?")
_VERSIONED_NAME = re.compile(r"linux-source-(?P<version>\d+(\.\d+)*)\.tar(\.\w+)?")


@dataclass(frozen=True)
class Source:
    """A kernel source that exists. `identity` changes when its content does; `version` is for people."""

    path: Path
    version: str
    identity: str

    @property
    def is_tarball(self) -> bool:
        return self.path.is_file()


def locate(source: str | os.PathLike[str] | None, recipe: Recipe, linux: str | None = None) -> Source:
    """The source at `source`, a tarball or a directory; without one the newest of this version in /usr/src.

    `linux` is a version such as 6.12 or 6.12.117, by default the recipe's or, where that is not installed, the newest
    tested one that is. Raises MissingTool, which says how to get the version and which sources were found instead.
    """
    if source is not None:
        path = Path(source).expanduser().resolve()
        if path.is_dir():
            return _directory(path)
        if path.is_file():
            return _tarball(path)
        raise MissingTool(f"kernel source {str(path)!r} does not exist")
    found = installed()
    wanted = _usual(recipe, found) if linux is None else linux
    if not numbers(wanted):
        raise UsageError(f"linux: {wanted!r} is not a version: expected one such as 6.12")
    fitting = [path for path in found if numbers(version_of(path)) and is_of(version_of(path), wanted)]
    if fitting:
        return _tarball(fitting[-1])
    # The distribution's tarballs are named after their series.
    for path in found:
        if wanted != version_of(path) == series(wanted):
            if (version := _version_inside(path)) == wanted:
                return _tarball(path)
            raise MissingTool(
                f"{path} is Linux {version}, not {wanted}: take it with --linux {series(wanted)}, or name another file "
                "with --source"
            )
    if not found:
        raise MissingTool(f"no linux-source-*.tar.* in {PACKAGE_DIRECTORY}; {hint(wanted)}, or give a source")
    raise MissingTool(
        f"{PACKAGE_DIRECTORY} has {', '.join(path.name for path in found)} and none of Linux {wanted}; {hint(wanted)}, "
        "or name another version with --linux or a file with --source"
    )


def _usual(recipe: Recipe, tarballs: Sequence[Path]) -> str:
    preferred = (recipe.default_version, *reversed(recipe.tested_versions))
    there = (one for one in preferred if any(is_of(version_of(path), one) for path in tarballs if version_of(path)))
    return next(there, recipe.default_version)


def hint(version: str) -> str:
    """How to get the source of a version."""
    return f"on Debian or Ubuntu: apt-get install linux-source-{series(version)}"


def installed(directory: Path | None = None) -> list[Path]:
    """Source tarballs of the distribution, oldest version first, preceded by those without a version in their name."""
    home = directory or PACKAGE_DIRECTORY
    tarballs = [path for path in home.glob("linux-source-*") if _TARBALL_NAME.fullmatch(path.name) and path.is_file()]
    return sorted(tarballs, key=lambda path: (numbers(version_of(path)), path.name))


def version_of(tarball: Path) -> str:
    """The version in the name of a tarball of the distribution's; empty if there is none."""
    found = _VERSIONED_NAME.fullmatch(tarball.name)
    return found["version"] if found else ""


def unpack(source: Source, recipe: Recipe, target: Path) -> None:
    """Copies what a build needs of `source` into the empty directory `target`."""
    skip = ["--anchored", "--wildcards"]
    if source.is_tarball:
        top = _top(source.path)
        skip += [f"--exclude={top}{pattern.removeprefix('.')}" for pattern in recipe.leave_out]
        _run(["tar", "-x", "-f", str(source.path), "-C", str(target), "--strip-components=1", *skip], source)
        return
    skip += [f"--exclude={pattern}" for pattern in ("./.git", "./*.o", "./vmlinux", "./linux", *recipe.leave_out)]
    reader = subprocess.Popen(["tar", "-c", "-C", str(source.path), *skip, "."], stdout=subprocess.PIPE)
    try:
        _run(["tar", "-x", "-C", str(target)], source, stdin=reader.stdout)
    finally:
        if reader.stdout is not None:
            reader.stdout.close()
        code = reader.wait()
    if code != 0:
        raise BuildError(f"reading the kernel source {str(source.path)!r} failed: tar exited with {code}")


def _run(command: list[str], source: Source, stdin: IO[bytes] | None = None) -> None:
    done = subprocess.run(command, stdin=stdin, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise BuildError(f"unpacking {str(source.path)!r} failed: {last[0]}")


def _tarball(path: Path) -> Source:
    status = path.stat()
    digest = hashlib.sha256(f"{path.name} {status.st_size}\n".encode())
    with path.open("rb") as file:
        digest.update(file.read(ENDS))
        file.seek(max(0, status.st_size - ENDS))
        digest.update(file.read())
    found = re.search(r"linux(?:-source)?-([0-9]+\.[0-9.]*[0-9])", path.name)
    return Source(path, found.group(1) if found else _version_inside(path), digest.hexdigest())


def _version_inside(tarball: Path) -> str:
    """The version in a tarball's Makefile, for tarballs without one in their name."""
    command = ["tar", "-x", "-O", "--occurrence=1", "-f", str(tarball), f"{_top(tarball)}/Makefile"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    version = _version(done.stdout)
    if not numbers(version):
        raise MissingTool(f"{str(tarball)!r} is not a kernel source: it has no Makefile with a version")
    return version


def _directory(path: Path) -> Source:
    makefile = path / "Makefile"
    if not makefile.is_file() or not (path / "arch/um").is_dir():
        raise MissingTool(f"{str(path)!r} is not a kernel source: it has no Makefile or no arch/um")
    if (path / ".config").exists() or (path / "include/config").exists():
        raise MissingTool(f"{str(path)!r} was built in place; run 'make mrproper' there or give a clean copy")
    version = version_in(path)
    if not numbers(version):
        raise MissingTool(f"{str(makefile)!r} says no version: expected the Makefile of a kernel source")
    digest = hashlib.sha256(version.encode())
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(files):
            status = os.stat(os.path.join(folder, name), follow_symlinks=False)
            digest.update(f"{folder}/{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return Source(path, version, digest.hexdigest())


def version_in(tree: Path) -> str:
    """The version in the Makefile of an unpacked source; empty if there is none."""
    try:
        return _version((tree / "Makefile").read_text(errors="replace"))
    except OSError:
        return ""


def _version(makefile: str) -> str:
    head = makefile[:2000]
    parts = [_field(head, name) for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return ".".join(part for part in parts if part) + _field(head, "EXTRAVERSION")


def _field(text: str, name: str) -> str:
    found = re.search(rf"^{name}\s*=[ \t]*(\S*)", text, re.MULTILINE)
    return found.group(1) if found else ""


def _top(path: Path) -> str:
    """The one directory that the tarball holds, read from its first entry without unpacking the rest."""
    command = ["tar", "-t", "-f", str(path)]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert reader.stdout is not None
    first = reader.stdout.readline().strip()
    reader.stdout.close()
    reader.terminate()
    reader.wait()
    if not first:
        raise BuildError(f"{str(path)!r} is not a readable tarball")
    return first.split("/", 1)[0]
