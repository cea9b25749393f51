"""daybreak learn"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from daybreak.errors import EngineError, Interrupted, OutputError, reason

from .terminal import Json, print_json, progress_bar, say


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak learn networks -o results/networks")(learn)


def learn(
    data: Annotated[str, typer.Argument(help="networks, kernel or advice: what is run.", metavar="DATA")],
    out_: Annotated[Path | None, typer.Option("-o", "--out", help="Folder for runs and results.")] = None,
    workers: Annotated[int | None, typer.Option(help="Runs side by side; one a processor if not given.", min=1)] = None,
    model: Annotated[Path | None, typer.Option(help="With kernel and advice: the model that is judged.")] = None,
    as_json: Json = False,
) -> None:
    """Make the data of a model of FCT prolongation, fit it, and judge it.

    networks: the model of 'daybreak predict', which is written to DIR/networks.skops. kernel: that model on runs of
    real Linux. advice: what 'daybreak tune' advises in mixes that no model has seen, beside the publication's settings,
    on real Linux. DIR/evaluation.json has the results. The publication's own model is figure 8 of its study.
    """
    need_learn()
    from daybreak.learn import advice, dataset
    from daybreak.learn.model import load
    from daybreak.sweep import Local

    known = (*dataset.DATA, "advice")
    if data not in known:
        raise OutputError(f'data "{data}": expected one of {", ".join(known)}')
    judged = load(model) if data == "kernel" else None
    place = out_ or Path("results") / f"learn-{data}"
    with progress_bar(f"data of {data}", shown=not as_json) as progress:
        try:
            if data == "advice":
                made: Any = {
                    name: advice.judge(dataset.built_in(name), load(model), place / name, Local(workers), progress)
                    for name in dataset.MIXES
                }
            else:
                made = dataset.made(data, place, Local(workers), progress)
        except (Interrupted, KeyboardInterrupt):
            raise Interrupted(
                f"interrupted: finished runs are kept in {place}, the same command goes on from there"
            ) from None
    found = _judge(data, made, place, judged)
    try:
        (place / "evaluation.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{place / 'evaluation.json'} cannot be written: {reason(error)}") from None
    if as_json:
        print_json(found)
    else:
        say(json.dumps(found, indent=1))


def _judge(data: str, made: Any, place: Path, model: Any) -> dict[str, Any]:
    from daybreak.learn import evaluate
    from daybreak.learn.model import fit, save

    if data == "advice":
        return {
            name: {"mixes": [one.row() for one in mixes], "better": sum(one.is_better for one in mixes)}
            for name, mixes in made.items()
        }
    if data == "networks":
        save(fit(made), place / "networks.skops")
        return evaluate.evaluate(made)
    return evaluate.on_other_data(model, made)


def need_learn() -> None:
    """Raises EngineError where the packages of the models are not installed."""
    try:
        import skops  # noqa: F401
    except ImportError:
        raise EngineError('models need the packages of the extra "learn": pip install daybreak[learn]') from None
