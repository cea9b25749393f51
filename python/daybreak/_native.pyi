"""The engine of Daybreak, its registries and its random streams."""

class Stream:
    """One component's own sequence of random numbers, named by the run's seed and the component's path."""

    def __new__(cls, seed: int, path: str) -> Stream: ...
    def next_u64(self) -> int:
        """A number uniform over 0 to 2^64 - 1."""
    def below(self, bound: int) -> int:
        """A number uniform in `range(bound)`, without bias."""
    def unit(self) -> float:
        """A number uniform in [0, 1), with 53 random bits."""

def variants() -> list[tuple[str, str]]:
    """Every TCP variant: its name and a line about it."""

def queues() -> list[tuple[str, str]]:
    """Every queue discipline: its name and a line about it."""

def check_plan(plan: str) -> None:
    """Raises PlanError unless the engine understands every word of the plan."""
