"""Explanations: where the time of each flow has gone. `metrics.explanation` defines the parts."""

from .explain import Explanation, explain

__all__ = ["Explanation", "explain"]
