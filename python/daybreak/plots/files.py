"""Writes figures to files; the suffix of the file's name selects the format."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from matplotlib.figure import Figure

from daybreak.errors import OutputError, UsageError, reason
from daybreak.figures.style import FORMATS, MADE_BY, rendered

_LOOKED_AT_BYTES = 1 << 16


def write(figure: Figure, place: Path, *, force: bool = False) -> Path:
    """Writes a figure atomically as PNG, SVG or PDF, by the suffix of ``place``.

    An existing file is replaced only if Daybreak made it, or with ``force``. Raises OutputError, UsageError.
    """
    check(place, force=force)
    return put([rendered(figure, _kind(place))], place)


def check(place: Path, *, force: bool = False) -> None:
    """Raises OutputError or UsageError when `write` would refuse ``place``, before anything is drawn."""
    if _kind(place) not in FORMATS:
        known = ", ".join(f".{kind}" for kind in FORMATS)
        raise UsageError(f"{place} cannot be written: expected a name that ends in {known}")
    may_be_replaced(place, MADE_BY, "no figure of Daybreak's", force=force)


def may_be_replaced(place: Path, mark: str, what: str, *, force: bool) -> None:
    """Raises OutputError if ``place`` is a folder, a device or a pipe, or a file without our ``mark`` near its start or
    end; ``what`` names such a file in the error."""
    try:
        if place.is_dir():
            raise OutputError(f"{place} cannot be written: it is a folder")
        if place.exists() and not place.is_file():
            raise OutputError(f"{place} cannot be written: it is no regular file")
        if place.exists() and not force and not _has(place, mark.encode()):
            raise OutputError(f"{place} exists and is {what}: give another name, or --force")
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {reason(error)}") from None


def _has(place: Path, mark: bytes) -> bool:
    """Whether the mark is in the first or last bytes of a file: a PDF names its maker at the end."""
    with place.open("rb") as file:
        if mark in file.read(_LOOKED_AT_BYTES):
            return True
        file.seek(max(0, place.stat().st_size - _LOOKED_AT_BYTES))
        return mark in file.read(_LOOKED_AT_BYTES)


def put(pieces: Iterable[bytes], place: Path) -> Path:
    """Writes a file from its pieces, atomically. Raises OutputError."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}.", delete=False) as file:
            draft = Path(file.name)
            try:
                file.writelines(pieces)
                file.close()
                draft.chmod(0o644)
                draft.replace(place)
            finally:
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {reason(error)}") from None
    return place


def _kind(place: Path) -> str:
    return place.suffix.removeprefix(".").lower()
