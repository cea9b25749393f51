#!/usr/bin/env python3
"""Explains every scenario of the agreement suite on the simulator, and shows how far the parts are from the FCTs.

    python tools/explanations.py [PATTERN]        (such as 'migration*'; takes about ten minutes for all)

Ends with 1 if the parts of any flow are more than 1 ns from its completion time.
"""

import sys
from collections import Counter
from fnmatch import fnmatchcase

from daybreak.agreement import scenarios, suite
from daybreak.errors import ScenarioError
from daybreak.explain import explain
from daybreak.metrics.explanation import COLUMNS

ALLOWED_NS = 1


def main(pattern: str = "*") -> int:
    """Explains the cases whose name fits; returns the exit code."""
    flows, refused, explained, furthest = 0, Counter[str](), 0, 0
    for case in suite.load():
        if not fnmatchcase(case.name, pattern):
            continue
        try:
            found = explain(scenarios.scenario(case)).flows
        except ScenarioError as error:
            refused[str(error)] += 1
            continue
        explained, flows = explained + 1, flows + found.height
        off = (found["fct_ns"].cast(int) - found.select(COLUMNS).sum_horizontal().cast(int)).abs().max() or 0
        furthest = max(furthest, off)
        if off > ALLOWED_NS:
            print(f"{case.name}: the parts of a flow are {off} ns from its completion time")
    print(
        f"{explained} scenarios explained, {flows} flows: the parts are at most {furthest} ns from the completion time"
    )
    for sentence, count in refused.items():
        print(f"{count} refused: {sentence}")
    return int(furthest > ALLOWED_NS or not explained)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
