"""The commands from runs to decisions, as their users see them."""

import json
import re
import subprocess
import sys

import pytest
from ready_files import ROOT

from daybreak import run as daybreak_run
from daybreak import save as daybreak_save
from daybreak.cli.main import _run

DOWNTIME = ROOT / "scenarios" / "04-downtime.toml"
MIGRATION = ROOT / "scenarios" / "03-migration.toml"
KNOWN = ROOT / "scenarios" / "17-prolongation.toml"
"""What the model of prolongations was made for."""


def daybreak(*arguments):
    command = [sys.executable, "-c", "from daybreak.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_explain_takes_a_scenario_or_a_kept_run_and_says_the_same(tmp_path):
    assert daybreak("run", DOWNTIME, "-o", tmp_path / "run").returncode == 0
    both = [json.loads(daybreak("explain", place, "--json").stdout) for place in (DOWNTIME, tmp_path / "run")]
    assert both[0] == both[1]
    for flow in both[0]["flows"]:
        assert sum(value for name, value in flow.items() if name.endswith("_ns") and name != "fct_ns") == flow["fct_ns"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("explain", "RUN", "--seed", 5), "--seed 5: expected a scenario file, and RUN is a run with seed 1"),
        (("compare", "RUN", "RUN", "--runs", 3), "--runs 3: expected a scenario file, and all are folders of runs"),
        (("learn", "networks", "--runs", 3), "--runs 3: expected data unseen or kernel, not networks"),
        (("learn", "networks", "--model", "m"), "--model m: expected data unseen, kernel or advice"),
        (("learn", "advice", "--seed", 0), "--seed 0: expected data unseen or kernel, not advice"),
        (("learn", "advice", "--count", 3), "--count 3: expected data networks, unseen or kernel, not advice"),
        (("sweep", "grid.toml", "--most-runs", 3), "--most-runs 3: expected --ci, which adds runs"),
    ],
)
def test_options_that_would_change_nothing_are_refused(arguments, sentence, tmp_path, one_flow):
    run = str(tmp_path / "run")
    if "RUN" in arguments:
        daybreak_run(one_flow).write(run)
    done = daybreak(*(run if one == "RUN" else one for one in arguments))
    assert done.returncode == 2 and done.stderr.startswith(f"daybreak: {sentence.replace('RUN', run)}"), done.stderr
    assert done.stderr.count("\n") == 1


def test_explain_draws_a_figure_and_replaces_its_own_alone(tmp_path):
    figure = tmp_path / "bars.png"
    done = daybreak("explain", DOWNTIME, "-o", figure)
    assert done.returncode == 0 and "night loss" in done.stdout
    before = figure.read_bytes()
    assert before.startswith(b"\x89PNG")
    assert daybreak("explain", DOWNTIME, "-o", figure).returncode == 0 and figure.read_bytes() == before
    figure.write_bytes(b"mine")
    again = daybreak("explain", DOWNTIME, "-o", figure)
    assert again.returncode == 1 and "--force" in again.stderr and figure.read_bytes() == b"mine"
    assert daybreak("explain", DOWNTIME, "-o", figure, "--force").returncode == 0 and figure.read_bytes() == before
    wrong = daybreak("explain", DOWNTIME, "-o", tmp_path / "bars.docx")
    assert wrong.returncode == 2 and "ends in .png, .svg, .pdf" in wrong.stderr


def test_compare_has_a_row_of_what_some_runs_do_not_know_and_draws_what_is_known(tmp_path, one_flow):
    for name, duration in (("whole", "1 s"), ("cut", "200 us")):
        (tmp_path / f"{name}.toml").write_text(one_flow.with_({"name": name, "duration": duration}).to_toml())
    both = tmp_path / "whole.toml", tmp_path / "cut.toml"
    done = daybreak("compare", *both, "--runs", 2, "-o", tmp_path / "f.png")
    assert done.returncode == 1 and done.stderr.startswith("daybreak: there is no difference to draw"), done.stderr
    rows = daybreak("compare", *both, "--runs", 2).stdout.splitlines()
    assert re.fullmatch(r"flow-0 +mean FCT \[ms\] +2 +\d+\.?\d* +- +- \(2 of 2 runs unfinished\) *", rows[1]), rows
    assert [row.split("  ")[1].strip() for row in rows[1:4]] == ["mean FCT [ms]", "p99 FCT [ms]", "slowdown"]


def test_compare_says_where_no_seed_changes_a_difference(tmp_path, one_flow):
    both = [tmp_path / f"{name}.toml" for name in ("small", "large")]
    for place, size in zip(both, ("1 MB", "2 MB"), strict=True):
        daybreak_save(one_flow.with_({"flows.0.size": size}), place)
    sentence = "± 0: no seed changes this difference"
    assert sentence in daybreak("compare", *both, "--runs", 2).stdout
    # Of one run there is no interval.
    assert sentence not in daybreak("compare", *both, "--runs", 1).stdout


