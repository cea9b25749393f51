"""Compares the results of two engines on one scenario: one row per metric, with a verdict.

Metrics of a group of flows: FCT (mean of the flows), share of all bytes delivered until the first flow was complete,
goodput and window over time. Metrics of the scenario: retransmissions, timeouts, queue over time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from daybreak.metrics import confidence, equivalence
from daybreak.metrics.confidence import Interval
from daybreak.metrics.equivalence import Judgement

from . import scenarios
from .observed import Observation, grouped
from .suite import Case
from .tolerances import Tolerances

PASS, MISS, NOT_EVALUATED = "pass", "miss", "not-evaluated"
CURVES = ("goodput", "window", "queue")
METRICS = ("completed", "fct", "share", "retransmissions", "timeouts", *CURVES)
"""Every metric, in the order of the page."""


@dataclass(frozen=True)
class Row:
    """One metric of one scenario on both engines."""

    scenario: str
    metric: str
    of: str
    """Group of flows, empty for the whole scenario."""
    unit: str
    kernel: Interval
    model: Interval
    difference: float
    """Model minus kernel in the unit; for curves the area between them over their length, which has no sign."""
    relative: float
    """The difference over the kernel's mean; NaN where that is zero."""
    verdict: str
    note: str = ""
    permutation_p: float = math.nan
    """p-value of "the engines do not differ", over pairs of runs with the same seed; NaN for curves."""
    equivalence_p: float = math.nan
    """p-value of "the mean difference is beyond the tolerance"; NaN for curves."""
    judgement: Judgement | None = None
    """The verdict of both tests, with the false discovery rate controlled over the suite; `None` for curves."""

    @property
    def within_noise(self) -> bool:
        """Whether the confidence intervals overlap, so that more runs could still change the verdict."""
        return self.kernel.overlaps(self.model)


Values = dict[str, list[float]]


def judged(rows: Sequence[Row]) -> list[Row]:
    """The rows of a suite with their judgements: all tests together decide which differences are discoveries."""
    different = equivalence.rejected([row.permutation_p for row in rows])
    return [
        row if row.metric in CURVES else replace(row, judgement=equivalence.judge(is_different, row.equivalence_p))
        for row, is_different in zip(rows, different, strict=True)
    ]


def compare(
    case: Case, kernel: Sequence[Observation], model: Sequence[Observation], tolerances: Tolerances
) -> list[Row]:
    """All rows of a scenario. ``kernel`` and ``model`` are the runs of the same seeds."""
    judge = _Judge(case, tolerances)
    rows = [judge.means("completed", "", "flows", *(_completed(runs) for runs in (kernel, model)))]
    for group in dict.fromkeys(scenarios.groups(case)):
        rows.append(judge.means("fct", group, "ms", *(_completion_ms(runs, group) for runs in (kernel, model))))
    if len(case.variants()) > 1:
        theirs, ours = (_shares(runs) for runs in (kernel, model))
        # With two groups one share determines the other.
        of = [group for group in theirs if group != list(theirs)[-1]] or list(theirs)
        rows += [judge.means("share", group, "%", theirs[group], ours.get(group, [])) for group in of]
    for metric, column, unit in (("retransmissions", "retransmits", "segments"), ("timeouts", "rtos", "timeouts")):
        rows.append(judge.means(metric, "", unit, *(_sums(runs, column) for runs in (kernel, model))))
    seconds = scenarios.bin_width(case).seconds
    for metric, curve, unit, scale in (
        ("goodput", "delivered", "Gb/s", 8e-9 / seconds),
        ("window", "in_flight", "kB", 1e-3),
        ("queue", "queue", "packets", 1.0),
    ):
        kernels, models = grouped(kernel, curve), grouped(model, curve)
        for group in sorted({*kernels, *models}):
            rows.append(
                judge.curves(metric, group, unit, scale, kernel=kernels.get(group, []), model=models.get(group, []))
            )
    return rows


