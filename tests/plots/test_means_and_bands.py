"""What means and bands are made of: weeks in which a flow is there, values that a queue can have, words that fit."""

import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import daybreak
from daybreak import plots
from daybreak.scenario import Scenario

LIMIT = 30
RECORDS = {"bins": "100 us", "window": "100 us", "queues": "1 ms"}


def scenario(flows, **more):
    topology = {"kind": "dumbbell", "pairs": len(flows), "rate": "1 Gbit/s", "delay": "100 us",
                "queue": f"{LIMIT} packets"}  # fmt: skip
    ends = [{"from": f"sender-{at}", "to": f"receiver-{at}"} | flow for at, flow in enumerate(flows)]
    document = {"name": "bands", "duration": "40 ms", "stop": "duration", "topology": topology, "records": RECORDS}
    return Scenario.parse(document | {"flows": ends} | more)


@pytest.fixture(scope="module")
def in_turn():
    """A flow that ends after 9 ms, and one that starts at 20 ms."""
    flows = [{"name": "first", "size": "1 MB"}, {"name": "later", "size": "unlimited", "start": "20 ms"}]
    return [daybreak.run(scenario(flows))]


def curve(runs, name, **options):
    return plots.figure_content(runs, fold="1 ms", **options).rows[0].panel.curves[name]


@pytest.mark.parametrize("what", ["throughput", "goodput"])
@pytest.mark.parametrize(("name", "alive"), [("first", {"to": "8 ms"}), ("later", {"from_": "21 ms"})])
def test_a_folded_rate_is_that_of_the_weeks_in_which_the_flow_is_there(in_turn, what, name, alive):
    both = [curve(in_turn, name, what=[what], **span)["mean"].mean() for span in ({}, alive)]
    # The weeks in which it starts and ends count as far as it is there: one in eight, or in nineteen.
    assert both[0] == pytest.approx(both[1], rel=0.15)
    notes = plots.figure_content(in_turn, what=[what], fold="1 ms").notes
    assert "weeks before a flow has started and after it has ended do not count in its means" in notes
    assert not plots.figure_content(in_turn, what=[what], fold="1 ms", flows="later", from_="21 ms").notes


def test_a_folded_sequence_begins_anew_in_each_week(in_turn):
    content = plots.figure_content(in_turn, what=["sequence"], fold="1 ms", flows="later", from_="30 ms")
    table, unit = content.rows[0].panel.curves["later"], content.rows[0].ylabel
    assert unit == "Sequence\n[kB]" and content.rows[0].panel.title.endswith("since the start of the week")
    # A millisecond of 1 Gbit/s without headers.
    assert table["mean"].is_sorted() and table["mean"][-1] == pytest.approx(125 * 1448 / 1538, rel=0.01)
    # The value of an edge is what has come until then: each step has the same, and a week ends with all of it.
    assert table["time_s"][0] == table["mean"][0] == 0 and table["time_s"][-1] == pytest.approx(0.001)
    assert table["mean"][1] == pytest.approx(table["mean"][-1] / (len(table) - 1), rel=0.05)


@pytest.fixture(scope="module")
def full_queue():
    flows = [{"size": "1 MB"}, {"size": "unlimited", "variant": "bbr"}, {"size": "3 MB", "variant": "bbr"}]
    changed = scenario([flow | {"start": {"uniform": ["0 s", "5 ms"]}} for flow in flows])
    return [daybreak.run(changed, seed=seed) for seed in (1, 2)]


def test_an_interval_of_a_queue_ends_at_what_the_queue_may_hold(full_queue):
    (row,) = plots.figure_content(full_queue, what=["queues"]).rows
    table = row.panel.curves["bottleneck"]
    wide = table.filter(pl.col("high") == LIMIT, pl.col("mean") < LIMIT)
    assert wide.height and table["high"].max() == LIMIT


def test_so_does_that_of_the_fullest_queue_of_overlaid_cases(full_queue):
    longer = [daybreak.run(run.scenario.with_({"duration": "41 ms"}), seed=run.seed) for run in full_queue]
    (row,) = plots.figure_content([*full_queue, *longer], what=["queues"]).rows
    assert [table["high"].max() for table in row.panel.curves.values()] == [LIMIT, LIMIT]


def test_bands_over_runs_are_told_from_those_over_flows(full_queue):
    flows = [{"size": "100 kB", "start": {"uniform": ["0 s", "1 ms"]}} for _ in range(20)]
    content = [
        plots.figure_content([daybreak.run(scenario(flows), seed=seed) for seed in seeds], what=["cwnd", "queues"])
        for seeds in ((1, 2), (1,))
    ]
    assert content[0].subtitle == "lines are means, bands hold the middle 80 % of the flows"
    titles = [[row.panel.title.partition("; ")[2] for row in one.rows] for one in content]
    assert titles == [["", "bands are 95 % intervals over the runs"], ["", ""]]
    (queues,) = plots.figure_content(full_queue, what=["queues"]).rows
    assert "bands" not in queues.panel.title


def test_a_caption_names_the_flow_that_exceeds_its_links_beside_one_that_does_not():
    between = [
        {"name": f"c{rate}", "rate": f"{rate} Gbit/s", "delay": "5 us", "queue": "50 packets"} for rate in (1, 9)
    ]
    topology = {"kind": "parallel_links", "pairs": 2, "access_rate": "10 Gbit/s", "between": between}
    flows = [
        {"name": name, "from": f"sender-{at}", "to": f"receiver-{at}", "via": via, "ack_via": f"{via}.back",
         "size": "unlimited"}
        for at, (name, via) in enumerate((("slow", "c1"), ("fast", "c9")))
    ]  # fmt: skip
    document = {"name": "two", "duration": "10 ms", "topology": topology, "flows": flows, "records": {"bins": "10 us"}}
    runs = [daybreak.run(Scenario.parse(document))]
    reason = "above the links' 1 Gbit/s by less than a packet a step, as packets count where they end"
    for shown, caption in ((None, f"slow {reason}"), ("slow", reason), ("fast", "")):
        (row,) = plots.figure_content(runs, what=["throughput"], flows=shown).rows
        assert row.panel.title.partition("; ")[2] == caption


@pytest.mark.parametrize("count", [1, 2])
def test_a_title_is_cut_where_the_figure_ends_and_not_beyond(count):
    named = scenario([{"size": "10 kB"}], name="a scenario with a name as long as a name can be " * 3, duration="1 ms")
    runs = [daybreak.run(named, seed=seed) for seed in range(1, count + 1)]
    figure = plots.draw(runs, what=["throughput"]).figure
    FigureCanvasAgg(figure).draw()
    title = figure.legends[0].get_title()
    assert (
        title.get_text().splitlines()[0].endswith(f"…: simulated, {'seed 1' if count == 1 else '2 runs, seeds 1 to 2'}")
    )
    box = title.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width
