"""Points of grids and the dataset that a folder holds: numbers, columns, and whole sentences of what is refused."""

import json

import polars as pl
import pytest
from executors import Serial

import daybreak
from daybreak.errors import EngineError, OutputError, ScenarioError
from daybreak.scenario import Scenario
from daybreak.sweeps import Grid, Job, Points, Reduction, Store, StoredRun, Task, read, replacing, sweep, vary
from daybreak.sweeps import dataset as dataset_
from daybreak.sweeps.grid import OF_EVERY_RUN, parse
from daybreak.sweeps.labels import twice
from daybreak.sweeps.numbers import column
from daybreak.sweeps.run import Failure, Outcome, PointJob, reduction, tables

SIZES = {"field": "flows.0.size", "values": ["100 kB", "200 kB"]}
RULES = {"field": "flows.0.variant", "values": ["cubic", "reno", "bbr"]}
BOTH = {"fields": ["flows.0.size", "topology.queue"], "values": ["100 kB", "200 kB"]}


def points(base=None, **grid):
    return Points(parse({"scenario": "-"} | grid), base)


def test_a_grid_has_its_defaults():
    assert Grid(scenario="a").model_dump() == {
        "scenario": "a", "engine": "simulated", "seeds": 1, "keep": ("flows",), "sample": None, "sample_seed": 1,
        "axes": {},
    }  # fmt: skip


def test_points_are_counted_and_each_has_a_row():
    some = points(seeds=[4, 9], axes={"rule": RULES, "size": SIZES})
    assert (some.count, len(some), some.runs, list(some), some.seeds) == (6, 6, 12, [0, 1, 2, 3, 4, 5], (4, 9))
    assert [some.row(number) for number in (0, 1, 5)] == [
        {"rule": "cubic", "size": "100 kB", "size_bytes": 100_000.0},
        {"rule": "cubic", "size": "200 kB", "size_bytes": 200_000.0},
        {"rule": "bbr", "size": "200 kB", "size_bytes": 200_000.0},
    ]  # fmt: skip
    assert [list(some.columns(number)) for number in (0, 5)] == [["rule", "size"]] * 2
    alone = points(seeds=3)
    assert (alone.count, alone.runs, list(alone), list(alone.seeds), alone.row(0)) == (1, 3, [0], [1, 2, 3], {})
    few = points(axes={"rule": RULES, "size": SIZES}, sample=4, sample_seed=5, seeds=2)
    assert (few.count, few.runs, len(set(few))) == (4, 8, 4)
    # A sample of all of them, or more, is all of them in their order.
    assert list(points(axes={"rule": RULES}, sample=9)) == [0, 1, 2]
    on = some.on("kernel")
    assert (on.grid.engine, on.grid.axes, some.grid.engine) == ("kernel", some.grid.axes, "simulated")


