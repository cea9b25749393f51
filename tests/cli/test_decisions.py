"""The commands from runs to decisions, as their users see them."""

import json
import subprocess
import sys

import pytest
from ready_files import ROOT

DOWNTIME = ROOT / "scenarios" / "04-downtime.toml"


def daybreak(*arguments):
    command = [sys.executable, "-c", "from daybreak.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_explain_takes_a_scenario_or_a_kept_run_and_says_the_same(tmp_path):
    assert daybreak("run", DOWNTIME, "-o", tmp_path / "run").returncode == 0
    both = [json.loads(daybreak("explain", place, "--json").stdout) for place in (DOWNTIME, tmp_path / "run")]
    assert both[0] == both[1]
    for flow in both[0]["flows"]:
        assert sum(value for name, value in flow.items() if name.endswith("_ns") and name != "fct_ns") == flow["fct_ns"]


def test_explain_draws_a_figure_and_replaces_none(tmp_path):
    figure = tmp_path / "bars.png"
    done = daybreak("explain", DOWNTIME, "-o", figure)
    assert done.returncode == 0 and "night loss" in done.stdout
    before = figure.read_bytes()
    assert before.startswith(b"\x89PNG")
    again = daybreak("explain", DOWNTIME, "-o", figure)
    assert again.returncode == 1 and "it exists" in again.stderr and figure.read_bytes() == before
    wrong = daybreak("explain", DOWNTIME, "-o", tmp_path / "bars.docx")
    assert wrong.returncode == 1 and "ends with .png, .svg or .pdf" in wrong.stderr


def test_compare_shows_differences_of_scenarios_and_of_kept_runs(tmp_path):
    other = ROOT / "scenarios" / "03-migration.toml"
    for name, scenario in (("a", DOWNTIME), ("b", other)):
        assert daybreak("run", scenario, "--runs", 2, "-o", tmp_path / name).returncode == 0
    of_files = json.loads(daybreak("compare", DOWNTIME, other, "--runs", 2, "--json").stdout)["rows"]
    of_folders = json.loads(daybreak("compare", tmp_path / "a", tmp_path / "b", "--json").stdout)["rows"]
    assert of_files == of_folders and {row["runs"] for row in of_files} == {2}
    assert "B - A" in daybreak("compare", tmp_path / "a", tmp_path / "b").stdout
    nothing = daybreak("compare", DOWNTIME, tmp_path)
    assert nothing.returncode == 1 and "is not a run and has no runs" in nothing.stderr


def test_predict_shows_interval_similar_settings_and_what_is_outside():
    pytest.importorskip("skops")
    found = json.loads(daybreak("predict", DOWNTIME, "--json").stdout)
    assert found["low_s"] <= found["prolongation_s"] <= found["high_s"] and len(found["similar"]) == 3
    far = daybreak("predict", DOWNTIME, "--set", "timelines.0.period=3 s")
    assert far.returncode == 0 and "outside of the data: day_ms" in far.stdout
    wrong = daybreak("predict", ROOT / "scenarios" / "01-one-flow.toml")
    assert wrong.returncode == 1 and "topology.kind" in wrong.stderr
    unknown = daybreak("predict", DOWNTIME, "--set", "flows.0.variant=vegas")
    assert unknown.returncode == 1 and 'variant "vegas"' in unknown.stderr
