"""daybreak learn"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from daybreak.errors import EngineError, Interrupted, OutputError, UsageError, reason

from .terminal import Json, print_json, progress_bar, say
from .usage import refuse

ModelFile = Annotated[Path | None, typer.Option(help="Model of 'daybreak learn networks'; ours if not given.")]
_OF_DRAWN = ("unseen", "kernel")
_DATA = ("networks", "unseen", "kernel", "advice")


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak learn unseen --count 200 --seed 5 -o results/unseen")(learn)


def learn(
    data: Annotated[str, typer.Argument(help=f"{', '.join(_DATA)}: what is run.", metavar="DATA")],
    out_: Annotated[Path | None, typer.Option("-o", "--out", help="Folder for runs and results.")] = None,
    count: Annotated[
        int | None,
        typer.Option(
            help="With networks, unseen and kernel: number of settings; with networks the first ones of its design.",
            min=2,
        ),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="With unseen and kernel: runs of each setting.", min=2)] = None,
    seed: Annotated[
        int | None, typer.Option(help="With unseen and kernel: seed of the draw of the settings; by default 1.", min=0)
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Parallel runs; by default one per processor.", min=1)] = None,
    model: ModelFile = None,
    as_json: Json = False,
) -> None:
    """Make the data of a model of FCT prolongation, fit it, and judge it.

    networks: the model of 'daybreak predict', which is written to DIR/networks.skops. unseen: that model, and the
    answers of 'daybreak predict', on settings that are drawn anew from all that it is for. kernel: the model on real
    Linux. advice: what 'daybreak tune' advises on mixes that no model has seen, beside the publication's settings, on
    real Linux. DIR/evaluation.json has the results, DIR/data.parquet the runs. The publication's own model is figure 8
    of its study.
    """
    if data not in _DATA:
        raise UsageError(f'data "{data}": expected one of {", ".join(_DATA)}')
    if data not in _OF_DRAWN:
        refuse({"runs": runs, "seed": seed}, f"expected data {' or '.join(_OF_DRAWN)}, not {data}")
    if data == "advice":
        refuse({"count": count}, "expected data networks, unseen or kernel, not advice")
    if data == "networks":
        refuse({"model": model}, "expected data unseen, kernel or advice; networks makes a model")
    check_model(model)
    need_learn()
    from daybreak.sweeps import Local

    place = out_ or Path("results") / f"learn-{data}"
    try:
        with progress_bar(f"data of {data}", shown=not as_json) as progress:
            found = (
                _advice(place, Local(workers), model, progress)
                if data == "advice"
                else _drawn(data, place, Local(workers), model, count, runs, 1 if seed is None else seed, progress)
            )
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(
            f"interrupted: finished runs are kept in {place}, the same command goes on from there"
        ) from None
    try:
        (place / "evaluation.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{place / 'evaluation.json'} cannot be written: {reason(error)}") from None
    if as_json:
        print_json(found)
    else:
        say(json.dumps(found, indent=1))


def _drawn(
    data: str, place: Path, executor: Any, model: Path | None, count: int | None, runs: int | None, seed: int, tell: Any
) -> dict[str, Any]:
    from daybreak.learn import dataset, design, evaluate, files
    from daybreak.learn.model import calibrate, fit

    if data == "networks":
        chosen = design.chosen(count or design.LEARNT)
        settings = [setting for setting, _ in chosen]
        made = dataset.made(settings, place, executor, seeds=[seeds for _, seeds in chosen], progress=tell)
        _write(made, place)
        fitted = fit(made)
        held_back = [
            dataset.made(
                list(design.drawn(design.CALIBRATION_COUNT, drawn_with)), place / f"drawn-{drawn_with}", executor,
                runs=design.CALIBRATION_RUNS, progress=tell,
            )
            for drawn_with in design.CALIBRATION
        ]  # fmt: skip
        calibrate(fitted, held_back)
        files.save(fitted, place / "networks.skops")
        return {"settings": len(settings), "data": fitted.fingerprint}
    judged = files.load(model)
    engine, most, several = ("kernel", 60, 3) if data == "kernel" else ("simulated", 200, 48)
    settings = list(design.drawn(count or most, seed))
    if data == "kernel":
        # The engine's kernel has no other clock.
        settings = [setting | {"hz": 1000} for setting in settings]
    several = runs or several
    made = dataset.made(settings, place, executor, runs=several, engine=engine, progress=tell)
    _write(made, place)
    simulated = evaluate.answered(judged, settings, place, executor, tell) if data == "unseen" else []
    return {"drawn_with": seed, "model": judged.fingerprint} | evaluate.judge(judged, made, simulated)


def _write(made: Any, place: Path) -> None:
    try:
        made.table.write_parquet(place / "data.parquet", compression="zstd", compression_level=19)
    except OSError as error:
        raise OutputError(f"{place / 'data.parquet'} cannot be written: {reason(error)}") from None


def _advice(place: Path, executor: Any, model: Path | None, tell: Any) -> dict[str, Any]:
    from daybreak.learn import advice, files

    judged = files.load(model)
    found = {name: advice.judge(advice.built_in(name), judged, place / name, executor, tell) for name in advice.MIXES}
    return {
        name: {"mixes": [one.row() for one in mixes], "better": sum(one.is_better for one in mixes)}
        for name, mixes in found.items()
    }


def need_learn() -> None:
    """Raises EngineError where the packages of the models are not installed."""
    if any(find_spec(name) is None for name in ("sklearn", "skops")):
        raise EngineError('models need the packages of the extra "learn": pip install daybreak[learn]')


def check_model(file: Path | None) -> None:
    """Raises OutputError where there is no such model file, before anything large is loaded."""
    if file is not None and not file.is_file():
        raise OutputError(f"{file} is not a model: there is no such file")
