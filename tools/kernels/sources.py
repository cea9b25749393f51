"""Gets the source of a version of Linux from a suite of Debian's archive that this system does not otherwise use.

apt does it, with a list of sources and a place for what it knows of them that are its own here: the system's stay as
they are. The archive's address is that of the suites which the system has.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

SECURITY = "-security"
"""How suites end that are in the archive's other part."""
_FORMAT = "$(SITE) $(CODENAME) $(ORIGIN) $(IDENTIFIER)"
_PACKAGE = "linux-source-"
_ROW = re.compile(r"^\s*(?P<package>\S+) \|\s*(?P<version>\S+) \|")


class NoSource(Exception):
    """A version that no suite has, or an archive that is not known here."""


def archives(indextargets: str) -> dict[bool, str]:
    """Where suites of Debian are: those for security (True) and all others, from the system's own."""
    found: dict[bool, str] = {}
    for line in indextargets.splitlines():
        site, codename, origin, what = (*line.split(), "", "", "", "")[:4]
        if origin == "Debian" and what == "Packages":
            found.setdefault(codename.endswith(SECURITY), site)
    return found


def entries(suites: Iterable[str], found: dict[bool, str]) -> str:
    """The lines of a list of sources. NoSource where the system has no suite of that part of the archive."""
    lines = []
    for suite in suites:
        site = found.get(suite.endswith(SECURITY))
        if site is None:
            raise NoSource(f"{suite}: apt has no suite of that part of Debian's archive, whose address it would share")
        lines.append(f"deb {site} {suite} main\n")
    return "".join(lines)


def newest(madison: str, series: str) -> str:
    """The newest version of the package of a series, of what `apt-cache madison` says; it lists this one first.

    NoSource if it lists none.
    """
    for line in madison.splitlines():
        row = _ROW.match(line)
        if row and row["package"] == _PACKAGE + series:
            return row["version"]
    raise NoSource(f"no suite has {_PACKAGE}{series}")


def get(series: Sequence[str], suites: Sequence[str], into: Path) -> list[Path]:
    """The tarballs of these series, written into a folder. What is there stays. Raises NoSource."""
    wanted = {one: into / f"{_PACKAGE}{one}.tar.xz" for one in series}
    missing = [one for one, file in wanted.items() if not file.is_file()]
    if missing:
        with tempfile.TemporaryDirectory() as place:
            _get(missing, suites, Path(place), into)
    return list(wanted.values())


def _get(series: Sequence[str], suites: Sequence[str], place: Path, into: Path) -> None:
    listed = place / "sources.list"
    listed.write_text(entries(suites, archives(_said("apt-get", "indextargets", "--format", _FORMAT))))
    for folder in ("lists/partial", "cache/archives/partial"):
        (place / folder).mkdir(parents=True)
    own = {
        "Dir::Etc::SourceList": listed,
        "Dir::Etc::SourceParts": place / "none",
        "Dir::State::Lists": place / "lists",
        "Dir::Cache": place / "cache",
        "APT::Sandbox::User": "root",  # the folder is ours alone
    }
    options = [word for name, value in own.items() for word in ("-o", f"{name}={value}")]
    _said("apt-get", *options, "update")
    for one in series:
        version = newest(_said("apt-cache", *options, "madison", _PACKAGE + one), one)
        _said("apt-get", *options, "download", f"{_PACKAGE}{one}={version}", at=place)
        (package,) = place.glob(f"{_PACKAGE}{one}_*.deb")
        _unpack(package, into / f"{_PACKAGE}{one}.tar.xz")
        package.unlink()


def _unpack(package: Path, tarball: Path) -> None:
    """The one tarball that is in a package; it has its name once it is whole."""
    partly = tarball.with_suffix(".partly")
    files = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
    with partly.open("wb") as out:
        inside = ["tar", "--extract", "--to-stdout", "--wildcards", f"./usr/src/{tarball.name}"]
        subprocess.run(inside, stdin=files.stdout, stdout=out, check=True)
    if files.wait():
        raise NoSource(f"{package.name} cannot be read")
    partly.rename(tarball)


def _said(*command: str | Path, at: Path | None = None) -> str:
    return subprocess.run(command, cwd=at, check=True, stdout=subprocess.PIPE, text=True).stdout
