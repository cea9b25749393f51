import polars as pl
import pytest
from tables import flows

from daybreak.metrics import fairness, fct, latency, reordering, retransmissions

S = 1_000_000_000


def pair(run: int, migrated_s: float, main_s: float) -> pl.DataFrame:
    def row(group, seconds):
        end = int(seconds * S)
        return {"run": run, "group": group, "bytes": 10**9, "end_ns": end, "fct_ns": end}

    return flows(row("migrated", migrated_s), row("main", main_s))


def test_fct_and_goodput():
    found = fct.table(pair(1, 2.0, 1.0))
    assert found["fct_s"].to_list() == [2, 1]
    assert found["goodput_gbps"].to_list() == [4, 8]


def test_a_flow_that_did_not_end_has_no_fct_and_its_group_no_mean():
    table = flows({"run": 1, "bytes": 5}, {"run": 1, "bytes": 5, "end_ns": S, "fct_ns": S})
    assert fct.table(table)["fct_s"].to_list() == [None, 1]
    assert fct.by_run(table)["fct_s"].to_list() == [None]
    assert fct.group_throughput(table)["mean_goodput"].to_list() == [None]


def test_prolongation_is_migrated_less_main():
    table = pl.concat([pair(1, 2.5, 1.0), pair(2, 1.0, 1.25)])
    assert fct.prolongation(table)["prolongation_s"].to_list() == [1.5, -0.25]
    with pytest.raises(ValueError, match="group: 'other'"):
        fct.prolongation(table, migrated="other")


def test_three_readings_of_average_throughput():
    # 1 Gbit in 1 s and 3 Gbit in 1 s, the second starting 1 s later
    table = flows(
        {"run": 1, "bytes": 125_000_000, "end_ns": S, "fct_ns": S},
        {"run": 1, "bytes": 375_000_000, "start_ns": S, "end_ns": 3 * S, "fct_ns": 2 * S},
    )
    found = fct.group_throughput(table).to_dicts()[0]
    assert found["mean_goodput"] == pytest.approx((1 + 1.5) / 2)
    assert found["pooled_goodput"] == pytest.approx(4 / 3)
    assert found["group_goodput"] == pytest.approx(4 / 3)
    # The time before the first of a group starts is not the group's.
    late = table.with_columns(pl.col("start_ns", "end_ns") + 10 * S)
    assert fct.group_throughput(late).to_dicts()[0] == pytest.approx(found)


def test_jain_and_shares():
    assert fairness.jain([5, 5]) == 1
    assert fairness.jain([10, 0]) == 0.5
    assert fairness.jain([3, 1]) == pytest.approx(16 / 20)
    assert fairness.jain([7]) == 1
    with pytest.raises(ValueError, match="-1"):
        fairness.jain([1, -1])
    table = pl.DataFrame({"run": [1, 1, 2], "gbps": [3.0, 1.0, 2.0]})
    assert fairness.shares(table)["share"].to_list() == [0.75, 0.25, 1]
    # Without a column that tells runs apart all rows are one run's; nobody has a part of nothing.
    assert fairness.shares(table.drop("run"))["share"].to_list() == pytest.approx([3 / 6, 1 / 6, 2 / 6])
    assert fairness.shares(table.with_columns(gbps=0.0))["share"].to_list() == [None] * 3


def test_retransmissions_and_losses():
    table = flows(
        {"group": "a", "segments": 90, "retransmits": 9, "rtos": 1},
        {"group": "a", "segments": 10, "retransmits": 1},
        {"group": "b"},
    )
    a, b = retransmissions.table(table).to_dicts()
    assert (a["segments"], a["retransmits"], a["rtos"], a["retransmit_ratio"]) == (100, 10, 1, 0.1)
    assert b["retransmit_ratio"] == 0
    drops = pl.DataFrame({"reason": ["queue_full", "night", "night"], "bytes": [9000, 9000, 100]})
    assert retransmissions.losses(drops).to_dicts() == [
        {"reason": "night", "packets": 2, "bytes": 9100},
        {"reason": "queue_full", "packets": 1, "bytes": 9000},
    ]


def test_reordering_ratios():
    found = reordering.table(flows({"segments": 200, "reordered": 10, "duplicates": 4})).to_dicts()[0]
    assert (found["reordered_ratio"], found["duplicate_ratio"]) == (0.05, 0.02)


def test_latency_percentiles_pool_the_flows_of_a_group():
    table = pl.DataFrame(
        {"flow": [0, 0, 1], "from_ns": [1000, 2000, 1000], "to_ns": [1060, 2120, 1060], "packets": [40, 1, 59]}
    )
    found = latency.percentiles(table, flows({}, {}), at=(50, 99, 100))
    assert found["microseconds"].to_list() == [1.06, 1.06, 2.12]
    assert found["packets"].to_list() == [100, 100, 100]
    usual = latency.percentiles(table, flows({}, {}))
    assert usual.select("percentile", "microseconds").rows() == [(50, 1.06), (99, 1.06), (99.9, 2.12)]
    # The 999th of 1000 packets is the 99.9th percentile, of which the nearest float is a little more.
    thousand = table.with_columns(packets=pl.Series([400, 1, 599]))
    assert latency.percentiles(thousand, flows({}, {}), at=(99.9,))["microseconds"].to_list() == [1.06]
    with pytest.raises(ValueError, match="percentile 0"):
        latency.percentiles(table, flows({}, {}), at=(0,))


def test_percentiles_of_the_fct():
    table = fct.table(
        flows(
            *({"bytes": 1, "fct_ns": n * 10**9, "end_ns": n * 10**9} for n in (4, 1, 3, 2)),
            {"bytes": 1, "group": "late"},
            {"bytes": 1, "group": "late", "fct_ns": 10**9, "end_ns": 10**9},
            {"bytes": None},
        )
    )
    found = fct.percentiles(table, by=("group",), at=(25, 50, 51, 100))
    assert found.columns == ["group", "p25_s", "p50_s", "p51_s", "p100_s"]
    assert found.rows() == [("main", 1.0, 2.0, 3.0, 4.0), ("late", 1.0, 1.0, None, None)]
    with pytest.raises(ValueError, match="percentile 0"):
        fct.percentiles(table, by=("group",), at=(0,))
