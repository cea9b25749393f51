"""Where the time of a made-up flow has gone, to the nanosecond.

The flow lasts 10 us and its fair share is a byte a nanosecond; a queue begins at ten packets of 100 bytes in flight.
It has 20 from its first ACK at 1 us on, so that time in which nothing else holds it up is queueing.
"""

import polars as pl
import pytest

from daybreak.metrics.explanation import COLUMNS, PARTS, by_group, rows, table

OPEN, RECOVERY, LOSS = "Open", "Recovery", "Loss"
START = {"ramp_up": 1000}
"""Before the first ACK nothing is known to be in flight."""


def parts(
    states,
    *,
    srtt=None,
    lost=(),
    delivered=(),
    tapped=(),
    shares=((0, 10_000, 8_000_000_000),),
    start=0,
    end=10_000,
    bin_ns=1000,
):
    """The parts that are not 0 of a flow: its samples, losses, bytes by bin that arrive in order or at all, shares."""
    schema = {"flow": pl.UInt32, "time_ns": pl.UInt64, "in_flight": pl.UInt32, "state": pl.String, "srtt_ns": pl.UInt64}
    # Each ACK changes the smoothed RTT, unless another is given.
    known = srtt or [500 + number for number in range(len(states))]
    samples = [(0, time, 20, state, rtt) for (time, state), rtt in zip(states, known, strict=True)]
    window = pl.DataFrame(samples, schema=schema, orient="row")
    rows = [("tap", 0, time, size) for time, size in tapped] + [
        ("delivered", 0, time, size) for time, size in delivered
    ]
    schema = {"scope": pl.String, "id": pl.UInt32, "start_ns": pl.UInt64, "bytes": pl.UInt64}
    bins = pl.DataFrame(rows, schema=schema, orient="row")
    schema = {"flow": pl.UInt32, "time_ns": pl.UInt64, "seq": pl.UInt64, "reason": pl.String, "data": pl.Boolean}
    drops = pl.DataFrame([(0, *loss[:3], *(loss[3:] or [True])) for loss in lost], schema=schema, orient="row")
    names = ("flow", "start_ns", "end_ns", "share_bps", "fills_bytes")
    available = pl.DataFrame([(0, *share, 1000 if share[2] else 0) for share in shares], schema=names, orient="row")
    # What else is unknown of a flow, as its completion time alone on its path, is of no consequence.
    flow = {"flow": 0, "flow_name": "f", "group": "g", "variant": "cubic", "ideal_fct_ns": None}
    flows = pl.DataFrame([flow | {"start_ns": start, "end_ns": end, "fct_ns": end - start}])
    found = table(flows, window, bins, drops, available, bin_ns=bin_ns, packet_bytes={0: 100})
    assert by_group(found).select("flows", "fct_ns").row(0) == (1, end - start)
    row = found.row(0, named=True)
    assert sum(row[f"{part}_ns"] for part in PARTS) == row["fct_ns"]
    return {part: row[f"{part}_ns"] for part in PARTS if row[f"{part}_ns"]}


EPISODE = [(1000, OPEN), (3000, RECOVERY), (5000, RECOVERY), (7000, OPEN)]
TIMEOUT = [(1000, OPEN), (3000, OPEN), (5000, LOSS), (7000, OPEN)]


def test_an_episode_lasts_from_its_first_sample_to_the_one_after_its_last():
    assert parts(EPISODE) == START | {"queueing": 2000 + 3000, "spurious_recovery": 4000}
    assert parts(EPISODE[:-1]) == START | {"queueing": 2000, "spurious_recovery": 7000}, "to the end of the flow"
    again = [*EPISODE, (8000, RECOVERY), (9000, OPEN)]
    assert parts(again) == START | {"queueing": 2000 + 1000 + 1000, "spurious_recovery": 5000}


