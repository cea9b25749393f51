"""Timeouts, probes and recoveries of a program's connections, against what the host's kernel says of them."""

from base64 import b64encode
from collections import Counter
from typing import Any

import polars as pl
import pytest
from real_kernel import LACKING

import daybreak
from daybreak.engines.kernel import image
from daybreak.engines.kernel.choice import Choice
from daybreak.engines.kernel.errors import NoImage
from daybreak.scenario import Scenario

if LACKING:
    pytest.skip(f"counts of programs' connections are left out: {LACKING}", allow_module_level=True)

PROGRAMS = ("lossy-client", "lossy-server", "clean-server")
COUNTS = ("rtos", "tlps", "fast_recoveries", "spurious")
NETSTAT = """
import socket, struct, sys, threading, time
LAST_ACK = 9
KINDS = (("TCPTimeouts",), ("TCPLossProbes",), ("TCPSackRecovery", "TCPRenoRecovery"),
         ("TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"))

def show_timeouts(connection, port):
    # struct tcp_info of Linux 6.7 and later: total_rto, 16 bits, after the receiver's and the sender's windows.
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    while info[0] == LAST_ACK:
        time.sleep(0.01)
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    if len(info) > 240:
        print("rtos", port, struct.unpack_from("=H", info, 240)[0])

def show_counters():
    names, numbers = (line.split()[1:] for line in open("/proc/net/netstat") if line.startswith("TcpExt:"))
    of = dict(zip(names, map(int, numbers)))
    print(*(sum(of[name] for name in kind) for kind in KINDS))
"""
SENDS = """
def send(host, port, size):
    with socket.create_connection((host, port)) as connection:
        connection.sendall(bytes(size))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass
        show_timeouts(connection, port)

sizes = dict(enumerate((200_000, 300_000, 400_000, 500_000), 7000))
threads = [threading.Thread(target=send, args=(host, port, size))
           for host, ports in zip(sys.argv[1:], ((7000, 7001), (7002, 7003))) for port, size in sizes.items() if port in ports]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
time.sleep(0.1)
show_counters()
"""  # noqa: E501
TAKES = """
def take(listening, port):
    there, _ = listening.accept()
    while there.recv(1 << 16):
        pass
    there.sendall(bytes(100_000))
    there.shutdown(socket.SHUT_WR)
    show_timeouts(there, port)

ports = [int(port) for port in sys.argv[1:]]
listening = [socket.create_server(("", port)) for port in ports]
threads = [threading.Thread(target=take, args=both) for both in zip(listening, ports)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
show_counters()
"""

TALKS = """
def echo(listening):
    there, _ = listening.accept()
    while there.recv(1):
        time.sleep(0.02)
        there.sendall(b"yes")

listening = socket.create_server(("127.0.0.1", 6000))
threading.Thread(target=echo, args=(listening,), daemon=True).start()
with socket.create_connection(("127.0.0.1", 6000)) as to_itself, socket.create_connection((sys.argv[1], 7000)) as out:
    to_itself.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(20):
        # The second of two segments is acknowledged late, and probed before.
        to_itself.sendall(b"?")
        to_itself.sendall(b"?")
        out.sendall(bytes(5_000))
        to_itself.recv(3)
    out.shutdown(socket.SHUT_WR)
    while out.recv(1 << 16):
        pass
show_counters()
"""


def python(text: str, *arguments: str) -> dict[str, Any]:
    content = {"program.py": b64encode(text.encode()).decode()}
    return {"run": ["/usr/bin/python3", "program.py", *arguments], "contents": content}


