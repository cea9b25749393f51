"""The light-path topology: which way packets take, how long that is, and what a move does."""

import polars as pl
import pytest

import daybreak
from daybreak.scenario import Scenario

RATES = {"sender_rate": "2 Gbit/s", "ip_rate": "2 Gbit/s", "optical_rate": "2 Gbit/s", "receiver_rate": "1 Gbit/s"}


def scenario(path: int, **topology: object) -> Scenario:
    return Scenario.parse(
        {
            "name": "light path",
            "duration": "3 s",
            "topology": {"kind": "light_path", "rtt": "20 ms", "framing": 0, **RATES, **topology},
            "flows": [{"name": "flow", "from": "sender", "to": "receiver", "size": "2 MB"}],
            "routes": [{"name": "way", "flows": ["flow"], "between": [["ip-1", "ip-2"], ["optical"]]}],
            "timelines": [
                {
                    "kind": "program",
                    "name": "move",
                    "period": "10 s",
                    "steps": [{"at": "0 s", "do": [{"kind": "set_route", "route": "way", "path": path}]}],
                }
            ],
            "records": {"links": ["ip-1", "ip-1.back", "optical"], "window": "1 ms"},
        }
    )


@pytest.mark.parametrize(("path", "rtt_ms"), [(0, 20.0), (1, 12.0)])
def test_the_light_path_takes_0_6_of_the_round_trip_and_no_ack(path, rtt_ms):
    run = daybreak.run(scenario(path))
    carried = dict(run.bins.filter(pl.col("scope") == "link").group_by("name").agg(pl.col("bytes").sum()).rows())
    data, acks = ("optical", "ip-1.back") if path else ("ip-1", "ip-1.back")
    assert carried[data] > 2_000_000 and 0 < carried[acks] < 200_000
    assert ("ip-1" if path else "optical") not in carried
    # Serialisation of a packet on four links is 24 us; nothing waits for long.
    least = run.window.filter(pl.col("srtt_ns") > 0)["srtt_ns"].min() / 1e6
    assert rtt_ms < least < rtt_ms + 1


def test_the_delay_of_the_light_path_may_be_said():
    run = daybreak.run(scenario(1, optical_delay="9 ms"))
    assert 19 < run.window.filter(pl.col("srtt_ns") > 0)["srtt_ns"].min() / 1e6 < 20


def test_a_queue_in_the_sender_drops_only_if_it_has_a_limit():
    slow = {"sender_rate": "100 Mbit/s", "nic_queue": "10 packets"}
    limited = scenario(0, **slow).with_({"stack.tcp_limit_output_bytes": "off"})
    unlimited = limited.with_({"topology.nic_queue": "100000 packets"})
    assert "sender" in daybreak.run(limited).drops["place_name"].to_list()
    assert daybreak.run(unlimited).drops.is_empty()
