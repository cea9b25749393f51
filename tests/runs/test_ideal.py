"""Ideal completion times, worked by hand, and against what the simulator takes."""

import msgspec
import pytest

import daybreak
from daybreak.plan import together, types
from daybreak.scenario import Scenario

CHAIN = {
    "name": "chain", "duration": "1 s",
    "nodes": [{"name": "a"}, {"name": "s", "kind": "switch"}, {"name": "b"}],
    "links": [
        {"from": "a", "to": "s", "rate": "10 Gbit/s", "delay": "1 us"},
        {"from": "s", "to": "b", "rate": "1 Gbit/s", "delay": "10 us"},
    ],
    "stack": {"initial_window": 1000},
}  # fmt: skip


def ideal(flow, **changes):
    run = daybreak.run(Scenario.parse(CHAIN | changes | {"flows": [{"from": "a", "to": "b"} | flow]}))
    (row,) = run.flows.to_dicts()
    return row["ideal_fct_ns"], row["fct_ns"]


def bits(*ip_bytes):
    return sum(8 * (one + 38) for one in ip_bytes)


def test_handshake_payload_and_last_ack_are_stored_and_forwarded():
    # SYN and SYN-ACK have 60 bytes, an ACK 52; 3000 bytes are two full packets of 1448 bytes and one of 104.
    one_way = 11_000
    control = bits(60, 60, 52) * (1 + 0.1) + 3 * one_way
    # At the slow link, the bottleneck, all packets wait behind the first one.
    payload = bits(1500) * 0.1 + bits(1500, 1500, 156)
    best, took = ideal({"size": "3 kB"})
    assert best == int(control + one_way + payload)
    # The third part of the handshake goes out before the payload, at the first link.
    assert took == pytest.approx(best + bits(52) * 0.1, abs=1)


def test_the_last_packet_waits_for_full_ones_that_are_slower():
    # Behind the bottleneck a short packet catches up with a long one, at the fast link too.
    back = [CHAIN["links"][0] | {"rate": "1 Gbit/s"}, CHAIN["links"][1] | {"rate": "10 Gbit/s"}]
    best, took = ideal({"size": "1449 B"}, links=back)
    control = bits(60, 60, 52) * 1.1 + 3 * 11_000
    assert best == int(control + bits(1500) + max(bits(53), bits(1500) * 0.1) + bits(53) * 0.1 + 11_000)
    # Ahead of the payload and of the last ACK there is another ACK at the slow link.
    assert best < took < best + 2 * bits(52)


@pytest.mark.parametrize("stack", [{"mtu": 9000}, {"tcp_timestamps": False}, {"tcp_sack": False}, {"mtu": 576}])
def test_an_idle_path_and_a_large_window_come_within_a_thousandth(stack):
    best, took = ideal({"size": "200 kB"}, stack=CHAIN["stack"] | stack)
    assert 1 <= took / best < 1.001


def test_unlimited_flows_and_applications_have_none():
    assert ideal({"size": "unlimited"}, duration="1 ms")[0] is None
    application = {"kind": "request_response", "request": "1 kB", "response": "1 kB"}
    assert ideal({"application": application})[0] is None


def test_of_paths_that_change_it_is_the_fastest_at_its_greatest_rate():
    document = {
        "name": "moved", "duration": "1 s",
        "topology": {"kind": "parallel_links", "access_rate": "8 Gbit/s", "between": [
            {"name": "slow", "rate": "1 Gbit/s", "delay": "1 us", "queue": "900 packets"},
            {"name": "fast", "rate": "5 Gbit/s", "delay": "1 us", "queue": "900 packets"},
        ]},
        "flows": [{"name": "f", "from": "sender-0", "to": "receiver-0", "ack_via": "slow.back", "size": "10 MB"}],
        "timelines": [{"kind": "migrate", "flows": ["f"], "between": ["slow", "fast"], "period": "1 ms"}],
    }  # fmt: skip

    def milliseconds():
        return daybreak.run(Scenario.parse(document)).flows["ideal_fct_ns"][0] / 1e6

    # 10 MB are 10 620 kB on the wire.
    assert milliseconds() == pytest.approx(10.62 * 8 / 5, rel=0.01)
    document["timelines"].append(
        {"kind": "program", "period": "1 ms", "steps": [
            {"at": "0 s", "do": [{"kind": "set_rate", "link": "slow", "rate": "6 Gbit/s"}]}]}
    )  # fmt: skip
    shorter = milliseconds()
    assert shorter == pytest.approx(10.62 * 8 / 6, rel=0.01)
    for between in document["topology"]["between"]:
        between["delay"] = "1 ms"
    longer = milliseconds()
    # The ACKs take such a link as well, in the other direction: the SYN, the SYN-ACK, the data and the last ACK.
    assert longer - shorter == pytest.approx(4 * 0.999, abs=0.001)
    document["timelines"][1]["steps"][0]["do"].append({"kind": "set_delay", "link": "slow", "delay": "1 us"})
    assert longer - milliseconds() == pytest.approx(2 * 0.999, abs=0.001)


