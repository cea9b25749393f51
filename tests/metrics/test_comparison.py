"""Paired comparisons, against numbers that can be worked out."""

import polars as pl
import pytest

from daybreak.metrics.comparison import paired


def flows(fcts, retransmits=0):
    rows = [
        {
            "run": run,
            "group": "g",
            "bytes": 1,
            "start_ns": 0,
            "end_ns": fct,
            "fct_ns": fct,
            "ideal_fct_ns": 5,
            "rtos": 0,
        }
        for run, fct in fcts.items()
    ]
    columns = dict.fromkeys(("bytes", "start_ns", "end_ns", "fct_ns"), pl.UInt64) | {"rtos": pl.UInt32}
    return pl.DataFrame(rows, schema_overrides=columns).with_columns(
        pl.lit(retransmits).alias("retransmits"), pl.lit(5, dtype=pl.UInt64).alias("ideal_fct_ns")
    )


def test_differences_are_of_runs_with_one_seed():
    """Seeds move both by seconds, the variant by 1 +- 0.1 s: only the pairs show it."""
    first = flows({1: 1_000_000_000, 2: 5_000_000_000, 3: 9_000_000_000, 8: 1})
    second = flows({3: 10_000_000_000, 2: 6_100_000_000, 1: 1_900_000_000, 9: 1}, retransmits=4)
    found = {row["value"]: row for row in paired(first, second).iter_rows(named=True)}
    fct = found["fct_s"]
    assert (fct["runs"], fct["first"], fct["second"]) == (3, pytest.approx(5), pytest.approx(6))
    # t(2) = 4.303, s = 0.1: 1 +- 4.303 * 0.1 / sqrt(3)
    assert (fct["difference"], fct["low"]) == (pytest.approx(1), pytest.approx(1 - 0.2484, abs=1e-4))
    assert fct["is_different"] is True
    # The ideal of all of them is 5 ns, and a run has one flow.
    assert found["slowdown"]["difference"] == pytest.approx(1e9 / 5)
    assert found["fct_p99_s"]["difference"] == pytest.approx(1)
    assert (found["retransmits"]["difference"], found["rtos"]["is_different"]) == (4, False)


def test_variants_without_a_common_seed_and_those_without_a_common_group_are_told_apart():
    with pytest.raises(ValueError, match=r"^runs: the two have no group with a common seed$"):
        paired(flows({1: 1}), flows({2: 1}))
    many = pl.concat([flows({1: 1}).with_columns(pl.lit(f"h{at}").alias("group")) for at in range(8)])
    said = '^group: the first has "g", the other "h0", "h1", "h2", "h3", "h4", "h5" and 2 more$'
    with pytest.raises(ValueError, match=said):
        paired(flows({1: 1}), many)


def test_one_pair_has_no_interval_and_an_unfinished_flow_no_time():
    one = paired(flows({1: 10}), flows({1: 30}))
    assert one.filter(value="fct_s").select("low", "is_different").row(0) == (None, None)
    some = paired(flows({1: 10, 2: 10}), flows({1: 30, 2: None}))
    columns = ("value", "runs", "first", "second", "difference", "is_different", "unfinished")
    assert some.select(columns).rows() == [
        ("fct_s", 2, 1e-8, None, None, None, 1), ("fct_p99_s", 2, 1e-8, None, None, None, 1),
        ("slowdown", 2, 2, None, None, None, 1), ("retransmits", 2, 0, 0, 0, False, 0), ("rtos", 2, 0, 0, 0, False, 0),
    ]  # fmt: skip


def test_flows_without_a_size_have_no_completion_time():
    endless = flows({1: None, 2: None}).with_columns(
        pl.lit(None, pl.UInt64).alias(name) for name in ("bytes", "ideal_fct_ns")
    )
    assert paired(endless, endless)["value"].to_list() == ["retransmits", "rtos"]


def test_without_a_common_seed_there_is_nothing_to_compare():
    with pytest.raises(ValueError, match="no group with a common seed"):
        paired(flows({1: 1}), flows({2: 1}))


def test_a_value_that_one_variant_cannot_have_is_not_unfinished():
    bulk = flows({1: 10, 2: 12})
    exchanges = bulk.with_columns(pl.lit(None, dtype=pl.UInt64).alias("ideal_fct_ns"))
    (row,) = paired(bulk, exchanges).filter(value="slowdown").iter_rows(named=True)
    assert (row["first"], row["second"], row["difference"], row["unfinished"]) == (2.2, None, None, 0)
    unended = bulk.with_columns(
        pl.when(pl.col("run") == 1).then(pl.col(name)).alias(name) for name in ("end_ns", "fct_ns")
    )
    (row,) = paired(bulk, unended).filter(value="slowdown").iter_rows(named=True)
    assert (row["difference"], row["unfinished"]) == (None, 1)
