"""Quantities between given edges of time, on tables that can be worked out by hand."""

import numpy as np
import polars as pl
import pytest
from tables import bins, flows, window

from daybreak.metrics import over_time
from daybreak.metrics.under_way import under_way

TWO = flows({"flow_name": "a", "group": "left"}, {"flow_name": "b", "group": "right"})
ONE_GROUP = flows({"flow_name": "a"}, {"flow_name": "b"})


def edges(*times):
    return np.array(times, dtype=np.int64)


def values(table, name, by="group"):
    return table.filter(pl.col(by) == name)["value"].to_list()


def test_throughput_is_the_bytes_of_each_slot():
    table = over_time.throughput(
        bins(("arrived", 0, 0, 1000), ("arrived", 0, 200, 500), ("arrived", 1, 100, 250), ("tap", 0, 0, 9)),
        TWO, edges(0, 100, 200, 300), bin_ns=100, end_ns=1000,
    )  # fmt: skip
    assert table.columns == ["group", "slot", "time_s", "value"]
    assert table["time_s"].to_list()[:3] == [0, 1e-7, 2e-7]
    assert values(table, "left") == pytest.approx([8e10, 0, 4e10])
    assert values(table, "right") == pytest.approx([0, 2e10, 0])


def test_the_last_bin_ends_with_the_run_and_cut_bins_are_shared_out():
    rate = over_time.throughput(
        bins(("arrived", 0, 0, 1000), ("arrived", 0, 100, 1000)), TWO, edges(0, 50, 150), bin_ns=100, end_ns=150
    )
    # Half of the first bin; its other half and all of the second bin, which lasts 50 ns.
    assert values(rate, "left") == pytest.approx([500 * 8 / 50e-9, 1500 * 8 / 100e-9])


def test_throughput_keeps_every_byte_however_time_is_cut():
    counted = bins(*(("arrived", 0, 100 * i, 7 * i + 1) for i in range(50)))
    for cut in (edges(0, 5000), edges(*range(0, 5001, 37), 5000), edges(*range(0, 5001, 500))):
        rate = over_time.throughput(counted, TWO, cut, bin_ns=100, end_ns=5000)
        carried = sum(np.array(values(rate, "left")) * np.diff(cut) / 8e9)
        assert carried == pytest.approx(sum(7 * i + 1 for i in range(50)))


def test_a_sample_holds_until_the_next_one():
    samples = window((0, 100, 5), (0, 250, 7), (1, 300, 1))
    table = over_time.sampled(samples, TWO, edges(0, 100, 200, 300, 400), "bytes_in_flight")
    # A sample on an edge is the slot's before it. There is nothing behind the last sample's slot.
    assert values(table, "left") == [5, 5, 7, None]
    assert values(table, "right") == [None, None, 1, 1]


def test_flows_of_a_group_are_added_up_or_averaged():
    samples = window((0, 50, 10), (1, 150, 30), (0, 160, 20))
    cut = edges(0, 100, 200)
    assert over_time.sampled(samples, ONE_GROUP, cut, "bytes_in_flight")["value"].to_list() == [10, 50]
    assert over_time.sampled(samples, ONE_GROUP, cut, "bytes_in_flight", mean=True)["value"].to_list() == [10, 25]


def test_retransmissions_are_what_the_counter_grows_by():
    samples = pl.DataFrame({"flow": [0, 0, 0, 1], "time_ns": [50, 150, 250, 150], "retransmits": [1, 1, 4, 2]})
    table = over_time.retransmissions(samples, ONE_GROUP, edges(0, 100, 200, 300))
    assert table["value"].to_list() == [1, 2, 3]
    later = over_time.retransmissions(samples, ONE_GROUP, edges(100, 200, 300))
    assert later["value"].to_list() == [2, 3]
    # Two of them are sampled on the edge, and were sent before it.
    on_edge = over_time.retransmissions(samples, ONE_GROUP, edges(0, 150, 300))
    assert on_edge["value"].to_list() == [3, 3]


def test_losses_are_counted_by_slot():
    drops = pl.DataFrame({"time_ns": [0, 99, 100, 399, 400], "flow": [0, 0, 1, 0, 0]})
    table = over_time.losses(drops, TWO, edges(0, 100, 200, 400))
    assert values(table, "left") == [2, 0, 1]
    assert values(table, "right") == [0, 1, 0]


def test_queues_have_the_most_of_the_intervals_that_a_slot_meets():
    samples = pl.DataFrame({"queue_name": ["q"] * 4, "time_ns": [100, 200, 300, 400], "max_packets": [1, 9, 3, 2]})
    wide = over_time.queues(samples, edges(0, 200, 400), interval_ns=100)
    assert values(wide, "q", "queue_name") == [9, 3]
    narrow = over_time.queues(samples, edges(0, 50, 150, 160, 500, 600), interval_ns=100)
    assert values(narrow, "q", "queue_name") == [1, 9, 9, 9, None]
    # An interval that ends where a slot begins, or begins where it ends, is not met.
    rising = samples.with_columns(max_packets=pl.Series([1, 2, 3, 4]))
    assert values(over_time.queues(rising, edges(0, 200, 400), interval_ns=100), "q", "queue_name") == [2, 4]
    falling = samples.with_columns(max_packets=pl.Series([4, 3, 2, 1]))
    assert values(over_time.queues(falling, edges(0, 200, 400), interval_ns=100), "q", "queue_name") == [4, 2]


def test_weeks_are_laid_over_the_first():
    table = pl.DataFrame(
        {"group": ["a"] * 6, "slot": range(6), "time_s": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "value": [1, 2, 3, 4, 5, 6]}
    )
    folded = over_time.fold(table, "group", slots=2)
    assert folded["week"].to_list() == [0, 0, 1, 1, 2, 2]
    assert folded["slot"].to_list() == [0, 1] * 3
    assert folded["time_s"].to_list() == pytest.approx([0, 0.1] * 3)
    of_week = over_time.spread(folded)
    assert of_week["mean"].to_list() == [3, 4]
    assert of_week["low"].to_list() == pytest.approx([1.4, 2.4])
    assert of_week["high"].to_list() == pytest.approx([4.6, 5.6])


def test_a_spread_has_its_mean_and_range():
    table = pl.DataFrame({"time_s": [0.0] * 11 + [1.0], "value": [*map(float, range(10)), 21.0, None]})
    spread = over_time.spread(table)
    assert spread.row(0) == (0.0, 6, 1, 9)
    assert spread.row(1) == (1.0, None, None, None)


def test_no_weeks_at_all_are_a_table_with_the_columns_of_some():
    some = pl.DataFrame({"group": ["g"], "slot": [0], "time_s": [0.0], "value": [1.0]})
    empty = over_time.fold(some.clear(), "group", slots=1)
    assert empty.height == 0 and set(empty.columns) == set(over_time.fold(some, "group", slots=1).columns)


def test_flows_are_under_way_from_their_start_to_their_end_or_the_runs():
    # From 10 to 30 and from 20 to 25 ns, and from 40 ns to the end of the run.
    table = flows({"start_ns": 40}, {"start_ns": 10, "fct_ns": 20}, {"start_ns": 20, "fct_ns": 5})
    assert under_way(table, edges(0, 10, 20, 30, 40, 50), end_ns=50).tolist() == [0, 1, 1.5, 0, 1]
    assert under_way(table, edges(5, 25, 45), end_ns=44).tolist() == [(15 + 5) / 20, (5 + 4) / 20]
