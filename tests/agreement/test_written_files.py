"""What the commands of the package write: a page's tables, and the segments of a flow for tests in Rust."""

import csv
import re
import shutil

import pytest
from ready_files import ROOT

import daybreak
from daybreak.agreement import conversations, fidelity, segment_log, segments, suite
from daybreak.scenario.lowering import lower


def test_a_page_is_filled_in_again_from_the_results_beside_it(tmp_path):
    page = ROOT / "docs/fidelity.md"
    shutil.copytree(ROOT / "docs/fidelity", tmp_path / "fidelity", ignore=shutil.ignore_patterns("*.svg"))
    text = page.read_text(encoding="utf-8")
    emptied = re.sub(r"(<!-- (?:agreement|segments|receivers): \w+ -->\n).*?(<!-- end -->)", r"\1\2", text, flags=re.S)
    assert len(emptied) < len(text)
    (tmp_path / "fidelity.md").write_text(emptied, encoding="utf-8")
    fidelity.main([f"{tmp_path}/fidelity/agreement.json", f"{tmp_path}/fidelity.md"])
    assert (tmp_path / "fidelity.md").read_text(encoding="utf-8") == text
    assert "</svg>" in (tmp_path / "fidelity" / fidelity.FIGURE).read_text(encoding="utf-8")


@pytest.mark.parametrize("side", segments.SIDES)
def test_a_log_has_the_segments_of_one_end_up_to_a_time(tmp_path, monkeypatch, side):
    """The simulator stands in for the kernel."""
    (case,) = suite.chosen(suite.load(), quick=False, only=["small-cubic-100p"])
    run = daybreak.run(segments.captured(case))
    monkeypatch.setattr(segment_log.daybreak, "run", lambda scenario, engine: {"kernel": run}[engine])
    monkeypatch.setitem(segments.FIRST_PORT, "kernel", segments.FIRST_PORT["simulated"])
    talk = conversations.read(run.capture, side)[segments.FIRST_PORT["simulated"]]
    ends = (talk.sent, talk.received) if side == "sender" else (talk.received, talk.sent)
    # That of the 40th segment which is sent, with it.
    last = int(ends[0]["time_ns"][39])
    arguments = [case.name, "0", f"{last}", f"{tmp_path}/out"]
    segment_log.main(arguments if side == "sender" else [*arguments, side])
    stem = case.name if side == "sender" else f"{case.name}-receiver"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([f"{case.name}.json", f"{stem}.csv"])
    assert (tmp_path / "out" / f"{case.name}.json").read_bytes() == lower(segments.captured(case), 1).json + b"\n"
    with (tmp_path / "out" / f"{stem}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["direction", *conversations.NAMES]
    times = [int(row["time_ns"]) for row in rows]
    assert times == sorted(times) and times[-1] == last
    for direction, columns in zip(("sent", "received"), ends, strict=True):
        mine = [row for row in rows if row["direction"] == direction]
        seen = columns["time_ns"] <= last
        assert len(mine) > 2 and not seen.all()
        for name in conversations.NAMES:
            assert [int(row[name]) for row in mine] == columns[name][seen].tolist(), name
