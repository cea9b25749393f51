"""The kernel images: each is built once per version, recipe, source and kind of CPU, and found again for every run.

    image = build()                          # or build("/path/to/linux-source.tar.xz", progress=show)
    image = build(linux="6.12", hz=250)      # another version, whose clock ticks 250 times a second
    image = build(congestion=["mine.c"])     # with a congestion control of the user's
    image = find()                           # NoImage when there is none for this recipe and this machine
    image = find(Choice.parse("6.12@250"))
    image = find(variants=["mine"])          # the one that has it

An image is a directory in the user's cache, made under another name and renamed when it is whole, so a build that is
interrupted leaves nothing that could be taken for one. Two builds of one image wait for each other.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...errors import UsageError
from . import host, kept, tools
from . import recipe as recipes
from . import source as sources
from .choice import USUAL, Choice
from .errors import KernelEngineError, MissingTool, NoImage
from .making import META, Making, OnBuildProgress, Progress, folder_of_build
from .recipe import Recipe
from .source import Source
from .versions import is_of, numbers, series

__all__ = ["Image", "Progress", "build", "cache_directory", "find", "fitting", "images", "in_order", "remove"]


@dataclass(frozen=True)
class Image:
    """A kernel that was built and booted once."""

    directory: Path
    recipe_digest: str
    source_version: str
    large_cpu_state: bool
    objects: int
    build_s: float
    congestion_modules: tuple[str, ...]
    own_digest: str = ""
    """Digest of the recipe without the user's modules and options."""
    users_modules: tuple[str, ...] = ()
    """Congestion modules of the user's."""
    users_config: str = ""
    """The user's options, as written."""
    variants: tuple[str, ...] = ()
    """The congestion controls it includes."""
    hz: int = recipes.DEFAULT_HZ
    """Ticks per second."""
    pure: bool = False
    """Nothing under net/ was edited."""
    edits: tuple[str, ...] = ()
    """Names of the edits of its source."""
    source: str = ""
    """Place of its source."""

    @property
    def program(self) -> Path:
        """The kernel: an ordinary executable."""
        return self.directory / "linux"

    @property
    def digest(self) -> str:
        """Its identity: a digest of everything it was made of."""
        return self.directory.name

    @property
    def size_bytes(self) -> int:
        """Its size on disk in bytes."""
        return sum(path.stat().st_size for path in self.directory.iterdir())

    @property
    def is_plain(self) -> bool:
        """Whether nothing in it is the user's, except perhaps the ticks."""
        return not (self.pure or self.users_config or self.users_modules)

    @property
    def options(self) -> list[str]:
        """The user's options, without comments."""
        return recipes.options_of(self.users_config)

    def facts(self) -> dict[str, object]:
        """The kernel's entry in a run's manifest."""
        return {
            "version": self.source_version,
            "ticks": self.hz,
            "image": self.digest,
            "edits": list(self.edits),
            "pure": self.pure,
            "options": self.options,
            "modules": list(self.users_modules),
        }


