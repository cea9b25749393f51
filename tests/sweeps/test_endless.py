"""Flows without an end have no completion time: sweeps, their figures and comparisons show their goodput."""

import pytest
from cli.program import daybreak as program

import daybreak
from daybreak.errors import PlotError
from daybreak.plots import sweeps
from daybreak.sweeps import read_results


@pytest.fixture
def endless(one_flow):
    return one_flow.with_({"flows.0.size": "unlimited", "duration": "20 ms", "stop": "duration"})


@pytest.fixture
def swept(endless, tmp_path):
    scenario = tmp_path / "endless.toml"
    scenario.write_text(endless.to_toml(), encoding="utf-8")
    grid = tmp_path / "grid.toml"
    grid.write_text(
        'scenario = "endless.toml"\nseeds = 2\n'
        'axes = { "topology.rate" = ["1 Gbit/s", "2 Gbit/s"], "flows.0.variant" = ["cubic", "bbr"] }\n'
    )
    done = program("sweep", grid, "-o", tmp_path / "swept")
    assert done.returncode == 0, done.stderr
    return done.stdout, tmp_path / "swept"


def test_the_goodput_is_what_was_delivered_over_the_time_in_the_run(swept, endless):
    text, place = swept
    headings = text.splitlines()[1].split()
    assert headings == ["topology.rate", "flows.0.variant", "runs", "Gbit/s", "resent", "RTOs"]
    run = daybreak.run(endless.with_({"topology.rate": "2 Gbit/s"}), seed=1)
    expected = run.flows["delivered_bytes"][0] * 8 / (20_000_000 - run.flows["start_ns"][0])
    found = read_results(place).summary()
    (row,) = found.filter((found["topology.rate"] == "2 Gbit/s") & (found["flows.0.variant"] == "cubic")).to_dicts()
    assert row["goodput.mean"] == pytest.approx(expected)


def test_a_figure_of_the_sweep_draws_it_unless_something_else_is_asked_for(swept):
    drawn = sweeps.draw(read_results(swept[1]))
    assert drawn.figure.axes[0].get_ylabel().startswith("Mean goodput")
    with pytest.raises(PlotError, match="no value"):
        sweeps.draw(read_results(swept[1]), y="fct.mean")


def test_places_with_names_are_marks_beside_each_other_without_a_line(swept):
    (axes,) = sweeps.draw(read_results(swept[1]), x="flows.0.variant", colour="topology.rate").figure.axes
    marks = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert {line.get_linestyle() for line in marks} == {"None"}
    places = sorted(place for line in marks for place in line.get_xdata())
    assert len(set(places)) == 4 and [round(place) for place in places] == [0, 0, 1, 1]
    (over_rates,) = sweeps.draw(read_results(swept[1]), x="topology.rate", colour="flows.0.variant").figure.axes
    assert {line.get_linestyle() for line in over_rates.get_lines() if line.get_marker() == "o"} == {"-"}


def test_a_comparison_has_it_too_but_not_of_flows_with_an_end(endless, one_flow):
    found = daybreak.compare(endless, endless.with_({"flows.0.variant": "bbr"}), runs=2)
    assert found["value"].to_list() == ["goodput_gbps", "retransmits", "rtos"]
    (row,) = found.filter(value="goodput_gbps").to_dicts()
    assert row["first"] > 1 and row["difference"] == pytest.approx(row["second"] - row["first"])
    assert "goodput_gbps" not in daybreak.compare(one_flow, one_flow, runs=2)["value"].to_list()


def test_options_of_a_figure_that_contradict_each_other_are_refused(swept, tmp_path):
    place = swept[1]
    twice = ("--only", "topology.rate=1 Gbit/s", "--only", "topology.rate=2 Gbit/s")
    for options, sentence in (
        (twice, '--only "topology.rate=2 Gbit/s": topology.rate is given twice'),
        (("--y", "topology.rate", "--colour", "flows.0.variant"), 'colour = "flows.0.variant": expected a measure'),
    ):
        done = program("plot", place, *options, "-o", tmp_path / "none.png")
        assert done.returncode == 2 and sentence in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "none.png").exists()
