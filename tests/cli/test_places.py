"""What a command is given that is something else: one sentence that says what it is."""

import re

import pytest
from cli.program import daybreak, one_sentence
from ready_files import ROOT

SCENARIO = ROOT / "scenarios" / "04-downtime.toml"
GRID = """
scenario = "{base}"
axes = {{ "flows.0.size" = {sizes} }}
seeds = {seeds}
"""


def grid(folder, sizes, seeds=1):
    file = folder / "grid.toml"
    file.write_text(GRID.format(base=ROOT / "scenarios" / "01-one-flow.toml", sizes=sizes, seeds=seeds))
    return file


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A folder of a run, and one of a sweep of a single point."""
    folder = tmp_path_factory.mktemp("places")
    assert daybreak("run", SCENARIO, "-o", folder / "run").returncode == 0
    done = daybreak("sweep", grid(folder, '["20 kB"]'), "-o", folder / "sweep")
    assert done.returncode == 0 and "1 run of 1 point, 1 of them new" in done.stdout
    return folder


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("plot", "run", "sweep"), "sweep is a sweep: expected a sweep alone, or only runs"),
        (("compare", "run", "sweep"), "sweep is a sweep, and daybreak compare expects runs"),
        (("explain", "sweep"), "sweep is a sweep, and daybreak explain expects runs"),
        (("export", "sweep"), "sweep is a sweep, and daybreak export expects runs"),
        (("plot", SCENARIO), f"{SCENARIO} is a scenario file: run it first, with daybreak run {SCENARIO}"),
        (("report", SCENARIO), f"{SCENARIO} is a scenario file: run it first"),
        (("export", SCENARIO), f"{SCENARIO} is a scenario file: run it first"),
        (("sweep", SCENARIO), f"{SCENARIO} is a scenario, and a grid was expected: one with scenario and axes"),
        (("plot", "run", "--x", "queue"), "--x applies to sweeps only, and run is not one"),
        (("plot", "sweep", "--what", "fct"), "--what applies to runs only, and sweep is a sweep"),
    ],
)
def test_a_command_says_what_it_was_given(places, arguments, sentence):
    done = daybreak(*arguments, cwd=places)
    assert done.returncode in (1, 2) and one_sentence(done.stderr) and sentence in done.stderr


def test_a_grid_without_axes_is_said_to_have_one_point(tmp_path):
    said = "the grid has no axes: its one point is the scenario itself"
    (tmp_path / "grid.toml").write_text(f'scenario = "{SCENARIO}"\n')
    assert said in daybreak("sweep", tmp_path / "grid.toml", "-o", tmp_path / "one").stdout.splitlines()
    assert said not in daybreak("sweep", grid(tmp_path, '["20 kB"]'), "-o", tmp_path / "other").stdout


def test_a_fault_of_every_point_is_one_row(tmp_path):
    done = daybreak("sweep", grid(tmp_path, '["a lot", "much"]', [3, 4]), "-o", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 1 and "2 failures:" in done.stdout
    base = tmp_path / "base.toml"
    base.write_text((ROOT / "scenarios" / "01-one-flow.toml").read_text().replace('"receiver-0"', '"nobody"'))
    file = grid(tmp_path, '["20 kB", "30 kB"]', [3, 4])
    file.write_text(file.read_text().replace(str(ROOT / "scenarios" / "01-one-flow.toml"), str(base)))
    done = daybreak("sweep", file, "-o", tmp_path / "same", cwd=tmp_path)
    assert done.returncode == 1 and "4 failures:" in done.stdout
    (row,) = [line for line in done.stdout.splitlines() if "nobody" in line]
    assert row.split()[:4] == ["2", "points", "3,", "4"]


def test_numbers_have_their_plural(places):
    said = daybreak("validate", SCENARIO).stdout
    assert "1 timeline," in said and "2 flows," in said


def test_the_figure_of_an_explanation_is_named_with_what_it_leaves_out(tmp_path):
    incast = ROOT / "scenarios" / "25-incast.toml"
    said = daybreak("explain", incast, "-o", "f.png", cwd=tmp_path).stdout.splitlines()
    assert said[-2:] == ["the figure has the first 24 of 32 flows", "the figure is in f.png"]


def test_without_a_flow_that_ended_there_is_a_sentence_and_no_table(tmp_path):
    endless = tmp_path / "endless.toml"
    text = (ROOT / "scenarios" / "01-one-flow.toml").read_text()
    endless.write_text(re.sub("(?m)^duration = .*$", 'duration = "1 us"', text))
    done = daybreak("explain", endless)
    assert (done.returncode, done.stdout) == (0, "1 flow did not end, so that there is nothing to explain\n")


@pytest.mark.parametrize("command", ["tune", "predict"])
def test_what_no_model_knows_is_refused_before_one_is_loaded(command, monkeypatch, tmp_path):
    """A package that cannot be loaded would be another error."""
    (tmp_path / "skops").mkdir()
    (tmp_path / "skops" / "__init__.py").write_text("raise RuntimeError('loaded')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT / 'python'}")
    done = daybreak(command, ROOT / "scenarios" / "01-one-flow.toml")
    assert done.returncode == 1 and one_sentence(done.stderr)
    assert 'topology.kind = "dumbbell": a model needs the topology "migration_testbed"' in done.stderr
