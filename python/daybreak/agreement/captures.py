"""Reads the TCP segments of a capture as columns: pcapng as written by both engines, Ethernet, IPv4, TCP.

Whole columns are computed at once, since a suite has millions of segments.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from daybreak.errors import OutputError, reason

Ints = np.ndarray[Any, np.dtype[np.int64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

BLOCKS = 4
"""SACK blocks that fit into the options."""
SYN, ACK = 0x02, 0x10
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
"""Kinds of blocks (draft-ietf-opsawg-pcapng)."""
_MAGIC = 0x1A2B3C4D
_NAME = 2
"""The interface option that both engines write first."""
_ETHERNET, _IPV4, _TCP = 14, 0x0800, 6
"""Bytes of an Ethernet header, the EtherType of IPv4, the protocol of TCP."""
_END, _NOP, _MSS, _WINDOW_SCALE, _SACK_PERMITTED, _SACK, _TIMESTAMPS = 0, 1, 2, 3, 4, 5, 8
"""Kinds of options (RFC 9293, 7323, 2018)."""


@dataclass(frozen=True)
class Segments:
    """The TCP segments of a capture in order, one array per header field, with one number per segment except in
    `sack`."""

    time_ns: Ints
    source: Ints
    """IPv4 address and port as one number, the port in the lowest 16 bits."""
    destination: Ints
    ecn: Ints
    len: Ints
    """Bytes of payload."""
    seq: Ints
    ack: Ints
    flags: Ints
    window: Ints
    mss: Ints
    """0 without the option, like all following fields except `window_scale`."""
    window_scale: Ints
    """-1 without the option."""
    sack_permitted: Ints
    ts_val: Ints
    ts_ecr: Ints
    sack: Ints
    """Edges of SACK blocks, shape (segments, 2 x `BLOCKS`)."""
    sack_edges: Ints
    """Number of edges of each segment."""

    def where(self, chosen: Any) -> Segments:
        """The chosen segments, by a mask or by their numbers."""
        return Segments(**{name: column[chosen] for name, column in vars(self).items()})


def read(path: Path, where: str = "") -> Segments:
    """The segments that crossed the links whose name begins with `where`. Raises OutputError."""
    try:
        return _segments(np.fromfile(path, np.uint8), where)
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {reason(error)}") from None
    except (ValueError, struct.error, UnicodeDecodeError, IndexError) as error:
        raise OutputError(f"{path} is not a capture: {reason(error)}") from None


def _segments(data: Bytes, where: str) -> Segments:
    times_ns, frames = _frames(data, where)
    is_ip = _u16(data, frames + 12) == _IPV4
    times_ns, ip = times_ns[is_ip], frames[is_ip] + _ETHERNET
    is_tcp = data[ip + 9] == _TCP
    times_ns, ip = times_ns[is_tcp], ip[is_tcp]
    header = 4 * (data[ip] & 15).astype(np.int64)
    tcp = ip + header
    offset = 4 * (data[tcp + 12] >> 4).astype(np.int64)
    return Segments(
        time_ns=times_ns,
        source=_u32(data, ip + 12) << 16 | _u16(data, tcp),
        destination=_u32(data, ip + 16) << 16 | _u16(data, tcp + 2),
        ecn=data[ip + 1].astype(np.int64) & 3,
        len=_u16(data, ip + 2) - header - offset,
        seq=_u32(data, tcp + 4),
        ack=_u32(data, tcp + 8),
        flags=data[tcp + 13].astype(np.int64),
        window=_u16(data, tcp + 14),
        **_options(data, tcp + 20, tcp + offset),
    )


def _frames(data: Bytes, where: str) -> tuple[Ints, Ints]:
    """Times and file offsets of the frames that crossed the links: one section, little-endian."""
    names: list[str] = []
    wanted: list[bool] = []
    found: list[tuple[int, int]] = []
    view = data.data
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", view, at)
        if kind == _PACKET:
            link, high, low, kept = struct.unpack_from("<IIII", view, at + 8)
            if kept + 32 > length or at + length > len(data):
                raise ValueError(f"a block of {length} bytes with a frame of {kept}")
            if wanted[link]:
                found.append((high << 32 | low, at + 28))
        elif kind == _INTERFACE:
            option, size = struct.unpack_from("<HH", view, at + 16)
            name = bytes(view[at + 20 : at + 20 + size]).decode() if option == _NAME else ""
            names.append(name)
            wanted.append(name.startswith(where))
        elif kind != _SECTION or struct.unpack_from("<I", view, at + 8)[0] != _MAGIC:
            raise ValueError(f"a block of kind {kind:#x}")
        at += max(length, 12)
    table = np.array(found, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _options(data: Bytes, at: Ints, end: Ints) -> dict[str, Ints]:
    """The options between two offsets, of all segments at once: each step takes one option of each."""
    size, at = len(at), at.copy()
    found = {name: np.zeros(size, np.int64) for name in ("mss", "sack_permitted", "ts_val", "ts_ecr", "sack_edges")} | {
        "window_scale": np.full(size, -1, np.int64),
        "sack": np.zeros((size, 2 * BLOCKS), np.int64),
    }
    left = np.flatnonzero(at < end)
    while len(left):
        kind = data[at[left]]
        left, kind = left[kind != _END], kind[kind != _END]
        is_long = kind != _NOP
        length = np.ones(len(left), np.int64)
        length[is_long] = data[at[left[is_long]] + 1]
        if (length[is_long] < 2).any():
            raise ValueError("an option of TCP that is shorter than its header")
        for code, read_option in _READ.items():
            rows = left[kind == code]
            if len(rows):
                read_option(data, at[rows], rows, found)
        at[left] += length
        left = left[at[left] < end[left]]
    return found


def _mss(data: Bytes, at: Ints, rows: Ints, found: dict[str, Ints]) -> None:
    found["mss"][rows] = _u16(data, at + 2)


def _window_scale(data: Bytes, at: Ints, rows: Ints, found: dict[str, Ints]) -> None:
    found["window_scale"][rows] = data[at + 2]


def _sack_permitted(_data: Bytes, _at: Ints, rows: Ints, found: dict[str, Ints]) -> None:
    found["sack_permitted"][rows] = 1


def _timestamps(data: Bytes, at: Ints, rows: Ints, found: dict[str, Ints]) -> None:
    found["ts_val"][rows] = _u32(data, at + 2)
    found["ts_ecr"][rows] = _u32(data, at + 6)


def _sack(data: Bytes, at: Ints, rows: Ints, found: dict[str, Ints]) -> None:
    edges = (data[at + 1].astype(np.int64) - 2) // 4
    if (edges > 2 * BLOCKS).any():
        raise ValueError(f"an option of TCP with more than {BLOCKS} SACK blocks")
    found["sack_edges"][rows] = edges
    for edge in range(2 * BLOCKS):
        has = edges > edge
        found["sack"][rows[has], edge] = _u32(data, at[has] + 2 + 4 * edge)


_READ = {
    _MSS: _mss,
    _WINDOW_SCALE: _window_scale,
    _SACK_PERMITTED: _sack_permitted,
    _SACK: _sack,
    _TIMESTAMPS: _timestamps,
}
"""By kind, the function that reads an option into the columns of `rows`."""


def _u16(data: Bytes, at: Ints) -> Ints:
    return data[at].astype(np.int64) << 8 | data[at + 1]


def _u32(data: Bytes, at: Ints) -> Ints:
    return _u16(data, at) << 16 | _u16(data, at + 2)
