"""Explanations: where the time of each flow went. `metrics.explanation` defines the parts."""

from .explain import Explanation, explain

__all__ = ["Explanation", "explain"]