def test_an_axis_says_which_parts_of_a_scenario_it_changes():
    some = points(axes={"a": {"points": {"x": {"stack.hz": 100}, "y": {"flows.0.count": 2}}}, "b": BOTH})
    assert [some.vary(part) for part in ("stack", "flows", "topology", "arrivals", "stack.hz")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert some.vary("arrivals", "stack") and not points().vary("flows")


def test_a_point_without_changes_is_the_scenario_itself(one_flow):
    some = points(one_flow, axes={"a": {"points": {"as it is": {}, "large": {"flows.0.size": "5 MB"}}}})
    assert some.scenario(0) is one_flow and some.scenario(1).flows[0].size == 5_000_000
    assert points(one_flow).scenario(0) is one_flow
    both = points(one_flow, axes={"b": BOTH}).scenario(1)
    assert (both.flows[0].size, str(both.topology.queue)) == (200_000, "200 kB")


@pytest.mark.parametrize(("grid", "sentence"), [
    ({"axes": {"x": SIZES | {"fields": ["a"]}}}, "axes.x = {...}: expected one of field, fields and points"),
    ({"axes": {"x": RULES | {"points": {"a": {}}}}}, "axes.x = {...}: expected one of field, fields and points"),
    ({"axes": {"x": {"points": {"a": {}}, "values": [1]}}},
     "axes.x = {...}: expected values with a field or fields, and none with points"),
    ({"axes": {"x": {"field": ""}}}, 'axes.x.field = "": expected a text that is not empty'),
    ({"axes": {"seed": SIZES}}, 'axis "seed": every table of a sweep has a column of this name; expected another one'),
    ({"axes": {"group": SIZES}},
     'axis "group": table flows has a column of this name; expected another one, such as "group_set"'),
    ({"axes": {"mean": SIZES}},
     'axis "mean": a summary of table flows has a column of this name; expected another one, such as "mean_set"'),
    ({"axes": {"x ": SIZES}}, 'axis "x ": expected the name of a column, of letters, digits, spaces and . - _'),
    ({"axes": {"é/": SIZES}}, 'axis "é/": expected the name of a column, of letters, digits, spaces and . - _'),
    ({"axes": {"x": SIZES | {"values": [{"é": 1}, {"é": 1}]}}},
     'axis "x": expected each value once, and {"é": 1} is there twice'),
    ({"axes": {"x": BOTH, "y": {"points": {"p": {"topology.queue": "1 kB"}}}}},
     '"topology.queue" is varied by two axes'),
    ({"keep": ["bins", "flows", "bins"]}, 'keep has "bins" twice'),
    ({"sample": 0}, "sample = 0: expected at least 1"),
])  # fmt: skip
def test_what_a_grid_cannot_be_is_one_whole_sentence(grid, sentence):
    with pytest.raises(ScenarioError) as caught:
        parse({"scenario": "-"} | grid, "my.toml")
    assert str(caught.value) == f"my.toml: {sentence}"


def test_names_that_are_free_are_taken():
    for name in ("x", "x y", "a.b-c", "é", "2"):
        assert list(parse({"scenario": "-", "axes": {name: SIZES}}).axes) == [name]
    # Several points of one axis may change the same field.
    of_points = {"points": {"p": {"flows.0.size": "1 kB"}, "q": {"flows.0.size": "2 kB"}}}
    assert parse({"scenario": "-", "axes": {"x": of_points}}).axes["x"].values == ()
    assert OF_EVERY_RUN == ("point", "seed", "run_ended_ns")


def test_a_grid_of_python_is_as_it_was_said(one_flow):
    made = vary(
        one_flow, {"flows.0.count": (one for one in (1, 2)), "size": SIZES}, seeds=[3], engine="kernel",
        keep=("links", "flows"), sample=2, sample_seed=7,
    )  # fmt: skip
    assert made.base is one_flow
    assert made.grid.model_dump(exclude_defaults=True) == {
        "scenario": "one flow", "engine": "kernel", "seeds": (3,), "keep": ("links", "flows"), "sample": 2,
        "sample_seed": 7,
        "axes": {"flows.0.count": {"field": "flows.0.count", "values": (1, 2)},
                 "size": SIZES | {"values": ("100 kB", "200 kB")}},
    }  # fmt: skip
    assert vary(one_flow, {}).grid == Grid(scenario="one flow")


def test_a_grid_file_names_its_scenario_beside_it(one_flow, tmp_path):
    place = tmp_path / "grid.toml"
    with pytest.raises(ScenarioError) as caught:
        read(place)
    assert str(caught.value) == f"{place} cannot be read: no such file or directory"
    place.write_text("scenario = ")
    with pytest.raises(ScenarioError, match=r"grid\.toml is not valid TOML: "):
        read(place)
    place.write_bytes(b"\xff")
    with pytest.raises(ScenarioError, match=r"grid\.toml is not valid TOML: "):
        read(place)
    (tmp_path / "of").mkdir()
    daybreak.save(one_flow, tmp_path / "of" / "flow.toml")
    place.write_text('scenario = "of/flow.toml"\nseeds = [5]\n')
    found = read(str(place))
    assert (found.base, found.seeds) == (one_flow, (5,))
    place.write_text('scenario = "of/flow.toml"\nseed = 5\n')
    with pytest.raises(ScenarioError) as caught:
        read(place)
    assert str(caught.value).startswith(f'{place}: the grid has no key "seed" (did you mean "seeds"?)')


@pytest.mark.parametrize(("values", "same"), [
    (["1 MB", "2 MB"], None), (["1 MB", "x", "1 MB"], ("1 MB", "1 MB")), (["1 MB", "1000 kB"], ("1 MB", "1000 kB")),
    ([1, 2, 1.0], (1, 1.0)), ([1, True], None), ([{"a": 1, "b": 2}, {"b": 2, "a": 1}],
     ({"a": 1, "b": 2}, {"b": 2, "a": 1})),
    ([], None), (["50 %", 0.5], ("50 %", 0.5)),
    # The float nearest to 0.7, divided by 100, is not the one nearest to 0.007.
    (["0.7 %", 0.007], ("0.7 %", 0.007)),
])  # fmt: skip
def test_equal_values_are_found_whatever_they_are_written_as(values, same):
    assert twice(values) == same


@pytest.mark.parametrize(("values", "found"), [
    (["5 packets", "1 packet"], ("x_packets", [5.0, 1.0])), (["5packets"], ("x_packets", [5.0])),
    (["5 packs"], None), (["1 us", "2 ns"], ("x_ns", [1000.0, 2.0])), (["1 Mbit/s"], ("x_bps", [1e6])),
    (["1 KiB", "2 B"], ("x_bytes", [1024.0, 2.0])), (["1 %", "2.5 %", 1, 0.5], ("x_share", [0.01, 0.025, 1.0, 0.5])),
    (["1e1 %"], ("x_share", [0.1])), ([" 3 % "], ("x_share", [0.03])), (["1 %", True], None), (["1 %", "a"], None),
    ([1, 2], None), ([], None), (["a"], None), (["1 us", 5], None), (["1 us", "1 kB"], None), (["1 ms", None], None),
])  # fmt: skip
def test_quantities_have_one_unit_or_no_numbers(values, found):
    assert column("x", values) == found


def held(directory, some, *kept):
    """A folder with the dataset of a sweep."""
    for table in kept or some.grid.keep:
        (directory / table).mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"x": [1]}).write_parquet(directory / table / "part-00000.parquet")
    dataset_.note(directory, replacing.facts(some))