@pytest.mark.parametrize(("reason", "part"), [
    ("queue_full", "fast_recovery"), ("random", "fast_recovery"),
    ("night", "night_loss"), ("gate_closed", "night_loss"), ("hold_full", "night_loss"),
])  # fmt: skip
@pytest.mark.parametrize(("lost", "in_order", "missing"), [
    # From the loss to the end of the bin in which the receiver has all up to it, and the whole episode.
    (2500, 5000, 500 + 4000),
    (6500, 7000, 4000 + 1000),
    (6999, 6000, 4000),
])  # fmt: skip
def test_an_episode_is_of_what_is_missing_at_any_time_in_it(reason, part, lost, in_order, missing):
    # The packet of bytes 501 to 600 is missing until 600 bytes are there; a bin that starts at 5 us ends at 6 us.
    found = parts(EPISODE, lost=[(lost, 501, reason)], delivered=[(1000, 500), (in_order, 100)])
    assert found == START | {part: missing, "queueing": 9000 - missing}


def test_what_is_there_again_before_the_episode_began_is_not_missing_in_it():
    found = parts(EPISODE, lost=[(2500, 501, "queue_full")], delivered=[(1000, 500), (2000, 100)])
    assert found == START | {"fast_recovery": 500, "spurious_recovery": 4000, "queueing": 1500 + 3000}


def test_a_loss_of_a_night_makes_the_episode_the_nights():
    """Whatever else is lost in it; before and after, each loss is its own cause."""
    lost = [(2000, 301, "queue_full"), (4000, 501, "night")]
    found = parts(EPISODE, lost=lost, delivered=[(1000, 300), (5000, 200), (7000, 100)])
    assert found == START | {"queueing": 1000 + 2000, "fast_recovery": 1000, "night_loss": 4000 + 1000}


def test_time_before_state_loss_was_spent_waiting_for_the_timeout():
    found = parts(TIMEOUT, lost=[(2500, 501, "queue_full")], delivered=[(1000, 500), (6000, 100)])
    # From 2.5 us to the ACK at 3 us no timer is awaited yet.
    assert found == START | {"queueing": 1500 + 3000, "fast_recovery": 500, "timeout": 2000 + 2000}
    mixed = [(1000, OPEN), (3000, RECOVERY), (5000, RECOVERY), (7000, LOSS), (8000, OPEN)]
    found = parts(mixed, lost=[(2500, 501, "queue_full")], delivered=[(1000, 500), (7000, 100)])
    assert found == START | {"queueing": 1500 + 2000, "fast_recovery": 500 + 2000, "timeout": 2000 + 1000}


PROBED = [(1000, OPEN), (3000, OPEN), (7000, OPEN), (8000, RECOVERY), (9000, OPEN)]


@pytest.mark.parametrize(
    ("srtt", "of_timer"),
    [
        ([600, 500, 500, 520, 530], 4000),
        ([600, 2000, 2000, 2010, 2020], 4000),
        # An ACK would have changed the smoothed RTT, and a probe waits for two of them.
        ([600, 500, 510, 520, 530], 0),
        ([600, 2001, 2001, 2010, 2020], 0),
    ],
)
def test_time_before_a_tail_loss_probe_was_spent_waiting_for_it(srtt, of_timer):
    """At 7 us the timer of a probe fires, which changes no state; its ACK starts Recovery."""
    found = parts(PROBED, srtt=srtt, lost=[(2500, 501, "queue_full")], delivered=[(1000, 500), (8000, 100)])
    timeout = {"timeout": of_timer} if of_timer else {}
    assert found == START | timeout | {"queueing": 2500, "fast_recovery": 6500 - of_timer}
    night = parts(PROBED, srtt=srtt, lost=[(2500, 501, "night")], delivered=[(1000, 500), (8000, 100)])
    assert night == START | {"queueing": 2500, "night_loss": 6500}
    assert parts(PROBED, srtt=srtt) == START | {"queueing": 8000, "spurious_recovery": 1000}


def test_the_reordering_timer_is_detection():
    """It leaves the smoothed RTT as it was too, and starts Recovery."""
    states = [(1000, OPEN), (3000, OPEN), (7000, RECOVERY), (9000, OPEN)]
    found = parts(
        states, srtt=[510, 500, 500, 505], lost=[(2500, 501, "queue_full")], delivered=[(1000, 500), (8000, 100)]
    )
    assert found == START | {"fast_recovery": 6500, "queueing": 2500}


