"""Awkward input and awkward places for output: one sentence, or what was asked for."""

import io
import json
import os
import subprocess
import time

import pytest
from cli.program import PROGRAM, daybreak, one_sentence
from ready_files import SCENARIO_FILES
from rich.console import Console

import daybreak as package
from daybreak.cli import terminal
from daybreak.errors import ScenarioError

ONE_FLOW = SCENARIO_FILES[0]
TEXT = ONE_FLOW.read_text(encoding="utf-8")
NAME = "rack [/leaf-3] [red]x[/red] \\u001b[31m \\u009b2J \\u202e \\n :smile:"
SHOWN = r"rack [/leaf-3] [red]x[/red] \x1b[31m \x9b2J \u202e \n :smile:"


@pytest.fixture
def scenario(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "scenario.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return write


def refused(done, words, code=1):
    assert done.returncode == code, done.stdout
    assert words in done.stderr
    assert one_sentence(done.stderr), done.stderr[-1000:]


def test_names_are_no_markup(scenario):
    path = scenario(
        TEXT.replace('name = "one flow"', f'name = "{NAME}"').replace("[[flows]]", f'[[flows]]\nname = "{NAME}"')
    )
    done = daybreak("run", path, "--set", 'flows.0.group="pair[a]"')
    assert done.returncode == 0, done.stderr
    assert SHOWN in done.stdout and "pair[a]" in done.stdout
    assert "\x1b" not in done.stdout and "\x9b" not in done.stdout
    groups = daybreak("run", path, "--runs", 2, "--set", f'flows.0.group="{NAME}"')
    assert SHOWN in groups.stdout
    unknown = daybreak("run", path, "--set", f'flows.0.to="{NAME}"')
    refused(unknown, f'flows[0].to = "{SHOWN}": there is no such host')
    assert "\x1b" not in unknown.stderr
    assert json.loads(daybreak("run", path, "--json").stdout)["scenario"].startswith("rack [/leaf-3]")


def test_a_name_in_a_progress_bar_is_no_markup(monkeypatch):
    monkeypatch.setattr(terminal, "_BAR_AFTER_S", -1)
    errors = Console(file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    monkeypatch.setattr(terminal, "errors", lambda: errors)
    with terminal.progress_bar("rack [/leaf-3]") as report:
        report(0.5, 1.0, "pair [/b]")


def test_progress_is_lines_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "_FIRST_LINE_AFTER_S", 0.0)
    monkeypatch.setattr(terminal, "_LINE_EVERY_S", 3600.0)
    with terminal.progress_bar("migration") as report:
        report(1.5, 7)
        report(2.5, 7)
    assert capsys.readouterr().err == "migration: 1 of 7 (0 s)\n"
    clock = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(terminal, "_FIRST_LINE_AFTER_S", 2.0)
    with terminal.progress_bar("sweep") as report:
        # Five of the runs are there already: they say nothing of the pace.
        for clock[0], done in ((100.0, 5), (101.0, 15), (102.5, 30), (103.0, 35), (106.0, 35), (400.0, 55)):
            report(done, 105, "1 failed")
    assert capsys.readouterr().err.splitlines() == [
        "sweep: 30 of 105, 10/s, about 8 s left, 1 failed (2 s)",
        "sweep: 35 of 105, 5/s, about 14 s left, 1 failed (6 s)",
        "sweep: 55 of 105, 0.167/s, about 5 min left, 1 failed (5 min)",
    ]
    clock[0] = 500.0
    with terminal.progress_bar("one run") as report:
        for clock[0], done in ((500.0, 0.0), (504.0, 0.25), (505.0, 0.25)):
            report(done, 1)
    assert capsys.readouterr().err == "one run: 25%, up to about 12 s left (4 s)\n"
    monkeypatch.undo()
    monkeypatch.setattr(terminal, "_FIRST_LINE_AFTER_S", 0.0)
    monkeypatch.setattr(terminal, "_LINE_EVERY_S", 3600.0)
    with terminal.progress_bar("building the kernel", stages=True) as report:
        for done, total, stage in (
            (0, 0, "unpacking"),
            (0, 0, "unpacking"),
            (3, 90, "compiling"),
            (4, 90, "compiling"),
        ):
            report(done, total, stage)
    assert capsys.readouterr().err == (
        "building the kernel: unpacking (0 s)\nbuilding the kernel: compiling, 3 of 90 (0 s)\n"
    )


def test_a_task_that_reports_rarely_is_shown_all_the_same(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "_FIRST_LINE_AFTER_S", 0.0)
    monkeypatch.setattr(terminal, "_BEAT_EVERY_S", 0.01)
    monkeypatch.setattr(terminal, "_LINE_EVERY_S", 3600.0)
    with terminal.progress_bar("drawing"):
        time.sleep(0.3)
    assert capsys.readouterr().err == "drawing: 0% (0 s)\n"


@pytest.mark.parametrize(
    ("total", "reports", "lines"),
    [
        # A plan takes 3.7 s, and the start is faster than the rest.
        (1, ((3.7, 0.0), (4.0, 0.09), (45.0, 0.999)), ["9%, up to about 40 s left (4 s)", "100% (45 s)"]),
        (1, ((9.0, 0.01), (45.0, 0.5)), ["1% (9 s)", "50%, up to about 45 s left (45 s)"]),
        (
            1000, ((0.0, 500), (3.0, 510), (9.0, 600)),
            ["510 of 1000, 3.33/s (3 s)", "600 of 1000, 11.1/s, about 36 s left (9 s)"],
        ),
        (10**6, ((0.0, 0), (10.0, 245_000)), ["245000 of 1000000, 24,500/s, about 31 s left (10 s)"]),
        (
            60, ((0.0, 0), (10.0, 30), (20.0, 0), (50.0, 15)),
            ["30 of 60, 3/s, about 10 s left (10 s)", "0 of 60 (20 s)", "15 of 60, 0.5/s, about 90 s left (50 s)"],
        ),
    ],
)  # fmt: skip
def test_the_time_left_is_that_of_the_pace_once_enough_is_done(total, reports, lines, monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(terminal, "_FIRST_LINE_AFTER_S", 3.8 if total == 1 else 2.0)
    monkeypatch.setattr(terminal, "_BEAT_EVERY_S", 0.01)
    with terminal.progress_bar("task") as report:
        # What is shown before the first report is none.
        time.sleep(0.1)
        for now, done in reports:
            clock[0] = now
            report(done, total)
    assert capsys.readouterr().err.splitlines() == [f"task: {line}" for line in lines]


def test_the_bar_of_one_run_has_its_percentage_once(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(terminal, "_BAR_AFTER_S", -1)
    monkeypatch.setattr(terminal, "errors", lambda: Console(file=out, force_terminal=True, width=100))
    with terminal.progress_bar("one run") as report:
        report(0.5, 1)
    assert out.getvalue().split("\n")[0].count("50%") == 1


def test_a_byte_order_mark_is_no_part_of_the_scenario(scenario):
    assert daybreak("validate", scenario(TEXT, "utf-8-sig")).returncode == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("a." * 5000 + "b = 1", "has no key"),
        (TEXT.encode("utf-16"), "is not UTF-8 text"),
        (TEXT + "\nx = " + "9" * 5000, "is not valid TOML"),
        (TEXT.replace('"2 s"', "0x" + "f" * 5000), "duration = a number of hundreds of digits: expected a time"),
        (TEXT.replace('"2 s"', '"1e999999999 s"'), "expected a time"),
        (TEXT + "\nx = 2026-13-45", "is not valid TOML"),
        ("", "name is missing"),
        ("\0", "is not valid TOML"),
    ],
    ids=["deep list", "deep table", "utf-16", "long number", "long hex", "huge exponent", "no date", "empty", "null"],
)  # fmt: skip
def test_odd_files_are_one_sentence(scenario, text, words):
    refused(daybreak("validate", scenario(text)), words)


def test_odd_changes_are_one_sentence():
    refused(daybreak("validate", ONE_FLOW, "--set", "name=" + "[" * 5000 + "]" * 5000), "nested too deeply", 2)
    refused(daybreak("validate", ONE_FLOW, "--set", "duration=" + "9" * 5000), "duration")
    refused(daybreak("validate", ONE_FLOW, "--set", "flows.0.name=\udcff"), r"'\udcff' is not valid Unicode text")


def test_a_file_name_is_no_scenario():
    for call in (package.run, lambda name: package.run_many([name])):
        with pytest.raises(
            ScenarioError, match=r"scenario = .a\.toml.: expected a Scenario, such as daybreak\.load makes"
        ):
            call("a.toml")


def test_version():
    assert daybreak("--version").stdout.startswith("daybreak 0.")


def test_validate_takes_changes():
    assert daybreak("validate", ONE_FLOW, "--set", "flows.0.size=1 MB").returncode == 0
    refused(daybreak("validate", ONE_FLOW, "--set", "flows.0.size=0 B"), "expected a size above 0 B")


def test_closed_and_full_output_is_one_sentence():
    for redirection, words in ((">&-", "standard output is closed"), (">/dev/full", "no space left on device")):
        command = f'"$@" {redirection}'
        done = subprocess.run(
            ["sh", "-c", command, "sh", *PROGRAM, "validate", ONE_FLOW], stderr=subprocess.PIPE, text=True, check=False
        )
        refused(done, words)
    quiet = subprocess.run(["sh", "-c", '"$@" 2>&-', "sh", *PROGRAM, "run", "missing.toml"], check=False)
    assert quiet.returncode == 1


def test_output_that_knows_only_ascii():
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = daybreak("run", ONE_FLOW, "--set", "flows.0.name=größe", env=environment)
    assert done.returncode == 0, done.stderr
    assert r"gr\xf6\xdfe" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", ONE_FLOW, "--runs", "1000000000"), "--runs"),
        (("validate", ONE_FLOW, "--set", "records.window=1 ps"), "records.window = 1 ps: makes"),
        (
            ("validate", SCENARIO_FILES[2], "--set", "timelines.0.period=1 ps", "--set", "timelines.0.night=0 s"),
            "timelines[0].period = 1 ps: makes",
        ),
    ],
)  # fmt: skip
def test_work_without_bound_is_refused_at_once(arguments, words):
    done = daybreak(*arguments)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert one_sentence(done.stderr)


