"""What a library says of its refusal, as the end of a sentence of ours."""

import pytest

from daybreak.errors import reason


@pytest.mark.parametrize(
    ("said", "end"),
    [
        ("No data left in file", "no data left in file"), ("EOF: reading array data", "EOF: reading array data"),
        ("Cannot parse header: \x00\x1b[31m", "cannot parse header: \\\\x00\\\\x1b[31m"),
        ("first line\nsecond", "first line"), ("", ""), ("A", "a"),
    ],
)  # fmt: skip
def test_a_reason_keeps_abbreviations_and_has_nothing_that_a_terminal_obeys(said, end):
    assert reason(ValueError(said)) == end.replace("\\\\", "\\")
