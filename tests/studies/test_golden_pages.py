"""What a reproduction writes, and where, with made-up runs in place of those that it would make."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import varied
from test_golden_boards import of_migration

from daybreak.studies import reproduce, sensitivity, study, variation
from daybreak.studies.migration.settings import SCALES
from daybreak.sweeps import Local

FIGURES = ("4", "7", "table2", "kernel")
MIGRATION = study("migration")


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What was asked for, with small sizes, in an empty working directory."""
    small = of_migration(monkeypatch, searched=0)
    monkeypatch.setitem(SCALES, "full", small)
    monkeypatch.setitem(SCALES, "quick", small.with_runs(2))
    monkeypatch.chdir(tmp_path)
    found = []

    def gather(of, scales, directory, *, figures, executor, progress, engine="simulated"):
        found.append(
            {"study": of.name, "scales": scales, "directory": str(directory), "figures": tuple(figures)}
            | {"executor": executor, "progress": progress, "engine": engine}
        )

        def evidence(scale):
            def of_figure(figure):
                return varied.migration(of.experiments[figure].settings(scale))

            return SimpleNamespace(
                scale=scale,
                of_figure=of_figure,
                hosts=lambda wanted: f"the hosts of {engine}" * (engine != "simulated"),
            )

        return [evidence(scale) for scale in scales]

    monkeypatch.setattr(reproduce, "gather", gather)
    monkeypatch.setattr(sensitivity, "gather", gather)
    for module in (reproduce, sensitivity):
        monkeypatch.setattr(module, "save", lambda image, folder, name: found.append((str(folder), name)))
    return found


def text(place):
    return Path(place).read_text(encoding="utf-8")


def made(asked, golden, name, **options):
    board = reproduce.reproduce(MIGRATION, figures=FIGURES, **options)
    place = Path(asked[0]["directory"]).parent
    assert json.loads(text(place / "scoreboard.json")) == json.loads(json.dumps(board.document()))
    golden(f"{name}.md", text(place / "results.md"))
    return asked[0], text(place / "tables/fct.csv"), board


def test_a_quick_reproduction_of_some_figures(golden, asked):
    first, table, board = made(asked, golden, "study-page-quick", mode="quick")
    assert first["directory"] == "results/migration/runs"
    assert (first["study"], first["figures"], first["engine"], first["progress"]) == (
        "migration", FIGURES, "simulated", None,
    )  # fmt: skip
    assert first["scales"] == [SCALES["quick"]] and first["executor"] == Local(None)
    golden("study-fct.csv", table)
    known = [change for changes in variation.load(MIGRATION.folder).values() for change in changes]
    kept = [change for changes in variation.load(Path("results/migration/tables")).values() for change in changes]
    assert kept == known and len(known) > 10
    names = ("figure4", "figure4-fct", "figure7", "figure7-cycles", "figure7-fct", "table2", "kernel")
    assert asked[1:] == [("results/migration/figures", name) for name in (*names, variation.FIGURE)]
    assert (board.mode, board.seeds, board.engine) == ("quick", 2, "simulated")


def test_a_reproduction_with_other_sizes_runs_and_place(golden, asked):
    def told(*_):
        pass

    first, _, board = made(
        asked, golden, "study-page-sizes", mode="full", seeds=4, sizes={"pair_mib": "128", "buffer": "300"},
        out="there", workers=3, progress=told,
    )  # fmt: skip
    assert (first["directory"], first["executor"], first["progress"]) == ("there/runs", Local(3), told)
    (scale,) = first["scales"]
    assert (scale.pair_mib, scale.buffer, scale.runs, scale.single_mib) == (128, 300, 4, 64)
    # Only a whole reproduction says of what is printed that it was not compared.
    assert not [claim for claim in board.claims if claim.verdict == "left-out"]


def test_a_page_of_another_kernel_has_what_holds_in_words_of_its_rows(golden, asked):
    options = {"mode": "full", "engine": "kernel:6.12@250"}
    board = reproduce.reproduce(MIGRATION, figures=FIGURES[:3], **options)
    golden("study-page-kernel.md", text("results/migration/results.md"))
    assert asked[0]["engine"] == "kernel:6.12@250" and board.hosts == "the hosts of kernel:6.12@250"


def test_inferences_are_varied_one_at_a_time(golden, asked):
    told = object()
    found = sensitivity.vary(
        MIGRATION, names=["phase", "buffer"], figures=["4"], mode="quick", seeds=3, sizes={"pair_mib": "128"},
        progress=told,
    )  # fmt: skip
    (first, picture) = asked
    assert first["directory"] == "results/migration-sensitivity/runs" and first["figures"] == ("4",)
    assert first["progress"] is told and first["executor"] == Local()
    assert [(one.phase, one.buffer, one.pair_mib, one.runs) for one in first["scales"]] == [
        (1, 250, 128, 3), (0, 250, 128, 3),
        *((1, int(value), 128, 3) for name, value in found.others if name == "buffer"),
    ]  # fmt: skip
    assert picture == ("results/migration-sensitivity/figures", variation.FIGURE)
    place = Path("results/migration-sensitivity")
    golden("study-sensitivity.csv", text(place / variation.FILE) + text(place / variation.COUNTS))
