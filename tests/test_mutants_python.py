"""The committed result of mutating the Python package, and the tool that made it."""

import importlib.util
import json
import sys
import tomllib

import pytest
from coverage import CoverageData
from mutations import mutations
from ready_files import ROOT

RESULTS = {
    place.stem: tomllib.loads(place.read_text(encoding="utf-8"))
    for place in sorted((ROOT / "docs" / "mutants").glob("python*.toml"))
}


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("mutants_python", ROOT / "tools" / "mutants-python.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_package_of_the_sample_has_been_judged(tool):
    assert {package for result in RESULTS.values() for package in result["packages"]} == set(tool.PACKAGES)


def test_every_package_has_a_folder_of_tests_with_its_name(tool):
    """Where the tool finds the tests that judge it; without them most of its mutants would survive."""
    for package in tool.PACKAGES:
        assert list((ROOT / "tests" / package).glob("test_*.py")), package


@pytest.mark.parametrize(("name", "least"), [("python", 120), ("python-learn", 40)])
def test_nine_of_ten_mutants_die(name, least) -> None:
    result = RESULTS[name]
    assert result["tested"] >= least
    assert result["killed"] == result["tested"] - len(result.get("survivor", ()))
    assert result["killed"] >= 0.9 * result["tested"]


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_every_survivor_has_a_reason(result) -> None:
    assert [survivor["change"] for survivor in result.get("survivor", ()) if not survivor["reason"]] == []


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_the_command_is_there(result) -> None:
    assert (ROOT / result["command"].split()[1]).is_file()


def test_a_survivor_keeps_its_reason_and_a_new_one_has_none(tool, tmp_path):
    module, found = mutations("def f(x):\n    return x + 2\n")
    some = [tool._mutant("python/daybreak/metrics/f.py", module, one) for one in found]
    old, new, *_ = (one for one in some if one is not None)
    place = tmp_path / "result.toml"
    tool.write(place, "python x", ["metrics"], candidates=9, tested=5, survivors=[old])
    (written,) = tomllib.loads(place.read_text())["survivor"]
    assert written == {"file": old.path, "line": old.mutation.line, "change": old.change, "reason": ""}
    place.write_text(place.read_text().replace('reason = ""', 'reason = "It is the same."'))
    tool.write(place, "python x", ["metrics"], candidates=9, tested=5, survivors=[new, old])
    result = tomllib.loads(place.read_text())
    assert {one["change"]: one["reason"] for one in result["survivor"]} == {
        old.change: "It is the same.", new.change: "",
    }  # fmt: skip
    assert (result["tested"], result["killed"], result["candidates"]) == (5, 3, 9)


def test_a_label_of_a_process_that_a_test_has_started_is_that_tests(tool):
    for label in ("tests/a/test_b.py::test_c[x (y)]", "tests/a/test_b.py::test_c"):
        assert tool._test(label) == tool._test(f"{label} (call)") == tool._test(f"|{label}") == label


def test_what_was_measured_in_another_place_is_measured_anew(tool, tmp_path, monkeypatch):
    """In a checkout that was copied with its record no line would have a test, and most mutants would survive."""
    monkeypatch.setattr(tool, "WORK", tmp_path)
    here, there = (type("Tree", (), {"directory": tmp_path / name}) for name in ("here", "there"))
    lines = CoverageData(str(tmp_path / "coverage"))
    lines.set_context("tests/metrics/test_f.py::test_f|run")
    lines.add_lines({str(here.directory / "f.py"): [1]})
    facts = {"directory": str(here.directory), "files": {"tests/metrics/test_f.py": {}}, "seconds": {}}
    (tmp_path / "record.json").write_text(json.dumps(facts))
    kept = tool.Record(here, ())
    assert list(kept.files) == ["tests/metrics/test_f.py"] and kept._lines.measured_files()
    moved = tool.Record(there, ())
    assert not moved.files and not moved._lines.measured_files()


@pytest.mark.parametrize(("line", "run"), [(2, ["slow", "quick"]), (9, ["slow"])])
def test_a_mutant_is_judged_by_the_tests_that_run_its_line_the_nearest_first(tool, tmp_path, line, run):
    """Another version of the file says nothing of its lines: all judge that have run any."""
    source = tmp_path / "python" / "daybreak" / "metrics" / "f.py"
    source.parent.mkdir(parents=True)
    source.write_text("a = 1\n")
    labels = {2: ["tests/metrics/test_slow.py::t", "tests/runs/test_quick.py::t"], 5: ["tests/metrics/test_slow.py::u"]}
    record = object.__new__(tool.Record)
    record._tree = type("Tree", (), {"directory": tmp_path})
    record._lines = type("Lines", (), {"contexts_by_lineno": lambda _, path: labels})()
    record.seconds = {label: 1.0 for some in labels.values() for label in some}
    now = tool._digest(source)
    record.files = {
        "tests/metrics/test_slow.py": {"ran": {"python/daybreak/metrics/f.py": now if line == 2 else "older"}},
        "tests/runs/test_quick.py": {"ran": {"python/daybreak/metrics/f.py": now}},
    }
    mutation = tool.Mutation("beside", line, 0, (line, line), False, None, None)
    chosen = record.tests(tool.Mutant("python/daybreak/metrics/f.py", mutation, "", ""))
    assert [test.rpartition("_")[2].partition(".")[0] for test in dict.fromkeys(map(tool._file, chosen))] == run
    # All of a file of the package's own: what it sets up once may be what runs the line.
    assert "tests/metrics/test_slow.py::u" in chosen
