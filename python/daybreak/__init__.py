"""Daybreak: a laboratory for TCP on networks whose paths change under running connections.

import daybreak
scenario = daybreak.load("scenarios/01-one-flow.toml")
run = daybreak.run(scenario, engine="simulated", seed=1)
print(run.flows)
run.plot().show()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engines import run, run_many
    from .plots import as_html, plot
    from .runs import Run, read, read_all
    from .scenario import Scenario, load, save
    from .sweeps import compare, sweep, vary

# Imported when they are first used: the command line should answer at once, and a benchmark measure only the engine.
_HOMES = {
    "Run": "runs", "Scenario": "scenario", "as_html": "plots", "compare": "sweeps",
    "load": "scenario", "plot": "plots", "read": "runs", "read_all": "runs", "run": "engines", "run_many": "engines",
    "save": "scenario", "sweep": "sweeps", "vary": "sweeps",
}  # fmt: skip

__all__ = [
    "Run", "Scenario", "as_html", "compare", "load", "plot", "read", "read_all", "run", "run_many", "save",
    "sweep", "vary",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"daybreak.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'daybreak' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