@pytest.mark.parametrize(("reason", "part"), [("queue_full", "timeout"), ("night", "night_loss")])
@pytest.mark.parametrize(("seq", "is_data"), [(0, True), (None, False)])
def test_a_lost_syn_or_syn_ack_is_missing_until_the_sender_is_connected(reason, part, seq, is_data):
    """A timer repairs both; an ACK of data that is lost later is no loss."""
    states = [(6000, OPEN), (6500, OPEN), (8000, OPEN)]
    lost = [(200, seq, reason, is_data), (7000, None, "queue_full", False)]
    found = parts(states, srtt=[None, 500, 510], lost=lost, delivered=[(7000, 100)])
    assert found == {"ramp_up": 200, part: 6300, "queueing": 3500}


def test_what_is_never_in_order_is_missing_to_the_end():
    found = parts([(1000, OPEN)], lost=[(6000, 501, "queue_full")], delivered=[(1000, 500)])
    assert found == START | {"queueing": 5000, "fast_recovery": 4000}


def test_a_copy_of_what_the_receiver_has_is_not_missing():
    found = parts([(1000, OPEN)], lost=[(6000, 401, "night")], delivered=[(1000, 500)])
    assert found == START | {"queueing": 9000}


def test_the_first_byte_has_the_sequence_number_1():
    """With 500 bytes in order byte 500 is there and byte 501 is not."""
    for seq, missing in ((500, 0), (501, 4000)):
        found = parts([(1000, OPEN)], lost=[(6000, seq, "queue_full")], delivered=[(1000, 500)])
        assert found.get("fast_recovery", 0) == missing


def test_without_a_path_time_is_waited_whatever_else_holds():
    shares = [(0, 4000, 8_000_000_000), (4000, 6000, 0), (6000, 10_000, 8_000_000_000)]
    found = parts(EPISODE, shares=shares)
    assert found == START | {"queueing": 2000 + 3000, "spurious_recovery": 2000, "circuit_wait": 2000}


def test_bytes_are_transfer_by_their_part_of_what_the_share_would_carry():
    # A whole bin, half of one, and more than fits into one, of which no more than the bin counts.
    found = parts([(1000, OPEN)], tapped=[(2000, 1000), (4000, 500), (8000, 3000)])
    assert found == START | {"transfer": 2500, "queueing": 6500}
    # Half of the share is half of the capacity: the same bytes fill the bin.
    halves = [(0, 4000, 8_000_000_000), (4000, 10_000, 4_000_000_000)]
    assert parts([(1000, OPEN)], tapped=[(4000, 500)], shares=halves)["transfer"] == 1000
    # A bin that is half dark carries half.
    dark = [(0, 4000, 8_000_000_000), (4000, 4500, 0), (4500, 10_000, 8_000_000_000)]
    found = parts([(1000, OPEN)], tapped=[(4000, 250)], shares=dark)
    assert found == START | {"transfer": 250, "circuit_wait": 500, "queueing": 8250}


def test_a_flow_that_starts_within_a_bin_has_its_part_of_it():
    found = parts([(1000, OPEN)], tapped=[(0, 200)], start=600)
    assert found == {"transfer": 200, "ramp_up": 200, "queueing": 9000}


def test_a_nanosecond_is_not_lost_in_a_flow_of_a_year():
    """Floats count nanoseconds one by one up to 2^53, which is 104 days."""
    samples = [(1000, OPEN), (2**55, RECOVERY), (2**55 + 1, OPEN)]
    end = 2**55 + 2
    found = parts(samples, shares=[(0, end, 8_000_000_000)], end=end, bin_ns=2**52)
    assert found == START | {"spurious_recovery": 1, "queueing": 2**55 - 999}


