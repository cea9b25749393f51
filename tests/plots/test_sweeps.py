"""Figures and tables of a sweep, against what its runs show one by one."""

import json
import shutil
from dataclasses import replace

import polars as pl
import pytest
from cli.program import daybreak as program
from cli.program import one_sentence
from matplotlib.container import ErrorbarContainer
from matplotlib.text import Text

from daybreak.errors import OutputError, PlotError, ScenarioError, UsageError
from daybreak.metrics import measures
from daybreak.metrics.confidence import interval
from daybreak.plots import sweeps
from daybreak.report import contents, page
from daybreak.report import sweep as tables
from daybreak.scenario import Scenario
from daybreak.sweeps import Points, read_results, sweep
from daybreak.sweeps.grid import parse

AXES = {
    "queue": {"field": "topology.queue", "values": ["100 packets", "20 packets"]},
    "rule": {"fields": ["flows.0.variant"], "values": ["cubic", "reno"]},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    base = Scenario.parse(
        {
            "name": "base", "duration": "1 s",
            "topology": {"kind": "dumbbell", "rate": "1 Gbit/s", "delay": "20 us", "queue": "350 packets"},
            "flows": [{"from": "sender-0", "to": "receiver-0", "size": "200 kB", "count": 3,
                       "start": {"uniform": ["0 s", "2 ms"]}}],
        }
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("sweep") / "made"
    sweep(Points(parse({"scenario": "-", "seeds": 3, "axes": AXES}), base), folder)
    return folder


RULES = 'axis "rule" has several values: choose one, such as --only "rule=cubic"'


def test_quantities_of_an_axis_are_numbers_too(place):
    flows = pl.read_parquet(place / "flows")
    assert flows.select("queue", "queue_packets").unique(maintain_order=True).rows() == [
        ("100 packets", 100.0), ("20 packets", 20.0),
    ]  # fmt: skip
    for values, column, numbers in (
        (["1 ms", "40 us"], "a_ns", [1e6, 4e4]), (["1 MB", "1 KiB"], "a_bytes", [1e6, 1024]),
        (["10 Gbit/s"], "a_bps", [1e10]),
    ):  # fmt: skip
        points = Points(parse({"scenario": "-", "axes": {"a": {"field": "duration", "values": values}}}), None)
        assert [points.row(at) for at in range(len(values))] == [
            {"a": text, column: number} for text, number in zip(values, numbers, strict=True)
        ]
    mixed = {"a": {"field": "duration", "values": ["1 ms", "none"]}}
    assert list(Points(parse({"scenario": "-", "axes": mixed}), None).row(0)) == ["a"]
    taken = {"fct": {"field": "duration", "values": ["1 ms"]}}
    with pytest.raises(ScenarioError, match='axis "fct": its numbers would be column fct_ns, which there is'):
        parse({"scenario": "-", "axes": taken})


def of_point(place, **values):
    flows = pl.read_parquet(place / "flows")
    for name, value in values.items():
        flows = flows.filter(pl.col(name) == value)
    return [some["fct_ns"].mean() / 1e9 for _, some in flows.group_by("seed", maintain_order=True)]


def test_lines_have_the_means_over_the_seeds_in_the_order_of_the_numbers(place):
    figure = sweeps.draw(read_results(place), x="queue", y="fct.mean", colour="rule").figure
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert list(lines) == ["cubic", "reno"]
    assert list(lines["reno"].get_xdata()) == [20, 100]
    unit = 1e3 if "[ms]" in figure.axes[0].get_ylabel() else 1e6
    wanted = [interval(of_point(place, queue=f"{size} packets", rule="reno")).mean * unit for size in (20, 100)]
    assert list(lines["reno"].get_ydata()) == pytest.approx(wanted)
    facets = sweeps.draw(read_results(place), x="queue", facet="rule").figure
    assert [axes.get_title() for axes in facets.axes] == ["rule = cubic", "rule = reno"]


def test_what_was_chosen_is_in_the_title_and_every_mark_inside(place):
    drawn = sweeps.draw(read_results(place), x="queue", y="goodput.mean", only={"rule": "reno"})
    (axes,) = drawn.figure.axes
    title = drawn.figure.legends[0].get_title().get_text()
    assert title.startswith("made, rule = reno, 3 seeds: bands")
    highest = max(float(y) for line in axes.lines for y in line.get_ydata())
    assert axes.get_ylim()[1] >= 1.05 * highest and axes.get_ylim()[0] == 0
    for options in ({"x": "queue", "y": "rule", "colour": "fct.mean"}, {"x": "fct", "colour": "queue"}):
        only = {"group": "flow-0"} if "y" in options else {"rule": "reno"}
        figure = sweeps.draw(read_results(place), **options, only=only).figure
        assert any(" = ".join(*only.items()) in text.get_text() for text in figure.findobj(Text))


def test_groups_that_count_together_are_named(tmp_path):
    two = [{"name": name, "from": "sender-0", "to": "receiver-0", "size": "20 kB"} for name in ("main", "moved")]
    base = Scenario.parse(
        {
            "name": "two", "duration": "1 s", "flows": two,
            "topology": {"kind": "dumbbell", "rate": "1 Gbit/s", "delay": "20 us", "queue": "99 packets"},
        }
    )  # fmt: skip
    axes = {"queue": AXES["queue"] | {"values": ["99 packets", "20 packets"]}}
    sweep(Points(parse({"scenario": "-", "axes": axes}), base), tmp_path / "s")
    results = read_results(tmp_path / "s")
    said = "flows of every group count together (main, moved): a colour for each group would tell them apart"
    assert sweeps.draw(results, x="queue").notes == (said,)
    assert sweeps.draw(results, x="fct", colour="queue").notes == (said,)
    for options in ({"colour": "group"}, {"facet": "group"}, {"only": {"group": "main"}}):
        assert sweeps.draw(results, x="queue", **options).notes == ()


def test_a_heat_map_has_the_mean_in_each_field(place):
    figure = sweeps.draw(read_results(place), x="queue", y="rule", colour="slowdown.p50").figure
    array = figure.axes[0].get_images()[0].get_array()
    assert array.shape == (2, 2)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["20 packets", "100 packets"]
    only = sweeps.draw(read_results(place), x="queue", y="slowdown.p50", only={"rule": "reno"}).figure
    assert list(only.axes[0].get_lines()[0].get_ydata()) == pytest.approx(list(array[1]))


def test_a_distribution_is_over_all_flows(place):
    figure = sweeps.draw(read_results(place), x="fct", colour="rule", only={"queue": "20 packets"}).figure
    curve = figure.axes[0].get_lines()[0]
    assert len(curve.get_ydata()) == 1 + 9 and curve.get_ydata()[-1] == 1


def test_a_value_of_an_axis_is_also_named_by_an_equal_quantity(one_flow, tmp_path):
    axes = {
        "delay": {"field": "topology.delay", "values": ["20 us", "1 ms"]},
        "begin": {"field": "flows.0.start", "values": ["0 s", "1 us"]},
    }
    sweep(Points(parse({"scenario": "-", "axes": axes}), one_flow), tmp_path)
    ways = [
        sweeps.draw(read_results(tmp_path), only={"delay": delay}).figure for delay in ("1 ms", "1000 us", "0.001 s")
    ]
    marks = [figure.axes[0].get_lines()[0].get_ydata().tolist() for figure in ways]
    assert marks[0] == marks[1] == marks[2]
    with pytest.raises(PlotError, match=r'^only: delay = "2 ms" is not there: expected one of 20 us, 1 ms$'):
        sweeps.draw(read_results(tmp_path), only={"delay": "2 ms"})


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        (["1 kB", "0 B"], r"^x: size = 0 B has no run \(.*flows\[0\]\.size = \"0 B\": expected .*\)$"),
        (["1 kB", "0 B", "-1 B"], r"^x: size = 0 B has no run \(.*\), and 1 more have none$"),
        (["1 kB"], "^x: the sweep has no axis with several values$"),
    ],
)
def test_an_axis_of_which_one_value_has_runs_says_why_the_others_have_none(sizes, sentence, one_flow, tmp_path):
    axes = {"size": {"field": "flows.0.size", "values": sizes}}
    sweep(Points(parse({"scenario": "-", "axes": axes}), one_flow), tmp_path)
    with pytest.raises(PlotError, match=sentence):
        sweeps.draw(read_results(tmp_path))


