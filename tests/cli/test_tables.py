"""Tables fit the terminal, and nothing of them is left out."""

import io
import os

import pytest
from cli.program import daybreak
from rich.cells import cell_len
from rich.console import Console

from daybreak.cli import tables, terminal


@pytest.fixture
def printed(monkeypatch):
    def text(width, columns, rows, **options):
        out = io.StringIO()
        monkeypatch.setattr(tables, "console", lambda: Console(file=out, width=width))
        tables.print_table(columns, rows, **options)
        return [line.rstrip() for line in out.getvalue().splitlines()]

    return text


COLUMNS = ("group", "variant", *(f"number {at}" for at in range(8)))
ROWS = [("main", "cubic", *"12345678"), ("migrated", "dctcp", *"abcdefgh")]


def test_a_table_that_fits_is_one_block(printed):
    assert len(printed(200, COLUMNS, ROWS, numeric=COLUMNS[2:])) == 3


def test_one_that_does_not_has_its_labels_beside_each_block(printed):
    lines = printed(50, COLUMNS, ROWS, numeric=COLUMNS[2:])
    assert max(map(len, lines)) <= 50
    blocks = "\n".join(lines).split("\n\n")
    assert len(blocks) == 3
    assert all("main" in block and "migrated" in block and "dctcp" in block for block in blocks)
    numbers = [word for line in lines for word in line.split() if len(word) == 1]
    # Each cell and the number of each heading once.
    assert sorted(numbers) == sorted("12345678" + "abcdefgh" + "01234567")


def test_only_a_label_that_takes_half_of_the_width_is_cut_and_in_its_middle(printed):
    rows = [(f"a-name-that-goes-on-and-on-for-{end}", "cubic", *"12345678") for end in ("ever-1", "ever-2")]
    lines = printed(60, COLUMNS, rows, numeric=COLUMNS[2:])
    assert max(map(len, lines)) <= 60
    assert sum("ever-1" in line for line in lines) == sum("ever-2" in line for line in lines) == 3
    assert all("a-name" in line for line in lines if "ever" in line)


def test_wide_letters_count_as_two_columns_and_no_cut_lengthens(printed):
    name = "\u8def\u5f84" * 10
    columns, rows = ("flow", "variant", *COLUMNS[2:]), [(name, "cubic", *"12345678"), ("b", "cubic", *"12345678")]
    lines = printed(80, columns, rows, numeric=COLUMNS[2:])
    assert max(map(cell_len, lines)) <= 80
    assert tables.cut(name, 40) == name
    for width in range(12, 40):
        short = tables.cut(name, width)
        assert width - 2 <= cell_len(short) <= width and (short[0], short[-1]) == (name[0], name[-1])


def test_a_heading_may_be_wider_than_its_letters(printed):
    lines = printed(
        40, ("name", "\u8def" * 12, "\u5f84" * 12), [("a", "1", "2")], numeric=("\u8def" * 12, "\u5f84" * 12)
    )
    assert "\u8def" * 12 in "".join(lines) and "\u5f84" * 12 in "".join(lines)


def test_the_width_of_the_environment_is_that_of_tables_in_a_file():
    widths = [
        max(map(len, daybreak("list", "topologies", env=os.environ | {"COLUMNS": columns}).stdout.splitlines()))
        for columns in ("60", "", "0")
    ]
    assert widths[0] <= 60 < widths[1] == widths[2]


def test_sentences_are_wrapped_between_words_on_a_terminal_and_only_there(monkeypatch):
    def said(sentence, is_terminal):
        out = io.StringIO()
        monkeypatch.setattr(terminal, "_is_terminal", is_terminal)
        monkeypatch.setattr(terminal, "console", lambda: Console(file=out, width=40))
        terminal.say(sentence)
        return out.getvalue().splitlines()

    path = "/a/path/" + "x" * 60
    sentence = f"with few flows a percentile is the maximum, see {path} for all of them"
    assert said(sentence, is_terminal=False) == [sentence]
    lines = said(sentence, is_terminal=True)
    assert " ".join(line.strip() for line in lines) == sentence
    assert path in lines and all(len(line) <= 40 for line in lines if line != path)


def test_words_are_broken_into_lines_where_there_are_no_numbers(printed):
    lines = printed(40, ("name", "summary"), [("queue", "word " * 20)])
    assert max(map(len, lines)) <= 40 and sum(line.count("word") for line in lines) == 20


def test_what_one_has_to_type_is_never_cut(printed):
    """Keys keep to one line where the other columns leave room, and are broken where there is none."""
    rows = [("queue_threshold", "release_threshold", "must be given", "a bound " * 4, "word " * 9)]
    columns, keys = ("name", "parameter", "default", "range", "summary"), ("name", "parameter")
    lines = printed(80, columns, rows, keys=keys)
    assert max(map(len, lines)) <= 80 and sum(line.count("word") for line in lines) == 9
    assert any("queue_threshold" in line and "release_threshold" in line for line in lines)
    narrow = printed(40, columns, rows, keys=keys)
    assert max(map(len, narrow)) <= 40 and "\N{HORIZONTAL ELLIPSIS}" not in "".join(narrow)
    assert "queue_threshold" in "".join(line[:8].strip() for line in narrow)
