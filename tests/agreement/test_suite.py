from pathlib import Path

import pytest
from agreement import made_up

from daybreak import _native
from daybreak.agreement import causes, scenarios, suite, tolerances
from daybreak.agreement.compare import METRICS
from daybreak.agreement.drawn import WITHOUT
from daybreak.errors import ScenarioError, UnknownName
from daybreak.plan.types import Bulk, RequestResponse
from daybreak.scenario.lowering import lower

CASES = suite.load()


def test_there_is_a_quick_subset() -> None:
    assert 5 <= sum(case.is_quick for case in CASES) <= 12


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_scenario_lowers(case: suite.Case) -> None:
    plan = lower(scenarios.scenario(case), 1).content
    limited = [flow for flow in plan.flows if getattr(flow.application, "bytes", 0) is not None]
    each = [variant for variant in case.variants() for _ in range(case.repeat)]
    assert [plan.rules[flow.rule].name for flow in limited] == each
    assert len(plan.flows) - len(limited) == len(case.reverse_variants())
    limits = [queue.limit_packets for queue in plan.queues]
    assert limits.count(case.queue_packets()) >= len(scenarios.bottlenecks(case))
    for flow in limited:
        match flow.application:
            case Bulk(bytes=size):
                assert size == case.packets * (case.mtu - 52) + case.tail == case.payload_bytes()
            case RequestResponse(exchanges=[run]):
                assert run.count * (run.request_bytes + run.response_bytes) == case.payload_bytes()


def test_a_case_says_stacks_ways_back_and_circuits() -> None:
    case = made_up.case(
        flows="reno", stack={"tcp_sack": False}, receiver={"tcp_rmem": [4096, 8192, 65536]}, ack_loss=0.1,
        reverse="reno", day="2 ms", night="1 ms", downtime="drain", repeat=2, gap="5 ms",
    )  # fmt: skip
    scenario = scenarios.scenario(case)
    assert (scenario.stack.tcp_sack, scenario.stacks["receiver"].tcp_sack) == (False, False)
    assert scenario.stacks["receiver"].tcp_rmem == (4096, 8192, 65536)
    back = next(link for link in scenario.links if link.name == "back")
    assert (back.loss, back.rate, str(back.queue)) == (0.1, case.rate, f"{case.queue_packets()} packets")
    assert [(flow.name, flow.from_, flow.receiver_stack) for flow in scenario.flows] == [
        ("reno-0-0", "sender-0", "receiver"), ("reno-0-1", "sender-0", "receiver"), ("reverse-0", "receiver-0", None),
    ]  # fmt: skip
    (circuit,) = scenario.timelines
    assert (str(circuit.day), str(circuit.night), circuit.downtime) == ("2 ms", "1 ms", "drain")


def test_exchanges_and_marks_are_of_both_ways() -> None:
    exchange = {"request": "1 kB", "response": "5 kB", "exchanges": 3}
    case = made_up.case(packets=None, exchange=exchange, threshold=7, loss=0.2)
    assert case.payload_bytes() == 18_000
    scenario = scenarios.scenario(case)
    assert scenario.stack.tcp_ecn == 1
    out, back = (next(link for link in scenario.links if link.name == name) for name in ("bottleneck", "back"))
    for link in (out, back):
        assert (link.rate, str(link.queue), link.loss) == (case.rate, f"{case.queue_packets()} packets", 0.2)
        assert link.queue_kind.name == "ecn_threshold"
    assert {flow.application.exchanges for flow in scenario.flows} == {3}


def test_seeds_draw_other_starts() -> None:
    starts = {lower(scenarios.scenario(CASES[0]), seed).content.flows[0].start_ps for seed in range(1, 9)}
    assert len(starts) == 8


