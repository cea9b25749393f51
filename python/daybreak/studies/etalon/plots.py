"""The figures."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import polars as pl
from matplotlib.figure import Figure

from daybreak.figures import fct as bar_figures
from daybreak.figures.fct import Bar
from daybreak.figures.folded import FoldedCurves, folded
from daybreak.figures.sweeps import Line, Sweep, sweeps
from daybreak.metrics.confidence import interval
from daybreak.studies.etalon.claims import optimal, points
from daybreak.studies.etalon.measured import Evidence, Measurements
from daybreak.studies.etalon.settings import VARIANTS, Scale, Setting, delayed, dilation_pairs, switches, undilated
from daybreak.studies.published import PublishedValues

Figures = Mapping[str, Figure]

NAMES = {
    "bbr": "BBR", "bic": "BIC", "cdg": "CDG", "cubic": "CUBIC", "dctcp": "DCTCP", "highspeed": "HighSpeed",
    "htcp": "H-TCP", "hybla": "Hybla", "illinois": "Illinois", "lp": "LP", "nv": "NV", "reno": "Reno",
    "retcp": "reTCP", "scalable": "Scalable", "vegas": "Vegas", "veno": "Veno", "westwood": "Westwood", "yeah": "YeAH",
}  # fmt: skip
SHOWN = {"5": ("4p", "8p", "16p", "32p", "64p", "128p"), "6": ("0us", "600us", "1800us", "2400us"),
         "8": ("4p", "8p", "16p", "32p", "64p", "128p"), "9": ("0us", "50us", "150us", "250us")}  # fmt: skip
"""The settings whose curves a figure shows, as in the published one."""
EARLIER = "Grown before the day [us]"
LONG_NIGHT_US = 100
"""Nights shorter than this stay in the VOQ's curve, as in the published figures."""