def begin(directory, some, *, force):
    replacing.begin(directory, some, replacing.facts(some), force)


def another(old, new, tmp_path, base):
    held(tmp_path, points(base, **old))
    with pytest.raises(OutputError) as caught:
        begin(tmp_path, points(base, **new), force=False)
    start, end = (
        f"{tmp_path} cannot be used: it holds a sweep ",
        ("; choose another folder, or --force to replace its dataset (in Python force=True)"),
    )
    text = str(caught.value)
    assert text.startswith(start) and text.endswith(end)
    return text.removeprefix(start).removesuffix(end)


CYCLES = {"points": {"a": {"stack.hz": 100}, "b": {"stack.hz": 250}}}


@pytest.mark.parametrize(("old", "new", "what"), [
    ({}, {"engine": "kernel"}, "on engine simulated"), ({"engine": "kernel"}, {}, "on engine kernel"),
    ({"axes": {"x": SIZES, "y": RULES}}, {"axes": {"x": SIZES}}, "over x, y"),
    ({}, {"axes": {"x": SIZES}}, "without axes"),
    ({"axes": {"x": SIZES}}, {"axes": {"x": RULES}}, 'whose axis "x" is of flows.0.size'),
    ({"axes": {"x": BOTH}}, {"axes": {"x": SIZES}}, 'whose axis "x" is of flows.0.size, topology.queue'),
    ({"axes": {"x": CYCLES}}, {"axes": {"x": SIZES}}, 'whose axis "x" is of several fields'),
    ({"axes": {"x": SIZES}}, {"axes": {"x": SIZES | {"values": ["200 kB"]}}}, 'whose axis "x" has "100 kB"'),
    ({"axes": {"x": CYCLES}}, {"axes": {"x": {"points": {"b": {"stack.hz": 250}}}}}, 'whose axis "x" has "a"'),
    ({"axes": {"x": CYCLES}}, {"axes": {"x": {"points": CYCLES["points"] | {"b": {"stack.hz": 300}}}}},
     'whose axis "x" has "b"'),
    ({"axes": {"x": RULES}}, {"axes": {"x": RULES}, "sample": 2},
     "of other points, which are drawn from the product of the axes"),
    ({"axes": {"x": RULES}, "sample": 2}, {"axes": {"x": RULES}, "sample": 2, "sample_seed": 2},
     "of other points, which are drawn from the product of the axes"),
    # An axis that grows is a product of more points, of which others are drawn.
    ({"axes": {"x": SIZES}, "sample": 2}, {"axes": {"x": SIZES | {"values": [*SIZES["values"], "1 MB"]}}, "sample": 2},
     "of other points, which are drawn from the product of the axes"),
    ({"seeds": 3}, {"seeds": [3, 1]}, "with seed 2"), ({"seeds": [7, 5]}, {"seeds": 6}, "with seed 7"),
    ({"keep": ["flows", "links", "bins"]}, {"keep": ["links"]}, "with table flows"),
])  # fmt: skip
def test_what_a_held_sweep_has_and_a_new_one_would_not(old, new, what, tmp_path, one_flow):
    assert another(old, new, tmp_path, one_flow) == what


