"""Files that keep what runs showed: whole or not there, and named by everything that they depend on."""

import io
import os
import subprocess
import sys
from dataclasses import replace
from zipfile import ZipFile

import polars as pl
import pytest
from ready_files import ROOT
from sweeps.reductions import FLOWS

from daybreak.errors import OutputError
from daybreak.sweeps import Job, Store, StoredRun

TABLES = {"flows": pl.DataFrame({"flow": [0]})}
DIGEST = "ab" * 16


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs", FLOWS, programs("one"))


def programs(simulated):
    """Names of the engines' programs; the kernel's depends on the plan's ticks."""
    return lambda engine, plan: f"{plan.content.stacks[0].hz} ticks" if engine == "kernel" else simulated


def files(store):
    return sorted(str(path.relative_to(store.directory)) for path in store.directory.rglob("*") if path.is_file())


def test_what_is_put_is_found_and_comes_back(store, one_flow):
    job = Job(one_flow, seed=5)
    assert not store.has(job)
    with pytest.raises(OutputError, match=r"\.zip cannot be read: no such file"):
        store.get(job)
    more = TABLES | {"curves": pl.DataFrame({"x": [0.5, None]}), "none": TABLES["flows"].clear()}
    store.put(store.digest(job.plan(), "simulated"), StoredRun({"seed": 5}, more))
    assert store.has(job)
    found = store.get(job)
    assert found.manifest == {"seed": 5}
    assert list(found.tables) == list(more) and all(found.tables[name].equals(more[name]) for name in more)
    assert all(found.tables[name].schema == more[name].schema for name in more)
    assert not store.has(Job(one_flow, seed=6))


def test_the_second_to_finish_writes_the_same_bytes(store):
    store.put(DIGEST, StoredRun({"a": 1}, TABLES))
    before = store.place(DIGEST).read_bytes()
    store.put(DIGEST, StoredRun({"a": 1}, TABLES))
    assert store.place(DIGEST).read_bytes() == before
    assert files(store) == [f"ab/{DIGEST}.zip"]


def test_what_cannot_be_put_in_place_is_an_error_and_leaves_nothing(store):
    store.place(DIGEST).mkdir(parents=True)
    with pytest.raises(OutputError, match=f"{DIGEST}.zip cannot be written: is a directory"):
        store.put(DIGEST, StoredRun({}, TABLES))
    assert files(store) == [] and not store.holds(DIGEST)


def test_what_is_damaged_is_named(store, one_flow):
    job = Job(one_flow)
    digest = store.digest(job.plan(), "simulated")
    store.put(digest, StoredRun({}, TABLES))
    whole = store.place(digest).read_bytes()
    no_table = io.BytesIO()
    with ZipFile(io.BytesIO(whole)) as before, ZipFile(no_table, "w") as after:
        for name in before.namelist():
            after.writestr(name, before.read(name) if name.startswith("manifest") else b"no table")
    for content in (
        b"", whole[:200], whole[:-30], b"no archive", whole.replace(b"manifest", b"manifost"), no_table.getvalue(),
    ):  # fmt: skip
        store.place(digest).write_bytes(content)
        with pytest.raises(OutputError, match=rf"{digest}\.zip cannot be read: \w"):
            store.get(job)


def test_what_is_kept_depends_on_plan_engine_program_and_reduction(store, one_flow):
    def digest(store, engine="simulated", scenario=one_flow, seed=1):
        return store.digest(Job(scenario, seed).plan(), engine)

    found = [
        digest(store),
        digest(store, seed=2),
        digest(store, scenario=one_flow.with_({"flows.0.size": "2 MB"})),
        digest(store, "kernel"),
        digest(replace(store, program=programs("two"))),
        digest(replace(store, program=lambda engine, plan: "three"), "kernel"),
        digest(replace(store, reduction=replace(FLOWS, version=2))),
        digest(replace(store, reduction=replace(FLOWS, name="another"))),
    ]
    assert len(set(found)) == len(found)
    assert all(len(one) == 32 for one in found)
    # The scenario's name is for people.
    assert digest(store, scenario=one_flow.with_({"name": "renamed"})) == found[0]
    assert digest(Store(store.directory / "elsewhere", FLOWS, store.program)) == found[0]


def test_what_a_killed_process_left_is_forgotten_and_nothing_else(store):
    program = f"""
import os
from pathlib import Path
import polars as pl
from sweeps.reductions import FLOWS
from daybreak.sweeps import StoredRun, Store
Path.replace = lambda *_: os.kill(os.getpid(), 9)
tables = {{"flows": pl.DataFrame({{"flow": [0]}})}}
Store(Path({str(store.directory)!r}), FLOWS).put({DIGEST!r}, StoredRun({{}}, tables))
"""
    killed = subprocess.run([sys.executable, "-c", program], check=False, cwd=ROOT / "tests")
    assert killed.returncode == -9
    unfinished = store.directory / ".unfinished"
    (left,) = unfinished.iterdir()
    assert left.stat().st_size > 0 and not store.holds(DIGEST)
    # A process that runs, and one of another machine.
    process = left.name.split("-")[-2]
    mine, others = (
        unfinished / left.name.replace(f"-{process}-", f"-{os.getpid()}-"),
        unfinished / f"other-{process}-0.zip",
    )
    mine.touch()
    others.touch()
    store.forget_unfinished()
    assert sorted(unfinished.iterdir()) == sorted([mine, others])