def test_a_large_network_is_refused_or_soon_there(scenario):
    for size, is_refused in ((1000, True), (200, False)):
        path = scenario(f"""
name = "large"
duration = "1 s"
[topology]
kind = "leaf_spine"
leaves = {size}
spines = {size}
hosts_per_leaf = {size}
rate = "10 Gbit/s"
delay = "1 us"
queue = "100 packets"
[[flows]]
from = "host-0"
to = "host-{size * size - 1}"
size = "1 MB"
""")
        done = daybreak("validate", path)
        assert done.returncode == is_refused, done.stderr
        assert not is_refused or "2,000,000 links: expected at most 100,000" in done.stderr


def test_runs_are_summed_up_by_group():
    many = ("--runs", 3, "--set", "topology.loss=0.001", "--set", "flows.0.size=3 MB", "--set", "flows.0.count=20")
    done = daybreak("run", ONE_FLOW, *many, "--json")
    document = json.loads(done.stdout)
    (group,) = document["groups"]
    times = sorted(flow["fct_s"] for run in document["runs"] for flow in run["flows"])
    assert (group["flows"], group["complete"]) == (60, 60)
    assert group["p50_s"] == times[29] and group["p99_s"] == times[59]
    means = [sum(flow["fct_s"] for flow in run["flows"]) / 20 for run in document["runs"]]
    assert group["fct_s"] == pytest.approx(sum(means) / 3)
    assert group["low_s"] < group["fct_s"] < group["high_s"]
    shown = daybreak("run", ONE_FLOW, *many).stdout
    assert "flow-0-0" not in shown
    assert "3 runs, all flows of a group together" in shown and "60 of 60" in shown
    assert "all 3 runs are the same" not in shown


def test_runs_whose_flows_do_not_differ_are_reported():
    same = "the flows of all 2 runs are the same: nothing that is random in this scenario"
    assert same in daybreak("run", ONE_FLOW, "--runs", 2).stdout
    # The gains of BBR begin anywhere, which this flow is too short to show.
    drawn = ("--set", "flows.0.variant=bbr", "--set", "flows.0.size=100 kB")
    assert same in daybreak("run", ONE_FLOW, "--runs", 2, *drawn).stdout


def test_summaries_have_sensible_units():
    slow = ("--set", "topology.rate=10 Mbit/s", "--set", "flows.0.size=100 kB")
    assert " Mbit/s" in daybreak("run", ONE_FLOW, *slow).stdout
