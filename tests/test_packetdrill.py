"""Scripts of packetdrill become dialogues, or are refused by line; the scripts here are our own."""

import importlib.util
import sys

import pytest
from ready_files import ROOT

SPEC = importlib.util.spec_from_file_location("packetdrill", ROOT / "tools" / "dialogues-of-packetdrill.py")
TOOL = importlib.util.module_from_spec(SPEC)
sys.modules["packetdrill"] = TOOL
SPEC.loader.exec_module(TOOL)

DEFAULTS = 'sysctl -q net.ipv4.tcp_rmem="4096 70000 $((3*1024*1024))"\nsysctl -q net.ipv4.tcp_ecn=0'

SCRIPT = """// A comment.
--tolerance_usecs=2000
`./defaults.sh
sysctl -q net.ipv4.tcp_sack=0`
 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 20000 <mss 900,TS val 300 ecr 0,nop,wscale 3>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,TS val 50 ecr 300,nop,wscale 6>
+.02 < . 1:1(0) ack 1 win 400 <nop,nop,TS val 310 ecr 50>
+0 accept(3, ..., ...) = 4
+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [50000], 4) = 0
+.01 write(4, ..., 2000) = 2000
+0 > P. 1:2001(2000) ack 1 <nop,nop,TS val 80 ecr 310>
+0 %{
assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd  # still
assert tcpi_ca_state == TCP_CA_Open
}%
+.1~+.3 > P. 1777:2001(224) ack 1 win 500 <nop,nop,TS val 180 ecr 310>
+.01 < . 1:101(100) ack 2001 win 300 <nop,nop,TS val 400 ecr 80>
* > . 2001:2001(0) ack 101 <...>
+0 read(4, ..., 500) = 100
+0 shutdown(4, SHUT_WR) = 0
+0 > F. 2001:2001(0) ack 101 <...>
+0 close(4) = 0
"""

DIALOGUE = """config mtu 1500
config rmem_default 70000
config rmem_max 3145728
config ecn off
config sack off
0 set sndbuf 50000
0 read nothing
0 < S 0 win 20000 mss 900 wscale 3 ts val 299ms
0~2000us > S. 0 ack 1 mss 1460 wscale 6 ts ecr 299ms
20000us < . 1 ack 1 win 3200 val 309ms
30000us write 2000
30000us~2000us > . 1:2001/888 ack 1 ecr 309ms
30000us expect cwnd 10
30000us expect state Open
128000us..330000us~2000us > P. 1777:2001 ack 1 win 32000 ecr 309ms
340000us < . 1:101 ack 2001 win 2400 val 399ms ecr 30000us
340000us~1000000us > . 2001 ack 101
340000us read 100
340000us close
340000us~2000us > F. 2001 ack 101
340000us > rest
"""


def test_a_script_becomes_a_dialogue():
    assert TOOL.translate(SCRIPT, DEFAULTS) == DIALOGUE


OPENING = """0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 connect(3, ..., ...) = 0
+0 > S 0:0(0) <...>
"""
ANSWER = "+.1 < S. 0:0(0) ack 1 win 1000 <mss 1000>\n+0 > . 1:1(0) ack 1\n"


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("--speed=3", "line 1: the option --speed=3 is not known"),
        ("`sysctl -q net.ipv4.tcp_mtu_probing=2`", "line 1: the setting tcp_mtu_probing=2 cannot be said"),
        ("`sysctl -q net.ipv4.tcp_ecn=3`", "line 1: tcp_ecn is 3, and a dialogue knows 0, 1, 2"),
        (
            "`tc qdisc replace dev tun0 root fq`",
            "line 1: the command 'tc qdisc replace dev tun0 root fq' cannot be said",
        ),
        ("connect(3, ..., ...) = 0", "line 1: expected a time before 'connect(3, ..., ...) = 0'"),
        ("0 epoll_create(1) = 5", "line 1: the call epoll_create cannot be said"),
        ("0 send(4, ..., 40, MSG_MORE) = 40", "line 1: a write with a flag cannot be said"),
        (
            "0 setsockopt(4, SOL_TCP, TCP_MAXSEG, [9], 4) = 0",
            "line 1: the socket's option TCP_MAXSEG cannot be said here",
        ),
        (OPENING + "+0 < . 1:9(5) ack 1 win 9", "line 4: 1:9 are not 5 bytes"),
        (OPENING + "+0 close(3) = 0", "line 4: a close before there is a connection cannot be said"),
        (
            OPENING + ANSWER + "+0 < . 1:9(8) ack 1 win 9\n+0 close(3) = 0",
            "line 7: a close with unread data, which resets the connection, cannot be said",
        ),
        (
            OPENING + ANSWER + "+0 < . 1:2001(2000) ack 1 win 9",
            "line 6: a segment that is longer than the link's MTU cannot be said",
        ),
        (
            "--mss=1000\n" + OPENING + ANSWER + "+0 < . 1:1401(1400) ack 1 win 9",
            "line 7: several segments in one frame cannot be said",
        ),
        (OPENING + "+0 %{ assert tcpi_rcv_mss == 5 }%", "line 4: the claim 'assert tcpi_rcv_mss == 5' cannot be said"),
        ("1 < . 1:1(0) ack 1\n0.5 < . 1:1(0) ack 1", "line 2: the time is before the line above"),
    ],
)
def test_what_a_dialogue_cannot_say_is_refused(script, problem):
    with pytest.raises(TOOL.Refused) as refused:
        TOOL.translate(script, DEFAULTS)
    assert str(refused.value) == problem


def test_the_tool_overwrites_nothing_and_says_in_one_sentence_what_is_missing(tmp_path, monkeypatch, capsys):
    defaults, out, script = tmp_path / "defaults.sh", tmp_path / "out", tmp_path / "a.pkt"
    defaults.write_text(DEFAULTS)
    script.write_text(SCRIPT)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["tool", *map(str, arguments)])
        return TOOL.main()

    assert run("--defaults", defaults, "--out", out, script) == 0
    assert "1 of 1 scripts translated" in capsys.readouterr().out
    (out / "a.dialogue").write_text("mine")
    with pytest.raises(SystemExit, match=r"a\.dialogue exists: choose another --out"):
        run("--defaults", defaults, "--out", out, script)
    assert (out / "a.dialogue").read_text() == "mine"
    for missing in (
        ("--defaults", tmp_path / "none.sh", "--out", out, script),
        ("--defaults", defaults, "--out", tmp_path / "other", tmp_path / "none.pkt"),
    ):
        with pytest.raises(SystemExit, match=r"none\.(sh|pkt) cannot be read: no such file"):
            run(*missing)
    defaults.write_bytes(b"\xff")
    with pytest.raises(SystemExit, match=r"defaults\.sh cannot be read: "):
        run("--defaults", defaults, "--out", out, script)