def test_what_does_not_fit_at_all_is_said_before_what_is_to_be_chosen(place):
    with pytest.raises(UsageError, match=r'^y = "fct.mean": expected ecdf where x is fct$'):
        sweeps.draw(read_results(place), x="fct", y="fct.mean", facet="queue")


@pytest.fixture
def unfinished(place):
    """The sweep with flows that did not end at two of the four points."""
    results = read_results(place)
    gone = ((pl.col("queue") == "20 packets") & (pl.col("flow_name") == "flow-0-1")) & (pl.col("seed") == 2)
    ended = pl.when(~gone).then(pl.col("fct_ns"))
    return replace(results, flows=results.flows.with_columns(ended.alias("fct_ns")))


def test_points_without_a_value_keep_their_place_and_are_named(unfinished, tmp_path):
    assert unfinished.flows["fct_ns"].null_count() == 2
    drawn = sweeps.draw(unfinished, x="queue", colour="rule")
    said = (
        "2 of 4 points have no fct.mean, as not every flow ended there: rule = cubic, queue = 20 packets; rule = reno"
    )
    assert drawn.notes == (f"{said}, queue = 20 packets",)
    axes = drawn.figure.axes[0]
    low, high = axes.get_xlim()
    assert low < 20 < 100 < high
    legend = drawn.figure.legends[0].get_title().get_text()
    assert " ".join(legend.split()).endswith(drawn.notes[0])
    # A mark without neighbours has error bars, which end where its interval does.
    bars = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    (segment,) = bars[0].lines[2][0].get_segments()
    wanted = interval(of_point(unfinished.directory, queue="100 packets", rule="cubic"))
    unit = 1e3 if "[ms]" in axes.get_ylabel() else 1e6
    assert list(segment[:, 1]) == pytest.approx([max(0, wanted.low) * unit, wanted.high * unit])
    whole = sweeps.draw(read_results(unfinished.directory), x="queue", colour="rule")
    assert whole.notes == () and not whole.figure.axes[0].containers
    heat = sweeps.draw(unfinished, x="queue", y="rule", colour="fct.mean")
    assert (
        heat.notes[0].startswith("2 of 4 points have no fct.mean")
        and "queue = 20 packets, rule = reno" in heat.notes[0]
    )
    assert [text.get_text() for text in heat.figure.axes[0].texts].count("-") == 2
    ecdf = sweeps.draw(unfinished, x="fct", colour="rule", only={"queue": "20 packets"})
    assert ecdf.notes == ("2 of 18 flows have not ended: the curves end below 1",)
    # The command says the same.
    shutil.copytree(unfinished.directory, tmp_path / "s")
    unfinished.flows.write_parquet(tmp_path / "s" / "flows" / "part-00000.parquet")
    done = program("plot", tmp_path / "s", "--x", "queue", "--colour", "rule", "-o", tmp_path / "f.png")
    assert done.stdout.startswith(said), done.stderr