def sweep(figure: str, evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Figures 5, 6, 8 and 9: curves; and utilisation, median and 99th percentile over what was varied."""
    settings = points(figure, scale)
    is_size = figure in "58"
    xlabel = "VOQ [packets]" if is_size else EARLIER
    shown = {end: evidence[settings[end]] for end in SHOWN[figure]}
    week = _week(next(iter(shown.values())).setting)
    start = week - 2600 if figure == "6" and week > 2700 else max(0, week - 700)
    return {
        f"figure{figure}-curves": _curves(figure, shown, scale, (start, week + 350)),
        f"figure{figure}": sweeps(
            panels(figure, settings, evidence, published if scale.is_published else {}, log=is_size), xlabel=xlabel
        ),
    }


def panels(
    prefix: str, settings: Mapping[str, Setting], evidence: Evidence, published: PublishedValues, *, log: bool = False
) -> list[Sweep]:
    """Utilisation, median and 99th percentile over what was varied; published values have keys that begin with
    ``prefix``."""
    return [
        Sweep(
            label,
            [
                Line(
                    "ours",
                    [(_number(end), interval(_known(evidence[one].of(name)))) for end, one in settings.items()],
                    _printed(published, f"{prefix}.{name}", settings),
                )
            ],
            log=log,
            top=105 if name == "utilisation" else None,
        )
        for name, label in (
            ("utilisation", "Circuit utilisation [%]"),
            ("p50_all", "Median of latency [us]"),
            ("p99_all", "99th percentile of\nlatency [us]"),
        )
    ]


def figure2(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """CUBIC over a slow, a modern and a future switch: one figure each, since their weeks differ in length."""
    return {
        f"figure2-{name}": _curves(
            "2" if name == "modern" else "", {"cubic": evidence[setting]}, scale, (0, 1.06 * _week(setting)), height=3.0
        )
        for name, setting in switches(scale).items()
    }


def variants(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Figures 4 and 7: bars of all variants, with VOQs that keep their size and with ones that grow."""
    bars = [
        Bar.of(NAMES[variant], series, evidence[setting].of("utilisation"), value(published, key) if known else None)
        for variant in VARIANTS
        for series, figure in (("static", "4"), ("dynamic", "7"))
        for setting, key in [(points(figure, scale)[variant], f"{figure}.utilisation.{variant}")]
        if setting in evidence
        for known in [scale.is_published]
    ]
    labels = {
        "static": f"VOQ of {scale.small} packets",
        "dynamic": f"{scale.large} packets from 1200 us before the day",
    }
    return {"variants": tilted(bar_figures.bars(bars, ylabel="Circuit utilisation [%]", labels=labels, height=3.2))}


def delays(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Medians of latency over the hosts' delay, with the published ones at the delay that the study has."""
    known = published if scale.is_published else {}
    panels: list[Sweep] = []
    for key, settings in delayed(scale).items():
        lines = []
        for name, words in (("p50_packet", "packet network"), ("p50_circuit", "circuit")):
            printed = value(known, key.format(name))
            points = [(delay / 1000, interval(_known(evidence[one].of(name)))) for delay, one in settings.items()]
            lines.append(Line(words, points, [] if printed is None else [(scale.delay_ns / 1000, printed)]))
        setting = next(iter(settings.values()))
        grown = f"\ngrown {setting.tau_us} us before" if setting.tau_us else f"\nVOQ of {setting.small} packets"
        panels.append(Sweep("" if panels else "Median of latency [us]", lines, title=NAMES[setting.variant] + grown))
    return {"delays": sweeps(panels, xlabel="Hosts' delay [us]")}


def dilation(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """The points with the emulator's dilated clocks and with undilated clocks."""
    drawn: dict[str, Figure] = {}
    sizes = {figure: points(figure, scale) for figure in ("5", "6", "9")}
    for figure, settings in sizes.items():
        known = {end: one for end, one in settings.items() if one in dilation_pairs(scale)}
        lines = [
            Line(
                name,
                [(_number(end), interval(_known(evidence[of(one)].of("utilisation")))) for end, one in known.items()],
            )
            for name, of in (
                (f"hosts' clocks {scale.dilation} times as fast", lambda one: one),
                ("clocks that agree", undilated),
            )
        ]
        tails = [
            Line(
                name, [(_number(end), interval(_known(evidence[of(one)].of("p99_all")))) for end, one in known.items()]
            )
            for name, of in (
                (f"hosts' clocks {scale.dilation} times as fast", lambda one: one),
                ("clocks that agree", undilated),
            )
        ]
        panels = [
            Sweep("Circuit utilisation [%]", lines, log=figure == "5", top=105),
            Sweep("99th percentile of\nlatency [us]", tails, log=figure == "5"),
        ]
        xlabel = "VOQ [packets]" if figure == "5" else EARLIER
        drawn[f"dilation-{figure}"] = sweeps(panels, xlabel=xlabel)
    bars = [
        Bar.of(NAMES[variant], series, evidence[of(setting)].of("utilisation"))
        for variant, setting in points("7", scale).items()
        for series, of in (("emulated", lambda one: one), ("honest", undilated))
        if of(setting) in evidence
    ]
    labels = {"emulated": f"hosts' clocks {scale.dilation} times as fast", "honest": "clocks that agree"}
    bars_figure = bar_figures.bars(bars, ylabel="Circuit utilisation [%]", labels=labels, height=3.2)
    return drawn | {"dilation-variants": tilted(bars_figure)}


def _curves(
    figure: str, shown: Mapping[str, Measurements], scale: Scale, window: tuple[float, float], height: float = 4.4
) -> Figure:
    printed = _printed_curves() if scale.is_published else {}
    setting = next(iter(shown.values())).setting
    week = _week(setting)
    curves = {
        _name(end): FoldedCurves(
            one.curve, _seen(one), printed.get((figure, end, "kilobytes")), printed.get((figure, end, "packets"))
        )
        for end, one in shown.items()
    }
    best = optimal(setting)
    rounds = [(at + k * week, y + k * best[week]) for k in (0, 1) for at, y in best.items()]
    rate = 10 / 8 / 16
    bounds = {
        "optimal": pl.DataFrame(rounds, schema=["time_us", "kilobytes"], orient="row"),
        "packet network only": pl.DataFrame({"time_us": [0.0, 2.0 * week], "kilobytes": [0.0, 2 * rate * week]}),
    }
    days = [(week - setting.day_us, week)]
    return folded(curves, window_us=window, days_us=days, bounds=bounds, height=height)


def _seen(measured: Measurements) -> pl.DataFrame:
    """Occupancy of the VOQ without long nights: it is sampled when packets leave, and none does then."""
    setting = measured.setting
    if setting.night_us < LONG_NIGHT_US:
        return measured.waiting
    day = _week(setting) - setting.day_us
    is_night = pl.col("time_us").is_between(day - setting.night_us, day, closed="none")
    return measured.waiting.with_columns(packets=pl.when(~is_night).then("packets"))


@cache
def _printed_curves() -> dict[tuple[str, str, str], pl.DataFrame]:
    """The published curves by figure, series and quantity."""
    found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    with files(__package__).joinpath("curves.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["figure"], row["series"], row["quantity"])
            found.setdefault(key, []).append((float(row["x_us"]), float(row["y"])))
    return {key: pl.DataFrame(rows, schema=["time_us", key[2]], orient="row") for key, rows in found.items()}


def _printed(published: PublishedValues, key: str, settings: Mapping[str, Setting]) -> list[tuple[float, float]]:
    found = [(_number(end), value(published, f"{key}.{end}")) for end in settings]
    return [(at, printed) for at, printed in found if printed is not None]


def value(published: PublishedValues, key: str) -> float | None:
    """The published number, if there is one."""
    return published[key].value if key in published else None


def _week(setting: Setting) -> int:
    return (setting.racks - 1) * (setting.day_us + setting.night_us)


def _number(end: str) -> float:
    return float(end.removesuffix("us").removesuffix("p"))


def _name(end: str) -> str:
    if end.endswith("us"):
        return f"grown {end[:-2]} us before"
    return f"{end[:-1]} packets" if end.endswith("p") else NAMES[end]


def _known(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def tilted(figure: Figure) -> Figure:
    """The figure with tilted labels on the x axis, which do not overlap."""
    for axes in figure.axes:
        axes.tick_params(axis="x", labelrotation=45)
    return figure
