"""Measures by name: what axes are labelled with, in which unit, and where intervals end; and one number a run."""

import polars as pl
import pytest

from daybreak.metrics import measures


@pytest.mark.parametrize(("name", "label", "unit", "most"), [
    ("fct", "mean FCT", "s", None), ("fct.mean", "mean FCT", "s", None), ("fct.p99", "p99 FCT", "s", None),
    ("fct.p99.9", "p99.9 FCT", "s", None), ("fct.max", "greatest FCT", "s", None),
    ("slowdown.p50", "p50 slowdown", "", None), ("goodput.mean", "mean goodput", "Gbit/s", None),
    ("retransmits", "retransmissions per flow", "", None), ("rtos", "timeouts per flow", "", None),
    # Neither can exceed 1, and an interval around them does not either.
    ("jain", "Jain's index", "", 1.0), ("complete", "share of flows that ended", "", 1.0),
])  # fmt: skip
def test_a_measure_has_words_a_unit_and_the_most_that_it_can_be(name, label, unit, most):
    found = measures.measure(name)
    assert (found.label, found.unit, found.most) == (label, unit, most)


@pytest.mark.parametrize("name", ["fct.p0", "fct.p101", "fct.p1e1", "fct.min", "jain.mean", "goodputs", "", "fct.99"])
def test_what_is_no_measure_is_one_sentence_with_all_that_are(name):
    with pytest.raises(ValueError, match="is no measure") as caught:
        measures.measure(name)
    assert str(caught.value) == (
        f'"{name}" is no measure: expected fct, slowdown or goodput with .mean, .max or a percentile such as .p99; or '
        "retransmits, rtos, jain, complete"
    )


def of(name, *rows):
    """The value of a measure of runs, each of which is a list of (bytes, ns from the start at 100 ns to the end)."""
    flows = pl.DataFrame(
        [
            {
                "run": run, "bytes": size, "start_ns": 100, "end_ns": None if fct is None else 100 + fct, "fct_ns": fct,
                "ideal_fct_ns": None if size is None else size, "retransmits": 3, "rtos": 1,
            }
            for run, some in enumerate(rows) for size, fct in some
        ],
        schema=dict.fromkeys(
            ("run", "bytes", "start_ns", "end_ns", "fct_ns", "ideal_fct_ns", "retransmits", "rtos"), pl.Int64
        ),
    )  # fmt: skip
    return measures.of_runs(flows, name, by=["run"]).rows()


def test_each_run_has_its_own_number_in_the_order_of_the_runs():
    runs = [(1000, 4000), (1000, 2000)], [(1000, 1000)], [(1000, 8000), (1000, None)]
    for name, first in (("fct.mean", 3e-6), ("fct.max", 4e-6)):
        assert [run for run, _ in of(name, *runs)] == [0, 1, 2]
        assert [value for _, value in of(name, *runs)] == [pytest.approx(first), pytest.approx(1e-6), None]
    assert of("slowdown", *runs) == [(0, 3.0), (1, 1.0), (2, None)]
    assert of("complete", *runs) == [(0, 1.0), (1, 1.0), (2, 0.5)]
    # 8000 bits in 4 and 2 us: 2 and 4 Gbit/s, and Jain's index of these is 36 / (2 * 20).
    assert of("goodput.mean", *runs[:2]) == [(0, 3.0), (1, 8.0)] and of("jain", *runs[:1]) == [(0, 0.9)]
    # As slow as kilobits a second: the index has no unit.
    assert of("jain", [(1000, 4 * 10**9), (1000, 2 * 10**9)]) == [(0, pytest.approx(0.9))]


def test_the_kth_percentile_is_the_least_that_k_percent_do_not_exceed():
    run = [(1000, 1000 * at) for at in range(1, 11)]
    of_run = {name: of(f"fct.{name}", run)[0][1] * 1e6 for name in ("p10", "p10.1", "p50", "p99", "p100", "max")}
    assert of_run == pytest.approx({"p10": 1, "p10.1": 2, "p50": 5, "p99": 10, "p100": 10, "max": 10})
    slow_first = {name: of(f"goodput.{name}", run)[0][1] for name in ("p10", "p100")}
    assert slow_first == pytest.approx({"p10": 0.8, "p100": 8})


def test_flows_without_a_size_have_no_completion_times_and_complete_nothing():
    endless = [(None, None), (None, None)]
    for name in ("fct.mean", "fct.p50", "slowdown.mean", "complete"):
        assert of(name, endless) == [(0, None)]
    assert of("retransmits", endless) == [(0, 3.0)] and of("rtos", endless) == [(0, 1.0)]


@pytest.mark.parametrize(("counts", "percentiles", "sentence"), [
    ([100], [99], None), ([99], [99], "p99 below 100 flows"), ([2], [50], None), ([1], [50], "p50 below 2 flows"),
    # The 97th of a hundred is one of 33.3: of 33 flows it is the greatest, of 34 it is the last but one.
    ([33], [97], "p97 below 34 flows"), ([34], [97], None),
    ([9], [50, 90, 99], "p90 below 10 flows, p99 below 100 flows"), ([500, 10, 30], [90], None),
    ([500, 9, 30], [90], "p90 below 10 flows"),
    # A group without a flow has no percentile that could be one flow's.
    ([0, 100], [99], None), ([], [99], None),
])  # fmt: skip
def test_a_percentile_of_fewer_flows_than_it_divides_is_the_greatest(counts, percentiles, sentence):
    said = f"with few flows a percentile is the maximum: {sentence}" if sentence else None
    assert measures.few_flows(counts, percentiles) == said
