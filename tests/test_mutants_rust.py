"""The result of mutation testing says what happened, and keeps what people have written there."""

import argparse
import importlib.util
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


ASKED = argparse.Namespace(packages="tcp", mutants=4, seed=7)


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