def scenario(loss: float) -> Scenario:
    """A host with two connections to each of two others, one of them behind a lossy link that is slow for a while."""
    link = {"rate": "50 Mbit/s", "delay": "4 ms", "queue": "400 packets"}
    steps = ((20, "300 ms"), (25, "4 ms"), (1000, "500 ms"), (1020, "4 ms"), (2000, "500 ms"), (2020, "4 ms"))
    slow = {"kind": "trace", "links": ["switch->a"],
            "rows": [{"time": f"{at} ms", "delay": delay} for at, delay in steps]}  # fmt: skip
    flows = {
        "lossy": {"client": python(NETSTAT + SENDS, "a", "b"), "server": python(NETSTAT + TAKES, "7000", "7001")},
        "clean": {"server": python(NETSTAT + TAKES, "7002", "7003")},
    }
    return Scenario.parse({
        "name": "counts", "duration": "200 s",
        "nodes": [{"name": "host"}, {"name": "a"}, {"name": "b"}, {"name": "switch", "kind": "switch"}],
        "links": [
            {"from": "host", "to": "switch", "rate": "1 Gbit/s", "delay": "1 us"},
            {"from": "switch", "to": "a", "loss": loss} | link,
            {"from": "switch", "to": "b"} | link,
        ],
        "flows": [
            {"name": name, "from": "host", "to": to, "application": {"kind": "program"} | flows[name]}
            for name, to in (("lossy", "a"), ("clean", "b"))
        ],
        "timelines": [slow],
    })  # fmt: skip


def run(loss: float, engine: str = "kernel") -> daybreak.Run:
    return daybreak.run(scenario(loss), engine=engine)


def lines(found: daybreak.Run, program: str) -> list[list[str]]:
    """The words of each line that a program has written."""
    return [line.split() for line in found.files[f"programs/{program}/stdout"].decode().splitlines()]


def by_port(found: daybreak.Run) -> dict[int, dict[str, int]]:
    rows = found.flows.join(found.connections.select("flow", "dst_port"), on="flow")
    return {row["dst_port"]: {name: row[name] for name in COUNTS} for row in rows.iter_rows(named=True)}


def test_counts_of_a_hosts_connections_are_its_kernels_and_each_connection_has_its_own():
    found = run(0.1)
    counted = by_port(found)
    assert sorted(counted) == [7000, 7001, 7002, 7003]
    at_ends = [lines(found, program)[-1] for program in PROGRAMS]
    of_kernels = [sum(map(int, of_kind)) for of_kind in zip(*at_ends, strict=True)]
    assert of_kernels == [sum(row[name] for row in counted.values()) for name in COUNTS]
    for port, row in counted.items():
        if port in (7002, 7003):
            assert not any(row.values()), "nothing is lost on its way"
        else:
            assert row["rtos"] >= 1 and row["tlps"] >= 1 and row["fast_recoveries"] >= 5
    retransmits = found.flows.group_by("src", "dst").agg(pl.col("retransmits").sum()).sort("dst")
    assert retransmits["retransmits"].to_list()[1] == 0


@pytest.mark.parametrize("version", ["6.12", "7.3"])
def test_timeouts_of_each_connection_are_those_of_its_socket(version):
    try:
        image.find(Choice.parse(version))
    except NoImage as error:
        pytest.skip(f"left out without Linux {version}, whose sockets count timeouts: {error}")
    found = run(0.2, f"kernel:{version}")
    of_sockets: Counter[int] = Counter()
    for program in PROGRAMS:
        of_sockets.update({int(line[1]): int(line[2]) for line in lines(found, program) if line[0] == "rtos"})
    assert of_sockets == {port: row["rtos"] for port, row in by_port(found).items()}
    assert max(of_sockets.values()) > 10


def test_what_a_host_counts_of_its_connection_with_itself_is_of_no_other():
    link = {"rate": "1 Gbit/s", "delay": "100 us"}
    application = {"client": python(NETSTAT + TALKS, "{server}"), "server": python(NETSTAT + TAKES, "7000")}
    found = daybreak.run(
        Scenario.parse({
            "name": "talks to itself", "duration": "20 s",
            "nodes": [{"name": "host"}, {"name": "a"}], "links": [{"from": "host", "to": "a"} | link],
            "flows": [{"name": "f", "from": "host", "to": "a", "application": {"kind": "program"} | application}],
        }),
        engine="kernel",
    )  # fmt: skip
    rtos, tlps, *_ = map(int, lines(found, "f-client")[-1])
    assert rtos + tlps > 5, "of the connection over the loopback"
    (row,) = found.flows.iter_rows(named=True)
    assert [row[name] for name in COUNTS] == [0, 0, 0, 0]
