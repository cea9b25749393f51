"""Sweeps and comparisons from Python: what the commands do, with scenarios and grids that no file has."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from ready_files import ROOT

import daybreak
from daybreak.errors import OutputError, ScenarioError
from daybreak.metrics import confidence
from daybreak.metrics.comparison import paired
from daybreak.plots.sweeps import draw
from daybreak.scenario import Dumbbell, Rate, Size
from daybreak.sweeps import read_results

SIZES = ["1 MB", "2 MB"]


def test_a_grid_that_is_made_in_python_is_that_of_a_file(one_flow, tmp_path):
    daybreak.save(one_flow, tmp_path / "flow.toml")
    (tmp_path / "grid.toml").write_text(
        'scenario = "flow.toml"\nseeds = 2\n[axes.size]\nfield = "flows.0.size"\nvalues = ["1 MB", "2 MB"]\n'
    )
    of_file = daybreak.sweep(tmp_path / "grid.toml", tmp_path / "a")
    named = daybreak.vary(one_flow, {"size": {"field": "flows.0.size", "values": SIZES}}, seeds=2)
    short = daybreak.vary(one_flow, {"flows.0.size": SIZES}, seeds=2)
    table = of_file.table()
    assert table["delivered_bytes"].to_list() == [10**6, 10**6, 2 * 10**6, 2 * 10**6]
    assert daybreak.sweep(named, tmp_path / "b").table("flows").equals(table)
    assert (
        daybreak.sweep(short, tmp_path / "c")
        .table()
        .rename({"flows.0.size": "size", "flows.0.size_bytes": "size_bytes"})
        .equals(table)
    )
    with pytest.raises(OutputError, match='the sweep has kept no table "window"'):
        of_file.table("window")


@pytest.mark.parametrize(
    ("axes", "sentence"),
    [
        ({"flows.0.size": []}, "^grid: axes.flows.0.size"),
        ({"seed": {"field": "flows.0.size", "values": SIZES}}, '^grid: axis "seed"'),
        ({"flows.0.size": "1 MB"}, '^grid: axes.flows.0.size.values = "1 MB": expected a list$'),
        ({"flows.0.count": 3}, "^grid: axes.flows.0.count.values = 3: expected a list$"),
        ({"a": {"field": "flows.0.size", "valus": SIZES}}, '^grid: axes.a has no key "valus"'),
    ],
)
def test_mistakes_in_a_grid_are_sentences(axes, sentence, one_flow):
    with pytest.raises(ScenarioError, match=sentence):
        daybreak.vary(one_flow, axes)


def test_an_axis_may_have_objects_and_quantities(one_flow, tmp_path):
    slow = Dumbbell(rate="1 Gbit/s", delay="20 us", queue="350 packets")
    axes = {"topology": [slow, slow.model_copy(update={"rate": Rate.parse("2 Gbit/s")})], "flows.0.size": [Size(10**6)]}
    points = daybreak.vary(one_flow, axes)
    assert [int(points.scenario(at).topology.rate) for at in points] == [10**9, 2 * 10**9]
    table = daybreak.sweep(points, tmp_path / "out").table()
    assert table["flows.0.size"].unique().to_list() == ["1 MB"] and table["topology"].n_unique() == 2
    draw(read_results(tmp_path / "out"), x="topology")


def test_a_comparison_pairs_the_runs_of_each_seed(one_flow, tmp_path):
    larger = one_flow.with_({"flows.0.size": "2 MB", "flows.0.start": {"uniform": ["0 s", "1 ms"]}})
    runs = [[daybreak.run(scenario, seed=seed) for seed in (1, 2, 3)] for scenario in (one_flow, larger)]
    expected = paired(*(confidence.stack((run.seed, run.flows) for run in some) for some in runs))
    for number, run in enumerate(runs[1]):
        run.write(tmp_path / "larger" / f"seed-{number + 1}")
    daybreak.save(one_flow, tmp_path / "flow.toml")
    assert daybreak.compare(one_flow, larger, runs=3).equals(expected)
    assert daybreak.compare(tmp_path / "flow.toml", tmp_path / "larger", runs=3).equals(expected)
    assert daybreak.compare(runs[0], iter(runs[1])).equals(expected)
    assert daybreak.compare(runs[0][0], runs[1][0])["runs"].unique().to_list() == [1]
    assert daybreak.compare(one_flow, larger, runs=3, workers=2).equals(expected)
    # Also where nothing is run.
    with pytest.raises(ScenarioError, match=r"^workers = 0: expected a whole number of at least 1$"):
        daybreak.compare(runs[0], runs[1], workers=0)
    (fct,) = expected.filter(pl.col("value") == "fct_s").iter_rows(named=True)
    assert fct["difference"] > 0 and fct["runs"] == 3
    with pytest.raises(OutputError, match=r"^the first and the second cannot be compared: runs: the two have no"):
        daybreak.compare(runs[0][0], runs[1][1])


def test_each_of_several_is_compared_with_the_first(one_flow):
    scenarios = [one_flow.with_({"flows.0.size": size}) for size in ("1 MB", "2 MB", "3 MB")]
    together = daybreak.compare(*scenarios, runs=2)
    for number in (1, 2):
        alone = daybreak.compare(scenarios[0], scenarios[number], runs=2)
        assert together.filter(compared=number).drop("compared").equals(alone)
    assert together["compared"].unique().to_list() == [1, 2]


def test_what_cannot_be_compared_is_said_before_it_is_run(one_flow, migration):
    with pytest.raises(OutputError) as caught:
        daybreak.compare(one_flow, one_flow, migration, progress=lambda *_: pytest.fail("it runs"))
    assert str(caught.value) == (
        'the first and number 3 cannot be compared: group: the first has "flow-0", the other "main", "moved"'
    )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda one: daybreak.compare(one, one, runs=0), "runs = 0: expected a whole number from 1 to 100000"),
        (lambda one: daybreak.compare(one, one, workers=0), "workers = 0: expected a whole number of at least 1"),
        (lambda one: daybreak.run_many([one], workers=1.5), "workers = 1.5: expected a whole number of at least 1"),
        (lambda one: daybreak.run(one, seed="1"), 'seed = "1": expected a whole number from 0 to 2^64 - 1'),
        (lambda one: daybreak.run(one, seed=-1), "seed = -1: expected a whole number from 0 to 2^64 - 1"),
        (lambda one: daybreak.run(one, seed=True), "seed = true: expected a whole number"),
        (lambda one: daybreak.sweep(daybreak.vary(one, {}), "x", width=2), "width = 2: expected a part of the mean"),
        (lambda one: daybreak.sweep(daybreak.vary(one, {}), "x", max_runs=0), "max_runs = 0: expected a whole number"),
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_are_one_sentence(call, sentence, one_flow):
    with pytest.raises(ScenarioError) as caught:
        call(one_flow)
    assert str(caught.value).startswith(sentence)
    assert daybreak.run(one_flow, seed=np.int64(3)).seed == 3


def test_what_is_no_grid_is_named_by_its_type(one_flow, tmp_path):
    sentence = "points is an object of type Scenario: expected what daybreak.vary makes, or the path of a grid file"
    with pytest.raises(ScenarioError, match=f"^{sentence}$"):
        daybreak.sweep(one_flow, tmp_path)


def test_the_outcome_of_a_sweep_has_its_results_and_draws_them(one_flow, tmp_path):
    axes = {"flows.0.size": SIZES, "flows.0.variant": ["reno", "cubic"]}
    outcome = daybreak.sweep(daybreak.vary(one_flow, axes), tmp_path / "out")
    assert outcome.results().flows.equals(outcome.table())
    figure = outcome.plot(y="fct.p99", only={"flows.0.variant": "reno"})
    expected = draw(read_results(tmp_path / "out"), y="fct.p99", only={"flows.0.variant": "reno"}).figure
    lines = [[line.get_xydata().tolist() for line in one.axes[0].get_lines()] for one in (figure, expected)]
    assert lines[0] == lines[1] != []


def test_completion_offers_the_names_that_are_public():
    assert dir(daybreak) == sorted(daybreak.__all__)


def test_the_signature_of_a_part_of_a_scenario_has_its_keys():
    code = (
        "import inspect; from daybreak.scenario import Dumbbell, Flow, Link; "
        "print(*inspect.signature(Dumbbell).parameters); print(*inspect.signature(Flow).parameters); "
        "print(inspect.signature(Dumbbell).parameters['access_delay'].default)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True, text=True)
    dumbbell, flow, delay = done.stdout.splitlines()
    assert dumbbell.split()[:5] == ["kind", "pairs", "rate", "delay", "queue"] and delay == "1 us"
    assert {"from_", "to", "size", "variant"} <= set(flow.split())


def test_the_functions_stay_functions_whatever_is_imported():
    code = "import daybreak.sweeps, daybreak.plots, daybreak.engines; assert callable(daybreak.sweep), daybreak.sweep"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_axes_of_a_sweep_have_their_values_in_order_with_the_number_of_each(one_flow, tmp_path):
    small = one_flow.with_({"flows.0.size": "1 kB"})
    axes = {
        "count": {"field": "flows.0.count", "values": [2, 1]},
        "rate": {"field": "topology.rate", "values": ["1 Gbit/s"]},
        "rule": {"field": "flows.0.variant", "values": ["reno", "cubic"]}, "loss": {"points": {"none": {}}},
    }  # fmt: skip
    daybreak.sweep(daybreak.vary(small, axes), tmp_path / "out")
    found = {axis.name: (axis.values, axis.column, axis.numbers) for axis in read_results(tmp_path / "out").axes}
    assert found == {
        "count": ((2, 1), "count", (2.0, 1.0)), "rate": (("1 Gbit/s",), "rate_bps", (1e9,)),
        "rule": (("reno", "cubic"), None, ()), "loss": (("none",), None, ()),
    }  # fmt: skip


def test_a_file_of_the_users_among_the_tables_of_a_sweep_is_no_table(one_flow, tmp_path):
    daybreak.sweep(daybreak.vary(one_flow, {"flows.0.size": SIZES}), tmp_path / "out")
    (tmp_path / "out" / "flows" / "notes.txt").write_text("mine")
    assert read_results(tmp_path / "out").flows["bytes"].to_list() == [10**6, 2 * 10**6]
