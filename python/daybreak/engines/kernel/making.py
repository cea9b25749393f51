"""One build of a kernel: unpack, edit, configure, compile, boot once. It leaves a complete image, or only a log.

With the objects of an image that has all but the user's congestion modules, these are compiled and linked with them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from daybreak.runs.staging import remove_tree

from . import kept
from . import source as sources
from .errors import BuildError
from .recipe import MODULE_HOME, Recipe
from .source import Source
from .versions import series

META = "image.json"
LOG = "build.log"
OBJECT = re.compile(r"^\s+CC\s+\S+")
MAKE_LINE = re.compile(r"make(\[\d+\])?:")
CAUSE = re.compile(r"\berror:|No rule to make target|undefined reference|multiple definition", re.IGNORECASE)
REGISTERED_TWICE = re.compile(r"TCP: (\S+) already registered")
MODULE_PATH = re.compile(rf"\S*{MODULE_HOME}/")
BOOT_LIMIT_S = 60
BOOT_MEMORY = "128M"
VARIANTS = "congestion controls:"
# Environment variables of other kernel builds, which would change what is built here.
FOREIGN_VARIABLES = ("ARCH", "CROSS_COMPILE", "CFLAGS", "LDFLAGS", "SUBARCH", "O")
FOREIGN_PREFIXES = ("KBUILD", "KCONFIG", "MAKE")


@dataclass(frozen=True)
class Progress:
    """Progress of a build: `done` of `total` objects in `stage` ("waiting", "unpacking", "compiling", "checking")."""

    stage: str
    done: int
    total: int


OnBuildProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Making:
    """What to build (`recipe` on `source`, with room for a large CPU state or not), where, and the callback.

    `base` is the image whose objects are taken, which has all of the recipe but the user's modules. `trial` are modules
    that another image will have: they are compiled first, so that an error in one is not found minutes later.
    """

    recipe: Recipe
    source: Source
    large_cpu_state: bool
    target: Path
    report: OnBuildProgress
    jobs: int
    base: Path | None = None
    trial: tuple[Path, ...] = ()

    def run(self) -> None:
        """Make `target`. It appears by a rename at the very end; a failure leaves `<target>.failed.log`."""
        # Objects are good only where they were made.
        work = folder_of_build(self.base or self.target)
        remove_tree(work)  # left by a build that was killed; the lock says it is not running
        tree, objects, result = work / "source", work / "objects", work / "result"
        failed_log = self.target.with_name(f"{self.target.name}.failed.log")
        started = time.monotonic()
        # At the latest when the program ends, so that signals leave nothing behind whenever they come.
        remove_work = weakref.finalize(self, remove_tree, work)
        try:
            for path in (tree, objects, result):
                path.mkdir(parents=True)
            self._unpack(work, tree)
            count = self._compile(tree, objects, result / LOG)
            shutil.copy2(objects / "linux", result / "linux")
            shutil.copy2(objects / ".config", result / "config")
            self.report(Progress("checking", count, count))
            variants = self._variants(_boot_once(result / "linux", result / LOG))
            if not self.recipe.users_modules:
                self.report(Progress("keeping the objects", count, count))
                kept.keep(work, result / kept.ARCHIVE)
            self._describe(objects, result, count, time.monotonic() - started, variants)
            shutil.rmtree(self.target, ignore_errors=True)
            result.rename(self.target)
            failed_log.unlink(missing_ok=True)
        except BuildError as error:
            if not (result / LOG).is_file():
                raise
            shutil.copyfile(result / LOG, failed_log)
            raise BuildError(f"{error}; the whole output is in {failed_log}", str(failed_log)) from None
        finally:
            remove_work()

    @property
    def _expected_objects(self) -> int:
        return len(self.recipe.users_modules) if self.base else self.recipe.expected_objects

    def _unpack(self, work: Path, tree: Path) -> None:
        """The source with all edits and modules; the objects as well where those of an image are taken."""
        self.report(Progress("unpacking", 0, self._expected_objects))
        if self.base:
            kept.restore(self.base / kept.ARCHIVE, work)
            self.recipe.add_modules(tree)
            return
        sources.unpack(self.source, self.recipe, tree)
        version = sources.version_in(tree)
        if series(version) != series(self.recipe.version):
            found = f"Linux {version}" if version else "without a version"
            raise BuildError(f"{str(self.source.path)!r} is {found} inside: expected {self.recipe.version}")
        self.recipe.apply(tree, self.large_cpu_state)

    def _compile(self, tree: Path, objects: Path, log: Path) -> int:
        """Configure and compile; how many objects were compiled."""
        fragment = objects / "daybreak.config"
        asked = self.recipe.config(self.large_cpu_state)
        fragment.write_text(asked)
        make = ["make", "-C", str(tree), "ARCH=um", f"O={objects}"]
        environment = _environment(fragment)
        total = self._expected_objects
        count = 0

        def on_line(line: str) -> None:
            nonlocal count
            if OBJECT.match(line):
                count += 1
                self.report(Progress("compiling", count, max(count, total)))

        with log.open("w") as out:
            if not self.base:
                _follow([*make, "allnoconfig"], environment, out, lambda _: None)
            refused = _refused(asked, (objects / ".config").read_text())
            if refused:
                raise BuildError(f"Linux {self.recipe.version} does not take {', '.join(refused)}")
            self.report(Progress("compiling", 0, total))
            # What most likely fails comes first.
            for module in self.trial:
                shutil.copyfile(module, tree / MODULE_HOME / module.name)
            first = (*self.recipe.users_modules, *self.trial)
            if first:
                _follow([*make, f"-j{self.jobs}", "prepare"], environment, out, on_line)
            for module in first:
                # One job: make reaches a single object by two ways, and two at once remove each other's files.
                _follow([*make, "-j1", f"{MODULE_HOME}/{module.stem}.o"], environment, out, on_line)
            for module in self.trial:
                (tree / MODULE_HOME / module.name).unlink()
                for file in (objects / MODULE_HOME).glob(f"*{module.stem}.o*"):
                    file.unlink()
            _follow([*make, f"-j{self.jobs}", "linux"], environment, out, on_line)
        return count

    def _variants(self, console: str) -> list[str]:
        """The congestion controls of the kernel; BuildError for a module of the user's that brings none."""
        twice = REGISTERED_TWICE.search(console)
        if twice:
            name = twice[1]
            files = [module.name for module in self.recipe.users_modules if _names(module, name)]
            raise BuildError(
                f'{files[0] if files else "a congestion module"}: the kernel has a congestion control called "{name}" '
                "already; give it another name"
            )
        found = next((line for line in console.splitlines() if line.startswith(VARIANTS)), "")
        variants = found.removeprefix(VARIANTS).split()
        if not variants:
            raise BuildError("the built kernel does not say which congestion controls it has")
        for module in self.recipe.users_modules:
            if not any(_names(module, name) for name in variants):
                raise BuildError(f"{module.name}: registers no congestion control (tcp_register_congestion_control)")
        return sorted(variants)

    def _describe(self, objects: Path, result: Path, count: int, seconds: float, variants: list[str]) -> None:
        release = objects / "include/config/kernel.release"
        meta = {
            "recipe_digest": self.recipe.digest,
            "own_digest": self.recipe.own_digest,
            "source_version": release.read_text().strip() if release.is_file() else self.source.version,
            "large_cpu_state": self.large_cpu_state,
            "hz": self.recipe.hz,
            "pure": self.recipe.pure,
            "edits": self.recipe.names(self.large_cpu_state),
            "source": str(self.source.path),
            "users_config": self.recipe.users_config,
            "objects": count,
            "build_s": round(seconds, 1),
            "congestion_modules": [module.stem for module in self.recipe.modules],
            "users_modules": [module.stem for module in self.recipe.users_modules],
            "variants": variants,
        }
        (result / META).write_text(json.dumps(meta, indent=1) + "\n")


