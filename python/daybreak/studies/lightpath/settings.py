"""What the study varied: the limit, its rate, the base round-trip time, the TCP, and when the flow is moved."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

SCENARIOS = ("A", "B", "C1", "C2", "D")
"""What limits the flow: TCP's buffers, the sender's link, all core links, the IP links, the receiver's link."""
RATES_MBPS = {100: 622.08, 1000: 2488.0, 10_000: 39_813.0}
"""The limiting rates, and beside each that of every link that does not limit (table 1)."""
RTTS_MS = (10, 100, 1000)
NAMES = {"cubic": "CUBIC", "compound": "Compound", "reno": "Reno", "vegas": "Vegas"}
"""The variants, with their names for people."""
UDP = "udp"
"""In place of a variant: datagrams at 0.95 of the limiting rate."""
NS2 = "ns2-2009"
"""The study's own TCP: see `Stack.preset`. Its sender drops what does not fit into a queue of 500 packets."""
STACKS = {"linux": "Linux 6.1", NS2: "TCP of ns-2"}
"""The TCP stacks, with their names for people."""

AT_LIMIT = "limit"
"""The rule of section 2: moved at the end of the first whole second in which the flow's rate reaches the limit."""


@dataclass(frozen=True)
class Setting:
    """One run of one flow. ``move`` is `AT_LIMIT`, or a time in seconds as text.

    Where it is not ``moved``, it stays on the IP path, and times count from when it would have been.
    """

    scenario: str
    rate_mbps: int
    rtt_ms: int
    variant: str = "cubic"
    stack: str = "linux"
    move: str = AT_LIMIT
    after_s: float = 30.0
    moved: bool = True
    changes: tuple[str, ...] = ()
    """What is otherwise than in the study: names of `CHANGES`."""

    @property
    def name(self) -> str:
        """Name for files and records, such as ``B-1000M-100ms-cubic-linux-limit``."""
        parts = [self.cell, self.stack, self.move, f"{self.after_s:g}s", "" if self.moved else "unmoved", *self.changes]
        return "-".join(part for part in parts if part)

    @property
    def cell(self) -> str:
        """The cell of the paper's grid, with its variant."""
        return f"{self.scenario}-{self.rate_mbps}M-{self.rtt_ms}ms-{self.variant}"

    @property
    def move_s(self) -> float:
        """When the flow is moved."""
        return _moves()[self.cell, self.stack].time_s if self.move == AT_LIMIT else float(self.move)

    @property
    def end_s(self) -> float:
        """When the run ends."""
        return self.move_s + self.after_s

    @property
    def reaches_limit(self) -> bool:
        """Whether the rule was met before the time was up."""
        return _moves()[self.cell, self.stack].is_reached

    @property
    def overlap_packets(self) -> float:
        """Packets that arrive on both paths: the light-path is 0.4 base RTTs shorter."""
        return 0.4e-3 * self.rtt_ms * self.rate_mbps * 1e6 / 12_000

    def unmoved(self) -> Setting:
        """The same without a move."""
        return replace(self, moved=False)

    def changed(self, *changes: str) -> Setting:
        """The same with more changes."""
        return replace(self, changes=(*self.changes, *changes))


@dataclass(frozen=True)
class Managed:
    """A run with a manager that moves flows, or the one without that it is compared with."""

    case: str
    stack: str

    @property
    def name(self) -> str:
        """Name for files and records."""
        return f"{self.case}-{self.stack}"


@dataclass(frozen=True)
class Move:
    """When the rule of section 2 moves a flow."""

    time_s: float
    is_reached: bool
    """False: the rate was not reached in the time that it was given, and the flow is moved at its end."""


