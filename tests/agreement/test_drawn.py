import math
import re
from collections import Counter

import pytest
from real_kernel import with_kernel
from typer.testing import CliRunner

from daybreak import _native, agreement
from daybreak.agreement import drawn, scenarios, segments, wide
from daybreak.cli.main import app
from daybreak.engines import check, lowered
from daybreak.errors import ScenarioError, UsageError

CASES = drawn.cases(200, 1)
WIDE = drawn.cases(200, 1, wide=True)


def test_what_is_drawn_depends_on_the_seed_alone() -> None:
    again = drawn.cases(50, 1)
    assert [case.model_dump() for case in again] == [case.model_dump() for case in CASES[:50]]
    others = drawn.cases(50, 2)
    assert not {case.name for case in others} & {case.name for case in again}
    drawings = [
        [(case.flows, int(case.rate), int(case.rtt), case.payload_bytes()) for case in suite]
        for suite in (again, others)
    ]
    assert drawings[0] != drawings[1]


@with_kernel
def test_both_engines_take_every_scenario() -> None:
    for case in CASES + WIDE:
        for engine in ("simulated", "kernel"):
            check(lowered(scenarios.scenario(case), 1, engine), engine)


def test_the_scenarios_are_of_all_kinds() -> None:
    known = {entry.name for entry in _native.variants()} - drawn.WITHOUT
    assert {variant for case in CASES for variant in case.variants()} == known
    assert {case.mtu for case in CASES} == set(drawn.MTUS)
    assert {str(case.stack) for case in CASES} == {str(stack) for stack in ({}, *drawn.STACKS)}
    assert {str(case.receiver) for case in CASES} == {str(stack) for stack in ({}, *drawn.RECEIVERS)}
    for kind in ("loss", "ack_loss", "period", "day", "night", "rmem", "wmem", "exchange", "threshold", "tail"):
        assert 5 < sum(bool(getattr(case, kind)) for case in CASES) < 150, kind
    assert 20 < sum((case.packets or 1_000) <= 60 for case in CASES) < 80
    rates, rtts = ([int(getattr(case, name)) for case in CASES] for name in ("rate", "rtt"))
    assert min(rates) >= 5 * 10**8 and max(rates) <= 10**10 and max(rates) > 10 * min(rates)
    assert min(rtts) >= 50 * 10**6 and max(rtts) <= 5 * 10**9 and max(rtts) > 20 * min(rtts)


def test_wide_scenarios_vary_every_setting_and_several_at_once() -> None:
    both = Counter(name for case in WIDE for name in {**case.stack, **case.receiver})
    assert set(both) == set(wide.SETTINGS) and min(both.values()) > 5
    bits = {each.get("tcp_recovery") for case in WIDE for each in (case.stack, case.receiver)} - {None}
    assert bits == {0, 2, 3, 4, 5, 7}, "RACK without, and with each of its other two bits, and with both"
    assert {len(case.stack) for case in WIDE} == {0, 1, 2, 3, 4}
    assert {len(case.receiver) for case in WIDE} == {0, 1, 2}
    assert {case.mtu for case in WIDE} == set(wide.MTUS)
    for name, least, most in (("rate", 5e6, 1e10), ("rtt", 2e7, 1e11)):
        values = [int(getattr(case, name)) for case in WIDE]
        assert least <= min(values) < 2 * least and most / 2 < max(values) <= most
    assert {len(case.variants()) for case in WIDE} == {1, 2, 4}
    assert max(case.packets or 0 for case in WIDE) == wide.MOST_PACKETS and max(case.tail for case in WIDE) <= wide.TAIL
    for buffer in ("rmem", "wmem"):
        assert 20 < sum(getattr(case, buffer) is not None for case in WIDE) < 80


def test_a_wide_suite_has_names_of_its_own_and_the_moves_of_the_other() -> None:
    for case, other in zip(WIDE, CASES, strict=True):
        assert case.name == f"wide1-{other.name.split('-')[1]}-{other.name.rpartition('-')[2]}"
        assert (case.period, case.day, case.night, case.loss) == (other.period, other.day, other.night, other.loss)


def test_the_first_degree_of_reordering_is_never_above_the_largest() -> None:
    for case in drawn.cases(1_000, 3, wide=True):
        for stack in (case.stack, {**case.stack, **case.receiver}):
            assert stack.get("tcp_reordering", 3) <= stack.get("tcp_max_reordering", 300), case.name


