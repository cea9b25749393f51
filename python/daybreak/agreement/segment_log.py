"""Writes the plan of a scenario and what one of its flows said and heard on the kernel, for the engine's own tests.

python -m daybreak.agreement.segment_log migration-cubic+cubic-night0 1 12000000 crates/engine/tests/replay

The arguments are a scenario of the suite, the number of a flow, the nanoseconds after which nothing is kept, and a
folder. The segments are a CSV file: the direction of each, sent or heard, and the columns of a conversation.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import daybreak
from daybreak.scenario.lowering import lower

from . import conversations, segments, suite


def main(arguments: Sequence[str]) -> None:
    """Runs the scenario with seed 1 and writes NAME.json and NAME.csv."""
    name, flow, until_ns, directory = arguments
    (case,) = suite.chosen(suite.load(), quick=False, only=[name])
    scenario = segments.captured(case)
    run = daybreak.run(scenario, engine="kernel")
    assert run.capture is not None
    talk = conversations.read(run.capture)[int(flow)]
    lines: list[tuple[int, str]] = []
    for direction, columns in (("sent", talk.sent), ("heard", talk.heard)):
        for row in zip(*(columns[column].tolist() for column in conversations.NAMES), strict=True):
            if row[0] <= int(until_ns):
                lines.append((row[0], ",".join([direction, *map(str, row)])))
    table = [
        ",".join(["direction", *conversations.NAMES]),
        *(line for _, line in sorted(lines, key=lambda one: one[0])),
    ]
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    (target / f"{name}.json").write_bytes(lower(scenario, 1).json + b"\n")
    (target / f"{name}.csv").write_text("\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
