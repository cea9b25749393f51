"""Judges the claims: every published value beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import cast

import numpy as np
import polars as pl

from daybreak.metrics import confidence
from daybreak.metrics.confidence import Interval
from daybreak.studies.etalon.measured import Evidence, Measurements
from daybreak.studies.etalon.settings import (
    BEFORE_CUBIC,
    BEFORE_RETCP,
    BEFORE_VARIANTS,
    STATIC,
    VARIANTS,
    Scale,
    Setting,
    dynamic,
    of_variant,
    static,
    switches,
)
from daybreak.studies.etalon.testbed import MTU, PACKET_GBPS
from daybreak.studies.scoreboard import Scoreboard, text

LATENCIES = tuple(
    f"{percentile}_{network}" for percentile in ("p50", "p99") for network in ("all", "circuit", "packet")
)
PACKET_TIME_US = MTU * 8 / PACKET_GBPS / 1e3
WITHOUT_QUEUE_US = 2 * PACKET_TIME_US + 10
"""Latency over the packet network with an empty VOQ: two serialisations and 10 us of propagation."""


def points(figure: str, scale: Scale) -> dict[str, Setting]:
    """The settings of a figure that varies one parameter, by the suffixes of its claims' ids."""
    match figure:
        case "4":
            return {variant: static(scale, variant, scale.small) for variant in VARIANTS}
        case "5" | "8":
            variant = "cubic" if figure == "5" else "retcp"
            return {f"{packets}p": static(scale, variant, packets) for packets in STATIC}
        case "6":
            return {f"{tau}us": dynamic(scale, "cubic", tau) for tau in BEFORE_CUBIC}
        case "7":
            return {variant: dynamic(scale, variant, BEFORE_VARIANTS) for variant in VARIANTS}
        case "9":
            return {f"{tau}us": dynamic(scale, "retcp", tau) for tau in BEFORE_RETCP}
        case _:
            raise ValueError(f'figure: "{figure}" varies more than one thing')


