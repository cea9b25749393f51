import polars as pl
import pytest
from tables import bins, flows, window

from daybreak.metrics import occupancy, utilisation
from daybreak.metrics import window as windows

MS = 1_000_000


def test_window_series_takes_the_largest_of_a_bin_and_adds_up_a_group():
    pair = flows({"group": "a"}, {"group": "a"})
    samples = window((0, 0, 1000), (0, MS - 1, 3000), (1, 0, 500), (0, 2 * MS, 8000))
    found = windows.series(samples, pair, bin_ns=MS, end_ns=3 * MS)
    # The second bin has no sample: flow 0 keeps its window, flow 1 has ended.
    assert found["kilobytes"].to_list() == [3.5, 3, 8]


def test_a_silent_sender_keeps_the_window_of_its_last_sample():
    samples = window((0, MS, 1000), (0, MS + 5, 9000), (0, MS + 7, 4000), (0, 4 * MS, 2000))
    found = windows.series(samples, flows({"group": "a"}), bin_ns=MS, end_ns=6 * MS)
    assert found["kilobytes"].to_list() == [0, 9, 4, 4, 2, 0]


def test_a_silent_sender_keeps_its_own_window_and_no_other_ones():
    # Flow 1 begins later than flow 0, is silent when flow 0 is not, and ends sooner.
    samples = window((0, 0, 1000), (0, 2 * MS, 2000), (0, 6 * MS, 3000), (1, MS, 70_000), (1, 4 * MS, 50_000))
    found = windows.series(samples, flows({}, {}), bin_ns=MS, end_ns=8 * MS, by="flow_name")
    assert found.filter(flow_name="f0")["kilobytes"].to_list() == [1, 1, 2, 2, 2, 2, 3, 0]
    assert found.filter(flow_name="f1")["kilobytes"].to_list() == [0, 70, 70, 70, 50, 0, 0, 0]
    both = windows.series(samples, flows({}, {}), bin_ns=MS, end_ns=8 * MS)
    assert both["kilobytes"].to_list() == [1, 71, 72, 72, 52, 2, 3, 0]


def test_peaks_of_whole_cycles_only():
    samples = window(*[(0, step * MS, step * 1000) for step in range(10)])
    found = windows.peaks(samples, flows({"group": "a"}), cycle_ns=3 * MS, from_ns=1 * MS, to_ns=9 * MS)
    assert found["cycle"].to_list() == [1, 2]
    assert found["peak_kilobytes"].to_list() == [5, 8]
    assert found["valley_kilobytes"].to_list() == [3, 6]


def test_largest_window():
    found = windows.largest(window((0, 0, 10), (0, 5, 2_940_000), (0, 9, 7)), flows({"group": "a"}))
    assert found["kilobytes"].to_list() == [2940]


def test_utilisation_of_links():
    table = bins(("link", 3, 0, 1_250_000), ("link", 3, MS, 625_000), ("link", 4, 5 * MS, 1), ("tap", 3, 0, 77))
    found = utilisation.of_links(table, rate_bps=10**10, from_ns=0, to_ns=2 * MS)
    assert found.to_dicts() == [{"link": 3, "utilisation": 0.75}, {"link": 4, "utilisation": 0}]
    curve = utilisation.over_time(table, rate_bps=10**10, bin_ns=MS)
    assert curve.rows() == [(3, 0.0, 1.0), (3, 0.001, 0.5), (4, 0.005, 8e-7)]
    coarse = utilisation.over_time(table, rate_bps=10**10, bin_ns=2 * MS)
    assert coarse.rows() == [(3, 0.0, 0.75), (4, 0.004, 4e-7)]
    with pytest.raises(ValueError, match="rate_bps: 0"):
        utilisation.of_links(table, rate_bps=0, from_ns=0, to_ns=MS)


def test_an_interval_has_the_bin_at_its_start_and_not_the_one_at_its_end():
    table = bins(*[("link", 0, step * MS, 100_000 << step) for step in range(5)])
    for first, last in ((0, 5), (1, 4), (2, 3), (1, 2)):
        found = utilisation.of_links(table, rate_bps=10**10, from_ns=first * MS, to_ns=last * MS)
        carried = sum(100_000 << step for step in range(first, last))
        assert found["utilisation"].item() == pytest.approx(carried / (1_250_000 * (last - first)))


def test_utilisation_of_a_circuit_is_that_of_the_time_in_which_it_was_open():
    links = pl.DataFrame({"link": [0, 1, 2], "link_name": ["a", "b", "c"], "bytes": [50, 50, 0]})
    capacity = pl.DataFrame({"link": [0, 1, 2], "open_share": [1.0, 0.5, 0.0], "capacity_bytes": [100.0, 50.0, 0.0]})
    assert utilisation.over_run(links, capacity).rows() == [("a", 1.0, 0.5), ("b", 0.5, 1.0), ("c", 0.0, None)]


def test_a_queue_has_the_share_of_time_in_which_at_most_so_much_waits():
    samples = pl.DataFrame(
        {"queue_name": ["q"] * 4 + ["p"], "packets": [3, 0, 0, 1, 5], "max_packets": [9, 2, 1, 3, 7]}
    )
    assert occupancy.distribution(samples).rows() == [("q", 0, 0.5), ("q", 1, 0.75), ("q", 3, 1.0), ("p", 5, 1.0)]
    assert occupancy.summary(samples).rows() == [("q", 1.0, 0, 3, 9), ("p", 5.0, 5, 5, 7)]
