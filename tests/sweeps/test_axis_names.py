"""Names of axes: one that a summary needs for itself is refused, and with every other a summary is the same."""

import ast
from pathlib import Path

import polars as pl
import pytest

import daybreak
from daybreak.errors import ScenarioError
from daybreak.plots.sweeps import draw
from daybreak.runs import schema
from daybreak.sweeps import read_results
from daybreak.sweeps.grid import OF_SUMMARIES, parse
from daybreak.sweeps.results import AxisOf, Results

PACKAGE = Path(daybreak.__file__).parent
SUMMARISING = ("sweeps/results.py", "metrics/confidence.py", "metrics/fct.py", "metrics/measures.py",
               "metrics/slowdown.py", "plots/sweeps.py", "report/sweep.py")  # fmt: skip
AXES = {"size": {"field": "flows.0.size", "values": ["1 MB", "2 MB"]}}


def texts():
    """All texts in the code that summarises sweeps, among them the names of its columns."""
    found = {
        node.value
        for file in SUMMARISING
        for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    named = {keyword for keyword in found if keyword.replace("_", "a").isalnum()}
    assert set(OF_SUMMARIES) <= named
    return sorted(named - set(schema()["flows"]) - {"point", "seed", "run_ended_ns"} - set(OF_SUMMARIES))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    flow = {"from": "sender-0", "to": "receiver-0", "size": "1 MB", "start": {"uniform": ["0 s", "1 ms"]}}
    network = {"kind": "dumbbell", "rate": "1 Gbit/s", "delay": "20 us", "queue": "50 packets"}
    scenario = daybreak.Scenario.parse({"name": "sizes", "duration": "1 s", "topology": network, "flows": [flow]})
    place = tmp_path_factory.mktemp("sweeps") / "sizes"
    daybreak.sweep(daybreak.vary(scenario, AXES, seeds=3), place)
    found = read_results(place)
    return Results(place, found.document, (AxisOf("size", (1.0, 2.0), "size", (1.0, 2.0)),), with_numbers(found.flows))


def with_numbers(flows):
    """The axis as numbers, which collide with other numbers unnoticed."""
    return flows.drop("size_bytes").with_columns(pl.col("size").replace_strict({"1 MB": 1.0, "2 MB": 2.0}))


@pytest.mark.parametrize("name", OF_SUMMARIES)
def test_a_name_that_summaries_have_is_refused_before_anything_runs(name):
    with pytest.raises(ScenarioError, match=f'axis "{name}": a summary of table flows has a column of this name'):
        parse({"scenario": "-", "axes": {name: AXES["size"]}})
    assert parse({"scenario": "-", "keep": ["links"], "axes": {name: AXES["size"]}})


@pytest.mark.parametrize("name", texts())
def test_a_summary_and_a_figure_are_the_same_with_every_other_name(name, results):
    assert name in parse({"scenario": "-", "axes": {name: AXES["size"]}}).axes
    (axis,) = results.axes
    renamed = Results(
        results.directory, results.document, (AxisOf(name, axis.values, name, axis.numbers),),
        results.flows.rename({"size": name}),
    )  # fmt: skip
    assert renamed.summary().rename({name: "size"}).equals(results.summary())
    # A name may have the unit of its numbers, as "end_s" has; only the values of the measure are compared.
    lines = [draw(one).figure.axes[0].lines[0].get_ydata().tolist() for one in (renamed, results)]
    assert lines[0] == lines[1]
