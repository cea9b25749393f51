"""Parses a user's choice of a kernel: "6.12", "6.12@250" (ticks per second), "@250", or the digest of an image."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from ...errors import UnknownName
from . import recipe as recipes

_VERSION = re.compile(r"(?P<version>\d+(\.\d+)+)?(@(?P<hz>\d+))?")
_DIGEST = re.compile(r"[0-9a-f]{6,}")
EXPECTED = "a version such as 6.12, one with its ticks such as 6.12@250, or a digest of 'daybreak kernel list'"


@dataclass(frozen=True)
class Choice:
    """A choice of a kernel; the default one if empty."""

    version: str = ""
    """A version or its series; the recipe's default if empty."""
    hz: int | None = None
    """Ticks per second; those of the scenario's stacks if not given."""
    digest: str = ""
    """A prefix of an image's digest, which determines everything else."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a user's input. Raises UnknownName."""
        found = _VERSION.fullmatch(text)
        if text and found:
            hz = int(found["hz"]) if found["hz"] else None
            if hz is not None and hz not in recipes.HZ:
                possible = ", ".join(map(str, recipes.HZ))
                raise UnknownName(f'kernel = "{text}": {hz} ticks a second: expected one of {possible}')
            return cls(found["version"] or "", hz)
        if _DIGEST.fullmatch(text):
            return cls(digest=text)
        raise UnknownName(f'kernel = "{text}": expected {EXPECTED}')

    def command(self, default: str) -> str:
        """The command that builds such an image; `default` is the version that may be omitted."""
        version = f" --linux {self.version}" if self.version not in ("", default) else ""
        ticks = f" --hz {self.hz}" if self.hz not in (None, recipes.DEFAULT_HZ) else ""
        return f"daybreak kernel build{version}{ticks}"


USUAL = Choice()
