"""Runs a plan on real Linux: boots a guest, watches it, and reads the tables that it leaves."""

from __future__ import annotations

import hashlib
import os
import selectors
import subprocess
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from daybreak import _native
from daybreak.errors import EngineError, PlanError, ProgramFailed, reason
from daybreak.plan import types
from daybreak.plan.applications import is_limited
from daybreak.runs import EngineOutput
from daybreak.runs.staging import Staging
from daybreak.scenario.lowering import Plan

from ..single import OnProgress, Progress
from . import dilation, image, processor, programs, workplace
from . import recipe as recipes
from .choice import USUAL, Choice
from .errors import GuestFailed, KernelEngineError
from .tables import read
from .versions import series

PATIENCE_S = 120.0
"""A guest is killed when its virtual time has not advanced for this long (real time)."""
CAPTURE = "capture.pcapng"
_KEPT_LINES = 12
_LOOK_S = 0.1
_ANSWER_S = 10.0


def variants(choice: Choice = USUAL) -> list[str]:
    """The congestion controls of this machine's images, including those of users' modules."""
    try:
        found = {name for kernel in image.fitting(choice) for name in kernel.variants}
    except KernelEngineError:
        # The engine cannot run here; scenarios are validated without it.
        return [entry.name for entry in _native.variants()]
    return sorted(found)


def ticks(choice: Choice = USUAL) -> int | None:
    """Ticks per second that the choice fixes for all hosts; `None` if the scenario's stacks set them."""
    return image.find(choice).hz if choice.digest else choice.hz


def linux(choice: Choice = USUAL) -> str:
    """The series of Linux of the choice: "6.12"."""
    if choice.digest:
        return series(image.find(choice).source_version)
    return series(choice.version or recipes.load().default_version)


def check(plan: Plan, choice: Choice = USUAL) -> None:
    """Raises PlanError for a plan that it cannot run, NoImage or NoGuest if it cannot run any."""
    program = workplace.guest_program()
    _image(plan, choice)
    programs.refuse_missing(programs.with_python(plan.content))
    with tempfile.TemporaryDirectory(prefix="daybreak-") as directory:
        file = Path(directory) / "plan.json"
        file.write_bytes(_for_guest(plan).json)
        refuse_unsupported(program, file)


def execute(plan: Plan, progress: OnProgress | None, staging: Path, choice: Choice = USUAL) -> EngineOutput:
    """Runs a plan in a guest of its own. Raises PlanError for what the engine cannot do, GuestFailed for a crash."""
    program = workplace.guest_program()
    kernel = _image(plan, choice)
    slower = dilation.of(plan.content)
    plan = _for_guest(plan)
    programs.refuse_missing(plan.content)
    with workplace.open_run() as run:
        (run / "plan.json").write_bytes(plan.json)
        refuse_unsupported(program, run / "plan.json")
        programs.put_files(plan.content, run)
        (run / "daybreak-guest").symlink_to(program)
        captured = _captured(run, staging) if plan.content.records.capture_links else None
        watched = Watch(plan, progress, slower)
        try:
            boot(program, kernel.program, run, watched, room=memory(plan.content), seed=plan.content.seed)
            tables, totals = read(run / "tables")
            files = programs.written(plan.content, run)
        except BaseException as error:
            if captured:
                captured.remove()
            if isinstance(error, ProgramFailed):
                error.seed = plan.content.seed
                error.files = programs.written(plan.content, run, endings=True)
            raise
    capture = captured.path / CAPTURE if captured else None
    recorded = EngineOutput(tables, totals, capture, captured, files, {"kernel": kernel.facts()})
    return dilation.in_network_time(recorded, slower)


def _for_guest(plan: Plan) -> Plan:
    """The plan as the guest runs it, with undilated clocks."""
    slower = dilation.of(plan.content)
    content = programs.with_python(plan.content if slower == 1 else dilation.slowed(plan.content, slower))
    return plan if content is plan.content else Plan(content)


