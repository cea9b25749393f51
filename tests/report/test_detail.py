"""What a figure of the page shows when one zooms in: shorter steps, and each of many flows."""

import base64
import json
import re
import zlib

import numpy as np
import polars as pl
import pytest
from report import chromium

import daybreak
from daybreak import plots
from daybreak.metrics.under_way import under_way
from daybreak.report import detail, figure, page
from daybreak.report.contents import gather

COUNT = 3000


@pytest.fixture(scope="module")
def run():
    """Flows of 3 kB, which start one after another in 0.3 s."""
    return daybreak.run(
        daybreak.Scenario.parse(
            {
                "name": "short", "duration": "1 s",
                "topology": {
                    "kind": "dumbbell", "pairs": 1, "rate": "1 Gbit/s", "delay": "20 us", "queue": "100 packets",
                },
                "arrivals": [
                    {
                        "name": "short", "from": "sender-0", "to": "receiver-0", "every": "100 us", "count": COUNT,
                        "sizes": {"kind": "fixed", "size": "3 kB"},
                    },
                ],
                "records": {"bins": "100 us", "queues": "100 us"},
            }
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def place(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("detail")
    run.write(folder / "run")
    file = folder / "page.html"
    file.write_text(page.report(gather([folder / "run"]), explained=False), encoding="utf-8")
    return file


def test_under_way_is_the_mean_over_a_step():
    # One flow from 0 to 100 ns, one from 50 to 60 ns, and one that starts at 150 ns and does not end.
    flows = pl.DataFrame(
        {"start_ns": [0, 50, 150], "fct_ns": [100, 10, None]}, schema={"start_ns": pl.UInt64, "fct_ns": pl.UInt64}
    )
    edges = np.array([0, 40, 80, 100, 200])
    assert under_way(flows, edges, end_ns=200).tolist() == [1, 1 + 10 / 40, 1, 0.5]
    assert under_way(flows, edges + 25, end_ns=200)[-1] == pytest.approx(50 / 100)


def packed(place):
    """What the page has for its script, as it is and as it is after unpacking."""
    text = place.read_text()
    blocks = re.findall(r'<script type="text/plain" class="detail">([^<]*)</script>', text)
    shown = json.loads(re.search(r'<div class="figure"><script type="application/json">(.*?)</script>', text)[1])
    return shown, [json.loads(zlib.decompress(base64.b64decode(one))) for one in blocks]


def test_the_page_has_each_flow_and_shorter_steps(run, place):
    shown, (found,) = packed(place)
    flows = found["flows"]
    assert np.cumsum(flows["start"]).tolist() == run.flows["start_ns"].sort().to_list()
    assert dict(zip(flows["name"], flows["fct"], strict=True)) == dict(run.flows.select("flow_name", "fct_ns").rows())
    rates = [next(one for one in part["rows"] if one["label"] == "Throughput") for part in (shown, found)]
    coarse, fine = (one["curves"][0] for one in rates)
    # As short as the bins are.
    assert len(coarse["time"]) <= 600 and np.diff(fine["time"]).max() == pytest.approx(1e-4)
    assert np.mean(fine["value"]) == pytest.approx(np.mean(coarse["value"]), rel=0.01)


def test_few_flows_are_curves_alone(run):
    document = {"rows": [{"own": True, "curves": [{"name": f"flow {i}"} for i in range(COUNT)]}]}
    assert detail.with_flows(document, run) is document


def test_curves_are_finer_if_twice_as_many_values_fit(run, monkeypatch):
    documents = figure.documents(plots.figure_content([run]))
    values = sum(len(curve["time"]) for one in documents for row in one["rows"] for curve in row["curves"])
    monkeypatch.setattr(detail, "_MOST_VALUES", 2 * values - 1)
    assert detail.finer([run], documents) == [{}]
    monkeypatch.setattr(detail, "_MOST_VALUES", 2 * values)
    ((coarse,), (fine,)) = documents, detail.finer([run], documents)
    steps = [np.diff(one["rows"][0]["curves"][0]["time"]).max() for one in (coarse, fine)]
    assert steps[0] == pytest.approx(2 * steps[1], rel=0.01)


def test_too_many_flows_are_left_out(run, monkeypatch):
    monkeypatch.setattr(detail, "MOST_FLOWS", COUNT)
    assert len(detail.flows(run)["flows"]["name"]) == COUNT
    monkeypatch.setattr(detail, "MOST_FLOWS", COUNT - 1)
    assert detail.flows(run) == {}
    assert detail.block({}) == ""


def drag(shown, start, end):
    """Zooms into a part of what is in view, from 0 to 1, and waits until that is drawn."""
    shown.run("document.querySelector('.figure').scrollIntoView()")
    x, y, width = shown.run(
        "(({x, y, width}) => [x, y, width])(document.querySelector('.figure svg').getBoundingClientRect())"
    )
    left, inner = x + 58, width - 68
    shown.mouse("mousePressed", left + start * inner, y + 60, "left")
    shown.mouse("mouseMoved", left + end * inner, y + 60, "left")
    shown.mouse("mouseReleased", left + end * inner, y + 60, "left")
    shown.run("new Promise((done) => setTimeout(done, 500))")


@chromium.needs_chromium
def test_zooming_in_shows_them(run, place):
    with chromium.opened(place, width=1280) as shown:
        bars = "document.querySelectorAll('.figure rect.flow')"
        titles = "[...document.querySelectorAll('.figure text.title')].map((one) => one.textContent).join(' ')"
        assert shown.run(f"{bars}.length") == 0 and "Flows under way [flows]" in shown.run(titles)
        drag(shown, 0.4, 0.9)
        # Half of 3,000 flows: still as they are from afar, but the steps of the rate are those of the bins.
        assert shown.run(f"{bars}.length") == 0 and "mean of each 100 us" in shown.run(titles)
        drag(shown, 0.5, 0.7)
        count = shown.run(f"{bars}.length")
        assert 250 < count <= 400 and f"Flows, the {count} in view" in shown.run(titles)
        box = shown.run(
            f"(() => {{ const one = {bars}[100]; one.scrollIntoView({{block: 'center'}});"
            "const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2] })()"
        )
        shown.mouse("mouseMoved", *box)
        tip = shown.run("document.querySelector('.tip').innerText").split("\n")
        (flow,) = run.flows.filter(flow_name=tip[tip.index("flow") + 1]).to_dicts()
        assert tip[tip.index("size") + 1] == "3 kB"
        assert tip[tip.index("FCT") + 1] == f"{flow['fct_ns'] / 1000:.4g} us"
        shown.run("[...document.querySelectorAll('.legend button')].at(-1).click()")
        assert shown.run(f"{bars}.length") == 0
        assert not shown.complaints
