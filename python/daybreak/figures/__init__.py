"""Figures: functions from metrics to matplotlib figures, one file a family. Nothing is shown or read here.

Figures are drawn without a display (the Agg canvas) and saved by `style.save`.
"""

import matplotlib

matplotlib.use("Agg")

from daybreak.figures import curves, fct, folded, shading, style, sweeps, throughput, window

__all__ = ["curves", "fct", "folded", "shading", "style", "sweeps", "throughput", "window"]
