"""Captures are read as dpkt, which knows nothing of this reader, writes the packets."""

from __future__ import annotations

import struct
from pathlib import Path

import dpkt
import pytest

from daybreak.agreement import captures, conversations
from daybreak.errors import OutputError

SYN, ACK = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK
OPENER, OTHER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
NEAR_WRAP = 2**32 - 1000
"""An initial sequence number that wraps within the first segments."""


def option(kind: int, content: bytes = b"") -> bytes:
    return bytes([kind]) if kind < 2 else bytes([kind, 2 + len(content)]) + content


def padded(*options: bytes) -> bytes:
    joined = b"".join(options)
    return joined + bytes(-len(joined) % 4)


def frame(
    source: bytes, sport: int, dport: int, options: bytes = b"", tos: int = 0, data: bytes = b"", **fields
) -> bytes:
    tcp = dpkt.tcp.TCP(sport=sport, dport=dport, opts=options, off=5 + len(options) // 4, data=data, **fields)
    ip = dpkt.ip.IP(src=source, dst=OTHER if source == OPENER else OPENER, p=6, tos=tos, data=tcp)
    ip.len = len(ip)
    return bytes(dpkt.ethernet.Ethernet(type=dpkt.ethernet.ETH_TYPE_IP, data=ip))


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def packet(link: int, time_ns: int, frame: bytes) -> bytes:
    return block(6, struct.pack("<IIIII", link, time_ns >> 32, time_ns & 0xFFFF_FFFF, len(frame), len(frame)) + frame)


def capture(*packets: bytes) -> bytes:
    names = [
        block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HH", 2, len(name)) + name.ljust(12, b"\0"))
        for name in (b"sender out", b"other out")
    ]
    return b"".join([block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)), *names, *packets])


def talk(path: Path) -> dict[int, conversations.Conversation]:
    stamp = option(8, struct.pack("!II", 5, 0))
    syn = padded(
        option(2, struct.pack("!H", 1460)), option(4), option(8, struct.pack("!II", 7, 0)), option(3, bytes([9]))
    )
    answer = padded(option(2, struct.pack("!H", 8960)), option(3, bytes([7])))
    sack = padded(option(1), option(1), stamp, option(5, struct.pack("!IIII", 1500, 3000, 400, 600)))
    full = bytes(1448)
    path.write_bytes(capture(
        packet(0, 2**33, frame(OPENER, 5000, 80, syn, flags=SYN, seq=NEAR_WRAP, win=64240)),
        packet(0, 2**33 + 1, frame(OTHER, 80, 5000, answer, flags=SYN | ACK, seq=77, ack=NEAR_WRAP + 1, win=65535)),
        packet(0, 2**33 + 2, frame(OPENER, 5000, 80, flags=ACK, seq=NEAR_WRAP + 1, ack=78, win=500, tos=2, data=full)),
        packet(0, 2**33 + 3, frame(OPENER, 5000, 80, flags=ACK, seq=449, ack=78, win=500, data=bytes(100))),
        packet(0, 2**33 + 4, frame(OTHER, 80, 5000, sack, flags=ACK, seq=78, ack=449, win=3)),
        packet(1, 2**33 + 5, frame(OPENER, 5001, 80, flags=SYN, seq=1)),
    ))  # fmt: skip
    return conversations.read(path, "sender")


def rows(columns: conversations.Columns, *names: str) -> list[tuple[int, ...]]:
    return list(zip(*(columns[name].tolist() for name in names), strict=True))


def test_numbers_count_from_the_syn_and_windows_are_bytes(tmp_path: Path) -> None:
    found = talk(tmp_path / "two.pcapng")
    assert list(found) == [5000]
    sent, received = found[5000].sent, found[5000].received
    assert rows(sent, "time_ns", "seq", "ack", "len", "window", "flags", "ecn") == [
        (2**33, 0, 0, 0, 64240, SYN, 0),
        (2**33 + 2, 1, 1, 1448, 500 << 9, ACK, 2),
        (2**33 + 3, 1449, 1, 100, 500 << 9, ACK, 0),
    ]
    assert rows(received, "seq", "ack", "window") == [(0, 1, 65535), (1, 1449, 3 << 7)]
    assert rows(sent, "mss", "window_scale_plus_one", "sack_permitted", "ts_val")[0] == (1460, 10, 1, 7)
    assert rows(received, "mss", "window_scale_plus_one", "sack_permitted", "ts_val") == [(8960, 8, 0, 0), (0, 0, 0, 5)]