def judge_points(figure: str, board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Judges every printed value of a figure's settings."""
    if not scale.is_published:
        return
    settings = points(figure, scale)
    judge_values(figure, board, evidence, settings)
    for end, setting in settings.items():
        key = f"{figure}.curve.{end}"
        if key in board.published:
            board.value(key, advances(evidence[setting]))


def judge_values(prefix: str, board: Scoreboard, evidence: Evidence, settings: Mapping[str, Setting]) -> None:
    """Judges utilisations and latencies whose keys are ``prefix`` followed by the keys of ``settings``; for variants
    also the correlation of their order with the published one."""
    for end, setting in settings.items():
        for name in ("utilisation", *LATENCIES):
            key = f"{prefix}.{name}.{end}"
            if key in board.published:
                board.value(key, evidence[setting].of(name))
    if f"{prefix}.rank" in board.published:
        # scipy is slow to import, and most commands judge nothing.
        from scipy.stats import spearmanr  # noqa: PLC0415

        printed = [board.published[f"{prefix}.utilisation.{end}"].value for end in settings]
        ours = [evidence[setting].mean("utilisation") for setting in settings.values()]
        board.value(f"{prefix}.rank", [float(spearmanr(printed, ours).statistic)])


def advances(measured: Measurements) -> list[float | None]:
    """Kilobytes that a flow advances in the circuit's day, one value per run."""
    setting = measured.setting
    end = (setting.racks - 1) * (setting.day_us + setting.night_us)
    return [float(at[1] - at[0]) for at in _progress(measured, (end - setting.day_us, end))]


def _progress(measured: Measurements, times_us: Sequence[float]) -> Iterator[np.ndarray]:
    """The progress in kilobytes at the given times, run by run."""
    for run in sorted(measured.progress["run"].unique()):
        curve = measured.progress.filter(run=run).sort("time_us")
        yield np.interp(times_us, curve["time_us"], curve["kilobytes"])


def judge_switches(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Figure 2: CUBIC over a slow, a modern and a future switch."""
    if not scale.is_published:
        return
    settings = switches(scale)
    board.value("2.slow", shares_of_best(evidence[settings["slow"]]))
    used = {name: evidence[setting].mean("utilisation") for name, setting in settings.items()}
    best = {name: confidence.of_all(shares_of_best(evidence[setting])) for name, setting in settings.items()}
    note = "utilisation of the circuit in its day: " + ", ".join(
        f"{name} {share:.0f} %" for name, share in used.items()
    )
    note += "; of what both networks can carry in a week: "
    note += ", ".join(f"{name} {share.mean:.0f} %" for name, share in best.items() if share)
    board.shape("2.ramp", used["slow"] > 80 and used["modern"] < 60, note=note)


def shares_of_best(measured: Measurements) -> list[float | None]:
    """Progress of a flow by the end of a week, in percent of the optimum that the links allow, one value per run."""
    best = optimal(measured.setting)
    week = max(best)
    return [100 * float(at[0]) / best[week] for at in _progress(measured, (week,))]


def optimal(setting: Setting) -> Mapping[float, float]:
    """The optimal progress of a flow in kB by time in us, as in the study: each network at its full rate, with headers,
    shared by 16 flows, and nothing in the nights before and after the day."""
    week = (setting.racks - 1) * (setting.day_us + setting.night_us)
    packet, circuit = (rate / 8 / 16 for rate in (10_000 / 1000, 80_000 / 1000))
    night, dark = setting.night_us, week - setting.day_us - setting.night_us
    before = packet * (dark - night)
    return {0: 0.0, night: 0.0, dark: before, dark + night: before, week: before + circuit * setting.day_us}


def headline(scale: Scale) -> list[Setting]:
    """The settings of the headline claims."""
    found = [static(scale, variant, packets) for variant in ("cubic", "retcp") for packets in STATIC]
    found += [*(dynamic(scale, "cubic", tau) for tau in BEFORE_CUBIC), dynamic(scale, "retcp", 150)]
    return found + [setting for variant in VARIANTS for setting in of_variant(scale, variant)]


def judge_headline(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Judges the statements of the talk and the paper, and what must hold for any such network."""
    if not scale.is_published:
        return
    small, grown = evidence[static(scale, "cubic", scale.small)], evidence[dynamic(scale, "cubic", 1800)]
    retcp = evidence[dynamic(scale, "retcp", 150)]
    board.value("headline.utilisation.1800us", grown.of("utilisation"))
    board.value("headline.utilisation.retcp150us", retcp.of("utilisation"))
    board.value("headline.tail", [retcp.mean("p99_all") / small.mean("p50_all")])
    board.value("headline.tail_by_tail", [retcp.mean("p99_all") / small.mean("p99_all")])
    board.value("headline.gain", [retcp.mean("utilisation") / small.mean("utilisation")])
    both = [[evidence[setting].mean("utilisation") for setting in of_variant(scale, variant)] for variant in VARIANTS]
    board.value("headline.static_mean", confidence.interval([math.fsum(low for low, _ in both) / len(both)]))
    board.value("headline.dynamic_gain", confidence.interval([math.fsum(b - a for a, b in both) / len(both)]))
    _judge_words(board, evidence, scale)
    full = {packets: evidence[static(scale, "cubic", packets)] for packets in STATIC}
    largest = {packets: one.mean("max_packet") for packets, one in full.items()}
    expected = {packets: PACKET_TIME_US * packets + WITHOUT_QUEUE_US for packets in STATIC}
    note = ", ".join(f"C = {packets}: {largest[packets]:.0f}, expected {expected[packets]:.1f}" for packets in STATIC)
    board.shape("check.latency", all(abs(largest[c] - expected[c]) <= 2 for c in STATIC), note=note)
    most = max(one.mean("utilisation") for one in evidence.values())
    bound = 100 * 201 * (MTU - 52) * 8 / (180e-6 * 80e9)
    board.shape("check.day", most <= bound, most, note=f"at most {bound:.2f} %")


HIGH = 90.0
"""Utilisation in percent that counts as high: the one for which the talk sizes its buffers."""
FULL = 99.0
SHORT = 1.1
"""Ratio of latencies up to which a latency is low: at most this times that of a small VOQ."""
AFTER_US = 1000.0
"""After a day a VOQ takes this long at most to be as it was."""


def _judge_words(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Judges the talk's statements about both techniques and about large queues."""

    def of(setting: Setting, name: str) -> Interval:
        return confidence.interval(math.nan if one is None else one for one in evidence[setting].of(name))

    small, grown, retcp = (
        static(scale, "cubic", scale.small),
        dynamic(scale, "cubic", 1800),
        dynamic(scale, "retcp", 150),
    )
    used = {one: of(one, "utilisation") for one in (grown, retcp)}
    tails = {one: of(one, "p99_all") for one in (small, grown, retcp)}
    note = ", ".join(
        f"{name} {text(tails[one])} us"
        for name, one in (("VOQ of 16 packets", small), ("grown 1800 us before", grown), ("reTCP, 150 us", retcp))
    )
    costs = _above(tails[grown], tails[small])
    board.shape(
        "headline.dynamic", used[grown].mean >= HIGH and costs, tails[grown].mean / tails[small].mean,
        note=f"utilisation {text(used[grown])} %; 99th percentiles: {note}",
    )  # fmt: skip
    board.shape(
        "headline.mitigates", used[retcp].mean >= HIGH and _above(tails[grown], tails[retcp]),
        tails[retcp].mean / tails[grown].mean, note=f"utilisation {text(used[retcp])} %; 99th percentiles: {note}",
    )  # fmt: skip
    alone = {
        "reTCP": [static(scale, "retcp", packets) for packets in STATIC],
        "CUBIC": [dynamic(scale, "cubic", tau) for tau in BEFORE_CUBIC],
    }
    equal = {
        name: next((one for one in settings if of(one, "utilisation").mean >= used[retcp].mean), None)
        for name, settings in alone.items()
    }
    found = {name: (one, of(one, "utilisation"), of(one, "p99_all")) for name, one in equal.items() if one}
    listed = (
        f"{name} alone, {_lead(one)}, {text(share)} % and {text(tail)} us" for name, (one, share, tail) in found.items()
    )
    board.shape(
        "headline.together", all(_above(tail, tails[retcp]) for _, _, tail in found.values()),
        max((tails[retcp].mean / tail.mean for _, _, tail in found.values()), default=0.0),
        note=f"both {text(used[retcp])} % and {text(tails[retcp])} us; {', '.join(listed)}",
    )  # fmt: skip
    longer = max(of(retcp, name).mean / of(small, name).mean for name in ("p50_all", "p99_all"))
    board.shape("headline.short", longer <= SHORT, longer)
    _judge_buffers(board, evidence, scale)
    sizes = [static(scale, "cubic", packets) for packets in STATIC]
    shares = [of(one, "utilisation").mean for one in sizes]
    waits = {name: [of(one, name).mean for one in sizes] for name in ("p50_all", "p99_all")}
    fuller = all(b > a or a >= FULL for a, b in pairwise(shares))
    longer = all(b > a for values in waits.values() for a, b in pairwise(values))
    board.shape("headline.large", fuller and longer, waits["p99_all"][-1] / waits["p99_all"][0])


def _lead(setting: Setting) -> str:
    return f"VOQs of {setting.small} packets" if setting.tau_us is None else f"grown {setting.tau_us} us before"


def _judge_buffers(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """What waits in a VOQ that grows 1800 us before its day, and when it does."""
    used = {tau: evidence[dynamic(scale, "cubic", tau)].mean("utilisation") for tau in BEFORE_CUBIC}
    enough = next((float(tau) for tau, share in used.items() if share >= HIGH), None)
    board.value("headline.needs", [enough], note=", ".join(f"{tau} us: {share:.1f} %" for tau, share in used.items()))
    grown, small = evidence[dynamic(scale, "cubic", 1800)], evidence[static(scale, "cubic", scale.small)]
    if grown.occupancy.is_empty() or small.occupancy.is_empty():
        for key in ("headline.buffers", "headline.ramp"):
            board.not_evaluated(key, "the VOQ's curves of these runs were not kept")
        return
    setting = grown.setting
    day = (setting.racks - 1) * (setting.day_us + setting.night_us) - setting.day_us
    rooms = {"before": (AFTER_US, day - 1800), "in": (day - 1800, day)}
    mean = {
        name: [one.waiting.filter(pl.col("time_us").is_between(*room))["packets"].mean() for one in (grown, small)]
        for name, room in rooms.items()
    }
    runs = grown.occupancy.filter(pl.col("time_us") <= day).group_by("run").agg(pl.col("packets").max()).sort("run")
    board.value("headline.buffers", runs["packets"].to_list())
    before, within = (cast("float", a) - cast("float", b) for a, b in mean.values())
    board.shape(
        "headline.ramp", before <= 1 < within, before, note=f"from then to the day {within:.1f} packets more",
    )  # fmt: skip


def _above(one: Interval, other: Interval) -> bool:
    """Whether a mean is above another, with disjoint intervals if there are several runs."""
    return one.mean > other.mean and not one.overlaps(other)
