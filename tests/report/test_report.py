"""The page of `daybreak report`: what it says, that it needs nothing else, and that names are only text."""

import base64
import json
import os
import re
import shutil
from html.parser import HTMLParser

import pytest
from cli.program import daybreak, one_sentence
from ready_files import ROOT
from report import chromium

import daybreak as package
from daybreak.errors import OutputError, UsageError
from daybreak.report import html, page, writing
from daybreak.report.contents import Contents, gather
from daybreak.runs import read

WICKED = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&$x$"
SCENARIO = {
    "name": WICKED,
    "description": f"A <b>flow</b> that is moved {WICKED}",
    "duration": "10 s",
    "topology": {"kind": "migration_testbed", "queue": "60 packets"},
    "flows": [
        {"name": "migrated", "from": "sender-migrated", "to": "receiver-migrated", "size": "4 MiB", "ack_via": "bypass",
         "start": {"uniform": ["0 s", "1 ms"]}},
        {"name": WICKED, "group": "<i>main</i>", "from": "sender-main", "to": "receiver-main", "size": "4 MiB",
         "via": "green", "ack_via": "bypass"},
    ],
    "timelines": [
        {"kind": "migrate", "name": "migrated", "group": "migrated", "between": ["blue", "green"], "period": "3 ms",
         "night": "200 us"}
    ],
    "records": {"bins": "100 us", "window": "100 us", "queues": "100 us"},
}  # fmt: skip
CLAIM = {
    "id": "fig1.x", "figure": "1", "what": f"a claim {WICKED}", "published": 1.0, "ours": 1.01, "unit": "s",
    "ci95": [1.0, 1.02], "tolerance": "2 %", "verdict": "pass", "note": WICKED, "kind": "number",
    "statement": "fig1.x", "fitted": "", "explanation": "",
}  # fmt: skip
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
BOARD = {"study": "migration", "engine": "simulated", "mode": "full", "seeds": 30}


class Structure(HTMLParser):
    """The elements of a page with their attributes, and its text outside of scripts and styles."""

    def __init__(self, content):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(content)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two runs of a scenario whose names are markup, and a study's folder with a miss."""
    base = tmp_path_factory.mktemp("report")
    scenario = package.Scenario.parse(SCENARIO)
    for seed in (1, 2):
        package.run(scenario, seed=seed).write(base / "runs" / f"seed-{seed}")
    study = base / "study"
    (study / "figures").mkdir(parents=True)
    (study / "figures" / "figure1.png").write_bytes(PIXEL)
    miss = CLAIM | {
        "id": "fig1.y",
        "statement": "fig1.y",
        "kind": "statement",
        "what": "another",
        "verdict": "shape-miss",
        "published": "less",
        "ci95": None,
    }
    (study / "scoreboard.json").write_text(json.dumps(BOARD | {"claims": [CLAIM, miss]}))
    return [base / "runs", study]


@pytest.fixture(scope="module")
def content(folders):
    return page.report(gather(folders))


def test_the_page_says_what_was_run_and_what_came_of_it(folders, content):
    structure = Structure(content)
    text = "\n".join(structure.texts)
    run = read(folders[0] / "seed-1")
    for said in (
        "simulated",
        "1, 2",
        run.manifest["plan_hash"][:16],
        "1 of 1 printed number within the tolerance and 0 of 1 printed statement held",
        "2 of 2",
        "migrate",
    ):
        assert said in text, said
    assert run.manifest["versions"]["program"][:48] in text
    assert {"section", "table", "dl"} <= {name for name, _ in structure.elements}
    assert [a["data-verdict"] for a in structure.named("button")] == ["pass", "shape-miss"]


def test_the_page_needs_nothing_else(content):
    structure = Structure(content)
    for tag, attributes in structure.elements:
        for name in ("src", "href", "action", "srcset", "poster"):
            value = attributes.get(name, "")
            assert not value or value.startswith(("data:image/png;base64,", "#part-")), (tag, value)
    policy = next(a["content"] for a in structure.named("meta") if "http-equiv" in a)
    assert policy.startswith("default-src 'none'") and "unsafe-eval" not in policy
    style = content[content.index("<style>") : content.index("</style>")]
    assert "url(" not in style and "@import" not in style
    assert len(content) < 5_000_000