def test_blocks_are_near_the_ack_beside_them(tmp_path: Path) -> None:
    received = talk(tmp_path / "two.pcapng")[5000].received
    edges = ("sack_start_0", "sack_end_0", "sack_start_1", "sack_end_1", "sack_start_2")
    assert rows(received, *edges) == [(0, 0, 0, 0, 0), (2500, 4000, 1400, 1600, 0)]


def test_as_many_blocks_as_fit_are_read(tmp_path: Path) -> None:
    """Four without the option of timestamps, each from 100 k to 100 k + 50."""
    edges = [edge for k in (4, 3, 2, 1) for edge in (100 * k, 100 * k + 50)]
    sack = padded(option(5, struct.pack("!8I", *edges)))
    path = tmp_path / "four.pcapng"
    path.write_bytes(capture(packet(0, 1, frame(OTHER, 80, 5000, sack, flags=ACK, seq=1, ack=50))))
    found = captures.read(path)
    assert found.sack.tolist() == [edges] and found.sack_edges.tolist() == [8]


@pytest.mark.parametrize(("offers", "bits"), [
    # A window is scaled only if both have offered to, be it by nothing.
    ((9, 7), (9, 7)), ((0, 7), (0, 7)), ((9, 0), (9, 0)), ((9, None), (0, 0)), ((None, 7), (0, 0)),
    ((None, None), (0, 0)),
])  # fmt: skip
def test_windows_are_scaled_if_both_ends_offer_it(tmp_path: Path, offers: tuple, bits: tuple[int, int]) -> None:
    opener, other = (b"" if offer is None else padded(option(3, bytes([offer]))) for offer in offers)
    path = tmp_path / "some.pcapng"
    path.write_bytes(capture(
        packet(0, 1, frame(OPENER, 5000, 80, opener, flags=SYN, seq=5, win=111)),
        packet(0, 2, frame(OTHER, 80, 5000, other, flags=SYN | ACK, seq=7, ack=6, win=222)),
        packet(0, 3, frame(OPENER, 5000, 80, flags=ACK, seq=6, ack=8, win=3)),
        packet(0, 4, frame(OTHER, 80, 5000, flags=ACK, seq=8, ack=6, win=5)),
    ))  # fmt: skip
    found = conversations.read(path, "sender")[5000]
    assert found.sent["window"].tolist() == [111, 3 << bits[0]]
    assert found.received["window"].tolist() == [222, 5 << bits[1]]
    offered = [0 if offer is None else offer + 1 for offer in offers]
    assert [columns["window_scale_plus_one"][0] for columns in (found.sent, found.received)] == offered


@pytest.mark.parametrize(
    "options", [bytes([8, 1, 0, 0]), option(5, bytes(36)).ljust(40, b"\0")], ids=["too short", "too many blocks"]
)
def test_broken_options_are_one_sentence(tmp_path: Path, options: bytes) -> None:
    path = tmp_path / "some.pcapng"
    path.write_bytes(capture(packet(0, 1, frame(OPENER, 5000, 80, options, flags=SYN))))
    with pytest.raises(OutputError, match=r"some\.pcapng is not a capture: an option of TCP"):
        captures.read(path)


def test_a_frame_that_is_longer_than_its_block_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "some.pcapng"
    syn = frame(OPENER, 5000, 80, flags=SYN)
    body = struct.pack("<IIIII", 0, 0, 1, len(syn) + 1000, len(syn) + 1000) + syn
    path.write_bytes(capture(block(6, body), packet(0, 2, frame(OPENER, 5000, 80, flags=ACK, data=bytes(1448)))))
    with pytest.raises(OutputError, match=r"some\.pcapng is not a capture: a block of \d+ bytes with a frame of \d+"):
        captures.read(path)


def test_a_cut_capture_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "some.pcapng"
    talk(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    with pytest.raises(OutputError, match=r"some\.pcapng is not a capture"):
        captures.read(path)