def test_a_third_is_alone_a_third_moved_and_a_name_ends_in_what_the_scenario_is() -> None:
    shapes = Counter(case.name.rpartition("-")[2] for case in CASES)
    for shape, share in {"alone": 2, "beside": 1, "moved": 2, "circuit": 1}.items():
        # Three standard deviations of a binomial distribution; a share that is a sixth more or less is outside.
        expected, deviation = 200 * share / 6, math.sqrt(200 * share / 6 * (1 - share / 6))
        assert abs(shapes[shape] - expected) < 3 * deviation, shapes
    assert shapes.total() == sum(shapes[shape] for shape in ("alone", "beside", "moved", "circuit"))
    for case in CASES:
        shape = case.name.rpartition("-")[2]
        assert len(case.variants()) == (2 if shape in ("beside", "moved") else 1), case.name
        assert ((case.period is not None), (case.day is not None)) == (shape == "moved", shape == "circuit"), case.name
        assert not case.night or shape in ("moved", "circuit"), case.name


def test_a_third_of_the_moves_are_to_a_longer_path_and_half_of_them_have_a_night() -> None:
    cases = drawn.cases(1_000, 5)
    moved, circuits = ([case for case in cases if getattr(case, name)] for name in ("period", "day"))
    far, nights = (
        [case for case in moved if getattr(case, name) > least] for name, least in (("far", 1), ("night", 0))
    )
    for some, share in ((far, 1 / 3), (nights, 1 / 2)):
        assert abs(len(some) - len(moved) * share) < 3 * math.sqrt(len(moved) * share * (1 - share))
    assert all(1 <= case.far <= 3 for case in moved) and max(case.far for case in moved) > 2.5
    assert {case.far for case in cases if not case.period} == {1.0}
    # A circuit always has nights.
    assert {case.downtime for case in nights} == {"drop", "hold"}
    assert {case.downtime for case in circuits} == {"drop", "hold", "drain"} and all(case.night for case in circuits)


@pytest.mark.parametrize(
    ("count", "seed", "said"), [(0, 1, "random: 0"), (10_001, 1, "random: 10001"), (1, -1, "seed: -1")]
)
def test_what_cannot_be_drawn_is_said(count: int, seed: int, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        drawn.cases(count, seed)


def test_a_drawn_suite_is_replayed(tmp_path) -> None:
    (case,) = [case for case in CASES if case.variants() == ["cubic"] and case.packets and case.day is None][:1]
    found = segments.replay([case], out=tmp_path / "out", engine="simulated", sides=["sender"])["sender"]
    assert [flow["is_identical"] for flow in found["flows"]] == [True]


def test_the_command_draws_in_place_of_a_suite(tmp_path, monkeypatch) -> None:
    taken: list[list[str]] = []

    def replay(source, **_):
        taken.append([case.name for case in source])
        return {"sender": segments.document([], programs={}, seeds=[1], quick=False)}

    monkeypatch.setattr(segments, "replay", replay)
    command = ["agree", "--segments", "--json", "-o", str(tmp_path / "out")]
    assert CliRunner().invoke(app, [*command, "--random", "3", "--seed", "7"]).exit_code == 0
    assert taken == [[case.name for case in drawn.cases(3, 7)]]
    refused = CliRunner().invoke(app, [*command, "suite.toml", "--random", "3"])
    assert refused.exit_code != 0 and len(taken) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seed", "5"], "--seed 5: .*--random"),
        (["--segments", "--most", "9"], "--most 9: .*--runs"),
        (["--receivers", "--most", "9"], "--most 9: .*--runs"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(tmp_path, monkeypatch, options: list[str], said: str) -> None:
    for module, name in ((segments, "replay"), (agreement, "agree")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("it is run"))
    refused = CliRunner().invoke(app, ["agree", *options, "-o", str(tmp_path / "out")])
    assert isinstance(refused.exception, UsageError)
    assert re.match(said, str(refused.exception))


def test_no_period_divides_the_least_timeout() -> None:
    # In nanoseconds: what shares no factor with 10 does not divide 200 ms.
    periods = [int(case.period) // 1000 for case in CASES if case.period]
    assert len(periods) > 30 and all(math.gcd(period, 10) == 1 and 200 * 10**6 % period for period in periods)


def test_every_night_ends_before_the_next() -> None:
    # What seed 77 draws has a night of 455 us in a period of 313 us, if nothing shortens it.
    for case in drawn.cases(1_000, 77):
        if case.period and case.night:
            assert 0 < case.night <= case.period / 2 + 10**6, case.name
        scenarios.scenario(case)
