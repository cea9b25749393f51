"""The recipe in `kernel-image/`: which options, which edits of the source, which driver and congestion modules of ours.

A recipe is data. It is applied to a copy of the source, never to the user's, and every edit must find exactly the text
that it was written for: a source that reads differently is refused by name instead of being built half-edited.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .errors import RecipeError

RECIPE_FILE = "recipe.toml"
BASE_CONFIG = "base.config"
LARGE_STATE_CONFIG = "large-cpu-state.config"
MODULES = "congestion"
MODULE_HOME = "net/ipv4/daybreak"
DRIVER = "driver"
DRIVER_HOME = "arch/um/drivers/daybreak"
LARGE_STATE = "large_cpu_state"
DEFAULT_HZ = 1000
"""Ticks a second in `recipe.toml`."""
HZ = (100, 250, DEFAULT_HZ)
"""Ticks a second that an image may have: Linux's own choices of which a tick lasts whole microseconds."""
_MODULE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\.c")


@dataclass(frozen=True)
class Edit:
    """One change of one source file: `find` becomes `replace`, or `append` is added at the end."""

    path: str
    why: str
    find: str | None = None
    replace: str | None = None
    append: str | None = None
    when: str | None = None
    hz: bool = False
    """`replace` has the ticks a second."""

    def apply(self, text: str) -> str:
        """The text after the edit; RecipeError when `find` is not there exactly once."""
        if self.append is not None:
            return text + self.append
        assert self.find is not None and self.replace is not None
        count = text.count(self.find)
        if count != 1:
            raise RecipeError(
                f"{self.path}: expected {self.find.strip()!r} once and found it {count} times; "
                "the recipe was not written for this kernel version"
            )
        return text.replace(self.find, self.replace)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what the image is: of ours, and the congestion modules of a user."""

    directory: Path
    base_config: str
    large_state_config: str
    edits: tuple[Edit, ...]
    modules: tuple[Path, ...]
    """Congestion modules, ours and then the user's."""
    users_modules: tuple[Path, ...]
    """Those of them that are the user's."""
    driver: tuple[Path, ...]
    leave_out: tuple[str, ...]
    tested_versions: tuple[str, ...]
    expected_objects: int
    plain_state_bytes: int
    large_state_bytes: int
    hz: int
    """Ticks a second."""
    digest: str
    """Of everything."""
    own_digest: str
    """Of everything but the user's modules and the ticks."""

    def was_tested_with(self, version: str) -> bool:
        """Whether a kernel's version ("6.1.55") is of one of the tested ones ("6.1")."""
        return any(version == tested or version.startswith(f"{tested}.") for tested in self.tested_versions)

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
        return self.base_config + ("\n" + self.large_state_config if large_state else "")

    def apply(self, source: Path, large_state: bool) -> None:
        """Edit the copy of the source in `source` and add the driver and the congestion modules."""
        for edit in self.edits:
            if edit.when == LARGE_STATE and not large_state:
                continue
            path = source / edit.path
            try:
                text = path.read_text(encoding="utf-8", errors="surrogateescape")
            except OSError as error:
                raise RecipeError(f"{edit.path}: not readable in this kernel source ({error.strerror})") from error
            path.write_text(edit.apply(text), encoding="utf-8", errors="surrogateescape")
        ours = source / MODULE_HOME
        ours.mkdir()
        lines = []
        for module in self.modules:
            (ours / module.name).write_bytes(module.read_bytes())
            lines.append(f"obj-y += {module.stem}.o\n")
        (ours / "Makefile").write_text("".join(lines) or "obj-y :=\n")
        home = source / DRIVER_HOME
        home.mkdir()
        for file in self.driver:
            (home / file.name).write_bytes(file.read_bytes())


def load(
    directory: Path | None = None, congestion: Sequence[str | os.PathLike[str]] = (), hz: int = DEFAULT_HZ
) -> Recipe:
    """The recipe in `directory`, or the one that this installation came with; with these congestion modules as well.

    A module is a C file that registers a Linux congestion control. ``hz`` are ticks a second. Raises RecipeError.
    """
    if hz not in HZ:
        raise RecipeError(f"hz = {hz}: expected one of {', '.join(map(str, HZ))}")
    home = directory or default_directory()
    try:
        raw = tomllib.loads((home / RECIPE_FILE).read_text())
        base = (home / BASE_CONFIG).read_text()
        large = (home / LARGE_STATE_CONFIG).read_text()
    except OSError as error:
        raise RecipeError(f"{error.filename}: the kernel recipe cannot be read ({error.strerror})") from error
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{home / RECIPE_FILE}: not valid TOML ({error})") from error
    modules = tuple(sorted((home / MODULES).glob("*.c"))) if (home / MODULES).is_dir() else ()
    driver = tuple(sorted(path for path in (home / DRIVER).glob("*") if path.suffix in (".c", ".h", "")))
    if not driver:
        raise RecipeError(f"{home / DRIVER}: the driver of the hosts' NICs is not there")
    edits = tuple(_with_ticks(_edit(entry), hz) for entry in raw["edit"])
    digest = hashlib.sha256()
    _feed(digest, "edits", json.dumps(_what_counts(raw), sort_keys=True).encode())
    for name in (BASE_CONFIG, LARGE_STATE_CONFIG):
        _feed(digest, name, (home / name).read_bytes())
    for module in modules:
        _feed(digest, module.name, module.read_bytes())
    for file in driver:
        _feed(digest, f"{DRIVER}/{file.name}", file.read_bytes())
    own_digest = digest.hexdigest()
    users = _users_modules(congestion, modules)
    for module in users:
        _feed(digest, f"user/{module.name}", module.read_bytes())
    if hz != DEFAULT_HZ:
        _feed(digest, "hz", str(hz).encode())
    return Recipe(
        directory=home,
        base_config=base,
        large_state_config=large,
        edits=edits,
        modules=modules + users,
        users_modules=users,
        driver=driver,
        leave_out=tuple(raw["leave_out"]),
        tested_versions=tuple(raw["tested_versions"]),
        expected_objects=int(raw["expected_objects"]),
        plain_state_bytes=int(raw["cpu_state"]["plain"]),
        large_state_bytes=int(raw["cpu_state"]["large"]),
        hz=hz,
        digest=digest.hexdigest(),
        own_digest=own_digest,
    )


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
    known = {"path", "why", "find", "replace", "append", "when", "hz"}
    for key in entry:
        if key not in known:
            raise RecipeError(f"edit of {entry.get('path', '?')}: unknown field {key!r}; known are {sorted(known)}")
    if entry.get("when") not in (None, LARGE_STATE):
        raise RecipeError(f"edit of {entry['path']}: when is {entry['when']!r}; known is {LARGE_STATE!r}")
    if ("append" in entry) == ("find" in entry) or ("find" in entry) != ("replace" in entry):
        raise RecipeError(f"edit of {entry.get('path', '?')}: give either find and replace, or append")
    return Edit(**entry)


def _what_counts(raw: dict[str, Any]) -> dict[str, Any]:
    """What of recipe.toml changes the kernel that comes out: not the reasons, the forecast, or what is not unpacked.

    Nor where the ticks stand: other ticks than the default ones are fed by themselves.
    """
    edits = [{name: value for name, value in entry.items() if name not in ("why", "hz")} for entry in raw["edit"]]
    return {"edits": edits, "cpu_state": raw["cpu_state"]}


def _feed(digest: hashlib._Hash, name: str, content: bytes) -> None:
    digest.update(f"{name} {len(content)}\n".encode())
    digest.update(content)