def test_what_the_suite_must_cover_is_there() -> None:
    variants = {variant for case in CASES for variant in case.variants()}
    # DCTCP needs a switch that marks.
    assert {entry.name for entry in _native.variants()} - {*WITHOUT, "dctcp"} <= variants
    assert min(case.buffer or 1 for case in CASES) == 0.1
    assert max(case.buffer or 1 for case in CASES) == 5
    assert min(int(case.rtt) for case in CASES) == 20 * 10**6
    assert max(int(case.rtt) for case in CASES) == 100 * 10**9
    assert min(int(case.rate) for case in CASES) == 10**8
    assert max(int(case.rate) for case in CASES) == 10**11
    assert {1500, 2000, 4000, 8000, 9000} <= {case.mtu for case in CASES}
    assert any(case.loss for case in CASES)
    assert any(case.period and case.night for case in CASES)
    assert any(case.period and not case.night for case in CASES)
    assert any(case.far > 1 for case in CASES)
    assert any(case.rmem for case in CASES)
    assert any(case.wmem for case in CASES)
    assert all(any(getattr(case, field) for case in CASES) for field in ("ack_loss", "reverse", "stack", "day"))
    assert any(case.repeat > 1 for case in CASES)
    assert len(CASES) >= 200
    assert min(case.packets for case in CASES if case.packets) == 1
    assert {"dctcp", "cubic"} <= {variant for case in CASES if case.threshold for variant in case.variants()}
    assert any(case.exchange and case.threshold for case in CASES)
    assert any(case.exchange and case.loss for case in CASES)
    assert any(case.receiver.get("tcp_timestamps") is False for case in CASES)


def test_a_family_multiplies(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(
        '[[family]]\nname = "a"\nwhat = "b"\nflows = ["reno", "2 cubic"]\nrate = "1 Gbit/s"\n'
        'rtt = ["1 ms", "2 ms"]\nbuffer = 1\npackets = 10\n'
    )
    cases = suite.load(path)
    assert [case.name for case in cases] == ["a-reno-1ms", "a-reno-2ms", "a-2cubic-1ms", "a-2cubic-2ms"]
    assert cases[2].variants() == ["cubic", "cubic"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("buffer = 1\nspeed = 3", "has no key"),
        ("buffer = 0", "buffer = 0.0: expected more than 0.0"),
        ("buffer = 1\nloss = 1.5", "loss = 1.5: expected less than 1.0"),
        ('buffer = 1\nqueue = "3 packets"', "expected either buffer or queue"),
        ('buffer = 1\nexchange = { request = "1 B", response = "1 B" }', "expected either packets or exchange"),
        ('buffer = 1\nquick = ["z"]', 'quick = "z"'),
    ],
)
def test_what_is_wrong_in_a_suite_is_named(tmp_path: Path, line: str, sentence: str) -> None:
    path = tmp_path / "suite.toml"
    head = '[[family]]\nname = "a"\nwhat = "b"\nflows = "reno"\nrate = "1 Gbit/s"\nrtt = "1 ms"\npackets = 10\n'
    path.write_text(head + line + "\n")
    with pytest.raises(ScenarioError, match=sentence):
        suite.load(path)


def test_a_pattern_that_nothing_fits_is_an_error() -> None:
    with pytest.raises(UnknownName, match="nothing-like-it"):
        suite.chosen(CASES, quick=False, only=["nothing-like-it"])
    assert [case.name for case in suite.chosen(CASES, quick=True, only=["loss-*", "wide-*"])] == ["loss-cubic-0.1%"]


def test_bins_are_round_and_fit_the_transfer() -> None:
    case = made_up.case()
    # 8000 packets of 9038 bytes on the wire take 578 ms, ten round-trip times 40 ms: an eightieth is 7.7 ms.
    assert str(scenarios.bin_width(case)) == "10 ms"


def test_every_metric_has_a_tolerance_and_every_cause_a_scenario() -> None:
    assert set(tolerances.load().metric) == set(METRICS)
    names = [case.name for case in CASES]
    for cause in causes.load():
        assert any(causes.cause_of([cause], name, cause.metric) == cause.cause for name in names), cause.scenario


@pytest.mark.parametrize("packets", [1, 138, 1106, 1107, 1108, 30_000])
def test_a_transfer_without_losses_is_at_most_80_bins_and_more_than_30(packets) -> None:
    """A width is 1, 2 or 5 times a power of ten, so that it is less than 2.5 times what 80 bins would have."""
    one = made_up.case(packets=packets, rtt="1 us")
    width, whole = scenarios.bin_width(one).seconds, packets * 9038 * 8 / 1e9 + 10 * 1e-6
    assert whole <= 80 * width
    assert width == pytest.approx(1e-5) or whole > 30 * width


def test_repeated_flows_are_seen_to_the_start_of_the_last() -> None:
    """50 flows that start a second apart: 50 s in 80 bins are 625 ms each, and the width is a second."""
    assert str(scenarios.bin_width(made_up.case(packets=10, repeat=50, gap="1 s"))) == "1 s"
    assert str(scenarios.bin_width(made_up.case(packets=10, repeat=40, gap="1 s"))) == "500 ms"
