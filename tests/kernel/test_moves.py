"""What real Linux does when a flow is moved from a slow path to a fast one."""

import pytest
from real_kernel import LACKING

import daybreak
from daybreak.scenario import Scenario

ROOM = "100000 packets"
OVERTAKEN = {
    "name": "moved from a queue of 2 ms to an empty path",
    "duration": "2 s",
    "nodes": [
        {"name": "left", "kind": "switch"}, {"name": "right", "kind": "switch"}, {"name": "src"}, {"name": "dst"},
    ],
    "links": [
        {"from": "src", "to": "left", "rate": "10 Gbit/s", "delay": "2 us"},
        {"from": "left", "to": "right", "name": "slow", "rate": "1 Gbit/s", "delay": "16 us", "queue": ROOM},
        {"from": "left", "to": "right", "name": "fast", "rate": "10 Gbit/s", "delay": "6 us", "queue": ROOM},
        {"from": "right", "to": "dst", "rate": "10 Gbit/s", "delay": "2 us", "queue": ROOM},
    ],
    "stack": {"mtu": 9000},
    "flows": [
        {"name": "flow", "from": "src", "to": "dst", "size": "20 MB", "start": "10 us", "ack_via": ["slow.back"]},
    ],
    "routes": [{"name": "way", "flows": ["flow"], "between": [["slow"], ["fast"]]}],
    "timelines": [
        {
            "kind": "program", "name": "move", "period": "86400 s",
            "steps": [{"at": "20 ms", "do": [{"kind": "set_route", "route": "way", "path": 1}]}],
        }
    ],
}  # fmt: skip
ENGINES = ["simulated", pytest.param("kernel", marks=pytest.mark.skipif(bool(LACKING), reason=str(LACKING)))]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("timestamps", "timeouts"), [(True, 1), (False, 0)])
def test_overtaken_segments_with_old_timestamps_are_refused_until_a_timeout(engine, timestamps, timeouts):
    # The first retransmission fills the first hole and brings a newer timestamp. What was overtaken is still in the
    # slow path's queue; when it comes its timestamps are older, and PAWS (RFC 7323, section 5.3) refuses it. Nothing
    # more is sent that could show the sender its loss, so the rest waits for the timeout of 200 ms.
    scenario = Scenario.parse(OVERTAKEN).with_({"stack.tcp_timestamps": timestamps})
    flow = daybreak.run(scenario, engine=engine).flows
    assert flow["rtos"].to_list() == [timeouts]
    assert (flow["fct_ns"][0] > 200_000_000) is bool(timeouts)
