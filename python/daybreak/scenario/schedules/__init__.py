"""Ready schedules, one file each: a model of the parameters that makes timelines for a topology. Add new ones to the
list here."""

from typing import Annotated

from pydantic import Field

from .direct_turns import DirectTurns
from .ready import Traffic
from .rotor import Rotor
from .strobe import Strobe

REGISTRY = (Strobe, Rotor, DirectTurns)
"""Every schedule."""

Schedule = Annotated[Strobe | Rotor | DirectTurns, Field(discriminator="kind")]

__all__ = ["REGISTRY", "DirectTurns", "Rotor", "Schedule", "Strobe", "Traffic"]
