from pathlib import Path

import numpy as np
import pytest
from msgspec.json import encode
from msgspec.structs import replace
from real_kernel import with_kernel
from test_agree import SUITE

import daybreak
from daybreak import _native
from daybreak.agreement import conversations, segments, suite
from daybreak.agreement.compare import MISS, PASS
from daybreak.errors import OutputError, PlanError
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower


@pytest.fixture
def two_flows(tmp_path: Path) -> suite.Case:
    path = tmp_path / "suite.toml"
    path.write_text(SUITE)
    return suite.load(path)[1]


@pytest.fixture
def run(two_flows: suite.Case) -> daybreak.Run:
    return daybreak.run(segments.captured(two_flows))


@pytest.fixture
def talk(run: daybreak.Run) -> conversations.Conversation:
    return conversations.read(run.capture, "sender")[segments.FIRST_PORT["simulated"]]


def test_replayed_scenarios_have_the_ticks_that_are_asked_for_and_else_their_own() -> None:
    as_given = segments.replayable(None, quick=True, only=(), hz=None)
    slow = segments.replayable(None, quick=True, only=(), hz=250, tso_max_bytes=None)
    assert len(slow) == len(as_given) > 10
    assert as_given == [case for case in suite.load() if case in as_given] and "hz" not in as_given[0].stack
    assert [case.stack for case in slow] == [case.stack | {"hz": 250} for case in as_given]
    bursts = segments.replayable(None, quick=True, only=(), tso_max_bytes=9_000)
    assert [case.stack for case in bursts] == [case.stack | {"tso_max_bytes": 9_000} for case in as_given]


def test_a_capture_is_read_as_it_was_sent(two_flows: suite.Case, run: daybreak.Run) -> None:
    talks = conversations.read(run.capture, "sender")
    assert list(talks) == [10_000, 10_001]
    for talk, flow in zip(talks.values(), run.flows.iter_rows(named=True), strict=True):
        sent, received = talk.sent, talk.received
        assert [int(sent[name][0]) for name in ("seq", "flags", "mss", "ts_ecr")] == [0, 2, two_flows.mtu - 40, 0]
        assert int(sent["time_ns"][0]) == flow["start_ns"]
        assert (received["flags"][0], received["ack"][0], received["len"].sum()) == (0x12, 1, 0)
        # Segments with payload, as the run's own table counts them.
        assert (sent["len"] > 0).sum() == flow["segments"]
        ends = np.unique((sent["seq"] + sent["len"])[sent["len"] > 0])
        assert ends[-1] == flow["bytes"] + 1
        assert received["ack"].max() >= flow["bytes"] + 1
        assert (np.diff(received["ack"].astype(np.int64)) >= 0).all()
        # A SACK block lies above what is acknowledged and ends where a segment ends.
        block = received["sack_end_0"] > received["ack"]
        assert (received["sack_start_0"][block] > received["ack"][block]).all()
        assert set(received["sack_end_0"][block].tolist()) <= set(ends.tolist())


def test_the_model_replays_itself(two_flows: suite.Case, run: daybreak.Run) -> None:
    flows = list(segments.flows(run, "sender"))
    assert [(flow.flow, flow.variant) for flow in flows] == [("cubic-0", "cubic"), ("reno-1", "reno")]
    for flow, row in zip(flows, run.flows.iter_rows(named=True), strict=True):
        assert (flow.is_identical, flow.other_push, flow.other_time) == (True, 0, 0)
        assert flow.retransmissions == row["retransmits"]
        # The SYN, the ACK that ends the handshake, and a FIN where the last data do not carry it.
        assert flow.segments - row["segments"] in (2, 3)


def test_the_model_answers_itself(two_flows: suite.Case, run: daybreak.Run) -> None:
    flows = list(segments.flows(run, "receiver"))
    assert [flow.flow for flow in flows] == ["cubic-0", "reno-1"]
    for flow in flows:
        assert (flow.is_identical, flow.other_time, flow.retransmissions) == (True, 0, 0)
        assert flow.segments > 30
    # A quarter of the buffer is another window.
    plan, talk = lower(segments.captured(two_flows), 1).content, conversations.read(run.capture, "receiver")[10_000]
    stacks = [replace(plan.stacks[0], tcp_adv_win_scale=-2), *plan.stacks[1:]]
    _, found = _native.replay(encode(replace(plan, stacks=stacks)), 0, False, talk.received, talk.sent)
    assert found["same"] < 10


