"""Another version of Linux than the one that is modelled: runs with it, and what it is called everywhere."""

import sys
from pathlib import Path

import pytest
from ready_files import ROOT
from real_kernel import LACKING

import daybreak
from daybreak.agreement import kernels, segments
from daybreak.engines import lowered, modelled, program
from daybreak.engines.kernel import dialogues, image, matrix
from daybreak.engines.kernel.choice import Choice
from daybreak.engines.kernel.errors import NoImage
from daybreak.errors import PlanError, UsageError
from daybreak.runs import read

sys.path.insert(0, str(ROOT / "tests" / "cli"))
from program import daybreak as command
from program import one_sentence

VERSION = "6.12"
SCENARIO = ROOT / "scenarios" / "01-one-flow.toml"


def _lacking(version: str = VERSION) -> str:
    try:
        image.find(Choice.parse(version))
    except NoImage as error:
        return str(error)
    return LACKING


with_both = pytest.mark.skipif(bool(_lacking()), reason=f"left out without both kernels: {_lacking()}")


@pytest.mark.parametrize("version", ["5.10", "6.12", "7.3"])
def test_a_run_names_its_kernel_and_can_be_repeated(one_flow, version):
    if lacking := _lacking(version):
        pytest.skip(f"left out without Linux {version}: {lacking}")
    one, two = (daybreak.run(one_flow, engine=f"kernel:{version}") for _ in range(2))
    for table in ("flows", "bins", "window", "queues"):
        assert one.table(table).equals(two.table(table))
    built = image.find(Choice.parse(version))
    assert one.manifest["engine"] == f"kernel:{version}"
    assert one.manifest["kernel"] == built.facts()
    assert one.manifest["kernel"]["version"].startswith(f"{version}.")
    assert ("no-getpid" in one.manifest["kernel"]["edits"]) is (version == "5.10")
    assert "retcp" in built.variants


@with_both
def test_the_program_of_a_choice_has_its_version():
    built = image.find(Choice.parse(VERSION))
    assert program("kernel:6.12").startswith(f"Linux {built.source_version}, image {built.digest[:8]}")
    assert "6.12" not in program("kernel")


@with_both
def test_a_matrix_has_what_the_kernels_play_otherwise(tmp_path):
    # The acknowledgement is the same in both, though its window is not; the second one is false for every Linux.
    opening = "0 accept rtt 10ms\n20ms < . 1:1449 ack 1\n"
    (tmp_path / "same.dialogue").write_text(f"# Both: the same.\n{opening}20ms > . 1 ack 1449")
    (tmp_path / "never.dialogue").write_text(f"# No window is so small. And more.\n{opening}20ms > . 1 ack 1449 win 9")
    found = matrix.play(sorted(tmp_path.iterdir()), ["6.1", VERSION])
    assert [row[:2] for row in found.rows()] == [("never", "No window is so small.")]
    assert all("win differs" in cell for cell in found.rows()[0][2:])
    assert found.document()["dialogues"][1]["verdicts"]["6.12"]["verdict"] in ("agrees", "differs")


@with_both
def test_the_model_of_each_version_stands_beside_its_kernel(tmp_path):
    only = ["datacentre-reno-*"]
    found = kernels.compare(["6.1", VERSION], only=only, out=tmp_path / "both")
    assert found["modelled"] == {"kernel:6.1": "6.1", "kernel:6.12": "6.12"}
    ends = [end["model"] for end in found["ends"]]
    assert ends and all(one["is_identical"] for end in ends for one in end.values())
    # Receivers of 6.12 do not do what the model of 6.1 does: without its profile this would not be so.
    (case, *_) = segments.replayable(None, quick=False, only=only, hz=None)
    run = daybreak.run(segments.captured(case), engine=f"kernel:{VERSION}")
    plan = lowered(segments.captured(case), 1, f"kernel:{VERSION}").content
    assert {stack.linux for stack in plan.stacks} == {VERSION}
    run.manifest["engine"] = "kernel"
    (replayed,) = segments.flows(run, "receiver")
    assert replayed.same < replayed.segments


@with_both
def test_a_dialogue_of_another_version_does_not_apply(tmp_path):
    opening = "0 accept rtt 10ms\n20ms < . 1:1449 ack 1\n20ms > . 1 ack 1449 win"
    (tmp_path / "older.dialogue").write_text(f"config linux 6.1\n{opening} 64128")
    (tmp_path / "newer.dialogue").write_text(f"config linux 6.12\n{opening} 67072")
    (tmp_path / "some.dialogue").write_text(f"config linux 6.1 7.3\n{opening} 64128")
    files = sorted(tmp_path.iterdir())
    for version, kinds in [("6.1", ["does not apply", "agrees", "agrees"]),
                           (VERSION, ["agrees", "does not apply", "does not apply"])]:  # fmt: skip
        assert [one.kind for one in dialogues.play(files, choice=Choice.parse(version))] == kinds
    assert len(matrix.play(files, ["6.1", VERSION]).differing()) == 3


@pytest.mark.parametrize("version", ["6.12", "7.3"])
def test_a_kernel_says_what_the_dialogues_of_its_model_say(version):
    if lacking := _lacking(version):
        pytest.skip(f"left out without Linux {version}: {lacking}")
    verdicts = dialogues.play(dialogues.find(), choice=Choice.parse(version))
    assert [verdict for verdict in verdicts if not verdict.is_good] == []
    assert sum(verdict.kind == "agrees" for verdict in verdicts) > 200


