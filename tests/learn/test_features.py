"""What a model is given of a setting: each number by what it means."""

import numpy as np
import pytest
from made_up import SETTING

from daybreak.learn import features, fluid, stalls
from daybreak.learn.columns import columns


def row(**changes):
    return dict(zip(features.NAMES, features.matrix([SETTING | changes])[0], strict=True))


def test_a_matrix_has_a_row_a_setting_and_its_names():
    found = features.matrix([SETTING, SETTING | {"hz": 250}])
    assert found.shape == (2, len(features.NAMES)) and np.isfinite(found).all()
    assert row()["migrated_cubic"] == row()["main_reno"] == 1 and row()["main_cubic"] == 0


def test_cycles_are_counted_in_periods_not_in_days():
    ideal_ms = 64 * 2**20 * 8 / 1e7
    found = row(period_ms=10.0, night_ms=2.0, downtime="hold")
    assert np.exp(found["cycles"]) == pytest.approx(ideal_ms / 10)
    assert found["duty"] == pytest.approx(0.8) and np.exp(found["ideal"]) == pytest.approx(ideal_ms)


@pytest.mark.parametrize("change", [{"hz": 250}, {"start_ms": 4.0}, {"downtime": "hold"}, {"rtt_us": 41.0}])
def test_every_input_changes_what_the_model_sees(change):
    night = {"night_ms": 1.0, "downtime": "drop"}
    assert row(**night) != row(**night | change)


def test_no_flow_moves_before_the_first_move():
    """The first move is a period after the start of the first period."""
    ideal_ms = 64 * 2**20 * 8 / 1e7
    assert row(period_ms=ideal_ms - 9, start_ms=14.0)["is_unmoved"] == 1
    assert row(period_ms=ideal_ms - 9, start_ms=4.0)["is_unmoved"] == 0


def simulated(setting, share, step=4e-3):
    """Two fluids, step by step."""
    one = columns([setting])
    sent, ended, now = [0.0, 0.0], [None, None], 0.0
    while None in ended:
        since = now - one.first[0]
        move, inside = divmod(since, one.period[0])
        is_dark = since >= 0 and inside < one.night[0]
        is_shared = since >= 0 and move % 2 == 0 and ended == [None, None]
        rates = [0.0 if is_dark else share if is_shared else 1.0, 1 - share if is_shared and not is_dark else 1.0]
        for which in (0, 1):
            sent[which] += rates[which] * step
            if ended[which] is None and sent[which] >= one.ideal[0]:
                ended[which] = now
        now += step
    return ended


@pytest.mark.parametrize("share", fluid.SHARES)
@pytest.mark.parametrize("changes", [
    {}, {"period_ms": 7.3, "night_ms": 1.4, "start_ms": 3.0, "downtime": "hold"}, {"period_ms": 60.0},
])  # fmt: skip
def test_fluids_end_when_a_simulation_of_them_does(share, changes):
    found = fluid.completion(columns([SETTING | changes]), share)
    assert [float(one[0]) for one in found] == pytest.approx(simulated(SETTING | changes, share), abs=0.01)


def test_the_part_of_a_span_that_is_night():
    one = columns([SETTING | {"night_ms": 2.0, "downtime": "drop"}])
    for low, high, wanted in ((0, 2, 1), (2, 10, 0), (1, 3, 0.5), (0, 10, 0.2), (11, 13, 0.5), (-0.0, 100, 0.2)):
        assert stalls.in_night(one, np.array([low]), np.array([high]))[0] == pytest.approx(wanted)


def test_a_probe_after_the_night_saves_the_timeout():
    """62 us of night are over before any probe leaves; 15 ms are not."""
    short = row(period_ms=20.0, night_ms=0.062, downtime="drop")
    long = row(period_ms=20.0, night_ms=15.0, downtime="drop")
    assert short["probe_lost_empty"] < 0.01 and np.exp(short["stall_empty"]) < 5
    assert long["probe_lost_empty"] == 1 and np.exp(long["stall_empty"]) > 200


def test_timeouts_that_are_a_multiple_of_the_period_are_lost_again():
    """250 ticks a second: a timeout is 4 ms late at most, so its place in a cycle of 100 ms is known."""
    cycle = {"night_ms": 20.0, "downtime": "drop", "hz": 250, "rtt_us": 40.0}
    met, missed = row(period_ms=100.0, **cycle), row(period_ms=140.0, **cycle)
    assert met["rto_lost_empty"] == 0 or met["probe_lost_empty"] == 1
    assert met["rto_lost_empty"] > 0.3 > missed["rto_lost_empty"]
    assert met["rto_empty"] > missed["rto_empty"]


