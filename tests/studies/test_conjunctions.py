"""Statements with two conditions: each of them alone is not enough."""

from dataclasses import replace

import pytest
import synthetic

from daybreak.studies.migration.claims import figure4, figure6
from daybreak.studies.migration.settings import SCALES, pair
from daybreak.studies.migration.study import STUDY
from daybreak.studies.scoreboard import Scoreboard

SMALL = replace(SCALES["full"], pair_mib=64)


def runs_of(rates, period=50):
    """Pairs of flows by the main one's variant, with the rates of the migrated and of the main flow in Gb/s."""

    def profile(setting):
        migrated, main = rates[setting.main]
        return {"migrated": synthetic.Course((migrated,) * 3), "main": synthetic.Course((main,) * 3)}

    return {main: synthetic.measured(pair(SMALL, "cubic", main, period), profile, 3) for main in rates}


def verdicts(judge):
    board = Scoreboard("migration", engine="synthetic", mode="full", seeds=3, published=STUDY.published())
    judge(board)
    return {claim.id: claim.verdict for claim in board.claims}


@pytest.mark.parametrize(("bbr", "reno", "westwood", "held"), [
    ((9, 3), (5, 5.1), (3, 7), {"cubic_above_bbr", "reno_fairest", "westwood_dominates"}),
    # Westwood is above CUBIC, and another main flow has a larger share of its link.
    ((1, 9.5), (5, 5.1), (4, 6), {"reno_fairest"}),
    # Westwood has the largest share of the main flows, and CUBIC has more.
    ((9, 1), (9, 2), (6, 4), {"cubic_above_bbr"}),
    # CUBIC's mean is above that of BBR, and their intervals overlap.
    ((5.001, 5.0), (5, 5.1), (3, 7), {"westwood_dominates"}),
])  # fmt: skip
def test_orders_of_figure_6(bbr, reno, westwood, held):
    found = verdicts(lambda board: figure6.order(board, runs_of({"bbr": bbr, "reno": reno, "westwood": westwood}), "a"))
    assert {name.split(".")[1] for name, verdict in found.items() if verdict == "shape-pass"} == held


@pytest.mark.parametrize(("migrated", "main", "holds"), [
    (4.0, 4.0, True), (4.51, 5.49, True), (4.49, 5.51, False), (5.49, 4.51, True), (5.51, 4.49, False),
])  # fmt: skip
def test_fair_is_from_45_to_55_percent(migrated, main, holds):
    (run,) = runs_of({"cubic": (migrated, main)}, period=10).values()
    found = verdicts(lambda board: figure4.shared_fairly(board, run))
    assert (found["fig4.fair"] == "shape-pass") == holds


@pytest.mark.parametrize(("rate", "is_full"), [(9.52, True), (9.48, False)])
def test_a_flow_has_ramped_up_at_95_percent_of_its_link(rate, is_full):
    (run,) = runs_of({"cubic": (rate, 9.0)}, period=10).values()
    assert (verdicts(lambda board: figure4.shared_fairly(board, run))["fig4.ramp_up"] == "shape-pass") == is_full
