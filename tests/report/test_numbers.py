"""The numbers of a report's tables: means of groups, rates of flows that did not end, verdicts that count."""

import json
import re

import polars as pl
import pytest

import daybreak
from daybreak.metrics.units import RATES, SIZES, TIMES, digits, in_one_unit, rate, time
from daybreak.report import runs as report
from daybreak.report import study, summary
from daybreak.report.summary import group_rows


def cells(markup, heading):
    """The rows of the table that follows a heading, as texts."""
    table = str(markup)[str(markup).index(heading) :]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table[: table.index("</table>")])[1:]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


def of(one_flow, *flows, **more):
    return one_flow.with_({"flows": [{"from": "sender-0", "to": "receiver-0"} | flow for flow in flows]} | more)


def test_the_unit_of_nothing_is_that_of_the_numbers():
    assert in_one_unit([0.0, None], RATES) == (["0", "-"], "Gbit/s")
    assert (in_one_unit([0.0], TIMES)[1], in_one_unit([0.0], SIZES)[1]) == ("s", "B")
    assert in_one_unit([0.0, 0.002], RATES) == (["0", "2.000"], "Mbit/s")


def test_a_flow_that_goes_on_has_the_rate_of_its_own_time(one_flow):
    """From its start, which need not be that of the run, to the end of the run."""
    run = daybreak.run(of(one_flow, {"size": "unlimited", "start": "400 ms"}, duration="500 ms"))
    (row,) = summary.flow_rows(summary.flow_table(run))
    assert row["fct_s"] is None
    assert row["goodput_gbps"] == row["delivered_bytes"] * 8 / 100_000_000
    # A link of 10 Gbit/s is full for nearly all of it; over 500 ms it would be 2 Gbit/s.
    assert 8 < row["goodput_gbps"] < 10


def test_a_group_has_the_mean_of_its_flows_in_each_part(one_flow):
    scenario = of(
        one_flow, {"name": "a", "group": "g", "size": "1 MB"}, {"name": "b", "group": "g", "size": "3 MB"},
        {"name": "c", "group": "h", "size": "1 MB", "start": "200 ms"},
    )  # fmt: skip
    run = daybreak.run(scenario)
    page = report.section(report.RunGroup((run,)), explained=True)
    rows = {row[0]: [float(cell) for cell in row[1:]] for row in cells(page, "<summary>The numbers</summary>")}
    assert list(rows) == ["mean of g", "a", "b", "c"]
    # A group of one flow is that flow.
    fct_ms = {name: fct / 1e6 for name, fct in run.flows.select("flow_name", "fct_ns").iter_rows()}
    assert {name: rows[name][0] for name in "abc"} == pytest.approx(fct_ms, rel=1e-6)
    for group, names in (("mean of g", "ab"),):
        for at, value in enumerate(rows[group]):
            assert value == pytest.approx(sum(rows[name][at] for name in names) / len(names), rel=1e-6, abs=1e-6)
    # The longest bar is full, the others are in proportion.
    bars = re.findall(r"<span>([^<]*)</span><div>(.*?)</div>", str(page))
    widths = {name: sum(map(float, re.findall(r"width:([0-9.]+)%", bar))) for name, bar in bars}
    longest = max(fct_ms.values())
    assert widths["mean of g"] == pytest.approx(100 * rows["mean of g"][0] / longest, abs=0.01)
    assert {name: widths[name] for name in "abc"} == pytest.approx(
        {name: 100 * fct / longest for name, fct in fct_ms.items()}, abs=0.01
    )


def flow_table(seed, *rows):
    """What `summary.flow_table` makes of a run; what is left out is that of a flow of 1 kB that ended."""
    known = {"seed": seed, "flow_name": "f", "group": "g", "variant": "cubic", "bytes": 1000, "delivered_bytes": 1000}
    known |= {"fct_s": 1.0, "slowdown": 2.0, "goodput_gbps": 1.0, "retransmits": 2, "rtos": 1, "ideal_fct_ns": 500}
    schema = dict.fromkeys(known, pl.UInt64) | dict.fromkeys(("flow_name", "group", "variant"), pl.String)
    schema |= dict.fromkeys(("fct_s", "slowdown", "goodput_gbps"), pl.Float64)
    return pl.DataFrame([known | row for row in rows], schema=schema)


