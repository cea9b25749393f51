"""The curves of both engines over each other, and the sorted differences of a suite."""

import pytest
from agreement.made_up import case, observed

from daybreak.agreement import plots
from daybreak.figures import style


def lines_of(axes):
    """Each curve as ms and values, with whether it is dashed and its colour."""
    return [
        (list(line.get_xdata()), list(line.get_ydata()), line.is_dashed(), line.get_color())
        for line in axes.get_lines()
    ]


def test_both_engines_are_in_milliseconds_gigabits_and_kilobytes() -> None:
    """8000 packets of 8948 bytes in 40 bins of 10 ms are 1.431 Gbit/s, and in 20 bins 2.863."""
    kernel, model = [observed(case(), {"cubic-0": 40}, queue=12)], [observed(case(), {"cubic-0": 20}, window=5e4)]
    goodput, in_flight, queue = plots.overlay(case(), kernel, model).axes
    assert [axes.get_ylabel() for axes in (goodput, in_flight, queue)] == [
        "Goodput [Gb/s]", "In flight [kB]", "Queue [packets]",
    ]  # fmt: skip
    assert {axes.get_xlabel() for axes in (goodput, in_flight, queue)} == {"Time [ms]"}
    for axes, of_kernel, of_model in (
        (goodput, 8000 * 8948 * 8 / 0.4 / 1e9, 8000 * 8948 * 8 / 0.2 / 1e9), (in_flight, 100, 50), (queue, 12, 10),
    ):  # fmt: skip
        solid, dashed = lines_of(axes)
        assert (solid[2], dashed[2]) == (False, True)
        assert solid[0] == pytest.approx([10.0 * slot for slot in range(40)])
        assert dashed[0] == pytest.approx([10.0 * slot for slot in range(20)])
        assert solid[1] == pytest.approx([of_kernel] * 40) and dashed[1] == pytest.approx([of_model] * 20)


def test_a_group_has_one_colour_on_both_engines_and_its_flows_are_added_up() -> None:
    mixed = case(flows="cubic+bbr+cubic")
    runs = [observed(mixed, {"cubic-0": 20, "bbr-1": 20, "cubic-2": 20}, window=3e4)]
    _, in_flight, queue = plots.overlay(mixed, runs, runs).axes
    bbr, cubic, *again = lines_of(in_flight)
    assert (bbr[1], cubic[1]) == (pytest.approx([30.0] * 20), pytest.approx([60.0] * 20))
    assert [line[3] for line in (bbr, cubic)] == [style.CYCLE[1], style.CYCLE[0]] == [line[3] for line in again]
    assert [line[2] for line in again] == [True, True]
    assert [line[3] for line in lines_of(queue)] == [style.CYCLE[-1]] * 2


def test_runs_have_a_mean_with_its_interval_and_what_has_ended_counts_as_nothing() -> None:
    kernel = [observed(case(), {"cubic-0": length}, queue=queue) for length, queue in ((10, 10), (20, 30))]
    _, in_flight, queue = plots.overlay(case(), kernel, kernel[:1]).axes
    (times, means, *_), (alone, *_) = lines_of(queue)
    assert means == pytest.approx([20.0] * 10 + [15.0] * 10) and times[-1] == pytest.approx(190) and len(alone) == 10
    # t(1) = 12.706 times the standard error 10, in the bins of both runs; one run of the model has no interval.
    (band,) = queue.collections
    at_start = [y for x, y in band.get_paths()[0].vertices if x == 0]
    assert (min(at_start), max(at_start)) == (
        pytest.approx(20 - 127.06, abs=0.01),
        pytest.approx(20 + 127.06, abs=0.01),
    )
    assert max(x for x, _ in band.get_paths()[0].vertices) == pytest.approx(190)
    assert (queue.get_xlim()[0], queue.get_ylim()[0], len(in_flight.collections)) == (0, 0, 1)


def test_differences_are_sorted_percent_of_completion_times_only() -> None:
    rows = [{"metric": "fct", "relative": one} for one in (0.04, -0.01, None, 0.5, 0.0)]
    rows.append({"metric": "queue", "relative": 9.0})
    (axes,) = plots.differences(rows).axes
    steps, limits = axes.get_lines()
    assert list(steps.get_xdata()) == pytest.approx([0, 1, 4, 50])
    assert list(steps.get_ydata()) == [25, 50, 75, 100]
    # Half of the rows within 2 %, nine of ten within 6 %.
    assert list(zip(*map(list, limits.get_data()), strict=True)) == [(2, 50), (6, 90)]
    assert (axes.get_xlim()[0], axes.get_ylim()) == (0, (0, 100))
