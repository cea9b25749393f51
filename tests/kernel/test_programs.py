"""Programs of this machine on real Linux: servers and clients, their output, their flows, and what goes wrong."""

import re
import shutil
import sys
from base64 import b64encode
from typing import Any

import polars as pl
import pytest
from ready_files import ROOT
from real_kernel import LACKING

import daybreak
from daybreak.engines.kernel import image, programs
from daybreak.engines.kernel import run as engine
from daybreak.errors import DaybreakError, EngineError, PlanError
from daybreak.scenario import Scenario

if LACKING:
    pytest.skip(f"the kernel engine's programs are left out: {LACKING}", allow_module_level=True)

PYTHON = "/usr/bin/python3"


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def scenario(*flows: dict[str, Any], **more: Any) -> Scenario:
    """Flows of programs, named "a", "b" ..., each between a pair of hosts of its own if it names none."""
    ends = [
        {"name": "abcdef"[i], "from": f"sender-{i}", "to": f"receiver-{i}"}
        | {key: flow[key] for key in ("from", "to", "start", "name", "variant") if key in flow}
        | {"application": {"kind": "program"} | {key: flow[key] for key in ("client", "server") if key in flow}}
        for i, flow in enumerate(flows)
    ]
    topology = {"kind": "dumbbell", "pairs": len(flows), "rate": "1 Gbit/s", "delay": "100 us", "queue": "100 packets"}
    topology |= more.pop("topology", {})
    plain = {"name": "programs", "duration": "20 s", "topology": topology, "flows": ends}
    return Scenario.parse(plain | more)


def python(text: str, *arguments: str, **surroundings: Any) -> dict[str, Any]:
    """A Python program as a command."""
    content = {"program.py": b64encode(text.encode()).decode()}
    return {"run": [PYTHON, "program.py", *arguments], "contents": content} | surroundings


def run(asked: Scenario, **options: Any) -> daybreak.Run:
    return daybreak.run(asked, engine="kernel", **options)


def failure(*flows: dict[str, Any]) -> str:
    with pytest.raises(DaybreakError) as caught:
        run(scenario(*flows))
    return str(caught.value)


# iperf3 looks without a pause for its server's answers, which takes real time: the round trip is short.
NEAR: dict[str, Any] = {
    "topology": {"rate": "10 Gbit/s", "delay": "1 us"},
    "stack": {"tcp_wmem": [4096, 16384, 65536]},
}
NONE = {"client": ["/bin/true"]}
IPERF = {"server": ["iperf3", "-s", "-1"], "client": ["iperf3", "-c", "{server}", "-n", "1M", "-J"]}


@needs("iperf3")
def test_a_transfer_of_iperf3_is_found_and_its_output_kept(tmp_path):
    found = run(scenario(IPERF, **NEAR))
    control, data = found.flows.iter_rows(named=True)
    assert (control["flow_name"], data["flow_name"]) == ("a-0", "a-1")
    assert (data["src"], data["dst"], data["bytes"]) == ("sender-0", "receiver-0", data["delivered_bytes"])
    # iperf3 sends 37 bytes of a cookie first, and whole blocks of 128 KiB.
    assert data["bytes"] == 8 * 131_072 + 37
    assert data["segments"] >= data["bytes"] // 1448
    # No goodput beyond the rate of the link.
    assert data["bytes"] * 8 / data["fct_ns"] < 10
    assert data["rtos"] == 0
    programs = found.table("programs")
    assert programs["exit_code"].to_list() == [0, 0]
    assert programs["end"].to_list() == ["client", "server"]
    ports = found.table("connections").select("protocol", "dst_port").rows()
    assert ports == [(6, 5201), (6, 5201)]
    place = found.write(tmp_path / "run")
    assert b'"sum_received"' in (place / "programs" / "a-client" / "stdout").read_bytes()
    assert daybreak.read(place).files == found.files
    other = run(scenario(IPERF, **NEAR), seed=2)
    other.write(place, force=True)
    assert daybreak.read(place).files == other.files


@needs("iperf3")
def test_a_run_can_be_repeated_to_the_byte():
    one, other = (run(scenario(IPERF, **NEAR)) for _ in range(2))
    assert one.files == other.files
    for name, table in one.tables():
        assert table.equals(other.table(name)), name
    third = run(scenario(IPERF, **NEAR), seed=2)
    assert third.files != one.files, "the seed is that of the cookie and of the ports"


