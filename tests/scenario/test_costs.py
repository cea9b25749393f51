"""What a run may cost at most: just as much is taken, and one more is refused with advice that holds."""

import re

import pytest

from daybreak.errors import ScenarioError
from daybreak.scenario import Scenario, Span
from daybreak.scenario.lowering import cost
from daybreak.scenario.traffic import Flow

BETWEEN = [{"name": name, "rate": "1 Gbit/s", "delay": "1 us", "queue": "9 packets"} for name in "abc"]


def scenario(duration="1000 s", records=None, timelines=()):
    return Scenario.parse(
        {
            "name": "cost", "duration": duration, "records": records or {}, "timelines": list(timelines),
            "topology": {"kind": "parallel_links", "access_rate": "1 Gbit/s", "between": BETWEEN},
            "flows": [{"from": "sender-0", "to": "receiver-0", "size": "1 MB"}],
        }
    )  # fmt: skip


def refused(call, *arguments):
    """The sentence and its field; None if it is not refused."""
    try:
        call(*arguments)
    except ScenarioError as error:
        return str(error), error.field
    return None


def too_much(field, interval, what, least):
    """The sentence about an interval of a run of 1000 s, and its field."""
    advice = f"expected at least {least}, or a shorter duration"
    return f"{field} = {interval}: makes {what} in a run of 1000 s: {advice}", field


def entries(*counts):
    return [Flow.model_validate({"from": "a", "to": "b", "size": "1 B", "count": count}) for count in counts]


def test_flows_are_counted_over_all_entries():
    assert refused(cost.refuse_many_flows, entries(100_000, 100_000), [9, 1]) is None
    assert refused(cost.refuse_many_flows, entries(100_000, 1), [10, 1]) == (
        "flows[1].count = 1: makes 1,000,001 flows: expected at most 1,000,000 in all", "flows[1].count",
    )  # fmt: skip
    assert refused(cost.refuse_many_flows, entries(3, 50_000), [1, 20]) == (
        "flows[1].count = 50000 for 20 pairs of hosts: makes 1,000,003 flows: expected at most 1,000,000 in all",
        "flows[1].count",
    )


@pytest.mark.parametrize(("records", "flows", "queues", "of"), [
    # 1000 s are 10^6 ms: 50 queues or flows have 50 million samples.
    ({"queues": "1 ms"}, 1, 50, None), ({"window": "1 ms"}, 50, 1, None), ({"window": "every ack"}, 10**6, 1, None),
    ({"queues": "1 ms"}, 1, 51, ("records.queues", "1 ms", "51,000,000 samples of 51 queues", "1.1 ms")),
    ({"window": "1 ms"}, 60, 1, ("records.window", "1 ms", "60,000,000 samples of 60 flows", "1.3 ms")),
    # Two kinds of bins of payload, and one for each link and tap: 4 * 10^9 are not yet 2^32, 5 * 10^9 are more.
    ({"bins": "1 us", "taps": ["a"], "links": ["b"]}, 1, 1, None),
    ({"bins": "1 us", "taps": ["a", "b"], "links": ["b"]}, 1, 1,
     ("records.bins", "1 us", "5,000,000,000 bins", "1.2 us")),
    ({"bins": "1 us", "taps": ["a", "b"], "links": ["b"], "delivered": False}, 1, 1, None),
    ({"bins": "300 ns"}, 1, 1, ("records.bins", "300 ns", "6,666,666,666 bins", "470 ns")),
])  # fmt: skip
def test_tables_have_no_more_rows_than_fit(records, flows, queues, of):
    found = refused(cost.refuse_short_intervals, scenario(records=records), flows, queues)
    assert found == (of and too_much(*of))


