"""Curves of several runs: parts of them by which flows run, means, heights."""

import polars as pl
import pytest

from daybreak.metrics import concurrency, fct, series, throughput

MS = 1_000_000
S = 1_000_000_000


def flows(*rows):
    """Rows of several runs: run, group, start and end in ms, or None for a flow that did not end."""
    table = pl.DataFrame(
        [
            {
                "run": run, "group": group, "bytes": 1, "start_ns": start * MS,
                "end_ns": None if end is None else end * MS,
                "fct_ns": None if end is None else (end - start) * MS,
            }
            for run, group, start, end in rows
        ],
        schema_overrides={"end_ns": pl.UInt64, "fct_ns": pl.UInt64},
    )  # fmt: skip
    return fct.table(table)


def curve(run, group, *values):
    count = len(values)
    return pl.DataFrame(
        {"run": [run] * count, "group": [group] * count, "time_s": [i / 1000 for i in range(count)], "x": values},
        schema_overrides={"x": pl.Float64},
    )


TWO = flows((1, "a", 1, 8), (1, "b", 2, 6), (2, "a", 0, 3), (2, "b", 0, 9))
CURVES = pl.concat([curve(run, group, *range(10)) for run in (1, 2) for group in ("a", "b")])


def of(table, run, group):
    return table.filter(run=run, group=group)["x"].to_list()


def test_while_all_run_is_from_the_last_start_to_the_first_end():
    found = concurrency.while_all_run(CURVES, TWO, bin_ns=MS)
    # The bin that begins at 5 ms ends with the flow, at 6 ms.
    assert of(found, 1, "a") == of(found, 1, "b") == [2, 3, 4, 5]
    assert of(found, 2, "a") == [0, 1, 2]
    assert found.columns == CURVES.columns


def test_a_flow_that_did_not_end_runs_on():
    found = concurrency.while_all_run(CURVES, flows((1, "a", 0, None), (1, "b", 0, 4)), bin_ns=MS)
    assert of(found, 1, "a") == [0, 1, 2, 3]


def test_after_the_others_a_flow_has_the_network_for_itself():
    assert of(concurrency.after_others(CURVES, TWO, "a", bin_ns=MS), 1, "a") == [6, 7]
    assert of(concurrency.after_others(CURVES, TWO, "b", bin_ns=MS), 2, "b") == [3, 4, 5, 6, 7, 8]
    assert of(concurrency.after_others(CURVES, TWO, "b", bin_ns=MS, delay_s=0.002), 2, "b") == [5, 6, 7, 8]
    # In run 1 it is the first to end.
    assert of(concurrency.after_others(CURVES, TWO, "b", bin_ns=MS), 1, "b") == []
    three = pl.concat([TWO, flows((2, "c", 0, 5))])
    assert of(concurrency.after_others(CURVES, three, "b", bin_ns=MS), 2, "b") == [5, 6, 7, 8]


def test_means_are_one_a_run_in_their_order():
    both = pl.concat([curve(9, "a", 1, 3), curve(4, "a", 10), curve(4, "b", 7)])
    assert concurrency.means(both, "a", "x") == [10, 2]
    assert concurrency.means(both, "b", "x") == [7]


def test_part_below_compares_means_of_wider_bins():
    both = pl.concat([curve(1, "a", 0, 9, 1, 1, 5, 5), curve(1, "b", 4, 4, 2, 2, 5, 5)])
    # Bins of 2 ms: 4.5 against 4, 1 against 2, 5 against 5.
    assert concurrency.part_below(both, "a", "b", "x", bin_ns=2 * MS) == pytest.approx(1 / 3)
    assert concurrency.part_below(both, "a", "b", "x", bin_ns=MS) == pytest.approx(3 / 6)
    assert concurrency.part_below(both, "a", "nobody", "x", bin_ns=MS) == 0


