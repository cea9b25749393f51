"""Sweeps: many runs whose results are kept, found again and never made twice.

A `Job` is one run of a scenario. A `Reduction` says what is kept of it, a `Store` keeps that under a name made of
everything that it depends on, and `execute` makes what the store lacks, with an `Executor`: threads here (`Local`), or
processes on other machines.
"""

from .execute import Report, execute
from .executor import Ended, Executor, Local
from .folder import claim
from .job import Job, Kept, Reduction, Tables, Task
from .store import Store

__all__ = [
    "Ended", "Executor", "Job", "Kept", "Local", "Reduction", "Report", "Store", "Tables", "Task", "claim", "execute",
]  # fmt: skip
