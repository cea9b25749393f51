"""The settings of the study: the limit, its rate, the base round-trip time, the TCP, and the time of the move."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

SCENARIOS = ("A", "B", "C1", "C2", "D")
"""What limits the flow: TCP's buffers, the sender's link, all core links, the IP links, the receiver's link."""
RATES_MBPS = {100: 622.08, 1000: 2488.0, 10_000: 39_813.0}
"""The limiting rates, each with the rate of all other links (table 1)."""
RTTS_MS = (10, 100, 1000)
NAMES = {"cubic": "CUBIC", "compound": "Compound", "reno": "Reno", "vegas": "Vegas"}
"""The variants, with their display names."""
UDP = "udp"
"""Instead of a variant: datagrams at 0.95 of the limiting rate."""
NS2 = "ns2-2009"
"""The study's own TCP: see `Stack.preset`. Its sender drops packets that do not fit into a queue of 500 packets."""
STACKS = {"linux": "Linux 6.1", NS2: "TCP of ns-2"}
"""The TCP stacks, with their display names."""

AT_LIMIT = "limit"
"""The rule of section 2: move at the end of the first whole second in which the flow's rate reaches the limit."""


@dataclass(frozen=True)
class Assumptions:
    """Values that the paper does not print, which may be varied. Queues are given as ns-2's limits, which include the
    packet that is being sent."""

    sender_queue: int = 500
    """Queue of the sender in the TCP of ns-2. Linux's sender waits instead of dropping."""
    router_queues: int = 500
    """Queues of the routers except r3's, which is printed."""
    start_ms: int = 1000
    """Start of the flow."""

    @property
    def name(self) -> str:
        """The deviations from the study, for names of settings."""
        mine = {"sender": self.sender_queue, "routers": self.router_queues, "start": self.start_ms}
        usual = {"sender": 500, "routers": 500, "start": 1000}
        return "-".join(f"{name}-{value}" for name, value in mine.items() if value != usual[name])


ASSUMED = Assumptions()
"""The study's assumptions."""


@dataclass(frozen=True)
class Setting:
    """One run of one flow. ``move`` is `AT_LIMIT`, or a time in seconds as text.

    If not ``moved``, the flow stays on the IP path, and times count from when it would have been moved.
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
    """Changes to the study: names of `CHANGES`."""
    assumed: Assumptions = ASSUMED

    @property
    def name(self) -> str:
        """Name for files and records, such as ``B-1000M-100ms-cubic-linux-limit``."""
        parts = [self.cell, self.stack, self.move, f"{self.after_s:g}s", "" if self.moved else "unmoved", *self.changes]
        return "-".join(part for part in (*parts, self.assumed.name) if part)

    @property
    def cell(self) -> str:
        """The cell of the paper's grid, with its variant."""
        return f"{self.scenario}-{self.rate_mbps}M-{self.rtt_ms}ms-{self.variant}"

    @property
    def move_s(self) -> float:
        """Time of the move in seconds."""
        return _moves()[self.cell, self.stack].time_s if self.move == AT_LIMIT else float(self.move)

    @property
    def end_s(self) -> float:
        """End of the run in seconds."""
        return self.move_s + self.after_s

    @property
    def reaches_limit(self) -> bool:
        """Whether the rule was met before the time was up."""
        return _moves()[self.cell, self.stack].is_reached

    @property
    def packets(self) -> float:
        """Approximate number of packets sent: for a flow that does not fill its path as many as the bound of CUBIC 2.1
        allows. Infinity if `moves.csv` has no time of the move."""
        if self.move == AT_LIMIT and (self.cell, self.stack) not in _moves():
            return float("inf")
        return min(self.end_s * self.rate_mbps / 0.012, 155 * self.end_s**2 / (self.rtt_ms / 1e3))

    @property
    def overlap_packets(self) -> float:
        """Packets that arrive while both paths deliver: the light-path is 0.4 base RTTs shorter."""
        return 0.4e-3 * self.rtt_ms * self.rate_mbps * 1e6 / 12_000

    def unmoved(self) -> Setting:
        """The setting without a move."""
        return replace(self, moved=False)

    def changed(self, *changes: str) -> Setting:
        """The setting with further changes."""
        return replace(self, changes=(*self.changes, *changes))


@dataclass(frozen=True)
class ManagedSetting:
    """A setting with a manager that moves flows, or its baseline without one."""

    case: str
    stack: str

    @property
    def name(self) -> str:
        """Name for files and records."""
        return f"{self.case}-{self.stack}"


@dataclass(frozen=True)
class Move:
    """The time at which the rule of section 2 moves a flow."""

    time_s: float
    is_reached: bool
    """Whether the rate was reached; if not, the flow is moved at the end of the allowed time."""