def test_intervals_end_at_the_greatest_value_of_a_measure(place):
    results = read_results(place)
    spread = results.flows.with_columns(
        pl.when((pl.col("seed") == 1) & (pl.col("flow_name") == "flow-0-0"))
        .then(pl.col("fct_ns") * 20)
        .otherwise("fct_ns")
    )
    axes = sweeps.draw(replace(results, flows=spread), x="queue", y="jain", colour="rule").figure.axes[0]
    tops = [path.vertices[:, 1].max() for one in axes.collections for path in one.get_paths()]
    assert tops and max(tops) == 1
    assert results.over_runs("jain", ["point"], spread)["high"].max() > 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"x": "nothing"}, '"nothing" is no axis of the sweep: there are queue, rule, group, variant'),
        (
            {"x": "fct", "colour": "rule"},
            'facet = "queue": distributions have no facets: choose one value, such as --only "queue=100 packets"',
        ),
        ({"x": "queue", "only": {"rule": "bbr"}}, 'only: rule = "bbr" is not there: expected one of cubic, reno'),
        ({"x": "queue", "only": {"speed": "1"}}, 'only: "speed" is no axis'),
        ({"x": "queue", "colour": "group", "facet": "variant"}, RULES),
    ],
)
def test_mistakes_are_one_sentence(place, options, sentence):
    with pytest.raises(PlotError, match=sentence.replace("(", r"\(")):
        sweeps.draw(read_results(place), **options)


def test_words_that_no_sweep_has_are_wrong_usage(place):
    with pytest.raises(UsageError, match=r'"fct\.p0" is no measure: expected fct, slowdown or goodput'):
        sweeps.draw(read_results(place), x="queue", y="fct.p0")
    with pytest.raises(UsageError, match='"queue" is given twice'):
        sweeps.draw(read_results(place), x="queue", colour="queue")


