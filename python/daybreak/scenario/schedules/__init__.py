"""Ready schedules, one file each: a model of the parameters that makes timelines for a topology. Add new ones to the
union here."""

from typing import Annotated

from pydantic import Field

from ..model import members
from .direct_turns import DirectTurns
from .ready import ReadySchedule
from .rotor import Rotor
from .strobe import Strobe

Schedule = Annotated[Strobe | Rotor | DirectTurns, Field(discriminator="kind")]
REGISTRY: tuple[type[ReadySchedule], ...] = members(Schedule)
"""Every schedule."""
