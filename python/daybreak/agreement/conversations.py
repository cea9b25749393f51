"""Reads from a capture what each connection's opener has said and heard, as columns of numbers.

Sequence numbers are counted from the SYN and do not wrap, windows are in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import dpkt
import numpy as np
from dpkt.tcp import TH_ACK, TH_SYN

from daybreak.errors import OutputError, reason

Columns = dict[str, np.ndarray[Any, Any]]
"""Arrays of 64-bit numbers by name."""

BLOCKS = 4
"""SACK blocks that fit into the options."""
NAMES = (
    "time_ns", "seq", "ack", "len", "window", "ts_val", "ts_ecr", "flags", "ecn", "mss",
    "window_scale_plus_one", "sack_permitted", *(f"sack_{end}_{i}" for i in range(BLOCKS) for end in ("start", "end")),
)  # fmt: skip
"""The columns. What a segment does not carry is zero."""


@dataclass(frozen=True)
class Conversation:
    """What a connection's opener has sent and heard, in the order of the capture."""

    sent: Columns
    heard: Columns


def read(path: Path, where: str = "") -> dict[int, Conversation]:
    """The conversations by the opener's port, of what crossed the links whose name begins with `where`.

    Both engines count these ports up by flow. Raises OutputError.
    """
    found: dict[tuple[bytes, int], _Two] = {}
    for time_ns, packet in _packets(path, where):
        tcp = packet.data
        source, destination = (packet.src, tcp.sport), (packet.dst, tcp.dport)
        if tcp.flags & (TH_SYN | TH_ACK) == TH_SYN:
            found.setdefault(source, _Two())
        if source in found:
            found[source].sent.add(time_ns, packet, peer=found[source].heard)
        elif destination in found:
            found[destination].heard.add(time_ns, packet, peer=found[destination].sent)
    return {opener[1]: found[opener].conversation() for opener in sorted(found, key=lambda opener: opener[1])}


def _packets(path: Path, where: str) -> Iterator[tuple[int, Any]]:
    """The TCP packets on those links with their times."""
    try:
        with path.open("rb") as file:
            for name, time_ns, frame in _frames(file):
                packet = dpkt.ethernet.Ethernet(frame).data if name.startswith(where) else None
                if isinstance(packet, dpkt.ip.IP) and isinstance(packet.data, dpkt.tcp.TCP):
                    yield time_ns, packet
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {reason(error)}") from None
    except (ValueError, struct.error, UnicodeDecodeError, IndexError, dpkt.dpkt.Error) as error:
        raise OutputError(f"{path} is not a capture: {reason(error)}") from None


_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
"""Kinds of blocks (draft-ietf-opsawg-pcapng)."""
_MAGIC = 0x1A2B3C4D
_NAME = 2
"""The option of an interface that both engines write first."""


def _frames(file: BinaryIO) -> Iterator[tuple[str, int, bytes]]:
    """Link, nanosecond and bytes of each frame of a capture as both engines write it: one section, little-endian.

    dpkt's reader does not tell the link.
    """
    names: list[str] = []
    while head := file.read(8):
        kind, length = struct.unpack("<II", head)
        body = file.read(max(length - 8, 4))[:-4]
        if kind == _SECTION and struct.unpack_from("<I", body)[0] == _MAGIC:
            continue
        if kind == _INTERFACE:
            option, size = struct.unpack_from("<HH", body, 8)
            names.append(body[12 : 12 + size].decode() if option == _NAME else "")
        elif kind == _PACKET:
            link, high, low, kept = struct.unpack_from("<IIII", body)
            yield names[link], high << 32 | low, body[20 : 20 + kept]
        else:
            raise ValueError(f"a block of kind {kind:#x}")


@dataclass
class _Side:
    """One direction of a connection."""

    first: int = -1
    """Its initial sequence number; below zero before its SYN."""
    highest: int = 0
    """Highest sequence number seen, from which others are told to have wrapped."""
    scale: int = 0
    is_scaled: bool = False
    """It has offered window scaling, which counts if the other one has as well."""
    rows: list[list[int]] = field(default_factory=list)

    def add(self, time_ns: int, packet: Any, *, peer: _Side) -> None:
        tcp = packet.data
        options = dict(filter(None, dpkt.tcp.parse_opts(tcp.opts)))
        syn = bool(tcp.flags & TH_SYN)
        if syn:
            self.first = tcp.seq
            self.is_scaled = dpkt.tcp.TCP_OPT_WSCALE in options
            self.scale = options[dpkt.tcp.TCP_OPT_WSCALE][0] if self.is_scaled else 0
        seq = self.unwrapped(tcp.seq)
        self.highest = max(self.highest, seq)
        value, echo = struct.unpack("!II", options.get(dpkt.tcp.TCP_OPT_TIMESTAMP, bytes(8)))
        sack = options.get(dpkt.tcp.TCP_OPT_SACK, b"")
        edges = [peer.unwrapped(edge) for edge in struct.unpack(f"!{len(sack) // 4}I", sack)]
        mss = options.get(dpkt.tcp.TCP_OPT_MSS, bytes(2))
        self.rows.append(
            [
                time_ns,
                seq,
                peer.unwrapped(tcp.ack) if tcp.flags & TH_ACK else 0,
                packet.len - 4 * packet.hl - 4 * tcp.off,
                tcp.win << (0 if syn or not (self.is_scaled and peer.is_scaled) else self.scale),
                value,
                echo,
                tcp.flags & 0xFF,
                packet.tos & 3,
                int.from_bytes(mss, "big"),
                self.scale + 1 if dpkt.tcp.TCP_OPT_WSCALE in options else 0,
                int(dpkt.tcp.TCP_OPT_SACKOK in options),
                *edges,
                *[0] * (2 * BLOCKS - len(edges)),
            ]
        )

    def unwrapped(self, seq: int) -> int:
        """A sequence number counted from the SYN, near the highest one."""
        offset = (seq - self.first - self.highest + 2**31) % 2**32 - 2**31
        return self.highest + offset

    def columns(self) -> Columns:
        table = np.array(self.rows, dtype=np.uint64).reshape(-1, len(NAMES))
        return {name: np.ascontiguousarray(table[:, i]) for i, name in enumerate(NAMES)}


@dataclass
class _Two:
    sent: _Side = field(default_factory=_Side)
    heard: _Side = field(default_factory=_Side)

    def conversation(self) -> Conversation:
        return Conversation(self.sent.columns(), self.heard.columns())
