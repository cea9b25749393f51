"""Translates packetdrill scripts into dialogues, so that tests of TCP that others wrote judge the model and Linux.

    python tools/dialogues-of-packetdrill.py --defaults defaults.sh --out DIRECTORY SCRIPT.pkt...

The scripts of https://github.com/google/packetdrill and of the Linux tree are GPL: they, and what is translated from
them, stay out of this repository. Both sets begin with a shell script of settings, `defaults.sh`.

What a dialogue cannot say is refused by a sentence that names script and line; then there is no dialogue. The result
of a system call is not compared, and PSH only on lines of one segment: a stack without segmentation offload ends its
bursts elsewhere. A time has packetdrill's tolerance of 4 ms, or the script's own.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from daybreak.errors import reason

TOLERANCE_US = 4_000
# For a segment that may leave at any time.
ANY_TIME_US = 1_000_000
MTU = 1_500
IP_AND_TCP = 40
TIMESTAMPS = 12
# Linux gives out at most this much of a buffer that the application sets (net.core.rmem_max, wmem_max).
LARGEST_BUFFER = 212_992

SWITCH = {"0": "off", "1": "on"}
SYSCTLS: dict[str, tuple[str, dict[str, str] | None]] = {
    "tcp_timestamps": ("timestamps", SWITCH),
    "tcp_sack": ("sack", SWITCH),
    "tcp_dsack": ("dsack", SWITCH),
    "tcp_window_scaling": ("window_scaling", SWITCH),
    "tcp_moderate_rcvbuf": ("receive_autotuning", SWITCH),
    "tcp_slow_start_after_idle": ("slow_start_after_idle", SWITCH),
    "tcp_frto": ("frto", {"0": "off", "2": "on"}),
    "tcp_early_retrans": ("tail_loss_probe", {"0": "off", "3": "on", "4": "on"}),
    "tcp_recovery": ("rack", SWITCH),
    "tcp_ecn": ("ecn", {"0": "off", "1": "on", "2": "passive"}),
    "tcp_reordering": ("reordering", None),
    "tcp_max_reordering": ("max_reordering", None),
    "tcp_congestion_control": ("variant", None),
    "tcp_comp_sack_nr": ("comp_sack_nr", None),
}
"""A sysctl as the header of a dialogue has it; what is not in the table cannot be said."""

NOT_TOLD = {
    **dict.fromkeys(("tcp_syn_retries", "tcp_synack_retries", "tcp_fack", "tcp_fastopen", "tcp_fastopen_key")),
    **dict.fromkeys(("tcp_syncookies", "net.mptcp.enabled")),
    # The stage sends without segmentation offload.
    **dict.fromkeys(("tcp_tso_win_divisor", "tcp_min_tso_segs")),
    # These may be what Linux has anyway, and nothing else.
    "tcp_pacing_ss_ratio": "200",
    "tcp_pacing_ca_ratio": "120",
    "tcp_notsent_lowat": "4294967295",
}
"""Sysctls that change nothing of what a dialogue compares; those with a value only if they have it."""

HARMLESS = (
    r"ip tcp_metrics flush all.*",
    r"tc qdisc (add|replace) dev tun0 root pfifo",
    r"ethtool -K tun0 tso off gso off",
    r"echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect",
    r"/tmp/sysctl_restore_.*",
    r"nstat -n",
)
"""Commands that leave everything as a dialogue has it."""

REPORTED = {
    "tcpi_snd_cwnd": "cwnd",
    "tcpi_snd_ssthresh": "ssthresh",
    "tcpi_ca_state": "state",
    "tcpi_reordering": "reordering",
    "tcpi_reord_seen": "reordering_seen",
    "tcpi_total_retrans": "retransmits",
    "tcpi_unacked": "unacked",
    "tcpi_sacked": "sacked",
    "tcpi_lost": "lost",
    "tcpi_retrans": "retransmitted",
    "tcpi_bytes_acked": "acked",
    "tcpi_dsack_dups": "dsacks",
}
STATES = {"TCP_CA_Open": "Open", "TCP_CA_Disorder": "Disorder", "TCP_CA_CWR": "Cwr"} | {
    "TCP_CA_Recovery": "Recovery",
    "TCP_CA_Loss": "Loss",
}
INFINITE = 0x7FFFFFFF
ECN = {"noecn": "not-ect", "ect0": "ect0", "ect1": "ect1", "ce": "ce"}

TIME = re.compile(r"(\*|\+?\s*\d*\.?\d+)(?:\s*(~|\.\.\.)\s*(\+?\s*\d*\.?\d+))?\s+(?=\S)")
SEGMENT = re.compile(
    r"([<>])\s*(?:\[(\w+)\]\s*)?([SFRP.EW]+)\s+(\d+):(\d+)\s*\((\d+)\)"
    r"(?:\s+ack\s+(\d+))?(?:\s+win\s+(\d+))?(?:\s*<(.*)>)?$"
)
QUOTED = (("`", "shell", "`"), ("%{", "claims", "}%"))
CALL = re.compile(r"(\w+)\((.*)\)\s*=\s*(-?\d+)")


class Refused(Exception):
    """A line that no dialogue can say."""


@dataclass(frozen=True)
class Event:
    """A statement of a script: a command of the shell, an option, or what happens at a time."""

    line: int
    kind: str
    text: str
    at: str = ""
    span: str = ""
    until: str = ""


def events(script: str) -> Iterator[Event]:
    """The statements of a script; comments are left out."""
    script = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), script, flags=re.DOTALL)
    lines = script.split("\n")
    at = 0
    while at < len(lines):
        line, text = at + 1, _without_comment(lines[at])
        at += 1
        if not text:
            continue
        if text.startswith("--"):
            yield Event(line, "option", text)
            continue
        timed = TIME.match(text)
        what = text[timed.end() :] if timed else text
        kind, closing = next((found for opening, *found in QUOTED if what.startswith(opening)), ("call", ""))
        if closing:
            while closing not in what[2:] and at < len(lines):
                what += "\n" + lines[at]
                at += 1
            what = what.strip("`%{} \n")
        elif what[:1] in "<>":
            kind = "packet"
        if not timed and kind != "shell":
            raise Refused(f"line {line}: expected a time before {what!r}")
        yield Event(line, kind, what, *((timed[1], timed[2] or "", timed[3] or "") if timed else ()))


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s)//.*", "", line).strip()


@dataclass
class Side:
    """What one end said in its SYN."""

    scale: int | None = None
    mss: int = 536
    timestamps: bool = False
    seen: bool = False


@dataclass
class Translation:
    """A dialogue in the making."""

    defaults: str
    settings: dict[str, str] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    tolerance_us: int = TOLERANCE_US
    now: Fraction = Fraction(0)
    variables: dict[str, str] = field(default_factory=dict)
    own: Side = field(default_factory=Side)
    peer: Side = field(default_factory=Side)
    sent: dict[int, Fraction] = field(default_factory=dict)
    """When our segment with this timestamp left."""
    last_sent: int | None = None
    connection: str = ""
    listener: str = ""
    frame_mss: int | None = None
    """A longer segment of the peer's comes as several of this length in one frame."""
    unread: int = 0
    """The peer's bytes that the application has not read; those that came twice count once."""
    received: int = 1

    def say(self, event: Event) -> None:
        if event.kind == "option":
            self._option(event.text)
            return
        if event.kind == "shell":
            self._shell(event.text)
            return
        expected = self._time(event)
        if event.kind == "packet":
            self._segment(event.text, expected)
        elif event.kind == "claims":
            self._claims(event.text)
        else:
            self._call(event.text)

    def text(self) -> str:
        # A script ends without a look at what else has left: after its last expected segment anything may.
        last = max((at for at, step in enumerate(self.steps) if " > " in step), default=-1)
        time = self.steps[last].split("~")[0].split("..")[-1] if last >= 0 else "0"
        self.steps.insert(last + 1, f"{time} > rest")
        header = [f"config {name} {value}" for name, value in self.settings.items()]
        return "\n".join([*header, *self.first, "0 read nothing", *self.steps, ""])

    def _option(self, text: str) -> None:
        name, _, value = text.removeprefix("--").partition("=")
        if name == "tolerance_usecs":
            self.tolerance_us = int(value)
        elif name == "tcp_ts_tick_usecs" and value == "1000":
            pass
        elif name == "mss":
            self.frame_mss = int(value)
        else:
            raise Refused(f"the option {text} is not known")

    def _shell(self, text: str) -> None:
        text = re.sub(r"\\\n", " ", text)
        for line in text.split("\n"):
            command = re.sub(r"\s+#.*|^#.*", "", line).strip()
            if not command or any(re.fullmatch(known, command) for known in HARMLESS):
                continue
            if re.fullmatch(r"\S*/defaults\.sh", command):
                self._shell(self.defaults)
            elif re.match(r"sysctl\s|\S*set_sysctls\.py\s", command):
                self._sysctls(command)
            else:
                raise Refused(f"the command {command!r} cannot be said")

    def _sysctls(self, command: str) -> None:
        command = re.sub(r"\$\(\(([\d*]+)\)\)", lambda sum: str(math.prod(map(int, sum[1].split("*")))), command)
        for name, quoted in re.findall(r"([\w./]+)=(\"[^\"]*\"|\S+)", command):
            short = name.replace("/proc/sys/", "").replace("/", ".").removeprefix("net.ipv4.")
            value = quoted.strip('"')
            if short in ("tcp_rmem", "tcp_wmem"):
                _, default, most = value.split()
                self.settings |= {f"{short[4:]}_default": default, f"{short[4:]}_max": most}
            elif short in NOT_TOLD and NOT_TOLD[short] in (None, value):
                pass
            elif short in SYSCTLS:
                setting, words = SYSCTLS[short]
                if words is not None and value not in words:
                    raise Refused(f"{short} is {value}, and a dialogue knows {', '.join(words)}")
                self.settings[setting] = words[value] if words else value
            else:
                raise Refused(f"the setting {short}={value} cannot be said")

    def _time(self, event: Event) -> str:
        """Moves to the time of the event; in the words for a segment that is expected then.

        After a segment within a range of times the script goes on from when it left, and the dialogue from the end.
        """
        if event.at == "*":
            return f"{_us(self.now)}~{ANY_TIME_US}us"
        before, start = self.now, self._instant(event.at)
        end = self._instant(event.until) if event.span == "~" else start
        if start < before or end < start:
            raise Refused("the time is before the line above")
        self.now = end
        tolerance = Fraction(self.tolerance_us, 1_000_000)
        early = f"{_us(max(start - tolerance, before))}.." if end > start else ""
        return f"{early}{_us(end)}~{self.tolerance_us}us"

    def _instant(self, text: str) -> Fraction:
        seconds = Fraction(text.replace("+", "").strip())
        return self.now + seconds if text.startswith("+") else seconds

    def _step(self, words: str) -> None:
        self.steps.append(f"{_us(self.now)} {words}")

    def _segment(self, text: str, expected: str) -> None:
        found = SEGMENT.match(text)
        if not found:
            raise Refused(f"the segment {text!r} cannot be said")
        direction, ecn, flags, first, end, length, ack, window, options = found.groups()
        if int(end) - int(first) != int(length):
            raise Refused(f"{first}:{end} are not {length} bytes")
        if ("." in flags) != (ack is not None):
            raise Refused("an ACK without the flag, or the flag without a number, cannot be said")
        sends = direction == ">"
        side, other = (self.own, self.peer) if sends else (self.peer, self.own)
        known = _options(options)
        is_syn = "S" in flags
        if is_syn:
            self._offer(side, other, known)
        elif not sends:
            self._receive(int(end), int(length))
        stamps = self.own.timestamps and self.peer.timestamps
        words = [direction, flags, first]
        if int(length):
            words[-1] += f":{end}"
            piece = min(self.peer.mss, MTU - IP_AND_TCP) - TIMESTAMPS * stamps
            if sends and int(length) > piece:
                words[-1] += f"/{piece}"
                words[1] = flags.replace("P", "")
            elif sends and "P" not in flags:
                words[1] += "p"
        if ack is not None:
            words.append(f"ack {ack}")
        if window is not None:
            both = self.own.scale is not None and self.peer.scale is not None
            words.append(f"win {int(window) << ((side.scale or 0) if both and not is_syn else 0)}")
        words += [f"sack {known['sack']}"] if "sack" in known else []
        words += _offered(known) if is_syn else []
        words += self._stamps(known, sends, is_syn, stamps)
        words += _ecn(ecn)
        self.steps.append(f"{expected if sends else _us(self.now)} {' '.join(words)}")

    def _offer(self, side: Side, other: Side, known: dict[str, str]) -> None:
        """Takes note of the options of a SYN."""
        side.seen = True
        side.mss = int(known.get("mss", "536"))
        side.scale = int(known["wscale"]) if "wscale" in known else None
        side.timestamps = "ts" in known
        if "any" in known:
            side.scale = self._own_scale()
            side.timestamps = self._has_timestamps() and (other.timestamps or not other.seen)

    def _receive(self, end: int, length: int) -> None:
        """Takes note of the peer's data."""
        if self.frame_mss is not None and length > self.frame_mss:
            raise Refused("several segments in one frame cannot be said")
        if length > MTU - IP_AND_TCP:
            raise Refused("a segment that is longer than the link's MTU cannot be said")
        self.unread += max(end - self.received, 0)
        self.received = max(end, self.received)

    def _stamps(self, known: dict[str, str], sends: bool, is_syn: bool, stamps: bool) -> list[str]:
        """The timestamps of a segment. The peer's number N is the one that our clock shows after N - 1 ms; ours is
        whatever the clock shows, and stands for the time at which it left."""
        if "ts" not in known:
            return ["nots"] if stamps and not is_syn and "any" not in known else []
        value, echo = map(int, known["ts"].split())
        if sends:
            self.sent.setdefault(value, self.now)
            self.last_sent = value
            return [f"ecr {echo - 1}ms"] if echo else []
        words = [f"val {value - 1}ms"]
        if echo not in (0, self.last_sent):
            if echo not in self.sent:
                raise Refused(f"the echoed timestamp {echo} is of no segment above")
            words.append(f"ecr {_us(self.sent[echo])}")
        return words

    def _own_scale(self) -> int | None:
        """Linux scales for the larger of the largest receive buffer of autotuning and of those that may be set."""
        if self.settings.get("window_scaling") == "off" or (self.peer.seen and self.peer.scale is None):
            return None
        largest = max(int(self.settings.get("rmem_max", "6291456")), LARGEST_BUFFER)
        return next(scale for scale in range(15) if largest >> scale <= 65_535 or scale == 14)

    def _has_timestamps(self) -> bool:
        return self.settings.get("timestamps", "on") == "on"

    def _claims(self, text: str) -> None:
        text = re.sub(r"#.*", "", text)
        for statement in filter(None, (piece.strip() for piece in re.split(r"[\n;]", text))):
            if statement.startswith("print"):
                continue
            if assigned := re.fullmatch(r"(\w+)\s*=\s*(\w+)", statement):
                self.variables[assigned[1]] = assigned[2]
                continue
            found = re.fullmatch(r"assert\s+(\w+)\s*(==|!=|<=|>=|<|>)\s*(\w+)\s*(?:,.*)?", statement)
            if not found or found[1] not in REPORTED:
                raise Refused(f"the claim {statement!r} cannot be said")
            name, sign, value = REPORTED[found[1]], found[2], self.variables.get(found[3], found[3])
            if name == "state":
                value = STATES.get(value, value)
            elif not re.fullmatch(r"\d+|0x[0-9a-fA-F]+", value):
                raise Refused(f"the claim {statement!r} cannot be said")
            elif name == "ssthresh" and int(value, 0) == INFINITE:
                value = "infinite"
            self._step(f"expect {name} {'' if sign == '==' else sign + ' '}{value}")

    def _call(self, text: str) -> None:
        found = CALL.match(text)
        if not found:
            raise Refused(f"the call {text!r} cannot be said")
        name, arguments, result = found[1], [word.strip() for word in found[2].split(",")], int(found[3])
        handler: Callable[[list[str], int], None] | None = getattr(self, f"_call_{name}", None)
        if handler is None:
            raise Refused(f"the call {name} cannot be said")
        handler(arguments, result)

    def _call_socket(self, arguments: list[str], result: int) -> None:
        if self.connection or self.listener:
            raise Refused("a second socket cannot be said")
        if "SOCK_STREAM" not in arguments:
            raise Refused("a socket that is not TCP's cannot be said")

    def _call_bind(self, arguments: list[str], result: int) -> None:
        pass

    def _call_fcntl(self, arguments: list[str], result: int) -> None:
        pass

    def _call_listen(self, arguments: list[str], result: int) -> None:
        self.listener = arguments[0]

    def _call_accept(self, arguments: list[str], result: int) -> None:
        if self.connection:
            raise Refused("a second connection cannot be said")
        self.connection = str(result)

    def _call_connect(self, arguments: list[str], result: int) -> None:
        if self.connection:
            raise Refused("a second connection cannot be said")
        self.connection = arguments[0]
        self._step("open")

    def _call_setsockopt(self, arguments: list[str], result: int) -> None:
        socket, _, option, value = arguments[:4]
        value = value.strip("[]")
        if option == "SO_REUSEADDR":
            return
        if option in ("TCP_NODELAY", "TCP_CORK"):
            self._step(f"set {option[4:].lower()} {SWITCH[value]}")
        elif option == "SO_SNDBUF":
            # Before anything was written the buffer may as well have been set from the start.
            if any(" write " in step for step in self.steps):
                raise Refused("SO_SNDBUF after something was written cannot be said")
            self.first.append(f"0 set sndbuf {min(int(value), LARGEST_BUFFER)}")
        elif option == "SO_RCVBUF" and not self.steps and socket != self.connection:
            self.first.append(f"0 set rcvbuf {min(int(value), LARGEST_BUFFER)}")
        else:
            raise Refused(f"the socket's option {option} cannot be said here")

    def _call_getsockopt(self, arguments: list[str], result: int) -> None:
        if arguments[2] not in ("SO_ERROR", "SO_SNDBUF", "SO_RCVBUF"):
            raise Refused(f"what {arguments[2]} is cannot be said")

    def _call_write(self, arguments: list[str], result: int) -> None:
        if any("MSG_" in word for word in arguments[1:]):
            raise Refused("a write with a flag cannot be said")
        if result > 0:
            self._step(f"write {result}")

    _call_send = _call_sendto = _call_write

    def _call_read(self, arguments: list[str], result: int) -> None:
        if any("MSG_" in word for word in arguments[1:]):
            raise Refused("a read with a flag cannot be said")
        if result > 0:
            self.unread -= result
            self._step(f"read {result}")

    _call_recv = _call_read

    def _call_shutdown(self, arguments: list[str], result: int) -> None:
        if arguments[1] != "SHUT_RD":
            self._close()

    def _call_close(self, arguments: list[str], result: int) -> None:
        if arguments[0] != self.connection:
            return
        if self.unread > 0:
            raise Refused("a close with unread data, which resets the connection, cannot be said")
        if not (self.own.seen and self.peer.seen):
            raise Refused("a close before there is a connection cannot be said")
        self._close()

    def _close(self) -> None:
        """Once: to close what is shut down for writing sends nothing."""
        if not any(step.endswith(" close") for step in self.steps):
            self._step("close")


