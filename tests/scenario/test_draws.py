"""What is random in a scenario has the distribution that it asks for."""

import itertools
import math
import statistics

import pytest

from daybreak._native import Stream
from daybreak.scenario.lowering import lower

US = 10**6


def starts(scenario, time, seeds):
    scenario = scenario.with_({"flows.0.start": time})
    return [lower(scenario, seed).content.flows[0].start_ps for seed in seeds]


@pytest.mark.parametrize(("low", "high"), [("0 ns", "3 ns"), ("7 ns", "8 ns"), ("5 ns", "5 ns")])
def test_a_uniform_time_may_be_each_of_its_ends(one_flow, low, high):
    first, last = int(low.split()[0]), int(high.split()[0])
    drawn = starts(one_flow, {"uniform": [low, high]}, range(100))
    assert sorted(set(drawn)) == [ns * 1000 for ns in range(first, last + 1)]


def test_a_uniform_time_is_even(one_flow):
    drawn = starts(one_flow, {"uniform": ["2 us", "4 us"]}, range(1000))
    # The mean of n draws over a width w has the standard error w / sqrt(12 n): 18 ns here. Four of them.
    assert statistics.fmean(drawn) == pytest.approx(3 * US, abs=4 * 0.0183 * US)
    quarters = [sum(low <= time < low + US // 2 for time in drawn) for low in range(2 * US, 4 * US, US // 2)]
    assert all(abs(count - 250) < 4 * math.sqrt(250 * 0.75) for count in quarters)


def test_an_exponential_time_has_its_mean_and_its_shape(one_flow):
    drawn = starts(one_flow, {"exponential": "100 us"}, range(1000))
    # The standard deviation is the mean, so that of n draws is mean / sqrt(n).
    assert statistics.fmean(drawn) == pytest.approx(100 * US, rel=4 / math.sqrt(1000))
    for part in (0.1, 0.5, 0.9):
        below = sum(time < -math.log(1 - part) * 100 * US for time in drawn)
        assert abs(below - 1000 * part) < 4 * math.sqrt(1000 * part * (1 - part))


def test_an_exponential_time_is_the_inverse_of_its_distribution(one_flow):
    for seed, drawn in enumerate(starts(one_flow, {"exponential": "100 us"}, range(20))):
        # To whole nanoseconds, of one number of the flow's own stream.
        assert drawn == round(-math.log(1 - Stream(seed, "flow/flow-0/start").unit()) * 100_000) * 1000


def test_times_between_arrivals_are_drawn_one_by_one(one_flow):
    sizes = {"choice": ["1 kB"], "total": "1 MB", "max_flows": 1000}
    generator = {"name": "a", "from": "sender-0", "to": "receiver-0", "every": {"exponential": "50 us"}, "sizes": sizes}
    flows = lower(one_flow.with_({"flows": [], "arrivals": [generator]}), 3).content.flows
    times = [flow.start_ps for flow in flows]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert times[0] == 0 and len(set(gaps)) > 900
    assert statistics.fmean(gaps) == pytest.approx(50 * US, rel=4 / math.sqrt(999))
