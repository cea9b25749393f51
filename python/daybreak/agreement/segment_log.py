"""Writes the plan of a scenario and the segments that one of its flows sent and received on the kernel, for Rust tests.

python -m daybreak.agreement.segment_log migration-cubic+cubic-night0 1 12000000 crates/engine/tests/replay

The arguments are a scenario of the suite, the number of a flow, the time in ns at which the log ends, a folder, and the
end of the flow, by default the sender. The segments are a CSV file: the direction of each, "sent" or "received",
and the columns of a conversation.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import daybreak
from daybreak.scenario.lowering import lower

from . import conversations, segments, suite


def main(arguments: Sequence[str]) -> None:
    """Runs the scenario with seed 1 and writes NAME.json and NAME.csv, for a receiver NAME-receiver.csv."""
    name, flow, until_ns, directory, *rest = arguments
    (case,) = suite.chosen(suite.load(), quick=False, only=[name])
    side: segments.Side = "receiver" if rest == ["receiver"] else "sender"
    scenario = segments.captured(case)
    run = daybreak.run(scenario, engine="kernel")
    assert run.capture is not None
    talk = conversations.read(run.capture, side)[segments.FIRST_PORT["kernel"] + int(flow)]
    lines: list[tuple[int, str]] = []
    ends = (talk.sent, talk.received) if side == "sender" else (talk.received, talk.sent)
    for direction, columns in zip(("sent", "received"), ends, strict=True):
        for row in zip(*(columns[column].tolist() for column in conversations.NAMES), strict=True):
            if row[0] <= int(until_ns):
                lines.append((row[0], ",".join([direction, *map(str, row)])))
    table = [
        ",".join(["direction", *conversations.NAMES]),
        *(line for _, line in sorted(lines, key=lambda one: one[0])),
    ]
    target, stem = Path(directory), name if side == "sender" else f"{name}-receiver"
    target.mkdir(parents=True, exist_ok=True)
    (target / f"{name}.json").write_bytes(lower(scenario, 1).json + b"\n")
    (target / f"{stem}.csv").write_text("\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
