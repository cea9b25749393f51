"""Grids, and sweeps of them: the dataset is what single runs show, whatever happened on the way."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc

import polars as pl
import pytest
from executors import Processes, Serial
from ready_files import ROOT

import daybreak
import daybreak.reference.tables
from daybreak.errors import Interrupted, OutputError, ScenarioError
from daybreak.metrics import confidence
from daybreak.plots.sweeps import draw
from daybreak.report import contents, page
from daybreak.runs import schema
from daybreak.sweeps import Local, Points, read, read_results, sweep
from daybreak.sweeps.grid import parse

VARIANTS = {"field": "flows.0.variant", "values": ["cubic", "reno"]}
SIZES = {"field": "flows.0.size", "values": ["100 kB", "200 kB", "400 kB"]}


@pytest.fixture
def base(one_flow):
    return one_flow.with_({"flows.0.start": {"uniform": ["0 s", "1 ms"]}})


@pytest.fixture
def points(base):
    return Points(parse({"scenario": "-", "seeds": 2, "axes": {"rule": VARIANTS, "size": SIZES}}), base)


def files(directory):
    return {path.name: path.read_bytes() for path in directory.glob("flows/*.parquet")}


def test_points_are_the_product_of_the_axes_the_last_one_fastest(points):
    assert [tuple(points.columns(number).values()) for number in points] == [
        (rule, size) for rule in VARIANTS["values"] for size in SIZES["values"]
    ]
    flow = points.scenario(4).flows[0]
    assert (flow.variant.name, flow.size) == ("reno", 200_000)


def test_an_axis_may_set_several_fields_or_name_any_changes(migration):
    axes = {
        "size": {"fields": ["flows.0.size", "flows.1.size"], "values": ["1 MB", "2 MB"]},
        "cycle": {"points": {"none": {}, "9+1": {"timelines.0.period": "10 ms", "timelines.0.night": "1 ms"}}},
    }
    points = Points(parse({"scenario": "-", "axes": axes}), migration)
    last = points.scenario(3)
    assert [flow.size for flow in last.flows] == [2_000_000, 2_000_000]
    assert str(last.timelines[0].night) == "1 ms" and points.columns(3) == {"size": "2 MB", "cycle": "9+1"}
    assert points.scenario(0).timelines == migration.timelines


def test_a_sample_is_drawn_without_replacement_and_is_the_same_again(base):
    axes = {"size": {"field": "flows.0.size", "values": list(range(1, 1001))}, "rule": VARIANTS}
    draw = [
        list(Points(parse({"scenario": "-", "sample": 50, "sample_seed": seed, "axes": axes}), base))
        for seed in (1, 1, 2)
    ]
    assert draw[0] == draw[1] != draw[2] and len(set(draw[0])) == 50 and draw[0] == sorted(draw[0])


@pytest.mark.parametrize(
    ("grid", "sentence"),
    [
        ({"axes": {}}, "grid: scenario is missing"),
        ({"scenario": "a", "axis": {}}, 'has no key "axis" (did you mean "axes"?)'),
        ({"scenario": "a", "axes": {"x": {"values": [1]}}}, "expected one of field, fields and points"),
        ({"scenario": "a", "axes": {"x": {"field": "name"}}}, "expected values with a field or fields"),
        ({"scenario": "a", "axes": {"../../x": VARIANTS}}, 'axis "../../x": expected the name of a column'),
        ({"scenario": "a", "axes": {"a\nb": VARIANTS}}, 'axis "a\\nb": expected the name of a column'),
        ({"scenario": "a", "axes": {"": VARIANTS}}, 'axis "": expected the name of a column'),
        ({"scenario": "a", "keep": ["flows", "flow"]}, 'keep = "flow": no such table; expected some of flows, bins,'),
        ({"scenario": "a", "keep": ["flows", "flows"]}, 'keep has "flows" twice'),
        ({"scenario": "a", "keep": []}, "keep = []: expected at least 1 entry"),
        (
            {"scenario": "a", "axes": {"topology.queue": "10 packets"}},
            'axes.topology.queue = "10 packets": expected a list of values, or a table',
        ),
        ({"scenario": "a", "axes": {"x": VARIANTS, "y": VARIANTS}}, '"flows.0.variant" is varied by two axes'),
        ({"scenario": "a", "seeds": 0}, "seeds = 0: expected at least 1"),
        ({"scenario": "a", "seeds": True}, "seeds = true: expected a whole number"),
        ({"scenario": "a", "seeds": []}, "seeds = []: expected at least 1 entry"),
        ({"scenario": "a", "seeds": [4, 1, 1]}, "seeds = [4, 1, 1]: expected each seed once, and 1 is there twice"),
        ({"scenario": "a", "seeds": [2, -1]}, "seeds = [2, -1]: expected numbers from 0, not -1"),
        ({"scenario": "a", "foo": 1}, 'grid: the grid has no key "foo"'),
        ({"scenario": "a", "axes": {"x": {"points": {}}}}, "axes.x.points = {}: expected at least 1 entry"),
        ({"scenario": "a", "axes": {"x": {"fields": []}}}, "axes.x.fields = []: expected at least 1 entry"),
        ({"scenario": "a", "axes": {"x": SIZES | {"values": []}}}, "axes.x.values = []: expected at least 1 entry"),
        (
            {"scenario": "a", "axes": {"x": SIZES | {"values": ["1 MB", "1 MB"]}}},
            'axis "x": expected each value once, and "1 MB" is there twice',
        ),
        (
            {"scenario": "a", "axes": {"x": SIZES | {"values": ["1 MB", "2 MB", "1000 kB"]}}},
            'axis "x": expected each value once, and "1 MB" and "1000 kB" are the same',
        ),
        (
            {"scenario": "a", "axes": {"x": {"field": "topology.loss", "values": ["1 %", 0.01]}}},
            'axis "x": expected each value once, and "1 %" and 0.01 are the same',
        ),
        (
            {"scenario": "a", "axes": {"x": VARIANTS | {"values": [{"name": "a", "b": 1}, {"b": 1, "name": "a"}]}}},
            'axis "x": expected each value once',
        ),
    ],
)
def test_mistakes_are_one_sentence(grid, sentence):
    with pytest.raises(ScenarioError) as caught:
        parse(grid)
    assert sentence in str(caught.value)


ASKS = {"kind": "request_response", "request": "100 B", "response": "10 kB", "exchanges": 2}


@pytest.mark.parametrize(("table", "kind"), [("exchanges", "request_response"), ("datagrams", "constant_rate")])
def test_a_table_that_no_run_would_have_is_refused_before_anything_runs(base, tmp_path, table, kind):
    points = Points(parse({"scenario": "-", "keep": ["flows", table], "axes": {"size": SIZES}}), base)
    with pytest.raises(ScenarioError) as caught:
        sweep(points, tmp_path / "out")
    assert f'keep = "{table}": no flow of scenario "{base.name}", size = ' in str(caught.value)
    assert f'has an application of kind "{kind}"' in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("others", [{}, {"rate": {"field": "topology.rate", "values": ["1 Gbit/s"]}}])
def test_a_table_that_only_some_runs_would_have_is_refused_with_one_that_has_it_not(base, tmp_path, others):
    bulk, asks = {"flows.0.size": "10 kB"}, {"flows.0.size": None, "flows.0.application": ASKS}
    does = {"does": {"points": {"asks": asks, "sends": bulk}}} | others
    with pytest.raises(ScenarioError, match=r'keep = "exchanges": no flow of scenario ".*", does = "sends".* has'):
        sweep(Points(parse({"scenario": "-", "keep": ["exchanges"], "axes": does}), base), tmp_path)
    both = {"does": {"points": {"asks": asks, "asks again": asks}}}
    outcome = sweep(Points(parse({"scenario": "-", "keep": ["exchanges"], "axes": both}), base), tmp_path)
    assert outcome.failures == [] and pl.read_parquet(tmp_path / "exchanges").height == 4


def test_the_dataset_is_what_single_runs_show(points, tmp_path):
    outcome = sweep(points, tmp_path / "out", executor=Local(2))
    assert (outcome.points, len(outcome.made), outcome.new, outcome.failures) == (6, 12, 12, [])
    table = pl.read_parquet(tmp_path / "out" / "flows")
    assert table.height == 12
    for number in points:
        for seed in (1, 2):
            row = table.filter((pl.col("point") == number) & (pl.col("seed") == seed))
            run = daybreak.run(points.scenario(number), seed=seed)
            assert row.select(run.flows.columns).equals(run.flows)
            assert row.select("rule", "size").row(0, named=True) == points.columns(number)


def test_every_executor_gives_the_same_bytes(points, tmp_path):
    for name, executor in (("serial", Serial()), ("threads", Local(2)), ("processes", Processes())):
        sweep(points, tmp_path / name, executor=executor)
    assert files(tmp_path / "serial") == files(tmp_path / "threads") == files(tmp_path / "processes") != {}


def test_an_extended_sweep_runs_only_what_is_new(points, base, tmp_path):
    sweep(points, tmp_path)
    more = SIZES | {"values": [*SIZES["values"], "800 kB"]}
    larger = Points(parse({"scenario": "-", "seeds": 3, "axes": {"rule": VARIANTS, "size": more}}), base)
    again = sweep(larger, tmp_path)
    assert (len(again.made), again.new) == (24, 12)
    assert pl.read_parquet(tmp_path / "flows").height == 24


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"axes": {"rule": VARIANTS}}, "over rule, size"), ({"axes": {}}, "over rule, size"),
        ({"axes": {"rule": VARIANTS, "size": SIZES | {"values": ["100 kB"]}}}, 'whose axis "size" has "200 kB"'),
        (
            {"axes": {"rule": VARIANTS, "size": SIZES | {"field": "flows.0.start"}}},
            'whose axis "size" is of flows.0.size',
        ),
        ({"seeds": 1}, "with seed 2"), ({"seeds": [1, 3]}, "with seed 2"), ({"sample": 2}, "of other points"),
        ({"keep": ["links"]}, "with table flows"), ({"rate": "2 Gbit/s"}, 'of another scenario, "one flow"'),
    ],
)  # fmt: skip
def test_the_dataset_of_another_grid_is_replaced_by_force_only(points, base, tmp_path, other, what):
    sweep(points, tmp_path)
    before = files(tmp_path)
    grid = {"scenario": "-", "seeds": 2, "axes": {"rule": VARIANTS, "size": SIZES}} | other
    changed = base.with_({"topology.rate": grid.pop("rate", "10 Gbit/s")})
    another = Points(parse(grid), changed)
    with pytest.raises(OutputError) as caught:
        sweep(another, tmp_path)
    assert f"{tmp_path} cannot be used: it holds a sweep {what}" in str(caught.value) and "--force" in str(caught.value)
    assert files(tmp_path) == before
    sweep(another, tmp_path, force=True)
    assert files(tmp_path) != before
    (kept,) = another.grid.keep
    assert {place.name for place in tmp_path.iterdir() if place.is_dir()} == {kept, "runs"}
    # The words of a scenario are of no consequence, and what was replaced is found again.
    sweep(Points(another.grid, changed.with_({"name": "other"})), tmp_path)
    assert sweep(points, tmp_path, force=True).new == 0 and files(tmp_path) == before


def test_failures_are_collected_and_stop_nobody(base, tmp_path):
    axes = {"to": {"field": "flows.0.to", "values": ["receiver-0", "nobody"]}, "size": SIZES}
    bad = {"field": "flows.0.size", "values": ["100 kB", "much"]}
    outcome = sweep(Points(parse({"scenario": "-", "axes": axes | {"size": bad}}), base), tmp_path)
    assert len(outcome.made) == 1 and pl.read_parquet(tmp_path / "flows").height == 1
    assert {(one.point, one.seed) for one in outcome.failures} == {(1, None), (2, 1), (3, None)}
    assert [one.values["to"] for one in outcome.failures if "nobody" in one.error] == ["nobody"]
    assert json.loads((tmp_path / "sweep.json").read_text())["complete"] is False


def test_columns_have_one_type_whatever_the_values(base, tmp_path):
    axes = {"rule": {"field": "flows.0.variant", "values": ["cubic", {"name": "cubic", "beta": 0.8}]}}
    sweep(Points(parse({"scenario": "-", "axes": axes}), base), tmp_path)
    texts = ["cubic", '{"name": "cubic", "beta": 0.8}']
    assert pl.read_parquet(tmp_path / "flows")["rule"].to_list() == texts
    results = read_results(tmp_path)
    assert results.axes[0].values == tuple(texts)
    assert next(text.get_text() for text in draw(results).figure.axes[0].get_xticklabels()) == "cubic"
    assert page.report(contents.gather([tmp_path]), explained=False).count("beta") > 1


@pytest.mark.parametrize(
    ("values", "column"),
    [
        (["0.1 %", 0.01, "2.5e0 %"], ["0.1 %", "0.01", "2.5e0 %"]), ([1, 2.5], [1.0, 2.5]),
        ([True, "on"], ["true", "on"]),
        # Where a number and a text would look alike, the text has quotes.
        ([1, "1"], ["1", '"1"']), ([[1], {"a": 2}], ["[1]", '{"a": 2}']),
    ],
)  # fmt: skip
def test_values_of_several_types_are_texts_and_shares_have_numbers(values, column):
    points = Points(parse({"scenario": "-", "axes": {"loss": {"field": "topology.loss", "values": values}}}), None)
    assert [points.columns(at)["loss"] for at in points] == column
    shares = [points.row(at).get("loss_share") for at in points]
    assert shares == ([0.001, 0.01, 0.025] if "0.1 %" in values else [None] * len(values))


@pytest.mark.parametrize(
    ("field", "values", "column", "numbers"),
    [
        ("topology.queue", ["50 packets", " 1 packet"], "of_packets", [50, 1]),
        ("topology.queue", ["9 kB", "1 KiB"], "of_bytes", [9_000, 1_024]),
        ("topology.rate", ["400 Mbit/s", "1 Gbit/s"], "of_bps", [4e8, 1e9]),
        ("topology.delay", ["2 us", "1.5 ms"], "of_ns", [2_000, 1_500_000]),
        ("topology.loss", ["50 %", 0, 1e-3], "of_share", [0.5, 0, 0.001]),
        # Two units have no common number, and plain numbers are numbers already.
        ("topology.queue", ["50 packets", "9 kB"], None, None), ("topology.loss", [0.1, 0.2], None, None),
        ("stack.tcp_ecn", [True, "50 %"], None, None),
    ],
)  # fmt: skip
def test_a_quantity_has_its_number_in_the_unit_that_the_column_names(field, values, column, numbers):
    points = Points(parse({"scenario": "-", "axes": {"of": {"field": field, "values": values}}}), None)
    rows = [points.row(at) for at in points]
    assert [set(row) for row in rows] == [{"of", column} if column else {"of"}] * len(values)
    assert not column or [row[column] for row in rows] == numbers


@pytest.mark.parametrize(
    "name", ["point", "seed", *dict.fromkeys(column for some in schema().values() for column in some)]
)
def test_an_axis_named_like_a_column_of_a_kept_table_is_refused(name):
    having = [table for table, columns in schema().items() if name in columns]
    for table in having or ["flows"]:
        with pytest.raises(ScenarioError, match=f'axis "{name}": .*table.* a column of this name'):
            parse({"scenario": "-", "keep": [table], "axes": {name: VARIANTS}})
    if having:
        # The column of a table that is not kept is in nobody's way.
        free = [table for table in schema() if table not in having]
        assert list(parse({"scenario": "-", "keep": free, "axes": {name: VARIANTS}}).axes) == [name]


@pytest.mark.parametrize(("grid", "column"), [
    ({"axes": {"start": {"field": "flows.0.start", "values": ["0 s", "1 ms"]}}}, "start_ns"),
    ({"axes": {"fct": {"field": "flows.0.start", "values": ["0 s", "1 ms"]}, "x": SIZES}}, "fct_ns"),
    ({"keep": ["links"], "axes": {"all": SIZES, "all_bytes": VARIANTS}}, "all_bytes"),
])  # fmt: skip
def test_numbers_of_an_axis_do_not_take_the_place_of_a_column(grid, column):
    with pytest.raises(ScenarioError) as caught:
        parse({"scenario": "-"} | grid)
    assert f"its numbers would be column {column}, which there is; expected another name" in str(caught.value)
    # Table links has no such times.
    if column.endswith("_ns"):
        assert parse({"scenario": "-", "keep": ["links"]} | grid)


def test_the_columns_that_names_are_held_against_are_those_of_a_run():
    of_a_run = {
        table.name: tuple(column.name for column in table.columns) for table in daybreak.reference.tables.tables()
    }
    assert dict(schema()) == of_a_run


def _axes(count, values):
    fields = ["name", "description", "flows.0.group", "flows.0.size", *(f"stacks.{n}" for n in range(count - 4))]
    return {
        f"axis {n}": {"field": fields[n], "values": [f"{n} kB" for n in range(1, values + 1)]} for n in range(count)
    }


class _Few:
    """Takes a number of tasks, then ends all."""

    def __init__(self, most):
        self.most, self.taken = most, []

    def run(self, tasks, ended, progress):
        self.taken = [(task.job.point, task.job.seed) for task in itertools.islice(tasks, self.most)]
        raise Interrupted


@pytest.fixture
def peak():
    """Returns the peak of bytes allocated by Python since its last call."""

    def measure():
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        return most

    tracemalloc.start()
    yield measure
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("grid", "width", "words"),
    [
        ({"seeds": 10**9}, None, "1,000,000,000 runs (1 point with 1,000,000,000 seeds each), more than 1,000,000:"),
        ({"axes": _axes(4, 1000)}, None, "1,000,000,000,000 runs (1,000,000,000,000 points with 1 seed each)"),
        ({"axes": _axes(4, 1000), "sample": 10**9, "seeds": 2}, None, "(1,000,000,000 points with 2 seeds each)"),
        ({"axes": _axes(7, 1000)}, None, f"{10**21:,} runs"),
        ({"axes": _axes(2, 120)}, 0.02, "1,440,000 runs (14,400 points with 100 seeds at most each)"),
    ],
)
def test_a_grid_of_too_many_runs_is_refused_before_any_is_made(grid, width, words, base, tmp_path, peak):
    with pytest.raises(ScenarioError) as caught:
        sweep(Points(parse({"scenario": "-"} | grid), base), tmp_path / "out", width=width)
    assert words in str(caught.value) and "--max-runs" in str(caught.value)
    assert not (tmp_path / "out").exists() and peak() < 10_000_000


@pytest.mark.parametrize("width", [None, 0.02])
@pytest.mark.parametrize(
    ("grid", "first"),
    [
        ({"seeds": 10**9}, [(0, 1), (0, 2), (0, 3)]),
        ({"seeds": [7, 3], "axes": _axes(4, 1000)}, [(0, 7), (0, 3), (1, 7)]),
    ],
)
def test_neither_the_product_nor_the_seeds_are_held_in_memory(grid, first, width, base, tmp_path, peak):
    points = Points(parse({"scenario": "-"} | grid), base.with_({"flows.0.start": "0 s"}))
    few = _Few(3)
    more = {"width": width, "most_runs": 10**9} if width else {}
    with pytest.raises(Interrupted):
        sweep(points, tmp_path, executor=few, max_runs=10**22, **more)
    assert few.taken == first and peak() < 20_000_000


def test_a_sample_of_a_huge_product_is_drawn_without_the_product(base, peak):
    for axes in (4, 7):
        points = Points(parse({"scenario": "-", "axes": _axes(axes, 1000), "sample": 1000}), base)
        drawn = list(points)
        assert drawn == sorted(set(drawn)) and len(drawn) == len(points) == 1000
        assert drawn == list(Points(points.grid, base))
        # Uniform over the product: the mean of 1000 draws is within five deviations of the middle.
        assert abs(sum(drawn) / 1000 / 1000**axes - 0.5) < 5 / (12 * 1000) ** 0.5
        assert peak() < 10_000_000


def test_a_sample_is_the_one_that_earlier_versions_drew(base):
    points = Points(parse({"scenario": "-", "axes": _axes(2, 50), "sample": 6, "sample_seed": 2022}), base)
    assert list(points) == [1183, 1269, 1812, 2177, 2235, 2399]
    assert points.runs == 6


def test_seeds_that_are_counted_and_that_are_listed_find_the_same_runs(base, tmp_path):
    for seeds, new in ((2, 4), ([1, 2], 0), ([2, 3, 1], 2), (3, 0)):
        outcome = sweep(Points(parse({"scenario": "-", "seeds": seeds, "axes": {"rule": VARIANTS}}), base), tmp_path)
        assert outcome.new == new


def test_a_larger_sweep_that_does_not_finish_leaves_the_finished_one_as_it_is(points, base, tmp_path):
    sweep(points, tmp_path)
    finished = read_results(tmp_path)
    assert finished.is_complete and not finished.unfinished
    more = Points(points.grid.model_copy(update={"seeds": 3}), base)
    with pytest.raises(Interrupted):
        sweep(more, tmp_path, executor=Serial(interrupt_at=2))
    kept = read_results(tmp_path)
    assert kept.flows.equals(finished.flows)
    assert {key: kept.document[key] for key in finished.document} == finished.document
    said = f"the last sweep into {tmp_path} has not finished: these are the results of the one before"
    assert not kept.is_complete and kept.unfinished == said
    assert said in draw(kept, x="size", colour="rule").notes
    assert f"T{said[1:]}." in page.report(contents.gather([tmp_path]), explained=False)
    # The smaller sweep loses nothing, so it is no other one; the larger one goes on where it was.
    assert sweep(points, tmp_path).new == 0 and read_results(tmp_path).is_complete
    assert sweep(more, tmp_path).new == 4 and read_results(tmp_path).is_complete


def test_a_finished_sweep_stays_finished_whatever_ends_the_same_one(points, tmp_path):
    sweep(points, tmp_path)
    before = (tmp_path / "sweep.json").read_bytes()
    with pytest.raises(Interrupted):
        sweep(points, tmp_path, executor=_Few(0))
    assert (tmp_path / "sweep.json").read_bytes() == before


def test_a_folder_of_somebody_else_is_left_alone(points, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(OutputError, match="holds files that are no results"):
        sweep(points, tmp_path)
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_runs_are_added_until_the_interval_is_narrow_with_the_same_seeds_everywhere(migration, tmp_path):
    lossy = migration.with_({"flows.0.start": {"uniform": ["0 s", "10 ms"]}})
    axes = {"size": {"fields": ["flows.0.size", "flows.1.size"], "values": ["1 MiB", "16 MiB"]}}
    outcome = sweep(Points(parse({"scenario": "-", "axes": axes}), lossy), tmp_path, width=0.05, most_runs=60)
    table = pl.read_parquet(tmp_path / "flows").with_columns(fct=pl.col("fct_ns") / 1e9)
    for point, some in table.group_by("point"):
        seeds = sorted(some["seed"].unique().to_list())
        assert seeds == list(range(1, len(seeds) + 1)) and len(seeds) >= 5
        widths = [
            (found.high - found.mean) / found.mean
            for _, group in some.group_by("group")
            for found in [confidence.interval(group["fct"])]
        ]
        assert (max(widths) <= 0.05) == (point[0] not in outcome.wide)
        assert len(seeds) <= 60 and (point[0] not in outcome.wide or len(seeds) == 60)


def test_added_runs_have_seeds_of_their_own(migration, tmp_path):
    """A run that comes twice would count as two, and make the interval narrower than it is."""
    random = migration.with_({"flows.0.start": {"uniform": ["0 s", "50 ms"]}, "flows.0.size": "1 MiB"})
    shorter = random.with_({"flows.1.size": "1 MiB"})
    axes = {"rule": {"fields": ["flows.0.variant"], "values": ["cubic"]}}
    grid = parse({"scenario": "-", "seeds": [2, 7, 3], "axes": axes})
    sweep(Points(grid, shorter), tmp_path, width=1e-6, most_runs=8)
    flows = pl.read_parquet(tmp_path / "flows")
    assert sorted(flows["seed"].unique()) == [2, 3, 7, 8, 9, 10, 11, 12]
    assert flows.group_by("seed").len()["len"].unique().to_list() == [2]


GRID = """
scenario = "{base}"
seeds = 400
[axes.size]
field = "flows.0.size"
values = ["100 kB", "200 kB"]
"""


def test_the_command_goes_on_after_kill_9(tmp_path):
    grid, out = tmp_path / "sizes.toml", tmp_path / "out"
    grid.write_text(GRID.format(base=ROOT / "scenarios" / "01-one-flow.toml"))
    command = [sys.executable, "-c", "from daybreak.cli import main; main()", "sweep", str(grid), "-o", str(out)]
    process = subprocess.Popen(command)
    while len(list(out.glob("runs/??/*"))) < 30:
        assert process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = len(list(out.glob("runs/??/*")))
    assert 30 <= kept < 800 and not (out / "flows").exists()
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["runs"], found["new_runs"], found["failures"]) == (800, 800 - kept, [])
    assert pl.read_parquet(out / "flows").height == 800


def test_the_command_shows_what_failed_and_says_so_in_its_exit_code(tmp_path):
    grid = tmp_path / "g.toml"
    text = GRID.format(base=ROOT / "scenarios" / "01-one-flow.toml").replace("400", "1").replace("200 kB", "a lot")
    grid.write_text(text)
    command = [sys.executable, "-c", "from daybreak.cli import main; main()", "sweep", str(grid)]
    done = subprocess.run([*command, "-o", str(tmp_path / "o")], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "1 failure:" in done.stdout and 'size = "a lot"' in done.stdout
    wrong = subprocess.run([*command, "--ci", "2 x"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and '--ci "2 x": expected a part of the mean' in wrong.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "grids").glob("*.toml")), ids=lambda path: path.stem)
def test_ready_grids_are_sound(path):
    points = read(path)
    # Of a large grid some hundred points, which a prime step spreads over all axes.
    for number in list(points)[:: 1 if len(points) < 400 else 7]:
        daybreak.engines.lowered(points.scenario(number), 1, points.grid.engine)


def test_an_axis_may_be_a_list_under_the_name_of_its_field(base, tmp_path):
    grid = tmp_path / "grid.toml"
    (tmp_path / "base.toml").write_text(base.to_toml())
    grid.write_text('scenario = "base.toml"\naxes = { "flows.0.variant" = ["reno", "bbr"] }\n')
    points = read(grid)
    assert [points.columns(number) for number in points] == [{"flows.0.variant": one} for one in ("reno", "bbr")]
    assert [points.scenario(number).flows[0].variant.name for number in points] == ["reno", "bbr"]
    for wrong in ("[]", '"reno"', "3"):
        grid.write_text(f'scenario = "base.toml"\naxes = {{ "flows.0.variant" = {wrong} }}\n')
        with pytest.raises(ScenarioError, match=r"axes\.flows\.0\.variant"):
            read(grid)


@pytest.mark.parametrize("points", [[], None, 3])
def test_what_are_no_points_is_one_sentence(tmp_path, points):
    with pytest.raises(ScenarioError, match=r"^points is an object of type \w+: expected what daybreak\.vary"):
        sweep(points, tmp_path / "d")
    assert not (tmp_path / "d").exists()
