"""The settings of the study: each is one point of its figures."""

from __future__ import annotations

from dataclasses import dataclass, replace

from daybreak._native import variants
from daybreak.studies.scales import part_of, unusual

STATIC = (4, 8, 16, 32, 64, 128)
"""Limits of static VOQs in packets."""
BEFORE_CUBIC = tuple(range(0, 3001, 300))
"""Microseconds before the day at which VOQs grow (tau), for CUBIC."""
BEFORE_RETCP = tuple(range(0, 301, 50))
"""Microseconds before the day at which VOQs grow, for reTCP."""
BEFORE_VARIANTS = 1200
BEFORE_EIGHT = tuple(range(0, 1201, 100))
"""Microseconds before the day at which VOQs grow in the run with 8 racks, whose week is 1400 us."""
BEFORE_VARIANTS_EIGHT = (0, 500, 1000, 1200)
"""The subset of these times at which that run has all variants."""
_ALL = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno", "scalable",
    "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
DELAYS_NS = (500, 1000, 1500, 2050, 2500)
"""Hosts' delays over which latencies are shown."""
VARIANTS = tuple(name for name in _ALL if name in {entry.name for entry in variants()})
"""The comparison's variants that the simulator has; the comparison leaves reTCP out."""
MARKED_BEFORE = 600
"""Microseconds before the day at which marking begins with static VOQs: the emulator's default."""


@dataclass(frozen=True)
class Hosts:
    """Inferred properties of the emulator's hosts: `inferences.toml` has the reasons."""

    delay_ns: int = 1500
    """One-way delay between a host's TCP and its switch, without serialisation."""
    hz: int = 250
    """Timer ticks per second."""
    start_us: int = 50
    """Flows start within this time."""
    small_queues: int = 0
    """1: TCP small queues as in Linux 6.1's default, 0: off."""
    compressed_sacks: int = 0
    """SACKs that a receiver may hold back (`tcp_comp_sack_nr`)."""
    older: int = 1
    """1: windows grow and shrink as in Linux 4.15 where the model can, 0: as in Linux 6.1."""

    @property
    def name(self) -> str:
        """The deviations from the study's inferences, for names; empty if there are none."""
        return unusual(self)


@dataclass(frozen=True)
class Setting:
    """One setting. ``large`` and ``tau_us`` describe VOQs that grow for their day, and are None for static ones;
    ``mark_us`` is the time before the day at which marking begins, None without marks. ``racks`` is the number that the
    schedule emulates; ``dilation`` is the hosts' `timer_dilation`."""

    variant: str
    weeks: int
    racks: int
    small: int
    dilation: int
    large: int | None = None
    tau_us: int | None = None
    mark_us: int | None = None
    day_us: int = 180
    night_us: int = 20
    hosts: Hosts = Hosts()

    @property
    def name(self) -> str:
        """Name for files and records, such as ``cubic-16to50-1200us-25racks-x20-300weeks``."""
        sizes = f"{self.small}" if self.large is None else f"{self.small}to{self.large}-{self.tau_us}us"
        day = "" if (self.day_us, self.night_us) == (180, 20) else f"{self.night_us}+{self.day_us}us"
        marks = "" if self.mark_us in (None, self.tau_us) else f"mark{self.mark_us}us"
        end = (f"{self.racks}racks", f"x{self.dilation}", f"{self.weeks}weeks")
        return "-".join(part for part in (self.variant, sizes, marks, day, *end, self.hosts.name) if part)


