"""Folders that hold somebody's work: what no run has written is never removed or replaced."""

import errno
import json
import os
import pickle
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import daybreak
from daybreak.errors import OutputError
from daybreak.runs import EngineOutput, Run, identity, read, read_all, storage
from daybreak.runs.staging import PREFIX, Staging, remove_stale
from daybreak.scenario.lowering import lower


@pytest.fixture
def run(one_flow):
    return daybreak.run(one_flow.with_({"flows.0.size": "1 MB"}))


@pytest.fixture
def other(one_flow):
    return daybreak.run(one_flow.with_({"flows.0.size": "2 MB"}))


def test_notes_beside_a_run_stay(run, other, tmp_path):
    place = run.write(tmp_path / "run")
    (place / "notes.txt").write_text("mine")
    (place / "seed-7").mkdir()
    other.write(place, force=True)
    assert (place / "notes.txt").read_text() == "mine"
    assert (place / "seed-7").is_dir()
    assert read(place).flows["bytes"].to_list() == [2_000_000]
    assert not (place / "manifest.unfinished.json").exists()


def test_writing_a_run_again_changes_nothing(run, tmp_path):
    place = run.write(tmp_path / "run")
    before = {path.name: path.stat().st_ino for path in place.iterdir()}
    run.write(place)
    assert {path.name: path.stat().st_ino for path in place.iterdir()} == before


def test_a_run_that_lacks_a_file_is_made_whole(run, tmp_path):
    place = run.write(tmp_path / "run")
    (place / "links.parquet").unlink()
    run.write(place)
    assert read(place).links.height > 0


@pytest.mark.parametrize("name", ["capture.pcapng", "manifest.unfinished.json"])
def test_a_file_of_the_users_in_the_way_is_named(run, other, tmp_path, name):
    place = run.write(tmp_path / "run")
    (place / name).write_text("mine") if name == "capture.pcapng" else (place / name).mkdir()
    with pytest.raises(OutputError, match=rf"{name} is in the way: no run has written it"):
        other.write(place, force=True)
    assert read(place).flows["bytes"].to_list() == [1_000_000]


