#!/usr/bin/env python3
"""Runs cells of `ns2.csv` again in ns-2.35 with the move shifted, and writes `ns2-shifted.csv`.

    python tools/ns2/shifts.py [CELL ...]

Without cells, all of at most LARGEST packets but A, whose window its queue bounds. Needs the `ns` of ns-2.35. A run
takes seconds to minutes, and as many run at once as there are cores. A run that is not shifted has to be that of
`ns2.csv`: where it is not, it says so.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
STUDY = HERE.parents[1] / "python" / "daybreak" / "studies" / "lightpath"
LARGEST = 3e7
"""Packets of 1500 bytes that the bottleneck carries during a run."""
SHIFTS = (-0.5, -0.3, -0.2, -0.1, -0.05, 0.05, 0.1, 0.3)
"""Seconds."""
PHASES = (-0.5, -0.25, 0.25, 0.5)
"""Parts of the RTT."""
OVER = {100: 622.08e6, 1_000: 2488e6, 10_000: 39_813e6}
"""Rate in bit/s of the links that do not limit, by Mbit/s of the bottleneck (table 1 of the study)."""
COLUMNS = ["before_mbps", "first_100ms_mbps", "trough_1s_mbps", "recovery_s_to_95pct_of_before", "dupacks_500ms"]


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table with comments."""
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def measure(cell: Mapping[str, str], shift_s: float) -> list[str]:
    """The values of a run in the order of COLUMNS, as the study's reference defines them."""
    rate, rtt_s, after_s = int(cell["limit_mbps"]), int(cell["rtt_ms"]) / 1e3, int(cell["seconds_after"])
    command = [
        "ns", str(HERE / "cell.tcl"), cell["scenario"], str(rate * 1e6), str(OVER[rate]), str(rtt_s), cell["variant"],
        cell["sender_queue"], cell["sender_queue_after_switch"], str(float(cell["t_switch_s"]) + shift_s), str(after_s),
    ]  # fmt: skip
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in printed.splitlines()]
    tenths = {int(words[1]): int(words[2]) * 8e-5 for words in lines if words[:1] == ["bytes"]}  # Mbit/s
    (duplicates,) = (words[1] for words in lines if words[:1] == ["duplicates"])
    second = {n: sum(tenths[10 * n + k] for k in range(1, 11)) / 10 for n in range(-1, after_s)}
    span = range(min(after_s, 40 if rtt_s >= 1 else 10))
    worst = min(span, key=second.__getitem__)
    back = next((n + 1 for n in range(worst, after_s) if second[n] >= 0.95 * min(second[-1], rate)), None)
    recovery = "" if back is None else "0" if back == worst + 1 else str(back)
    return [f"{second[-1]:.1f}", f"{tenths[1]:.1f}", f"{second[worst]:.1f}", recovery, duplicates]


def main(names: Sequence[str]) -> None:
    """Runs what was asked for, and puts it in place of earlier runs of these cells."""
    cells = {cell["cell"]: cell for cell in rows(STUDY / "ns2.csv")}
    if not names:
        names = [name for name, cell in cells.items() if cell["scenario"] != "A" and _packets(cell) <= LARGEST]
    asked = [(cells[name], shift_s) for name in names for shift_s in _shifts(cells[name])]
    table = STUDY / "ns2-shifted.csv"
    lines = [line for line in table.read_text(encoding="utf-8").splitlines() if line.split(",")[0] not in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (cell, shift_s), values in zip(asked, pool.map(lambda run: measure(*run), asked), strict=True):
            lines.append(",".join([cell["cell"], f"{shift_s:g}", *values]))
            print(lines[-1], flush=True)
            if shift_s == 0 and values != [cell[column] for column in COLUMNS]:
                print(f"differs from ns2.csv: {[cell[column] for column in COLUMNS]}", file=sys.stderr)
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _shifts(cell: Mapping[str, str]) -> list[float]:
    return sorted({0.0, *SHIFTS, *(round(part * int(cell["rtt_ms"]) / 1e3, 6) for part in PHASES)})


def _packets(cell: Mapping[str, str]) -> float:
    seconds = float(cell["t_switch_s"]) + int(cell["seconds_after"])
    return seconds * int(cell["limit_mbps"]) / 0.012


if __name__ == "__main__":
    main(sys.argv[1:])