def _captured(run: Path, staging: Path) -> Staging:
    """The final folder of the capture, which may be too large to move later: the guest gets a link to it."""
    try:
        staged = Staging(staging)
    except OSError as error:
        raise EngineError(f"{staging} cannot take the capture: {reason(error)}") from None
    (run / CAPTURE).symlink_to((staged.path / CAPTURE).absolute())
    return staged


def _image(plan: Plan, choice: Choice) -> image.Image:
    """The image with the congestion controls of all flows and the ticks of the hosts, which share one kernel."""
    ticks = {stack.hz for stack in plan.content.stacks} or {recipes.DEFAULT_HZ}
    asked, possible = (", ".join(map(str, sorted(hz))) for hz in (ticks, recipes.HZ))
    if len(ticks) > 1:
        raise PlanError(
            f"the kernel engine cannot run this: hz of the stacks are {asked}: all hosts are in one kernel; use one"
        )
    if not ticks <= set(recipes.HZ):
        raise PlanError(f"the kernel engine cannot run this: hz of a stack is {asked}: expected one of {possible}")
    one = ticks.pop()
    if choice.hz not in (None, one):
        raise PlanError(f"the kernel engine cannot run this: hz of the stacks is {one}: expected {choice.hz}")
    return image.find(choice, variants={rule.name for rule in plan.content.rules}, hz=one)


def refuse_unsupported(program: Path, plan: Path) -> None:
    """Lets the guest's program check the plan; PlanError with its sentence if it cannot run."""
    checked = subprocess.run([program, "check", plan], capture_output=True, text=True, check=False)
    if checked.returncode:
        raise PlanError(checked.stderr.strip() or f"{program} refused the plan without a word")


def memory(plan: types.Plan) -> str:
    """The guest's memory in the syntax of `mem=`: as much as its buffers can hold; only what is used is allocated."""
    buffers = sum(
        max(plan.stacks[flow.src_stack].tcp_wmem[2], plan.stacks[flow.dst_stack].tcp_rmem[2]) for flow in plan.flows
    )
    running = programs.MEMORY_MIB * sum(1 for _ in programs.commands(plan))
    return f"{min(1024 + running + 2 * buffers // 2**20, 3584)}M"


