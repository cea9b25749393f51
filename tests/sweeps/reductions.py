"""What the tests keep of a run; functions of a module, so that other processes find them."""

from daybreak.sweeps import Reduction


def flows(run):
    return {"flows": run.flows}


def broken(run):
    if run.seed == 3:
        raise ValueError("seed 3 is not liked")
    return flows(run)


FLOWS = Reduction("test", 1, flows)
BROKEN = Reduction("test", 1, broken)