@needs("iperf3")
def test_a_transfer_of_iperf3_is_one_of_ours():
    """Same segments at the same nanosecond, until iperf3 says on its other connection that it is at its end."""
    mebibytes, cookie, to_wire_ns = 4, 37, 8  # at 1 Gbit/s
    links = {"delay": "1 ms"}
    watched: dict[str, Any] = {"records": {"packets": ["sender-0->left"]}}
    client = ["iperf3", "-c", "{server}", "-n", f"{mebibytes}M"]
    program = run(scenario({"server": IPERF["server"], "client": client}, topology=links, **watched)).table("packets")
    bulk = scenario(NONE, topology=links, **watched).with_({"flows.0.application": None, "flows.0.size": "4 MiB"})
    ours = segments(run(bulk).table("packets"), "a", 0)
    theirs = segments(program, "a-1", cookie)
    # What waits when iperf3 is at its end is never sent.
    assert 2_800 < len(theirs) <= len(ours)
    assert [segment[1:] for segment in theirs] == [segment[1:] for segment in ours[: len(theirs)]]
    (end,) = (i for i in range(1, len(theirs)) if gap(theirs, i) != gap(ours, i))
    tail = program.filter((pl.col("flow_name") == "a-0") & (pl.col("payload_bytes") > 0))
    tail = tail.filter(pl.col("time_ns") > program.filter(flow_name="a-1", seq=cookie + 1)["time_ns"][0])
    assert gap(theirs, end) - gap(ours, end) == (tail["bytes"][0] + 38) * to_wire_ns
    assert end > 2_600


def segments(packets: pl.DataFrame, flow: str, skipped: int) -> list[tuple[int, int, int]]:
    """Time from the first, first byte and payload of a flow's segments from an offset on."""
    rows = packets.filter((pl.col("flow_name") == flow) & (pl.col("payload_bytes") > 0) & (pl.col("seq") > skipped))
    began = rows["time_ns"][0]
    return [(t - began, seq - skipped, n) for t, seq, n in rows.select("time_ns", "seq", "payload_bytes").rows()]


def gap(rows: list[tuple[int, int, int]], i: int) -> int:
    return rows[i][0] - rows[i - 1][0]


def test_a_system_call_takes_200_ns_and_the_network_goes_on_meanwhile():
    """A program that looks again and again at the clock sees it move, and delays no packet of another host."""
    look = """
import time
began, looks = time.perf_counter_ns(), 0
while time.perf_counter_ns() - began < 5_000_000:
    looks += 1
print(looks)
"""
    flows = ({"client": python(look), "start": "50 ms"}, NONE)
    quiet = scenario(*flows, records={"packets": ["sender-1->left"]}).with_(
        {"flows.1.application": None, "flows.1.size": "1 MB", "flows.1.start": "50 ms"}
    )
    found = run(quiet)
    looks = int(found.files["programs/a-client/stdout"])
    assert 24_000 < looks <= 25_000
    alone = run(quiet.with_({"flows.0.application.client": ["/bin/true"]}))
    assert found.table("packets").filter(flow_name="b").height > 600
    times = [one.table("packets").filter(flow_name="b")["time_ns"] for one in (found, alone)]
    assert times[0].equals(times[1])


SURROUNDINGS = """
import os, random, socket, ssl, sys, time, uuid
print(os.getpid(), os.getppid(), id(object()), random.random(), uuid.uuid4(), os.urandom(8).hex())
print(time.time_ns(), time.perf_counter_ns(), hash("text"), socket.gethostname(), ssl.RAND_bytes(8).hex())
print(os.getcwd(), sorted(os.listdir()), dict(os.environ)["GREETING"], sorted(os.listdir("/tmp")))
print(open("/etc/hosts").read(), socket.gethostbyname("receiver-0"), os.path.exists("/proc/1"))
print([name for _, name in socket.if_nameindex()], sorted(os.listdir("/dev")))
print(os.path.exists("/dev/daybreak"), os.getuid() == 0)
for forbidden in ("/etc/passwd", "/usr/new", "/sys/new", "/proc/sys/net/ipv4/tcp_sack", sys.argv[1]):
    try:
        open(forbidden, "a").close()
        print("could write", forbidden)
    except OSError as error:
        print(type(error).__name__)
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as error:
    print(error.strerror)
open("result.txt", "w").write("kept")
"""