def test_compare_shows_differences_of_scenarios_and_of_kept_runs(tmp_path):
    other = ROOT / "scenarios" / "03-migration.toml"
    for name, scenario in (("a", DOWNTIME), ("b", other)):
        assert daybreak("run", scenario, "--runs", 2, "-o", tmp_path / name).returncode == 0
    of_files = json.loads(daybreak("compare", DOWNTIME, other, "--runs", 2, "--json").stdout)["rows"]
    of_folders = json.loads(daybreak("compare", tmp_path / "a", tmp_path / "b", "--json").stdout)["rows"]
    assert of_files == of_folders and {row["runs"] for row in of_files} == {2}
    figure = tmp_path / "forest.png"
    shown = daybreak("compare", tmp_path / "a", tmp_path / "b", other, "--runs", 2, "-o", figure)
    # Each row has the names of what is compared; of those that have one name, the places'.
    assert "b - a" in shown.stdout and "03-migration - a" in shown.stdout and shown.returncode == 0, shown.stderr
    assert figure.read_bytes().startswith(b"\x89PNG")
    nothing = daybreak("compare", DOWNTIME, tmp_path / "nothing")
    assert nothing.returncode == 1 and "cannot be read" in nothing.stderr
    both = daybreak("compare", DOWNTIME, tmp_path)
    assert both.returncode == 1 and "is not a run" in both.stderr
    alone = daybreak("compare", DOWNTIME)
    assert alone.returncode == 2 and "expected at least two" in alone.stderr


def test_compare_refuses_scenarios_without_a_common_group_before_it_runs_them(tmp_path, one_flow):
    place = tmp_path / "endless.toml"
    daybreak_save(one_flow.with_({"flows.0.size": "unlimited", "duration": "1000 s"}), place)
    done = daybreak("compare", MIGRATION, place)
    sentence = 'cannot be compared: group: the first has "main", "migrated", the other "flow-0"\n'
    assert done.returncode == 1 and done.stderr == f"daybreak: {MIGRATION} and {place} {sentence}"


def test_compare_names_its_columns_by_what_tells_them_apart(tmp_path, monkeypatch, one_flow):
    monkeypatch.chdir(tmp_path)

    def headings(*places):
        done = daybreak("compare", *places, "--runs", 1)
        assert done.returncode == 0, done.stderr
        return re.split("  +", done.stdout.splitlines()[0].strip())[3:]

    long = "a-scenario-whose-file-has-a-long-name"
    for place in (f"{long}-1.toml", f"{long}-2.toml", "a/mig.toml", "b/mig.toml"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        daybreak_save(one_flow.with_({"flows.0.size": "1 kB"}), tmp_path / place)
    assert headings("a/mig.toml", "b/mig.toml") == ["a/mig", "b/mig", "b/mig - a/mig"]
    assert headings("a/mig.toml", "a/mig.toml") == ["mig 1", "mig 2", "mig 2 - mig 1"]
    same = headings("a/mig.toml", "b/mig.toml", "a/mig.toml")
    assert same[:2] + same[3:4] == ["a/mig 1", "b/mig", "a/mig 3"]
    first, second, _ = headings(f"{long}-1.toml", f"{long}-2.toml")
    assert len(first) == len(second) == 24 and (first[-2:], second[-2:]) == ("-1", "-2")


def test_predict_simulates_what_was_not_measured_and_says_so():
    pytest.importorskip("skops")
    done = daybreak("predict", DOWNTIME, "--set", "timelines.0.period=1500 us")
    assert done.returncode == 0 and done.stdout.startswith("simulated, 16 runs: a flow did not end\n")
    for reason in ('flows.main.start = "0 s"', "stack.tcp_rmem.2 = 67108864", "period in ms = 1.5"):
        assert reason in done.stdout
    found = json.loads(daybreak("predict", DOWNTIME, "--set", "flows.1.variant=vegas", "--json").stdout)
    assert (
        found["answer"] == "simulated" and len(found["simulated_s"]) in (16, 32, 64) and "prolongation_s" not in found
    )
    assert any('variant "vegas"' in reason for reason in found["reasons"])
    wrong = daybreak("predict", ROOT / "scenarios" / "01-one-flow.toml")
    assert wrong.returncode == 1 and "topology.kind" in wrong.stderr


def test_predict_simulates_until_the_mean_is_known_or_as_often_as_it_may():
    pytest.importorskip("skops")
    short = ("--set", "flows.0.size=1 MiB", "--set", "flows.1.size=1 MiB")
    shown = daybreak("predict", KNOWN, *short).stdout
    assert re.match(r"simulated, (16|32|64) runs: prolongation \S+ ± \S+ (s|ms|us) ", shown)
    bounded = daybreak("predict", KNOWN, *short, "--runs", 2, "--json")
    assert len(json.loads(bounded.stdout)["simulated_s"]) == 2
    refused = daybreak("predict", KNOWN, "--runs", 1)
    assert refused.returncode == 2 and "--runs" in refused.stderr


@pytest.mark.parametrize("command", ["predict", "tune"])
def test_a_missing_file_is_told_before_anything_large_is_loaded(command, tmp_path):
    check = (
        "import sys; from daybreak.cli.main import _run; code = _run(sys.argv[1:]); assert 'sklearn' not in sys.modules"
    )
    for given in (["no.toml"], [str(KNOWN), "--model", str(tmp_path / "no.skops")]):
        words = [sys.executable, "-c", f"{check}; sys.exit(code)", command, *given]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=100)
        assert done.returncode == 1 and "no such file" in done.stderr and "Traceback" not in done.stderr


