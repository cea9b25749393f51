"""Daybreak: a laboratory for TCP on networks whose paths change under running connections.

import daybreak
scenario = daybreak.load("scenarios/01-one-flow.toml")
run = daybreak.run(scenario, engine="simulated", seed=1)
print(run.flows)
"""

from .engines import run, run_many
from .runs import Run
from .scenario import Scenario, load, save

__all__ = ["Run", "Scenario", "load", "run", "run_many", "save"]
