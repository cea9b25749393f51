"""How differences of two engines are judged: to both sides, at the very limit, over several bottlenecks and runs."""

import math

import polars as pl
import pytest
from agreement.made_up import case, observed

import daybreak
from daybreak.agreement import result, scenarios, tolerances
from daybreak.agreement.compare import MISS, NOT_EVALUATED, PASS, Row, compare
from daybreak.agreement.observed import Observation, grouped, of_run
from daybreak.agreement.tolerances import Target, Tolerance, Tolerances
from daybreak.metrics.confidence import interval

LIMITS = tolerances.load()


@pytest.mark.parametrize("kernel", [200.0, -200.0])
@pytest.mark.parametrize(("limits", "margin"), [
    ({"relative": 0.1}, 20.0),
    ({"absolute": 5.0}, 5.0),
    # The wider of two.
    ({"relative": 0.1, "absolute": 5.0}, 20.0),
    ({"relative": 0.1, "absolute": 30.0}, 30.0),
])  # fmt: skip
def test_a_difference_is_tolerated_up_to_the_margin_to_both_sides(kernel, limits, margin):
    tolerance = Tolerance(**limits)
    assert tolerance.margin(kernel) == margin
    for sign in (1, -1):
        assert tolerance.holds(sign * margin, kernel) and not tolerance.holds(sign * margin * 1.001, kernel)


def test_a_kernel_without_any_tolerates_only_what_is_small_in_itself():
    assert Tolerance(relative=0.1).holds(0.0, 0.0) and not Tolerance(relative=0.1).holds(0.001, 0.0)
    assert Tolerance(relative=0.1, absolute=1.0).holds(-1.0, 0.0)


def row(name, kernel, model, *, metric="fct", judgement=None):
    """A row of single values, with the verdict that the tolerances give."""
    difference = model - kernel
    verdict = PASS if LIMITS.metric[metric].holds(difference, kernel) else MISS
    return Row(
        name, metric, "", "ms", interval([kernel]), interval([model]), difference,
        difference / kernel if kernel else math.nan, verdict, judgement=judgement,
    )  # fmt: skip


def test_the_worst_are_the_furthest_off_to_either_side():
    rows = [row("a", 100, 110), row("b", 100, 70), row("c", 100, 120), row("d", 100, 103), row("e", 100, math.nan)]
    # Misses of a metric without a target are not listed.
    rows.append(row("f", 100, 900, metric="timeouts"))
    assert [one.scenario for one in result.worst(rows, LIMITS)] == ["e", "b", "c", "a"]
    many = [row(f"{number:02}", 100, 110 + number) for number in range(12)]
    assert [one.scenario for one in result.worst(many, LIMITS)] == [f"{number:02}" for number in range(11, 1, -1)]
    # What counts is how often the tolerance fits: 20 segments of 10 are less than 10 ms of 100.
    both = [row("segments", 10, 31, metric="retransmissions"), row("time", 100, 110)]
    assert [one.scenario for one in result.worst(both, LIMITS)] == ["time", "segments"]


def reached(statistic, limit, rows):
    one = Tolerances(metric=LIMITS.metric, target=(Target(metric="fct", statistic=statistic, limit=limit),))
    found = result.document(
        rows, [], runs=(1, 1), programs={}, tolerances=one, causes=[], refused={}
    )  # fmt: skip
    (target,) = found["targets"]
    return target["value"], target["rows"], target["verdict"]


def test_a_target_is_reached_at_its_limit():
    # Four of five within 6 %; the model is as often below as above.
    rows = [row("a", 100, 99), row("b", 100, 102), row("c", 100, 96), row("d", 100, 105), row("e", 100, 80)]
    rows.append(row("f", 100, 900, metric="timeouts"))
    assert reached("agreeing", 0.8, rows) == (0.8, 5, PASS)
    assert reached("agreeing", 0.81, rows) == (0.8, 5, MISS)
    # Of 1, 2, 4, 5 and 20 %.
    assert reached("median", 0.04, rows) == (0.04, 5, PASS)
    assert reached("median", 0.039, rows) == (0.04, 5, MISS)
    assert reached("p90", 0.2, rows) == (0.2, 5, PASS)
    assert reached("median", 0.04, []) == (None, 0, NOT_EVALUATED)


def test_a_flow_that_ends_on_one_engine_only_is_as_far_off_as_can_be():
    rows = [row("a", 100, 101), row("b", 100, 101), row("c", 100, math.nan)]
    assert reached("median", 0.02, rows)[0] == 0.01
    assert reached("p90", 0.02, rows)[2] == MISS


def test_what_is_judged_different_counts_as_a_part_of_all():
    rows = [
        row("a", 100, 101, judgement=judgement) for judgement in ("different", "equivalent", "undecided", "different")
    ]
    assert reached("different", 0.5, rows) == (0.5, 4, PASS)
    assert reached("different", 0.49, rows) == (0.5, 4, MISS)