def build(
    source: str | os.PathLike[str] | None = None,
    progress: OnBuildProgress | None = None,
    *,
    linux: str | None = None,
    congestion: Sequence[str | os.PathLike[str]] = (),
    hz: int = recipes.DEFAULT_HZ,
    pure: bool = False,
    config: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
) -> Image:
    """The image for `source`, or for the distribution's source of version `linux`, built now unless the cache has it.

    `congestion` are C files, each with a Linux congestion control, which are built in; an image without them is built
    first, whose objects they need only be linked with. `hz` are ticks a second; `pure` leaves everything under net/
    as it is; `config` is a file with further options.

    Raises RecipeError for a file that cannot be taken, MissingTool naming every missing program or file at once,
    BuildError with the log's path when a step fails.
    """
    report = progress or (lambda _: None)
    usual = recipes.load(congestion=congestion, hz=hz, config=config)
    if source is not None and linux is not None:
        raise UsageError(f"linux: {linux} names the distribution's source, and source is another; give one of both")
    if not host.is_supported():
        raise MissingTool("the kernel engine needs Linux on x86-64")
    lacking = tools.missing()
    if lacking:
        raise MissingTool("; ".join(f"{tool.name} is missing ({tool.remedy})" for tool in lacking))
    probe = host.probe_tracing()
    if probe.state_bytes is None:
        raise MissingTool(f"the kernel engine cannot run here: {probe.refusal}")
    origin = sources.locate(source, usual, linux)

    def made(modules: Sequence[str | os.PathLike[str]], base: Image | None) -> Image:
        plan = recipes.load(congestion=modules, hz=hz, version=origin.version, pure=pure, config=config)
        large = plan.needs_large_state(probe.state_bytes or 0)
        target = cache_directory() / key(plan, origin, large)
        with contextlib.ExitStack() as locks:
            if base:
                locks.enter_context(_locked(base.directory, report))
            locks.enter_context(_locked(target, report))
            if not (target / META).is_file():
                Making(
                    plan, origin, large, target, report, jobs or os.cpu_count() or 1,
                    base=base.directory if base and _has_objects(base) else None,
                    trial=() if base else usual.users_modules,
                ).run()  # fmt: skip
            return _load(target)

    plain = made((), None)
    return made(congestion, plain) if congestion else plain


def find(choice: Choice = USUAL, *, variants: Collection[str] = (), hz: int | None = None) -> Image:
    """The best image of that choice that runs on this CPU, ticks so often and has these congestion controls.

    `hz` counts where the choice does not say it; the usual ticks if neither does. Needs no kernel source. NoImage says
    how to get one.
    """
    default = recipes.load().default_version
    found = fitting(choice)
    version = choice.version or default
    ticks = found[0].hz if choice.digest else choice.hz or hz or recipes.DEFAULT_HZ
    asked = Choice(choice.version, ticks).command(default)
    ticking = [image for image in found if image.hz == ticks]
    if not ticking:
        raise NoImage(f"no kernel image of Linux {version} has {ticks} ticks a second; make one with: {asked}")
    having = [image for image in ticking if set(variants) <= set(image.variants)]
    if not having:
        lacking = ", ".join(sorted(set(variants) - set(ticking[0].variants)))
        raise NoImage(
            f"no kernel image of Linux {found[0].source_version} with {ticks} ticks has the congestion controls "
            f"{lacking}; make one with: {asked} --congestion FILE"
        )
    return having[0]


def fitting(choice: Choice = USUAL) -> list[Image]:
    """The images of that choice that run on this CPU, best first; whichever ticks where it says none.

    NoImage if there is none.
    """
    plan = recipes.load()
    probe = host.probe_tracing()
    if probe.state_bytes is None:
        raise NoImage(f"the kernel engine cannot run here: {probe.refusal}")
    large = plan.needs_large_state(probe.state_bytes)
    running = [image for image in images() if image.large_cpu_state or not large]
    if choice.digest:
        return [_of_digest(list(filter(is_current, running)), choice.digest)]
    version = choice.version or plan.default_version
    found = [image for image in running if is_of(image.source_version, version) and is_current(image)]
    if not found:
        raise NoImage(_how_to_get(choice, version, plan, list(filter(is_current, running))))
    return sorted(found, key=_preference)


def is_current(image: Image) -> bool:
    """Whether the recipe has not changed since the image was made."""
    plan = recipes.load(version=image.source_version, pure=image.pure)
    return image.own_digest == plan.own_digest


def remove(choice: Choice) -> Image:
    """Removes the one image that the choice names. NoImage if there is none, or if there are several."""
    there = images()
    if choice.digest:
        found = [_of_digest(there, choice.digest)]
    else:
        found = [
            image for image in there
            if is_of(image.source_version, choice.version) and choice.hz in (None, image.hz)
        ]  # fmt: skip
    if not found:
        raise NoImage("no kernel image is of that version and has those ticks; see 'daybreak kernel list'")
    if len(found) > 1:
        each = ", ".join(f"{one.digest[:8]} (Linux {one.source_version}, {one.hz} ticks)" for one in found)
        raise NoImage(f"several kernel images fit: {each}; name one by its digest")
    directory = found[0].directory
    with _locked(directory, lambda _: None):
        # Once renamed it is never taken for an image, however this ends.
        gone = directory.with_name(f".{directory.name}.removed")
        directory.rename(gone)
        shutil.rmtree(gone)
        directory.with_name(f"{directory.name}.failed.log").unlink(missing_ok=True)
    return found[0]


