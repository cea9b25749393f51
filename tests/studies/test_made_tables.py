"""The tables that studies keep beside their claims and a command makes: when flows are moved, and Linux beside the
model."""

from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest

from daybreak.studies.etalon import beside
from daybreak.studies.etalon.settings import SCALES
from daybreak.studies.lightpath import moves
from daybreak.studies.lightpath.settings import NS2, Setting


@pytest.mark.parametrize(("setting", "part"), [
    (Setting("A", 1000, 1000), 0.97), (Setting("A", 1000, 100), 0.98), (Setting("A", 100, 10, "reno"), 0.98),
    (Setting("B", 1000, 100), 0.999), (Setting("B", 1000, 100, "reno"), 0.98),
    (Setting("D", 1000, 100, "compound"), 0.98), (Setting("D", 1000, 10, "compound"), 0.999),
    (Setting("D", 1000, 100, "vegas"), 0.999),
])  # fmt: skip
def test_a_link_counts_as_full_from_a_part_of_its_rate(setting, part):
    assert moves.threshold(setting) == part


@pytest.mark.parametrize(("setting", "seconds"), [
    (Setting("B", 10_000, 10), 60), (Setting("B", 10_000, 100), 300), (Setting("B", 10_000, 1000), 120),
    (Setting("B", 10_000, 1000, stack=NS2), 3600), (Setting("B", 1000, 10), 240),
    (Setting("B", 1000, 10, "compound"), 240), (Setting("B", 1000, 10, "reno"), 900),
    (Setting("B", 1000, 10, stack=NS2), 900),
])  # fmt: skip
def test_a_flow_has_a_longest_time_to_reach_its_limit(setting, seconds):
    assert moves.longest_s(setting) == seconds


@pytest.mark.parametrize(("full_at", "guess", "lengths", "expected"), [
    # The tenth second is the first that counts; a first trial takes 15 s, and each further one twice as long.
    (9, 0, [15], (10, True)), (3, 0, [15], (10, True)), (14, 0, [15], (15, True)), (15, 0, [15, 30], (16, True)),
    (50, 0, [15, 30, 60], (51, True)), (50, 50.5, [52], (51, True)), (300, 0, [15, 30, 60, 120, 240], (240, False)),
])  # fmt: skip
def test_a_flow_is_moved_at_the_end_of_the_first_full_second(monkeypatch, full_at, guess, lengths, expected):
    setting, ran = Setting("B", 1000, 10, after_s=1.0), []

    def run(scenario):
        seconds = int(scenario.duration) // 10**12
        ran.append(seconds)
        assert scenario.timelines[0].steps[0].do[0].path == 0, "it is not moved"
        # A little less than what counts as full, and as much.
        bins = [1000 * (0.9989 if at < full_at else 0.9991) * 125_000 for at in range(seconds)]
        return SimpleNamespace(
            bins=pl.DataFrame({"scope": "tap", "id": 0, "name": "elephant",
                               "start_ns": [at * 10**9 for at in range(seconds)], "bytes": [int(one) for one in bins]}),
            flows=pl.DataFrame({"flow": [0], "group": ["elephant"]}),
        )  # fmt: skip

    monkeypatch.setattr(moves.daybreak, "run", run)
    assert moves.found(setting, guess) == expected and ran == lengths


def test_times_of_moves_are_kept_but_for_those_that_are_found_anew(monkeypatch, tmp_path, capsys):
    path = tmp_path / "moves.csv"
    head = f"# {moves.HEADER}\ncell,stack,move_s,limit_reached\n"
    path.write_text(f"{head}B-1000M-10ms-cubic,linux,33.5,true\nD-100M-10ms-reno,linux,12,false\n")
    guesses = []

    def found(setting, guess):
        guesses.append((setting.cell, guess))
        return (17.25, True) if setting.scenario == "A" else (240, False)

    monkeypatch.setattr(moves, "found", found)
    moves.write([Setting("B", 1000, 10), Setting("A", 100, 10)], path)
    assert sorted(guesses) == [("A-100M-10ms-cubic", 0.0), ("B-1000M-10ms-cubic", 33.5)]
    assert path.read_text() == (
        f"{head}A-100M-10ms-cubic,linux,17.25,true\nB-1000M-10ms-cubic,linux,240,false\n"
        "D-100M-10ms-reno,linux,12,false\n"
    )
    assert capsys.readouterr().out == (
        "B-1000M-10ms-cubic-linux-limit-30s 240 false\nA-100M-10ms-cubic-linux-limit-30s 17.25 true\n"
    )
    moves.write([Setting("A", 100, 10)], tmp_path / "new.csv")
    assert (tmp_path / "new.csv").read_text() == f"{head}A-100M-10ms-cubic,linux,17.25,true\n"


def test_the_command_beside_writes_a_table_and_sums_it_up(monkeypatch, tmp_path, capsys):
    asked = []

    def made(scale, *, workers):
        asked.append((scale, workers))
        apart = {f"{name}_difference": [0.5 + at, None, -3.0 - at, 1.0] for at, name in enumerate(beside.QUANTITIES)}
        return pl.DataFrame({"setting": ["a", "b", "c", "d"]} | apart)

    monkeypatch.setattr(beside, "beside", made)
    place = tmp_path / "beside.csv"
    monkeypatch.setattr("sys.argv", ["beside", "-o", str(place), "--weeks", "7", "--workers", "3"])
    beside.main()
    assert asked == [(replace(SCALES["quick"], weeks=7), 3)]
    assert capsys.readouterr().out.splitlines() == [
        f"{name:12} differs by {max(1.0, min(0.5 + at, 3.0 + at)):.2f} (median), {3 + at:.2f} (largest)"
        for at, name in enumerate(beside.QUANTITIES)
    ]
    assert place.read_text().splitlines()[1] == "a,0.50,1.50,2.50,3.50,4.50"
    monkeypatch.setattr("sys.argv", ["beside", "-o", str(place), "--weeks", "0"])
    with pytest.raises(SystemExit):
        beside.main()
    assert "--weeks: 0 is not above zero" in capsys.readouterr().err
