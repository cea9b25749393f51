"""The settings of the study: the number of transfers, which of them get the direct links, and for how long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from daybreak.studies.scales import part_of, unusual

TRANSFERS = (24, 48, 72)
SCHEMES = {"no_direct_link": "No direct link", "ut": "UT", "dt": "DT", "on_demand": "On demand"}
"""The published schemes, with their display names."""
TURNS = ("ut", "dt")
"""The schemes in which the ToRs have direct links in turn."""
ECMP = "ecmp"
"""Also without direct links, but each flow draws one of both spines."""
SSE_S = (1, 2, 5, 10, 15, 20)
"""Space-switch epochs of figure 3 in seconds; the text does not print which ones the paper tried."""
NIGHTS_US = (10, 1_000, 100_000, 1_000_000)
"""Reconfiguration delays."""
GAPS_MS = {3: (0, 250, 500, 750, 1000), 1: (0, 750, 1500, 2250, 3000)}
"""Longer gaps, in which packets of moving transfers are held, by the number of parts of an epoch."""
FITTED_MS = {3: 500, 1: 1500}
"""For each number of parts, the gap with the mean throughput nearest to the printed one in `FITTED_CELL`."""
FITTED_CELL = (24, "ut")
"""Transfers and scheme of the cell that the gap is fitted to."""
SMALL = 10
"""Smallest divisor of sizes and epochs in the comparisons of delays and of brokers."""
POLICIES = ("first_come", "largest_first", "earliest_deadline", "fair_share")
"""Policies of a broker that gives a direct link to one transfer at a time."""
SHARED = "shared"
"""The paper's policy: all elephants of a ToR share its direct link."""
FAST_MBPS = 100_000
KERNEL_DIVISOR = 10
UNEVEN: dict[tuple[int, str], str] = {(24, "no_direct_link"): "mouse", (48, "on_demand"): "elephant"}
"""Cells for which the tables show how unevenly transfers share a link: mice strongly, elephants hardly."""


@dataclass(frozen=True)
class Network:
    """Inferred properties of the emulated network: `inferences.toml` has the reasons."""

    start_ms: int = 100
    """The transfers of a run start within this time, divided with the sizes."""
    delay_us: int = 20
    """One-way delay of each link."""
    queue_packets: int = 1000
    """Limit of each queue."""
    order: str = ""
    """The class that a script starts first, one transfer after the other: "mouse" or "elephant"; if empty, all start at
    random times."""

    @property
    def name(self) -> str:
        """The deviations from the study's inferences, for names; empty if there are none."""
        return unusual(self)


@dataclass(frozen=True)
class Hosts:
    """Settings of the hosts' TCP that differ from CUBIC of Linux 6.1 with default settings."""

    variant: str = "cubic"
    initial_window: int = 10
    """In segments."""
    rto_min_ms: int = 200
    burst_kb: int = 0
    """Largest burst that TCP hands to the NIC at once (segmentation offload), in units of 1024 bytes; 0 is off."""
    marks: int = 0
    """ECN: queues mark above this many packets; 0 is off."""
    again: bool = False
    """Whether the same transfers were made in an earlier round, whose slow-start thresholds the hosts cache."""

    @property
    def name(self) -> str:
        """The non-default settings, for names; empty if there are none."""
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
"""Variants of TCP, and CUBIC with another initial window or minimum RTO. With DCTCP switches mark above 65 packets."""


@dataclass(frozen=True)
class Setting:
    """One point of the grid.

    Sizes and the epoch are those of the paper divided by ``divisor``; at another ``rate_mbps`` than 1000 the epoch
    scales inversely with the rate. ``night_us`` is the duration of a reconfiguration, divided likewise, and
    ``downtime`` its downtime policy. ``policy`` is the broker's; policies are compared with elephants of three sizes,
    ``mixed_sizes``. ``shares`` is the number of parts into which the ToRs divide an epoch.
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
    """The setting's own epoch, if it has one."""
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
        """Factor by which times are longer at the paper's sizes and rate, if times scale with these."""
        return self.divisor * self.rate_mbps / 1000

    def scaled(self, seconds: float) -> str:
        """One of the paper's times, scaled for a scenario."""
        return f"{round(seconds * 1e9 / self.time_factor)} ns"

    @property
    def turn(self) -> str:
        """Length of a ToR's turn with the direct link."""
        return self.scaled(self.sse_s / self.shares)

    @property
    def night(self) -> str:
        """Duration of a reconfiguration."""
        return self.scaled(self.night_us / 1e6)