def test_names_are_text_whatever_they_are(content):
    structure = Structure(content)
    assert WICKED in "".join(structure.texts)
    assert not [a for _, a in structure.elements if any(name.startswith("on") for name in a)]
    scripts = structure.named("script")
    # Two of data for the figure, and the page's own, which is the only one that the policy lets run.
    assert [a.get("type") for a in scripts] == ["application/json", "text/plain", None]
    assert not structure.named("b")
    assert all("style" in attributes for attributes in structure.named("i"))
    assert len(structure.named("img")) == 1


def test_figures_have_the_numbers_of_the_run(content):
    block = re.search(r'<script type="application/json">(.*?)</script>', content).group(1)
    figure = json.loads(block)
    labels = [row["label"] for row in figure["rows"]]
    assert labels[0] == "Throughput" and "cwnd" in labels
    names = [curve["name"] for curve in figure["rows"][0]["curves"]]
    assert names[0] == "migrated" and WICKED[:20] in names[1] and "\\$" not in names[1]
    assert {one["kind"] for one in figure["shading"]} == {"day", "night"}
    for row in figure["rows"]:
        for curve in row["curves"]:
            assert len(curve["time"]) == len(curve["value"]) > 1


def test_the_parts_of_an_explanation_add_up_in_the_page(content):
    table = content[content.index("<summary>The numbers</summary>") :]
    rows = re.findall(r"<tr>(.*?)</tr>", table[: table.index("</table>")])[1:]
    # Two flows, each a group of its own.
    assert len(rows) == 2
    for row in rows:
        whole, *parts = [float(cell) for cell in re.findall(r'<td class="number short">([0-9.]+)</td>', row)]
        assert whole > 0 and sum(parts) == pytest.approx(whole, rel=1e-5)


def test_a_page_is_the_same_bytes_again(folders, content):
    assert page.report(gather(folders)) == content


@pytest.fixture
def mixed(folders, tmp_path):
    """A study with runs in a folder of it, runs of another scenario beside, a sweep, and a run that was interrupted."""
    place = tmp_path / "results"
    shutil.copytree(folders[1], place / "study")
    shutil.copytree(folders[0], place / "study" / "kept")
    other = package.Scenario.parse(SCENARIO | {"name": "other"})
    package.run(other.with_({"flows.0.size": "20 kB"})).write(place / "other")
    (place / "grid").mkdir()
    (place / "grid" / ".daybreak").write_text("sweep\n")
    (place / "late").mkdir()
    shutil.copy(place / "other" / "manifest.json", place / "late" / "manifest.unfinished.json")
    return place


def test_a_folder_of_studies_and_runs_is_shown_in_full_and_what_is_left_out_is_named(mixed, tmp_path):
    found = gather([mixed])
    assert [one.folder for one in found.studies] == [mixed / "study"]
    assert [run.manifest["name"] for run in found.runs] == ["other", WICKED, WICKED]
    assert found.left_out == [
        f"{mixed / 'grid'} holds a sweep whose tables cannot be read, or are not finished",
        f"{mixed / 'late'} holds a run that was not finished",
    ]
    page_ = "\n".join(Structure(page.report(found, explained=False)).texts)
    for said in ("Study", "other (simulated)", WICKED, "Left out", *found.left_out):
        assert said in page_, said
    done = daybreak("report", str(mixed), "-o", str(tmp_path / "x.html"), "--no-explain")
    assert done.returncode == 0 and all(f"left out: {sentence}" in done.stdout for sentence in found.left_out)
    # The study's own folder with runs in it, and a run that is given twice.
    assert len(gather([mixed / "study"]).runs) == 2
    assert len(gather([mixed / "study", mixed]).runs) == 3


def test_a_folder_with_nothing_to_show_says_what_is_there(mixed):
    with pytest.raises(OutputError, match=r"there is no run, sweep or study to show: .*grid holds a sweep"):
        gather([mixed / "grid"])


def test_attributes_and_data_cannot_be_broken():
    assert html.element("p", "a<b", title='"><x') == '<p title="&quot;&gt;&lt;x">a&lt;b</p>'
    assert "<" not in html.data({"a": "</script><!--"})[len('<script type="application/json">') : -len("</script>")]
    assert html.element("p", "\x00\x1b") == "<p>\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}</p>"