def _of_digest(among: Sequence[Image], digest: str) -> Image:
    found = [image for image in among if image.digest.startswith(digest)]
    if len(found) != 1:
        raise NoImage(
            f"{len(found) or 'no'} kernel images that run here have digest {digest}; see 'daybreak kernel list'"
        )
    return found[0]


def _how_to_get(choice: Choice, version: str, plan: Recipe, usable: Sequence[Image]) -> str:
    sentence = f"there is no kernel image of Linux {version} for this recipe and machine; make one with: "
    if not any(is_of(sources.version_of(path), series(version)) for path in sources.installed()):
        sentence += f"apt-get install linux-source-{series(version)} (Debian, Ubuntu) and "
    sentence += Choice(choice.version, choice.hz).command(plan.default_version)
    others = sorted({image.source_version for image in usable}, key=numbers)
    return sentence + (f"; there are images of Linux {', '.join(others)} (--kernel)" if others else "")


def _preference(image: Image) -> tuple[object, ...]:
    """Sort key: default ticks first, then the fewest additions of the user's, then the newest."""
    made_ns = (image.directory / META).stat().st_mtime_ns
    version = tuple(-number for number in numbers(image.source_version))
    users = (image.pure, bool(image.users_config), len(image.users_modules))
    return image.hz != recipes.DEFAULT_HZ, *users, version, -made_ns


def images() -> list[Image]:
    """Every complete image in the cache, in no particular order; those described by an incompatible version are left
    out."""
    found = []
    for path in cache_directory().glob(f"*/{META}"):
        with contextlib.suppress(KernelEngineError):
            if not path.parent.name.startswith("."):
                found.append(_load(path.parent))
    return found


def in_order() -> list[Image]:
    """Every complete image in the cache, newest version first, default ticks first."""

    def place(image: Image) -> tuple[object, ...]:
        return tuple(-number for number in numbers(image.source_version)), _preference(image)

    return sorted(images(), key=place)


def cache_directory() -> Path:
    """`$XDG_CACHE_HOME/daybreak/kernel`, by default below ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base and os.path.isabs(base) else Path.home() / ".cache"
    return root / "daybreak" / "kernel"


def _has_objects(image: Image) -> bool:
    """Whether its objects can be linked with others."""
    archive = image.directory / kept.ARCHIVE
    return archive.is_file() and kept.is_of(archive, folder_of_build(image.directory))


def key(recipe: Recipe, source: Source, large_state: bool) -> str:
    """Names an image by what it was made of."""
    text = f"{recipe.digest} {source.identity} {'large' if large_state else 'plain'}"
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _load(directory: Path) -> Image:
    try:
        meta = json.loads((directory / META).read_text())
        lists = ("congestion_modules", "users_modules", "variants", "edits")
        meta |= {name: tuple(meta[name]) for name in lists if name in meta}
        return Image(directory=directory, **meta)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise KernelEngineError(f"{directory / META}: not the description of a kernel image ({error})") from error


@contextlib.contextmanager
def _locked(target: Path, report: OnBuildProgress) -> Iterator[None]:
    """Locks the image against other builds and removals; the lock file is removed afterwards."""
    target.parent.mkdir(parents=True, exist_ok=True)
    path = target.with_name(f".{target.name}.lock")
    while True:
        with path.open("w") as file:
            _lock(file, report)
            if not _is_there(file, path):
                continue  # the previous holder removed the file with its lock
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _lock(file: IO[str], report: OnBuildProgress) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        report(Progress("waiting", 0, 0))
        fcntl.flock(file, fcntl.LOCK_EX)


def _is_there(file: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