@dataclass(frozen=True)
class Scale:
    """The size of a reproduction: ``weeks`` of each run and number of ``runs``. The other fields are those in which the
    published runs differ (racks, packets of a VOQ before and in its day) and the inferred ones."""

    weeks: int
    runs: int
    racks: int = 25
    small: int = 16
    large: int = 50
    dilation: int = 20
    delay_ns: int = Hosts.delay_ns
    hz: int = Hosts.hz
    start_us: int = Hosts.start_us
    small_queues: int = Hosts.small_queues
    compressed_sacks: int = Hosts.compressed_sacks
    older: int = Hosts.older

    def __post_init__(self) -> None:
        if self.racks < 3:
            raise ValueError(f"racks: {self.racks} is below the 3 that there are")
        for name in ("weeks", "small", "large", "dilation"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)} is not above zero")

    def runs_of(self, setting: Setting) -> int:
        """Runs of a setting: one where clocks agree or hosts have another delay, of which nothing is published."""
        return self.runs if (setting.dilation, setting.hosts.delay_ns) == (self.dilation, self.delay_ns) else 1

    def with_runs(self, runs: int) -> Scale:
        """A copy with ``runs`` runs of every setting."""
        return replace(self, runs=runs)

    @property
    def hosts(self) -> Hosts:
        """The hosts of all settings."""
        return part_of(self, Hosts)

    @property
    def is_published(self) -> bool:
        """Whether it matches run 1581462196, whose values are printed."""
        return (self.racks, self.small, self.large, self.dilation) == (25, 16, 50, 20)


SCALES = {"full": Scale(weeks=500, runs=3), "quick": Scale(weeks=300, runs=1)}
"""The two sizes. A published value is of one run of 3000 weeks; three of the full size are half as long together."""


def eight_racks(scale: Scale) -> Scale:
    """The scale of run 1581228040: 8 racks, and VOQs that grow to 64 packets."""
    return replace(scale, racks=8, large=64)


def static(scale: Scale, variant: str, packets: int) -> Setting:
    """A setting with static VOQs of ``packets``."""
    marks = MARKED_BEFORE if variant == "retcp" else None
    return Setting(variant, scale.weeks, scale.racks, packets, scale.dilation, mark_us=marks, hosts=scale.hosts)


def dynamic(scale: Scale, variant: str, tau_us: int) -> Setting:
    """A setting with VOQs that grow ``tau_us`` before their day."""
    marks = tau_us if variant == "retcp" else None
    return Setting(
        variant, scale.weeks, scale.racks, scale.small, scale.dilation, scale.large, tau_us, marks, hosts=scale.hosts
    )


def undilated(setting: Setting) -> Setting:
    """The setting with undilated clocks."""
    return replace(setting, dilation=1)


def switches(scale: Scale) -> dict[str, Setting]:
    """Figure 2: CUBIC over a slow, a modern and a future switch. A slow one's week is fifty times as long, so it has
    fewer of them."""
    modern = static(scale, "cubic", scale.small)
    return {
        "slow": replace(modern, racks=3, night_us=1000, day_us=9000, weeks=max(20, scale.weeks // 50)),
        "modern": modern,
        "future": replace(modern, racks=8, night_us=1, day_us=9),
    }


def dilation_pairs(scale: Scale) -> list[Setting]:
    """The settings that are compared with and without dilation."""
    points = [static(scale, "cubic", packets) for packets in STATIC]
    points += [dynamic(scale, "cubic", tau) for tau in (600, 1200, 1800, 2400)]
    points += [dynamic(scale, "retcp", tau) for tau in BEFORE_RETCP]
    return points + [point for variant in VARIANTS if variant != "cubic" for point in of_variant(scale, variant)]


def delayed(scale: Scale) -> dict[str, dict[int, Setting]]:
    """Settings with other hosts' delays, by the ends of their claims' keys and by nanoseconds."""
    scales = {delay: replace(scale, delay_ns=delay) for delay in DELAYS_NS}
    return {
        "5.{}.4p": {delay: static(one, "cubic", 4) for delay, one in scales.items()},
        "5.{}.16p": {delay: static(one, "cubic", 16) for delay, one in scales.items()},
        "6.{}.1800us": {delay: dynamic(one, "cubic", 1800) for delay, one in scales.items()},
        "9.{}.150us": {delay: dynamic(one, "retcp", 150) for delay, one in scales.items()},
    }


def of_variant(scale: Scale, variant: str) -> list[Setting]:
    """The two settings that all variants have."""
    return [static(scale, variant, scale.small), dynamic(scale, variant, BEFORE_VARIANTS)]
