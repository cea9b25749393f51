"""How a page is put together: what leads where, which colour is whose, and what a figure's numbers may be."""

import json
import re

import polars as pl
import pytest

import daybreak
from daybreak.errors import OutputError
from daybreak.figures.curves import Panel
from daybreak.figures.explanation import COLOURS
from daybreak.figures.stacked import Facet, Row
from daybreak.figures.style import words
from daybreak.metrics.explanation import PARTS
from daybreak.plots import FigureContent
from daybreak.report import figure, page, study
from daybreak.report.contents import gather
from daybreak.studies import variation
from daybreak.sweeps.folder import claim

CLAIM = {
    "id": "fig1.x", "figure": "1", "what": "a claim", "published": 2.0, "ours": 2.01234567, "unit": "s",
    "ci95": [1.9, 2.1], "tolerance": "2 %", "verdict": "pass", "note": "", "kind": "number",
    "statement": "fig1.x", "fitted": "", "explanation": "",
}  # fmt: skip


def shown(folders):
    return page.report(gather(folders))


def board(**changes):
    known = {"study": "migration", "engine": "simulated", "mode": "full", "seeds": 30, "claims": [CLAIM]}
    return json.dumps(known | changes)


@pytest.fixture
def folders(tmp_path, migration):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / study.SCOREBOARD).write_text(board(study=name))
    run = daybreak.run(migration.with_({"flows.0.size": "2 MiB", "flows.1.size": "2 MiB", "timelines.0.night": "1 ms"}))
    run.write(tmp_path / "run")
    return [tmp_path / "one", tmp_path / "two", tmp_path / "run"]


def test_every_part_has_a_link_that_leads_to_it(folders):
    content = shown(folders)
    links = re.findall(r'<a href="#([^"]*)">(.*?)</a>', content)
    parts = re.findall(r'<section id="([^"]*)"><h2>(.*?)</h2>', content)
    assert links == parts and len(parts) == 3 and len({name for name, _ in parts}) == 3
    assert "<nav>" not in shown(folders[:1]), "one part needs none"
    assert re.search(r"<main><noscript><p>[^<]*JavaScript[^<]*</p></noscript><section", content)
    assert re.search(r"<header><h1>[^<]+</h1><p>Made by Daybreak [^<]+</p><nav>", content)
    assert content.startswith("<!DOCTYPE html>") and content.rstrip().endswith("</body>\n</html>")


def test_the_title_names_the_first_two_parts(folders):
    def title(*chosen):
        return re.search("<title>(.*?)</title>", shown(list(chosen))).group(1)

    one, two, run = folders
    assert title(one) == "Study one (simulated)"
    assert title(one, two) == "Study one (simulated) and Study two (simulated)"
    assert title(one, two, run) == "Study one (simulated) and Study two (simulated) ..."


def test_a_run_that_is_given_twice_is_one(folders, tmp_path):
    daybreak.read(folders[2]).write(tmp_path / "copy")
    content = shown([folders[2], tmp_path / "copy"])
    assert content.count("<section") == 1 and "<dt>seeds</dt><dd>1</dd>" in content


def test_facts_are_terms_with_what_they_are(folders):
    content = shown([folders[0]])
    facts = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", content)
    assert facts == [("engine", "simulated"), ("mode", "full"), ("runs of a setting", "30")]
    (row,) = re.findall("<tbody><tr>(.*?)</tr></tbody>", content)
    cells = [re.sub("<[^>]*>", "", cell) for cell in re.findall("<td[^>]*>(.*?)</td>", row)]
    assert cells == ["1", "pass", "number", "a claim", "2", "2.012", "1.9 to 2.1", "s", "2 %"]


def test_a_part_of_an_explanation_has_one_colour_in_its_bars_and_in_the_key(folders):
    content = shown([folders[2]])
    key = dict(re.findall(r'<span><i style="background:([^"]*)"></i>(.*?)</span>', content))
    key = {words.replace(" ", "_"): colour for colour, words in key.items()}
    assert len(key) > 2 and key == {part: COLOURS[part] for part in PARTS if part in key}
    bars = re.findall(r'<i title="(.*?): [0-9.]+ ms" style="width:[0-9.]+%;background:([^"]*)">', content)
    assert {words.replace(" ", "_") for words, _ in bars} == set(key)
    assert {key[words.replace(" ", "_")] == colour for words, colour in bars} == {True}


def test_a_figure_has_numbers_or_null_with_as_many_digits_as_show():
    inf, nan = float("inf"), float("nan")
    values = [1.23456789, None, nan, inf, -inf, 0.0]
    table = pl.DataFrame({"time_s": [0.123456789012, 1.0, 2.0, 3.0, 4.0, 5.0], "mean": values})
    curves = {"a": table.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))}
    curves["b"] = table.with_columns(low=pl.lit(1.0), high=pl.lit(2.0))
    panel = Panel(title="", curves=curves)
    (row,) = figure.documents(FigureContent((Facet("", (Row(panel, "Rate\n[Gbit/s]"),)),), "", "", "Time", ()))[0][
        "rows"
    ]
    plain, ranged = row["curves"]
    assert plain["value"] == [1.2346, None, None, None, None, 0.0] and plain["time"][0] == 0.123456789
    assert "low" not in plain and (ranged["low"][0], ranged["high"][0]) == (1.0, 2.0)
    assert (row["label"], row["unit"]) == ("Rate", "Gbit/s")
    assert json.dumps(row, allow_nan=False)


def test_names_are_as_they_were_before_they_were_escaped_for_a_picture():
    """A dollar sign begins a formula there, and a name with an underscore at its beginning is left out of a key."""
    names = ["_mine", "$x$ and $y$", "plain"]
    table = pl.DataFrame({"time_s": [0.0], "mean": [1.0], "low": [None], "high": [None]})
    panel = Panel(title="", curves={words(name): table for name in names})
    for name in names:
        facet = Facet(words(name), (Row(panel, "Queue\n[packets]"),))
        (document,) = figure.documents(FigureContent((facet, Facet("empty", ())), "", "", "Time [s]", ()))
        assert (document["title"], document["xlabel"]) == (name, "Time [s]")
        assert [curve["name"] for curve in document["rows"][0]["curves"]] == names


@pytest.mark.parametrize(("purpose", "said"), [
    ("sweep", "a sweep whose tables cannot be read, or are not finished"),
    ("agreement", "a comparison of the engines, which has a page of its own"),
    ("advice", "advice of daybreak tune"),
    ("learn", "a model of prolongations"),
    ("study migration", "the study migration, which was not finished"),
])  # fmt: skip
def test_what_a_page_does_not_show_is_named_by_what_made_it(folders, tmp_path, purpose, said):
    place = tmp_path / "other"
    claim(place, purpose)
    assert gather([folders[0], place]).left_out == [f"{place} holds {said}"]
    assert f"{place} holds {said}" in shown([folders[0], place])
    with pytest.raises(OutputError, match=f"there is no run, sweep or study to show: .*{said}"):
        gather([place])


def test_a_sensitivity_is_named_as_finished_if_it_is(folders, tmp_path):
    place = tmp_path / "other"
    claim(place, "sensitivity of study migration")
    (said,) = gather([folders[0], place]).left_out
    assert said == f"{place} holds the sensitivity of study migration, which was not finished"
    variation.save([], place / variation.FILE)
    (said,) = gather([folders[0], place]).left_out
    assert said == f"{place} holds the sensitivity of study migration"
