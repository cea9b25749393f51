"""Folders that keep what a run showed."""

import polars as pl
import pytest

from daybreak.runs import kept

TABLES = {"flows": pl.DataFrame({"flow": [0]})}


def test_the_second_to_finish_finds_the_first_ones_folder(tmp_path):
    place = tmp_path / kept.name(1, "plan", "program")
    kept.put(place, TABLES)
    kept.put(place, {"flows": pl.DataFrame({"flow": [7]})})
    assert pl.read_parquet(place / "flows.parquet").equals(TABLES["flows"])
    assert list(tmp_path.iterdir()) == [place]


def test_a_folder_that_cannot_be_put_in_place_is_an_error(tmp_path):
    place = tmp_path / "1-abc"
    place.write_text("a file")
    with pytest.raises(OSError, match="1-abc"):
        kept.put(place, TABLES)
    assert list(tmp_path.iterdir()) == [place]


def test_nothing_is_left_of_a_folder_that_cannot_be_filled(tmp_path):
    with pytest.raises(OSError, match="where"):
        kept.put(tmp_path / "1-abc", TABLES | {"no/where": TABLES["flows"]})
    assert list(tmp_path.iterdir()) == []
