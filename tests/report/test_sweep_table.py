"""The table of a sweep: a row for each point and group, in one unit, with intervals where there are several runs."""

import re
from pathlib import Path

import polars as pl
import pytest

from daybreak.report import sweep
from daybreak.sweeps.results import AxisOf, Results

MS = 1_000_000


def results(*rows, axes=("size",), **document):
    """A sweep with these flows: point, seed, group, bytes and FCT in ms."""
    names = dict.fromkeys(("point", "seed", "bytes", "fct_ns", "start_ns", "end_ns", "ideal_fct_ns", "delivered_bytes"))
    schema = dict.fromkeys([*names, "retransmits", "rtos", "run_ended_ns"], pl.Int64)
    schema |= dict.fromkeys([*axes, "group", "variant"], pl.String)
    flows = [
        {
            "point": point, "seed": seed, "group": group, "variant": "cubic", "bytes": size,
            "start_ns": 0, "run_ended_ns": 100 * MS,
            "end_ns": fct and round(fct * MS), "fct_ns": fct and round(fct * MS), "ideal_fct_ns": size and MS,
            "delivered_bytes": size or 125 * MS, "retransmits": seed, "rtos": 0,
        } | {axis: f"{axis} {point}" for axis in axes}
        for point, seed, group, size, fct in rows
    ]  # fmt: skip
    values = tuple(dict.fromkeys(f"{{}} {row[0]}" for row in rows))
    known = tuple(AxisOf(axis, tuple(one.format(axis) for one in values)) for axis in axes)
    return Results(Path("sweep"), document, known, pl.DataFrame(flows, schema=schema))


def test_a_point_has_its_means_with_half_of_their_interval_in_one_unit():
    some = results((0, 1, "g", 1000, 2.0), (0, 2, "g", 1000, 4.0), (1, 1, "g", 1000, 1500.0), (1, 2, "g", 1000, 1500.0))
    headings, cells, labels = sweep.columns(some, 10)
    assert (headings, labels) == (
        ("size", "runs", "complete", "FCT [ms]", "FCT p99 [ms]", "slowdown p99", "resent", "RTOs"), 1,
    )  # fmt: skip
    # Of 2 and 4, and of 1 and 2 segments: t(1) = 12.706 times half of the difference. What is equal has no interval.
    three = "3.000 ± 13"
    assert cells == [
        ("size 0", "2", "2 of 2", three, three, three, "1.500 ± 6.4", "0"),
        ("size 1", "2", "2 of 2", "1500", "1500", "1500", "1.500 ± 6.4", "0"),
    ]


def test_groups_have_a_column_where_there_are_several_and_rates_where_flows_have_no_end():
    some = results((0, 1, "short", 1000, 2.0), (0, 1, "late", 1000, None), (0, 1, "endless", None, None))
    headings, cells, labels = sweep.columns(some, 10)
    assert headings == (
        "size", "group", "runs", "complete", "FCT [ms]", "FCT p99 [ms]", "slowdown p99", "Gbit/s", "resent", "RTOs",
    )  # fmt: skip
    rows = {row[1]: row for row in cells}
    assert labels == 2 and list(rows) == ["short", "late", "endless"]
    assert rows["short"][3:7] == ("1 of 1", "2.000", "2.000", "2.000")
    assert rows["late"][3:7] == ("0 of 1", "-", "-", "-")
    # 125 MB in 100 ms.
    assert rows["endless"][3:8] == ("-", "-", "-", "-", "10.00")


def test_a_sweep_of_endless_flows_has_no_columns_of_completion_times():
    headings, cells, _ = sweep.columns(results((0, 1, "g", None, None), (1, 1, "g", None, None)), 10)
    assert headings == ("size", "runs", "Gbit/s", "resent", "RTOs")
    assert cells == [("size 0", "1", "10.00", "1.000", "0"), ("size 1", "1", "10.00", "1.000", "0")]


@pytest.mark.parametrize("most", [2, 3])
def test_rows_beyond_the_first_are_counted(monkeypatch, most):
    monkeypatch.setattr(sweep, "_MOST_ROWS", most)
    some = results(*((point, 1, "g", 1000, 2.0) for point in range(3)), points=3, runs=3, failures=[{}, {}])
    page = str(sweep.section(some))
    facts = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert facts == {"points": "3", "runs": "3", "failures": "2", "axes": "size: size 0, size 1, size 2"}
    assert sweep.rows(some) == 3 and page.count("<tr>") == 1 + most
    assert [row[0] for row in sweep.columns(some, most)[1]] == [f"size {number}" for number in range(most)]
    assert ("<p>The first 2 of 3 rows. Means over the runs" in page) == (most == 2)
    assert ("<p>Means over the runs with 95 % intervals.</p>" in page) == (most == 3)
    assert '<img alt="Mean completion time over the axes" src="data:image/png;base64,' in page


def test_without_a_common_figure_the_reason_is_said():
    some = results((0, 1, "g", None, None), (1, 1, "g", None, None), axes=("a", "b", "c", "d", "e"))
    page = str(sweep.section(some))
    assert re.search(r"<p>There is no figure of all axes together: [^<]+[^.]\.</p>", page) and "<img" not in page


def test_few_flows_are_those_of_the_smallest_run():
    fewest = results(*((0, seed, "g", 1000, 2.0) for seed in (1, 2) for _ in range(100 if seed == 1 else 99)))
    sentence = "with few flows a percentile is the maximum: p99 below 100 flows"
    assert sweep.few_flows(fewest) == sentence and f"<p>W{sentence[1:]}.</p>" in str(sweep.section(fewest))
    enough = results(*((0, seed, "g", 1000, 2.0) for seed in (1, 2) for _ in range(100)), (0, 1, "e", None, None))
    assert sweep.few_flows(enough) is None
