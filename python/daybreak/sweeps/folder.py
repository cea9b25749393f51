"""Claims the folder that a study or a comparison writes its results to."""

from __future__ import annotations

from pathlib import Path

from daybreak.errors import OutputError, reason

_MARK = ".daybreak"


def claim(folder: Path, purpose: str, *results: str) -> None:
    """Makes `folder` the one of this `purpose`, such as "study migration". Raises OutputError.

    It may be new or empty, claimed before for this purpose, or hold one of the files `results`, which earlier versions
    wrote. Any other folder might hold the user's own files under the names that are written here.
    """
    mark = folder / _MARK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if mark.is_file():
            if mark.read_text(encoding="utf-8").strip() != purpose:
                raise OutputError(f"{folder} holds the results of another command: choose another folder")
            return
        is_ours = any((folder / result).is_file() for result in results)
        if not is_ours and any(folder.iterdir()):
            raise OutputError(f"{folder} holds files that are no results of this command: choose another folder")
        mark.write_text(f"{purpose}\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {reason(error)}") from None


def purpose_of(folder: Path) -> str | None:
    """The purpose a folder was claimed for; None if it was not claimed."""
    try:
        return (folder / _MARK).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