def test_a_folder_that_is_no_run_is_one_sentence(tmp_path):
    done = daybreak("report", str(tmp_path), "-o", str(tmp_path / "x.html"))
    assert done.returncode == 1 and one_sentence(done.stderr)
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize("text", ["", "[]", '{"study": 1}', '{"claims": [{}]}', '{"study": 1, "engine": 2, "mode": 3,'
                                  ' "seeds": 4, "claims": [1]}'])  # fmt: skip
def test_a_broken_scoreboard_is_one_sentence(text, tmp_path):
    (tmp_path / "scoreboard.json").write_text(text)
    done = daybreak("report", str(tmp_path), "-o", str(tmp_path / "x.html"))
    assert done.returncode == 1 and one_sentence(done.stderr) and "scoreboard.json" in done.stderr


def test_only_a_report_is_replaced(folders, tmp_path):
    place = tmp_path / "page.html"
    place.write_text("mine")
    done = daybreak("report", str(folders[1]), "-o", str(place))
    assert done.returncode == 1 and one_sentence(done.stderr) and place.read_text() == "mine"
    assert daybreak("report", str(folders[1]), "-o", str(place), "--force").returncode == 0
    assert daybreak("report", str(folders[1]), "-o", str(place)).returncode == 0
    assert os.listdir(tmp_path) == ["page.html"]


def test_another_ending_is_refused_before_anything_is_done(tmp_path):
    with pytest.raises(UsageError, match=r"ends in \.html"):
        writing.check(tmp_path / "report.pdf")


def test_a_full_disk_is_one_sentence_and_leaves_what_was_there(content, monkeypatch, tmp_path):
    place = writing.write(content, tmp_path / "page.html")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("daybreak.plots.files.tempfile.NamedTemporaryFile", full)
    with pytest.raises(OutputError, match=r"page.html cannot be written: no space left on device$"):
        writing.write(content + " ", place)
    assert place.read_text() == content


def test_what_cannot_be_explained_is_said(tmp_path):
    document = SCENARIO | {"name": "plain", "flows": [flow | {"size": "unlimited"} for flow in SCENARIO["flows"]]}
    package.run(package.Scenario.parse(document | {"duration": "5 ms"})).write(tmp_path / "run")
    assert "nothing to explain" in page.report(gather([tmp_path / "run"]))


@pytest.fixture(scope="module")
def file(content, tmp_path_factory):
    return writing.write(content, tmp_path_factory.mktemp("page") / "report.html")


@chromium.needs_chromium
@pytest.mark.parametrize("width", [1280, 390])
def test_a_real_browser_shows_the_page(file, width):
    with chromium.opened(file, width=width) as shown:
        assert shown.run("document.documentElement.scrollWidth") <= width
        rows = shown.run("document.querySelectorAll('.figure svg text.title').length")
        assert rows >= 4
        assert shown.run("[...document.querySelectorAll('.figure svg path')].every((p) => p.getBBox().width > 0)")
        beyond = "[...document.querySelectorAll('button, h1, h2, p, svg')].filter((e) => "
        assert shown.run(beyond + f"e.getBoundingClientRect().right > {width}).length") == 0
        assert shown.run("document.title") != "owned"
        assert shown.run("document.querySelector('img').naturalWidth") == 1
        assert shown.requests == [file.as_uri()] or all(
            one.startswith(("data:", file.as_uri())) for one in shown.requests
        )
        assert not shown.complaints


@chromium.needs_chromium
def test_figures_answer_the_mouse(file):
    with chromium.opened(file, width=1280) as shown:
        shown.run("document.querySelector('.figure').scrollIntoView()")
        box = shown.run(
            "(({x, y, width}) => [x, y, width])(document.querySelector('.figure svg').getBoundingClientRect())"
        )
        x, y, width = box
        shown.mouse("mouseMoved", x + width / 2, y + 60)
        tip = shown.run("document.querySelector('.tip').hidden ? '' : document.querySelector('.tip').innerText")
        assert "migrated" in tip and "Gbit/s" in tip
        before = shown.run("document.querySelector('.figure svg').innerHTML")
        shown.mouse("mousePressed", x + width / 4, y + 60, "left")
        shown.mouse("mouseMoved", x + width / 2, y + 60, "left")
        shown.mouse("mouseReleased", x + width / 2, y + 60, "left")
        assert shown.run("document.querySelector('.figure svg').innerHTML") != before
        whole = "[...document.querySelectorAll('.legend button')].at(-1)"
        assert not shown.run(f"{whole}.hidden")
        shown.run(f"{whole}.click()")
        assert shown.run("document.querySelector('.figure svg').querySelectorAll('path').length") == before.count(
            "<path"
        )
        shown.run("document.querySelector('.legend button').click()")
        assert shown.run("document.querySelectorAll('.figure svg path').length") < before.count("<path")
        shown.run("document.querySelector('.filter button').click()")
        assert shown.run("[...document.querySelectorAll('section tbody tr')].filter((row) => row.hidden).length") == 1
        assert not shown.complaints


