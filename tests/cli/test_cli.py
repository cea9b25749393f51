"""The command line as its users see it: output, exit codes, one sentence for every mistake."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from cli.program import PROGRAM, daybreak, interrupted, one_sentence
from ready_files import ROOT, SCENARIO_FILES

from daybreak.runs import read

ONE_FLOW = str(SCENARIO_FILES[0])


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("run",),
        ("validate",),
        ("list",),
        ("schema",),
        ("plot",),
        ("reproduce",),
        ("bench",),
        ("sweep",),
        ("compare",),
        ("explain",),
        ("report",),
        ("export",),
        ("learn",),
        ("predict",),
        ("tune",),
        ("help",),
        ("kernel", "build"),
        ("kernel", "doctor"),
    ],
    ids=" ".join,
)
def test_help_has_an_example(command):
    done = daybreak(*command, "--help")
    assert done.returncode == 0
    assert " ".join(("Example: daybreak", *command)) in " ".join(done.stdout.split())


def test_the_example_of_export_is_a_run_that_the_example_of_run_writes():
    made, exported = (" ".join(daybreak(name, "--help").stdout.split()) for name in ("run", "export"))
    folder, seed = re.search(r"--seed (\d+) --runs [2-9].* -o (\S+)", made).group(2, 1)
    assert f"daybreak export {folder}/seed-{seed} " in exported


def test_run_shows_the_flows():
    done = daybreak("run", ONE_FLOW)
    assert done.returncode == 0, done.stderr
    assert "flow-0" in done.stdout
    assert "100 MB" in done.stdout


def test_plot_draws_runs_and_says_what_is_missing(tmp_path):
    runs = tmp_path / "runs"
    assert daybreak("run", SCENARIO_FILES[2], "--runs", 2, "-o", runs, "--set", "flows.0.size=1 MB").returncode == 0
    done = daybreak("plot", runs, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs.png").read_bytes().startswith(b"\x89PNG")
    assert done.stdout.splitlines()[-1] == "the figure is in runs.png"
    assert 'queues: not recorded, set records.queues = "1 ms"' in done.stdout
    done = daybreak("plot", runs / "seed-1", "-o", tmp_path / "a.pdf", "--what", "cwnd,rtt", "--json")
    assert json.loads(done.stdout) == {"out": str(tmp_path / "a.pdf"), "notes": []}


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("nowhere",), 1, "nowhere is not a run: manifest.json: no such file or directory"),
        (("nowhere", "-o", "a.gif"), 2, "a.gif cannot be written: expected a name that ends in .png, .svg, .pdf"),
        (("nowhere", "-o", "."), 2, ". cannot be written: expected a name that ends in .png, .svg, .pdf"),
    ],
)
def test_plot_refuses_in_a_sentence(arguments, code, sentence, tmp_path):
    done = daybreak("plot", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"daybreak: {sentence}\n")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("daybreak repr", "reproduce"),
        ("daybreak help t", "tables"),
        ("daybreak plot x --what cwnd,dr", "cwnd,drops"),
        ("daybreak plot --fo", "--fold --force"),
    ],
)
def test_shells_complete(words, completed):
    environment = os.environ | {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(
        PROGRAM, capture_output=True, text=True, check=False, env=environment | {"_DAYBREAK_COMPLETE": "complete_bash"}
    )
    assert done.stdout.split() == completed.split()


def test_run_writes_a_folder_a_seed(tmp_path):
    done = daybreak("run", ONE_FLOW, "--runs", 3, "--seed", 5, "-o", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [run["seed"] for run in document["runs"]] == [5, 6, 7]
    assert document["runs"][0]["flows"][0]["bytes"] == 100_000_000
    assert sorted(os.listdir(tmp_path / "out")) == ["seed-5", "seed-6", "seed-7"]
    assert read(tmp_path / "out" / "seed-6").seed == 6


def test_set_changes_the_scenario(tmp_path):
    done = daybreak(
        "run", ONE_FLOW, "--set", "flows.0.variant=reno", "--set", "flows.0.size=1 MB", "-o", tmp_path / "x", "--json"
    )
    flow = json.loads(done.stdout)["runs"][0]["flows"][0]
    assert (flow["variant"], flow["bytes"]) == ("reno", 1_000_000)
    assert read(tmp_path / "x").scenario.flows[0].variant.name == "reno"


def test_validate_counts_what_there_is():
    done = daybreak("validate", SCENARIO_FILES[2], "--json")
    document = json.loads(done.stdout)
    assert (document["valid"], document["flows"], document["timelines"]) == (True, 2, 1)
    assert "is a valid scenario" in daybreak("validate", ONE_FLOW).stdout


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("variants", "cubic"),
        ("queues", "drop_tail"),
        ("schedules", "migrate"),
        ("studies", "migration"),
        ("topologies", "dumbbell"),
        ("sizes", "web_search"),
        ("processes", "poisson"),
        ("pairs", "all_to_all"),
        ("engines", "simulated"),
    ],
)
def test_lists(what, name):
    assert name in [entry["name"] for entry in json.loads(daybreak("list", what, "--json").stdout)]
    assert name in daybreak("list", what).stdout


def test_schema_is_a_schema():
    assert json.loads(daybreak("schema").stdout)["properties"]["flows"]["type"] == "array"


def test_bench_measures():
    (result,) = json.loads(daybreak("bench", "S1-50ms", "--json").stdout)
    assert result["packet_hops"] > 100_000
    assert result["packet_hops_per_s"] > 0
    assert 1_000_000 < result["peak_memory_bytes"] < 200_000_000


def test_kernel_doctor_says_what_is_missing():
    done = daybreak("kernel", "doctor", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == (0 if document["can_run"] else 1)
    assert {finding["status"] for finding in document["findings"]} <= {"ok", "missing", "warning"}


def test_kernel_build_needs_a_source(tmp_path):
    done = daybreak("kernel", "build", "--source", tmp_path / "nothing")
    assert done.returncode == 1
    assert one_sentence(done.stderr)


# A scenario file, with one line of it replaced.
BAD_SCENARIOS = {
    "unknown key": ("name =", 'nmae = "x"\nname =', 'has no key "nmae" (did you mean "name"?)'),
    "wrong unit": ('"100 MB"', '"100 Mb"', 'flows[0].size = "100 Mb": expected a size'),
    "missing unit": ('"2 s"', '"2"', 'duration = "2": expected a time such as "40 us" (a unit is missing)'),
    "negative": ('"2 s"', '"-2 s"', 'duration = "-2 s": expected a time such as "40 us", not a negative one'),
    "absurd": ('"10 Gbit/s"', '"10000 Tbit/s"', "topology.rate"),
    "no hosts": ('"350 packets"', '"350 packets", pairs = 0', "topology.pairs = 0: expected at least 1"),
    "unknown variant": ('"cubic"', '"cubik"', "known are"),
    "nowhere": ('"receiver-0"', '"mars"', 'flows[0].to = "mars": there is no such host'),
    "no flows": ("[[flows]]", "[[flowz]]", 'has no key "flowz" (did you mean "flows"?)'),
    "not TOML": ("[[flows]]", "[[flows]", "is not valid TOML"),
    "no path": (
        '[[flows]]\nfrom = "sender-0"',
        '[[nodes]]\nname = "moon"\n[[flows]]\nfrom = "moon"',
        'flows[0]: there is no path from "moon" to "receiver-0"',
    ),
    "short period": (
        "[[flows]]",
        '[[timelines]]\nkind = "migrate"\nflows = ["flow-0"]\nbetween = ["bottleneck", "x"]\nperiod = "1 ms"\n'
        'night = "2 ms"\n[[flows]]',
        "timelines[0] has a period of 1 ms: expected one longer than its night of 2 ms",
    ),
    "own rule": ('variant = "cubic"', 'variant = ""', 'flows[0].variant = "": there is no such variant'),
}


@pytest.mark.parametrize("case", BAD_SCENARIOS)
@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_bad_scenario_is_one_sentence(tmp_path, case, command):
    old, new, sentence = BAD_SCENARIOS[case]
    text = Path(ONE_FLOW).read_text()
    assert old in text
    path = tmp_path / "bad.toml"
    path.write_text(text.replace(old, new))
    done = daybreak(command, path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert sentence in done.stderr
    assert one_sentence(done.stderr)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("run", "missing.toml"), 1, "missing.toml cannot be read: no such file or directory"),
        (("run", "."), 1, ". cannot be read: is a directory"),
        (("run",), 2, "missing argument"),
        (("run", ONE_FLOW, "--seed", "-1"), 2, "seed = -1: expected a whole number from 0 to 2^64 - 1"),
        (("run", ONE_FLOW, "--seed", "x"), 2, '--seed = "x": expected a whole number'),
        (("run", ONE_FLOW, "--runs", "0"), 2, '--runs = "0": expected at least 1'),
        (("run", ONE_FLOW, "--engine", "ns3"), 2, 'engine = "ns3": there is no such engine; known are simulated'),
        (("run", ONE_FLOW, "--speed", "3"), 2, "no such option"),
        (("run", ONE_FLOW, "--set", "duration"), 2, "expected KEY=VALUE"),
        (("run", ONE_FLOW, "--set", "flows.3.size=1 MB"), 1, "flows.3.size"),
        (("run", ONE_FLOW, "-o", "/proc/daybreak/out"), 1, "/proc/daybreak/out cannot be written"),
        (("run", ONE_FLOW, "-o", "/etc"), 1, "/etc cannot be written: it exists and is not a run"),
        (("run", ONE_FLOW, "-o", f"{ONE_FLOW}/out"), 1, "cannot be written"),
        (("validate", "missing.toml"), 1, "missing.toml cannot be read"),
        (("list", "planets"), 2, 'what = "planets": expected one of variants, queues, schedules'),
        (("list", "it's"), 2, 'what = "it\'s": expected one of variants, queues, schedules'),
        (("help", "planets"), 2, 'topic = "planets": expected one of scenario, tables, nights, captures'),
        (("reproduce", "nothing"), 2, "nothing"),
        (("reproduce", "migration", "--engine", "ns3"), 2, "known are simulated"),
        (("reproduce", "migration", "--figure", "99"), 2, "99"),
        (("reproduce", "migration", "-o", "/proc/daybreak"), 1, "/proc/daybreak"),
        (("reproduce", "etalon", "--raks", "8"), 2, "no such option: --raks (sizes of this study are --weeks"),
        (("reproduce", "etalon", "--racks"), 2, "option --racks needs a value"),
        (("reproduce", "etalon", "--inference", "delay"), 2, "--inference delay: expected --sensitivity"),
        (("reproduce", "etalon", "--sensitivity", "--engine", "kernel"), 2, "--engine: --sensitivity takes no other"),
        (("reproduce", "etalon", "--sensitivity", "--seeds", "1", "--inference", "x"), 2, 'inference: "x" is not one'),
        (("bench", "S9"), 2, 'benchmark "S9" is not known; known are S1'),
        (("compare", ONE_FLOW, ONE_FLOW, "--kernel", "6.1"), 2, 'kernel: "6.1" is for engine kernel'),
        (("compare", ONE_FLOW, ONE_FLOW, "--runs", "99999999999999"), 2, '--runs = "99999999999999": expected at most'),
        (("explain", ONE_FLOW, "--seed", "-1"), 2, "seed = -1: expected a whole number"),
        (("report", ".", "-o", "page.txt"), 2, "page.txt cannot be written: expected a name that ends in .html"),
        (("learn", "planets"), 2, 'data "planets": expected one of networks'),
        (("agree", "--seed", "3"), 2, "--seed 3: expected --random"),
        (("agree", "--wide"), 2, "--wide: expected --random, whose scenarios it draws"),
        (
            ("tune", ROOT / "scenarios" / "17-prolongation.toml", "--for", "speed"),
            2,
            '--for "speed": expected one of prolongation',
        ),
        (("agree", "--kernels", "6.12"), 2, "kernels: 6.12: expected two different ones or more"),
        (("kernel", "dialogues", "--kernels", "6.1,6.1"), 2, "kernels: 6.1,6.1: expected two different ones or more"),
        (("kernel", "dialogues", "--kernel", "newest"), 2, 'kernel = "newest": expected a version'),
        (("kernel", "remove", "newest"), 2, 'kernel = "newest": expected a version'),
        (("kernel", "remove", "6.99"), 1, "no kernel image is of that version"),
        (("kernel", "build", "--hz", "500"), 2, "hz = 500: expected one of 100, 250, 300, 1000"),
        (("kernel", "build", "--linux", "newest"), 2, "linux: 'newest' is not a version"),
        (("fly",), 2, "no such command 'fly'"),
    ],
)
def test_a_wrong_command_is_one_sentence(arguments, code, sentence):
    done = daybreak(*arguments)
    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
    assert one_sentence(done.stderr)


def test_errors_are_json_when_asked_for():
    done = daybreak("run", "missing.toml", "--json")
    assert done.returncode == 1
    assert "cannot be read" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize("seconds", [0.0, 0.07, 0.13, 0.21])
def test_ctrl_c_keeps_finished_runs_whenever_it_comes(tmp_path, seconds):
    out = tmp_path / "out"
    arguments = ["run", ONE_FLOW, "--set", "flows.0.size=20 MB", "--runs", "5000", "--workers", "2"]
    errors = interrupted(arguments, out, after="seed-*/manifest.json", seconds=seconds)
    assert "of 5000 runs are finished, kept in" in errors
    kept = list(out.iterdir())
    assert 1 <= len(kept) < 5000
    # Whole runs only, and no unfinished folder beside them.
    assert all(read(place).flows.height == 1 for place in kept)
    assert int(errors.split("interrupted: ")[1].split()[0]) == len(kept)


def test_list_and_help_without_a_word_say_which_there_are():
    for command, key in (("list", "name"), ("help", "topic")):
        done = daybreak(command)
        assert done.returncode == 0, done.stderr
        known = [entry[key] for entry in json.loads(daybreak(command, "--json").stdout)]
        assert len(known) > 3 and all(name in done.stdout for name in known)


def test_a_closed_pipe_is_not_an_error():
    lister = subprocess.Popen([*PROGRAM, "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lister.stdout.close()
    lister.wait(timeout=60)
    assert "Traceback" not in lister.stderr.read()


def test_the_module_is_the_program():
    assert (ROOT / "pyproject.toml").read_text().count('daybreak = "daybreak.cli:main"') == 1


def test_ctrl_c_in_a_study_keeps_finished_runs(tmp_path):
    out = tmp_path / "out"
    errors = interrupted(["reproduce", "migration", "--quick"], out, after="runs/??/*.zip")
    assert f"finished runs are kept in {out}" in errors
    assert not (out / "scoreboard.json").exists()
