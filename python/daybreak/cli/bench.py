"""daybreak bench"""

from __future__ import annotations

import statistics
from typing import Annotated

import typer

from daybreak.benchmark import suite
from daybreak.errors import UsageError

from .tables import print_table
from .terminal import Json, print_json, progress_bar, say


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak bench S1 S4 --repeat 3")(bench)


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Benchmarks such as S1; by default S1 to S7.", metavar="[NAME]...")
    ] = None,
    repeat: Annotated[int, typer.Option(help="Measurements of each; the median is reported.", min=1)] = 1,
    as_json: Json = False,
) -> None:
    """Measure the simulator: packet-hops per wall second and peak memory."""
    known = suite.known()
    chosen = names or list(suite.STANDARD)
    for name in chosen:
        if name not in known:
            raise UsageError(f'benchmark "{name}" is not known; known are {", ".join(known)}')
    results: list[dict[str, float]] = []
    with progress_bar("measuring", shown=not as_json) as progress:
        for i, name in enumerate(chosen):
            progress(i, len(chosen), name)
            measured = [suite.measure_apart(name) for _ in range(repeat)]
            middle = {key: statistics.median(one[key] for one in measured) for key in measured[0]}
            results.append(middle)
    if as_json:
        print_json(
            [{"name": name, "summary": known[name]} | result for name, result in zip(chosen, results, strict=True)]
        )
        return
    columns = ("benchmark", "million packet-hops/s", "packet-hops", "wall s", "peak MiB", "what")
    rows = [
        (
            name,
            f"{result['packet_hops_per_s'] / 1e6:.2f}",
            f"{result['packet_hops']:.0f}",
            f"{result['wall_s']:.2f}",
            f"{result['peak_memory_bytes'] / 2**20:.0f}",
            known[name],
        )
        for name, result in zip(chosen, results, strict=True)
    ]
    print_table(columns, rows, numeric=columns[1:5])
    say("wall time is that of the event loop; a packet-hop is one packet that has crossed one link")
