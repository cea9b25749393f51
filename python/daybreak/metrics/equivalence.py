"""Whether two systems that ran the same seeds differ, are equivalent within a margin, or are not yet distinguishable.

A pair is the two values of one seed. If the systems behave alike, the sign of each pair's difference is chance: a
permutation test that flips signs (Fisher, "The Design of Experiments", 1935, section 21). They are equivalent where
two one-sided t tests reject that the mean difference is beyond the margin (Schuirmann, J. Pharmacokinetics and
Biopharmaceutics 15, 1987). False discoveries among many tests are held by Benjamini and Hochberg (J. Royal
Statistical Society B 57, 1995).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

Judgement = Literal["equivalent", "different", "undecided"]

LEVEL = 0.05
"""Level of every test, and the rate of false discoveries."""
_EXACT = 14
_DRAWN = 20_000


def permutation_p(differences: Sequence[float]) -> float:
    """The p-value of "no difference" over the pairs' differences, two-sided; NaN without any.

    Uses all 2^n choices of signs up to n = 14, beyond that 20,000 drawn from a fixed seed.
    """
    values = np.asarray(differences, dtype=float)
    count = len(values)
    if count == 0 or np.isnan(values).any():
        return math.nan
    if count <= _EXACT:
        bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
        sums = (1 - 2 * bits) @ values
        found = np.abs(sums) >= abs(values.sum()) * (1 - 1e-12)
        return float(found.mean())
    signs = np.random.default_rng(1).choice((-1.0, 1.0), size=(_DRAWN, count))
    found = np.abs(signs @ values) >= abs(values.sum()) * (1 - 1e-12)
    return float((found.sum() + 1) / (_DRAWN + 1))


def equivalence_p(differences: Sequence[float], margin: float) -> float:
    """The p-value of "the mean difference is at least `margin`", by two one-sided t tests; NaN for fewer than two."""
    values = np.asarray(differences, dtype=float)
    count = len(values)
    if count < 2 or np.isnan(values).any():
        return math.nan
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(count)
    if error == 0.0:
        return 0.0 if abs(mean) < margin else 1.0
    # scipy is slow to import, and most commands need no test.
    from scipy import special  # noqa: PLC0415

    return float(1.0 - special.stdtr(count - 1, (margin - abs(mean)) / error))


def rejected(p_values: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Which hypotheses are rejected, with an expected share of false rejections of at most `level`.

    NaN is never rejected, and does not count.
    """
    known = sorted(p for p in p_values if not math.isnan(p))
    limit = max((p for rank, p in enumerate(known, start=1) if p <= level * rank / len(known)), default=-1.0)
    return [not math.isnan(p) and p <= limit for p in p_values]


def judge(different: bool, equivalence: float, level: float = LEVEL) -> Judgement:
    """The verdict on one pair: a difference within the margin counts as none, even if it is significant."""
    if not math.isnan(equivalence) and equivalence <= level:
        return "equivalent"
    return "different" if different else "undecided"
