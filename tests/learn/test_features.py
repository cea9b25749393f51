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