def test_a_stall_is_the_sum_of_what_follows_each_timer_that_meets_a_night():
    """Worked by hand: 250 ticks a second, periods of 150 ms with 65 ms of night, a round trip of 40 us."""
    found = row(period_ms=150.0, night_ms=65.0, downtime="drop", hz=250, rtt_us=40.0, buffer_packets=1000)
    # The probe leaves two ticks of 4 ms after the last ACK, or three: in the night, which lasts 65 ms.
    probe, late = 0.04 + 8, 0.04 + 12
    assert late < 65 and found["probe_lost_empty"] == 1
    assert np.exp(found["probe_period_empty"]) == pytest.approx((probe + late) / 2 / 150)
    assert np.exp(found["probe_night_empty"]) == pytest.approx((probe + late) / 2 / 65)
    # The timeout is 50 ticks, up to one of rounding and one more later: from 210.08 to 218.08 ms. Nights begin every
    # 150 ms, so that the first 4.92 ms of these are night.
    first = (probe + late) / 2 + 0.04 + 200
    assert found["rto_lost_empty"] == pytest.approx((215 - first) / 8)
    # Twice as long, it is rounded to 8 ticks: from 610.08 to 646.08 ms, in the night from 600 to 665.
    assert found["second_lost_empty"] == 1 and found["both_lost_empty"] == pytest.approx(found["rto_lost_empty"])
    # From 1410.08 to 1446.08 ms; the night is over at 1415.
    assert found["third_lost_empty"] == pytest.approx((1415 - first - 1200) / 36)
    lost = [found[f"{name}_lost_empty"] for name in ("rto", "second", "third")]
    rto = 202 + lost[0] * (400 + 16 + lost[1] * (800 + 16 + lost[2] * 3000))
    assert np.exp(found["rto_empty"]) == pytest.approx(rto) == pytest.approx(np.exp(found["stall_empty"]))
    # With full buffers a round trip is 7.23 ms longer, and the probe waits for two of them.
    full = 0.04 + 1000 * 9038 * 8 / 1e7
    assert np.exp(found["night_rtt_full"]) == pytest.approx(65.005 / full)
    assert np.exp(found["probe_period_full"]) * 150 == pytest.approx(full + (round(2 * full / 4) + 2) * 4 + 2)


def test_without_a_night_nothing_is_lost():
    found = row(period_ms=10.0)
    assert all(found[f"{name}_lost_{queue}"] == 0 for name in ("probe", "rto", "second") for queue in ("empty", "full"))
    assert found["stall_full"] == found["rto_full"] == found["dark_part"] == 0


def test_ratios_are_those_of_the_times_that_they_name():
    """10 Gbit/s, 2 flows, 250 packets of 9038 bytes, a round trip of 400 us: 1.8 ms of buffer, and 55 packets."""
    night = {"period_ms": 30.0, "night_ms": 3.0, "start_ms": 6.0, "hz": 250, "downtime": "hold"}
    flows = {"migrated_flows": 2, "main_flows": 2, "migrated_mib": 128.0, "main_mib": 128.0}
    found = row(rtt_us=400.0, **night, **flows)
    packet, ideal = 9038 * 8 / 1e7, 128 * 2**20 * 8 / 1e7
    buffer, bdp = 250 * packet, 0.4 / packet
    wanted = {
        "ideal": ideal, "cycles": ideal / 30, "buffer_bdp": 250 / bdp, "window": (250 + bdp) / 4, "buffer_flow": 125,
        "bdp_flow": bdp / 2 + 0.1, "day_full": 27 / (buffer + 0.4), "night_full": 3.005 / (buffer + 0.4),
        "night_rtts": 3.005 / 0.4, "day_rtts": 27 / 0.4, "period_ticks": 30 / 4, "night_ticks": 3.005 / 4,
        "timeout_ideal": 200 / ideal,
        # Flows start after 2.5 ms on average, and the first move is at 36 ms.
        "first_ideal": 33.5 / ideal, "first_rtts": 33.5 / 0.4,
    }  # fmt: skip
    assert {name: np.exp(found[name]) for name in wanted} == pytest.approx(wanted)
    plain = {
        "duty": 0.9, "held": 3 / buffer, "held_window": (buffer + 0.4) / buffer, "first_part": 33.5 / ideal,
        # 200 ms are 6 periods and two thirds.
        "timeout_apart": 1 / 3, "timeout_phase": 2 / 3, "phase": 0.2, "flows": 2, "is_hold": 1, "is_drop": 0,
    }  # fmt: skip
    assert {name: found[name] for name in plain} == pytest.approx(plain)
    # Each flow's window is sent again in slow start, and then twice the buffer is.
    again = 0.4 * np.log2(127) + buffer
    assert np.exp(found["recovery_day"]) == pytest.approx(again / 27)