def test_a_table_has_a_row_a_point_with_intervals(place):
    headings, cells, labels = tables.columns(read_results(place), 3)
    assert headings[:labels] == ("queue", "rule") and len(cells) == 3 and tables.rows(read_results(place)) == 4
    assert cells[1][:4] == ("100 packets", "reno", "3", "9 of 9")
    found = interval(of_point(place, queue="100 packets", rule="reno"))
    unit = 1e3 if "[ms]" in headings[4] else 1e6
    mean, half = (float(part) for part in cells[1][4].split(" ± "))
    assert (mean, half) == (pytest.approx(found.mean * unit, rel=1e-3), pytest.approx(found.margin * unit, rel=0.05))


def test_a_row_has_all_runs_and_the_flows_of_them_that_ended(unfinished):
    headings, cells, _ = tables.columns(unfinished, 4)
    assert headings[2:4] == ("runs", "complete") and headings[4].startswith("FCT [")
    wanted = {"100 packets": ("3", "9 of 9"), "20 packets": ("3", "8 of 9")}
    assert [cell[2:4] for cell in cells] == [wanted[cell[0]] for cell in cells]
    assert [cell[4] == "-" for cell in cells] == [cell[0] == "20 packets" for cell in cells]
    endless = pl.lit(None, pl.UInt64)
    unlimited = replace(unfinished, flows=unfinished.flows.with_columns(bytes=endless, fct_ns=endless))
    headings, cells, _ = tables.columns(unlimited, 4)
    assert "complete" not in headings and headings[3] == "Gbit/s"
    assert all("±" in cell[3] for cell in cells)


def test_a_page_shows_a_sweep_and_the_commands_draw_it(place, tmp_path):
    shown = page.report(contents.gather([place]), explained=False)
    assert "made (sweep)" in shown and "data:image/png" in shown and "100 packets" in shown
    out = tmp_path / "f.png"
    done = program("plot", place, "--x", "queue", "--y", "fct.p99", "--colour", "rule", "-o", out)
    assert done.returncode == 0 and out.is_file(), done.stderr
    for code, wrong in ((2, ("--only", "rule")), (2, ("--what", "cwnd")), (1, ("--facet", "x"))):
        done = program("plot", place, *wrong, "-o", tmp_path / "g.png")
        assert done.returncode == code and one_sentence(done.stderr), done.stderr
    assert not (tmp_path / "g.png").exists()


def test_a_sweep_that_is_not_finished_or_of_another_version_is_refused(place, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / ".daybreak").write_text("sweep\n")
    (other / "sweep.json").write_text("{}")
    with pytest.raises(OutputError, match="cannot be read as a sweep"):
        read_results(other)
    (other / "sweep.json").write_text(json.dumps({"grid": {"scenario": "-"}}))
    with pytest.raises(OutputError, match="has no finished sweep"):
        read_results(other)
    (other / "flows").mkdir()
    pl.read_parquet(place / "flows").drop("ideal_fct_ns").write_parquet(other / "flows" / "part-00000.parquet")
    with pytest.raises(OutputError, match="earlier version"):
        read_results(other)
    table = pl.read_parquet(place / "flows").with_columns(pl.format('"{}"', "rule").alias("rule"))
    table.write_parquet(other / "flows" / "part-00000.parquet")
    (other / "sweep.json").write_text(json.dumps({"grid": {"scenario": "-", "axes": AXES}}))
    with pytest.raises(OutputError, match="earlier version"):
        read_results(other)


def test_measures_count_what_did_not_end_as_worst():
    flows = pl.DataFrame(
        {
            "run": [1, 1, 1, 1], "bytes": [100, 100, 100, None], "fct_ns": [800, 1600, None, None],
            "start_ns": [0] * 4, "end_ns": [800, 1600, None, None], "ideal_fct_ns": [400, 400, 400, None],
            "retransmits": [0, 2, 4, 2], "rtos": [0, 0, 1, 1],
        }
    )  # fmt: skip

    def value(name):
        return measures.of_runs(flows, name, by=["run"])["value"].item()

    assert value("fct.mean") is None and value("fct.max") is None and value("fct.p50") == pytest.approx(1600e-9)
    assert (value("slowdown.p50"), value("slowdown.p33"), value("slowdown.p99")) == (4, 2, None)
    # A flow without an end has no goodput to speak of.
    assert (value("goodput.p33"), value("goodput.max")) == (0, 1)
    assert (value("retransmits"), value("rtos"), value("complete")) == (2, 0.5, pytest.approx(2 / 3))
