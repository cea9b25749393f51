"""Compares versions of Linux: "6.12.117" belongs to the series 6.12, which comes after 6.9."""

from __future__ import annotations

import re

_VERSION = re.compile(r"\d+(\.\d+)*")
_SERIES = re.compile(r"\d+\.\d+")

Numbers = tuple[int, ...]


def numbers(version: str) -> Numbers:
    """The numbers at the start of a version, which order it: (6, 12, 117). None of them where it starts with none."""
    found = _VERSION.match(version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def series(version: str) -> str:
    """The series of a version: "6.12" of "6.12.117-rc1"."""
    return ".".join(str(part) for part in numbers(version)[:2])


def is_series(text: str) -> bool:
    """Whether `text` is two numbers: 6.12."""
    return _SERIES.fullmatch(text) is not None


def is_of(version: str, asked: str) -> bool:
    """Whether `version` ("6.1.55") is the one that was asked for or of its series ("6.1"): whole numbers count."""
    wanted = numbers(asked)
    return numbers(version)[: len(wanted)] == wanted
