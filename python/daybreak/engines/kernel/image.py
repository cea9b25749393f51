"""The kernel image: build it once per recipe, source and kind of CPU; find it again for every run.

    image = build()                      # or build("/path/to/linux-source.tar.xz", progress=show)
    image = find()                       # NoImage when there is none for this recipe and this machine
    image = build(congestion=["mine.c"])     # an image of its own, with a congestion control of the user's
    image = find(variants=["mine"])          # the one that has it
    image = build(hz=250)                    # one whose clock ticks 250 times a second
    image = find(hz=250)

An image is a directory in the user's cache, made under another name and renamed when it is whole, so a build that is
interrupted leaves nothing that could be taken for one. Two builds of one image wait for each other.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import host, tools
from . import recipe as recipes
from . import source as sources
from .errors import KernelEngineError, MissingTool, NoImage
from .making import META, Making, Progress, Report
from .recipe import Recipe
from .source import Source

__all__ = ["Image", "Progress", "build", "cache_directory", "find", "images"]


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
    """Of the recipe without the user's modules."""
    users_modules: tuple[str, ...] = ()
    """Congestion modules of the user's."""
    variants: tuple[str, ...] = ()
    """The congestion controls that it has."""
    hz: int = recipes.DEFAULT_HZ
    """Ticks a second."""

    @property
    def program(self) -> Path:
        """The kernel: an ordinary executable."""
        return self.directory / "linux"


def build(
    source: str | os.PathLike[str] | None = None,
    progress: Report | None = None,
    *,
    recipe: Recipe | None = None,
    congestion: Sequence[str | os.PathLike[str]] = (),
    hz: int = recipes.DEFAULT_HZ,
    jobs: int | None = None,
) -> Image:
    """The image for `source` (default: see `source.locate`), built now unless the cache has it.

    `congestion` are C files, each with a Linux congestion control, which are built in. `hz` are ticks a second.

    Raises RecipeError for a file that cannot be taken, MissingTool naming every missing program or file at once,
    BuildError with the log's path when a step fails.
    """
    report = progress or (lambda _: None)
    plan = recipe or recipes.load(congestion=congestion, hz=hz)
    if not host.is_supported():
        raise MissingTool("the kernel engine needs Linux on x86-64")
    lacking = tools.missing()
    if lacking:
        raise MissingTool("; ".join(f"{tool.name} is missing ({tool.remedy})" for tool in lacking))
    probe = host.probe_tracing()
    if probe.state_bytes is None:
        raise MissingTool(f"the kernel engine cannot run here: {probe.refusal}")
    large = plan.needs_large_state(probe.state_bytes)
    origin = sources.locate(source, plan)
    target = cache_directory() / key(plan, origin, large)
    with _locked(target, report):
        if not (target / META).is_file():
            Making(plan, origin, large, target, report, jobs or os.cpu_count() or 1).run()
        return _load(target)


def find(recipe: Recipe | None = None, *, variants: Collection[str] = (), hz: int = recipes.DEFAULT_HZ) -> Image:
    """The newest image of this recipe that runs on this CPU, ticks so often and has these congestion controls.

    Needs no kernel source. One without a user's modules is preferred. NoImage says how to get one.
    """
    how = "daybreak kernel build" + ("" if hz == recipes.DEFAULT_HZ else f" --hz {hz}")
    ticking = [image for image in fitting(recipe) if image.hz == hz]
    if not ticking:
        raise NoImage(f"no kernel image has {hz} ticks a second (hz of a stack); make one with: {how}")
    having = [image for image in ticking if set(variants) <= set(image.variants)]
    if not having:
        lacking = ", ".join(sorted(variants))
        raise NoImage(
            f"no kernel image has the congestion controls {lacking} together; make one with: {how} --congestion FILE"
        )
    return min(having, key=_preference)


def fitting(recipe: Recipe | None = None) -> list[Image]:
    """The images of this recipe, with whichever ticks and modules of a user's, that run on this CPU, best first.

    NoImage if there is none.
    """
    plan = recipe or recipes.load()
    probe = host.probe_tracing()
    if probe.state_bytes is None:
        raise NoImage(f"the kernel engine cannot run here: {probe.refusal}")
    large = plan.needs_large_state(probe.state_bytes)
    found = [
        image for image in images() if image.own_digest == plan.own_digest and (image.large_cpu_state or not large)
    ]
    if not found:
        raise NoImage("no kernel image for this recipe and machine; make one with: daybreak kernel build")
    return sorted(found, key=_preference)


def _preference(image: Image) -> tuple[bool, int, int]:
    """Those with the default ticks first, then those with fewest modules of a user's, then the newest."""
    made_ns = (image.directory / META).stat().st_mtime_ns
    return image.hz != recipes.DEFAULT_HZ, len(image.users_modules), -made_ns


def images() -> list[Image]:
    """Every whole image in the cache, in no promised order; those that another version has described are left out."""
    found = []
    for path in cache_directory().glob(f"*/{META}"):
        with contextlib.suppress(KernelEngineError):
            if not path.parent.name.startswith("."):
                found.append(_load(path.parent))
    return found


def cache_directory() -> Path:
    """`$XDG_CACHE_HOME/daybreak/kernel`, by default below ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base and os.path.isabs(base) else Path.home() / ".cache"
    return root / "daybreak" / "kernel"


def key(recipe: Recipe, source: Source, large_state: bool) -> str:
    """Names an image by what it was made of."""
    text = f"{recipe.digest} {source.identity} {'large' if large_state else 'plain'}"
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _load(directory: Path) -> Image:
    try:
        meta = json.loads((directory / META).read_text())
        lists = ("congestion_modules", "users_modules", "variants")
        meta |= {name: tuple(meta[name]) for name in lists if name in meta}
        return Image(directory=directory, **meta)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise KernelEngineError(f"{directory / META}: not the description of a kernel image ({error})") from error


@contextlib.contextmanager
def _locked(target: Path, report: Report) -> Iterator[None]:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f".{target.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(Progress("waiting", 0, 0))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
