"""Checks what this machine has for the kernel engine, what is missing and how to get it."""

from __future__ import annotations

import mmap
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from . import host, image, tools, workplace
from . import recipe as recipes
from . import source as sources
from .errors import KernelEngineError

Status = Literal["ok", "missing", "warning"]
SHARED_MEMORY = Path("/dev/shm")
GUEST_MEMORY_BYTES = 1500 << 20
IMAGE = "kernel image"
GUEST = "guest program"


@dataclass(frozen=True)
class Finding:
    """The result of one check. `needed_for` is "build" or "run"; `remedy` is empty if there is nothing to do."""

    name: str
    needed_for: Literal["build", "run"]
    status: Status
    detail: str
    remedy: str = ""

    def as_json(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True)
class Diagnosis:
    """All findings; `can_run` and `can_build` summarise them."""

    findings: tuple[Finding, ...]

    @property
    def can_build(self) -> bool:
        return all(f.status != "missing" for f in self.findings if f.name not in (IMAGE, GUEST))

    @property
    def can_run(self) -> bool:
        return all(f.status != "missing" for f in self.findings if f.needed_for == "run")


def doctor(source: str | os.PathLike[str] | None = None) -> Diagnosis:
    """Runs all checks; changes nothing."""
    findings = [_platform()]
    if findings[0].status == "ok":
        findings += [_tracing(), _cpu_state(), _memory(), _image(), _guest()]
    findings += [_tool(tool) for tool in tools.NEEDED]
    findings.append(_source(source))
    return Diagnosis(tuple(findings))


def _platform() -> Finding:
    if host.is_supported():
        return Finding("platform", "run", "ok", "Linux on x86-64")
    found = f"{os.uname().sysname} on {os.uname().machine}"
    return Finding("platform", "run", "missing", found, "use a machine, or a virtual one, with Linux on x86-64")


def _tracing() -> Finding:
    probe = host.probe_tracing()
    if probe.refusal is None:
        return Finding("ptrace", "run", "ok", "a process may trace its children")
    return Finding("ptrace", "run", "missing", probe.refusal, "allow ptrace (in a container: --cap-add SYS_PTRACE)")


def _cpu_state() -> Finding:
    probe = host.probe_tracing()
    if probe.state_bytes is None:
        return Finding("cpu state", "run", "warning", "unknown because ptrace is refused")
    try:
        large = recipes.load().needs_large_state(probe.state_bytes)
    except KernelEngineError as error:
        return Finding("cpu state", "run", "missing", str(error), "report this CPU to the project")
    kind = "needs the larger buffer, which the build applies" if large else "fits the kernel as it is"
    return Finding("cpu state", "run", "ok", f"{probe.state_bytes} bytes of extended state, {kind}")


def _memory() -> Finding:
    folder = memory_directory()
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    text = f"{folder} has {free >> 20} MiB free for the guest's memory"
    if not _may_execute(folder):
        remedy = "set TMPDIR to a directory that is not"
        return Finding("guest memory", "run", "missing", f"{folder} is mounted noexec", remedy)
    if free < GUEST_MEMORY_BYTES:
        need = f"{GUEST_MEMORY_BYTES >> 20} MiB"
        remedy = f"free {need} there, or set TMPDIR to a directory that has them (in a container: --shm-size)"
        return Finding("guest memory", "run", "warning", text, remedy)
    return Finding("guest memory", "run", "ok", text)


def memory_directory() -> Path:
    """Where User-Mode Linux puts the file that is the guest's memory: TMPDIR, TMP, TEMP, else /dev/shm, else /tmp."""
    for name in ("TMPDIR", "TMP", "TEMP"):
        if os.environ.get(name):
            return Path(os.environ[name])
    return SHARED_MEMORY if SHARED_MEMORY.is_dir() else Path("/tmp")


def _may_execute(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(mmap.PAGESIZE)
            with mmap.mmap(file.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC):
                return True
    except OSError:
        return False


def _image() -> Finding:
    try:
        found = {one.hz: one for one in reversed(image.fitting())}
    except KernelEngineError as error:
        return Finding(IMAGE, "run", "missing", str(error), "daybreak kernel build")
    each = [f"Linux {one.source_version} with {hz} ticks in {one.directory}" for hz, one in sorted(found.items())]
    default = {one.digest for one in image.fitting()}
    others = [one for one in image.images() if image.is_current(one) and one.digest not in default]
    each += [f"Linux {one.source_version} with {one.hz} ticks (--kernel) in {one.directory}" for one in others]
    return Finding(IMAGE, "run", "ok", "; ".join(each))


def _guest() -> Finding:
    try:
        program = workplace.guest_program()
    except KernelEngineError as error:
        problem, _, remedy = str(error).partition("; make them with: ")
        return Finding(GUEST, "run", "missing", problem, remedy)
    return Finding(GUEST, "run", "ok", f"{program}, with its switch beside it")


def _tool(tool: tools.Tool) -> Finding:
    if tool.is_present():
        return Finding(tool.name, "build", "ok", "found")
    return Finding(tool.name, "build", "missing", "not found", tool.remedy)


def _source(source: str | os.PathLike[str] | None) -> Finding:
    recipe = recipes.load()
    try:
        found = sources.locate(source, recipe)
    except KernelEngineError as error:
        return Finding("kernel source", "build", "missing", str(error), sources.hint(recipe.default_version))
    if not recipe.was_tested_with(found.version):
        tested = ", ".join(recipe.tested_versions)
        detail = f"Linux {found.version} in {found.path}; the recipe was tested with {tested}"
        remedy = "try it: a source that the recipe does not fit is refused by name"
        return Finding("kernel source", "build", "warning", detail, remedy)
    return Finding("kernel source", "build", "ok", f"Linux {found.version} in {found.path}")
