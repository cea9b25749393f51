import polars as pl
import pytest

from daybreak.metrics import fairness, slowdown


def flows(*rows):
    names = ("group", "bytes", "fct_ns", "ideal_fct_ns")
    schema = {"group": pl.String} | dict.fromkeys(names[1:], pl.UInt64)
    return slowdown.table(pl.DataFrame([dict(zip(names, row, strict=True)) for row in rows], schema=schema))


def test_slowdown_is_the_completion_time_over_the_ideal():
    found = flows(("a", 10, 300, 100), ("a", 10, None, 100), ("a", None, None, None))
    assert found["slowdown"].to_list() == [3, None, None]


def test_percentiles_count_what_did_not_end_as_slowest():
    rows = [("a", 10, 100 * n, 100) for n in (4, 1, 3, 2)] + [("b", 10, 500, 100), ("b", 10, None, 100)]
    found = slowdown.summary(flows(*rows, ("b", None, None, None)), by=["group"], at=(50, 99)).to_dicts()
    assert found == [
        {"group": "a", "flows": 4, "complete": 4, "mean_slowdown": 2.5, "p50_slowdown": 2.0, "p99_slowdown": 4.0},
        {"group": "b", "flows": 2, "complete": 1, "mean_slowdown": None, "p50_slowdown": 5.0, "p99_slowdown": None},
    ]
    with pytest.raises(ValueError, match="percentile 0"):
        slowdown.summary(flows(*rows), by=["group"], at=(0,))


def test_a_bin_has_the_size_at_its_upper_edge_and_not_the_one_at_its_lower():
    rows = [("b", size, 200, 100) for size in (1, 100, 101, 10_000, 10_001)] + [("a", 50, 100, 100)]
    found = slowdown.by_size(flows(*rows, ("a", None, None, None)), by=["group"], edges=(100, 10_000))
    shown = found.select("group", "over_bytes", "upto_bytes", "flows").rows()
    # Groups stand in the order of their first flows.
    assert shown == [("b", 0, 100, 2), ("b", 100, 10_000, 2), ("b", 10_000, None, 1), ("a", 0, 100, 1)]
    whole = slowdown.by_size(flows(*rows), edges=(100,))
    assert whole.select("over_bytes", "flows").rows() == [(0, 3), (100, 3)]
    with pytest.raises(ValueError, match="rising order"):
        slowdown.by_size(flows(*rows), edges=(100, 10))


def test_jain_of_each_run_and_group():
    rates = pl.DataFrame({"run": [1, 1, 2, 2], "group": ["g"] * 4, "gbps": [1.0, 3.0, 0.0, 0.0]})
    assert fairness.by_run(rates, by=["group"])["jain"].to_list() == [0.8, None]


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
def test_jains_index_is_the_same_in_every_unit(unit):
    rates = pl.DataFrame({"run": [1, 1, 2, 2], "gbps": [3 * unit, unit, 2 * unit, 2 * unit]})
    # 4^2 / (2 * 10), and two equal ones.
    assert fairness.by_run(rates)["jain"].to_list() == pytest.approx([0.8, 1.0])
    assert fairness.jain([3 * unit, unit]) == pytest.approx(0.8)
    assert fairness.shares(rates)["share"].to_list() == pytest.approx([0.75, 0.25, 0.5, 0.5])