@cache
def _moves() -> dict[tuple[str, str], Move]:
    text = files(__package__).joinpath("moves.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {(row["cell"], row["stack"]): Move(float(row["move_s"]), row["limit_reached"] == "true") for row in rows}


@dataclass(frozen=True)
class Scale:
    """How large a reproduction is.

    Only in managed settings is something drawn by chance, when the flows start; of all others there is one run.
    """

    cells: tuple[tuple[int, int], ...]
    """Limiting rates in Mb/s and base RTTs in ms of the grid."""
    variant_cells: tuple[tuple[int, int], ...]
    """The same for the variants other than CUBIC."""
    figure5_mbps: int
    """Limiting rate of figure 5, 10 Gb/s in print."""
    figure6_s: float
    """Seconds after the move in figures 6 and 7."""
    ns2_packets: float
    """Cells of ns-2 that send no more packets than this are compared."""
    moves: int
    """Moves at different times, of which the study of what makes D collapse takes the median."""
    pairs: bool
    """Whether it also looks at every pair of rows."""
    runs: int = 1
    managed_runs: int = 5

    def runs_of(self, setting: Setting | Managed) -> int:
        """Runs of a setting."""
        return self.managed_runs if isinstance(setting, Managed) else self.runs

    def with_runs(self, runs: int) -> Scale:
        """The same with so many runs of every setting."""
        return replace(self, runs=runs)

    def of_variants(self) -> Scale:
        """The grid of the other variants."""
        return replace(self, cells=self.variant_cells)


SMALL_CELLS = ((100, 10), (100, 100), (1000, 10), (1000, 100))
SCALES = {
    "full": Scale(
        cells=(*SMALL_CELLS, (100, 1000)),
        variant_cells=SMALL_CELLS[:2],
        figure5_mbps=10_000,
        figure6_s=120.0,
        ns2_packets=80e6,
        moves=3,
        pairs=True,
    ),
    "quick": Scale(
        cells=SMALL_CELLS,
        variant_cells=SMALL_CELLS[:2],
        figure5_mbps=1000,
        figure6_s=10.0,
        ns2_packets=3e6,
        moves=1,
        pairs=False,
    ),
}
"""The two sizes. Not in the grid yet are 1 Gb/s at 1000 ms, 10 Gb/s, and the other variants above 100 Mb/s."""


def figure3(scale: Scale, stack: str) -> dict[int, Setting]:
    """Scenario A at 1 Gb/s, by base RTT."""
    rtts = [rtt for rate, rtt in scale.cells if rate == 1000]
    return {rtt: Setting("A", 1000, rtt, stack=stack, after_s=40) for rtt in rtts}


def figure4(scale: Scale, stack: str, scenario: str = "B") -> Setting:
    """Scenario B, or C1, at 1 Gb/s and 100 ms.

    The runs of figures 4, 6 and 7 were not moved by the rule: at 100 s in B, before the rate was reached, and at
    55 s in D. The TCP of ns-2 is moved at these times, Linux by the rule.
    """
    return Setting(scenario, 1000, 100, stack=stack, move="100" if stack == NS2 else AT_LIMIT, after_s=30)


def figure5(scale: Scale, stack: str) -> dict[int, Setting]:
    """Scenario C2, by base RTT."""
    seconds = {10: 90.0, 100: 30.0}
    rtts = [10] if scale.figure5_mbps == 10_000 else [10, 100]
    return {rtt: Setting("C2", scale.figure5_mbps, rtt, stack=stack, after_s=seconds[rtt]) for rtt in rtts}


def figure6(scale: Scale, stack: str) -> Setting:
    """Scenario D at 10 Gb/s and 10 ms; also figure 7."""
    return Setting("D", 10_000, 10, stack=stack, move="55" if stack == NS2 else AT_LIMIT, after_s=scale.figure6_s)


def counted(setting: Setting) -> tuple[Setting, Setting]:
    """The same up to the move, and half a second longer: what is counted over a run has happened in between."""
    return replace(setting, after_s=0.0), replace(setting, after_s=0.5)


def grid(scale: Scale, stack: str, variants: Iterable[str] = ("cubic",)) -> list[Setting]:
    """All cells of the grid, moved by the rule."""
    return [
        Setting(scenario, rate, rtt, variant, stack, after_s=60 if rtt == 1000 else 30)
        for variant in variants
        for scenario in SCENARIOS
        for rate, rtt in scale.cells
    ]
