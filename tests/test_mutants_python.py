"""The committed result of mutating the Python package."""

import tomllib

from ready_files import ROOT

RESULT = tomllib.loads((ROOT / "docs" / "mutants" / "python.toml").read_text(encoding="utf-8"))


def test_nine_of_ten_mutants_die() -> None:
    assert RESULT["tested"] >= 80
    assert RESULT["killed"] == RESULT["tested"] - len(RESULT.get("survivor", ()))
    assert RESULT["killed"] >= 0.9 * RESULT["tested"]


def test_every_survivor_has_a_reason() -> None:
    assert [survivor["change"] for survivor in RESULT.get("survivor", ()) if not survivor["reason"]] == []


def test_the_command_is_there() -> None:
    assert (ROOT / RESULT["command"].split()[1]).is_file()
