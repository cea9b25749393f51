"""Reproduces a study: runs, figures, tables, scoreboard and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from daybreak.engines import kind
from daybreak.figures.style import save
from daybreak.metrics import retransmissions
from daybreak.studies import page, variation
from daybreak.studies.evidence import gather
from daybreak.studies.protocol import AnyStudy
from daybreak.studies.scales import figures_of, scale_of
from daybreak.studies.scoreboard import Claim, Scoreboard, markdown
from daybreak.sweeps import Executor, Local, Report, claim


def reproduce(
    study: AnyStudy,
    *,
    mode: str = "quick",
    figures: Sequence[str] = (),
    engine: str = "simulated",
    seeds: int | None = None,
    sizes: Mapping[str, str] | None = None,
    out: Path | str | None = None,
    progress: Report | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
) -> Scoreboard:
    """Runs what the figures (by default all) need and writes everything to ``out``, by default ``results/NAME``.

    ``mode`` is "quick" or "full"; ``seeds`` overrides its number of runs per setting, ``sizes`` other fields of its
    scale. ``executor`` replaces the ``workers`` threads. Returns the scoreboard. Finished runs are stored in
    ``out/runs`` and reused.
    """
    wanted = figures_of(study, figures, engine)
    scale = scale_of(study, mode, seeds, sizes)
    out = Path(out or Path("results") / study.name)
    claim(out, f"study {study.name}", "scoreboard.json")
    (evidence,) = gather(
        study, [scale], out / "runs", figures=wanted, engine=engine, executor=executor or Local(workers),
        progress=progress,
    )  # fmt: skip
    published = study.published()
    board = Scoreboard(
        study.name, engine=engine, mode=mode, seeds=scale.runs, published=published,
        explanations=study.explanations(engine), inferences=study.inferences(), hosts=evidence.hosts(wanted),
    )  # fmt: skip
    sections: list[page.Section] = []
    flows: list[pl.DataFrame] = []
    for figure in wanted:
        # Results are read and released figure by figure, since all together would not be small.
        measured = evidence.of_figure(figure)
        before = len(board.claims)
        study.experiments[figure].judge(board, measured, scale)
        drawn = study.experiments[figure].draw(measured, scale, published)
        for name, image in drawn.items():
            save(image, out / "figures", name)
        for name, table in study.experiments[figure].tables(measured, scale).items():
            (out / "tables").mkdir(exist_ok=True)
            table.write_csv(out / "tables" / f"{name}.csv", float_precision=6)
        sections.append(page.Section(figure, tuple(drawn), tuple(board.claims[before:])))
        flows += [table_of_flows(setting.name, one.flows) for setting, one in measured.items()]
    simulated = kind(engine) == "simulated"
    if simulated and (counts := variation.load_counts(study.folder)):
        save(variation.draw(counts, study.inferences()), out / "figures", variation.FIGURE)
    if mode == "full" and not sizes and wanted == study.figures_of(engine):
        board.complete()
    write_tables(out / "tables", flows, board.claims)
    if simulated and (changes := variation.load(study.folder)):
        variation.save([one for found in changes.values() for one in found], out / "tables" / variation.FILE)
    board.write(out / "scoreboard.json")
    (out / "results.md").write_text(page.write(study, board, sections, scale, sizes or {}), encoding="utf-8")
    return board


def table_of_flows(setting: str, flows: pl.DataFrame) -> pl.DataFrame:
    """The flows of all runs of a setting, with the setting's name as first column and without derived columns."""
    return flows.select(pl.lit(setting).alias("setting"), "run", pl.exclude("run", "end_s", "goodput_gbps"))


def write_tables(directory: Path, flows: Sequence[pl.DataFrame], claims: Sequence[Claim]) -> None:
    """Writes the claims (Markdown) and, if anything was run, all flows (Parquet), and FCTs and loss recovery by setting
    and group (CSV)."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "claims.md").write_text(markdown(claims), encoding="utf-8")
    if not flows:
        return
    table = pl.concat(flows).unique(maintain_order=True)
    table.write_parquet(directory / "flows.parquet")
    by = ["setting", "group", "variant"]
    (
        table.group_by(by, maintain_order=True)
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
