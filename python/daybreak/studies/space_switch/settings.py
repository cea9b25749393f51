"""What the study varied: how many transfers there are, who gets the direct links, and for how long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from daybreak.studies.scales import part_of, unusual

TRANSFERS = (24, 48, 72)
SCHEMES = {"no_direct_link": "No direct link", "ut": "UT", "dt": "DT", "on_demand": "On demand"}
"""The printed schemes, with their names for people."""
TURNS = ("ut", "dt")
"""The schemes in which the ToRs have direct links in turn."""
ECMP = "ecmp"
"""No direct link either, but each flow draws one of both spines."""
SSE_S = (1, 2, 5, 10, 15, 20)
"""Space-switch epochs of figure 3 in seconds; which ones the paper tried is in no text."""
NIGHTS_US = (10, 1_000, 100_000, 1_000_000)
"""Reconfiguration delays."""
GAPS_MS = {3: (0, 250, 500, 750, 1000), 1: (0, 750, 1500, 2250, 3000)}
"""Longer ones, in which packets of the transfers that move are held, by the parts into which an epoch is divided."""
FITTED_MS = {3: 500, 1: 1500}
"""With each, the gap of these that is nearest to the printed mean throughput of elephants in `FITTED_CELL`."""
FITTED_CELL = (24, "ut")
"""Transfers and scheme of the one cell that the gap is fitted to."""
SMALL = 10
"""What sizes and epochs are divided by at least in the comparisons of delays and of brokers."""
POLICIES = ("first_come", "largest_first", "earliest_deadline", "fair_share")
"""Policies of a broker that gives a direct link to one transfer at a time."""
SHARED = "shared"
"""The paper's way: all elephants of a ToR have its direct link together."""
FAST_MBPS = 100_000
KERNEL_DIVISOR = 10
UNEVEN: dict[tuple[int, str], str] = {(24, "no_direct_link"): "mouse", (48, "on_demand"): "elephant"}
"""Cells of which the tables show how unevenly transfers of a class share a link: mice very much, elephants hardly."""


@dataclass(frozen=True)
class Network:
    """What is inferred of the emulated network: `inferences.toml` has the reasons."""

    start_ms: int = 100
    """The transfers of a run start within this time, divided with the sizes."""
    delay_us: int = 20
    """Of each link, one way."""
    queue_packets: int = 1000
    """Limit of each queue."""
    order: str = ""
    """The class that a script starts first, one transfer after the other: "mouse" or "elephant"; if empty, all start at
    random times."""

    @property
    def name(self) -> str:
        """What is not as the study infers it, for names; empty if all is."""
        return unusual(self)


@dataclass(frozen=True)
class Hosts:
    """What the hosts' TCP has that CUBIC of Linux 6.1 with default settings has not."""

    variant: str = "cubic"
    initial_window: int = 10
    """In segments."""
    rto_min_ms: int = 200
    burst_kb: int = 0
    """Largest burst that TCP hands to the NIC at once (segmentation offload), in units of 1024 bytes; 0 is off."""
    marks: int = 0
    """ECN: queues mark above this many packets; 0 is off."""
    again: bool = False
    """The same transfers have been made a round before, and the hosts keep the slow-start thresholds."""

    @property
    def name(self) -> str:
        """What is not as usual, for names; empty if all is."""
        return unusual(self)


VARIANTS = {
    "CUBIC": Hosts(),
    "Reno": Hosts(variant="reno"),
    "BBR": Hosts(variant="bbr"),
    "DCTCP": Hosts(variant="dctcp", marks=65),
    "window 1": Hosts(initial_window=1),
    "window 100": Hosts(initial_window=100),
    "RTO 10 ms": Hosts(rto_min_ms=10),
}
"""Variants of TCP, and CUBIC with another initial window or least RTO. With DCTCP
switches mark above 65 packets."""