@chromium.needs_chromium
def test_scenarios_side_by_side_show_one_time_with_one_scale(tmp_path):
    base = package.Scenario.parse(SCENARIO)
    for name, size in (("short", "200 kB"), ("long", "2 MB")):
        package.run(base.with_({"name": name, "flows.0.size": size})).write(tmp_path / name)
    place = tmp_path / "page.html"
    place.write_text(page.report(gather([tmp_path / "long", tmp_path / "short"]), explained=False), encoding="utf-8")
    with chromium.opened(place, width=1280) as shown:
        assert shown.run("document.querySelectorAll('.beside .figure').length") == 2
        # The last numbers on the axes are those of the longer and of the faster one.
        axes = "[...document.querySelectorAll('.beside .figure svg')].map((one) => [...one.querySelectorAll('text')]"
        scales = shown.run(f"{axes}.map((text) => text.textContent).join(' ').split('Time')[0])")
        assert scales[0].split()[-1] == scales[1].split()[-1]
        shown.run("document.querySelector('.beside').scrollIntoView()")
        x, y, width = shown.run(
            "(({x, y, width}) => [x, y, width])(document.querySelector('.beside .figure svg').getBoundingClientRect())"
        )
        cursors = "[...document.querySelectorAll('.beside .cursor')].map((one) => one.getAttribute('visibility'))"
        shown.mouse("mouseMoved", x + width / 2, y + 60)
        assert shown.run(cursors) == ["visible", "visible"]
        shown.mouse("mousePressed", x + width / 4, y + 60, "left")
        shown.mouse("mouseMoved", x + width / 2, y + 60, "left")
        shown.mouse("mouseReleased", x + width / 2, y + 60, "left")
        zoomed = shown.run(f"{axes}.map((text) => text.textContent).join(' ').split('Time')[0])")
        assert zoomed[0] != scales[0] and zoomed[1] != scales[1]
        assert not shown.complaints


@chromium.needs_chromium
def test_a_figure_beside_a_longer_one_says_where_its_run_ended(tmp_path):
    base = package.Scenario.parse(SCENARIO).with_({"stop": "duration"})
    for name, end in (("short", 2), ("long", 8)):
        package.run(base.with_({"name": name, "duration": f"{end} ms"})).write(tmp_path / name)
    place = tmp_path / "page.html"
    place.write_text(page.report(gather([tmp_path / "long", tmp_path / "short"]), explained=False), encoding="utf-8")
    with chromium.opened(place, width=1280) as shown:
        beside = "[...document.querySelectorAll('.beside .figure')]"
        rows = shown.run(f"{beside}.map((one) => one.querySelectorAll('text.title').length)")
        said = "[...one.querySelectorAll('text')].filter((text) => text.textContent === 'end of run').length"
        assert shown.run(f"{beside}.map((one) => {said})") == [0, rows[1]]
        # No line goes on after it.
        last = shown.run(f"""{beside}.map((one) => Math.max(...[...one.querySelectorAll('path[stroke]')].map(
            (path) => Math.max(...path.getAttribute('d').match(/H[0-9.]+/g).map((at) => Number(at.slice(1)))))))""")
        ended = shown.run(f"{beside}.map((one) => Number(one.querySelector('.ended')?.getAttribute('x1')))")
        assert last[1] == pytest.approx(ended[1], abs=0.1) and ended[1] < 0.5 * last[0]
        assert not shown.complaints


@chromium.needs_chromium
def test_the_table_of_groups_fits_a_page_of_1280_points(tmp_path):
    """Its last column is not hidden behind the edge."""
    run = package.run(package.load(ROOT / "scenarios" / "15-web-search.toml"))
    place = tmp_path / "r.html"
    place.write_text(page.report(Contents(runs=[run]), title="", explained=False), encoding="utf-8")
    with chromium.opened(place, width=1280) as shown:
        wide = "(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])(document.querySelector('.wide'))"
        needed, room = shown.run(wide)
        assert needed <= room