def test_what_a_program_sees_is_the_same_each_time_and_it_can_change_nothing_outside():
    program = python(SURROUNDINGS, str(ROOT / "README.md"), environment={"GREETING": "hello"})
    one, other = (run(scenario({"client": program})) for _ in range(2))
    assert one.files == other.files
    said = one.files["programs/a-client/stdout"].decode()
    assert "could write" not in said
    assert "['program.py'] hello ['home']" in said
    assert "10.0.0.2 True" in said
    assert said.splitlines()[-1] == "Network is unreachable"
    assert one.files["programs/a-client/files/result.txt"] == b"kept"
    assert "programs/a-client/files/program.py" not in one.files, "it has not changed"
    assert "\nFalse False\n" in said, "neither the switch nor the machine's root"


BY_IPV6 = """
import socket
with socket.socket(socket.AF_INET6) as listening:
    listening.bind(("::", 7000))
    listening.listen()
    with socket.create_connection(("::1", 7000)):
        print(listening.accept()[1][0])
    connection, peer = listening.accept()
    print(peer[0], connection.recv(100))
    print([line.split()[-1] for line in open("/proc/net/if_inet6")])
"""
TO_IPV6 = """
import socket
with socket.socket(socket.AF_INET6) as client:
    client.connect(("::ffff:10.0.0.2", 7000))
    client.sendall(b"hello")
"""


def test_sockets_of_ipv6_need_an_option_of_the_kernel_and_say_so():
    sentence = failure({"server": python(BY_IPV6), "client": ["/bin/sleep", "1"]})
    assert "Address family not supported by protocol (its kernel is built without IPv6; with it: " in sentence


def test_sockets_of_ipv6_carry_ipv4_and_nics_have_no_other_address():
    has = [one for one in image.images() if image.is_current(one) and "CONFIG_IPV6=y" in one.users_config]
    if not has:
        pytest.skip("no kernel image has CONFIG_IPV6=y")
    asked = scenario({"server": python(BY_IPV6), "client": python(TO_IPV6)})
    found = daybreak.run(asked, engine=f"kernel:{has[0].digest}")
    said = found.files["programs/a-server/stdout"].decode().splitlines()
    # A NIC with an address of IPv6 would spend time on looking for routers.
    assert said == ["::1", "::ffff:10.0.0.1 b'hello'", "['lo']"]
    flow = found.flows.row(0, named=True)
    assert (flow["flow_name"], flow["delivered_bytes"]) == ("a-0", 5)


SERVER = """
import socket
with socket.create_server(("", 7000)) as listening:
    while True:
        connection, _ = listening.accept()
        with connection:
            connection.sendall(connection.recv(100).upper())
"""
CLIENT = """
import socket, sys
with socket.create_connection(("receiver-0", 7000)) as connection:
    connection.sendall(sys.argv[1].encode())
    print(connection.recv(100).decode())
"""


