"""Figures: functions from metrics to matplotlib figures, one file per family. Nothing is shown or read here.

Figures need no display, and are saved by `style.save` or written by `style.rendered`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daybreak.figures import curves, fct, folded, shading, stacked, style, sweeps, throughput, window

__all__ = ["curves", "fct", "folded", "shading", "stacked", "style", "sweeps", "throughput", "window"]


# Imported on first use: most import matplotlib, which is slow and which `units` does not need.
def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"daybreak.figures.{name}")
    raise AttributeError(f"module 'daybreak.figures' has no attribute {name!r}")