def test_a_bin_is_compared_with_the_one_that_starts_at_the_same_nanosecond():
    """Times 1e9, 1.001 s is 1,000,999,999.9999999 ns."""
    times = {"run": [1, 1], "time_s": [1.0, 1.001]}
    both = pl.concat(
        [pl.DataFrame(times | {"group": [name] * 2, "x": x}) for name, x in (("a", [1, 3]), ("b", [2, 2]))]
    )
    assert concurrency.part_below(both, "a", "b", "x", bin_ns=MS) == 1 / 2


def test_a_mean_curve_is_in_wider_bins_and_falls_as_runs_end():
    both = pl.concat([curve(1, "a", 1, 3, 5, 7), curve(2, "a", 3, 5), curve(1, "b", 99, 99)])
    found = series.mean_curve(both, "a", "x", bin_ns=2 * MS, recorded_ns=MS, end_s=0.006)
    assert found["time_s"].to_list() == [0.001, 0.003, 0.005]
    # Run 1 has 2, 6 and nothing, run 2 has 4 and nothing.
    assert found["mean"].to_list() == [3, 3, 0]
    assert found["runs"].to_list() == [2, 2, 2]
    # s = sqrt(2), half = 12.7062 * sqrt(2) / sqrt(2)
    assert found["high"][0] == pytest.approx(3 + 12.7062, abs=1e-4)
    assert series.mean_curve(both, "a", "x", bin_ns=2 * MS, recorded_ns=MS, end_s=0.0064).height == 3
    assert series.mean_curve(both, "a", "x", bin_ns=2 * MS, recorded_ns=MS, end_s=0.0071).height == 4


def test_the_height_is_of_the_mean_curve_in_whole_windows_but_the_first():
    # Means: 50 50 | 1 3 | 4 8 | 9. Run 1 goes on after run 2 has ended, which does not count.
    one, two = curve(1, "a", 0, 0, 0, 2, 4, 8, 9, 500), curve(2, "a", 100, 100, 2, 4, 4, 8, 9)
    found = series.mean_height(pl.concat([one, two]), "x", bin_ns=MS, window_ns=2 * MS)
    assert found == ((3 - 1) + (8 - 4)) / 2
    assert series.mean_height(one.clear(), "x", bin_ns=MS, window_ns=MS) == 0
    assert series.mean_height(one, "x", bin_ns=MS, window_ns=100 * MS) == 0


def test_a_window_of_nine_tenths_counts():
    ramp = curve(1, "a", *range(19))
    assert series.mean_height(ramp, "x", bin_ns=MS, window_ns=10 * MS) == 8
    assert series.mean_height(ramp.head(18), "x", bin_ns=MS, window_ns=10 * MS) == 0


def test_ramps_go_from_the_start_to_the_end_of_the_first_full_bin():
    table = pl.concat([curve(3, "a", 0, 5, 10), curve(4, "a", 5, 5, 5)]).rename({"x": "gbps"})
    found = throughput.ramps_s(table, flows((3, "a", 1, 9), (4, "a", 0, 9)), gbps=9.5, bin_ns=MS)
    assert found == [pytest.approx(0.002), None]
    # Of several flows the first one's start counts.
    found = throughput.ramps_s(table, flows((3, "a", 2, 9), (3, "b", 1, 9), (4, "a", 0, 9)), gbps=5, bin_ns=MS)
    assert found == [pytest.approx(0.001), pytest.approx(0.001)]


def test_most_runs_have_ended_by():
    table = flows(*[(run, "a", 0, 10 * run) for run in range(1, 11)], (1, "b", 0, 15))
    assert fct.ended_by(table, part=0.9) == pytest.approx(0.1)
    assert fct.ended_by(table, part=0.5) == pytest.approx(0.06)
    assert fct.ended_by(table, part=0.0) == pytest.approx(0.015)
    assert fct.ended_by(flows((1, "a", 0, None)), part=0.9) is None
