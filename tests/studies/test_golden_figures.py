"""What each figure of a study shows, and its tables, on made-up runs or on the tables of the committed result."""

import drawn
import page as pages
import pytest
import varied
from golden import FOLDER
from test_golden_boards import of_migration

from daybreak.studies import study

AGAIN = {"etalon": "etalon", "space-switch": "space_switch"}
"""Studies whose committed tables have enough to draw from."""
LIGHTPATH, MIGRATION = study("lightpath"), study("migration")


def compare(golden, name, figures, tables=()):
    text = "".join(f"{file}\n{drawn.figure_text(figure)}" for file, figure in figures.items())
    for file, table in dict(tables).items():
        text += f"{file}\n{table.write_csv(float_precision=5)}"
    golden(f"{name}.txt", text, FOLDER / "figures")


@pytest.mark.parametrize(("name", "figure"), [(name, figure) for name in AGAIN for figure in study(name).figures])
def test_figures_of_committed_tables(golden, name, figure):
    found, home = study(name), pages.RESULTS / AGAIN[name]
    result = pages._result(found, home)
    experiment = found.experiments[figure]
    evidence = {
        one: found.measured(one, found.again(one, home / "tables")) for one in experiment.settings(result.scale)
    }
    compare(golden, f"{name}-{figure}", experiment.draw(evidence, result.scale, found.published()))


@pytest.mark.parametrize("figure", MIGRATION.figures)
def test_figures_of_migration(golden, monkeypatch, figure):
    scale, experiment = of_migration(monkeypatch, searched=0), MIGRATION.experiments[figure]
    evidence = varied.migration(experiment.settings(scale))
    figures = experiment.draw(evidence, scale, MIGRATION.published())
    compare(golden, f"migration-{figure}", figures, experiment.tables(evidence, scale))


@pytest.mark.parametrize("figure", LIGHTPATH.figures)
def test_figures_of_lightpath(golden, figure):
    scale, experiment = LIGHTPATH.scales["full"], LIGHTPATH.experiments[figure]
    evidence = varied.lightpath(experiment.settings(scale))
    figures = experiment.draw(evidence, scale, LIGHTPATH.published())
    compare(golden, f"lightpath-{figure}", figures, experiment.tables(evidence, scale))