def test_a_link_in_place_of_a_file_is_not_replaced(run, other, tmp_path):
    place = run.write(tmp_path / "run")
    (place / "flows.parquet").rename(tmp_path / "elsewhere.parquet")
    (place / "flows.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(OutputError, match="is in the way"):
        other.write(place, force=True)
    assert (place / "flows.parquet").is_symlink()
    assert read(place).flows["bytes"].to_list() == [1_000_000]


def test_a_link_to_a_folder_stays_a_link(run, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    run.write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert read(tmp_path / "real").seed == 1
    (tmp_path / "nowhere").symlink_to("missing")
    with pytest.raises(OutputError, match="it is a link to a place that does not exist"):
        run.write(tmp_path / "nowhere")
    assert (tmp_path / "nowhere").is_symlink() and not (tmp_path / "missing").exists()


def test_a_manifest_names_no_file_elsewhere(run, other, tmp_path):
    place = run.write(tmp_path / "run")
    (tmp_path / "precious.parquet").write_text("mine")
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["tables"]["../precious"] = 1
    (place / "manifest.json").write_text(json.dumps(manifest))
    other.write(place, force=True)
    assert (tmp_path / "precious.parquet").read_text() == "mine"


@pytest.mark.parametrize("moved", [0, 1, 5, 9, 10, 11, 15, 18, 19, 20])
def test_a_crash_while_a_run_is_replaced_leaves_a_run_or_none(run, other, tmp_path, moved):
    """The process is killed after a number of files have been moved or removed; then the run is written again."""
    place = run.write(tmp_path / "run")
    (place / "notes.txt").write_text("mine")
    program = f"""
import os, pathlib
from daybreak.runs import read
import daybreak
left = {moved}
def counted(function):
    def count(*arguments, **words):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
        return function(*arguments, **words)
    return count
other = daybreak.run(daybreak.Scenario.parse({other.manifest["scenario"]!r}))
pathlib.Path.replace, pathlib.Path.unlink = counted(pathlib.Path.replace), counted(pathlib.Path.unlink)
other.write({str(place)!r}, force=True)
"""
    subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    held = storage.held(place)
    if held is not None:
        kept = read(place)
        size = {run.manifest["plan_hash"]: 1_000_000, other.manifest["plan_hash"]: 2_000_000}[held["plan_hash"]]
        assert all(table is not None for _, table in kept.tables())
        assert kept.flows["bytes"].to_list() == [size]
    storage.forget_unfinished(place)
    other.write(place, force=True)
    assert read(place).flows["bytes"].to_list() == [2_000_000]
    assert (place / "notes.txt").read_text() == "mine"
    assert not [name for name in os.listdir(place) if name.startswith(PREFIX) or "unfinished" in name]


def test_what_a_dead_process_has_left_is_removed_and_nothing_else(tmp_path):
    program = f"""
import os, pathlib
from daybreak.runs.staging import Staging
kept = Staging(pathlib.Path({str(tmp_path)!r}))
(kept.path / "half").write_text("x")
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", program], check=False)
    (left,) = tmp_path.iterdir()
    assert (left / "half").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "mine")
    with Staging(tmp_path) as live:
        remove_stale(tmp_path)
        assert live.is_dir() and not left.exists()
    assert sorted(os.listdir(tmp_path)) == [f"{PREFIX}link", "mine"]


def test_no_table_has_a_number_for_nothing(one_flow):
    never = one_flow.with_({
        "flows.0.size": "unlimited", "duration": "20 ms",
        "flows": [{"from": "sender-0", "to": "receiver-0", "size": "unlimited", "variant": "cubic"}],
        "records": {"window": "every ack"},
    })  # fmt: skip
    run = daybreak.run(never)
    assert run.flows.select("bytes", "end_ns", "fct_ns").row(0) == (None, None, None)
    assert run.window["ssthresh"][0] is None
    assert run.window["pacing_bps"].null_count() == run.window.height
    assert (run.window["srtt_ns"].drop_nulls() > 0).all()
    for name, table in run.tables():
        for column in table.select(pl.selectors.unsigned_integer()).iter_columns():
            assert column.max() is None or column.max() not in (2**32 - 1, 2**64 - 1), (name, column.name)


def test_a_lost_ack_has_no_first_byte(one_flow):
    # The bottleneck loses what goes to the receivers: data of one flow, and ACKs of the other.
    there, back = ({"from": one, "to": other, "size": "1 MB"} for one, other in (
        ("sender-0", "receiver-0"), ("receiver-0", "sender-0"),
    ))  # fmt: skip
    drops = daybreak.run(one_flow.with_({"topology.loss": 0.02, "flows": [there, back]})).drops
    data, acks = drops.filter("data"), drops.filter(~pl.col("data"))
    assert data["seq"].null_count() == 0 < data.height and set(data["flow"]) == {0}
    assert acks["seq"].null_count() == acks.height > 0 and set(acks["flow"]) == {1}


WRITTEN = {"programs/web-client/stdout": b"200 OK\n", "programs/web-client/files/a/b": bytes(range(256))}


@pytest.fixture
def with_programs(other):
    """A run whose programs have written files."""
    return Run(other.manifest | {"files": sorted(WRITTEN)}, other.table, files=WRITTEN)


def test_files_that_programs_wrote_are_kept_byte_by_byte(with_programs, tmp_path):
    place = with_programs.write(tmp_path / "run")
    again = read(place)
    assert (again.files, again.manifest["files"]) == (WRITTEN, sorted(WRITTEN))
    assert pickle.loads(pickle.dumps(again)).files == WRITTEN
    (place / "programs" / "web-client" / "stdout").unlink()
    with pytest.raises(OutputError, match=rf"{place} cannot be read: no such file or directory"):
        read(place)


def test_a_link_in_place_of_the_folder_for_programs_is_in_the_way_and_what_it_names_stays(run, with_programs, tmp_path):
    place = with_programs.write(tmp_path / "run")
    (place / "programs").rename(tmp_path / "elsewhere")
    (place / "programs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match=r"programs is in the way: no run has written it"):
        run.write(place, force=True)
    assert (tmp_path / "elsewhere" / "web-client" / "stdout").read_bytes() == WRITTEN["programs/web-client/stdout"]


def test_files_of_programs_go_with_their_run_and_others_beside_them_stay(run, with_programs, tmp_path):
    place = with_programs.write(tmp_path / "run")
    (place / "programs" / "web-client" / "files" / "notes").write_text("mine")
    run.write(place, force=True)
    left = [path.relative_to(place / "programs") for path in (place / "programs").rglob("*") if path.is_file()]
    assert [str(path) for path in left] == ["web-client/files/notes"] and read(place).files == {}
    whole = with_programs.write(tmp_path / "whole")
    run.write(whole, force=True)
    assert not (whole / "programs").exists()


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_only_has_the_name_of_the_folder_for_programs_is_in_the_way(
    run, other, with_programs, tmp_path, is_folder
):
    place = run.write(tmp_path / "run")
    (place / "programs").mkdir() if is_folder else (place / "programs").write_text("mine")
    for next_ in (other, with_programs):
        with pytest.raises(OutputError, match=r"programs is in the way: no run has written it"):
            next_.write(place, force=True)
    assert (place / "programs").exists() and read(place).flows["bytes"].to_list() == [1_000_000]


def test_a_file_in_place_of_the_folder_that_programs_wrote_to_is_not_replaced(run, with_programs, tmp_path):
    place = with_programs.write(tmp_path / "run")
    (place / "programs").rename(tmp_path / "elsewhere")
    (place / "programs").write_text("mine")
    with pytest.raises(OutputError, match=r"programs is in the way: no run has written it"):
        run.write(place, force=True)
    assert (place / "programs").read_text() == "mine" and (place / "manifest.json").exists()


def test_a_manifest_names_no_file_of_programs_elsewhere(run, with_programs, tmp_path):
    place = with_programs.write(tmp_path / "run")
    (tmp_path / "precious").write_text("mine")
    (place / "mine").mkdir()
    (place / "mine" / "notes").write_text("mine")
    names = ["programs/../../precious", "notes", "mine/notes", "programs", *sorted(WRITTEN)]
    (place / "manifest.json").write_text(json.dumps(with_programs.manifest | {"files": names}))
    assert read(place).files == WRITTEN
    (place / "notes").write_text("mine")
    run.write(place, force=True)
    assert (tmp_path / "precious").read_text() == (place / "notes").read_text() == "mine"
    assert (place / "mine" / "notes").read_text() == "mine"


def test_a_run_is_shown_by_its_name_seed_and_numbers_of_rows(run):
    shown = json.loads(repr(run).removeprefix("Run(").removesuffix(")"))
    assert (shown["name"], shown["seed"], shown["engine"]) == ("one flow", 1, "simulated")
    assert shown["tables"]["flows"] == 1 and shown["tables"]["links"] == run.links.height


def test_marks_of_earlier_versions_are_read_as_null(run, tmp_path):
    place = run.write(tmp_path / "run")
    marked = read(place).flows.with_columns(pl.lit(2**64 - 1, pl.UInt64).alias("end_ns"))
    marked.write_parquet(place / "flows.parquet")
    assert read(place).flows["end_ns"].to_list() == [None]


def test_a_run_is_in_a_folder_or_folders_with_runs_are(run, tmp_path):
    for seed in (10, 2, 1):
        daybreak.run(run.scenario, seed=seed).write(tmp_path / "all" / f"seed-{seed}")
    (tmp_path / "all" / "empty").mkdir()
    (tmp_path / "all" / "file").write_text("mine")
    names = ["seed-1", "seed-10", "seed-2"]
    assert storage.runs_in(tmp_path / "all") == [tmp_path / "all" / name for name in names]
    assert [one.seed for one in read_all(tmp_path / "all")] == [1, 2, 10]
    assert [one.seed for one in read_all(tmp_path / "all" / "seed-2")] == [2]
    assert storage.runs_in(tmp_path / "all" / "seed-2") == storage.runs_in(tmp_path / "all" / "file") == []
    with pytest.raises(OutputError) as caught:
        read(tmp_path / "all")
    assert str(caught.value) == (
        f"{tmp_path}/all is not a run but holds 3 of them: give one, such as {tmp_path}/all/seed-1"
    )


@pytest.mark.parametrize(("text", "why"), [
    (None, "manifest.json: no such file or directory"), ("{", "manifest.json is not JSON"),
    ("[" * 100_000, "manifest.json is not JSON"), ("{}", "manifest.json: name is missing (and 7 more problems)"),
    ("[]", "manifest.json: expected a table"),
])  # fmt: skip
def test_what_is_no_run_is_one_sentence(tmp_path, text, why):
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(OutputError) as caught:
        read(tmp_path)
    assert str(caught.value) == f"{tmp_path} is not a run: {why}"
    assert storage.held(tmp_path) is None


def test_a_table_of_another_length_than_the_manifest_says_is_named(run, tmp_path):
    place = run.write(tmp_path / "run")
    run.links.head(2).write_parquet(place / "links.parquet")
    with pytest.raises(OutputError) as caught:
        _ = read(place).links
    rows = run.links.height
    assert str(caught.value) == f"{place}/links.parquet cannot be read: it has 2 rows, the manifest says {rows}"


def test_a_run_has_an_identity_and_a_manifest_of_all_that_made_it(run, one_flow):
    scenario = one_flow.with_({"flows.0.size": "1 MB"})
    plan = lower(scenario, 7)
    columns = {"links": {"link": np.arange(3)}, "queues": {}}
    recorded = EngineOutput(columns, {"ended_ns": 5}, facts={"kernel": "6.1"})
    made = Run.of(scenario, plan, "kernel", "p", recorded)
    assert identity(plan, "kernel", "p") == {
        "seed": 7, "engine": "kernel", "plan_hash": plan.hash,
        "versions": {"daybreak": version("daybreak"), "plan": plan.content.version, "program": "p"},
    }  # fmt: skip
    assert made.manifest == {
        "name": "one flow", **identity(plan, "kernel", "p"), "kernel": "6.1", "capture": False,
        "totals": {"ended_ns": 5}, "tables": {"links": 3, "queues": 0}, "scenario": scenario.document(),
    }  # fmt: skip
    assert list(made.manifest)[:6] == ["name", "seed", "engine", "versions", "plan_hash", "kernel"]
    files = EngineOutput(columns, {"ended_ns": 5}, capture=Path("x"), files={"programs/b": b"", "programs/a": b""})
    of_programs = Run.of(scenario, plan, "kernel", "p", files)
    assert of_programs.manifest["files"] == ["programs/a", "programs/b"] and of_programs.manifest["capture"] is True
    assert (of_programs.files, of_programs.capture) == ({"programs/b": b"", "programs/a": b""}, Path("x"))
    assert (made.files, made.capture) == ({}, None)
    # Equal facts are one run; a description or totals are no fact.
    for fact, other in (("seed", 8), ("engine", "x"), ("plan_hash", "y"), ("versions", {})):
        assert not storage.is_same(made.manifest, made.manifest | {fact: other})
    assert storage.is_same(made.manifest, made.manifest | {"name": "another", "totals": {}})
    assert storage.described(made.manifest) == 'a run of "one flow" with seed 7 on engine kernel'


def test_a_capture_is_of_the_run_that_has_one(one_flow, tmp_path):
    captured = daybreak.run(one_flow.with_({"records": {"capture": ["bottleneck"]}}))
    place = captured.write(tmp_path / "run")
    assert (place / "capture.pcapng").read_bytes() == captured.capture.read_bytes()
    assert read(place).capture == place / "capture.pcapng"
    # Without it the run is not whole, and is written again.
    (place / "capture.pcapng").unlink()
    assert not storage.is_whole(place, captured.manifest) and read(place).capture is None
    captured.write(place)
    assert storage.is_whole(place, captured.manifest)
    storage.remove(place)
    assert not place.exists()


def test_a_removed_run_leaves_what_is_not_its_own(run, tmp_path):
    place = run.write(tmp_path / "run")
    (place / "notes").write_text("mine")
    storage.remove(place)
    assert os.listdir(place) == ["notes"]
    storage.remove(tmp_path / "none")


def test_a_run_that_half_replaced_another_is_written_over_without_force(run, other, tmp_path):
    place = run.write(tmp_path / "run")
    (place / "manifest.json").rename(place / "manifest.unfinished.json")
    (place / "links.parquet").unlink()
    assert storage.held(place) is None
    other.write(place)
    assert read(place).flows["bytes"].to_list() == [2_000_000]


def test_a_place_below_a_file_cannot_be_a_run(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError) as caught:
        storage.check_writable(tmp_path / "file" / "deep" / "run")
    assert str(caught.value) == f"{tmp_path}/file/deep/run cannot be written: {tmp_path}/file is not a directory"
    storage.check_writable(tmp_path / "deep" / "er" / "run")
    assert not (tmp_path / "deep").exists()
    with pytest.raises(OutputError, match=r"file cannot be written: it exists and is not a run$"):
        storage.check_writable(tmp_path / "file")


def test_the_manifest_is_a_file_that_people_can_read(run, tmp_path):
    text = (run.write(tmp_path / "run") / "manifest.json").read_text(encoding="utf-8")
    assert text == json.dumps(run.manifest, indent=1) + "\n"


def test_what_dead_processes_have_left_beside_or_in_a_folder_is_forgotten(tmp_path):
    place = tmp_path / "runs"
    left = [one / f"{PREFIX}{one.name}" for one in (place, tmp_path)]
    for folder in left:
        folder.mkdir(parents=True)
        (folder / ".lock").touch()
    storage.forget_unfinished(place)
    assert not any(folder.exists() for folder in left) and place.is_dir()
    storage.forget_unfinished(tmp_path / "none" / "deeper")


def test_a_run_that_cannot_get_its_name_says_why_unless_another_process_has_written_it(run, tmp_path, monkeypatch):
    """The last step of writing fails: nothing is there then, or what another process has put there meanwhile."""
    place, rename = tmp_path / "run", Path.rename

    def full(self, target):
        if target == place:
            raise OSError(errno.ENOSPC, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OutputError) as caught:
        run.write(place)
    assert str(caught.value) == f"{place} cannot be written: no space left on device" and os.listdir(tmp_path) == []

    def late(self, target):
        if target == place:
            shutil.copytree(self, place)
            raise OSError(errno.ENOTEMPTY, "Directory not empty")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", late)
    assert run.write(place) == place and read(place).flows.equals(run.flows)
    assert os.listdir(tmp_path) == ["run"]