def test_the_queues_of_a_moved_case_may_differ_by_a_tenth_of_both_buffers():
    moved = case(flows="2 cubic", packets=4000, period="20 ms")
    assert len(scenarios.bottlenecks(moved)) == 2

    def verdict(queue):
        kernel, model = ([observed(moved, {"main-0": 60, "moved-1": 60}, queue=one)] for one in (10, queue))
        return {found.metric: found.verdict for found in compare(moved, kernel, model, LIMITS)}["queue"]

    # Two buffers of 50 packets.
    assert (verdict(20), verdict(21)) == (PASS, MISS)


def test_the_share_counts_the_bin_in_which_the_first_flow_ends():
    """To its last byte: a flow has then all of its bytes, and the other what it got in the same bins."""
    mixed = case(flows="cubic+bbr", packets=4000)
    kernel = [observed(mixed, {"cubic-0": 3, "bbr-1": 1})]
    found = {(one.metric, one.of): one for one in compare(mixed, kernel, kernel, LIMITS)}
    assert found["share", "cubic"].kernel.mean == pytest.approx(100 * (1 / 3) / (1 / 3 + 1))


def test_shares_do_not_depend_on_the_order_of_the_rows():
    """A flow that is fast at first and then waits has its last byte in its last bin, wherever that stands."""
    mixed = case(flows="cubic+bbr", packets=4000)
    one = observed(mixed, {"cubic-0": 6, "bbr-1": 4})
    size = one.flows["bytes"][0]
    early = pl.when((pl.col("of") == "bbr-1") & (pl.col("slot") == 0)).then(size * 0.7)
    late = pl.when((pl.col("of") == "bbr-1") & (pl.col("slot") > 0)).then(size * 0.1)
    curves = one.curves.with_columns(value=pl.coalesce(early, late, "value"))
    shares = []
    for table in (curves, curves.reverse()):
        runs = [Observation(one.flows, table)]
        found = {(row.metric, row.of): row for row in compare(mixed, runs, runs, LIMITS)}
        shares.append(found["share", "cubic"].kernel.mean)
    assert shares == [pytest.approx(100 * (4 / 6) / (4 / 6 + 1))] * 2


def test_several_flows_of_a_group_share_together():
    three = case(flows="2 cubic+bbr", packets=4000)
    kernel = [observed(three, {"cubic-0": 40, "cubic-1": 40, "bbr-2": 40})]
    found = {(one.metric, one.of): one for one in compare(three, kernel, kernel, LIMITS)}
    assert found["share", "cubic"].kernel.mean == pytest.approx(200 / 3)


def test_the_last_sample_of_a_bin_and_all_bytes_of_it_are_kept():
    one = case(packets=200)
    document = scenarios.scenario(one).document()
    width = scenarios.bin_width(one).seconds
    finer = document | {
        "records": document["records"] | dict.fromkeys(("window", "queues"), f"{width * 1000000.0 / 10:g} us")
    }
    run = daybreak.run(daybreak.Scenario.parse(finer))
    curves = of_run(run).curves
    bin_ns = round(width * 1e9)
    (flow,) = run.flows.iter_rows(named=True)
    delivered = curves.filter(curve="delivered")
    assert delivered["value"].sum() == flow["bytes"]
    samples = run.window.with_columns(slot=pl.col("time_ns").cast(pl.Int64) // bin_ns)
    last = {slot: some.sort("time_ns")["bytes_in_flight"][-1] for (slot,), some in samples.group_by("slot")}
    kept = dict(curves.filter(curve="in_flight").select("slot", "value").iter_rows())
    assert kept == last and len(kept) > 3
    # The window changes within bins, so that another sample would be another curve.
    first = {slot: some.sort("time_ns")["bytes_in_flight"][0] for (slot,), some in samples.group_by("slot")}
    assert first != last


def test_curves_of_a_group_add_up_its_flows_run_by_run():
    two = case(flows="2 cubic", packets=4000)
    runs = [observed(two, {"cubic-0": 4, "cubic-1": 2}, window=window) for window in (10.0, 20.0)]
    curves = grouped(runs, "in_flight")
    assert curves == {"cubic": [{0: 20.0, 1: 20.0, 2: 10.0, 3: 10.0}, {0: 40.0, 1: 40.0, 2: 20.0, 3: 20.0}]}
    queues = pl.concat([runs[0].curves, runs[0].curves.filter(curve="queue").with_columns(of=pl.lit("other"))])
    both = Observation(runs[0].flows, queues)
    assert grouped([both, runs[1]], "queue")[""][0] == dict.fromkeys(range(4), 20.0)
    assert grouped([both, runs[1]], "queue")[""][1] == dict.fromkeys(range(4), 10.0)


@pytest.mark.parametrize("name", ["loss", "ack_loss"])
def test_a_link_may_lose_anything_but_all(name):
    assert getattr(case(**{name: 0.99}), name) == 0.99
    for value in (-0.01, 1.0):
        with pytest.raises(ValueError, match=name):
            case(**{name: value})
