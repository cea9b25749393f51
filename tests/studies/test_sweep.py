"""The sweep over the testbed's buffer."""

import csv
from dataclasses import replace

import synthetic

from daybreak.scenario.lowering import lower
from daybreak.studies.migration import sweep
from daybreak.studies.migration.claims import CLAIMS
from daybreak.studies.migration.reproduce import PUBLISHED
from daybreak.studies.migration.settings import KERNEL_BUFFER, SCALES, kernel_rows, kernel_setting, of_figure
from daybreak.studies.migration.testbed import scenario
from daybreak.studies.scoreboard import Scoreboard, load_published

FULL = SCALES["full"]


def judged(profile, buffer):
    scale = replace(FULL, buffer=buffer)
    board = Scoreboard("migration", engine="simulated", mode="full", seeds=5, published=load_published(PUBLISHED))
    CLAIMS["7"](board, synthetic.evidence(profile, scale), scale)
    return board.claims


def loopback_packets(setting):
    queues = lower(scenario(setting), 1).content.queues
    return next(queue.limit_packets for queue in queues if queue.name == "green")


def test_the_tables_have_a_column_and_a_row_for_each_buffer(tmp_path):
    found = {200: judged(synthetic.paper, 200), 350: judged(synthetic.contrary, 350)}
    sweep.write(found, 5, tmp_path)
    claims = list(csv.DictReader((tmp_path / "claims-5-runs.csv").open(encoding="utf-8")))
    assert [row["claim"] for row in claims] == [claim.id for claim in found[200]]
    assert not any(row["200 packets"].endswith("*") for row in claims)
    assert any(row["350 packets"].endswith("*") for row in claims)
    first, second = csv.DictReader((tmp_path / "counts-5-runs.csv").open(encoding="utf-8"))
    assert (first["packets"], first["hold"], first["miss"]) == ("200", first["claims"], "")
    assert int(second["hold"]) == int(second["claims"]) - len(second["miss"].split())


def test_the_buffer_reaches_the_links_but_not_those_that_the_kernel_was_run_with():
    scale = replace(FULL, buffer=77)
    for figure in sweep.FIGURES:
        for setting in of_figure(figure, scale):
            assert loopback_packets(setting) == 77
    for row in kernel_rows():
        assert loopback_packets(kernel_setting(scale, row)) == KERNEL_BUFFER