@pytest.mark.parametrize(("old", "new"), [
    ({}, {}), ({"seeds": 2}, {"seeds": [3, 2, 1]}), ({"keep": ["flows"]}, {"keep": ["links", "flows"]}),
    ({"axes": {"x": SIZES}}, {"axes": {"x": SIZES | {"values": ["300 kB", "200 kB", "100 kB"]}}}),
    ({"axes": {"x": SIZES, "y": RULES}}, {"axes": {"y": RULES, "x": SIZES}}),
    ({"axes": {"x": CYCLES}}, {"axes": {"x": {"points": {"b": {"stack.hz": 250}, "a": {"stack.hz": 100}, "c": {}}}}}),
    # All points are more than some that were drawn, and the same draw is the same sweep.
    ({"axes": {"x": RULES}, "sample": 2}, {"axes": {"x": RULES}}),
    ({"axes": {"x": RULES}, "sample": 2}, {"axes": {"x": RULES}, "sample": 2}),
])  # fmt: skip
def test_the_same_sweep_or_a_larger_one_goes_on(old, new, tmp_path, one_flow):
    held(tmp_path, points(one_flow, **old))
    begin(tmp_path, points(one_flow.with_({"name": "words", "description": "more"}), **new), force=False)
    assert (tmp_path / "flows" / "part-00000.parquet").exists()


def test_by_force_the_tables_of_the_held_sweep_go_and_nothing_else(tmp_path, one_flow):
    held(tmp_path, points(one_flow, keep=["flows", "links"]), "flows", "links", "bins", "runs")
    begin(tmp_path, points(one_flow.with_({"flows.0.size": "3 MB"}), keep=["flows"]), force=True)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bins", "runs", "sweep.json"]
    # Earlier versions did not write the scenario.
    held(tmp_path, points(one_flow))
    (tmp_path / "sweep.json").write_text('{"grid": {"scenario": "-"}}')
    begin(tmp_path, points(one_flow, seeds=2), force=False)
    with pytest.raises(OutputError, match=r"it holds a sweep on engine simulated; choose"):
        begin(tmp_path, points(one_flow, engine="kernel"), force=False)
    (tmp_path / "flows" / "part-00000.parquet").unlink()
    # A description without tables, or one that is none, holds nothing.
    other = points(one_flow, engine="kernel")
    begin(tmp_path, other, force=False)
    (tmp_path / "links").mkdir()
    for text in ("{", "[]", "{}", '{"grid": 3}'):
        (tmp_path / "sweep.json").write_text(text)
        begin(tmp_path, other, force=False)


