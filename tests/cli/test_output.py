"""What `-o` does to a folder: it holds somebody's work, finished runs, other runs, or what a dead process has left."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from cli.program import PROGRAM, daybreak, interrupted, one_sentence
from ready_files import SCENARIO_FILES

from daybreak.runs import read

ONE_FLOW = SCENARIO_FILES[0]
SHORT = (ONE_FLOW, "--set", "flows.0.size=1 MB")
ENDLESS = ("--set", "flows.0.size=unlimited", "--set", "duration=1 h")
CAPTURE = ("--set", 'records.capture=["bottleneck"]')


def contents(folder):
    """Every file and link below a folder, with its bytes or its target."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def refused(done, words, code=1):
    assert done.returncode == code, done.stdout
    assert words in done.stderr.lower()
    assert one_sentence(done.stderr), done.stderr


def test_finished_seeds_are_found_again(tmp_path):
    out = tmp_path / "out"
    assert daybreak("run", *SHORT, "--runs", 2, "-o", out).returncode == 0
    (out / "notes.txt").write_text("mine")
    inodes = {path: path.stat().st_ino for path in out.rglob("*")}
    done = daybreak("run", *SHORT, "--runs", 3, "-o", out, "--json")
    assert "found 2 of 3 runs" in done.stderr
    assert [run["seed"] for run in json.loads(done.stdout)["runs"]] == [1, 2, 3]
    assert {path: path.stat().st_ino for path in inodes} == inodes
    fresh = daybreak("run", *SHORT, "--runs", 3, "--json")
    unplaced = [run | {"out": None} for run in json.loads(done.stdout)["runs"]]
    assert unplaced == json.loads(fresh.stdout)["runs"]


def test_a_single_run_joins_a_folder_of_seeds(tmp_path):
    daybreak("run", *SHORT, "--runs", 2, "-o", tmp_path / "out")
    before = contents(tmp_path)
    assert daybreak("run", *SHORT, "--seed", 9, "-o", tmp_path / "out").returncode == 0
    after = contents(tmp_path)
    assert {name: after[name] for name in before} == before
    assert {name.split("/")[1] for name in after.keys() - before.keys()} == {"seed-9"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--runs", 2, "--set", "duration=3 s"), 'holds a run of another scenario, "one flow"'),
        (("--set", "duration=3 s"), "holds a run of another scenario"),
        (("--runs", 5, "--set", "flows.0.variant=bbr"), "holds a run of another scenario"),
    ],
)
def test_another_scenario_is_refused_in_a_folder_of_seeds(tmp_path, arguments, words):
    out = tmp_path / "out"
    daybreak("run", *SHORT, "--runs", 3, "-o", out)
    (out / "seed-2" / "notes.txt").write_text("mine")
    before = contents(tmp_path)
    done = daybreak("run", *SHORT, *arguments, "-o", out)
    refused(done, words)
    assert "choose another folder, or --force" in done.stderr
    assert contents(tmp_path) == before

    assert daybreak("run", *SHORT, *arguments, "-o", out, "--force").returncode == 0
    after = contents(out)
    assert after["seed-2/notes.txt"] == b"mine"
    # None of the old scenario is left beside the new.
    scenarios = [json.loads(text)["scenario"] for name, text in after.items() if name.endswith("manifest.json")]
    assert all(scenario == scenarios[0] for scenario in scenarios)
    assert daybreak("run", *SHORT, *arguments, "-o", out).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seed", 2), "holds the run of seed 1"),
        (("--runs", 2), "holds one run, not one a seed"),
        (("--set", "flows.0.variant=bbr"), "holds a run of another scenario"),
    ],
)
def test_a_folder_that_is_a_run_stays_it(tmp_path, arguments, words):
    out = tmp_path / "out"
    daybreak("run", *SHORT, "-o", out)
    (out / "notes.txt").write_text("mine")
    before = contents(tmp_path)
    refused(daybreak("run", *SHORT, *arguments, "-o", out), words)
    assert contents(tmp_path) == before
    assert daybreak("run", *SHORT, *arguments, "-o", out, "--force").returncode == 0
    assert (out / "notes.txt").read_text() == "mine"
    assert len(list(out.rglob("manifest.json"))) == (2 if "--runs" in arguments else 1)


