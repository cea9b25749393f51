"""Workloads: sizes of flows, arrival processes, and host pairs. Each is a file of models that ends with their union."""

from typing import Any

from ..model import Model, members
from .pairs import Pairs
from .processes import Process
from .rows import FromRows
from .sizes import Sizes

SIZES: tuple[type[Model], ...] = members(Sizes)
"""Every distribution of sizes."""
PROCESSES: tuple[type[Model], ...] = members(Process)
"""Every arrival process."""
PAIRS: tuple[type[Model], ...] = members(Pairs)
"""Every choice of host pairs."""
_REGISTRIES = {"sizes": SIZES, "process": PROCESSES, "pairs": PAIRS}
FILED: dict[tuple[str, Any], type[FromRows]] = {
    (key, model.model_fields["kind"].default): model
    for key, models in _REGISTRIES.items()
    for model in models
    if issubclass(model, FromRows)
}
"""Models whose tables may be files, by the key of the generator and their kind."""
