import math

import pytest
from agreement.made_up import case, observed

from daybreak.agreement import causes, result, tolerances
from daybreak.agreement.compare import MISS, NOT_EVALUATED, PASS, Row, compare

LIMITS = tolerances.load()


def rows_of(kernel: list, model: list, of_case=None) -> dict[tuple[str, str], Row]:
    return {(row.metric, row.of): row for row in compare(of_case or case(), kernel, model, LIMITS)}


def test_equal_runs_agree_in_everything() -> None:
    runs = [observed(case(), {"cubic-0": length}, retransmits=40, rtos=1) for length in (60, 62)]
    rows = rows_of(runs, runs)
    assert {row.verdict for row in rows.values()} == {PASS}
    assert {row.difference for row in rows.values()} == {0.0}
    assert rows["fct", "cubic"].kernel.mean == pytest.approx(610.0)


@pytest.mark.parametrize(
    ("change", "metric", "verdict"),
    [
        ({"length": 63}, "fct", PASS),
        ({"length": 64}, "fct", MISS),
        ({"retransmits": 60}, "retransmissions", PASS),
        ({"retransmits": 61}, "retransmissions", MISS),
        ({"rtos": 2}, "timeouts", PASS),
        ({"rtos": 3}, "timeouts", MISS),
        ({"window": 1.14e5}, "window", PASS),
        ({"window": 1.16e5}, "window", MISS),
        # A tenth of 50 packets of buffer.
        ({"queue": 15}, "queue", PASS),
        ({"queue": 16}, "queue", MISS),
    ],
)
def test_verdicts_turn_at_the_tolerance(change: dict, metric: str, verdict: str) -> None:
    base = {"retransmits": 40, "rtos": 1}
    length = change.pop("length", 60)
    kernel = [observed(case(), {"cubic-0": 60}, **base)]
    model = [observed(case(), {"cubic-0": length}, **(base | change))]
    found = {row.metric: row for row in compare(case(), kernel, model, LIMITS)}
    assert found[metric].verdict == verdict


@pytest.mark.parametrize(("queue", "verdict"), [(20, PASS), (21, MISS)])
def test_two_paths_have_two_buffers_of_which_a_tenth_is_tolerated(queue: int, verdict: str) -> None:
    moved = case(flows="cubic+cubic", period="1 ms")
    kernel, model = ([observed(moved, {"cubic-0": 60, "cubic-1": 60}, queue=of)] for of in (10, queue))
    found = {row.metric: row for row in compare(moved, kernel, model, LIMITS)}
    assert found["queue"].verdict == verdict


def test_shares_are_taken_until_the_first_flow_is_complete() -> None:
    mixed = case(flows="cubic+bbr", packets=4000)
    kernel = [observed(mixed, {"cubic-0": 80, "bbr-1": 40})]
    even = [observed(mixed, {"cubic-0": 60, "bbr-1": 60})]
    row = rows_of(kernel, even, mixed)["share", "cubic"]
    # In the 40 bins of BBR, CUBIC brings half of what BBR does.
    assert (row.kernel.mean, row.model.mean) == (pytest.approx(100 / 3), pytest.approx(50))
    assert row.verdict == MISS
    assert rows_of(kernel, kernel, mixed)["share", "cubic"].verdict == PASS
    # The bin in which it is complete counts as well: half of CUBIC's bytes, and all of BBR's.
    at_once = [observed(mixed, {"cubic-0": 2, "bbr-1": 1})]
    assert rows_of(at_once, at_once, mixed)["share", "cubic"].kernel.mean == pytest.approx(100 / 3)


def test_of_equal_flows_the_luckiest_is_compared() -> None:
    equal = case(flows="2 cubic", packets=4000)
    one = [observed(equal, {"cubic-0": 80, "cubic-1": 40})]
    other = [observed(equal, {"cubic-0": 40, "cubic-1": 80})]
    assert rows_of(one, other, equal)["share", "largest"].difference == pytest.approx(0.0)


def test_a_flow_that_ends_on_one_engine_only_is_a_miss() -> None:
    ended, endless = [observed(case(), {"cubic-0": 60})], [observed(case(), {"cubic-0": None})]
    row = rows_of(ended, endless)["fct", "cubic"]
    assert row.verdict == MISS
    assert "did not end" in row.note
    assert rows_of(endless, endless)["fct", "cubic"].verdict == NOT_EVALUATED


def test_the_area_between_curves_has_no_sign_and_does_not_cancel() -> None:
    flat = [observed(case(), {"cubic-0": 60}, window=1e5)]
    high, low = (observed(case(), {"cubic-0": 60}, window=window) for window in (1.5e5, 0.5e5))
    assert rows_of(flat, [high])["window", "cubic"].difference == pytest.approx(50.0)
    assert rows_of(flat, [low])["window", "cubic"].difference == pytest.approx(50.0)
    # The mean over the runs is what is compared.
    assert rows_of(flat, [high, low])["window", "cubic"].difference == pytest.approx(0.0)


def document(lengths: list[int], retransmits: int = 40) -> dict:
    rows = []
    for number, length in enumerate(lengths):
        one = case(name=f"case-{number}")
        kernel = [observed(one, {"cubic-0": 100}, retransmits=40)]
        model = [observed(one, {"cubic-0": length}, retransmits=retransmits)]
        rows += compare(one, kernel, model, LIMITS)
    known = [causes.Cause(scenario="case-1", metric="fct", cause="a reason")]
    programs = {"kernel": "k", "simulated": "m"}
    cases = [case(name=f"case-{number}") for number in range(len(lengths))]
    return result.document(rows, cases, runs=(1, 1), programs=programs, tolerances=LIMITS, causes=known, refused={})


def verdicts(found: dict) -> dict[tuple[str, str], str]:
    return {(target["metric"], target["statistic"]): target["verdict"] for target in found["targets"]}


def test_targets_are_reached_and_missed() -> None:
    close = verdicts(document([101] * 9 + [106]))
    assert close["fct", "median"] == close["fct", "p90"] == close["retransmissions", "agreeing"] == PASS
    # One flow alone has no competitor.
    assert close["share", "agreeing"] == NOT_EVALUATED
    far = verdicts(document([101] * 4 + [107] * 6, retransmits=100))
    assert far["fct", "median"] == far["fct", "p90"] == far["retransmissions", "agreeing"] == MISS


def test_the_worst_come_first_with_their_causes() -> None:
    worst = document([100, 120, 110])["worst"]
    assert [(row["scenario"], row["cause"]) for row in worst] == [("case-1", "a reason"), ("case-2", causes.UNKNOWN)]


def test_a_cause_of_outcomes_is_not_one_of_segments() -> None:
    known = [
        causes.Cause(scenario="case-*", cause="chance"),
        causes.Cause(scenario="*", metric="segments", cause="late"),
    ]
    said = {metric: causes.cause_of(known, "case-1", metric) for metric in ("fct", *causes.REPLAYS)}
    assert said == {"fct": "chance", "segments": "late", "receivers": causes.UNKNOWN}


def test_the_document_has_numbers_or_null_never_nan() -> None:
    def walk(value: object) -> None:
        if isinstance(value, dict):
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, float):
            assert math.isfinite(value)

    walk(document([100, 120]))
