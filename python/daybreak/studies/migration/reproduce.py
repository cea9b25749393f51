"""Reproduces the migration study: runs, figures, tables, scoreboard and a page of prose."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import polars as pl

from daybreak.errors import ScenarioError, UnknownName
from daybreak.figures.style import save
from daybreak.metrics import retransmissions
from daybreak.studies.migration import page, runner
from daybreak.studies.migration.claims import CLAIMS
from daybreak.studies.migration.measured import FLOW_COLUMNS, Measured
from daybreak.studies.migration.plots import FIGURES as DRAW
from daybreak.studies.migration.settings import FIGURES, SCALES, Scale, Setting, of_figure
from daybreak.studies.scoreboard import Claim, Scoreboard, load_explanations, load_published, markdown
from daybreak.sweep import Executor, Local, Report, execute

PUBLISHED = files(__package__).joinpath("published.toml")
EXPLANATIONS = files(__package__).joinpath("explanations.toml")


def reproduce(
    *,
    mode: str = "quick",
    figures: Sequence[str] = (),
    engine: str = "simulated",
    seeds: int | None = None,
    out: Path | str = "results/migration",
    progress: Report | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
) -> Scoreboard:
    """Runs what the figures need (all figures without a list) and writes everything to the directory ``out``.

    ``mode`` is "quick" or "full"; ``seeds`` overrides its number of runs a setting. ``executor``
    replaces the ``workers`` threads. Returns the scoreboard. Finished runs are kept under ``out/runs`` and found again.
    """
    wanted = tuple(figures) or FIGURES
    for figure in wanted:
        if figure not in FIGURES:
            raise UnknownName(f'figure: "{figure}" is not one of {", ".join(FIGURES)}')
    if mode not in SCALES:
        raise UnknownName(f'mode: "{mode}" is not one of {", ".join(SCALES)}')
    if seeds is not None and seeds < 1:
        raise ScenarioError(f"seeds: {seeds} is not above zero")
    scale, out = SCALES[mode], Path(out)
    out.mkdir(parents=True, exist_ok=True)
    store = runner.store(out / "runs", engine)
    settings = {setting for figure in wanted for setting in of_figure(figure, scale)}
    jobs = runner.jobs(((setting, seed) for setting in settings for seed in seeds_of(setting, scale, seeds)), engine)
    execute(jobs, store, executor=executor or Local(workers), progress=progress)

    board = Scoreboard(
        "migration",
        engine=engine,
        mode=mode,
        seeds=seeds or scale.runs,
        published=load_published(PUBLISHED),
        explanations=load_explanations(EXPLANATIONS),
    )
    sections: list[page.Section] = []
    flows: list[pl.DataFrame] = []
    for figure in wanted:
        # A figure's settings are read, used and let go: all of them together would not be small.
        evidence = {
            setting: runner.get(store, setting, seeds_of(setting, scale, seeds), engine)
            for setting in of_figure(figure, scale)
        }
        before = len(board.claims)
        CLAIMS[figure](board, evidence, scale)
        drawings = DRAW[figure](evidence, scale, board.published)
        for name, drawing in drawings.items():
            save(drawing, out / "figures", name)
        sections.append(page.Section(figure, tuple(drawings), tuple(board.claims[before:])))
        flows += [table_of_flows(measured) for measured in evidence.values()]
    write_tables(out / "tables", pl.concat(flows).unique(maintain_order=True), board.claims)
    board.write(out / "scoreboard.json")
    (out / "results.md").write_text(page.write(board, sections, runs_of(scale, seeds)), encoding="utf-8")
    return board


def seeds_of(setting: Setting, scale: Scale, seeds: int | None) -> range:
    """The seeds of a setting: 1, 2, 3 ..."""
    return range(1, runs_of(scale, seeds)[setting.kind] + 1)


def runs_of(scale: Scale, seeds: int | None) -> dict[str, int]:
    """Number of runs of each kind of setting."""
    runs = {"single": scale.single_runs, "pair": scale.runs, "groups": scale.group_runs}
    return dict.fromkeys(runs, seeds) if seeds else runs


def table_of_flows(measured: Measured) -> pl.DataFrame:
    """The flows of all runs of a setting with the setting's name in front."""
    name = pl.lit(measured.setting.name).alias("setting")
    return measured.flows.select(name, "run", *FLOW_COLUMNS, "fct_s")


def write_tables(directory: Path, flows: pl.DataFrame, claims: Sequence[Claim]) -> None:
    """All flows (Parquet), FCTs and loss recovery by setting and group (CSV), and the claims (markdown)."""
    directory.mkdir(parents=True, exist_ok=True)
    flows.write_parquet(directory / "flows.parquet")
    by = ["setting", "group", "variant"]
    (
        flows.group_by(by, maintain_order=True)
        .agg(
            pl.col("run").n_unique().alias("runs"),
            pl.len().alias("flows"),
            pl.col("fct_s").mean().alias("fct_mean_s"),
            pl.col("fct_s").std().alias("fct_deviation_s"),
            pl.col("fct_s").min().alias("fct_least_s"),
            pl.col("fct_s").max().alias("fct_largest_s"),
            *(pl.col(name).cast(pl.Int64).sum() for name in retransmissions.COUNTS),
        )
        .sort(by)
        .write_csv(directory / "fct.csv", float_precision=6)
    )
    (directory / "claims.md").write_text(markdown(claims), encoding="utf-8")