def test_a_run_by_another_build_is_not_taken_for_ours(tmp_path):
    daybreak("run", *SHORT, "-o", tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    manifest["versions"]["program"] = "native module 00000000"
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    refused(daybreak("run", *SHORT, "-o", tmp_path / "out"), "holds a run by another build of daybreak")


def test_a_description_is_not_another_scenario(tmp_path):
    daybreak("run", *SHORT, "-o", tmp_path / "out")
    done = daybreak("run", *SHORT, "--set", "description=in other words", "-o", tmp_path / "out")
    assert "found 1 of 1 runs" in done.stderr


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_folder_with_somebodys_work_is_never_a_run(tmp_path, force):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("mine")
    (tmp_path / "thesis" / "manifest.json").write_text('{"name": "a web page"}')
    before = contents(tmp_path)
    refused(daybreak("run", *SHORT, "-o", tmp_path / "thesis", *force), "exists and is not a run")
    assert contents(tmp_path) == before
    (tmp_path / "thesis" / "seed-2").mkdir()
    (tmp_path / "thesis" / "seed-2" / "notes.txt").write_text("mine")
    refused(daybreak("run", *SHORT, "--runs", 2, "-o", tmp_path / "thesis", *force), "exists and is not a run")
    assert contents(tmp_path) == before | {"thesis/seed-2/notes.txt": b"mine"}


@pytest.mark.parametrize("runs", [1, 2])
def test_links_are_followed_and_stay(tmp_path, runs):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert daybreak("run", *SHORT, "--runs", runs, "-o", tmp_path / "link").returncode == 0
    assert (tmp_path / "link").is_symlink()
    assert len(list((tmp_path / "real").rglob("manifest.json"))) == runs
    (tmp_path / "nowhere").symlink_to("missing")
    done = daybreak("run", *SHORT, "--runs", runs, "-o", tmp_path / "nowhere")
    refused(done, "a link to a place that does not exist")
    assert sorted(os.listdir(tmp_path)) == ["link", "nowhere", "real"]


def test_a_capture_needs_a_place():
    without = daybreak("run", *SHORT, *CAPTURE)
    refused(without, "records.capture has no place for the packets: give a folder with -o", code=2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("there", [False, True])
def test_a_signal_leaves_nothing_of_a_capture(tmp_path, monkeypatch, number, there):
    out, temporary = tmp_path / "work" / "out", tmp_path / "temporary"
    temporary.mkdir()
    (out if there else out.parent).mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(temporary))
    staged = out if there else out.parent
    said = interrupted_in(staged, ["run", ONE_FLOW, *ENDLESS, *CAPTURE, "-o", out], number)
    assert "interrupted: 0 of 1 runs are finished" in said
    assert list(staged.iterdir()) == []
    assert list(temporary.iterdir()) == []


def interrupted_in(staged, arguments, number):
    """Sends a signal as soon as packets are captured in a folder."""
    command = [*PROGRAM, *map(str, arguments)]
    # Tests that were started to outlive their terminal ignore SIGHUP, and so would the program.
    listen = (lambda: signal.signal(number, signal.SIG_DFL)) if number == signal.SIGHUP else None
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=listen)
    try:
        while process.poll() is None and not any(path.stat().st_size for path in staged.glob(".*/capture.pcapng")):
            pass
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    finally:
        # An endless capture fills the disk.
        process.kill()
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number), errors
    return errors


def test_the_next_run_removes_what_a_killed_one_has_left(tmp_path):
    out = tmp_path / "out"
    interrupted_in(tmp_path, ["run", ONE_FLOW, *ENDLESS, *CAPTURE, "-o", out], signal.SIGKILL)
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".daybreak-unfinished-")
    assert daybreak("run", *SHORT, *CAPTURE, "-o", out).returncode == 0
    assert os.listdir(tmp_path) == ["out"]
    assert read(out).capture.stat().st_size > 1000


def test_sigterm_keeps_finished_runs_and_the_next_run_goes_on(tmp_path):
    out = tmp_path / "out"
    many = ["run", ONE_FLOW, "--set", "flows.0.size=20 MB", "--runs", "3000"]
    errors = interrupted(many, out, after="seed-*/manifest.json", number=signal.SIGTERM)
    kept = int(errors.split("interrupted: ")[1].split()[0])
    assert kept == len(list(out.glob("seed-*"))) > 0
    again = interrupted(many, out, after=f"seed-{kept + 3}/manifest.json", number=signal.SIGTERM)
    assert int(again.split("interrupted: ")[1].split()[0]) >= kept + 3


def test_sigkill_leaves_whole_runs_only(tmp_path):
    out = tmp_path / "out"
    many = ["run", ONE_FLOW, "--set", "flows.0.size=20 MB", "--runs", "3000"]
    interrupted(many, out, after="seed-9/manifest.json", number=signal.SIGKILL)
    assert all(read(place).flows.height == 1 for place in out.glob("seed-*"))
    for left in out.glob(".daybreak-unfinished-*"):
        # A folder that was killed before it had its lock is left alone for a minute.
        os.utime(left, (0, 0))
    assert daybreak("run", *many[1:4], "--runs", 3, "-o", out).returncode == 0
    assert [name for name in os.listdir(out) if not name.startswith("seed-")] == []


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("mount"), reason="needs the right to mount a small disk")
def test_a_full_or_read_only_disk_loses_nothing(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=False).returncode:
        pytest.skip("mount is refused here")
    try:
        (disk / "notes.txt").write_text("mine")
        # A run fits, its capture does not.
        assert daybreak("run", *SHORT, "-o", disk / "first").returncode == 0
        before = contents(disk)
        refused(daybreak("run", ONE_FLOW, *CAPTURE, "-o", disk / "second"), "no space left on device")
        refused(daybreak("run", ONE_FLOW, *CAPTURE, "-o", disk / "first", "--force"), "no space left on device")
        assert contents(disk) == before
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for place in ("third", "first"):
            refused(daybreak("run", ONE_FLOW, "-o", disk / place, "--force"), "read-only file system")
        assert contents(disk) == before
        assert daybreak("run", *SHORT, "-o", disk / "first").returncode == 0
    finally:
        subprocess.run(["umount", disk], check=False)


def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert daybreak("run", *SHORT, *CAPTURE, "-o", tmp_path / "out").returncode == 0
    assert os.listdir(tmp_path) == ["out"]


def test_a_study_writes_to_no_folder_of_anybody_elses(tmp_path):
    (tmp_path / "results.md").write_text("mine")
    before = contents(tmp_path)
    for arguments in (("reproduce", "migration"), ("agree", "--quick"), ("agree", "--segments", "--quick")):
        refused(daybreak(*arguments, "-o", tmp_path), "holds files that are no results of this command")
    assert contents(tmp_path) == before