SMALL = ("--set", "flows.0.size=64 MiB", "--set", "flows.1.size=64 MiB", "--seeds", 4)
"""Flows that take 54 ms."""


@pytest.fixture
def tune(capsys):
    """The command in this process: the model's libraries are loaded once."""
    pytest.importorskip("skops")

    def run(*given):
        code = _run(["tune", str(KNOWN), "--workers", "1", *map(str, given)])
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(given, code, shown.out, shown.err)

    return run


def test_tune_says_what_its_advice_is(tune):
    done = tune(*SMALL)
    assert done.returncode == 0 and "advice: timelines.0.period=50 ms, with " in done.stdout
    assert "only the longest period, 50 ms (up to 50 ms are offered" in done.stdout
    # Half a period, and 1 ms of night.
    assert "wait: mean of a flow that arrives at a random time" in done.stdout
    assert "its price: that wait is 26 ms, 6 ms as it is" in done.stdout
    # Nothing is predicted here, and a column of dashes is none.
    assert "90 % of runs" not in done.stdout and "predicted [ms]" in done.stdout.splitlines()[0]
    why = done.stdout.partition("simulated, not predicted: (as it is), because\n")[2]
    assert why.startswith("  the model is not sure: ")
    # Each candidate has its own reason: half of a period of 2 ms is night, which was never measured.
    shown = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("timelines.0.period=")}
    assert " outside " in shown["timelines.0.period=2"] and " not sure " in shown["timelines.0.period=20"]
    refused = tune("--buffer", 0)
    assert refused.returncode == 2 and "buffer 0: expected at least 1 packet" in refused.stderr


def test_tune_says_where_periods_make_no_difference(tune):
    late = tune(*SMALL, "--set", "timelines.0.start=60 ms").stdout
    assert "advice: leave it as it is, with " in late and "ends before its first move: every candidate" in late
    others = "; ".join(f"timelines.0.period={period} ms" for period in (2, 5, 20, 50))
    assert f"not told apart from it by these runs: {others}" in late
    assert "of these the shortest wait has timelines.0.period=2 ms: 2 ms, not 6 ms" in late
    assert "only the longest" not in late
    some = tune(*SMALL, "--set", "timelines.0.period=54 ms", "--set", "timelines.0.start=3 ms")
    assert re.search(r"ends before its first move in \d+ of \d+ runs: \(as it is\)", some.stdout)


def test_tune_says_where_flows_do_not_end_and_shows_what_it_has_before_it_fails(tune, tmp_path):
    cut = tune(*SMALL, "--set", "duration=80 ms").stdout
    assert "advice: timelines.0.period=50 ms" in cut
    assert re.search(r"^\(as it is\) .* a flow did not end  +-  +4 ", cut, re.MULTILINE)
    never = (*SMALL, "--set", "duration=40 ms")
    none = tune(*never, "-o", tmp_path / "figure.svg")
    assert none.returncode == 1 and "no figure: in every simulated candidate a flow did not end" in none.stderr
    assert "no advice: in every simulated candidate a flow did not end" in none.stdout
    assert "duration = 40 ms: flows may not end in it" in none.stdout
    found = json.loads(tune(*never, "--json").stdout)
    assert found["advice"] is None and [one["unended"] for one in found["candidates"]] == [4] * 5


def test_tune_for_machines_has_the_advice_and_all_candidates(tune):
    found = json.loads(tune(*SMALL, "--json", "--for", "utilisation").stdout)
    assert found["objective"] == "utilisation" and found["advice"] == {"timelines.0.period": "50 ms"}
    assert found["is_only_the_longest"] and found["longest_ms"] == 50 and found["not_told_apart"] == []
    first, *others = found["candidates"]
    assert first["changes"] == found["advice"] and first["wait_ms"] == 26 and first["predicted"]["reasons"]
    assert all(first["utilisation"]["mean"] > one["utilisation"]["mean"] for one in others)
    shown = tune(*SMALL, "--for", "utilisation").stdout
    assert re.search(r"advice: timelines.0.period=50 ms, with a utilisation of \d+\.\d % and ", shown)


def test_the_readme_names_files_that_are_there():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?:scenarios|grids)/[\w-]+\.toml", text))
    assert len(named) >= 5 and all((ROOT / name).is_file() for name in named)
    assert "my-setting" not in text