def _us(at: Fraction) -> str:
    return f"{float(at * 1_000_000):.10g}us" if at else "0"


def _ecn(field: str | None) -> list[str]:
    if field is not None and field not in ECN:
        raise Refused(f"the ECN field {field} cannot be said")
    return [ECN[field]] if field else []


def _offered(known: dict[str, str]) -> list[str]:
    if "any" in known:
        return []
    numbers = [f"{name} {known[name]}" for name in ("mss", "wscale") if name in known]
    return numbers + [name for name in ("sackok", "ts") if name in known]


def _options(text: str | None) -> dict[str, str]:
    known: dict[str, str] = {}
    for word in (text or "").split(","):
        name, _, value = word.strip().partition(" ")
        match name:
            case "" | "nop" | "eol":
                pass
            case "...":
                known["any"] = ""
            case "mss" | "wscale" | "sack":
                known[name] = value.strip()
            case "sackOK":
                known["sackok"] = ""
            case "TS":
                words = value.split()
                known["ts"] = f"{words[1]} {words[3]}"
            case _:
                raise Refused(f"the TCP option {word.strip()} cannot be said")
    return known


def translate(script: str, defaults: str) -> str:
    """The dialogue of a script; raises Refused with the line."""
    made = Translation(defaults)
    made.settings["mtu"] = str(MTU)
    for event in events(script):
        try:
            made.say(event)
        except Refused as problem:
            raise Refused(f"line {event.line}: {problem}") from None
    return made.text()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"{path} cannot be read: {reason(error)}") from None


def _write(path: Path, text: str) -> None:
    """Writes a file that is not there: two scripts may have one name, and the folder may hold somebody's work."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SystemExit(f"{path} exists: choose another --out") from None
    except OSError as error:
        raise SystemExit(f"{path} cannot be written: {reason(error)}") from None


def main() -> int:
    """Translates the scripts of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="+", type=Path)
    parser.add_argument("--defaults", type=Path, required=True, help="the scripts' defaults.sh")
    parser.add_argument("--out", type=Path, required=True, help="directory for the dialogues")
    given = parser.parse_args()
    refused = 0
    defaults = re.sub(r"^#!.*", "", _read(given.defaults))
    for script in given.scripts:
        try:
            dialogue = translate(_read(script), defaults)
        except Refused as problem:
            refused += 1
            print(f"{script.name}: {problem}")
        else:
            _write(given.out / f"{script.stem}.dialogue", dialogue)
    print(f"{len(given.scripts) - refused} of {len(given.scripts)} scripts translated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
