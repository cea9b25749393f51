"""Plays dialogues with real Linux: the files that TCP's tests play with the model, in one guest per tick rate.

    for verdict in play(find()): print(verdict.name, verdict.kind)

The format is described in crates/tcp/tests/dialogues/README.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from daybreak.errors import DaybreakError

from . import image, workplace
from . import recipe as recipes
from .choice import USUAL, Choice
from .run import Watch, boot
from .versions import series

MEMORY = "256M"
SUFFIX = ".dialogue"
_IN_A_WORKING_COPY = Path("crates/tcp/tests/dialogues")
# The guest's random numbers (initial sequence numbers, timestamps) are no part of a dialogue.
_SEED = 1
_LINUX = re.compile(r"^config linux (\d+\.\d+(?:[ \t]+\d+\.\d+)*)\s*$", re.MULTILINE)
_TICK = re.compile(r"^config jiffy (\d+)ms\s*$", re.MULTILINE)

Kind = Literal["agrees", "differs", "does not apply", "unreadable"]


class NoDialogue(DaybreakError):
    """A dialogue's file does not exist or has another suffix."""


@dataclass(frozen=True)
class Verdict:
    """The result of one dialogue."""

    name: str
    kind: Kind
    line: int | None
    """Line at which the kernel differed, or that cannot be parsed."""
    problem: str | None
    """What was expected and what the kernel sent, or why the dialogue does not apply."""

    @property
    def is_good(self) -> bool:
        """False if the kernel differed, or the file is empty."""
        return self.kind in ("agrees", "does not apply")


def find() -> list[Path]:
    """The dialogues of the working copy that this package is in."""
    here = Path(__file__).resolve()
    for folder in here.parents:
        if found := sorted((folder / _IN_A_WORKING_COPY).glob(f"*{SUFFIX}")):
            return found
    raise NoDialogue(f"{_IN_A_WORKING_COPY} is not there: name the dialogues to play")


def play(
    files: Sequence[Path],
    progress: Callable[[int, int], None] | None = None,
    choice: Choice = USUAL,
    *,
    all_versions: bool = False,
) -> list[Verdict]:
    """Plays each file from a fresh start; verdicts in the order of the names. Dialogues with another tick than the
    default (`config jiffy`) are played with an image of the choice that has it, if there is one. Those for other
    versions of Linux (`config linux`) do not apply, unless `all_versions` is set. Raises GuestFailed for a crash."""
    texts = {file.stem: _read(file) for file in files}
    if len(texts) < len(files):
        raise NoDialogue("two of the dialogues have the same name: play them one after the other")
    fitting = image.fitting(choice)
    built = {one.hz for one in fitting}
    verdicts: list[Verdict] = []
    for name, text in [] if all_versions else list(texts.items()):
        of = _LINUX.search(text)
        if of and series(fitting[0].source_version) not in (versions := of[1].split()):
            del texts[name]
            verdicts.append(Verdict(name, "does not apply", None, f"it is for Linux {' and '.join(versions)}"))
    by_hz: dict[int, dict[str, str]] = {}
    for name, text in texts.items():
        hz = choice.hz or _hz(text)
        by_hz.setdefault(hz if hz in built else recipes.DEFAULT_HZ, {})[name] = text
    others = len(verdicts)

    def played(done: int) -> None:
        if progress:
            progress(len(verdicts) - others + done, len(texts))

    for hz, group in by_hz.items():
        verdicts += _play(group, image.find(choice, hz=hz).program, played)
    return sorted(verdicts, key=lambda verdict: verdict.name)


def _hz(text: str) -> int:
    """Ticks per second that a dialogue requires."""
    tick = _TICK.search(text)
    return recipes.DEFAULT_HZ if tick is None or tick[1] == "0" else 1_000 // int(tick[1])


def _play(texts: dict[str, str], kernel: Path, progress: Callable[[int], None]) -> list[Verdict]:
    program = workplace.guest_program()
    with workplace.open_run() as run:
        (run / "dialogues").mkdir()
        for name, text in texts.items():
            (run / "dialogues" / (name + SUFFIX)).write_text(text)
        (run / "daybreak-guest").symlink_to(program)
        boot(program, kernel, run, _Watch(None, None, played=progress), room=MEMORY, seed=_SEED)
        verdicts = json.loads((run / "verdicts").read_text())
    return [Verdict(said["name"], said["verdict"], said["line"], said["problem"]) for said in verdicts]


def _read(file: Path) -> str:
    if file.suffix != SUFFIX:
        raise NoDialogue(f"{file} is not a dialogue: expected a name that ends in {SUFFIX}")
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise NoDialogue(f"{file} cannot be read: {error}") from error


@dataclass
class _Watch(Watch):
    played: Callable[[int], None] | None = None

    def look(self) -> None:
        super().look()
        if self.played:
            self.played(self.complete)
