"""Packets across a part of the network, and curves over a period: small tables with worked numbers."""

import polars as pl
import pytest

from daybreak.metrics import crossings, folding


def packets(*rows):
    """Rows of ``packets``: packet, link, arrival_ns, flow, seq, payload."""
    schema = {
        "packet": pl.UInt64, "link_name": pl.String, "arrival_ns": pl.Int64, "flow": pl.UInt32, "seq": pl.UInt64,
        "payload_bytes": pl.UInt32,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(data=pl.lit(True))


def left(*rows):
    """Rows of what `crossings` makes: flow, seq, left_ns, each of 1000 bytes."""
    schema = {"flow": pl.UInt32, "seq": pl.UInt64, "left_ns": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(payload_bytes=pl.lit(1000, pl.UInt32))


THREE = packets(
    (7, "in-1", 1_000, 0, 1, 1000),
    (8, "in-2", 1_500, 1, 1, 1000),
    (9, "in-1", 2_000, 0, 1001, 1000),
    (8, "slow", 9_000, 1, 1, 1000),
    (7, "fast", 5_000, 0, 1, 1000),
    (4, "fast", 6_000, 0, 1, 1000),
)


def test_a_packet_that_came_in_and_left_has_crossed():
    found = crossings.crossings(THREE, entries=["in-1", "in-2"], exits=["slow", "fast"])
    assert found.rows() == [
        (7, 0, True, 1, 1000, "fast", 1_000, 5_000, 4.0), (8, 1, True, 1, 1000, "slow", 1_500, 9_000, 7.5),
    ]  # fmt: skip
    assert found.columns == [
        "packet", "flow", "data", "seq", "payload_bytes", "exit", "entered_ns", "left_ns", "delay_us",
    ]  # fmt: skip
    # 9 is still inside, 4 came in over another link.
    assert found["packet"].to_list() == [7, 8]
    assert found["exit"].to_list() == ["fast", "slow"]
    assert found["delay_us"].to_list() == [4.0, 7.5]


def test_percentiles_are_interpolated_between_packets():
    crossed = pl.DataFrame({"delay_us": [10.0, 20.0, 40.0]})
    assert crossings.percentiles(crossed, at=(0, 50, 75, 100)) == {0: 10.0, 50: 20.0, 75: 30.0, 100: 40.0}
    assert crossings.percentiles(crossed.clear()) == {50.0: None, 99.0: None}
    with pytest.raises(ValueError, match="percentile 101"):
        crossings.percentiles(crossed, at=(101,))


def test_utilisation_counts_the_payload_of_one_way_over_the_time_of_all():
    crossed = packets((1, "fast", 0, 0, 1, 500), (2, "slow", 4_000, 0, 1, 900), (3, "fast", 8_000, 0, 1, 300))
    crossed = crossed.rename({"link_name": "exit", "arrival_ns": "left_ns"})
    # 800 bytes in 8 us are 0.8 Gb/s; the link has 4 Gb/s for a quarter of the time.
    assert crossings.utilisation(crossed, link="fast", rate_bps=4e9, open_share=0.25) == pytest.approx(0.8)
    assert crossings.utilisation(crossed, link="none", rate_bps=4e9, open_share=0.25) == 0
    # 500 bytes in 4 us are 1 Gb/s; one packet alone takes no time.
    assert crossings.utilisation(crossed.head(2), link="fast", rate_bps=4e9, open_share=0.25) == pytest.approx(1)
    assert crossings.utilisation(crossed.head(1), link="fast", rate_bps=4e9, open_share=0.25) == 0
    with pytest.raises(ValueError, match="open_share: 0"):
        crossings.utilisation(crossed, link="fast", rate_bps=4e9, open_share=0)


def test_links_that_are_not_listed_are_named():
    for where in ("entries", "exits"):
        for names, listed in ((["other", "none"], "other, none"), ([], "no link")):
            links = {"entries": ["in-1"], "exits": ["fast"]} | {where: names}
            with pytest.raises(ValueError, match=f"^{where}: no packet in the table has crossed any of {listed}$"):
                crossings.crossings(THREE, **links)
    # Of no packets nothing is wrong.
    assert crossings.crossings(THREE.clear(), entries=["in-1"], exits=["other"]).height == 0
    assert crossings.crossings(THREE, entries=["in-1", "other"], exits=["fast", "other"])["packet"].to_list() == [7]


def test_packets_that_leave_at_once_are_in_the_order_of_their_numbers():
    both = packets((8, "in", 0, 0, 1, 9), (7, "in", 0, 0, 1, 9), (8, "out", 5, 0, 1, 9), (7, "out", 5, 0, 1, 9))
    assert crossings.crossings(both, entries=["in"], exits=["out"])["packet"].to_list() == [7, 8]
    at_once = both.rename({"link_name": "exit", "arrival_ns": "left_ns"}).tail(2)
    assert crossings.utilisation(at_once, link="out", rate_bps=1, open_share=1) == 0


def progress(*rows, **changed):
    settings = {"period_ns": 10_000, "origin_ns": 0, "until_us": 8} | changed
    return folding.progress(left(*rows), **settings)["kilobytes"].to_list()


def test_progress_is_a_line_between_packets_and_flat_beyond():
    found = progress((0, 1, 2_000), (0, 1001, 4_000), (0, 2001, 5_000), (0, 3001, 12_000))
    assert found == [0, 0, 0, 0.5, 1, 2, 2, 2, 2]


def test_what_came_out_of_order_counts_when_the_gap_is_filled():
    found = progress((0, 1, 1_000), (0, 2001, 2_000), (0, 1001, 4_000), (0, 3001, 11_000))
    assert found[1] == 0 and found[4] == 2
    # The line goes to the end of what waited, not to its beginning and up at once.
    assert found[2] == pytest.approx(2 / 3)


def test_what_came_again_does_not_count():
    once = [(0, 1, 1_000), (0, 1001, 3_000), (0, 2001, 12_000)]
    assert progress(*once, (0, 1, 5_000), (0, 1001, 6_000)) == progress(*once)


def test_progress_is_the_mean_of_flows_and_chunks():
    one = [(0, 1, 1_000), (0, 1001, 2_000), (0, 2001, 11_000), (0, 4001, 12_000), (0, 5001, 21_000)]
    assert progress(*one)[2:4] == [1.5, 1.5]
    # A second flow that stands still halves it.
    assert progress(*one, (1, 1, 500), (1, 1001, 25_000))[2:4] == [0.75, 0.75]


def test_chunks_of_several_periods_go_on_and_times_are_shifted():
    rows = [(0, 1, 3_000), (0, 1001, 13_000), (0, 2001, 22_000)]
    found = progress(*rows, periods=2, shift_ns=-1_000, until_us=12)
    assert (found[2], found[7], found[12]) == (0, 0.5, 1)


def test_progress_begins_at_its_origin():
    rows = [(0, 1, 1_000), (0, 1001, 6_000), (0, 3001, 8_000), (0, 9001, 16_000)]
    assert progress(*rows, origin_ns=5_000)[:5] == [0, 0, 1, 2, 2]


def test_a_flow_without_a_whole_window_or_any_payload_has_no_progress():
    assert progress() == [0] * 9
    assert progress((0, 1, 1_000), (0, 1001, 9_999)) == [0] * 9
    # A window ends where the next one begins.
    assert progress((0, 1, 0), (0, 1001, 1_000), (0, 2001, 10_000), (0, 3001, 19_999))[:3] == [0, 1, 1]
    acks = left((0, 1, 1_000), (0, 1001, 3_000), (0, 2001, 12_000)).with_columns(payload_bytes=pl.lit(0, pl.UInt32))
    data = left((0, 1, 2_000), (0, 1001, 4_000), (0, 2001, 12_000))
    settings = {"period_ns": 10_000, "origin_ns": 0, "until_us": 8}
    assert folding.progress(pl.concat([acks, data]), **settings).equals(folding.progress(data, **settings))


def samples(*packets):
    """A sample a microsecond from 1 us on."""
    rows = [("voq", 1_000 * (k + 1), packets[k]) for k in range(len(packets))] + [("other", 1_000, 99)]
    return pl.DataFrame(
        rows, schema={"queue_name": pl.String, "time_ns": pl.UInt64, "packets": pl.UInt32}, orient="row"
    )


def test_occupancy_is_the_mean_at_each_time_of_the_period():
    found = folding.occupancy(samples(1, 2, 3, 5, 6, 7), queue="voq", period_ns=3_000, origin_ns=0, until_us=4)
    assert dict(found.iter_rows()) == {0.0: 5.0, 1.0: 3.0, 2.0: 4.0, 3.0: 5.0, 4.0: 3.0}
    later = folding.occupancy(samples(1, 2, 3, 5, 6, 7), queue="voq", period_ns=3_000, origin_ns=1_000, until_us=2)
    assert dict(later.iter_rows()) == {0.0: 3.0, 1.0: 4.0, 2.0: 5.0}
    assert found.columns == ["time_us", "packets"]
    # Three samples at each time: their mean, in two periods and the beginning of a third.
    thrice = folding.occupancy(samples(1, 0, 2, 0, 6, 0), queue="voq", period_ns=2_000, origin_ns=1_000, until_us=4)
    assert thrice.rows() == [(0.0, 3.0), (1.0, 0.0), (2.0, 3.0), (3.0, 0.0), (4.0, 3.0)]
    with pytest.raises(ValueError, match=r'^queue: table queues has no samples of "none"$'):
        folding.occupancy(samples(1), queue="none", period_ns=3_000, origin_ns=0, until_us=4)


def test_occupancy_may_be_seen_only_now_and_then():
    table = samples(1, 9, 9, 9, 5, 5, 5)
    times = pl.Series([1_000, 5_000, 7_000])
    found = folding.occupancy(table, queue="voq", period_ns=100_000, origin_ns=0, until_us=9, seen_at_ns=times)
    assert dict(found.iter_rows()) == {1.0: 1.0, 2.0: 2.0, 3.0: 3.0, 4.0: 4.0, 5.0: 5.0, 6.0: 5.0, 7.0: 5.0}
    # Between two samples the nearer one is read, in their middle the later one.
    for at, value in ((2_400, 9.0), (1_400, 1.0), (1_600, 9.0), (4_499, 9.0), (4_500, 5.0), (1_500, 9.0)):
        times = pl.Series([at, 7_000])
        found = folding.occupancy(table, queue="voq", period_ns=100_000, origin_ns=0, until_us=9, seen_at_ns=times)
        first = found["packets"][0]
        step = (-(-at // 1000) * 1000 - at) / (7_000 - at)
        assert first == pytest.approx(value + (5 - value) * step)
