"""Workloads: sizes of flows, arrival processes, and host pairs. Each registry is one file of models; add new models to
their list here."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ..model import Model
from .pairs import AllToAll, FanOut, Incast, OnePair, PairList, Permutation, RandomPairs, TrafficMatrix
from .processes import AllAtOnce, Every, Poisson, Trace
from .rows import FromRows
from .sizes import (
    BoundedPareto,
    ChoiceOfSizes,
    DataMining,
    EmpiricalSizes,
    ExponentialSizes,
    FixedSizes,
    Hadoop,
    LognormalSizes,
    UniformSizes,
    WebSearch,
)

SIZES = (
    FixedSizes, ChoiceOfSizes, UniformSizes, ExponentialSizes, LognormalSizes, BoundedPareto, EmpiricalSizes, WebSearch,
    DataMining, Hadoop,
)  # fmt: skip
"""Every distribution of sizes."""
PROCESSES = (Every, Poisson, AllAtOnce, Trace)
"""Every arrival process."""
PAIRS = (OnePair, PairList, AllToAll, Permutation, RandomPairs, Incast, FanOut, TrafficMatrix)
"""Every choice of host pairs."""
_REGISTRIES: dict[str, tuple[type[Model], ...]] = {"sizes": SIZES, "process": PROCESSES, "pairs": PAIRS}
FILED: dict[tuple[str, Any], type[FromRows]] = {
    (key, model.model_fields["kind"].default): model
    for key, models in _REGISTRIES.items()
    for model in models
    if issubclass(model, FromRows)
}
"""Models whose tables may be files, by the key of the generator and their kind."""


def _choice_if_not_said(value: Any) -> Any:
    return {"kind": ChoiceOfSizes.model_fields["kind"].default} | value if isinstance(value, dict) else value


Sizes = Annotated[
    FixedSizes
    | ChoiceOfSizes
    | UniformSizes
    | ExponentialSizes
    | LognormalSizes
    | BoundedPareto
    | EmpiricalSizes
    | WebSearch
    | DataMining
    | Hadoop,
    Field(discriminator="kind"),
    BeforeValidator(_choice_if_not_said),
]
Process = Annotated[Every | Poisson | AllAtOnce | Trace, Field(discriminator="kind")]
Pairs = Annotated[
    OnePair | PairList | AllToAll | Permutation | RandomPairs | Incast | FanOut | TrafficMatrix,
    Field(discriminator="kind"),
]

__all__ = [
    "FILED", "PAIRS", "PROCESSES", "SIZES", "AllAtOnce", "AllToAll", "BoundedPareto", "ChoiceOfSizes", "DataMining",
    "EmpiricalSizes", "Every", "ExponentialSizes", "FanOut", "FixedSizes", "Hadoop", "Incast", "LognormalSizes",
    "OnePair", "PairList", "Pairs", "Permutation", "Poisson", "Process", "RandomPairs", "Sizes", "Trace",
    "TrafficMatrix", "UniformSizes", "WebSearch",
]  # fmt: skip
