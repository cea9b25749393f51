"""The run with 8 racks, two days before the published one: with another week and other VOQs, but the same model."""

from __future__ import annotations

from daybreak.figures import fct as bar_figures
from daybreak.figures.fct import Bar
from daybreak.figures.sweeps import sweeps
from daybreak.studies.etalon import claims, plots
from daybreak.studies.etalon.measured import Evidence
from daybreak.studies.etalon.settings import (
    BEFORE_EIGHT,
    BEFORE_VARIANTS_EIGHT,
    VARIANTS,
    Scale,
    Setting,
    dynamic,
    eight_racks,
)
from daybreak.studies.published import PublishedValues
from daybreak.studies.scoreboard import Scoreboard

KEY = "8racks"


def points(scale: Scale) -> dict[str, dict[str, Setting]]:
    """The settings by figure, and by the suffixes of the claims' ids; ``7at500us`` are the variants at 500 us."""
    scale = eight_racks(scale)
    found = {figure: claims.points(figure, scale) for figure in ("4", "5", "8")}
    found["6"] = {f"{tau}us": dynamic(scale, "cubic", tau) for tau in BEFORE_EIGHT}
    found["9"] = {f"{tau}us": dynamic(scale, "retcp", tau) for tau in BEFORE_EIGHT}
    for tau in BEFORE_VARIANTS_EIGHT:
        found[f"7at{tau}us"] = {variant: dynamic(scale, variant, tau) for variant in VARIANTS}
    return found


def settings(scale: Scale) -> list[Setting]:
    """All settings of the run."""
    return list(dict.fromkeys(setting for figure in points(scale).values() for setting in figure.values()))


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Every utilisation and latency of the run."""
    if not scale.is_published:
        return
    for figure, chosen in points(scale).items():
        claims.judge_values(f"{KEY}.{figure}", board, evidence, chosen)


def draw(evidence: Evidence, scale: Scale, published: PublishedValues) -> plots.Figures:
    """CUBIC and reTCP over the time at which VOQs grow, and the variants at all times that the run has."""
    known = published if scale.is_published else {}
    chosen = points(scale)
    drawn = {
        f"{KEY}-{variant}": sweeps(
            plots.panels(f"{KEY}.{figure}", chosen[figure], evidence, known), xlabel=plots.EARLIER
        )
        for figure, variant in (("6", "cubic"), ("9", "retcp"))
    }
    labels = {"4": "VOQ of 16 packets"} | {f"7at{tau}us": f"grown {tau} us before" for tau in BEFORE_VARIANTS_EIGHT}
    for name, shown in (("variants", ("4", "7at500us")), ("variants-others", ("7at0us", "7at1000us", "7at1200us"))):
        bars = [
            Bar.of(plots.NAMES[variant], series, evidence[setting].of("utilisation"), plots.value(known, key))
            for variant in VARIANTS
            for series in shown
            for setting, key in [(chosen[series][variant], f"{KEY}.{series}.utilisation.{variant}")]
        ]
        image = bar_figures.bars(bars, ylabel="Circuit utilisation [%]", labels=labels, height=3.2)
        drawn[f"{KEY}-{name}"] = plots.tilted(image)
    return drawn
