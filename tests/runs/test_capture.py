"""Packet captures as tshark reads them."""

import json
import shutil
import subprocess

import pytest

import daybreak

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def tshark(capture, *arguments):
    done = subprocess.run(["tshark", "-n", "-r", str(capture), *arguments], capture_output=True, text=True, check=False)
    # Run as root, tshark warns of that on the same channel; nothing else may be said.
    complaints = [line for line in done.stderr.splitlines() if line and not line.startswith("Running as user")]
    assert done.returncode == 0, done.stderr
    assert complaints == []
    return done.stdout


@pytest.fixture
def captured(migration):
    """Both loopback links and the way of the ACKs, with moves that lose and reorder packets."""
    links = ["green", "blue", "bypass"]
    changes = {
        "flows.0.size": "2 MiB",
        "flows.1.size": "2 MiB",
        "timelines.0.period": "1 ms",
        "timelines.0.night": "100 us",
    }
    return daybreak.run(migration.with_(changes).with_({"records": {"capture": links, "snaplen": 96}}))


def test_every_packet_is_understood(captured):
    lines = tshark(captured.capture, "-T", "fields", "-e", "frame.protocols", "-e", "frame.interface_name").splitlines()
    links = captured.links.filter(captured.links["link_name"].is_in(["green", "blue", "bypass"]))
    assert len(lines) == links["packets"].sum()
    assert {line.split("\t")[0] for line in lines} == {"raw:ip:tcp"} or all(":ip:tcp" in line for line in lines)
    assert {line.split("\t")[1] for line in lines} == {"green", "blue", "bypass"}


def test_nothing_is_malformed_and_no_checksum_is_wrong(captured):
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    broken = "_ws.malformed or ip.checksum.status == 0 or _ws.expert.severity == error"
    assert tshark(captured.capture, *checks, "-Y", broken) == ""


def test_both_connections_are_seen_from_syn_to_last_byte(captured):
    fields = ["-T", "fields", "-e", "tcp.stream", "-e", "tcp.flags.syn", "-e", "tcp.nxtseq", "-e", "tcp.len"]
    rows = [line.split("\t") for line in tshark(captured.capture, *fields).splitlines()]
    assert {row[0] for row in rows} == {"0", "1"}
    for stream in ("0", "1"):
        ends = [int(row[2]) for row in rows if row[0] == stream and int(row[3]) > 0]
        # Relative sequence numbers count the SYN.
        assert max(ends) >= 2 * 2**20 + 1


def test_options_are_those_of_the_stack(captured):
    syn = tshark(captured.capture, "-Y", "tcp.flags.syn == 1 and tcp.flags.ack == 0", "-T", "json")
    options = json.dumps(json.loads(syn)[0]["_source"]["layers"]["tcp"])
    assert '"tcp.options.mss_val": "8960"' in options
    for option in ("tcp.options.sack_perm", "tcp.options.timestamp.tsval", "tcp.options.wscale.shift"):
        assert option in options
