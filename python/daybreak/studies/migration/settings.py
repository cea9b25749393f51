"""The settings of the study: each is one bar or panel of its figures, run with many seeds."""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Literal

from daybreak.studies.scales import part_of, unusual

NAMES = {"cubic": "CUBIC", "bbr": "BBR", "reno": "Reno", "westwood": "Westwood"}
"""The variants, with their display names."""
SINGLE_PERIODS = (0, 50, 10)
PAIR_PERIODS = (50, 25, 10, 1)
MIXED_MAINS = ("bbr", "reno", "westwood")
MIXED_PERIODS = (50, 10)
"""Figure 6 (a) and (b). That (b) is 10 ms is an inference: the text only calls it "a smaller period"."""
CYCLES = ((100, 10), (50, 5), (20, 2), (10, 1))
"""Figure 7: period and night in ms, so that the days are 90, 45, 18 and 9 ms."""
GROUP_PERIODS = (50, 25, 10)

FOREST_PERIODS = (1, 5, 10, 25, 50, 100)
"""Figure 8: the periods of Table I without downtime, beside `CYCLES`."""

TICKS = (100, 250, 300, 1000)
"""Timer ticks per second of distribution kernels."""

FIGURES = ("3", "4", "4-variants", "5", "6a", "6b", "7", "table2", "table2-exchanges", "8", "8-ticks", "kernel")
"""The values of `--figure`; "kernel" is the comparison with the real kernel."""


READINGS = ("mean_goodput", "pooled_goodput", "group_goodput")
"""Readings of Table II's "average throughput": the mean of the flows' goodputs, all bytes over the sum of the FCTs, all
bytes over the time from the first start to the last end."""


@dataclass(frozen=True)
class Testbed:
    """Properties of the testbed that the paper does not print: `inferences.toml` has the reasons."""

    buffer: int = 250
    """Packets that each loopback link buffers."""
    hz: int = 250
    """Timer ticks per second of the hosts."""
    phase: int = 1
    """1: flows and the switch's cycle begin at a random phase of the hosts' ticks, drawn for each run; 0: with a
    tick."""
    rtt_us: int = 40
    """Base round-trip time."""
    jitter_ns: int = 7230
    """Largest jitter of a server's port in ns; 7230 is the time of one packet."""
    start_ms: int = 5
    """Flows start within this time."""
    small_queues: int = 0
    """1: TCP small queues as in Linux 6.1's default, 0: off."""
    older: int = 1
    """1: windows and probes as in Linux 4.15 to 5.4 where the model can, 2: CUBIC's delays as well, 0: as in Linux
    6.1.192."""

    @property
    def name(self) -> str:
        """The deviations from the study's inferences, for names; empty if there are none."""
        return unusual(self)


KERNEL_TESTBED = Testbed(buffer=350, hz=1000, phase=0, older=0)
"""The testbed with which kernel.toml's scenarios were run."""


@dataclass(frozen=True)
class Setting:
    """One point of the grid. ``main`` is empty for a single flow; a ``period_ms`` of 0 means no reconfiguration."""

    kind: Literal["single", "pair", "groups", "exchanges", "forest"]
    migrated: str
    main: str
    period_ms: int
    night_ms: int
    mib: int
    testbed: Testbed = Testbed()

    @property
    def name(self) -> str:
        """Name for files and records, such as ``pair-cubic-bbr-50ms-2048MiB``."""
        period = f"{self.period_ms}ms" if self.period_ms else "static"
        if self.night_ms:
            period = f"{self.period_ms - self.night_ms}+{self.night_ms}ms"
        parts = (self.kind, self.migrated, self.main, period, f"{self.mib}MiB", self.testbed.name)
        return "-".join(part for part in parts if part)

    @property
    def period(self) -> str:
        """The period as in ids and titles: ``50ms``, or ``none``."""
        return f"{self.period_ms}ms" if self.period_ms else "none"


@dataclass(frozen=True)
class Scale:
    """The size of a reproduction: MiB of a single flow, of each of two flows, of a group; numbers of runs; and the
    inferences about the testbed (`Testbed`) and about the definition of Table II's throughput. Without ``forest_runs``
    there is no figure 8; with ``forest_search`` the forest's parameters are searched among 288 combinations, which
    takes an hour, instead of using the printed ones."""

    single_mib: int
    pair_mib: int
    group_mib: int
    kernel_mib: int
    single_runs: int
    group_runs: int
    runs: int
    forest_runs: int
    forest_search: int = 0
    reading: str = READINGS[0]
    """The column of `metrics.fct.group_throughput` that is Table II's "average throughput"."""
    buffer: int = Testbed.buffer
    hz: int = Testbed.hz
    phase: int = Testbed.phase
    rtt_us: int = Testbed.rtt_us
    jitter_ns: int = Testbed.jitter_ns
    start_ms: int = Testbed.start_ms
    small_queues: int = Testbed.small_queues
    older: int = Testbed.older

    def __post_init__(self) -> None:
        if self.reading not in READINGS:
            raise ValueError(f'reading: "{self.reading}" is not one of {", ".join(READINGS)}')

    @property
    def testbed(self) -> Testbed:
        """The testbed of all settings except kernel.toml's."""
        return part_of(self, Testbed)

    def runs_of(self, setting: Setting) -> int:
        """Number of runs of a setting."""
        match setting.kind:
            case "single":
                return self.single_runs
            case "pair":
                return self.runs
            case "groups" | "exchanges":
                return self.group_runs
            case "forest":
                return self.forest_runs

    def with_runs(self, runs: int) -> Scale:
        """A copy with ``runs`` runs of every setting."""
        return replace(self, single_runs=runs, group_runs=runs, runs=runs, forest_runs=runs)


