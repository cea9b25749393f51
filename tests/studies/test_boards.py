"""What is concluded from the tables of a committed result is what its scoreboard says, row by row; so are its tables,
and its page is what follows from the scoreboard.

`tools/page.py --again` judges and draws so. Numbers differ by what the tables round.
"""

import json
import re
import shutil
from dataclasses import replace

import page as pages
import pytest

from daybreak.studies import study
from daybreak.studies.etalon import settings as etalon
from daybreak.studies.scoreboard import Claim

RESULTS = {"etalon": "etalon", "etalon-kernel": "etalon", "space_switch": "space-switch"}
PAGES = RESULTS | {
    "migration": "migration",
    "migration-kernel": "migration",
    "migration-kernel-5.10": "migration",
    "lightpath": "lightpath",
}
OF_CURVES = re.compile(r"\d\.curve\..*|2\.slow|2\.ramp|headline\.buffers|headline\.ramp")
"""Claims about progress and queues over time, which the tables of Etalon do not have."""
OF_RUNS = ("ours", "ci95", "tolerance", "verdict", "note", "explanation")
CASES = [(place, figure) for place, name in RESULTS.items() for figure in study(name).figures]


def of_result(place):
    """The study, the folder, how it was made, and the rows of its scoreboard by id."""
    found, home = study(RESULTS[place]), pages.RESULTS / place
    document = json.loads((home / "scoreboard.json").read_text(encoding="utf-8"))
    return found, home, pages._result(found, home), {row["id"]: row for row in document["claims"]}


def measured(found, home, settings):
    return {one: found.measured(one, found.again(one, home / "tables")) for one in settings}


def rounded(row):
    """A row with room for the sixth digit of its numbers, also of those in texts."""
    near = {name: row[name] if row[name] is None else pytest.approx(row[name], rel=2e-5) for name in ("ours", "ci95")}
    return row | near


@pytest.mark.parametrize(("place", "figure"), CASES)
def test_the_rows_of_a_section_follow_from_the_tables(place, figure):
    found, home, result, rows = of_result(place)
    experiment, board = found.experiments[figure], result.empty()
    evidence = measured(found, home, experiment.settings(result.scale))
    experiment.judge(board, evidence, result.scale)
    section = pages._read(found, home)[figure]
    assert {claim.id for claim in board.claims} == {claim.id for claim in section.claims}
    for claim in board.claims:
        mine, kept = claim.row(), rows[claim.id]
        if place.startswith("etalon") and OF_CURVES.fullmatch(claim.id):
            mine, kept = ({name: row[name] for name in row if name not in OF_RUNS} for row in (mine, kept))
            assert mine == kept
        else:
            assert json.loads(json.dumps(mine)) == rounded(kept)
    for name, table in experiment.tables(evidence, result.scale).items():
        text = (home / "tables" / f"{name}.csv").read_text(encoding="utf-8")
        assert table.write_csv(float_precision=6) == text, name


@pytest.mark.parametrize("place", RESULTS)
def test_a_scoreboard_has_the_sections_and_what_cannot_be_compared(place):
    found, home, result, rows = of_result(place)
    sections = pages._read(found, home)
    assert set(sections) == {*found.figures, pages.REST}
    board = result.empty()
    board.take(Claim.of_row(rows[claim.id]) for name in sections if name for claim in sections[name].claims)
    if board.mode == "full":
        board.complete()
    made = {claim.id: claim.row() for claim in board.claims}
    for claim in sections[pages.REST].claims:
        # A page that is written again keeps the words of what it could not compare.
        assert made[claim.id].pop("note") and rows[claim.id].pop("note")
    assert made == rows


@pytest.mark.parametrize("place", PAGES)
def test_a_page_is_written_again_as_it_is(place, tmp_path, monkeypatch):
    found, home = study(PAGES[place]), pages.RESULTS / place
    (tmp_path / "tables").mkdir()
    monkeypatch.setattr(pages, "save", lambda figure, folder, name: None)
    pages._write(found, tmp_path, pages._read(found, home), pages._result(found, home))
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in written} >= {"results.md", "scoreboard.json", "claims.md"}
    for path in written:
        kept = home / path.relative_to(tmp_path)
        assert path.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8"), path.name


def test_runs_of_other_hosts_are_not_those_of_the_usual_ones(tmp_path):
    found, home, result, _ = of_result("etalon")
    usual = etalon.static(result.scale, "cubic", 4)
    slower = replace(usual, hosts=replace(usual.hosts, delay_ns=2500))
    ours, theirs = (measured(found, home, [one])[one].of("utilisation") for one in (usual, slower))
    assert len(ours) == 3 and len(theirs) == 1 and theirs[0] not in ours
    other = replace(usual, hosts=replace(usual.hosts, hz=1000))
    assert found.again(other, home / "tables") == {}
    shutil.copy(home / "tables" / "values-5.csv", tmp_path)
    assert found.again(usual, tmp_path) and found.again(slower, tmp_path) == {}
