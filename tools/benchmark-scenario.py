#!/usr/bin/env python3
"""Writes a benchmark as a scenario file, so that both engines can run it.

    cargo run --release -p daybreak-engine --example benchmark -- S3 text | python tools/benchmark-scenario.py > S3.toml
    daybreak run S3.toml --engine kernel

A real NIC sends an Ethernet header and Linux delays ACKs by up to 200 ms, so both are in the scenario; the benchmark
itself has neither. Else the two are the same: links, queues, paths, starts, windows.
"""

import sys
from collections.abc import Iterator
from itertools import pairwise

ETHERNET_HEADER = 14


def main() -> None:
    """Reads the benchmark from standard input."""
    print("\n".join(scenario([line.split() for line in sys.stdin])))


def scenario(lines: list[list[str]]) -> Iterator[str]:
    """The lines of the scenario."""
    facts = {word: rest[0] for word, *rest in lines if word in {"name", "pkt", "maxwin", "end", "nodes", "hosts"}}
    hosts = int(facts["hosts"])
    buffer = 4 * int(facts["maxwin"]) * int(facts["pkt"])
    yield f'name = "{facts["name"]}"'
    yield f'duration = "{float(facts["end"]) or 60:g} s"'
    yield "[stack]"
    yield f"mtu = {facts['pkt']}"
    yield f"cwnd_clamp = {facts['maxwin']}"
    yield f"tcp_rmem = [4096, {buffer}, {buffer}]"
    yield f"tcp_wmem = [4096, {buffer}, {buffer}]"
    yield "tcp_moderate_rcvbuf = false"
    yield "tcp_ecn = 0"
    yield 'tcp_limit_output_bytes = "off"'
    for node in range(int(facts["nodes"])):
        yield f'[[nodes]]\nname = "{node}"\nkind = "{"host" if node < hosts else "switch"}"'
    for word, *rest in lines:
        if word == "link":
            a, b, rate, delay, queue, queue_back = rest
            yield from link(a, b, rate, delay, queue if int(a) >= hosts else None)
            yield from link(b, a, rate, delay, queue_back if int(b) >= hosts else None)
    data_paths = [rest for word, *rest in lines if word == "flow"]
    ack_paths = [rest for word, *rest in lines if word == "rev"]
    for (source, target, size, start, _, *path), (_, *ack_path) in zip(data_paths, ack_paths, strict=True):
        yield f'[[flows]]\nfrom = "{source}"\nto = "{target}"\ngroup = "all"\nstart = "{start} ns"'
        yield f'size = "{f"{size} B" if int(size) else "unlimited"}"'
        yield f"via = {links(path)}\nack_via = {links(ack_path)}"


def link(source: str, target: str, rate: str, delay: str, queue: str | None) -> Iterator[str]:
    """One direction of a link; a host's NIC has no limit."""
    yield f'[[links]]\nname = "{source}-{target}"\nfrom = "{source}"\nto = "{target}"\nduplex = false'
    yield f'rate = "{rate} bit/s"\ndelay = "{delay} ns"\nframing = {ETHERNET_HEADER}'
    if queue is not None:
        yield f'queue = "{queue} packets"'


def links(path: list[str]) -> str:
    """The links along a path of nodes."""
    return "[" + ", ".join(f'"{a}-{b}"' for a, b in pairwise(path)) + "]"


if __name__ == "__main__":
    main()