def test_several_programs_on_one_host_and_clients_of_other_hosts():
    flows = (
        {"server": python(SERVER), "client": python(CLIENT, "one")},
        {"client": python(CLIENT, "two"), "to": "receiver-0", "start": "100 ms"},
        {"client": python(CLIENT, "three"), "from": "sender-0", "to": "receiver-0", "start": "200 ms"},
    )
    found = run(scenario(*flows))
    said = [found.files[f"programs/{name}-client/stdout"] for name in "abc"]
    assert said == [b"ONE\n", b"TWO\n", b"THREE\n"]
    rows = found.flows.select("flow_name", "src", "bytes", "start_ns").rows()
    assert [row[:3] for row in rows] == [("a-0", "sender-0", 6), ("b-0", "sender-1", 6), ("c-0", "sender-0", 10)]
    assert [row[3] // 10**8 for row in rows] == [0, 1, 2]
    server = found.table("programs").row(1, named=True)
    assert (server["end"], server["signal"], server["exit_code"]) == ("server", 15, None)


CHOOSES = """
import socket, sys, time
listener = socket.create_server(("", 8080))
peer, _ = listener.accept()
peer.recv(10)
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr")
peer.sendall(bytes(3_000_000))
time.sleep(0.05)
"""
ASKS = """
import socket
with socket.create_connection(("receiver-0", 8080)) as connection:
    connection.send(b"please")
    while connection.recv(1 << 20):
        pass
"""


def test_a_connection_has_the_congestion_control_and_the_window_of_the_end_that_sends():
    flow = {"client": python(ASKS), "server": python(CHOOSES)}
    found = run(scenario(flow, records={"window": "1 ms"}))
    (row,) = found.flows.iter_rows(named=True)
    (connection,) = found.connections.iter_rows(named=True)
    assert (row["variant"], connection["variant"], row["rtos"]) == ("bbr", "bbr", 0)
    window = found.window.filter(flow_name="a-0")
    assert set(window["variant"]) == {"bbr"} and window.filter(pl.col("cwnd") > 20).height > 10
    # BBR's rate is the link's, and so much is out as its window has.
    sending = window.filter(pl.col("outstanding_bytes") > 0)
    assert 0.8e9 < sending["pacing_bps"].median() < 1.3e9
    assert (sending["in_flight"] <= sending["cwnd"]).all() and (sending["outstanding_bytes"] < 3_000_000).all()
    # Without windows its sockets are looked at every 10 ms.
    unseen = run(scenario(flow))
    assert unseen.flows["variant"].item() == "bbr" and unseen.manifest["tables"]["window"] == 0


DATAGRAMS = """
import socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(200):
    sender.sendto(bytes(int(sys.argv[1])), ("receiver-0", 9000))
"""


@pytest.mark.parametrize(("payload", "packets"), [(1000, 1), (4000, 3)])
def test_datagrams_are_counted_and_the_lost_ones_too(payload, packets):
    narrow = {"queue": "50 packets", "access_rate": "10 Gbit/s"}
    sink = python("import socket, time\ns = socket.socket(type=socket.SOCK_DGRAM)\ns.bind(('', 9000))\ntime.sleep(60)")
    found = run(scenario({"client": python(DATAGRAMS, str(payload)), "server": sink}, topology=narrow))
    (row,) = found.table("datagrams").filter(flow_name="a-0").iter_rows(named=True)
    assert row["sent"] == 200 * packets
    assert row["variant"] == found.flows["variant"].item() == "none"
    assert row["lost"] > 0
    assert row["sent"] == row["delivered"] + row["lost"] + row["in_flight"]
    assert row["lost"] == found.table("queue_totals")["dropped_packets"].sum()
    # A packet waits at most for 50 others of 1500 bytes at 1 Gbit/s.
    assert row["delay_max_ns"] < 100_000 + 60 * 12_304


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (["/bin/sh", "-c", "echo first >&2; echo no such luck >&2; exit 3"], "exit code 3 at 0.000"),
        (["/bin/sh", "-c", "kill -SEGV $$"], "was ended by signal 11"),
        (["/bin/sh", "-c", "sleep 1000 & exit 0"], "left a process behind (sleep)"),
        (["/bin/sh", "-c", "yes > /dev/stdout"], "wrote more than 64 MiB to its standard output"),
        (["/bin/sh", "-c", "head -c 10G /dev/zero"], "wrote more than 64 MiB to its standard output"),
        (
            ["/bin/sh", "-c", "for i in 1 2 3 4 5 6; do head -c 60M /dev/zero > $i || exit 1; done"],
            "filled its private",
        ),
        (["/bin/sh", "-c", "read line < /dev/tty"], "/dev/tty"),
        (["/bin/sh", "-c", "exit 1"], "it wrote nothing, and has neither a terminal nor input"),
        (["/bin/sh", "-c", "head -c 80M /dev/zero > large"], "wrote a file of more than 64 MiB and was ended"),
    ],
)
def test_a_program_that_fails_fails_the_run_in_one_sentence(client, expected):
    sentence = failure({"client": client})
    assert expected in sentence, sentence
    assert sentence.startswith('the client of flow "a" (/bin/sh -c '), sentence
    assert "\n" not in sentence and "\0" not in sentence


def test_the_last_line_of_a_failure_is_quoted():
    assert failure({"client": ["/bin/sh", "-c", "echo no such luck >&2; exit 3"]}).endswith(": no such luck")
    assert failure({"client": ["/bin/sleep", "9"], "server": ["/bin/false"]}).startswith('the server of flow "a" (')


def test_a_program_that_is_not_there_is_named_before_anything_runs():
    with pytest.raises(PlanError, match=r'flows\[0\].application.client.run: there is no program "iperf4"'):
        run(scenario({"client": ["iperf4"]}))
    with pytest.raises(PlanError, match=r'"\./missing" is not among the files'):
        run(scenario({"client": ["./missing"]}))