@cache
def _moves() -> dict[tuple[str, str], Move]:
    text = files(__package__).joinpath("moves.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {(row["cell"], row["stack"]): Move(float(row["move_s"]), row["limit_reached"] == "true") for row in rows}


@dataclass(frozen=True)
class Scale:
    """The size of a reproduction.

    Only managed settings are random, in the start times of flows; all others have one run.
    """

    cells: tuple[tuple[int, int], ...]
    """Limiting rates in Mb/s and base RTTs in ms of the grid, with the TCP of ns-2."""
    linux_cells: tuple[tuple[int, int], ...]
    """Limiting rates in Mb/s and base RTTs in ms of the grid with Linux 6.1."""
    variant_cells: tuple[tuple[int, int], ...]
    """The cells of the variants other than CUBIC."""
    figure5_mbps: int
    """Limiting rate of figure 5, printed for 10 Gb/s: below that its growth counts as missed."""
    figure6_s: float
    """Seconds after the move in figures 6 and 7."""
    packets: float
    """Only cells of the grid that send at most this number of packets are run."""
    ns2_packets: float
    """Cells that send at most this number of packets are compared with ns-2; values of the others count as missed."""
    moves: int
    """Number of moves at different times, of which the study of D's collapse takes the median."""
    pairs: bool
    """Whether it also covers every pair of rows."""
    runs: int = 1
    managed_runs: int = 5
    figure4_move: str = "100"
    """When the flow of figure 4 is moved with the TCP of ns-2: in seconds, or "limit" for the rule."""
    sender_queue: int = ASSUMED.sender_queue
    router_queues: int = ASSUMED.router_queues
    start_ms: int = ASSUMED.start_ms

    def runs_of(self, setting: Setting | ManagedSetting) -> int:
        """Number of runs of a setting."""
        return self.managed_runs if isinstance(setting, ManagedSetting) else self.runs

    def with_runs(self, runs: int) -> Scale:
        """A copy with ``runs`` runs of every setting."""
        return replace(self, runs=runs)

    def of_variants(self) -> Scale:
        """The grid of the other variants."""
        return replace(self, cells=self.variant_cells, linux_cells=self.variant_cells)

    def cells_of(self, stack: str) -> tuple[tuple[int, int], ...]:
        """The cells of the grid with one stack."""
        return self.cells if stack == NS2 else self.linux_cells

    def assumed(self, stack: str) -> Assumptions:
        """The assumptions of figures 3 to 7. Linux's sender never drops, whatever the limit of ns-2's queue."""
        sender_queue = self.sender_queue if stack == NS2 else ASSUMED.sender_queue
        return Assumptions(sender_queue, self.router_queues, self.start_ms)


SMALL_CELLS = ((100, 10), (100, 100), (1000, 10), (1000, 100))
ALL_CELLS = tuple((rate, rtt) for rate in RATES_MBPS for rtt in RTTS_MS)
AFTER_S = {10: 40.0, 100: 40.0, 1000: 60.0}
"""Seconds after the move in the grid, by base RTT in ms."""
SCALES = {
    "full": Scale(
        cells=ALL_CELLS,
        linux_cells=(*SMALL_CELLS, (100, 1000)),
        variant_cells=SMALL_CELLS[:3],
        figure5_mbps=10_000,
        figure6_s=100.0,
        packets=8e7,
        ns2_packets=8e7,
        moves=1,
        pairs=False,
    ),
    "quick": Scale(
        cells=SMALL_CELLS,
        linux_cells=SMALL_CELLS,
        variant_cells=SMALL_CELLS[:2],
        figure5_mbps=1000,
        figure6_s=10.0,
        packets=10e6,
        ns2_packets=3e6,
        moves=1,
        pairs=False,
    ),
}
"""The two sizes. More of the grid with the TCP of ns-2 is run with more ``packets``. Not in it are Linux 6.1 at 10 Gb/s
and at 1 Gb/s and 1000 ms, and the other variants at 1 Gb/s and 100 ms, at 1000 ms and at 10 Gb/s."""


def figure3(scale: Scale, stack: str) -> dict[int, Setting]:
    """Scenario A at 1 Gb/s, by base RTT."""
    rtts = [rtt for rate, rtt in scale.cells if rate == 1000]
    every = {
        rtt: Setting("A", 1000, rtt, stack=stack, after_s=AFTER_S[rtt], assumed=scale.assumed(stack)) for rtt in rtts
    }
    return {rtt: one for rtt, one in every.items() if one.packets <= scale.packets}


def figure4(scale: Scale, stack: str, scenario: str = "B") -> Setting:
    """Scenario B, or C1, at 1 Gb/s and 100 ms.

    The runs of figures 4, 6 and 7 were not moved by the rule: at 100 s in B, before the rate was reached, and at
    55 s in D. The TCP of ns-2 is moved at these times, Linux by the rule.
    """
    move = scale.figure4_move if stack == NS2 else AT_LIMIT
    return Setting(scenario, 1000, 100, stack=stack, move=move, after_s=AFTER_S[100], assumed=scale.assumed(stack))


def figure5(scale: Scale, stack: str) -> dict[int, Setting]:
    """Scenario C2, by base RTT. At 10 Gb/s only the TCP of ns-2."""
    mbps = scale.figure5_mbps
    seconds = {10: 90.0 if mbps == 10_000 else AFTER_S[10], 100: AFTER_S[100]}
    return {
        rtt: Setting("C2", mbps, rtt, stack=stack, after_s=after_s, assumed=scale.assumed(stack))
        for rtt, after_s in seconds.items()
        if stack == NS2 or mbps < 10_000
    }


def figure6(scale: Scale, stack: str) -> Setting:
    """Scenario D at 10 Gb/s and 10 ms; also figure 7."""
    move, after_s = ("55", scale.figure6_s) if stack == NS2 else (AT_LIMIT, min(scale.figure6_s, AFTER_S[10]))
    return Setting("D", 10_000, 10, stack=stack, move=move, after_s=after_s, assumed=scale.assumed(stack))


def counted(setting: Setting) -> tuple[Setting, Setting]:
    """The setting up to the move, and half a second longer: the difference of their counters is what happened in
    between."""
    return replace(setting, after_s=0.0), replace(setting, after_s=0.5)


def grid(scale: Scale, stack: str, variants: Iterable[str] = ("cubic",)) -> list[Setting]:
    """The cells of the grid that a scale runs, moved by the rule."""
    every = [
        Setting(scenario, rate, rtt, variant, stack, after_s=AFTER_S[rtt])
        for variant in variants
        for scenario in SCENARIOS
        for rate, rtt in scale.cells_of(stack)
    ]
    return [one for one in every if one.packets <= scale.packets]
