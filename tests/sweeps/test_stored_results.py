"""Results of sweeps that are made by hand: their summary to the last column, and folders that hold none."""

import json
from pathlib import Path

import polars as pl
import pytest

from daybreak.errors import OutputError
from daybreak.sweeps import AxisOf, Results, is_sweep, read_results
from daybreak.sweeps.folder import claim, purpose_of
from daybreak.sweeps.results import SUMMARY

KINDS = {"point": pl.Int64, "seed": pl.Int64, "size": pl.String, "group": pl.String}


def flows(*rows):
    """Rows of point, seed, value of the axis, group, bytes, fct in ns, retransmissions; the ideal time is 1 s."""
    names = ("point", "seed", "size", "group", "bytes", "fct_ns", "retransmits")
    numbers = dict.fromkeys(("bytes", "fct_ns", "retransmits"), pl.Int64)
    table = pl.DataFrame([dict(zip(names, row, strict=True)) for row in rows], schema=KINDS | numbers)
    ideal = pl.when(pl.col("bytes").is_not_null()).then(10**9)
    return table.with_columns(start_ns=pl.lit(0), end_ns="fct_ns", rtos=pl.lit(1), ideal_fct_ns=ideal)


S = 10**9
TABLE = flows(
    (1, 1, "big", "b", 10**9, 2 * S, 3), (1, 2, "big", "b", 10**9, 4 * S, 5),
    (0, 1, "small", "b", 10**9, S, 0), (0, 2, "small", "b", 10**9, None, 0),
    (0, 3, "small", "b", 10**9, 2 * S, 0),
    (0, 1, "small", "a", None, None, 7), (0, 2, "small", "a", None, None, 7),
)  # fmt: skip
RESULTS = Results(Path("some/where"), {}, (AxisOf("size", ("small", "big")),), TABLE)


def test_a_summary_has_a_row_for_each_point_and_group_with_intervals():
    found = RESULTS.summary()
    assert found.columns == [
        "size", "group", "runs", "complete", "limited",
        *(f"{name}{end}" for name in SUMMARY for end in ("", " low", " high")),
    ]  # fmt: skip
    big, small, endless = found.rows(named=True)
    # In the order of the flows. t(1) is 12.706, and half of the range is the standard error.
    assert (big["size"], big["group"], big["runs"], big["complete"], big["limited"]) == ("big", "b", 2, 2, 2)
    assert (big["fct.mean"], big["retransmits"], big["rtos"]) == (3.0, 4.0, 1.0)
    assert big["fct.mean low"] == pytest.approx(3 - 12.7062, abs=1e-4)
    assert big["fct.mean high"] == pytest.approx(3 + 12.7062, abs=1e-4)
    assert (big["fct.p99"], big["slowdown.p99"], big["goodput.mean"]) == (3.0, 3.0, 3.0)
    # One flow that did not end leaves nothing known of completion times, though two others have.
    assert (small["size"], small["group"], small["runs"], small["complete"], small["limited"]) == (
        "small",
        "b",
        3,
        2,
        3,
    )
    assert {small[f"{name}{end}"] for name in ("fct.mean", "fct.p99") for end in ("", " low", " high")} == {None}
    assert (small["retransmits"], small["retransmits low"], small["rtos high"]) == (0.0, 0.0, 1.0)
    # Flows without a size are none that could be complete.
    assert (endless["group"], endless["runs"], endless["complete"], endless["limited"]) == ("a", 2, 0, 0)
    assert (endless["retransmits"], endless["fct.mean"]) == (7.0, None)


def test_a_measure_over_the_runs_of_some_keys():
    found = RESULTS.over_runs("retransmits", ["size"])
    # Of each run the mean over its flows: 3 and 5, and twice 3.5 and once nothing.
    assert found.select("size", "mean", "runs").rows() == [("big", 4.0, 2), ("small", pytest.approx(7 / 3), 3)]
    assert found.columns == ["size", "mean", "low", "high", "runs"]
    assert RESULTS.over_runs("fct.mean", ["size"])["mean"].to_list() == [3.0, None]
    only = RESULTS.over_runs("fct.max", ["size"], TABLE.filter(seed=1, group="b"))
    assert only.rows() == [("big", 2.0, None, None, 1), ("small", 1.0, None, None, 1)]
    assert RESULTS.name == "where"


def test_a_value_of_an_axis_may_be_none():
    table = TABLE.with_columns(size=pl.when(pl.col("size") == "big").then("size"))
    found = Results(Path(), {}, RESULTS.axes, table).summary()
    assert found.select("size", "group", "retransmits").rows() == [
        ("big", "b", 4.0),
        (None, "b", 0.0),
        (None, "a", 7.0),
    ]


@pytest.fixture
def swept(tmp_path):
    """A folder with the table, and a function that writes its description."""
    (tmp_path / "flows").mkdir()
    TABLE.write_parquet(tmp_path / "flows" / "part-00000.parquet")

    def write(document):
        (tmp_path / "sweep.json").write_text(document if isinstance(document, str) else json.dumps(document))
        return tmp_path

    return write


