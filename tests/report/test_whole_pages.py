"""Whole pages and exports of hand-made runs, sweeps and studies: every heading, sentence, unit and number."""

import base64
import hashlib
import json
import re
from importlib.resources import files

import hand_made
import polars as pl
import pytest
from hand_made import MS
from test_sweep_table import results

from daybreak import plots
from daybreak.errors import OutputError
from daybreak.explain import Explanation
from daybreak.metrics.explanation import COLUMNS, by_group
from daybreak.report import detail, figure, html, page, perfetto, qlog, runs, study, summary
from daybreak.report import sweep as of_sweep
from daybreak.report.contents import Contents, gather
from daybreak.studies.scoreboard import Claim

BREAKS = re.compile(r"(?=<(?:section|h\d|p|div|dl|dt|tr|details|ul|li|figure|summary|pre)[ >])")


def lines(markup):
    """An element a line, without the blocks that the script reads."""
    text = re.sub(r'(<script type="[^"]*"[^>]*>)[^<]*', r"\1...", str(markup))
    return "\n".join(part for part in BREAKS.split(text) if part) + "\n"


@pytest.fixture
def figures(monkeypatch):
    """In place of the figures of runs."""
    asked = []

    def content(some, *, finer=1, facet=False, **options):
        asked.append((len(some), finer, facet, options["besides"]))
        names = dict.fromkeys(run.manifest["name"] for run in some)
        return hand_made.shown(finer, tuple(names) if facet else ("",))

    # One link more than are listed, and one that carried nothing.
    links = pl.DataFrame(
        {
            "link_name": ["idle", "green", *(f"link <{at}>" for at in range(10))],
            "open_share": [0.0, 0.5, *10 * [1.0]],
            "utilisation": [None, 0.987, *(0.9 - 0.08 * at for at in range(10))],
        }
    )  # fmt: skip
    monkeypatch.setattr(plots, "figure_content", content)
    monkeypatch.setattr(plots, "link_use", lambda some: links)
    return asked


def explained(run, most=4):
    """Three flows, the parts of which are all different."""
    rows = [
        {"flow": number, "flow_name": name, "group": group, "variant": "cubic", "fct_ns": 0}
        | {column: (1 + number) * (1 + at) * 1_000 * (column != "timeout_ns") for at, column in enumerate(COLUMNS)}
        for number, (name, group) in enumerate((("a", "short"), ("b", "short"), ("c <1>", "long")))
    ]
    table = pl.DataFrame(rows[:most]).with_columns(fct_ns=pl.sum_horizontal(COLUMNS))
    return Explanation(run, table, by_group(table), 1, ("one thing is left out", "another as well"))


def test_the_section_of_runs(golden, figures, monkeypatch):
    monkeypatch.setattr(runs, "explain", lambda scenario, seed, engine, kept, *, progress: explained(kept))
    some = (hand_made.run(3), hand_made.run(5, slower=MS))
    text = lines(runs.section(runs.RunGroup(some), explained=True))
    text += lines(runs.section(runs.RunGroup(some[:1]), explained=False))
    golden("report-runs.html", text)
    # First as it is, then with shorter steps.
    asked = [(count, finer, False, ("sequence",)) for count in (2, 1) for finer in (1, 32)]
    assert figures == asked


def test_a_page_of_two_scenarios_side_by_side(golden, figures, monkeypatch):
    monkeypatch.setattr(page, "version", lambda name: "9.8.7")
    other = hand_made.run()
    other.manifest = other.manifest | {"name": "another", "engine": "kernel:6.1"}
    told = []
    text = page.report(
        Contents(runs=[hand_made.run(), other], left_out=["this <folder> holds nothing"]), explained=False,
        progress=lambda *now: told.append(now),
    )  # fmt: skip
    assert told[0] == (0, 2) and told[-1] == (2, 2) and (1, 2) in told and told == sorted(told)
    head, _, body = text.partition("<body>")
    shown = body.partition('<section id="part-1">')[0] + body[body.index("<section><h2>Left out") :]
    shown = re.sub(r"<script>.*?</script>", "<script>...</script>", shown, flags=re.DOTALL)
    meta = re.sub(r"<style>.*?</style>", "<style>...</style>", head, flags=re.DOTALL)
    golden("report-page.html", re.sub(r"sha256-[^']*", "sha256-...", meta) + "<body>" + lines(shown))
    # The script that the policy lets run, and the styles, are those of the package.
    script, style = (files("daybreak.report").joinpath(name).read_text("utf-8") for name in ("page.js", "page.css"))
    assert text.count(f"<script>{script}</script>") == text.count(f"<style>{style}</style>") == 1
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{allowed}'" in text
    titled = page.report(Contents(runs=[hand_made.run()]), title="My <title>", explained=False)
    assert "<title>My &lt;title&gt;</title>" in titled and "Side by side" not in titled