@dataclass(frozen=True)
class Scale:
    """The size of a reproduction.

    The fields are the runs of a setting, the divisor of sizes and epochs, the runs of settings beyond the paper, of the
    kernel and of the fit of the gap, the epoch in seconds, the number of parts into which the ToRs divide it (1: each
    has one in turn), and the time in ms for which moving transfers under UT and DT have no path: their packets wait.
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
        """Number of runs of a setting."""
        if setting.rate_mbps == 1000 // KERNEL_DIVISOR:
            return self.kernel_runs
        if setting in (*printed(self), *epochs(self)):
            return self.runs
        return min(self.runs, self.fit_runs) if setting in fits(self) else self.other_runs

    def instantaneous(self) -> Scale:
        """A copy with instantaneous moves."""
        return replace(self, gap_ms=0)

    def with_runs(self, runs: int) -> Scale:
        """A copy with ``runs`` runs of every setting."""
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
    """Cells of the schemes with turns, and their counterparts with instantaneous moves."""
    cells = printed(scale, TURNS), printed(scale.instantaneous(), TURNS)
    return dict(zip(*cells, strict=True))


def fast(scale: Scale) -> dict[Setting, Setting]:
    """Cells at 1 Gb/s with the paper's sizes and instantaneous moves at every scale, and their counterparts at 100
    Gb/s."""
    cells = [cell for cell in printed(replace(scale.instantaneous(), divisor=1)) if cell.transfers == 24]
    return {cell: replace(cell, rate_mbps=FAST_MBPS) for cell in cells}


def spread(scale: Scale) -> list[Setting]:
    """The network without direct links, with ECMP over both spines."""
    return [one(scale, transfers, ECMP) for transfers in TRANSFERS]


def brokers(scale: Scale) -> dict[str, Setting]:
    """On demand with 72 transfers and elephants of three sizes, by policy."""
    base = replace(one(replace(scale, divisor=max(SMALL, scale.divisor)), 72, "on_demand"), mixed_sizes=True)
    return {policy: replace(base, policy=policy) for policy in (SHARED, *POLICIES)}


def delays(scale: Scale, scheme: str, downtime: str) -> dict[int, Setting]:
    """24 transfers with reconfiguration delays, by delay in microseconds."""
    base = one(replace(scale.instantaneous(), divisor=max(SMALL, scale.divisor)), 24, scheme)
    return {night: replace(base, night_us=night, downtime=downtime) for night in NIGHTS_US}


def gaps(scale: Scale, shares: int) -> dict[int, Setting]:
    """The fitted cell with other gaps, by gap in milliseconds."""
    return {gap: one(replace(scale, shares=shares, gap_ms=gap), *FITTED_CELL) for gap in GAPS_MS[shares]}


def others(scale: Scale, shares: int) -> list[Setting]:
    """The other cells of the schemes with turns, with the fitted gap."""
    cells = printed(replace(scale, shares=shares, gap_ms=FITTED_MS[shares]), TURNS)
    return [cell for cell in cells if (cell.transfers, cell.scheme) != FITTED_CELL]


def fits(scale: Scale) -> list[Setting]:
    """All that the gap is fitted and tested with, and what the schemes with turns are compared with."""
    cells = [cell for shares in GAPS_MS for cell in (*gaps(scale, shares).values(), *others(scale, shares))]
    return [*cells, *printed(scale, ("no_direct_link",))]


def causes(scale: Scale, transfers: int, scheme: str) -> dict[str, Setting]:
    """Possible causes of uneven sharing of a link, by display name; for cells that share evenly only shorter queues."""
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
    """24 transfers at a tenth of size and rate, so with equal times: on the simulator, and their counterparts on real
    Linux."""
    if not scale.kernel_runs:
        return {}
    cells = [cell for cell in (*printed(scale), *instant(scale).values()) if cell.transfers == 24]
    small = [replace(cell, divisor=KERNEL_DIVISOR, rate_mbps=1000 // KERNEL_DIVISOR) for cell in dict.fromkeys(cells)]
    return {cell: replace(cell, engine="kernel") for cell in small}
