"""Figures and exports of runs whose flows were discovered: connections of programs."""

import json

import pytest
from real_kernel import LACKING

import daybreak
from daybreak.engines import plan_of
from daybreak.plan import ways
from daybreak.report import export
from daybreak.scenario import Scenario

if LACKING:
    pytest.skip(f"flows of programs are left out: {LACKING}", allow_module_level=True)

CLIENT = """
import socket, sys, time
listening = socket.create_server(("", 7001))
with socket.create_connection((sys.argv[1], 7000)) as out:
    out.sendall(bytes(300_000))
listening.accept()[0].recv(1)
"""
SERVER = """
import socket, sys
(there, (address, _)) = socket.create_server(("", 7000)).accept()
while there.recv(1 << 16):
    pass
with socket.create_connection((address, 7001)) as back:
    back.sendall(b"x")
"""


@pytest.fixture(scope="module")
def found():
    """A run with a flow of its own and a program's two connections, the second one opened by the server."""
    client, server = (["/usr/bin/python3", "-c", text, "{server}"] for text in (CLIENT, SERVER))
    document = {
        "name": "both ways", "duration": "5 s",
        "topology": {"kind": "dumbbell", "pairs": 2, "rate": "100 Mbit/s", "delay": "1 ms", "queue": "100 packets"},
        "flows": [
            {"name": "web", "from": "sender-0", "to": "receiver-0",
             "application": {"kind": "program", "client": client, "server": server}},
            {"name": "plain", "from": "sender-1", "to": "receiver-1", "size": "1 MB"},
        ],
        "records": {"bins": "5 ms", "window": "5 ms"},
    }  # fmt: skip
    return daybreak.run(Scenario.parse(document), engine="kernel")


def test_the_plan_of_a_run_has_its_discovered_flows_with_their_paths(found):
    content = plan_of(found)
    assert [flow.name for flow in content.flows] == ["web", "plain", "web-0", "web-1"]
    assert found.flows["flow_name"].to_list() == ["plain", "web-0", "web-1"]
    web, _, there, back = content.flows
    assert (there.src, there.dst, there.data_path) == (web.src, web.dst, web.data_path)
    assert (back.src, back.dst, back.data_path, back.ack_path) == (web.dst, web.src, web.ack_path, web.data_path)
    # Payload in both directions, as a program may send it.
    assert [ways.most_bps(content, [number]) for number in (1, 2, 3)] == [100_000_000, 200_000_000, 200_000_000]


def test_discovered_flows_are_drawn_and_exported(found, tmp_path):
    assert found.plot().axes
    export.write(found, tmp_path / "run.qlog", "qlog")
    traces = json.loads((tmp_path / "run.qlog").read_text())["traces"]
    assert len(traces) == 3
