"""The recipe in `kernel-image/`: which options, which edits of the source, which driver and congestion modules of ours.

A recipe is data, read for one version of Linux. It is applied to a copy of the source, never to the user's, and every
edit must find exactly the text that it was written for: a source that reads differently is refused by name instead of
being built half-edited.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from ...errors import UsageError, reason
from .errors import RecipeError
from .versions import is_of, is_series, numbers, series

RECIPE_FILE = "recipe.toml"
BASE_CONFIG = "base.config"
LARGE_STATE_CONFIG = "large-cpu-state.config"
MODULES = "congestion"
DRIVER = "driver"
DRIVER_HOME = "arch/um/drivers/daybreak"
MODULE_HOME = f"{DRIVER_HOME}/congestion"
NETWORK = ("net/", "include/net/")
"""What a pure image leaves as it is."""
LARGE_STATE = "large_cpu_state"
DEFAULT_HZ = 1000
"""Ticks a second in `recipe.toml`."""
HZ = (100, 250, 300, DEFAULT_HZ)
"""Ticks a second that an image may have: Linux's own choices."""
_OPTION = re.compile(r"(CONFIG_[A-Z0-9_]+)=(.+)|# (CONFIG_[A-Z0-9_]+) is not set")
_WHAT_COUNTS = ("path", "find", "replace", "append", "when")
_MODULE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\.c")


@dataclass(frozen=True)
class Edit:
    """One change of one source file: `find` becomes `replace`, or `append` is added at the end."""

    name: str
    """What it is called where an image names its edits; several edits may be one change."""
    path: str
    why: str
    find: str | None = None
    replace: str | None = None
    append: str | None = None
    when: str | None = None
    hz: bool = False
    """`replace` has the ticks a second."""
    since: str | None = None
    """The first version that it is for: two numbers."""
    until: str | None = None
    """The first version after that which it is not for."""

    @property
    def is_of_the_network(self) -> bool:
        """Whether a pure image goes without it."""
        return self.path.startswith(NETWORK)

    def apply(self, text: str) -> str:
        """The text after the edit; RecipeError when `find` is not there exactly once."""
        if self.append is not None:
            return text + self.append
        assert self.find is not None and self.replace is not None
        count = text.count(self.find)
        if count != 1:
            raise RecipeError(
                f"{self.path}: edit {self.name!r} expected {self.find.strip()!r} once and found it {count} times; "
                "the recipe was not written for this kernel source"
            )
        return text.replace(self.find, self.replace)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what an image of one version is: of ours, and the modules and options of a user."""

    directory: Path
    version: str
    """The version of Linux that it is read for."""
    base_config: str
    large_state_config: str
    users_config: str
    """Options of the user's, which come last."""
    edits: tuple[Edit, ...]
    """Those for this version, and where the image is pure none under net/."""
    modules: tuple[Path, ...]
    """Congestion modules, ours and then the user's."""
    users_modules: tuple[Path, ...]
    """Those of them that are the user's."""
    driver: tuple[Path, ...]
    leave_out: tuple[str, ...]
    tested_versions: tuple[str, ...]
    """Oldest first."""
    default_version: str
    """What is built and run where nothing else is asked for: that of the model."""
    expected_objects: int
    plain_state_bytes: int
    large_state_bytes: int
    hz: int
    """Ticks a second."""
    pure: bool
    """Nothing under net/ is edited, and what needs such edits is left out."""
    digest: str
    """Of everything."""
    own_digest: str
    """Of everything but the user's modules and options, and the ticks."""

    def was_tested_with(self, version: str) -> bool:
        """Whether a kernel's version ("6.1.55") is of one of the tested ones ("6.1")."""
        return any(is_of(version, tested) for tested in self.tested_versions)

    def needs_large_state(self, state_bytes: int) -> bool:
        """Whether a CPU whose extended state has `state_bytes` needs the edits for large state."""
        if state_bytes > self.large_state_bytes:
            raise RecipeError(
                f"the CPU's extended state has {state_bytes} bytes "
                f"and the recipe provides at most {self.large_state_bytes}"
            )
        return state_bytes > self.plain_state_bytes

    def config(self, large_state: bool) -> str:
        """The options to build with, everything else off."""
        parts = [self.base_config, self.large_state_config if large_state else "", self.users_config]
        return "\n".join(part for part in parts if part)

    def names(self, large_state: bool) -> list[str]:
        """What the edits are called, each name once."""
        return list(dict.fromkeys(edit.name for edit in self._edits(large_state)))

    def apply(self, source: Path, large_state: bool) -> None:
        """Edit the copy of the source in `source` and add the driver and the congestion modules."""
        for edit in self._edits(large_state):
            path = source / edit.path
            try:
                text = path.read_text(encoding="utf-8", errors="surrogateescape")
            except OSError as error:
                raise RecipeError(
                    f"{edit.path}: edit {edit.name!r} finds no such file in this kernel source ({error.strerror})"
                ) from error
            path.write_text(edit.apply(text), encoding="utf-8", errors="surrogateescape")
        home = source / DRIVER_HOME
        home.mkdir()
        for file in self.driver:
            (home / file.name).write_bytes(file.read_bytes())
        (source / MODULE_HOME).mkdir()
        self.add_modules(source)

    def add_modules(self, source: Path) -> None:
        """Put the congestion modules into a source that has all else already."""
        home = source / MODULE_HOME
        for module in self.modules:
            (home / module.name).write_bytes(module.read_bytes())
        (home / "Makefile").write_text("".join(f"obj-y += {module.stem}.o\n" for module in self.modules))

    def _edits(self, large_state: bool) -> list[Edit]:
        return [edit for edit in self.edits if large_state or edit.when != LARGE_STATE]


