import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from executors import Serial, simulated
from ready_files import ROOT
from real_kernel import with_kernel

from daybreak.agreement import agree, compare, fidelity, plots, result, segments
from daybreak.agreement.compare import PASS
from daybreak.errors import Interrupted, OutputError, ScenarioError
from daybreak.sweeps import StoredRun, Task

PROGRAMS = {"kernel": "a stand-in", "simulated": "this"}
SUITE = """
[[family]]
name = "tiny"
what = "Little flows"
flows = ["cubic", "cubic+reno"]
rate = "1 Gbit/s"
rtt = "1 ms"
buffer = 1
packets = 200
quick = ["tiny-cubic"]
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.toml"
    path.write_text(SUITE)
    return path


def test_an_engine_agrees_with_itself(suite: Path, tmp_path: Path) -> None:
    found = agree(suite, runs=2, out=tmp_path / "out", executor=Serial(), programs=PROGRAMS)
    assert {row["verdict"] for row in found.result["rows"]} == {PASS}
    assert {row["difference"] for row in found.result["rows"]} == {0.0}
    assert found.is_reached
    assert json.loads((tmp_path / "out/agreement.json").read_text()) == found.result
    page = (tmp_path / "out/index.html").read_text()
    for name in ("tiny-cubic", "tiny-cubic+reno"):
        assert f'<h3 id="{name}">' in page
    assert page.count("data:image/png;base64,") == 2
    assert page.startswith("<!doctype html>") and page.endswith("\n</body></html>\n")
    assert "http" not in page.replace("http-equiv", "")


def test_settings_of_the_hosts_may_be_given_for_whole_runs(suite: Path, tmp_path: Path) -> None:
    given, stacks = {"hz": 250, "tso_max_bytes": 65_536}, []

    def noted(task: Task) -> StoredRun:
        stacks.append(task.job.scenario.document()["stack"])
        return simulated(task)

    agree(suite, quick=True, runs=1, out=tmp_path / "out", executor=Serial(noted), programs=PROGRAMS, **given)
    assert len(stacks) == 2 and all(given.items() <= stack.items() for stack in stacks)


def test_what_was_run_is_not_run_again(suite: Path, tmp_path: Path) -> None:
    first, second, third = Serial(), Serial(), Serial()
    agree(suite, quick=True, runs=1, out=tmp_path / "out", executor=first, programs=PROGRAMS)
    assert sorted(first.ran) == [("kernel", "tiny-cubic", 1), ("simulated", "tiny-cubic", 1)]
    agree(suite, quick=True, runs=2, out=tmp_path / "out", executor=second, programs=PROGRAMS)
    assert sorted(second.ran) == [("kernel", "tiny-cubic", 2), ("simulated", "tiny-cubic", 2)]
    # Another simulator does not make the kernel's runs again.
    newer = PROGRAMS | {"simulated": "newer"}
    agree(suite, quick=True, runs=2, out=tmp_path / "out", executor=third, programs=newer)
    assert sorted(third.ran) == [("simulated", "tiny-cubic", 1), ("simulated", "tiny-cubic", 2)]


def test_what_is_undecided_is_run_twice_as_often_up_to_the_most(suite: Path, tmp_path: Path, monkeypatch) -> None:
    judged = compare.judged

    def open_until(rows):
        """One scenario needs 5 runs, the other has enough in the first two."""
        return [
            replace(row, judgement="undecided") if row.scenario == "tiny-cubic+reno" and row.kernel.runs < 5 else row
            for row in judged(rows)
        ]

    monkeypatch.setattr(compare, "judged", open_until)
    monkeypatch.setattr(plots, "png", lambda figure: b"")
    for most, counts, added in ((3, (2, 3), 1), (5, (2, 5), 2), (20, (2, 8), 3), (1, (2, 2), 0)):
        ran, seen = Serial(), []
        found = agree(
            suite, runs=2, most=most, out=tmp_path / "out", executor=ran, programs=PROGRAMS,
            progress=lambda *told: seen.append(told),  # noqa: B023
        ).result  # fmt: skip
        new = Counter(name for engine, name, _ in ran.ran if engine == "kernel")
        assert new == Counter({"tiny-cubic+reno": added, "tiny-cubic": 0}) + Counter(
            {"tiny-cubic": 2, "tiny-cubic+reno": 2} if most == 3 else {}
        )
        assert found["runs"] == list(counts)
        assert {row["scenario"]: row["kernel"]["runs"] for row in found["rows"]} == dict(
            zip(("tiny-cubic", "tiny-cubic+reno"), counts, strict=True)
        )
        # Half of the first round is of each engine.
        assert seen[0] == (0, 8, "simulated") and (4, 8, "kernel") in seen


def test_an_interruption_keeps_what_is_finished(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        agree(suite, runs=1, out=tmp_path / "out", executor=Serial(interrupt_at=1), programs=PROGRAMS)
    rest = Serial()
    agree(suite, runs=1, out=tmp_path / "out", executor=rest, programs=PROGRAMS)
    assert len(rest.ran) == 3


def test_what_an_engine_refuses_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(SUITE.partition("quick")[0] + "stack = [{}, { mtu = 100 }]\n")
    found = agree(path, quick=False, runs=1, out=tmp_path / "out", executor=Serial(), programs=PROGRAMS).result
    assert [entry["scenario"] for entry in found["refused"]] == ["tiny-cubic-mtu=100", "tiny-cubic+reno-mtu=100"]
    assert all("mtu" in entry["why"] for entry in found["refused"])
    assert {row["scenario"] for row in found["rows"]} == {"tiny-cubic-default", "tiny-cubic+reno-default"}


def test_no_runs_are_refused(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="runs: 0"):
        agree(suite, runs=0, out=tmp_path / "out", programs=PROGRAMS)


def test_what_is_no_result_is_named(tmp_path: Path) -> None:
    path = tmp_path / "agreement.json"
    for text in ("{", "[]", "{}"):
        path.write_text(text)
        with pytest.raises(OutputError, match=r"agreement\.json"):
            result.read(path)


def test_a_page_is_filled_between_its_marks(suite: Path, tmp_path: Path) -> None:
    found = agree(suite, runs=1, out=tmp_path / "out", executor=Serial(), programs=PROGRAMS).result
    page = "before\n<!-- agreement: targets -->\nold\n<!-- end -->\nafter\n"
    filled = fidelity.fill(page, found)
    assert filled.startswith("before\n") and filled.endswith("after\n")
    assert "old" not in filled
    assert "| fct: median absolute difference | at most 2 % | 0.0 % | 3 | pass |" in filled
    assert fidelity.fill(filled, found) == filled
    with pytest.raises(OutputError, match="nonsense"):
        fidelity.fill("<!-- agreement: nonsense -->\n<!-- end -->", found)


def test_flows_that_part_are_rows_of_a_page_with_where_they_do() -> None:
    def flow(scenario: str, same: int) -> segments.ReplayResult:
        return segments.ReplayResult(
            scenario, 1, "a|b", "cubic", 100, 3, same=same, other_push=0, other_time=0, model=100
        )

    page = "<!-- segments: parted -->\n<!-- end -->\n"
    for flows, rows in (
        ([flow("one", 100)], "None.\n"),
        ([flow("one", 100), flow("two", 40)], "| scenario | flow | segments | the same from the first | cause |\n"
         "| --- | --- | --- | --- | --- |\n| two | a/b | 100 | 40 | not known yet |\n"),
    ):  # fmt: skip
        found = segments.document(flows, programs={}, seeds=[1], quick=True)
        assert fidelity.fill(page, found, "segments") == f"<!-- segments: parted -->\n{rows}<!-- end -->\n"


def test_the_documented_numbers_are_those_of_the_result() -> None:
    text, source = (ROOT / "docs/fidelity.md").read_text(), ROOT / "docs/fidelity"
    assert fidelity.fill(text, result.read(source / "agreement.json")) == text
    for name in ("segments", "receivers"):
        assert fidelity.fill(text, segments.read(source / f"{name}.json"), name) == text


@with_kernel
def test_the_kernel_and_the_model_agree_on_a_little_flow(suite: Path, tmp_path: Path) -> None:
    found = agree(suite, quick=True, runs=1, out=tmp_path / "out")
    by_metric = {row["metric"]: row for row in found.result["rows"]}
    assert by_metric["fct"]["verdict"] == PASS
    assert by_metric["fct"]["kernel"]["runs"] == 1
