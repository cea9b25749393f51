"""Folders that keep what a run showed: whole or not there, and named by everything that they depend on."""

import os
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest
from sweep.reductions import FLOWS

from daybreak.errors import OutputError
from daybreak.sweep import Job, Kept, Store

TABLES = {"flows": pl.DataFrame({"flow": [0]})}
DIGEST = "ab" * 16


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs", FLOWS, {"simulated": "one", "kernel": "two"})


def folders(store):
    return sorted(path.relative_to(store.directory) for path in store.directory.rglob("*") if path.is_dir())


def test_what_is_put_is_found_and_comes_back(store, one_flow):
    job = Job(one_flow, seed=5)
    assert not store.has(job)
    with pytest.raises(OutputError, match="cannot be read"):
        store.get(job)
    more = TABLES | {"curves": pl.DataFrame({"x": [0.5, None]})}
    store.put(store.digest(job.plan(), "simulated"), Kept({"seed": 5}, more))
    assert store.has(job)
    found = store.get(job)
    assert set(found) == set(more) and all(found[name].equals(more[name]) for name in more)
    assert not store.has(Job(one_flow, seed=6))


def test_the_second_to_finish_finds_the_first_ones_folder(store):
    store.put(DIGEST, Kept({}, TABLES))
    store.put(DIGEST, Kept({}, {"flows": pl.DataFrame({"flow": [7]})}))
    assert pl.read_parquet(store.place(DIGEST) / "flows.parquet").equals(TABLES["flows"])
    assert not list((store.directory / ".unfinished").iterdir())


def test_a_folder_that_cannot_be_put_in_place_is_an_error(store):
    store.place(DIGEST).parent.mkdir(parents=True)
    store.place(DIGEST).write_text("a file")
    with pytest.raises(OutputError, match=f"{DIGEST} cannot be written"):
        store.put(DIGEST, Kept({}, TABLES))
    assert store.place(DIGEST).read_text() == "a file"
    assert not list((store.directory / ".unfinished").iterdir())


def test_nothing_is_left_of_a_folder_that_cannot_be_filled(store):
    with pytest.raises(OutputError, match="where"):
        store.put(DIGEST, Kept({}, TABLES | {"no/where": TABLES["flows"]}))
    assert not store.holds(DIGEST)
    assert not list((store.directory / ".unfinished").iterdir())


def test_what_is_kept_depends_on_plan_engine_program_and_reduction(store, one_flow):
    def digests(store, engine="simulated", scenario=one_flow):
        return store.digest(Job(scenario, 1).plan(), engine)

    found = [
        digests(store),
        store.digest(Job(one_flow, 2).plan(), "simulated"),
        digests(store, scenario=one_flow.with_({"flows.0.size": "2 MB"})),
        digests(store, "kernel"),
        digests(replace(store, programs={"simulated": "two", "kernel": "two"})),
        digests(replace(store, reduction=replace(FLOWS, version=2))),
        digests(replace(store, reduction=replace(FLOWS, name="another"))),
    ]
    assert len(set(found)) == len(found)
    # The scenario's name is for people.
    assert digests(store, scenario=one_flow.with_({"name": "renamed"})) == found[0]
    assert digests(Store(store.directory / "elsewhere", FLOWS, store.programs)) == found[0]


def test_what_a_killed_process_left_is_forgotten_and_nothing_else(store):
    program = f"""
import os, sys
sys.path.insert(0, {os.path.dirname(os.path.dirname(__file__))!r})
from pathlib import Path
import polars as pl
from sweep.reductions import FLOWS
from daybreak.sweep import Kept, Store
class Killed(dict):
    def items(self):
        yield "flows", pl.DataFrame({{"flow": [0]}})
        os.kill(os.getpid(), 9)
store = Store(Path({str(store.directory)!r}), FLOWS, {{}})
store.put({DIGEST!r}, Kept({{}}, Killed()))
"""
    killed = subprocess.run([sys.executable, "-c", program], check=False)
    assert killed.returncode == -9
    unfinished = store.directory / ".unfinished"
    (left,) = unfinished.iterdir()
    assert (left / "flows.parquet").is_file()
    assert not store.holds(DIGEST)
    # A process that runs, and one of another machine.
    mine = unfinished / left.name.replace(left.name.split("-")[-2], str(os.getpid()))
    others = unfinished / f"elsewhere-{left.name.split('-')[-2]}-0"
    mine.mkdir()
    others.mkdir()
    store.forget_unfinished()
    assert sorted(unfinished.iterdir()) == sorted([mine, others])