@pytest.mark.parametrize(("count", "is_beside"), [(2, True), (4, True), (5, False)])
def test_up_to_four_scenarios_are_side_by_side(figures, count, is_beside):
    some = [hand_made.run() for _ in range(count)]
    for number, run in enumerate(some):
        run.manifest = run.manifest | {"name": f"scenario {number}", "scenario": {"number": number}}
    assert ("<h2>Side by side</h2>" in page.report(Contents(runs=some), explained=False)) == is_beside


def test_the_data_of_a_figure(golden, figures):
    (document,) = figure.documents(hand_made.shown())
    (fine,) = detail.finer([hand_made.run()], [document], besides=("sequence",))
    run = hand_made.run()
    with_flows = detail.with_flows(document, run)
    assert with_flows["rows"][:2] == document["rows"] and len(with_flows["rows"]) == 3
    under_way = with_flows["rows"][2]
    curve = under_way["curves"][0]
    # Four flows from 0, 1, 2 and 10 ms on; they end at 5, 9 and 41 ms.
    at = {round(time * 1e3, 3): value for time, value in zip(curve["time"], curve["value"], strict=True)}
    assert [at[time] for time in (0.0, 1.0, 2.0, 4.0, 5.0, 9.0, 10.0, 20.0)] == [1, 2, 3, 3, 2, 1, 2, 2]
    curve |= {"time": len(curve["time"]), "value": len(curve["value"])}
    text = [json.dumps(one) for one in (document, under_way, detail.flows(run))]
    assert [len(curve["time"]) for row in fine["rows"] for curve in row["curves"]] == [160] * 3
    golden("report-figure.json", "\n".join(text) + "\n")


@pytest.mark.parametrize(("values", "finer"), [(12_500, 32), (12_501, 31), (200_000, 2), (200_001, None)])
def test_steps_are_as_short_as_all_curves_together_allow(figures, values, finer):
    document = {"rows": [{"curves": [{"time": range(values - 1)}, {"time": range(1)}]}]}
    found = detail.finer([hand_made.run()], [document], besides=())
    assert [one[1] for one in figures] == ([] if finer is None else [finer])
    assert found == [{}] if finer is None else found[0]["rows"]


def test_exports_have_every_event(golden):
    run = hand_made.run()
    some, counted = run.flows.filter(pl.col("flow_name") != "a"), []
    events = [json.dumps(event) for event in perfetto.events(run, some, run.queues, counted.append)]
    golden("perfetto.jsonl", "\n".join(events) + "\n")
    traces = []
    for trace in qlog.traces(run, run.flows, {0: 1448, 1: 1448, 2: 8948, 3: 1460}, counted.append):
        logged = trace.pop("events")
        traces += [json.dumps(trace), *(f"  {json.dumps(event)}" for event in logged)]
    golden("qlog.jsonl", "\n".join(traces) + "\n")


def test_tables_of_flows_groups_and_sizes(golden):
    tables = [summary.flow_table(hand_made.run(seed, slower=seed * MS)) for seed in (1, 2)]
    few = tables[0].head(1).with_columns(pl.col("flow_name").alias("group"))
    parts = {
        "flows of one run": summary.flow_columns(tables[0], is_one_run=True),
        "flows of two": summary.flow_columns(pl.concat(tables), is_one_run=False),
        "a group of its own": summary.flow_columns(few, is_one_run=True),
        "groups": summary.group_columns(summary.group_rows(tables)),
        "groups of one run": summary.group_columns(summary.group_rows(tables[:1])),
        "sizes": summary.size_columns(summary.size_rows(tables)),
    }
    text = [
        line for name, (columns, cells) in parts.items() for line in (name, *(f"  {row}" for row in (columns, *cells)))
    ]
    text += ["rows", *(f"  {json.dumps(row)}" for row in summary.flow_rows(tables[0]))]
    text += [f"  {json.dumps(row)}" for row in (*summary.group_rows(tables), *summary.size_rows(tables))]
    golden("report-tables.txt", "\n".join(text) + "\n")


def test_a_run_without_flows_has_the_headings_alone():
    """Programs may open no connection."""
    flows = summary.flow_table(hand_made.run(1)).clear()
    columns, cells = summary.flow_columns(flows, is_one_run=True)
    assert "size" in columns and cells == []


def claim(number, verdict, **changes):
    known = {
        "id": f"fig{number}.x", "figure": f"{number}", "what": f"claim <{number}>", "published": 1.5 * number,
        "ours": 1.23456789 * number, "unit": "s", "ci95": (number, number + 0.123456), "tolerance": f"{number} %",
        "verdict": verdict, "note": f"note {number}", "kind": "number", "statement": f"fig{number}.x", "fitted": "",
        "explanation": f"why {number}",
    }  # fmt: skip
    return Claim(**known | changes)