@pytest.mark.parametrize(("name", "column"), [("window", "state"), ("shares", "fills_bytes"), ("shares", "share_bps")])
def test_a_table_without_a_column_is_named(name, column):
    tables = {
        "window": pl.DataFrame({"flow": [0], "time_ns": [0], "in_flight": [0], "srtt_ns": [1], "state": [OPEN]}),
        "shares": pl.DataFrame({"flow": [0], "start_ns": [0], "end_ns": [1], "share_bps": [1], "fills_bytes": [1]}),
    }
    tables[name] = tables[name].drop(column)
    with pytest.raises(ValueError, match=f"table {name}: no column '{column}'"):
        table(
            pl.DataFrame(),
            tables["window"],
            pl.DataFrame(),
            pl.DataFrame(),
            tables["shares"],
            bin_ns=1,
            packet_bytes={},
        )


def test_each_flow_has_its_own_samples_losses_bytes_and_packets():
    """Flow 3 is queueing but for a night's loss, flow 5 has too little in flight, flow 4 does not end."""
    named = {"group": "g", "variant": "cubic"}
    flows = pl.DataFrame(
        [
            {"flow": 5, "flow_name": "b", "start_ns": 0, "end_ns": 4000, "fct_ns": 4000} | named,
            {"flow": 4, "flow_name": "c", "start_ns": 0, "end_ns": None, "fct_ns": None} | named,
            {"flow": 3, "flow_name": "a", "start_ns": 0, "end_ns": 6000, "fct_ns": 6000} | named,
        ]
    )
    window = pl.DataFrame(
        {"flow": [5, 3, 4], "time_ns": [1000] * 3, "in_flight": [10] * 3, "srtt_ns": [500] * 3, "state": [OPEN] * 3},
    )
    bins = pl.DataFrame(
        {
            "scope": ["tap", "tap", "delivered", "delivered", "link"], "id": [3, 5, 3, 3, 3],
            "start_ns": [0, 2000, 1000, 4000, 5000], "bytes": [500, 250, 500, 100, 900],
        }
    )  # fmt: skip
    drops = pl.DataFrame(
        {
            "flow": [3, 3, 5], "time_ns": [3000, 1000, 2000], "seq": [501, 601, 1], "reason": ["night"] * 3,
            "data": [True, False, False],
        }
    )  # fmt: skip
    shares = pl.DataFrame(
        [(flow, 0, 6000, 8_000_000_000, 1000) for flow in (4, 3, 5)],
        schema=("flow", "start_ns", "end_ns", "share_bps", "fills_bytes"), orient="row",
    )  # fmt: skip
    found = table(flows, window, bins, drops, shares, bin_ns=1000, packet_bytes={3: 100, 4: 100, 5: 99})
    assert found.columns == ["flow", "flow_name", "group", "variant", "fct_ns", *COLUMNS]
    assert [
        {name: value for name, value in row.items() if value != 0} for row in found.drop("variant").to_dicts()
    ] == [
        {"flow": 5, "flow_name": "b", "group": "g", "fct_ns": 4000, "transfer_ns": 250, "ramp_up_ns": 3750},
        {
            "flow": 3, "flow_name": "a", "group": "g", "fct_ns": 6000, "transfer_ns": 500, "ramp_up_ns": 500,
            "queueing_ns": 3000, "night_loss_ns": 2000,
        },
    ]  # fmt: skip
    summed = by_group(found)
    assert summed.columns == ["group", "flows", "fct_ns", *COLUMNS]
    assert summed.select("group", "flows", "fct_ns", "transfer_ns", "ramp_up_ns").rows() == [
        ("g", 2, 10_000, 750, 4250)
    ]


def test_rows_are_means_of_groups_of_several_flows_and_then_the_first_flows():
    numbers = ("fct_ns", *COLUMNS)
    groups = pl.DataFrame(
        {"group": ["one", "two"], "flows": [1, 2]} | {name: [0, (at + 1) * 10**9] for at, name in enumerate(numbers)}
    )
    flows = pl.DataFrame(
        {"flow_name": ["x", "y", "z"]} | {name: [at * 10**9, 5 * 10**8, 0] for at, name in enumerate(numbers)}
    )
    assert rows(flows, groups, most_flows=2) == [
        ("mean of two", 0.5, [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5]),
        ("x", 0.0, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
        ("y", 0.5, [0.5] * 8),
    ]