def folder_of_build(target: Path) -> Path:
    """The folder in which the image of a directory is made."""
    return target.with_name(f".{target.name}.building")


def _names(module: Path, variant: str) -> bool:
    return f'"{variant}"' in module.read_text("utf-8", "replace")


def _environment(fragment: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_PREFIXES)}
    for name in FOREIGN_VARIABLES:
        kept.pop(name, None)
    return kept | {
        "LC_ALL": "C",
        "KCONFIG_ALLCONFIG": str(fragment),
        "KBUILD_BUILD_USER": "daybreak",
        "KBUILD_BUILD_HOST": "daybreak",
        "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
        # Linking again is no other kernel: programs can read this number, and random numbers begin with it.
        "KBUILD_BUILD_VERSION": "1",
    }


def _follow(command: list[str], environment: dict[str, str], log: IO[str], on_line: Callable[[str], None]) -> None:
    """Run `command` in a process group of its own, which ends with us however we end."""
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    tail: deque[str] = deque(maxlen=400)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            log.write(line)
            tail.append(line)
            on_line(line)
        code = process.wait()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        process.stdout.close()
    if code != 0:
        raise BuildError(f"'make {command[-1]}' failed: {_blame(list(tail)) or f'exit code {code}'}")


def _blame(tail: list[str]) -> str:
    """The line that says why make failed: the first that looks like a cause, else the last that is not make's own."""
    lines = [line.strip() for line in tail if line.strip()]
    cause = next((MODULE_PATH.sub("", line) for line in lines if CAUSE.search(line)), None)
    said = [line for line in lines if not MAKE_LINE.match(line)]
    return cause or (said[-1] if said else "")


def _refused(asked: str, got: str) -> list[str]:
    """Options that were asked for and did not survive the configuration. The last word on each counts."""
    last = dict(line.strip().split("=", 1) for line in asked.splitlines() if line.startswith("CONFIG_") and "=" in line)
    last |= {line.split()[1]: "n" for line in asked.splitlines() if line.strip().endswith(" is not set")}
    have = dict(line.split("=", 1) for line in got.splitlines() if line.startswith("CONFIG_"))
    return [name for name, value in last.items() if have.get(name, "n") != value]


def _boot_once(program: Path, log: Path) -> str:
    """Boot with a shell as the init, which says what congestion controls there are; what the console said.

    The kernel must complain that it ended, with code 0.
    """
    root = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "init=/bin/sh"]
    console = ["con=null", "con0=null,fd:1"]
    script = f"mount -t proc none /proc && echo {VARIANTS} $(cat /proc/sys/net/ipv4/tcp_available_congestion_control)"
    command = [str(program), f"mem={BOOT_MEMORY}", "time-travel=inf-cpu", *root, *console, "--", "-c", f'"{script}"']
    # The panic that ends the boot aborts the process, which should leave no core file.
    without_core = ["/bin/sh", "-c", 'ulimit -c 0; exec "$@"', "sh", *command]
    try:
        done = subprocess.run(
            without_core,
            env={**os.environ, "HOME": str(program.parent)},  # the kernel keeps a directory of its instance there
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BOOT_LIMIT_S,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"the built kernel did not start a program within {BOOT_LIMIT_S} s") from None
    finally:
        shutil.rmtree(program.parent / ".uml", ignore_errors=True)
    output = done.stdout + done.stderr
    with log.open("a") as out:
        out.write(output)
    if "exitcode=0x00000000" not in output:
        last = [line for line in output.splitlines() if line.strip()][-1:] or ["no output"]
        raise BuildError(f"the built kernel does not boot here: {last[0].strip()}")
    return output
