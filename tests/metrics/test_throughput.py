import pytest
from tables import bins, flows

from daybreak.metrics import throughput

MS = 1_000_000


def two_flows():
    return flows({"group": "migrated"}, {"group": "main"})


def test_series_is_dense_and_in_gigabits():
    # 1 250 000 bytes in 1 ms are 10 Gb/s
    table = bins(("tap", 0, 0, 1_250_000), ("tap", 1, 2 * MS, 625_000), ("delivered", 0, 0, 9))
    found = throughput.series(table, two_flows(), bin_ns=MS, end_ns=3 * MS)
    assert found.filter(group="migrated")["gbps"].to_list() == [10, 0, 0]
    assert found.filter(group="main")["gbps"].to_list() == [0, 0, 5]
    assert found.filter(group="main")["time_s"].to_list() == [0, 0.001, 0.002]


def test_series_widens_bins_and_adds_up_flows_of_a_group():
    pair = flows({"group": "main"}, {"group": "main"})
    table = bins(("tap", 0, 0, 1_000_000), ("tap", 1, MS, 1_500_000))
    found = throughput.series(table, pair, bin_ns=2 * MS, end_ns=2 * MS)
    assert found["gbps"].to_list() == [10]
    each = throughput.series(table, pair, bin_ns=2 * MS, end_ns=2 * MS, by="flow_name")
    assert each["gbps"].to_list() == [4, 6]


def test_mean_between_counts_only_the_bins_inside():
    table = bins(("tap", 0, 0, 1_250_000), ("tap", 0, MS, 1_250_000), ("tap", 0, 2 * MS, 625_000))
    found = throughput.mean_between(table, two_flows(), from_ns=MS, to_ns=3 * MS)
    assert found.to_dicts() == [{"group": "migrated", "gbps": 7.5}, {"group": "main", "gbps": 0}]
    # A bin that starts where the time ends is no part of it.
    found = throughput.mean_between(table, two_flows(), from_ns=MS, to_ns=2 * MS)
    assert found["gbps"].to_list() == [10, 0]


def test_time_to_reach_is_the_end_of_the_bin():
    table = bins(("tap", 0, 0, 100_000), ("tap", 0, MS, 1_249_000))
    found = throughput.series(table, flows({}), bin_ns=MS, end_ns=3 * MS)
    assert throughput.time_to_reach(found, gbps=9.5) == pytest.approx(0.002)
    assert throughput.time_to_reach(found, gbps=11) is None


def test_errors_name_field_and_value():
    with pytest.raises(ValueError, match="scope: 'link'"):
        throughput.series(bins(), two_flows(), bin_ns=MS, end_ns=MS, scope="link")
    with pytest.raises(ValueError, match="bin_ns: 0"):
        throughput.series(bins(), two_flows(), bin_ns=0, end_ns=MS)
    with pytest.raises(ValueError, match="no column 'group'"):
        throughput.series(bins(), two_flows().drop("group"), bin_ns=MS, end_ns=MS)