SCALES = {
    "full": Scale(
        single_mib=4096,
        pair_mib=2048,
        group_mib=1024,
        kernel_mib=1024,
        single_runs=30,
        group_runs=100,
        runs=30,
        forest_runs=5,
    ),
    "quick": Scale(
        single_mib=4096,
        pair_mib=1024,
        group_mib=1024,
        kernel_mib=1024,
        single_runs=1,
        group_runs=30,
        runs=5,
        forest_runs=0,
    ),
}
"""The two sizes. A single flow keeps its size in "quick", since its claim is an absolute time; groups keep their size
and number, since their averages depend on the draw of sizes. For the same reason "full" draws more often than the
paper's 30 times: two sets of 30 draws differ by more than what is printed of the periods. Figure 8 has 160 settings, of
which five runs each, not 30, take as long as all others together."""


def single(scale: Scale, variant: str, period_ms: int) -> Setting:
    """Figure 3: one flow that is moved between the links."""
    return Setting("single", variant, "", period_ms, 0, scale.single_mib, scale.testbed)


def pair(scale: Scale, migrated: str, main: str, period_ms: int, night_ms: int = 0) -> Setting:
    """Figures 4 to 7: a flow that is moved, and one that stays."""
    return Setting("pair", migrated, main, period_ms, night_ms, scale.pair_mib, scale.testbed)


def groups(scale: Scale, period_ms: int) -> Setting:
    """Table II: a group that is moved, and one that stays."""
    return Setting("groups", "cubic", "cubic", period_ms, 0, scale.group_mib, scale.testbed)


def exchanges(scale: Scale, period_ms: int) -> Setting:
    """Table II with clients that request the files: equal seeds draw equal sizes."""
    return replace(groups(scale, period_ms), kind="exchanges")


def forest(scale: Scale, migrated: str, main: str, period_ms: int, night_ms: int = 0) -> Setting:
    """Figure 8: the two flows of `pair`, of which only completion times are stored."""
    return replace(pair(scale, migrated, main, period_ms, night_ms), kind="forest")


def with_night(scale: Scale) -> list[Setting]:
    """The settings of figure 8 that have a downtime."""
    return [setting for setting in of_figure("8", scale) if setting.night_ms]


def of_hosts(setting: Setting, hz: int, older: int) -> Setting:
    """A setting with other ticks and another age of the hosts (`Testbed`)."""
    return replace(setting, testbed=replace(setting.testbed, hz=hz, older=older))


def kernel_rows() -> list[dict[str, Any]]:
    """The rows of kernel.toml."""
    text = files(__package__).joinpath("kernel.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["row"]
    return rows


def kernel_setting(scale: Scale, row: dict[str, Any]) -> Setting:
    """The setting of one row of kernel.toml."""
    return Setting(
        "pair", row["migrated"], row["main"], row["period_ms"], row["night_ms"], scale.kernel_mib, KERNEL_TESTBED
    )


def of_figure(figure: str, scale: Scale) -> list[Setting]:
    """The settings that a figure and its claims need."""
    match figure:
        case "3":
            return [single(scale, variant, period) for variant in NAMES for period in SINGLE_PERIODS]
        case "4":
            return [pair(scale, "cubic", "cubic", period) for period in PAIR_PERIODS]
        case "4-variants":
            others = [variant for variant in NAMES if variant != "cubic"]
            return [pair(scale, variant, variant, period) for variant in others for period in PAIR_PERIODS]
        case "5":
            return [single(scale, "cubic", 0), *of_figure("4", scale)]
        case "6a" | "6b":
            # The two parts are compared with each other, so both need both, and with a pair of CUBIC flows.
            mains = (*MIXED_MAINS, "cubic")
            return [pair(scale, "cubic", main, period) for period in MIXED_PERIODS for main in mains]
        case "7":
            dark = [pair(scale, "cubic", "cubic", period, night) for period, night in CYCLES]
            light = [pair(scale, "cubic", "cubic", period) for period in (100, 50, 10)]
            return dark + light
        case "table2":
            return [groups(scale, period) for period in GROUP_PERIODS]
        case "table2-exchanges":
            # The two ways of transfer are compared with each other.
            return [of(scale, period) for of in (exchanges, groups) for period in GROUP_PERIODS]
        case "8":
            schedules = [*((period, 0) for period in FOREST_PERIODS), *CYCLES]
            pairs = itertools.product(NAMES, NAMES) if scale.forest_runs else ()
            return [forest(scale, *names, *schedule) for names in pairs for schedule in schedules]
        case "8-ticks":
            return [of_hosts(setting, hz, older) for older in (1, 0) for hz in TICKS for setting in with_night(scale)]
        case "kernel":
            return [kernel_setting(scale, row) for row in kernel_rows()]
        case _:
            raise ValueError(f'figure: "{figure}" is not one of {", ".join(FIGURES)}')