def test_a_group_has_a_mean_only_where_all_of_it_ended_in_every_run():
    def of(seed, *fcts):
        return flow_table(seed, *({"fct_s": fct, "slowdown": fct and 2 * fct} for fct in fcts))

    (row,) = group_rows([of(1, 1.0, 3.0), of(2, 4.0, 4.0)])
    # Of the means 2 and 4: t(1) = 12.706 times a standard error of 1.
    assert (row["fct_s"], row["flows"], row["complete"], row["limited"]) == (3.0, 4, 4, 4)
    assert (row["low_s"], row["high_s"]) == (pytest.approx(3 - 12.706, abs=1e-3), pytest.approx(3 + 12.706, abs=1e-3))
    assert (row["p50_s"], row["retransmits"], row["rtos"]) == (3.0, 8, 4)
    assert (row["mean_slowdown"], row["p50_slowdown"], row["p99_slowdown"], row["jain"]) == (6.0, 6.0, 8.0, 1.0)
    (row,) = group_rows([of(1, 1.0, 3.0), of(2, 4.0, None)])
    assert (row["fct_s"], row["low_s"], row["high_s"], row["complete"]) == (None, None, None, 3)
    assert (row["mean_slowdown"], row["p50_slowdown"], row["p99_slowdown"]) == (None, 6.0, None)
    (row,) = group_rows([of(1, 1.0, 3.0)])
    assert (row["fct_s"], row["low_s"], row["high_s"]) == (2.0, None, None)


def test_groups_stand_in_the_order_of_the_flows_whether_they_end_or_not():
    unlimited = {"bytes": None, "fct_s": None, "slowdown": None, "ideal_fct_ns": None}
    flows = flow_table(
        1, {"group": "endless"} | unlimited, {"group": "short"}, {"group": "other"} | unlimited,
        {"group": "last", "fct_s": 2.0},
    )  # fmt: skip
    rows = group_rows([flows])
    assert [(row["group"], row["fct_s"]) for row in rows] == [
        ("endless", None), ("short", 1.0), ("other", None), ("last", 2.0),
    ]  # fmt: skip


def test_a_table_has_one_unit_for_a_quantity_and_no_exponents():
    columns, cells = summary.group_columns(group_rows([flow_table(1, {"fct_s": 1.5}, {"fct_s": 0.002})]))
    assert columns[4:8] == ("FCT [ms]", "p50 [ms]", "p90 [ms]", "p99 [ms]")
    assert cells[0][4:8] == ("751.0", "2.000", "1500", "1500")
    assert [digits(value) for value in (None, 0.0, 123456.7, 0.00012346, -9.9999)] == [
        "-", "0", "123500", "0.0001235", "-10.00",
    ]  # fmt: skip
    rows = summary.size_rows([flow_table(1, {}, {"bytes": 20_000_000, "slowdown": 12345.6})])
    assert [row[2:6] for row in summary.size_columns(rows)[1]] == [
        ("to 10 kB", "1", "1", "2.00"), ("over 10 MB", "1", "1", "12300"),
    ]  # fmt: skip


def test_no_more_than_200_flows_are_listed_of_all_runs_together(one_flow):
    small = of(one_flow, {"size": "1 kB", "count": 120})
    runs = tuple(daybreak.run(small, seed=seed) for seed in (1, 2))
    listed = cells(report.section(report.RunGroup(runs), explained=False), "<summary>Flows</summary>")
    assert [row[0] for row in listed] == ["1"] * 120 + ["2"] * 80
    assert "The first 200 of 240 flows." in str(report.section(report.RunGroup(runs), explained=False))
    assert "120 flows." in str(report.section(report.RunGroup(runs[:1]), explained=False))


def test_only_judged_claims_count_and_those_that_hold_hold(tmp_path):
    verdicts = ["pass", "pass", "miss", "shape-pass", "shape-miss", "not-evaluated", "not-evaluated"]
    claim = {"figure": "1", "what": "w", "published": 1, "ours": None, "unit": "s", "ci95": None, "tolerance": ""}
    claim |= {"note": "", "kind": "statement", "fitted": "", "explanation": ""}
    claims = [claim | {"id": f"{at}", "statement": f"{at}", "verdict": said} for at, said in enumerate(verdicts)]
    board = {"study": "s", "engine": "simulated", "mode": "full", "seeds": 3, "claims": claims}
    (tmp_path / study.SCOREBOARD).write_text(json.dumps(board))
    page = str(study.section(study.read(tmp_path)))
    assert "3 of 5 printed statements held" in page and "2 not evaluated" in page
    assert re.findall(r">(\S+ \d)</button>", page) == [
        "pass 2", "shape-pass 1", "miss 1", "shape-miss 1", "not-evaluated 2",
    ]  # fmt: skip


@pytest.mark.parametrize(("seconds", "said"), [
    (None, "-"), (1.0, "1 s"), (0.99, "990 ms"), (1e-3, "1 ms"), (2.5e-6, "2.5 us"), (3e-9, "3 ns"), (0.0, "0 ns"),
])  # fmt: skip
def test_times_have_the_unit_that_leaves_at_least_one_of_it(seconds, said):
    assert time(seconds) == said


@pytest.mark.parametrize(("gbps", "said"), [
    (1000.0, "1 Tbit/s"), (999.0, "999 Gbit/s"), (1.0, "1 Gbit/s"), (0.25, "250 Mbit/s"), (1e-9, "1 bit/s"),
])  # fmt: skip
def test_so_have_rates(gbps, said):
    assert rate(gbps) == said
