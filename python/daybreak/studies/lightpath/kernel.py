"""The cells at 100 Mb/s on real Linux 6.1 beside the model, written to kernel.csv.

At higher rates the kernel engine takes too long, and it cannot have the TCP of ns-2. Run it again when a cell changes:
`python -m daybreak.studies.lightpath.kernel`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

import daybreak
from daybreak.studies.lightpath import measured, testbed
from daybreak.studies.lightpath.settings import SCENARIOS, Setting

HEADER = "# Made by: python -m daybreak.studies.lightpath.kernel"
CELLS = [Setting(scenario, 100, 100, move="10", after_s=10.0) for scenario in SCENARIOS if scenario != "A"]
"""Without scenario A, which bounds the window: Linux takes no such bound from a scenario."""
BUFFERS = [4096, 64_000_000, 64_000_000]
"""Buffers that never bind either; those of the study are larger than Linux accepts."""
FRAMING = 14
"""Bytes of an Ethernet header, which a real NIC sends. They count as bytes of the rates."""
ENGINES = ("simulated", "kernel")
COUNTS = ("segments", "retransmits", "fast_recoveries", "spurious", "rtos", "dup_acks")


def row(setting: Setting, engine: str) -> dict[str, object]:
    """The results of one engine for a cell."""
    scenario = testbed.scenario(setting).with_(
        {"stack.tcp_rmem": BUFFERS, "stack.tcp_wmem": BUFFERS, "topology.framing": FRAMING}
    )
    found = measured.of_runs(setting, {1: measured.of_run(daybreak.run(scenario, engine=engine))})
    lowest = found.trough()
    return {
        "cell": setting.cell,
        "engine": engine,
        "before_mbps": round(found.before_mbps, 3),
        "peak_100ms_mbps": round(found.peak_mbps, 3),
        "worst_second_mbps": round(lowest.rate, 3),
        "worst_second_ends_s": lowest.end_s,
        "lost": found.lost_anywhere(),
        **{name: found.counted(name) for name in COUNTS},
    }


def write(path: Path) -> None:
    """Writes the file."""
    table = pl.DataFrame([row(setting, engine) for setting in CELLS for engine in ENGINES])
    path.write_text(f"{HEADER}\n{table.write_csv()}", encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).with_name("kernel.csv"))