def test_behind_a_fork_the_circuit_counts_and_a_way_back_does_not():
    network = {
        "kind": "hybrid", "racks": 2, "hosts": 1, "host_rate": "40 Gbit/s", "host_delay": "1 us",
        "packet_rate": "10 Gbit/s", "packet_delay": "1 us", "circuit_rate": "20 Gbit/s", "circuit_delay": "1 us",
        "voq": "900 packets",
    }  # fmt: skip
    flows = [{"from": "host-0-0", "to": "host-1-0", "size": "10 MB"}]
    week = {"kind": "strobe", "day": "180 us", "night": "20 us"}
    scenario = Scenario.parse(
        {"name": "fork", "duration": "20 ms", "topology": network, "flows": flows, "schedule": week}
    )
    assert daybreak.run(scenario).flows["ideal_fct_ns"][0] / 1e6 == pytest.approx(10.62 * 8 / 20, rel=0.01)
    # Without a schedule both links serve the queue.
    both = daybreak.run(scenario.with_({"schedule": None, "stack.initial_window": 700})).flows.to_dicts()[0]
    assert both["ideal_fct_ns"] / 1e6 == pytest.approx(10.62 * 8 / 30, rel=0.01)
    assert both["fct_ns"] / both["ideal_fct_ns"] >= 1


BESIDE = {
    "name": "beside", "duration": "1 s",
    "stack": {"mtu": 9000, "tcp_rmem": [4096, 67108864, 67108864], "tcp_wmem": [4096, 67108864, 67108864]},
    "topology": {"kind": "parallel_links", "access_rate": "100 Gbit/s"},
    "queues": [{"name": "voq", "served_by": ["circuit", "packet"], "limit": "1000 packets"}],
    "flows": [{"from": "sender-0", "to": "receiver-0", "size": "20 MB"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("packet", "circuit", "more", "at_most"),
    [
        (("10 Gbit/s", "20 us"), ("10 Gbit/s", "20 us"), {}, 1.1),
        (("10 Gbit/s", "20 us"), ("30 Gbit/s", "20 us"), {}, 1.1),
        # With two links of different delays packets overtake each other.
        (("400 Mbit/s", "1 us"), ("3.2 Gbit/s", "10 us"), {"flows.0.size": "30 kB", "stack.mtu": 1500}, 1.3),
        (
            ("400 Mbit/s", "1 us"), ("3.2 Gbit/s", "10 us"),
            {"flows.0.size": "30 kB", "stack.mtu": 1500, "timelines": [
                {"kind": "circuit", "matchings": ["circuit"], "day": "1 ms", "night": "20 us"}]}, 1.3,
        ),
    ],
)  # fmt: skip
def test_links_that_serve_a_queue_at_the_same_time_add_up(packet, circuit, more, at_most):
    between = [
        {"name": name, "rate": rate, "delay": delay, "queue": "900 packets"}
        for name, (rate, delay) in (("packet", packet), ("circuit", circuit))
    ]
    scenario = Scenario.parse(BESIDE | {"topology": BESIDE["topology"] | {"between": between}})
    row = daybreak.run(scenario.with_({"stack.initial_window": 3000} | more)).flows.to_dicts()[0]
    assert 1 <= row["fct_ns"] / row["ideal_fct_ns"] <= at_most


def test_links_whose_gates_are_never_open_together_do_not_add_up():
    content = types.Plan(
        **dict.fromkeys(types.Plan.__struct_fields__, ()) | {"queues": [queue(0, 1, 2), queue(0, 1, 2), queue(3)]}
    )

    def gate(kind, link):
        return kind(queue=0, link=link, **({"downtime": "hold"} if kind is types.CloseGate else {}))

    def serving(*steps, start=0):
        line = types.Timeline(
            name="t", start_ps=start, period_ps=100,
            steps=[types.TimelineStep(offset_ps=10 * at, actions=actions) for at, actions in enumerate(steps)],
        )  # fmt: skip
        first, second, third = together.serving(msgspec.structs.replace(content, timelines=[line]))
        assert (second, third) == ({frozenset({0, 1, 2})}, {frozenset({3})})
        return set(map(tuple, map(sorted, first)))

    opened, closed = types.OpenGate, types.CloseGate
    night = [gate(closed, 0), gate(closed, 1), gate(closed, 2)]
    assert serving(night, [gate(opened, 0)], [gate(closed, 0), gate(opened, 1)]) == {(0,), (1,), (2,)}
    assert serving([gate(closed, 0)], [gate(opened, 0), gate(closed, 1)]) == {(0, 2), (1, 2)}
    # Gates are open until a timeline closes them, and what drains goes on.
    assert serving(night, [gate(opened, 0)], start=5) == {(0, 1, 2)}
    drains = types.CloseGate(queue=0, link=0, downtime="drain")
    assert serving(night, [gate(opened, 0)], [drains, gate(opened, 1)]) == {(0, 1), (2,)}


def queue(*links):
    return types.Queue(
        name="q", node=0, discipline=types.Choice(name="fifo", parameters={}), limit_packets=None, limit_bytes=None,
        served_by=list(links), priority=0, returned_limit_packets=None,
    )  # fmt: skip


def test_a_run_of_an_earlier_version_has_no_ideal(tmp_path, one_flow):
    place = daybreak.run(one_flow).write(tmp_path / "run")
    flows = daybreak.read(place).flows
    assert flows["ideal_fct_ns"][0] > 0
    flows.drop("ideal_fct_ns").write_parquet(place / "flows.parquet")
    again = daybreak.read(place).flows
    assert again["ideal_fct_ns"].to_list() == [None] and again.columns == flows.columns
