"""Sweeps: many runs whose results are kept, found again and never made twice.

A `Job` is one run of a scenario. A `Reduction` says what is kept of it, a `Store` keeps that under a name made of
everything that it depends on, and `execute` makes what the store lacks, with an `Executor`: threads here (`Local`), or
processes on other machines (`Dask`). `sweep` does all of it for a grid, and leaves one dataset; `compare` puts two
scenarios side by side.
"""

from .cluster import Dask
from .comparison import compare
from .execute import Report, execute
from .executor import Ended, Executor, Local
from .folder import claim
from .grid import Grid, Points, read, vary
from .job import Job, Kept, Reduction, Tables, Task
from .results import AxisOf, Results, is_sweep, read_results
from .run import Outcome, sweep
from .store import Store

__all__ = [
    "AxisOf", "Dask", "Ended", "Executor", "Grid", "Job", "Kept", "Local", "Outcome", "Points", "Reduction", "Report",
    "Results", "Store", "Tables", "Task", "claim", "compare", "execute", "is_sweep", "read", "read_results", "sweep",
    "vary",
]  # fmt: skip