def test_stacks_of_another_version_are_refused(one_flow):
    newer = one_flow.with_({"stack.linux": VERSION})
    with pytest.raises(PlanError, match=r"linux of the stacks is 6\.12, and the kernel is Linux 6\.1: name the kernel"):
        lowered(newer, 1, "kernel")
    with pytest.raises(PlanError, match=r"and the kernel is Linux 6\.99"):
        lowered(newer, 1, "kernel:6.99")
    some = one_flow.with_({"stacks.newer": {"linux": VERSION}, "flows.0.stack": "newer"})
    with pytest.raises(PlanError, match=r"linux of the stacks is 6\.1, 6\.12: all hosts are in one kernel"):
        lowered(some, 1, f"kernel:{VERSION}")
    assert [stack.linux for stack in lowered(newer, 1, f"kernel:{VERSION}").content.stacks] == [VERSION]
    assert [stack.linux for stack in lowered(one_flow, 1, "kernel:6.99").content.stacks] == [VERSION]


def test_a_version_without_a_model_stands_beside_the_last_one_before_it():
    beside = {
        "simulated": "6.1", "kernel": "6.1", "kernel:6.12@250": VERSION,
        "kernel:5.10": "6.1", "kernel:6.6": "6.1", "kernel:6.99": VERSION, "kernel:7.3": "7.3",
        "kernel:7.4": "7.3",
    }  # fmt: skip
    assert {engine: modelled(engine) for engine in beside} == beside


@with_both
def test_the_command_says_which_kernel_ran(tmp_path):
    done = command("run", SCENARIO, "--engine", "kernel", "--kernel", VERSION, "--set", "flows.0.size=1 MB", "-o",
                   tmp_path / "out")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "engine: Linux 6.12." in done.stdout
    assert read(tmp_path / "out").manifest["engine"] == "kernel:6.12"


@with_both
def test_sweeps_and_comparisons_say_which_kernels_ran(tmp_path):
    grid = tmp_path / "grid.toml"
    small = tmp_path / "small.toml"
    small.write_text(SCENARIO.read_text().replace('"100 MB"', '"100 kB"'))
    grid.write_text(f'scenario = "{small}"\nengine = "kernel"\nseeds = 1\n[axes]\n"flows.0.variant" = ["cubic"]\n')
    done = command("sweep", grid, "--kernel", VERSION, "-o", tmp_path / "swept")
    assert done.returncode == 0, done.stderr
    assert "\nengine: Linux 6.12." in done.stdout
    # One scenario, with both.
    done = command("compare", small, "--engine", "kernel", "--kernel", "6.1,6.12", "--runs", 1)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:6] == ["group", "what", "runs", "6.1", "6.12", "6.12"]
    assert "\nkernel:6.1: Linux 6.1." in done.stdout and "\nkernel:6.12: Linux 6.12." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["run", SCENARIO, "--engine", "kernel", "--kernel", "6.99"], "no kernel image of Linux 6.99"),
        (["run", SCENARIO, "--engine", "kernel", "--kernel", "newest"], 'kernel = "newest": expected a version'),
        (["run", SCENARIO, "--kernel", "6.12"], 'kernel: "6.12" is for engine kernel, and the engine is simulated'),
        (["reproduce", "migration", "--kernel", "6.12"], 'kernel: "6.12" is for engine kernel'),
        (["sweep", ROOT / "grids" / "periods.toml", "--kernel", "6.12"], 'kernel: "6.12" is for engine kernel'),
        (
            ["compare", SCENARIO, SCENARIO, "--engine", "kernel", "--kernel", "6.1,6.2,6.3"],
            "expected one kernel, or one",
        ),
        (["agree", "--kernel", "6.1", "--kernels", "6.1,6.12"], "--kernels 6.1,6.12: expected no --kernel"),
        (["agree", "--kernels", "6.12"], "kernels: 6.12: expected two different ones or more"),
        (["kernel", "dialogues", "--kernels", "6.1,6.1"], "kernels: 6.1,6.1: expected two different ones or more"),
        (["kernel", "remove", "6.99"], "no kernel image is of that version"),
        (["kernel", "build", "--linux", "6.99"], "apt-get install linux-source-6.99"),
        (["kernel", "build", "--linux", "newest"], "linux: 'newest' is not a version: expected one such as 6.12"),
        (["kernel", "build", "--linux", "6.12", "--source", "/usr/src"], "give one of both"),
        (["kernel", "build", "--config", "nowhere"], "nowhere: not readable (no such file or directory)"),
        (["kernel", "build", "--hz", "500"], "hz = 500: expected one of 100, 250, 300, 1000"),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_sentence(arguments, why, tmp_path):
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode != 0 and one_sentence(done.stderr), done.stderr
    assert why in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_same_kernel_twice_is_no_matrix():
    with pytest.raises(UsageError, match=r"kernels: 6\.1: expected two different ones"):
        matrix.play([Path("x.dialogue")], ["6.1"])


def test_a_dialogue_says_its_mechanism_in_its_first_sentence():
    for file in dialogues.find():
        assert matrix.mechanism(file.read_text()).endswith("."), file.name
