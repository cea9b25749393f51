"""The result of mutation testing says what happened, and keeps what people have written there."""

import argparse
import importlib.util
import json
import os
import re
import sys
import tomllib

import pytest
from ready_files import ROOT


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("mutants_rust", ROOT / "tools" / "mutants-rust.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


ASKED = argparse.Namespace(packages="tcp", mutants=4, seed=7, first=None)


def mutant(tool, line, what="replace < with <= in f", was="a < b", becomes="a <= b"):
    return tool.Mutant("tcp", f"crates/tcp/src/a.rs:{line}:5: {what}", was, becomes)


def test_the_result_counts_what_compiles(tool, tmp_path):
    sample = [mutant(tool, line) for line in range(4)]
    outcomes = [tool.KILLED, tool.KILLED, tool.SURVIVED, tool.UNVIABLE]
    known = {entry.name: outcome for entry, outcome in zip(sample, outcomes, strict=True)}
    unexplained = tool.write(tmp_path / "new" / "rust.toml", ASKED, sample, known)
    found = tomllib.loads((tmp_path / "new" / "rust.toml").read_text())
    assert [found[name] for name in ("killed", "survived", "unviable", "killed_percent")] == [2, 1, 1, 66.7]
    assert found["names"] == {"killed": [sample[0].name, sample[1].name], "unviable": [sample[3].name]}
    assert [entry["mutant"] for entry in found["survivor"]] == [sample[2].name]
    assert unexplained == [sample[2]]


def test_a_reason_stays_with_its_mutant_when_lines_move(tool, tmp_path):
    path = tmp_path / "rust.toml"
    quoted = mutant(tool, 1, becomes='"\\" <= b')
    tool.write(path, ASKED, [quoted], {quoted.name: tool.SURVIVED})
    path.write_text(path.read_text().replace('reason = ""', 'reason = "Both are \\"equal\\"."'))
    moved = mutant(tool, 9, becomes='"\\" <= b')
    other = mutant(tool, 9, what="replace < with == in f", becomes="a == b")
    both = {entry.name: tool.SURVIVED for entry in (moved, other)}
    assert tool.write(path, ASKED, [moved, other], both) == [other]
    reasons = {entry["mutant"]: entry["reason"] for entry in tomllib.loads(path.read_text())["survivor"]}
    assert reasons == {moved.name: 'Both are "equal".', other.name: ""}


def test_a_mutant_is_chosen_by_exactly_its_name(tool):
    name = "crates/a.rs:1:2: replace Slab<B>::get -> Option<&[u8]> with Some(vec![0].leak()) in (f|g)"
    assert re.fullmatch(tool._exactly(name), name)
    assert not re.search(tool._exactly(name), name.replace("1:2", "1x2"))
    assert not re.search(tool._exactly(name), f"{name}()")


def test_the_changed_lines_are_read_from_the_difference(tool):
    lines = ["--- a.rs", "+++ replace < with <=", "@@ -1 +1 @@", " fn f() {"]
    lines += ["-    a < b", "+    a <= /* ~ changed by cargo-mutants ~ */ b", " }"]
    difference = "\n".join(lines)
    found = tool._mutant({"package": "daybreak-tcp", "name": "n", "diff": difference})
    assert (found.package, found.was, found.becomes) == ("tcp", "a < b", "a <= b")


def test_a_build_that_was_too_slow_says_nothing_of_a_mutant(tool):
    def outcome(summary, *phases, scenario="Mutant"):
        return tool._outcome(
            {"scenario": scenario, "summary": summary, "phase_results": [{"phase": phase} for phase in phases]}
        )

    assert outcome("Timeout", "Build", "Test") == tool.KILLED
    assert outcome("Timeout", "Build") is None
    assert outcome("CaughtMutant", "Build", "Test") == tool.KILLED
    assert outcome("MissedMutant", "Build", "Test") == tool.SURVIVED
    assert outcome("Unviable", "Build") == tool.UNVIABLE
    assert outcome("Success", "Build", "Test", scenario="Baseline") is None


def test_what_a_later_stage_has_found_stays(tool, tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "WORK", tmp_path)
    monkeypatch.setattr(tool, "source_digest", lambda: "0" * 64)
    outcomes, written = tool.Outcomes(), tmp_path / "outcomes.json"

    def learn(summary, stage):
        entry = {"scenario": {"Mutant": {"name": "m"}}, "summary": summary, "phase_results": [{"phase": "Test"}]}
        written.write_text(json.dumps({"outcomes": [entry]}))
        outcomes.learn(written, stage)
        return outcomes.known["m"]

    assert learn("MissedMutant", "undecided 1") == "undecided 1"
    assert learn("MissedMutant", "undecided 2") == "undecided 2"
    assert learn("MissedMutant", "undecided 1") == "undecided 2"
    assert learn("MissedMutant", tool.SURVIVED) == tool.SURVIVED
    assert learn("MissedMutant", "undecided 2") == tool.SURVIVED
    assert tool.Outcomes().known == {"m": tool.SURVIVED}


def test_the_copy_is_as_the_source_and_what_is_the_same_is_not_written(tool, tmp_path, monkeypatch):
    source, copy = tmp_path / "source", tmp_path / "copy"
    for name in ("crates/a.rs", "crates/b.rs"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    monkeypatch.setattr(tool, "ROOT", source)
    monkeypatch.setattr(tool, "_source", lambda: ["crates/a.rs", "crates/b.rs"])
    tool.refresh(copy)
    os.utime(copy / "crates" / "a.rs", (1, 1))
    (copy / "crates" / "b.rs").write_text("a mutant that was interrupted")
    (copy / "crates" / "c.rs").write_text("left by a test")
    tool.refresh(copy)
    assert {path.name: path.read_text() for path in (copy / "crates").iterdir()} == {
        "a.rs": "crates/a.rs",
        "b.rs": "crates/b.rs",
    }
    assert (copy / "crates" / "a.rs").stat().st_mtime == 1


def test_only_the_first_run_of_a_stage_runs_its_tests_without_a_mutant(tool, tmp_path):
    seconds = tmp_path / "tcp-1.seconds"
    assert tool._limits(seconds) == ("--minimum-test-timeout=240", "--timeout-multiplier=20")
    phases = [{"phase": "Build", "duration": 50.0}, {"phase": "Test", "duration": 30.0}]
    log = {"outcomes": [{"scenario": "Baseline", "summary": "Success", "phase_results": phases}]}
    (tmp_path / "outcomes.json").write_text(json.dumps(log))
    tool._keep_seconds(tmp_path / "outcomes.json", seconds)
    assert tool._limits(seconds) == ("--baseline=skip", "--timeout=600.0")