def test_a_program_where_each_has_a_folder_of_its_own_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "PRIVATE", (str(tmp_path),))
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    why = f'"{script}" lies in {tmp_path}, of which each program has its own: expected a file of `files`'
    with pytest.raises(PlanError, match=rf"flows\[0\].application.client.run: {re.escape(why)}"):
        run(scenario({"client": [str(script)]}))
    with pytest.raises(PlanError, match=rf'client.folder: "{re.escape(str(tmp_path))}" lies in '):
        run(scenario({"client": {"run": ["true"], "folder": str(tmp_path)}}))
    with pytest.raises(PlanError, match=r'"/etc/passwd" is not executable on this machine'):
        run(scenario({"client": ["/etc/passwd"]}))


def test_the_simulator_refuses_programs_by_name():
    with pytest.raises(
        PlanError, match=r"flows\[0\].application is true .flow \"a\".: programs run on the kernel engine"
    ):
        daybreak.run(scenario({"client": ["true"]}))


def test_a_program_that_lets_no_time_pass_is_named_and_ended(monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE_S", 5.0)
    spins = {"client": ["/bin/sh", "-c", "while :; do :; done"]}
    with pytest.raises(EngineError, match=r'the client of flow "a" \(/bin/sh .* ran for 5 s and let no time pass'):
        run(scenario(spins))


def test_a_program_that_waits_again_and_again_lets_time_pass_though_it_sends_nothing(monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE_S", 2.0)
    waits = {"client": python("import time\nfor _ in range(90000): time.sleep(0.00002)\nprint('done')")}
    found = run(scenario(waits))
    assert found.files["programs/a-client/stdout"] == b"done\n"
    assert found.flows.height == 0


def test_a_program_that_lets_no_time_pass_without_our_environment_is_known_by_its_file(monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE_S", 5.0)
    spins = {"client": ["/usr/bin/env", "-i", "/bin/sh", "-c", "while :; do :; done"]}
    with pytest.raises(EngineError, match=r"a program \(/bin/sh\) ran for 5 s and let no time pass"):
        run(scenario(spins))


def test_a_program_is_asked_to_end_at_its_time():
    stops = {"client": {"run": ["/bin/sleep", "100"], "stop": "2 s"}}
    program = run(scenario(stops)).table("programs").row(0, named=True)
    assert (program["signal"], program["end_ns"] // 10**6) == (15, 2000)


def test_a_program_that_runs_at_the_end_has_none():
    found = run(scenario({"client": ["/bin/sleep", "100"]}, duration="3 s"))
    program = found.table("programs").row(0, named=True)
    assert (program["signal"], program["exit_code"], program["end_ns"]) == (None, None, None)
    assert found.manifest["totals"]["ended_ns"] == 3 * 10**9


def test_the_python_that_runs_daybreak_can_be_named():
    program = {"client": ["{python}", "-c", "import sys, daybreak; print(sys.executable)"]}
    assert run(scenario(program)).files["programs/a-client/stdout"].decode().strip() == sys.executable


def test_a_transfer_over_quic_is_seen_as_datagrams():
    pytest.importorskip("aioquic")
    ready = daybreak.load(ROOT / "scenarios" / "26-quic.toml")
    one, other = (run(ready) for _ in range(2))
    assert one.files == other.files
    assert one.table("datagrams").equals(other.table("datagrams"))
    assert one.files["programs/quic-client/stdout"].startswith(b"2000000 bytes in ")
    there, back = one.table("datagrams").iter_rows(named=True)
    assert there["sent"] == there["delivered"] + there["lost"]
    assert there["lost"] == one.table("drops").filter(reason="night").height > 0
    assert back["lost"] == 0, "the way back is not moved"
    # No payload of QUIC's packets is larger than the 1200 bytes that every path carries (RFC 9000, section 14).
    assert there["delivered"] * 1_200 >= 2_000_000


@needs("redis-benchmark")
def test_a_benchmark_of_redis_runs_as_it_is_installed():
    found = run(daybreak.load(ROOT / "scenarios" / "22-redis.toml"))
    lines = found.files["programs/redis-client/stdout"].decode().splitlines()
    assert [line.split(",")[0] for line in lines[-2:]] == ['"SET"', '"GET"']


@needs("curl")
def test_curl_gets_a_file_of_a_web_server():
    found = run(daybreak.load(ROOT / "scenarios" / "20-web-server.toml"))
    assert found.files["programs/web-client/stdout"].endswith(b"5000000 bytes\n")
    assert found.flows.row(0, named=True)["dst"] == "receiver-0"