def boot(program: Path, kernel: Path, directory: Path, watched: Watch, *, room: str, seed: int) -> None:
    """Boots a guest with `room` of memory and waits for its end. Raises GuestFailed if it leaves no result."""
    with processor.reserved() as own:
        with processor.only(own):
            guest = subprocess.Popen(
                [program, "host", kernel, room],
                cwd=directory,
                env={"DAYBREAK_SEED": str(seed), "TMPDIR": workplace.memory_directory()},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        assert guest.stdin and guest.stdout and guest.stderr
        try:
            _listen(guest.stdout, guest.stdin, watched)
        finally:
            # The guest lives as long as this end is open.
            guest.stdin.close()
            guest.wait()
            complaint = guest.stderr.read().decode(errors="replace").strip()
            guest.stdout.close()
            guest.stderr.close()
    if not watched.finished:
        raise watched.failure(complaint, guest.returncode)


def _listen(console: Any, questions: Any, watched: Watch) -> None:
    """Reads the console to its end; when the guest hangs, asks which program runs, and raises."""
    os.set_blocking(console.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(console, selectors.EVENT_READ)
        rest = b""
        while True:
            if selector.select(_LOOK_S):
                read_now = console.read(1 << 16)
                if read_now == b"":
                    return
                *lines, rest = (rest + (read_now or b"")).split(b"\n")
                for line in lines:
                    watched.on_line(line.decode(errors="replace").rstrip())
            if watched.stands_still() and not watched.asked:
                watched.asked = True
                questions.write(b"?")
                questions.flush()
            watched.look()


def program(plan: Plan | None = None, choice: Choice = USUAL) -> str:
    """Identifies the kernel's version and image, the one that the plan uses or else the usual one of the choice, and
    the guest's program with its switch. Raises PlanError for a plan that no image can run."""
    if plan:
        kernel = _image(plan, choice)
    else:
        found = image.fitting(choice)
        kernel = next((one for one in found if choice.hz in (None, one.hz)), None) or image.find(choice)
    guest = workplace.guest_program()
    files = tuple((file, file.stat().st_mtime_ns) for file in (guest, workplace.switch_library(guest)))
    named = f"Linux {kernel.source_version}{_apart(kernel)}, image {kernel.digest[:8]}"
    return f"{named}, guest {_digest(files)}"


@cache
def _digest(files: tuple[tuple[Path, int], ...]) -> str:
    """A digest of files, each with the time of its last change."""
    return hashlib.sha256(b"".join(file.read_bytes() for file, _ in files)).hexdigest()[:8]


def _apart(kernel: image.Image) -> str:
    """Describes how the image differs from a plain one."""
    parts = [f"{kernel.hz} ticks"] if kernel.hz != recipes.DEFAULT_HZ else []
    parts += ["nothing under net/ edited"] if kernel.pure else []
    parts += ["options of a user"] if kernel.users_config else []
    parts += [f"modules of a user: {' '.join(kernel.users_modules)}"] if kernel.users_modules else []
    return f" ({', '.join(parts)})" if parts else ""


@dataclass
class Watch:
    """The guest's console output so far."""

    plan: Plan | None
    progress: OnProgress | None
    dilation: int = 1
    finished: bool = False
    error: str | None = None
    now_ns: int = -1
    packets: int = 0
    complete: int = 0
    asked: bool = False
    spinning: str | None = None
    moved: float = field(default_factory=time.monotonic)
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))

    def on_line(self, line: str) -> None:
        """Processes a line of the console: "@" is progress, "!" an error, "?" the running program, "." the end."""
        if line.startswith("@ "):
            now_ns, self.packets, self.complete = (int(word) for word in line.split()[1:])
            if now_ns > self.now_ns:
                self.now_ns, self.moved = now_ns, time.monotonic()
        elif line.startswith("! "):
            self.error = line[2:]
        elif line.startswith("?"):
            self.spinning = line[1:].strip()
        elif line == ".":
            self.finished = True
        elif line:
            self.tail.append(line)

    def look(self) -> None:
        """Reports the progress; raises when the guest hangs."""
        if self.stands_still() and (self.spinning is not None or self._still_s() > PATIENCE_S + _ANSWER_S):
            # The console has the time of some packets, and where programs run each 10 ms.
            at = "" if self.now_ns < 0 else f", at {self.now_ns / 1e9:.6f} s or later"
            if self.spinning:
                raise GuestFailed(f"{self.spinning} ran for {PATIENCE_S:.0f} s and let no time pass{at}")
            raise GuestFailed(f"the guest's virtual time stood still for {PATIENCE_S:.0f} s{at}{self._said()}")
        if self.progress and self.plan:
            plan = self.plan.content
            limited = sum(1 for flow in plan.flows if is_limited(flow.application))
            now_ps, end_ps = max(self.now_ns, 0) * 1000 // self.dilation, plan.end_ps // self.dilation
            self.progress(Progress(now_ps, end_ps, self.packets, self.complete, limited))

    def stands_still(self) -> bool:
        """Whether virtual time has not advanced for too long."""
        return self._still_s() > PATIENCE_S

    def _still_s(self) -> float:
        return time.monotonic() - self.moved

    def failure(self, complaint: str, status: int) -> Exception:
        """The exception that explains why there is no result."""
        if self.error and self.error.startswith("the kernel engine cannot run this"):
            return PlanError(self.error)
        if self.error and self.error.startswith(("the client of flow", "the server of flow")):
            return ProgramFailed(self.error)
        if self.error:
            return GuestFailed(f"the guest gave up: {self.error}")
        return GuestFailed(f"the guest ended with status {status} and no result{self._said(complaint)}")

    def _said(self, complaint: str = "") -> str:
        lines = [*self.tail, *complaint.splitlines()]
        return "; its console's last lines: " + " | ".join(lines) if lines else "; its console is empty"
