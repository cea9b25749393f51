"""Several kernels beside each other: which dialogues each of them plays otherwise, mechanism by mechanism.

found = play(find(), ["6.1", "6.12"])
for row in found.rows(): print(row)
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daybreak.errors import UsageError

from . import dialogues, image
from .choice import Choice
from .dialogues import Kind, Verdict

_SENTENCE_END = re.compile(r"(?<=\.)\s")


@dataclass(frozen=True)
class Matrix:
    """What each kernel made of each dialogue."""

    names: tuple[str, ...]
    """The kernels, as they were asked for."""
    versions: tuple[str, ...]
    """Of their sources."""
    verdicts: tuple[dict[str, Verdict], ...]
    """By dialogue, a kernel after the other."""
    mechanisms: dict[str, str]
    """What each dialogue shows, in the first sentence of its file."""

    def differing(self) -> list[str]:
        """The dialogues with which not all kernels agree, in the order of their names."""
        return [name for name in self.verdicts[0] if any(not by[name].is_good for by in self.verdicts)]

    def rows(self) -> list[tuple[str, ...]]:
        """A line a dialogue with which not all kernels agree: its name, the mechanism, and a cell a kernel."""
        return [(name, self.mechanisms[name], *(_cell(by[name]) for by in self.verdicts)) for name in self.differing()]

    def counts(self, name: str) -> dict[Kind, int]:
        """How many dialogues have each verdict of a kernel."""
        return dict(Counter(verdict.kind for verdict in self.verdicts[self.names.index(name)].values()))

    def document(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {
            "kernels": dict(zip(self.names, self.versions, strict=True)),
            "dialogues": [
                {
                    "name": name,
                    "mechanism": self.mechanisms[name],
                    "verdicts": {
                        kernel: {"verdict": by[name].kind, "line": by[name].line, "problem": by[name].problem}
                        for kernel, by in zip(self.names, self.verdicts, strict=True)
                    },
                }
                for name in self.verdicts[0]
            ],
        }


def play(files: Sequence[Path], kernels: Sequence[str], progress: Callable[[int, int], None] | None = None) -> Matrix:
    """Plays the files with each of the kernels. Raises UsageError, UnknownName, NoImage, GuestFailed."""
    if len(set(kernels)) < max(2, len(kernels)):
        raise UsageError(f"kernels: {','.join(kernels)}: expected two different ones or more")
    choices = [Choice.parse(name) for name in kernels]
    versions = tuple(image.find(choice).source_version for choice in choices)
    found: list[dict[str, Verdict]] = []

    def played(done: int, of: int) -> None:
        if progress:
            progress(len(found) * of + done, len(choices) * of)

    for choice in choices:
        found.append({verdict.name: verdict for verdict in dialogues.play(files, played, choice, all_versions=True)})
    return Matrix(tuple(kernels), versions, tuple(found), {file.stem: mechanism(file.read_text()) for file in files})


def mechanism(text: str) -> str:
    """The first sentence of the comment with which a dialogue begins."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return _SENTENCE_END.split(" ".join(line.removeprefix("#").strip() for line in lines))[0]


def _cell(verdict: Verdict) -> str:
    at = f" at line {verdict.line}" if verdict.line else ""
    return f"{verdict.kind}{at}" + (f": {verdict.problem}" if verdict.problem else "")