def test_the_advice_is_enough():
    for queues in range(51, 400, 7):
        given = scenario(records={"queues": "1 ms"})
        sentence, _ = refused(cost.refuse_short_intervals, given, 1, queues)
        least = re.search(r"expected at least (.*), or", sentence)[1]
        assert refused(cost.refuse_short_intervals, scenario(records={"queues": least}), 1, queues) is None
        # And no more than a tenth too much.
        less = Span(int(int(Span.parse(least)) / 1.12))
        assert refused(cost.refuse_short_intervals, scenario(records={"queues": str(less)}), 1, queues) is not None


def moves(period, **more):
    return {"kind": "migrate", "group": "flow-0", "between": ["a", "b"], "period": period} | more


ACTIONS = [{"kind": "set_rate", "link": "a", "rate": "1 Gbit/s"}] * 2


@pytest.mark.parametrize(("timelines", "of"), [
    ([moves("50 us")], None),
    ([moves("49 us")], ("timelines[0].period", "49 us", "20,408,163 steps of timelines", "51 us")),
    ([moves("100 us", night="1 us")], None),
    ([moves("99 us", night="1 us")], ("timelines[0].period", "99 us", "20,202,020 steps of timelines", "110 us")),
    # What begins late has fewer.
    ([moves("25 us", start="500 s")], None), ([moves("1 us", start="2000 s")], None),
    ([{"kind": "circuit", "matchings": ["a", "b"], "day": "90 us", "night": "10 us"}], None),
    ([{"kind": "circuit", "matchings": ["a", "b"], "day": "89 us", "night": "10 us"}],
     ("timelines[0].day", "99 us", "20,202,020 steps of timelines", "110 us")),
    ([{"kind": "circuit", "matchings": ["a", "b"], "day": "10 us", "night": "1 us", "week": "200 us"}], None),
    ([{"kind": "circuit", "matchings": ["a", "b"], "day": "10 us", "night": "1 us", "week": "199 us"}],
     ("timelines[0].week", "199 us", "20,100,502 steps of timelines", "210 us")),
    ([{"kind": "program", "period": "200 us", "steps": [{"at": f"{at} us", "do": ACTIONS} for at in (1, 2)]}], None),
    ([{"kind": "program", "period": "199 us", "steps": [{"at": f"{at} us", "do": ACTIONS} for at in (1, 2)]}],
     ("timelines[0].period", "199 us", "20,100,502 steps of timelines", "210 us")),
    ([{"kind": "trace", "links": ["a", "b"], "period": "100 us", "rows": [{"time": "0 s", "delay": "1 us"}]}], None),
    ([{"kind": "trace", "links": ["a", "b"], "period": "99 us", "rows": [{"time": "0 s", "delay": "1 us"}]}],
     ("timelines[0].period", "99 us", "20,202,020 steps of timelines", "110 us")),
    ([{"kind": "trace", "links": ["a", "b"], "rows": [{"time": "0 s", "delay": "1 us"}]}], None),
    # All together: 10 million of one leave as many to the other.
    ([moves("100 us"), moves("100 us", between=["b", "c"])], None),
    ([moves("100 us"), moves("99 us", between=["b", "c"])],
     ("timelines[1].period", "99 us", "20,101,010 steps of timelines", "110 us")),
])  # fmt: skip
def test_timelines_have_no_more_steps_than_a_run_can_have(timelines, of):
    found = refused(cost.refuse_short_intervals, scenario(timelines=timelines), 1, 1)
    assert found == (of and too_much(*of))


@pytest.mark.parametrize(("interval", "counters", "of"), [
    (10**6, 1, None), (2 * 10**6, 2, None),
    (999_999, 1, ("f", "999.999 ns", "1,000,001,000 readings of 1 counter", "1.1 us")),
    (10**6, 3, ("f", "1 us", "3,000,000,000 readings of 3 counters", "3.1 us")),
])  # fmt: skip
def test_controllers_read_no_more_than_a_run_can_take(interval, counters, of):
    found = refused(cost.refuse_frequent_readings, "f", Span(interval), counters, Span.parse("1000 s"))
    assert found == (of and too_much(*of))