@dataclass(frozen=True)
class Setting:
    """One point of the grid.

    Sizes and the epoch are those of the paper divided by ``divisor``; at another ``rate_mbps`` than 1000 the epoch is
    shorter as the rate is higher. ``night_us`` is how long a reconfiguration takes, divided likewise, and ``downtime``
    what becomes of packets meanwhile. ``policy`` is the broker's; its policies are compared with elephants of three
    sizes, ``mixed_sizes``. ``shares`` is into how many parts the ToRs divide an epoch.
    """

    transfers: int
    scheme: str
    sse_s: int = 10
    divisor: int = 1
    rate_mbps: int = 1000
    night_us: int = 0
    downtime: str = "make_before_break"
    policy: str = SHARED
    mixed_sizes: bool = False
    shares: int = 1
    engine: str = ""
    """Of a setting that has its own."""
    network: Network = Network()
    hosts: Hosts = Hosts()

    @property
    def name(self) -> str:
        """Name for files and records, such as ``ut-24-10s``."""
        parts = [self.scheme, f"{self.transfers}"]
        if self.scheme in TURNS:
            parts.append(f"{self.sse_s}s" if self.shares == 1 else f"{self.sse_s}s:{self.shares}")
        if self.divisor != 1:
            parts.append(f"by{self.divisor}")
        if self.rate_mbps != 1000:
            parts.append(f"{self.rate_mbps}Mbps")
        if self.night_us:
            parts.append(f"{self.night_us}us-{self.downtime}")
        if self.mixed_sizes:
            parts.append(self.policy)
        if self.engine:
            parts.append(self.engine)
        parts += [one.name for one in (self.network, self.hosts) if one.name]
        return "-".join(parts)

    @property
    def time_factor(self) -> float:
        """How much longer everything takes at the paper's sizes and rate, if times scale as these."""
        return self.divisor * self.rate_mbps / 1000

    def scaled(self, seconds: float) -> str:
        """A time of the paper's as a scenario has it."""
        return f"{round(seconds * 1e9 / self.time_factor)} ns"

    @property
    def turn(self) -> str:
        """How long a ToR has the direct link at a time."""
        return self.scaled(self.sse_s / self.shares)

    @property
    def night(self) -> str:
        """How long a reconfiguration takes."""
        return self.scaled(self.night_us / 1e6)


@dataclass(frozen=True)
class Scale:
    """How large a reproduction is.

    Runs of a setting, what sizes and epochs are divided by, runs of what goes beyond the paper, of the kernel and of
    what the gap is fitted with, the epoch in seconds, in how many parts the ToRs divide it (1: each has one in turn),
    and for how long transfers that move under UT and DT have no path, in milliseconds: their packets wait.
    """

    runs: int
    divisor: int
    other_runs: int
    kernel_runs: int
    fit_runs: int = 3
    sse_s: int = 10
    shares: int = 3
    gap_ms: int = FITTED_MS[3]
    start_ms: int = Network.start_ms
    delay_us: int = Network.delay_us
    queue_packets: int = Network.queue_packets
    order: str = Network.order

    @property
    def network(self) -> Network:
        """The network of the paper's cells."""
        return part_of(self, Network)

    def runs_of(self, setting: Setting) -> int:
        """Runs of a setting."""
        if setting.rate_mbps == 1000 // KERNEL_DIVISOR:
            return self.kernel_runs
        if setting in (*printed(self), *epochs(self)):
            return self.runs
        return min(self.runs, self.fit_runs) if setting in fits(self) else self.other_runs

    def instantaneous(self) -> Scale:
        """The same with moves that take no time."""
        return replace(self, gap_ms=0)

    def with_runs(self, runs: int) -> Scale:
        """The same with so many runs of every setting."""
        return replace(self, runs=runs, other_runs=min(self.other_runs, runs))


SCALES = {
    "full": Scale(runs=15, divisor=1, other_runs=1, kernel_runs=1),
    "quick": Scale(runs=3, divisor=10, other_runs=1, kernel_runs=0),
}
"""The two sizes. "quick" has a tenth of the bytes and of the epoch, so as many moves in each transfer, but no other
queues, round-trip times and timeouts: what a move costs weighs more."""


def one(scale: Scale, transfers: int, scheme: str) -> Setting:
    """A cell of tables 1 to 4."""
    cell = Setting(transfers, scheme, scale.sse_s, scale.divisor, shares=scale.shares, network=scale.network)
    has_gaps = scale.gap_ms > 0 and scheme in TURNS
    return replace(cell, night_us=1000 * scale.gap_ms, downtime="hold") if has_gaps else cell


def printed(scale: Scale, schemes: Iterable[str] = SCHEMES) -> list[Setting]:
    """The cells of tables 1 to 4 with some schemes."""
    return [one(scale, transfers, scheme) for transfers in TRANSFERS for scheme in schemes]


def epochs(scale: Scale) -> list[Setting]:
    """Figure 3: the epochs in which a turn is longer than a gap."""
    longer = [sse for sse in SSE_S if 1000 * sse > scale.gap_ms * scale.shares]
    return [replace(one(scale, 24, "ut"), sse_s=sse) for sse in longer]