EXCHANGES = """
[[family]]
name = "asks"
what = "Requests and responses through a queue that marks, on a path that loses, without timestamps at one end"
flows = ["cubic", "dctcp"]
rate = "1 Gbit/s"
rtt = "1 ms"
buffer = 1
mtu = 1500
threshold = 5
loss = 0.01
exchange = { request = "300 kB", response = "300 kB", exchanges = 3, think = "1 ms" }
receiver = [{}, { tcp_timestamps = false }]
"""


def test_the_model_replays_both_ends_of_its_exchanges(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(EXCHANGES)
    for case in suite.load(path):
        run = daybreak.run(segments.captured(case))
        (row,) = run.flows.iter_rows(named=True)
        ends = [end for side in segments.SIDES for end in segments.flows(run, side)]
        assert [(end.is_identical, end.other_time) for end in ends] == [(True, 0)] * 2, case.name
        assert sum(end.retransmissions for end in ends) == row["retransmits"] > 0
        talk = conversations.read(run.capture, "receiver")[10_000]
        assert bool(talk.received["ts_val"].any()) == (not case.receiver)
        assert talk.sent["len"].sum() > 0 and talk.received["len"].sum() > 0
        # What the queue has marked is echoed; without the marks the receiver says something else.
        assert (talk.sent["ecn"] == 3).any() and (talk.received["flags"] & 0x40).any()
        unmarked = talk.sent | {"ecn": np.where(talk.sent["ecn"] == 3, 2, talk.sent["ecn"]).astype(np.uint64)}
        plan = lower(segments.captured(case), 1).json
        _, found = _native.replay(plan, 0, False, talk.received, unmarked)
        assert found["same"] < found["segments"]


def test_a_flow_whose_syn_never_arrives_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(SUITE)
    (case,) = [case for case in suite.load(path) if case.name == "tiny-cubic+reno"]
    document = segments.captured(case).document()
    # The second sender's SYNs are lost on its own link until the run ends.
    (lossy,) = [link for link in document["links"] if link.get("name") == "sender-1 out"]
    lossy["loss"] = 1 - 1e-9
    document["duration"] = "100 ms"
    run = daybreak.run(Scenario.parse(document))
    ends = list(segments.flows(run, "receiver"))
    assert [type(end) for end in ends] == [segments.ReplayResult, segments.LeftOut]
    assert ends[1].why == "no SYN of it arrived before the run ended"
    found = segments.document(ends, programs={}, seeds=[1], quick=True)
    assert len(found["flows"]) == len(found["left_out"]) == 1
    assert segments.sentence(found).endswith("1 flow is left out.")
    rows = segments.by_scenario(found)
    assert rows[-1] == (
        "tiny-cubic+reno", "0 of 0", "0", "0", "reno-1 is left out: no SYN of it arrived before the run ended (seed 1)",
    )  # fmt: skip


def test_another_rule_parts(two_flows: suite.Case, talk: conversations.Conversation) -> None:
    plan = lower(segments.captured(two_flows), 1).content
    stacks = [replace(plan.stacks[0], initial_window=4), *plan.stacks[1:]]
    sent, found = _native.replay(encode(replace(plan, stacks=stacks)), 0, True, talk.sent, talk.received)
    assert not found["is_identical"]
    assert 4 <= found["same"] < found["segments"]
    assert len(sent["seq"]) == len(sent["time_ns"])


def test_columns_that_do_not_fit_are_refused(two_flows: suite.Case, talk: conversations.Conversation) -> None:
    plan = lower(segments.captured(two_flows), 1).json
    for change, message in (
        ({"ack": np.zeros(3, np.uint64)}, r'received\["ack"\] has 3 numbers'),
        ({"ack": np.zeros(len(talk.received["ack"]))}, r'received\["ack"\] is not an array of uint64'),
    ):
        with pytest.raises(PlanError, match=message):
            _native.replay(plan, 0, True, talk.sent, talk.received | change)
    with pytest.raises(PlanError, match='received has no column "time_ns"'):
        _native.replay(plan, 0, True, talk.sent, {})


def test_what_is_no_capture_is_named(tmp_path: Path) -> None:
    path = tmp_path / "some.pcapng"
    with pytest.raises(OutputError, match=r"some\.pcapng cannot be read"):
        conversations.read(path)
    path.write_bytes(b"no capture, but more bytes than a header has")
    with pytest.raises(OutputError, match=r"some\.pcapng is not a capture"):
        conversations.read(path)


def test_the_result_says_what_is_identical(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(SUITE)
    both = segments.replay(path, out=tmp_path / "out", engine="simulated")
    found = both["sender"]
    assert segments.read(tmp_path / "out" / segments.RESULT) == found
    assert segments.read(tmp_path / "out" / segments.RECEIVERS) == both["receiver"]
    assert (found["identical"], found["verdict"]) == (3, PASS)
    assert found["same"] == found["segments"]
    assert [line[:2] for line in segments.by_scenario(found)] == [
        ("tiny-cubic", "1 of 1"),
        ("tiny-cubic+reno", "2 of 2"),
    ]


def test_a_flow_that_parts_is_a_miss() -> None:
    flow = segments.ReplayResult("a", 1, "cubic-0", "cubic", 100, 3, same=40, other_push=0, other_time=0, model=101)
    same = segments.ReplayResult("b", 1, "cubic-0", "cubic", 100, 3, same=100, other_push=0, other_time=0, model=100)
    late = segments.ReplayResult("b", 1, "cubic-1", "cubic", 100, 3, same=100, other_push=0, other_time=7, model=101)
    found = segments.document([flow, same, late], programs={}, seeds=[1], quick=True)
    assert (found["identical"], found["verdict"], found["same"], found["other_time"]) == (1, MISS, 240, 7)
    assert [line[-1] for line in segments.by_scenario(found)] == [
        "cubic-0 parts at segment 41 of 100 (seed 1)", "cubic-1 parts at segment 101 of 100 (seed 1)",
    ]  # fmt: skip
    for others, quick, verdict in ((333, False, PASS), (332, False, MISS), (333, True, MISS)):
        found = segments.document([same] * others + [flow], programs={}, seeds=[1], quick=quick)
        assert found["verdict"] == verdict


@with_kernel
def test_the_model_says_what_the_kernel_says(tmp_path: Path) -> None:
    only = [
        # Holes, and a window that the NIC's buffers limit.
        "loss-cubic-1%", "mixed-cubic+bbr-0.5bdp", "buffers-cubic-mtu4000-*", "options-reno-*", "many-8cubic",
        # Data both ways, marks, and ends that have not the same options.
        "exchange-reno-40x300B+20kB", "exchange-bbr-4x1kB+1MB", "exchange-cubic-4x500kB+500kB", "ecnbeside-cubic+dctcp",
        "bare-cubic-*",
    ]  # fmt: skip
    for side, found in segments.replay(only=only, out=tmp_path / "out").items():
        assert found["identical"] == len(found["flows"]) == 27, segments.by_scenario(found)
        assert found["retransmissions"] > 0, side
        assert not found["left_out"]


@with_kernel
def test_bursts_of_the_model_are_the_kernels(tmp_path: Path) -> None:
    only = ["loss-cubic-0.1%", "buffer-reno-0.5bdp", "equal-cubic+cubic-2bdp", "exchange-cubic-40x300B+20kB"]
    found = segments.replay(only=only, out=tmp_path / "out", tso_max_bytes=65_536)["sender"]
    assert found["identical"] == len(found["flows"]) == 5, segments.by_scenario(found)
    assert found["retransmissions"] > 50
    without = segments.replay(only=only[:1], out=tmp_path / "without")["sender"]
    assert without["flows"][0]["is_identical"]
    # Linux puts PSH on each burst of several segments.
    pushes = []
    for tso_max_bytes in (0, 65_536):
        (case,) = segments.replayable(None, quick=False, only=only[:1], tso_max_bytes=tso_max_bytes)
        run = daybreak.run(segments.captured(case), engine="kernel")
        sent = conversations.read(run.capture, "sender")[segments.FIRST_PORT["kernel"]].sent
        pushes.append(sum(flags & 8 > 0 for flags in sent["flags"]))
    assert pushes[1] > 2 * pushes[0]