def test_the_section_of_a_study(golden, tmp_path):
    (tmp_path / "figures").mkdir()
    for name in ("figure2", "figure1"):
        (tmp_path / "figures" / f"{name}.png").write_bytes(name.encode())
    claims = (
        claim(1, "pass", note="", explanation=""), claim(2, "miss", kind="statement", published="more"),
        claim(3, "shape-pass", explanation="", ci95=None), claim(4, "shape-miss", note="", ours=None),
        claim(5, "left-out", kind="own"), claim(6, "not-evaluated", kind="set-up"), claim(7, "pass", fitted="gap"),
        claim(8, "odd"),
    )  # fmt: skip
    board = {"study": "s", "engine": "kernel", "mode": "quick", "seeds": 3}
    text = lines(study.section(study.Reproduction(tmp_path, board, claims)))
    plain = (claim(1, "pass", note="", explanation=""),)
    text += lines(study.section(study.Reproduction(tmp_path / "none", board, plain)))
    golden("report-study.html", text)


def test_the_section_of_a_sweep(golden, monkeypatch):
    monkeypatch.setattr(of_sweep, "rendered", lambda figure, kind, dpi: f"{kind} {dpi}".encode())
    some = results(
        *((point, seed, "g", 1000, 2.0 + point * seed) for point in range(14) for seed in (1, 2)), points=14, runs=28,
        failures=[{}],
    )  # fmt: skip
    golden("report-sweep.html", lines(of_sweep.section(some)))


@pytest.mark.parametrize(("content", "is_short"), [("x" * 24, True), ("x" * 25, False)])
def test_a_long_cell_may_break_into_lines(content, is_short):
    for cell in (content, html.element("b", content)):
        (found,) = re.findall('<td class="([^"]*)">', html.table(("a",), [(cell,)]))
        assert found == ("words short" if is_short else "words")
    (found,) = re.findall('<td class="([^"]*)">', html.table(("a",), [(content,)], numeric="a"))
    assert found == ("number short" if is_short else "number")


def test_folders_are_searched_to_a_depth_and_neither_hidden_nor_over_links(tmp_path):
    board = json.dumps({"study": "s", "engine": "e", "mode": "full", "seeds": 1, "claims": []})

    def place(*names):
        folder = tmp_path.joinpath(*names)
        folder.mkdir(parents=True)
        (folder / study.SCOREBOARD).write_text(board)
        return folder

    found = [place("b"), place("a", "1", "2", "3")]
    place("a", "1", "2", "3", "4"), place(".hidden"), place("elsewhere", "1", "2", "3", "4")
    (tmp_path / "c").symlink_to(tmp_path / "b")
    assert [one.folder for one in gather([tmp_path]).studies] == found[::-1]
    assert [one.folder for one in gather([tmp_path / "c"]).studies] == [tmp_path / "c"]
    with pytest.raises(OutputError, match="elsewhere"):
        gather([tmp_path / "elsewhere" / "1" / "none"])


def test_the_first_200_flows_are_listed_run_by_run():
    flows = summary.flow_table(hand_made.run()).head(1)
    many = pl.concat([flows.with_columns(flow_name=pl.lit(f"f{number}")) for number in range(201)])
    later = flows.with_columns(seed=pl.lit(2, pl.UInt64), flow_name=pl.lit("later"))
    listed = re.findall("<td class=[^>]*>(f[0-9]+|later)</td>", str(runs._flows([many, later])))
    assert listed == [f"f{number}" for number in range(200)]
    listed = re.findall("<td class=[^>]*>(f[0-9]+|later)</td>", str(runs._flows([many.head(199), later])))
    assert listed == [*(f"f{number}" for number in range(199)), "later"]


def test_a_page_has_studies_then_sweeps_then_runs_with_their_progress(figures, tmp_path):
    found = study.Reproduction(tmp_path, {"study": "s", "engine": "e", "mode": "full", "seeds": 1}, (claim(1, "pass"),))
    some = results((0, 1, "g", 1000, 2.0), (1, 1, "g", 1000, 3.0), points=2, runs=2)
    told = []
    text = page.report(
        Contents([found], [hand_made.run()], [some]), explained=False, progress=lambda *now: told.append(now)
    )
    parts = re.findall('<section id="part-([0-9])"><h2>([^<]*)</h2>', text)
    assert parts == [("1", "Study s (e)"), ("2", "sweep (sweep)"), ("3", "by hand (simulated)")]
    assert str(of_sweep.section(some)) in text and str(study.section(found)) in text
    assert told == [(0, 3), (1, 3), (2, 3), (2 + runs._FIGURED, 3), (3, 3)]
