"""Whole boards of the studies whose tables do not have what their claims need, on runs that all differ.

A line of a golden has a claim's id, what it is about, the printed number and ours with its interval, the verdict, what
it counts as, and its note.
"""

from dataclasses import replace

import varied

from daybreak.learn import paper
from daybreak.studies import study
from daybreak.studies.scoreboard import Scoreboard


def lines(board):
    """A line for each claim: numbers have five digits, and notes what the run has added to those of the entry. Printed
    statements are not repeated."""
    found = []
    for claim in board.claims:
        entry = board.published[max((key for key in board.published if f"{claim.id}.".startswith(f"{key}.")), key=len)]
        ours = "-" if claim.ours is None else f"{claim.ours:.5g}"
        spread = "" if claim.ci95 is None else f" ({claim.ci95[0]:.5g} to {claim.ci95[1]:.5g})"
        note = claim.note.removesuffix(entry.note).removesuffix("; ")
        printed = f"{claim.what}; "
        if not isinstance(claim.published, str):
            printed += f"{claim.published:g} {claim.unit} printed ({claim.tolerance or 'no tolerance'}), "
        else:
            assert claim.published == entry.printed
        measured = f"{ours}{spread} {claim.unit}".rstrip()
        counts = f"{claim.verdict}, {claim.kind} {claim.statement}"
        found.append(f"{claim.id}: {printed}{measured} {counts}" + (f" | {note}" if note else ""))
    return "\n".join(found) + "\n"


def judged(name, evidence, scale):
    """The board of a study, each experiment of which gets what it asks for and no more."""
    of = study(name)
    board = Scoreboard(name, engine="synthetic", mode="full", seeds=varied.RUNS, published=of.published())
    for experiment in of.experiments.values():
        own = {one: evidence[one] for one in experiment.settings(scale) if one in evidence}
        experiment.judge(board, own, scale)
    return board


def evaluated(data, *, search):
    """A forest that is too low by a tenth of each prolongation."""
    results = {
        "r2": 0.91, "mse_s2": 1.7, "printed_parameters": {"r2": 0.88}, "settings_left_out": {"r2": 0.37},
        "searched": 288 if search else 0, "best": paper.PRINTED | {"n_estimators": 300},
        "importances": {"day": 0.5, "night": 0.3, "variant": 0.2},
    }  # fmt: skip
    return results, 0.9 * data.seconds()


def of_migration(monkeypatch, *, searched):
    monkeypatch.setattr(paper, "evaluate", evaluated)
    return replace(
        study("migration").scales["full"], single_mib=64, pair_mib=256, kernel_mib=64, group_mib=64, forest_runs=3,
        forest_search=searched,
    )  # fmt: skip


def test_the_board_of_migration(golden, monkeypatch):
    of, scale = study("migration"), of_migration(monkeypatch, searched=0)
    figures = [name for name in of.figures if name != "8-ticks"]
    golden("board-migration.txt", lines(judged("migration", varied.migration(of.settings(scale, figures)), scale)))


def test_a_search_of_the_forests_parameters_has_a_row_and_a_note(monkeypatch):
    of, scale = study("migration"), of_migration(monkeypatch, searched=1)
    board = Scoreboard("migration", engine="synthetic", mode="full", seeds=1, published=of.published())
    of.experiments["8"].judge(board, varied.migration(of.settings(scale, ["8"])), scale)
    best, r2 = board.claims[:2]
    assert (best.id, best.ours, best.verdict) == ("fig8.best", None, "shape-miss")
    assert best.note.startswith(
        "best of 288: n_estimators 300, bootstrap True, max_depth 100, min_samples_leaf 2, min_samples_split 2; "
    )
    assert (r2.id, r2.ours, r2.verdict) == ("fig8.r2", 0.91, "pass")
    assert r2.note.startswith(
        "with whole settings left out R^2 is 0.37; with the best parameters of the search; "
        "with the printed ones R^2 is 0.8800"
    )


def test_the_board_of_lightpath(golden):
    of = study("lightpath")
    scale = of.scales["full"]
    figures = [name for name in of.figures if name not in ("causes", "remedies")]
    golden("board-lightpath.txt", lines(judged("lightpath", varied.lightpath(of.settings(scale, figures)), scale)))