def test_another_scenario_is_named(tmp_path, one_flow):
    held(tmp_path, points(one_flow))
    with pytest.raises(OutputError, match=r'it holds a sweep of another scenario, "one flow"; choose'):
        begin(tmp_path, points(one_flow.with_({"name": "x", "duration": "2 s"})), force=False)
    assert replacing.facts(points(one_flow, seeds=2)) == {
        "grid": {"scenario": "-", "seeds": 2}, "scenario": one_flow.document(),
    }  # fmt: skip


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs", reduction(["flows"]), lambda engine, plan: "p")


def stored(store, number, **kept):
    digest = f"{number:032x}"
    store.put(digest, StoredRun({"totals": {"ended_ns": 100 + number}}, kept))
    return bytes.fromhex(digest)


def test_rows_of_a_dataset_have_their_run_before_them(store, tmp_path):
    many = {"flows": pl.DataFrame({"a": [1, 2]}), "links": pl.DataFrame({"b": ["x"]})}
    none = {"flows": pl.DataFrame({"a": [3]}), "links": pl.DataFrame({"b": ["y"]}).clear()}
    made = [
        dataset_.SweepRun(1, 1, stored(store, 1, **many)), dataset_.SweepRun(0, 2, stored(store, 2, **none)),
        dataset_.SweepRun(0, 1, stored(store, 3, **many)),
    ]  # fmt: skip
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "part-00007.parquet").write_text("of before")
    dataset_.write(tmp_path, store, made, lambda point: {"axis": f"of {point}"}, ["flows", "links"])
    assert pl.read_parquet(tmp_path / "flows").to_dict(as_series=False) == {
        "point": [0, 0, 0, 1, 1], "seed": [1, 1, 2, 1, 1], "axis": ["of 0"] * 3 + ["of 1"] * 2,
        "run_ended_ns": [103, 103, 102, 101, 101], "a": [1, 2, 3, 1, 2],
    }  # fmt: skip
    assert pl.read_parquet(tmp_path / "links").rows() == [(0, 1, "of 0", 103, "x"), (1, 1, "of 1", 101, "x")]
    # What was there before is gone, and nothing unfinished is left.
    assert sorted(one.name for one in tmp_path.iterdir()) == ["flows", "links", "runs"]
    assert [one.name for one in (tmp_path / "flows").iterdir()] == ["part-00000.parquet"]


def test_a_dataset_that_cannot_be_written_is_one_sentence(store, tmp_path):
    with pytest.raises(OutputError) as caught:
        dataset_.write(tmp_path / "none", store, [], lambda point: {}, ["flows"])
    assert str(caught.value) == f"{tmp_path}/none cannot be written: no such file or directory"
    with pytest.raises(OutputError) as caught:
        dataset_.note(tmp_path / "none", {})
    assert str(caught.value) == f"{tmp_path}/none cannot be written: no such file or directory"
    dataset_.note(tmp_path, {"a": [1]})
    assert (tmp_path / "sweep.json").read_text() == '{\n "a": [\n  1\n ]\n}\n'
    assert sorted(one.name for one in tmp_path.iterdir()) == ["sweep.json"]


def test_an_outcome_is_a_document_and_its_tables():
    failure = Failure(3, None, {"x": 1}, "why")
    outcome = Outcome("place", 5, [dataset_.SweepRun(0, 1, b"")], [failure], new=7, wide=[2], seconds=1.23456)
    assert outcome.document() == {
        "directory": "place", "points": 5, "runs": 1, "new_runs": 7, "seconds": 1.235, "wide_points": [2],
        "failures": [{"point": 3, "seed": None, "values": {"x": 1}, "error": "why"}],
    }  # fmt: skip


