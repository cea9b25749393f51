"""Numbers that remember how they were written: as a version 6.10 is not 6.1."""

from __future__ import annotations

from typing import Self


class Written(float):
    """A number with its text."""

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


def version(value: object) -> object:
    """A version as text, as far as it is known how it was written. Raises ValueError."""
    if isinstance(value, Written):
        return value.text
    if isinstance(value, float):
        raise ValueError(f'expected a text in quotes, such as "{value}"')
    return value