@dataclass(frozen=True)
class _Judge:
    case: Case
    tolerances: Tolerances

    def means(self, metric: str, of: str, unit: str, kernel: Sequence[float], model: Sequence[float]) -> Row:
        """A row from one number per run."""
        theirs, ours = confidence.interval(kernel), confidence.interval(model)
        difference = ours.mean - theirs.mean
        if math.isnan(theirs.mean) and math.isnan(ours.mean):
            return self._row(
                metric, of, unit, (theirs, ours), difference, verdict=NOT_EVALUATED, note="no value on either engine"
            )
        tolerance = self.tolerances.metric[metric]
        verdict = PASS if tolerance.holds(difference, theirs.mean) else MISS
        note = "a flow did not end on one of the engines" if math.isnan(difference) else ""
        row = self._row(metric, of, unit, (theirs, ours), difference, verdict=verdict, note=note)
        # A group may be missing in the runs of one engine.
        is_paired = len(model) == len(kernel)
        pairs = [mine - other for mine, other in zip(model, kernel, strict=True)] if is_paired else []
        return replace(
            row,
            permutation_p=equivalence.permutation_p(pairs),
            equivalence_p=equivalence.equivalence_p(pairs, tolerance.margin(theirs.mean)),
        )

    def curves(
        self, metric: str, of: str, unit: str, scale: float, *,
        kernel: list[dict[int, float]], model: list[dict[int, float]],
    ) -> Row:  # fmt: skip
        """A row from one curve per run: the area between the mean curves over their length."""
        slots = sorted({slot for run in (*kernel, *model) for slot in run})
        theirs, ours = ([_mean(run, slots) * scale for run in runs] for runs in (kernel, model))
        between = [abs(_at(model, slot) - _at(kernel, slot)) for slot in slots]
        area = math.fsum(between) / len(slots) * scale if slots else math.nan
        means = confidence.interval(theirs), confidence.interval(ours)
        if not kernel or not model:
            return self._row(
                metric, of, unit, means, math.nan, verdict=NOT_EVALUATED, note="no samples on one of the engines"
            )
        limit = self.case.queue_packets() * len(scenarios.bottlenecks(self.case)) / 100
        judged = area / limit if metric == "queue" else area
        verdict = PASS if self.tolerances.metric[metric].holds(judged, means[0].mean) else MISS
        return self._row(metric, of, unit, means, area, verdict=verdict)

    def _row(
        self, metric: str, of: str, unit: str, means: tuple[Interval, Interval], difference: float, *,
        verdict: str, note: str = "",
    ) -> Row:  # fmt: skip
        kernel, model = means
        relative = difference / kernel.mean if kernel.mean else math.nan
        return Row(self.case.name, metric, of, unit, kernel, model, difference, relative, verdict, note)


def _completed(runs: Sequence[Observation]) -> list[float]:
    """Number of complete flows of limited size in each run."""
    complete = pl.col("end_ns").is_not_null() & (pl.col("group") != scenarios.REVERSE)
    return [float(run.flows.filter(complete).height) for run in runs]


def _completion_ms(runs: Sequence[Observation], group: str) -> list[float]:
    """Mean FCT of the group's flows in each run; NaN if one of them did not end."""
    found: list[float] = []
    for run in runs:
        times = [row["fct_ns"] for row in run.flows.iter_rows(named=True) if row["group"] == group]
        found.append(math.nan if None in times else math.fsum(times) / len(times) / 1e6)
    return found


def _shares(runs: Sequence[Observation]) -> Values:
    """Percent of the bytes delivered until the first flow was complete: by each group, or by the luckiest flow."""
    found: Values = {}
    for run in runs:
        flows = list(run.flows.iter_rows(named=True))
        groups = list(dict.fromkeys(flow["group"] for flow in flows))
        name_of = {flow["flow_name"]: flow["group"] if len(groups) > 1 else flow["flow_name"] for flow in flows}
        amounts = dict.fromkeys(name_of.values(), 0.0)
        for name, value in _until_first_end(run):
            amounts[name_of[name]] += value
        total = math.fsum(amounts.values())
        parts = {name: 100 * amount / total if total else math.nan for name, amount in amounts.items()}
        if len(groups) == 1:
            parts = {"largest": max(parts.values())}
        for name, part in parts.items():
            found.setdefault(name, []).append(part)
    return found


def _until_first_end(run: Observation) -> list[tuple[str, float]]:
    """Bytes that each flow delivered in each bin up to that in which the first flow delivered its last byte."""
    rows = [(of, slot, value) for curve, of, slot, value in run.curves.iter_rows() if curve == "delivered"]
    sizes = dict(run.flows.select("flow_name", "bytes").iter_rows())
    got, end = dict.fromkeys(sizes, 0.0), math.inf
    for of, slot, value in sorted(rows, key=lambda row: row[1]):
        got[of] += value
        if sizes[of] is not None and got[of] >= sizes[of]:
            end = min(end, slot)
    return [(of, value) for of, slot, value in rows if slot <= end]


def _sums(runs: Sequence[Observation], column: str) -> list[float]:
    return [float(run.flows[column].sum()) for run in runs]


def _mean(run: dict[int, float], slots: Sequence[int]) -> float:
    return math.fsum(run.get(slot, 0.0) for slot in slots) / len(slots) if slots else math.nan


def _at(runs: Sequence[dict[int, float]], slot: int) -> float:
    return math.fsum(run.get(slot, 0.0) for run in runs) / len(runs) if runs else 0.0
