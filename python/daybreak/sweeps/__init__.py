"""Sweeps: many runs whose results are stored, found again and never computed twice.

A `Job` is one run of a scenario. A `Reduction` selects what is stored of it, a `Store` keeps that under a name derived
from everything it depends on, and `execute` runs the jobs that the store lacks with an `Executor`: local threads
(`Local`), or processes on other machines (`Dask`). `sweep` does all of this for a grid and writes one dataset;
`compare` compares two scenarios.
"""

from .cluster import Dask
from .comparison import compare
from .execute import Report, execute
from .executor import Ended, Executor, Local
from .folder import claim
from .grid import Grid, Points, read, vary
from .job import Job, Reduction, StoredRun, Tables, Task
from .results import AxisOf, Results, is_sweep, read_results
from .run import Outcome, sweep
from .store import Store

__all__ = [
    "AxisOf", "Dask", "Ended", "Executor", "Grid", "Job", "Local", "Outcome", "Points", "Reduction", "Report",
    "Results", "Store", "StoredRun", "Tables", "Task", "claim", "compare", "execute", "is_sweep", "read",
    "read_results", "sweep", "vary",
]  # fmt: skip