def test_tables_of_a_run_are_kept_by_a_function_of_their_names(one_flow):
    run = daybreak.run(one_flow)
    kept = reduction(["links", "flows"])
    assert (kept.name, kept.version) == ("tables links flows", 2)
    assert list(kept.function(run)) == ["links", "flows"] == list(tables(run, ["links", "flows"]))
    assert kept.function(run)["links"].equals(run.links)


def test_a_task_is_run_where_its_program_is(one_flow):
    job = Job(one_flow)
    task = Task(job, Reduction("x", 1, lambda run: {"flows": run.flows}), "no program", "ab", job.plan())
    # Its plan was made here, with this program.
    assert task().tables["flows"].equals(daybreak.run(one_flow).flows)
    assert (Job(one_flow).seed, Job(one_flow).engine, PointJob(one_flow).point) == (1, "simulated", 0)
    here = daybreak.engines.program("simulated")
    with pytest.raises(EngineError) as caught:
        Task(job, task.reduction, "no program", "ab")()
    assert str(caught.value) == f"engine simulated is {here} where the run was to be made, not no program"


def test_progress_names_failures_and_counts_them(one_flow, tmp_path):
    told = []
    axes = {"size": {"field": "flows.0.size", "values": ["much", "100 kB"]}}
    outcome = sweep(
        points(one_flow, seeds=2, axes=axes), tmp_path, executor=Serial(), progress=lambda *now: told.append(now)
    )
    assert told == [(0, 4, ""), (3, 4, "1 failed"), (4, 4, "1 failed")]
    (failure,) = outcome.failures
    assert (failure.point, failure.seed, failure.values) == (0, None, {"size": "much"})
    assert 'flows[0].size = "much"' in failure.error and outcome.new == 2
    again = sweep(points(one_flow, seeds=2, axes=axes), str(tmp_path), executor=Serial())
    assert (again.new, len(again.made), again.points) == (0, 2, 2) and again.directory == tmp_path
    document = json.loads((tmp_path / "sweep.json").read_text())
    assert document["programs"] == {"simulated": daybreak.engines.program("simulated")}
    assert document["grid"]["seeds"] == 2 and Scenario.parse(document["scenario"]) == one_flow


@pytest.mark.parametrize(("given", "sentence"), [
    ({"width": 0}, "width = 0: expected a part of the mean between 0 and 1, such as 0.02"),
    ({"width": 1}, "width = 1: expected a part of the mean between 0 and 1, such as 0.02"),
    ({"width": "2 %"}, "width = '2 %': expected a part of the mean between 0 and 1, such as 0.02"),
    ({"most_runs": 0}, "most_runs = 0: expected a whole number of at least 1"),
    ({"max_runs": 1}, "the grid has 4 runs (2 points with 2 seeds each), more than 1: draw points with sample, or "
                      "allow more with --max-runs (in Python max_runs)"),
    ({"max_runs": 13, "width": 0.5, "most_runs": 7}, "the grid has 14 runs (2 points with 7 seeds at most each), more "
     "than 13: draw points with sample, or allow more with --max-runs (in Python max_runs)"),
    ({"width": 0.5}, 'keep: expected "flows" among the tables where runs are added until their mean is known'),
])  # fmt: skip
def test_a_sweep_that_cannot_be_is_one_whole_sentence(one_flow, tmp_path, given, sentence):
    keep = ["links"] if given == {"width": 0.5} else ["flows"]
    some = points(one_flow, seeds=2, axes={"size": SIZES}, keep=keep)
    with pytest.raises(ScenarioError) as caught:
        sweep(some, tmp_path / "out", executor=Serial(), **given)
    assert str(caught.value) == sentence and not (tmp_path / "out").exists()


def test_as_many_runs_as_are_allowed_are_made(one_flow, tmp_path):
    some = points(one_flow, seeds=2, axes={"size": SIZES})
    assert len(sweep(some, tmp_path, executor=Serial(), max_runs=4).made) == 4
