"""Archives a build, so that adding a user's congestion control only takes compiling and linking it.

The objects, with what of the source they or another module may be made from: makefiles, the headers of all, and of the
other files those that an object was made from. make compares times, so they stay as they are; it also compares
commands, which name the folder, so all is unpacked where it was.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .errors import BuildError

ARCHIVE = "objects.tar.gz"
_FOR_ALL = ("include/", "arch/")
_OF_THE_BUILD = ("scripts/", "tools/")
_PATH = re.compile(r"[^\s\\()'\"]+\.(?:c|S|h|rs)\b")


def keep(work: Path, archive: Path) -> None:
    """Packs `source` and `objects` in the folder of a build, without what is never read again. Raises BuildError."""
    source = work / "source"
    used = _used(work / "objects", source)
    for path in source.rglob("*"):
        name = str(path.relative_to(source))
        is_code = path.suffix == ".c" or (path.suffix == ".h" and not name.startswith(_FOR_ALL))
        if is_code and name not in used and not name.startswith(_OF_THE_BUILD) and path.is_file():
            path.unlink()
    _tar(["-c", "-z", "-f", str(archive), "-C", str(work), "source", "objects"], "packing the objects")


def restore(archive: Path, work: Path) -> None:
    """Unpacks the archive into the folder it was made from. Raises BuildError."""
    _tar(["-x", "-z", "-f", str(archive), "-C", str(work)], f"unpacking {str(archive)!r}")


def is_of(archive: Path, work: Path) -> bool:
    """Whether it was packed from this folder. A cache that was moved or copied has another: all would be compiled
    anew, from a source that is not whole."""
    name = "objects/Makefile"
    command = ["tar", "-x", "-z", "-O", "--occurrence=1", "-f", str(archive), name]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return f"{work.resolve()}/source/" in done.stdout


def _used(objects: Path, source: Path) -> set[str]:
    """Files of the source that the objects were made from, as make has noted them."""
    found: set[str] = set()
    prefix = f"{source}/"
    for note in objects.rglob(".*.cmd"):
        for name in _PATH.findall(note.read_text(errors="replace")):
            if name.startswith(prefix):
                found.add(name.removeprefix(prefix))
            elif name.startswith("../source/"):
                found.add(name.removeprefix("../source/"))
    return found


def _tar(arguments: list[str], what: str) -> None:
    done = subprocess.run(["tar", *arguments], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise BuildError(f"{what} failed: {last[0]}")
