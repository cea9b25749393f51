"""Ready schedules. Each is one file: a model of its parameters that makes timelines for a topology; add it to the list
here."""

from .strobe import Strobe

REGISTRY = (Strobe,)
"""Every schedule."""

Schedule = Strobe

__all__ = ["REGISTRY", "Schedule", "Strobe"]
