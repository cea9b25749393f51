"""Figures: functions from metrics to matplotlib figures, one file a family. Nothing is shown or read here.

Figures need no display, and are saved by `style.save` or written by `style.rendered`.
"""

from daybreak.figures import curves, fct, folded, shading, stacked, style, sweeps, throughput, window

__all__ = ["curves", "fct", "folded", "shading", "stacked", "style", "sweeps", "throughput", "window"]
