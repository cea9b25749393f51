"""What each connection's opener has sent and received in a capture, as columns of numbers.

Sequence numbers are counted from the SYN and do not wrap, windows are in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import captures
from .captures import ACK, BLOCKS, SYN, Ints, Segments

Columns = dict[str, np.ndarray[Any, Any]]
"""Arrays of 64-bit numbers by name."""

NAMES = (
    "time_ns", "seq", "ack", "len", "window", "ts_val", "ts_ecr", "flags", "ecn", "mss",
    "window_scale_plus_one", "sack_permitted", *(f"sack_{end}_{i}" for i in range(BLOCKS) for end in ("start", "end")),
)  # fmt: skip
"""The columns. Fields that a segment does not carry are zero."""


@dataclass(frozen=True)
class Conversation:
    """What a connection's opener has sent and received, in the order of the capture."""

    sent: Columns
    received: Columns


def read(path: Path, where: str = "") -> dict[int, Conversation]:
    """The conversations by the opener's port, of what crossed the links whose name begins with `where`.

    Both engines count these ports up by flow. Raises OutputError.
    """
    segments = captures.read(path, where)
    openers = np.unique(segments.source[segments.flags & (SYN | ACK) == SYN])
    found: dict[int, Conversation] = {}
    for opener in sorted(openers.tolist(), key=lambda opener: opener & 0xFFFF):
        sent, received = (segments.where(end == opener) for end in (segments.source, segments.destination))
        found[opener & 0xFFFF] = Conversation(_columns(sent, received), _columns(received, sent))
    return found


def _columns(own: Segments, other: Segments) -> Columns:
    """One direction of a connection; `other` is the other one."""
    is_syn = (own.flags & SYN) != 0
    scale = _scale(own) if min(_scale(own), _scale(other)) >= 0 else 0
    has_ack = (own.flags & ACK) != 0
    ack = np.zeros(len(own.seq), np.int64)
    ack[has_ack] = _unwrapped(own.ack[has_ack], _first(other))
    # Edges are close to the ACK of the same segment.
    edges = ack[:, None] + _signed(own.sack - own.ack[:, None])
    edges[np.arange(2 * BLOCKS) >= own.sack_edges[:, None]] = 0
    columns = {
        "time_ns": own.time_ns,
        "seq": _unwrapped(own.seq, _first(own)),
        "ack": ack,
        "len": own.len,
        "window": own.window << np.where(is_syn, 0, scale),
        "ts_val": own.ts_val,
        "ts_ecr": own.ts_ecr,
        "flags": own.flags,
        "ecn": own.ecn,
        "mss": own.mss,
        "window_scale_plus_one": own.window_scale + 1,
        "sack_permitted": own.sack_permitted,
    }
    columns |= dict(zip(NAMES[len(columns) :], edges.T, strict=True))
    return {name: np.ascontiguousarray(columns[name].astype(np.uint64)) for name in NAMES}


def _first(segments: Segments) -> int:
    """The initial sequence number; -1 where no SYN was captured."""
    syns = segments.seq[(segments.flags & SYN) != 0]
    return int(syns[-1]) if len(syns) else -1


def _scale(segments: Segments) -> int:
    """The window scaling that a SYN offers; -1 without."""
    offers = segments.window_scale[(segments.flags & SYN) != 0]
    return int(offers[-1]) if len(offers) else -1


def _unwrapped(numbers: Ints, first: int) -> Ints:
    """Sequence numbers counted from the first one, each within 2^31 of the one before."""
    return np.cumsum(_signed(np.diff(numbers, prepend=first)))


def _signed(difference: Ints) -> Ints:
    """Differences of 32-bit numbers, from -2^31 up to 2^31."""
    return (difference + 2**31) % 2**32 - 2**31