def test_results_are_read_with_their_axes(swept):
    axis = {"field": "flows.0.size", "values": ["small", "big"]}
    place = swept({"grid": {"axes": {"size": axis}}, "more": 1})
    found = read_results(str(place))
    assert found.axes == (AxisOf("size", ("small", "big")),) and found.document["more"] == 1
    assert found.flows.equals(TABLE) and found.directory == place
    # Named points are values too, and a sweep may have no axis.
    named = read_results(swept({"grid": {"axes": {"size": {"points": {"big": {}, "small": {}}}}}}))
    assert named.axes == (AxisOf("size", ("big", "small")),)
    assert read_results(swept({"grid": {}})).axes == ()


def test_quantities_and_numbers_of_an_axis_have_their_column(swept):
    def axis(values, column):
        place = swept({"grid": {"axes": {"x": {"field": "f", "values": values}}}})
        table = TABLE.with_columns(pl.Series("x", [column[row % len(column)] for row in range(TABLE.height)]))
        table.write_parquet(place / "flows" / "part-00000.parquet")
        return read_results(place).axes[0]

    assert axis(["1 MB", "2 MB"], ["1 MB", "2 MB"]) == AxisOf("x", ("1 MB", "2 MB"), "x_bytes", (1e6, 2e6))
    assert axis([2, 3], [2, 3]) == AxisOf("x", (2, 3), "x", (2.0, 3.0))
    assert axis([0.5, 1], [0.5, 1.0]) == AxisOf("x", (0.5, 1), "x", (0.5, 1.0))
    assert axis(["1 %", 0.5], ["1 %", "0.5"]) == AxisOf("x", ("1 %", "0.5"), "x_share", (0.01, 0.5))
    assert axis([{"a": 1}, "y"], ['{"a": 1}', "y"]) == AxisOf("x", ('{"a": 1}', "y"))


AXES = {"size": {"field": "f", "values": ["small"]}}


@pytest.mark.parametrize(("document", "sentence"), [
    ({"grid": {"keep": ["links"]}}, '{} has no table of flows: set keep = ["flows"] in the grid'),
    ({"grid": {"axes": AXES}}, "{} is of an earlier version of Daybreak: run the sweep again"),
    ({}, "{} cannot be read as a sweep: 'grid'"),
    ("[]", "{} cannot be read as a sweep: list indices must be integers or slices, not str"),
    ({"grid": []}, "{} cannot be read as a sweep: 'list' object has no attribute 'get'"),
    ({"grid": {"axes": {"size": 3}}}, "{} cannot be read as a sweep: 'int' object has no attribute 'get'"),
    ({"grid": {"axes": {"x": {"field": "f", "values": [1]}}}}, "{} cannot be read as a sweep: 'x'"),
])  # fmt: skip
def test_what_is_no_sweep_is_one_sentence(swept, document, sentence):
    place = swept(document)
    with pytest.raises(OutputError) as caught:
        read_results(place)
    assert str(caught.value) == sentence.format(place)


def test_a_sweep_without_its_table_is_not_finished(swept):
    place = swept({"grid": {}})
    (place / "flows" / "part-00000.parquet").rename(place / "flows" / "part.old")
    with pytest.raises(OutputError) as caught:
        read_results(place)
    assert str(caught.value) == f"{place} has no finished sweep: the same command as before goes on with it"
    TABLE.drop("ideal_fct_ns").write_parquet(place / "flows" / "part-00000.parquet")
    with pytest.raises(OutputError, match="is of an earlier version of Daybreak"):
        read_results(place)
    (place / "sweep.json").unlink()
    with pytest.raises(OutputError, match=r"cannot be read as a sweep: no such file or directory$"):
        read_results(place)


def test_a_folder_is_claimed_for_one_purpose(tmp_path):
    place = tmp_path / "deep" / "er"
    assert purpose_of(place) is None and not is_sweep(place)
    claim(place, "sweep")
    claim(place, "sweep")
    assert purpose_of(place) == "sweep" and is_sweep(place)
    assert (place / ".daybreak").read_text(encoding="utf-8") == "sweep\n"
    with pytest.raises(OutputError) as caught:
        claim(place, "study migration")
    assert str(caught.value) == f"{place} holds the results of another command: choose another folder"
    (place / ".daybreak").write_bytes(b"\xff\xfe")
    assert purpose_of(place) is None


def test_a_folder_with_other_files_is_claimed_only_with_results_of_before(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "board.json").mkdir()
    for results in ((), ("other.json",), ("board.json",)):
        with pytest.raises(OutputError) as caught:
            claim(tmp_path, "study", *results)
        assert str(caught.value) == f"{tmp_path} holds files that are no results of this command: choose another folder"
    claim(tmp_path, "study", "other.json", "notes.txt")
    assert purpose_of(tmp_path) == "study"
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError) as caught:
        claim(tmp_path / "file" / "x", "study")
    assert str(caught.value) == f"{tmp_path}/file/x cannot be written: not a directory"
