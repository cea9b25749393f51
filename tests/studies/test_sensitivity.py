"""Claims judged with several values of an inference: here of the testbed's buffer."""

import csv
from dataclasses import replace

import pytest
import synthetic

from daybreak.errors import ScenarioError, UnknownName
from daybreak.scenario.lowering import lower
from daybreak.studies import sensitivity
from daybreak.studies.migration.settings import KERNEL_BUFFER, SCALES, kernel_rows, kernel_setting, of_figure
from daybreak.studies.migration.study import STUDY
from daybreak.studies.migration.testbed import scenario
from daybreak.studies.scales import varied
from daybreak.studies.scoreboard import Scoreboard

FULL = SCALES["full"]


def judged(profile, buffer):
    scale = replace(FULL, buffer=buffer)
    board = Scoreboard("migration", engine="simulated", mode="full", seeds=5, published=STUDY.published())
    STUDY.experiments["7"].judge(board, synthetic.evidence(profile, scale), scale)
    return board.claims


def loopback_packets(setting):
    queues = lower(scenario(setting), 1).content.queues
    return next(queue.limit_packets for queue in queues if queue.name == "green")


def test_the_tables_have_a_column_and_a_row_for_each_buffer(tmp_path):
    found = {"200": judged(synthetic.paper, 200), "350": judged(synthetic.contrary, 350)}
    sensitivity.write(found, "buffer", 5, tmp_path)
    claims = list(csv.DictReader((tmp_path / "claims-5-runs.csv").open(encoding="utf-8")))
    assert [row["claim"] for row in claims] == [claim.id for claim in found["200"]]
    assert not any(row["buffer 200"].endswith("*") for row in claims)
    assert any(row["buffer 350"].endswith("*") for row in claims)
    first, second = csv.DictReader((tmp_path / "counts-5-runs.csv").open(encoding="utf-8"))
    assert (first["buffer"], first["hold"], first["miss"]) == ("200", first["claims"], "")
    assert int(second["hold"]) == int(second["claims"]) - len(second["miss"].split())


def test_the_buffer_reaches_the_links_but_not_those_that_the_kernel_was_run_with():
    scale = replace(FULL, buffer=77)
    for figure in ("4", "5", "6a", "6b", "7"):
        for setting in of_figure(figure, scale):
            assert loopback_packets(setting) == 77
    for row in kernel_rows():
        assert loopback_packets(kernel_setting(scale, row)) == KERNEL_BUFFER


def test_a_field_of_the_scale_takes_each_value(tmp_path, monkeypatch):
    tiny = replace(FULL, pair_mib=4)
    monkeypatch.setitem(SCALES, "full", tiny)
    found = sensitivity.judge(STUDY, "buffer", ["100", "300"], figures=["7"], seeds=1, out=tmp_path)
    assert list(found) == ["100", "300"]
    assert [claim.id for claim in found["100"]] == [claim.id for claim in found["300"]]
    assert len(list((tmp_path / "runs").glob("??/*"))) == 2 * len(of_figure("7", tiny))
    assert STUDY.scales["full"] == tiny


def test_what_cannot_be_varied_is_named():
    with pytest.raises(UnknownName, match='field: "speed" is not one of single_mib, pair_mib'):
        varied(STUDY.scales["full"], {"speed": "1"})
    with pytest.raises(ScenarioError, match='buffer: "many" is not of type int'):
        varied(STUDY.scales["full"], {"buffer": "many"})


def test_the_committed_tables_are_of_todays_claims():
    rows = csv.DictReader(STUDY.folder.joinpath("buffer", "claims-10-runs.csv").open(encoding="utf-8"))
    assert rows.fieldnames[:3] == ["claim", "published", "buffer 100"]
    published = STUDY.published()
    assert all(any(row["claim"].startswith(key) for key in published) for row in rows)
