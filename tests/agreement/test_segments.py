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
from daybreak.scenario.lowering import lower


@pytest.fixture
def two_flows(tmp_path: Path) -> suite.Case:
    path = tmp_path / "suite.toml"
    path.write_text(SUITE)
    return suite.load(path)[1]


@pytest.fixture
def run(two_flows: suite.Case) -> daybreak.Run:
    return daybreak.run(segments.captured(two_flows))


def test_a_capture_is_read_as_it_was_sent(two_flows: suite.Case, run: daybreak.Run) -> None:
    talks = conversations.read(run.capture)
    assert len(talks) == 2
    for talk, flow in zip(talks, run.flows.iter_rows(named=True), strict=True):
        sent, heard = talk.sent, talk.heard
        assert [int(sent[name][0]) for name in ("seq", "flags", "mss", "ts_ecr")] == [0, 2, two_flows.mtu - 40, 0]
        assert int(sent["time_ns"][0]) == flow["start_ns"]
        assert (heard["flags"][0], heard["ack"][0], heard["len"].sum()) == (0x12, 1, 0)
        # Segments with payload, as the run's own table counts them.
        assert (sent["len"] > 0).sum() == flow["segments"]
        ends = np.unique((sent["seq"] + sent["len"])[sent["len"] > 0])
        assert ends[-1] == flow["bytes"] + 1
        assert heard["ack"].max() >= flow["bytes"] + 1
        assert (np.diff(heard["ack"].astype(np.int64)) >= 0).all()
        # A SACK block lies above what is acknowledged and ends where a segment ends.
        block = heard["sack_end_0"] > heard["ack"]
        assert (heard["sack_start_0"][block] > heard["ack"][block]).all()
        assert set(heard["sack_end_0"][block].tolist()) <= set(ends.tolist())


def test_the_model_replays_itself(two_flows: suite.Case, run: daybreak.Run) -> None:
    flows = list(segments.flows(two_flows, run))
    assert [(flow.flow, flow.variant) for flow in flows] == [("cubic-0", "cubic"), ("reno-1", "reno")]
    for flow, row in zip(flows, run.flows.iter_rows(named=True), strict=True):
        assert (flow.is_identical, flow.other_push, flow.other_time) == (True, 0, 0)
        assert (flow.segments, flow.retransmissions) == (row["segments"], row["retransmits"])


def test_the_model_answers_itself(two_flows: suite.Case) -> None:
    run = daybreak.run(segments.captured(two_flows, "receiver"))
    flows = list(segments.flows(two_flows, run, "receiver"))
    assert [flow.flow for flow in flows] == ["cubic-0", "reno-1"]
    for flow in flows:
        # In the simulator the FIN goes with the last ACK, in a replay behind it, as Linux has it.
        assert (flow.same, flow.model) == (flow.segments - 1, flow.segments + 1)
        assert (flow.other_time, flow.retransmissions) == (0, 0)
        assert flow.segments > 30
    # A quarter of the buffer is another window.
    plan, talk = lower(segments.captured(two_flows, "receiver"), 1).content, conversations.read(run.capture)[0]
    stacks = [replace(plan.stacks[0], tcp_adv_win_scale=-2), *plan.stacks[1:]]
    _, found = _native.answer(encode(replace(plan, stacks=stacks)), 0, talk.heard, talk.sent)
    assert found["same"] < 10


def test_another_rule_parts(two_flows: suite.Case, run: daybreak.Run) -> None:
    talk = conversations.read(run.capture)[0]
    plan = lower(segments.captured(two_flows), 1).content
    stacks = [replace(plan.stacks[0], initial_window=4), *plan.stacks[1:]]
    sent, found = _native.replay(encode(replace(plan, stacks=stacks)), 0, talk.sent, talk.heard)
    assert not found["is_identical"]
    assert 4 <= found["same"] < found["segments"]
    assert len(sent["seq"]) == len(sent["time_ns"])


def test_columns_that_do_not_fit_are_refused(two_flows: suite.Case, run: daybreak.Run) -> None:
    plan, talk = lower(segments.captured(two_flows), 1).json, conversations.read(run.capture)[0]
    for change, message in (
        ({"ack": np.zeros(3, np.uint64)}, r'heard\["ack"\] has 3 numbers'),
        ({"ack": np.zeros(len(talk.heard["ack"]))}, r'heard\["ack"\] is not an array of uint64'),
    ):
        with pytest.raises(PlanError, match=message):
            _native.replay(plan, 0, talk.sent, talk.heard | change)
    with pytest.raises(PlanError, match='heard has no column "time_ns"'):
        _native.replay(plan, 0, talk.sent, {})


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
    found = segments.replay(path, out=tmp_path / "out", engine="simulated")
    assert segments.read(tmp_path / "out" / segments.RESULT) == found
    assert (found["identical"], found["verdict"]) == (3, PASS)
    assert found["same"] == found["segments"]
    assert [line[:2] for line in segments.by_scenario(found)] == [
        ("tiny-cubic", "1 of 1"),
        ("tiny-cubic+reno", "2 of 2"),
    ]


def test_a_flow_that_parts_is_a_miss() -> None:
    flow = segments.Replayed("a", 1, "cubic-0", "cubic", 100, 3, same=40, other_push=0, other_time=0, model=101)
    same = segments.Replayed("b", 1, "cubic-0", "cubic", 100, 3, same=100, other_push=0, other_time=0, model=100)
    late = segments.Replayed("b", 1, "cubic-1", "cubic", 100, 3, same=100, other_push=0, other_time=7, model=101)
    found = segments.document([flow, same, late], programs={}, seeds=[1], quick=True)
    assert (found["identical"], found["verdict"], found["same"], found["other_time"]) == (1, MISS, 240, 7)
    assert [line[-1] for line in segments.by_scenario(found)] == [
        "cubic-0 parts at segment 41 of 100 (seed 1)", "cubic-1 parts at segment 101 of 100 (seed 1)",
    ]  # fmt: skip
    assert segments.document([same] * 49 + [flow], programs={}, seeds=[1], quick=False)["verdict"] == PASS
    assert segments.document([same] * 49 + [flow], programs={}, seeds=[1], quick=True)["verdict"] == MISS


@with_kernel
def test_the_model_answers_with_the_acks_of_the_kernel(tmp_path: Path) -> None:
    # Holes, and a window that the NIC's buffers limit.
    only = ["loss-cubic-1%", "mixed-cubic+bbr-0.5bdp", "buffers-cubic-mtu4000-*", "options-reno-*"]
    found = segments.replay(only=only, out=tmp_path / "out", side="receiver")
    assert found["identical"] == len(found["flows"]) == 10, segments.by_scenario(found)


@with_kernel
def test_the_model_sends_the_segments_of_the_kernel(tmp_path: Path) -> None:
    found = segments.replay(only=["many-8cubic"], out=tmp_path / "out")
    assert found["identical"] == len(found["flows"]) == 8, segments.by_scenario(found)
    assert found["retransmissions"] > 0
