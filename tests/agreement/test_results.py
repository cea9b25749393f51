"""Whole results: what is concluded from the rows of the committed ones, and a document and a page of made-up runs."""

import json
from dataclasses import fields, replace

import pytest
from agreement.made_up import case, observed
from ready_files import ROOT

from daybreak.agreement import causes, compare, fidelity, page, plots, result, segments, suite, tolerances
from daybreak.agreement.compare import NOT_EVALUATED, Row
from daybreak.metrics.confidence import Interval

FIDELITY = ROOT / "docs/fidelity"
LIMITS = tolerances.load()
NUMBERS = ("difference", "relative", "permutation_p", "equivalence_p")


def number(value):
    return float("nan") if value is None else value


def of_row(row):
    """The row that stands in a document."""
    words = {name: row[name] for name in ("scenario", "metric", "of", "unit", "verdict", "note", "judgement")}
    means = {
        engine: Interval(*(number(row[engine][name]) for name in ("mean", "low", "high")), row[engine]["runs"])
        for engine in ("kernel", "model")
    }
    return Row(**words, **means, **{name: number(row[name]) for name in NUMBERS})


@pytest.fixture(scope="module")
def committed():
    return result.read(FIDELITY / "agreement.json")


@pytest.fixture(scope="module")
def rows(committed):
    return [of_row(row) for row in committed["rows"]]


def test_the_committed_document_follows_from_its_rows(committed, rows):
    found = result.document(
        rows, suite.load(), runs=tuple(committed["runs"]), programs=committed["programs"], tolerances=LIMITS,
        causes=causes.load(), refused={entry["scenario"]: entry["why"] for entry in committed["refused"]},
    )  # fmt: skip
    assert found == committed
    assert result._text(found) == (FIDELITY / "agreement.json").read_text(encoding="utf-8")


def test_the_committed_judgements_and_verdicts_follow_from_the_numbers_beside_them(rows):
    again = compare.judged([replace(row, judgement=None) for row in rows])
    assert [row.judgement for row in again] == [row.judgement for row in rows]
    assert {row.judgement for row in rows} == {None, "equivalent", "different", "undecided"}
    for row in rows:
        if row.metric != "queue" and row.verdict != NOT_EVALUATED:
            holds = LIMITS.metric[row.metric].holds(row.difference, row.kernel.mean)
            assert row.verdict == ("pass" if holds else "miss"), row


@pytest.mark.parametrize("side", segments.SIDES)
def test_the_committed_replays_are_summed_up_from_their_flows(side):
    kept = segments.read(FIDELITY / segments.result_name(side))
    names = [field.name for field in fields(segments.ReplayResult)]
    ends = [segments.ReplayResult(**{name: flow[name] for name in names}) for flow in kept["flows"]]
    found = segments.document(ends, programs=kept["programs"], seeds=kept["seeds"], quick=False)
    assert found == {name: value for name, value in kept.items() if name != "linux"}


MIXED = case(name="mixed", what="Two rules", flows="cubic+2 reno", packets=4000)
MOVED = case(name="moved", what="A flow < moves", flows="2 cubic", packets=4000, period="20 ms", night="1 ms")
ONE = case(name="one", what="Each ends on one engine", packets=4000)


def made_up():
    """Runs of three cases on both engines: with small differences, with large ones, and with a flow that never ends."""

    def mixed(longer, run, **more):
        bins = {"cubic-0": 30 + run + longer, "reno-1": 35 + run, "reno-2": 38 - longer}
        return observed(MIXED, bins, retransmits=40 + run + longer, rtos=run, **more)

    def moved(longer, run):
        bins = {"main-0": 30 + run, "moved-1": 40 + longer * run}
        return observed(MOVED, bins, retransmits=70 * longer, rtos=9 * longer + run, window=1e5, queue=10 + 3 * longer)

    runs = range(1, 4)
    return [
        (MIXED, [mixed(0, run) for run in runs], [mixed(1, run, window=1.05e5, queue=14) for run in runs]),
        (MOVED, [moved(1, run) for run in runs], [moved(4, run) for run in runs]),
        (ONE, [observed(ONE, {"cubic-0": 20}) for _ in runs], [observed(ONE, {"cubic-0": None}) for _ in runs]),
    ]


@pytest.fixture(scope="module")
def judged():
    found = [row for one, *runs in made_up() for row in compare.compare(one, *runs, LIMITS)]
    return compare.judged(found)


def document(judged, **more):
    known = [causes.Cause(scenario="m*", metric="fct", cause="a cause & its <reason>")]
    return result.document(
        judged, [MIXED, MOVED, ONE], runs=(3, 5), programs={"kernel": "an <image>", "simulated": "a module"},
        tolerances=LIMITS, causes=known, refused={"other": "why not"}, **more,
    )  # fmt: skip


def test_a_document_of_made_up_runs(golden, judged):
    golden("agreement.json", result._text(document(judged)))
    assert json.loads(result._text(document(judged))) == document(judged)


@pytest.mark.parametrize(("engines", "name"), [
    (("kernel", "simulated"), "agreement.html"), (("kernel:6.1", "kernel:6.12@250"), "agreement-of-kernels.html"),
])  # fmt: skip
def test_a_page_of_made_up_runs(golden, judged, engines, name, monkeypatch):
    monkeypatch.setattr(plots, "png", lambda figure: b"a picture")
    found = document(judged, engines=engines)
    found["programs"] = dict(zip(engines, ("an <image>", "a module"), strict=True))
    sections = [
        page.section(one, *runs, [row for row in judged if row.scenario == one.name]) for one, *runs in made_up()
    ]
    text = page.write(found, sections[:1] if "kernels" in name else sections)
    golden(name, text.replace("</tr>", "</tr>\n").replace("</thead>", "</thead>\n"))


def test_the_tables_of_a_page_with_made_up_runs(golden, judged):
    found = document(judged)
    judgement = {"judgement": "different", "permutation_p": 0.0123}
    found["rows"] = [row | judgement if row["metric"] in ("fct", "share") else row for row in found["rows"]]
    text = "".join(f"{name}\n\n{make(found)}\n" for name, make in fidelity.TABLES.items())
    none = found | {"rows": [], "refused": []}
    text += "".join(f"no {name}\n\n{fidelity.TABLES[name](none)}\n" for name in ("different", "refused"))
    flows = [
        segments.ReplayResult("one", 1, "a", "reno", 100, 3, same=100, other_push=2, other_time=5, model=100),
        segments.ReplayResult("one", 2, "b", "cubic", 50, 7, same=50, other_push=1, other_time=4, model=50),
        segments.ReplayResult("two", 1, "c", "cubic", 30, 1, same=20, other_push=0, other_time=1, model=31),
    ]
    ends = [*flows, segments.LeftOut("two", 1, "d", "why"), segments.LeftOut("two", 2, "d", "why")]
    replayed = segments.document(ends, programs=found["programs"], seeds=[1, 2], quick=False)
    for source in ("segments", "receivers"):
        text += "".join(f"{source} {name}\n\n{make(replayed)}\n" for name, make in fidelity.SOURCES[source].items())
    golden("fidelity.md", text)
