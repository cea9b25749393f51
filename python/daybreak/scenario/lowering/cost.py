"""Refuses scenarios that a single number makes too expensive, before they are lowered, with advice on what to change.

The bounds correspond to some gigabytes of memory and some minutes of work. A long run alone is not refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from daybreak.errors import ScenarioError

from ..quantities import Span
from ..scenario import Scenario
from ..timelines import Circuit, Migrate, Program, Timeline
from ..traces import LinkTrace
from ..traffic import Flow

MOST_FLOWS = 1_000_000
"""Limit on the flows of one run: their plan takes some seconds and half a gigabyte, or minutes if each draws a path."""
MOST_SAMPLES = 50_000_000
"""Rows of a sampled table; each takes about 50 bytes."""
MOST_BINS = 2**32
"""Bins of table `bins`; empty ones take no row."""
MOST_STEPS = 20_000_000
"""Steps of all timelines; each takes a row of table `circuits` and some events."""

MOST_READINGS = 1_000_000_000
"""Counters of queues and flows that one controller reads in a run."""


def refuse_many_flows(flows: Sequence[Flow], pairs: Sequence[int]) -> None:
    """Raises ScenarioError if the entries `flows`, with `pairs` pairs of hosts each, have more flows than a run can
    have.

    Generators are bounded separately, while they draw.
    """
    total = 0
    for i, (flow, number) in enumerate(zip(flows, pairs, strict=True)):
        total += number * flow.count
        if total > MOST_FLOWS:
            field, of_pairs = f"flows[{i}].count", f" for {number:,} pairs of hosts" if number > 1 else ""
            raise ScenarioError(
                f"{field} = {flow.count}{of_pairs}: makes {total:,} flows: expected at most {MOST_FLOWS:,} in all",
                field,
            )


def refuse_short_intervals(scenario: Scenario, flows: int, queues: int) -> None:
    """Raises ScenarioError for intervals so short that a table would not fit into memory, or a run would never end."""
    records, duration = scenario.records, int(scenario.duration)
    # As the engine counts them: payload has two kinds of bins, arrived and delivered.
    binned = len(records.taps) + len(records.links) + 2 * records.delivered
    sampled = [
        ("queues", records.queues, queues, f"samples of {queues} queues", MOST_SAMPLES),
        ("bins", records.bin_width, binned, "bins", MOST_BINS),
    ]
    if isinstance(records.window, Span):
        sampled.append(("window", records.window, flows, f"samples of {flows} flows", MOST_SAMPLES))
    for name, interval, count, what, most in sampled:
        if interval is not None and count * duration // int(interval) > most:
            rows = count * duration // int(interval)
            _refuse(f"records.{name}", interval, f"{rows:,} {what}", duration, count * duration / most)
    before = 0
    for i, timeline in enumerate(scenario.timelines):
        lasts = max(duration - int(timeline.start), 0)
        for field, interval, count in _periods(timeline):
            steps = before + count * lasts // int(interval)
            if steps > MOST_STEPS:
                least = count * lasts / max(MOST_STEPS - before, 1)
                _refuse(f"timelines[{i}].{field}", interval, f"{steps:,} steps of timelines", duration, least)
            before = steps


def refuse_frequent_readings(field: str, interval: Span, counters: int, duration: Span) -> None:
    """Raises ScenarioError for a controller that would read its counters more than `MOST_READINGS` times."""
    readings = counters * int(duration) // int(interval)
    if readings > MOST_READINGS:
        what = f"{readings:,} readings of {counters} counter{'s' if counters > 1 else ''}"
        _refuse(field, interval, what, int(duration), counters * int(duration) / MOST_READINGS)


def _periods(timeline: Timeline) -> Iterator[tuple[str, Span, int]]:
    """For each period of a timeline its field, its length, and its number of steps."""
    match timeline:
        case Migrate():
            yield "period", timeline.period, 2 if timeline.night else 1
        case Circuit(week=None):
            yield "day", Span(timeline.day + timeline.night), 2
        case Circuit():
            yield "week", Span(timeline.length), 2 * len(timeline.matchings)
        case Program():
            yield "period", timeline.period, sum(len(step.do) for step in timeline.steps)
        case LinkTrace():
            if timeline.period is not None:
                yield "period", timeline.period, len(timeline.rows) * len(timeline.links)
        case _:
            assert_never(timeline)


def _refuse(field: str, interval: Span, cost: str, duration_ps: int, least_ps: float) -> None:
    # Two digits are enough for advice.
    unit = 10 ** max(len(str(int(least_ps))) - 2, 0)
    least = Span((int(least_ps) // unit + 1) * unit)
    raise ScenarioError(
        f"{field} = {interval}: makes {cost} in a run of {Span(duration_ps)}: expected at least {least}, or a shorter "
        "duration",
        field,
    )