def load(
    directory: Path | None = None,
    congestion: Sequence[str | os.PathLike[str]] = (),
    hz: int = DEFAULT_HZ,
    *,
    version: str | None = None,
    pure: bool = False,
    config: str | os.PathLike[str] | None = None,
) -> Recipe:
    """The recipe in `directory`, or the one that this installation came with, for a version of Linux.

    With these congestion modules as well: C files that register a Linux congestion control each. ``hz`` are ticks a
    second, ``version`` is the recipe's default one if not given. With ``pure`` nothing under net/ is edited, and reTCP,
    which needs that, is left out. ``config`` is a file with options of the user's. Raises RecipeError, UsageError.
    """
    if hz not in HZ:
        raise UsageError(f"hz = {hz}: expected one of {', '.join(map(str, HZ))}")
    home = directory or default_directory()
    try:
        raw = _parsed((home / RECIPE_FILE).read_text())
        base = (home / BASE_CONFIG).read_text()
        large = (home / LARGE_STATE_CONFIG).read_text()
    except OSError as error:
        raise RecipeError(f"{error.filename}: the kernel recipe cannot be read ({error.strerror})") from error
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{home / RECIPE_FILE}: not valid TOML ({error})") from error
    version = version or raw["default_version"]
    base = _of_this_version(base, raw.get("option", ()), version)
    modules = tuple(sorted((home / MODULES).glob("*.c"))) if (home / MODULES).is_dir() and not pure else ()
    driver = tuple(sorted(path for path in (home / DRIVER).glob("*") if path.suffix in (".c", ".h", "")))
    if not driver:
        raise RecipeError(f"{home / DRIVER}: the driver of the hosts' NICs is not there")
    all_edits = [_edit(entry) for entry in raw["edit"]]
    edits = [
        edit for edit in all_edits if _is_for(version, edit.since, edit.until) and not (pure and edit.is_of_the_network)
    ]
    digest = hashlib.sha256()
    _feed(digest, "edits", json.dumps(_what_counts(edits, raw["cpu_state"]), sort_keys=True).encode())
    _feed(digest, BASE_CONFIG, base.encode())
    _feed(digest, LARGE_STATE_CONFIG, large.encode())
    for module in modules:
        _feed(digest, module.name, module.read_bytes())
    for file in driver:
        _feed(digest, f"{DRIVER}/{file.name}", file.read_bytes())
    own_digest = digest.hexdigest()
    users = _users_modules(congestion, modules)
    for module in users:
        _feed(digest, f"user/{module.name}", module.read_bytes())
    users_config = _users_config(Path(config)) if config is not None else ""
    if users_config:
        _feed(digest, "user's options", users_config.encode())
    if hz != DEFAULT_HZ:
        _feed(digest, "hz", str(hz).encode())
    return Recipe(
        directory=home,
        version=version,
        base_config=base,
        large_state_config=large,
        users_config=users_config,
        edits=tuple(_with_ticks(edit, hz) for edit in edits),
        modules=modules + users,
        users_modules=users,
        driver=driver,
        leave_out=tuple(raw["leave_out"]),
        tested_versions=tuple(sorted(raw["tested_versions"], key=numbers)),
        default_version=raw["default_version"],
        expected_objects=int(raw["expected_objects"]),
        plain_state_bytes=int(raw["cpu_state"]["plain"]),
        large_state_bytes=int(raw["cpu_state"]["large"]),
        hz=hz,
        pure=pure,
        digest=digest.hexdigest(),
        own_digest=own_digest,
    )