def instant(scale: Scale) -> dict[Setting, Setting]:
    """Cells of the schemes with turns, and the same with moves that take no time."""
    cells = printed(scale, TURNS), printed(scale.instantaneous(), TURNS)
    return dict(zip(*cells, strict=True))


def fast(scale: Scale) -> dict[Setting, Setting]:
    """Cells at 1 Gb/s, the paper's sizes and moves that take no time at every scale, and the same at 100 Gb/s."""
    cells = [cell for cell in printed(replace(scale.instantaneous(), divisor=1)) if cell.transfers == 24]
    return {cell: replace(cell, rate_mbps=FAST_MBPS) for cell in cells}


def spread(scale: Scale) -> list[Setting]:
    """The same network without direct links, with ECMP over both spines."""
    return [one(scale, transfers, ECMP) for transfers in TRANSFERS]


def brokers(scale: Scale) -> dict[str, Setting]:
    """On demand with 72 transfers whose elephants have three sizes, by policy."""
    base = replace(one(replace(scale, divisor=max(SMALL, scale.divisor)), 72, "on_demand"), mixed_sizes=True)
    return {policy: replace(base, policy=policy) for policy in (SHARED, *POLICIES)}


def delays(scale: Scale, scheme: str, downtime: str) -> dict[int, Setting]:
    """24 transfers with reconfigurations that take a while, by microseconds."""
    base = one(replace(scale.instantaneous(), divisor=max(SMALL, scale.divisor)), 24, scheme)
    return {night: replace(base, night_us=night, downtime=downtime) for night in NIGHTS_US}


def gaps(scale: Scale, shares: int) -> dict[int, Setting]:
    """The cell that the gap is fitted to with other gaps, by milliseconds."""
    return {gap: one(replace(scale, shares=shares, gap_ms=gap), *FITTED_CELL) for gap in GAPS_MS[shares]}


def others(scale: Scale, shares: int) -> list[Setting]:
    """The other cells of the schemes with turns, with the gap that was fitted."""
    cells = printed(replace(scale, shares=shares, gap_ms=FITTED_MS[shares]), TURNS)
    return [cell for cell in cells if (cell.transfers, cell.scheme) != FITTED_CELL]


def fits(scale: Scale) -> list[Setting]:
    """All that the gap is fitted and tested with, and what the schemes with turns are compared with."""
    cells = [cell for shares in GAPS_MS for cell in (*gaps(scale, shares).values(), *others(scale, shares))]
    return [*cells, *printed(scale, ("no_direct_link",))]


def causes(scale: Scale, transfers: int, scheme: str) -> dict[str, Setting]:
    """What might make transfers share a link unevenly, by a name for people; where they hardly do, shorter queues."""
    base = one(scale, transfers, scheme)
    queues: dict[str, dict[str, Any]] = {
        "as it is": {},
        **{f"{packets}\npackets": {"queue_packets": packets} for packets in (30, 40, 60, 100)},
    }
    if scheme == "on_demand":
        return {name: replace(base, network=replace(base.network, **changes)) for name, changes in queues.items()}
    networks: dict[str, dict[str, Any]] = {
        **queues,
        "45 000\npackets": {"queue_packets": 45_000},
        "starts in\n2.4 s": {"start_ms": 2400},
        "elephants\nfirst": {"start_ms": 2400, "order": "elephant"},
        "mice\nfirst": {"start_ms": 2400, "order": "mouse"},
    }
    found = {name: replace(base, network=replace(base.network, **changes)) for name, changes in networks.items()}
    hosts = {"bursts of\n64 KiB": Hosts(burst_kb=64), "thresholds\nkept": Hosts(again=True)}
    return found | {name: replace(base, hosts=changed) for name, changed in hosts.items()}


def variants(scale: Scale, scheme: str) -> dict[str, Setting]:
    """24 transfers with other variants of TCP and other parameters."""
    return {name: replace(one(scale, 24, scheme), hosts=hosts) for name, hosts in VARIANTS.items()}


def kernel_cells(scale: Scale) -> dict[Setting, Setting]:
    """24 transfers at a tenth of size and rate, so in the same times: on the simulator, and the same on real Linux."""
    if not scale.kernel_runs:
        return {}
    cells = [cell for cell in (*printed(scale), *instant(scale).values()) if cell.transfers == 24]
    small = [replace(cell, divisor=KERNEL_DIVISOR, rate_mbps=1000 // KERNEL_DIVISOR) for cell in dict.fromkeys(cells)]
    return {cell: replace(cell, engine="kernel") for cell in small}
