"""daybreak tune"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from daybreak.errors import OutputError, UsageError
from daybreak.metrics import units

from .learn import ModelFile, check_model, need_learn
from .scenario import Changes, scenario_of
from .tables import print_table
from .terminal import Json, print_json, progress_bar, say
from .usage import words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daybreak.learn.tune import Advice, Candidate, Objective
    from daybreak.metrics.confidence import Interval


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak tune scenarios/17-prolongation.toml --set timelines.0.night='1 ms'")(tune)


def tune(
    scenario: Annotated[Path, typer.Argument(help="Scenario file of a migrated and a main flow.")],
    changes: Changes = None,
    buffer: Annotated[list[int] | None, typer.Option(help="Also choose among buffers, in packets; repeatable.")] = None,
    variant: Annotated[
        list[str] | None, typer.Option(help="Also choose among variants of the migrated flow; repeatable.")
    ] = None,
    objective: Annotated[
        str, typer.Option("--for", help="prolongation: as little as possible; utilisation: busy circuits.")
    ] = "prolongation",
    file: Annotated[
        Path | None, typer.Option("-o", "--out", help="Draw the trade-off: PNG, SVG or PDF, by its name.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is no figure of Daybreak's.")] = False,
    verify: Annotated[
        int, typer.Option(help="How many of the candidates that are predicted are simulated.", min=1)
    ] = 4,
    seeds: Annotated[int, typer.Option(help="Runs of each; 4 times as many where several may be best.", min=2)] = 16,
    workers: Annotated[int | None, typer.Option(help="Parallel runs; by default one per processor.", min=1)] = None,
    model: ModelFile = None,
    as_json: Json = False,
) -> None:
    """Advise a reconfiguration period for which the migrated flow is prolonged least, or the circuits are used most.

    Periods are offered up to the time that the transfer takes. The model ranks the candidates; the best ones, the
    scenario as it is, and what the model cannot predict are simulated with the same seeds, and the best of these is
    advised. Those that may be better are run up to 4 times as often, and those that are still not told apart from it
    are named. The table is the trade-off between prolongation, the mean slowdown of the migrated flows, duty cycle, the
    mean wait for the other path (half a period and the night), and utilisation: the part of what both circuits can
    carry, from the first start to the last end, that was delivered.
    """
    from daybreak.learn.setting import describe

    chosen = scenario_of(scenario, changes)
    check_model(model)
    need_learn()
    # Before the models, which take seconds to load.
    describe(chosen)
    from daybreak import plots
    from daybreak.learn.files import load
    from daybreak.learn.tune import OBJECTIVES, check
    from daybreak.learn.tune import tune as find

    if objective not in OBJECTIVES:
        raise UsageError(f'--for "{objective}": expected one of {", ".join(OBJECTIVES)}')
    with words():
        check(buffer or (), variant or ())
    if file:
        plots.check(file, force=force)
    with progress_bar("simulating", shown=not as_json) as progress:
        found = find(
            chosen, load(model), buffers=buffer or (), variants=variant or (),
            objective=cast("Objective", objective), verified=verify, seeds=seeds, workers=workers, progress=progress,
        )  # fmt: skip
    if as_json:
        print_json(_document(found))
    else:
        _print(found)
    if file:
        plots.write(_drawn(found), file, force=force)
        if not as_json:
            say(f"the trade-off is in {file}")


def _print(found: Advice) -> None:
    from daybreak.report.summary import with_values

    scale, unit = _unit(found)
    candidates = found.candidates
    columns = {
        "change": [_name(one) for one in candidates],
        "duty cycle": [f"{one.duty:.3f}" for one in candidates],
        "wait [ms]": [f"{one.wait_ms:g}" for one in candidates],
        f"predicted [{unit}]": [_predicted(one, scale) for one in candidates],
        f"90 % of runs [{unit}]": [_range(one, scale) for one in candidates],
        f"simulated [{unit}]": [_simulated(one, scale) for one in candidates],
        "slowdown": [units.digits(one.slowdown.mean, 3) if one.slowdown else "-" for one in candidates],
        "runs": [str(len(one.runs)) for one in candidates],
        "utilisation [%]": [f"{100 * one.utilisation.mean:.1f}" if one.utilisation else "-" for one in candidates],
    }
    headings, cells = with_values(columns)
    print_table(headings, cells, numeric=headings[1:])
    say("wait: mean of a flow that arrives at a random time and needs the other path, half a period and the night")
    for line in _said(found):
        say(line)


def _document(found: Advice) -> dict[str, Any]:
    """All that was found, for machines."""
    return {
        "objective": found.objective,
        "advice": found.best.changes if found.best else None,
        "not_told_apart": [one.changes for one in found.not_told_apart],
        "longest_ms": found.longest_ms,
        "is_only_the_longest": found.is_only_the_longest,
        "candidates": [
            {
                "changes": one.changes, "period_ms": one.period_ms, "duty": one.duty, "wait_ms": one.wait_ms,
                "predicted": asdict(one.predicted) if one.predicted.holds else {"reasons": one.predicted.reasons},
                "runs": len(one.runs), "unended": one.unended, "unmoved": one.unmoved,
                "simulated": asdict(one.simulated) if one.simulated else None,
                "utilisation": asdict(one.utilisation) if one.utilisation else None,
                "slowdown": asdict(one.slowdown) if one.slowdown else None,
            }
            for one in found.candidates
        ],
    }  # fmt: skip


def _said(found: Advice) -> list[str]:
    """The lines of the advice and its caveats."""
    best, as_it_is = found.best, next(one for one in found.candidates if not one.changes)
    lines = [] if best else ["no advice: in every simulated candidate a flow did not end"]
    if best and best.simulated:
        what = _name(best) if best.changes else "leave it as it is"
        used = f"a utilisation of {100 * best.utilisation.mean:.1f} % and " if best.utilisation else ""
        of_objective = used if found.objective == "utilisation" else ""
        lines.append(f"advice: {what}, with {of_objective}{_time(best.simulated)} simulated in {len(best.runs)} runs")
        lines += _compared(best, found)
        if best.wait_ms > as_it_is.wait_ms:
            lines.append(
                f"its price: that wait is {best.wait_ms:g} ms, {as_it_is.wait_ms:g} ms as it is; short flows may spend "
                "most of their time waiting"
            )
        if found.is_only_the_longest:
            lines.append(
                f"that is only the longest period, {best.period_ms:g} ms (up to {found.longest_ms:g} ms are offered, "
                "no longer than the transfer): the fewer moves, the better for these flows"
            )
    lines += _unmoved(found)
    for one in [as_it_is, *([best] if best and best is not as_it_is else [])]:
        if not one.predicted.holds:
            lines += [
                f"simulated, not predicted: {_name(one)}, because",
                *(f"  {why}" for why in one.predicted.reasons),
            ]
    return lines


def _compared(best: Candidate, found: Advice) -> list[str]:
    """Which candidates may be as good, and which of these has the shortest wait."""
    others = found.not_told_apart
    if not others:
        return []
    quick = min(others, key=lambda one: one.wait_ms)
    lines = [f"not told apart from it by these runs: {'; '.join(map(_name, others))}"]
    if quick.wait_ms < best.wait_ms:
        lines.append(f"of these the shortest wait has {_name(quick)}: {quick.wait_ms:g} ms, not {best.wait_ms:g} ms")
    return lines


def _time(value: Interval) -> str:
    return units.time_with_margin(value.mean, value.margin)


def _unit(found: Advice) -> tuple[float, str]:
    """The unit of all prolongations, in the table and in the figure."""
    known = [one.predicted.prolongation_s for one in found.candidates if one.predicted.holds]
    return units.unit_of([*known, *(one.simulated.mean for one in found.candidates if one.simulated)], units.TIMES)


def _predicted(one: Candidate, scale: float) -> str:
    if one.predicted.holds:
        return units.digits(one.predicted.prolongation_s / scale)
    return "not sure" if one.predicted.is_inside else "outside"


def _range(one: Candidate, scale: float) -> str:
    """What 90 % of runs take, as predicted."""
    if not one.predicted.holds:
        return "-"
    return " to ".join(units.digits(end / scale, 3) for end in (one.predicted.low_s, one.predicted.high_s))


def _simulated(one: Candidate, scale: float) -> str:
    if one.simulated:
        return units.with_margin(one.simulated.mean, one.simulated.margin, scale)
    return f"a flow did not end{_in_runs(one.unended, one)}" if one.runs else "-"


def _unmoved(found: Advice) -> list[str]:
    """Where flows end before their first move."""
    names: dict[str, list[str]] = {}
    for one in found.candidates:
        if one.unmoved:
            names.setdefault(_in_runs(one.unmoved, one), []).append(_name(one))
    return [
        f"ends before its first move{runs}: "
        + ("every candidate" if len(some) == len(found.candidates) else "; ".join(some))
        for runs, some in names.items()
    ]


def _in_runs(count: int, one: Candidate) -> str:
    return "" if count == len(one.runs) else f" in {count} of {len(one.runs)} runs"


def _name(one: Candidate) -> str:
    return ", ".join(f"{name}={value}" for name, value in one.changes.items()) or "(as it is)"


def _drawn(found: Advice) -> Figure:
    """The figure of the simulated candidates. Raises OutputError if no candidate ended."""
    from daybreak.figures.tradeoff import Point, tradeoff

    scale, unit = _unit(found)
    points = [
        Point(_name(one), one.utilisation.times(100), one.simulated.times(1 / scale), one.wait_ms)
        for one in found.candidates
        if one.simulated and one.utilisation
    ]
    if not points:
        raise OutputError("no figure: in every simulated candidate a flow did not end")
    return tradeoff(
        points, xlabel="Utilisation of both circuits [%]", ylabel=f"Prolongation [{unit}]",
        price="Mean wait for the other path [ms]",
    )  # fmt: skip