@cache
def _parsed(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


def default_directory() -> Path:
    """`$DAYBREAK_KERNEL_IMAGE`, the copy inside an installed package, or `kernel-image/` of the checkout."""
    named = os.environ.get("DAYBREAK_KERNEL_IMAGE")
    if named:
        return Path(named)
    here = Path(__file__).resolve().parent
    candidates = (here / "recipe_data", *(parent / "kernel-image" for parent in here.parents))
    for candidate in candidates:
        if (candidate / RECIPE_FILE).is_file():
            return candidate
    raise RecipeError("kernel-image/recipe.toml was not found with this installation; set DAYBREAK_KERNEL_IMAGE")


def _users_modules(files: Sequence[str | os.PathLike[str]], ours: Sequence[Path]) -> tuple[Path, ...]:
    """The files, if each can be one of the kernel's."""
    taken = {module.name: "the recipe" for module in ours}
    found: list[Path] = []
    for file in map(Path, files):
        if not _MODULE_NAME.fullmatch(file.name):
            raise RecipeError(f"{file}: expected a C file with a name such as mine.c")
        if file.name in taken:
            raise RecipeError(f"{file}: {taken[file.name]} has a congestion module of this name; give it another one")
        try:
            file.read_bytes()
        except OSError as error:
            raise RecipeError(f"{file}: not readable ({error.strerror})") from error
        taken[file.name] = "another --congestion"
        found.append(file)
    return tuple(found)


def _with_ticks(edit: Edit, hz: int) -> Edit:
    if not edit.hz or edit.replace is None:
        return edit
    return replace(edit, replace=edit.replace.replace(str(DEFAULT_HZ), str(hz)))


def _edit(entry: dict[str, Any]) -> Edit:
    of = f"edit of {entry.get('path', '?')}"
    known = {field.name for field in fields(Edit)}
    for key in entry:
        if key not in known:
            raise RecipeError(f"{of}: unknown field {key!r}; known are {sorted(known)}")
    for key in ("name", "path", "why"):
        if key not in entry:
            raise RecipeError(f"{of}: it has no {key}")
    if entry.get("when") not in (None, LARGE_STATE):
        raise RecipeError(f"{of}: when is {entry['when']!r}; known is {LARGE_STATE!r}")
    if ("append" in entry) == ("find" in entry) or ("find" in entry) != ("replace" in entry):
        raise RecipeError(f"{of}: give either find and replace, or append")
    _check_span(entry, of)
    return Edit(**entry)


def _of_this_version(config: str, options: Sequence[dict[str, Any]], version: str) -> str:
    """The options without those that this version does not have."""
    absent = set()
    for option in options:
        _check_span(option, option["name"])
        if not _is_for(version, option.get("since"), option.get("until")):
            absent.add(f"{option['name']}=y")
    return "".join(line for line in config.splitlines(keepends=True) if line.strip() not in absent)


def _check_span(entry: dict[str, Any], of: str) -> None:
    for key in ("since", "until"):
        if key in entry and not is_series(entry[key]):
            raise RecipeError(f"{of}: {key} is {entry[key]!r}: expected two numbers such as 6.12")


def _is_for(version: str, since: str | None, until: str | None) -> bool:
    here = numbers(series(version))
    return (since is None or here >= numbers(since)) and (until is None or here < numbers(until))


def options_of(config: str) -> list[str]:
    """The options in a configuration, without comments; one that is off only looks like a comment."""
    return [line.strip() for line in config.splitlines() if _OPTION.fullmatch(line.strip())]


def _users_config(file: Path) -> str:
    """Options of the user's, if each line is one."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"{file}: not readable ({reason(error)})") from None
    for number, line in enumerate(text.splitlines(), 1):
        option = _OPTION.fullmatch(line.strip())
        if not option and line.strip() and not line.lstrip().startswith("#"):
            raise RecipeError(f"{file}: line {number} is {line.strip()!r}: expected an option such as CONFIG_TUN=y")
        if option and option[2] == "m":
            raise RecipeError(
                f"{file}: line {number} asks for a module, {line.strip()}: give =y, since all is built in"
            )
    return text


def _what_counts(edits: Sequence[Edit], cpu_state: dict[str, Any]) -> dict[str, Any]:
    """What of recipe.toml changes the kernel that comes out: not the reasons, the forecast, or what is not unpacked.

    Nor where the ticks stand, since other ticks than the default ones are fed by themselves, or for which other
    versions an edit is.
    """
    return {
        "edits": [
            {name: getattr(edit, name) for name in _WHAT_COUNTS if getattr(edit, name) is not None} for edit in edits
        ],
        "cpu_state": cpu_state,
    }


def _feed(digest: hashlib._Hash, name: str, content: bytes) -> None:
    digest.update(f"{name} {len(content)}\n".encode())
    digest.update(content)
