"""The result of a comparison as a document: agreement.json, from which the page and the tables are made."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from daybreak.errors import OutputError, reason
from daybreak.metrics.confidence import Interval

from .causes import Cause, cause_of
from .compare import METRICS, MISS, NOT_EVALUATED, PASS, Row
from .suite import Case
from .tolerances import Target, Tolerances

KERNELS = "kernels.json"
RESULTS = ("agreement.json", "segments.json", "receivers.json", KERNELS)
"""The files that identify a folder of results."""
WORST = 10
"""Number of rows that are listed with their cause."""

Document = dict[str, Any]


def document(
    rows: Sequence[Row], cases: Sequence[Case], *, runs: tuple[int, int], programs: Mapping[str, str],
    tolerances: Tolerances, causes: Sequence[Cause], refused: Mapping[str, str],
    engines: tuple[str, str] = ("kernel", "simulated"),
) -> Document:  # fmt: skip
    """The complete result of a comparison, for machines. In its rows "kernel" is the first of the engines."""
    return {
        "engines": list(engines),
        "runs": list(runs),
        "programs": dict(programs),
        "tolerances": {name: tolerances.metric[name].text() for name in METRICS},
        "targets": [_target(target, rows) for target in tolerances.target],
        "scenarios": [{"name": case.name, "what": case.what} for case in cases],
        "refused": [{"scenario": name, "why": why} for name, why in refused.items()],
        "rows": [_row(row) for row in rows],
        "worst": [_row(row) | {"cause": cause_of(causes, row.scenario, row.metric)} for row in worst(rows, tolerances)],
    }


def worst(rows: Sequence[Row], tolerances: Tolerances) -> list[Row]:
    """The rows with a target that differ most, by the ratio of difference to tolerance."""

    def excess(row: Row) -> float:
        tolerance = tolerances.metric[row.metric]
        limits = [tolerance.absolute or 0.0, (tolerance.relative or 0.0) * abs(row.kernel.mean)]
        return math.inf if math.isnan(row.difference) else abs(row.difference) / max(limits)

    judged = {target.metric for target in tolerances.target}
    bad = [row for row in rows if row.metric in judged and row.verdict == MISS]
    return sorted(bad, key=lambda row: (-excess(row), row.scenario, row.metric, row.of))[:WORST]


def write(result: Document, path: Path) -> None:
    """Writes agreement.json. Raises OutputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_text(result), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {reason(error)}") from None


def read(path: Path) -> Document:
    """Reads agreement.json. Raises OutputError."""
    return read_document(path, "the result of a comparison", parts=("targets", "rows"))


def read_document(path: Path, what: str, *, parts: Sequence[str]) -> Document:
    """Reads a JSON file that has these parts. Raises OutputError, which states that the file is not `what`."""
    try:
        found: Document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {reason(error)}") from None
    except ValueError:
        raise OutputError(f"{path} is not JSON") from None
    for part in parts:
        if not isinstance(found, dict) or part not in found:
            raise OutputError(f"{path} is not {what}: it has no {part}")
    return found


def _text(result: Document) -> str:
    """JSON with one list item per line, so that results can be compared with diff."""

    def dump(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    parts = [
        f'"{name}": [\n  ' + ",\n  ".join(map(dump, value)) + "\n ]"
        if isinstance(value, list)
        else f'"{name}": {dump(value)}'
        for name, value in result.items()
    ]
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def _target(target: Target, rows: Sequence[Row]) -> Document:
    mine = [row for row in rows if row.metric == target.metric and row.verdict != NOT_EVALUATED]
    value = _statistic(target.statistic, mine)
    reached = value >= target.limit if target.statistic == "agreeing" else value <= target.limit
    verdict = NOT_EVALUATED if not mine else PASS if reached else MISS
    return {
        "metric": target.metric, "statistic": target.statistic, "limit": target.limit, "value": _number(value),
        "rows": len(mine), "verdict": verdict,
    }  # fmt: skip


def _statistic(statistic: str, rows: Sequence[Row]) -> float:
    if not rows:
        return math.nan
    if statistic == "different":
        return sum(row.judgement == "different" for row in rows) / len(rows)
    if statistic == "agreeing":
        return sum(row.verdict == PASS for row in rows) / len(rows)
    # A flow that ends on only one engine is infinitely far off.
    sizes = [math.inf if math.isnan(row.relative) else abs(row.relative) for row in rows]
    return float(np.quantile(sizes, {"median": 0.5, "p90": 0.9}[statistic], method="higher"))


def _row(row: Row) -> Document:
    return {
        "scenario": row.scenario, "metric": row.metric, "of": row.of, "unit": row.unit,
        "kernel": _interval(row.kernel), "model": _interval(row.model), "difference": _number(row.difference),
        "relative": _number(row.relative), "verdict": row.verdict, "within_noise": row.within_noise, "note": row.note,
        "permutation_p": _number(row.permutation_p), "equivalence_p": _number(row.equivalence_p),
        "judgement": row.judgement,
    }  # fmt: skip


def _interval(interval: Interval) -> Document:
    known = {"mean": _number(interval.mean), "low": _number(interval.low), "high": _number(interval.high)}
    return known | {"runs": interval.runs}


def _number(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
