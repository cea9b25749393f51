"""What tools/kernels makes of the words of apt and of the results of `daybreak`."""

import pytest
from kernels import sources, tables

TARGETS = """http://archive.test/debian trixie Debian Packages
http://archive.test/debian trixie Debian Translations
http://security.test/debian-security trixie-security Debian Packages
http://other.test/apt stable Another Packages
"""


def test_a_suite_is_looked_for_where_the_systems_own_are():
    found = sources.archives(TARGETS)
    assert sources.entries(["trixie-backports", "bullseye-security"], found) == (
        "deb http://archive.test/debian trixie-backports main\n"
        "deb http://security.test/debian-security bullseye-security main\n"
    )
    with pytest.raises(sources.NoSource, match="bullseye-security"):
        sources.entries(["bullseye-security"], sources.archives(TARGETS.splitlines()[0]))


def test_the_newest_package_of_exactly_the_series_is_taken():
    said = """linux-source-6.12 | 6.12.117-1 | http://archive.test/debian trixie/main amd64 Packages
linux-source-6.1 | 6.1.192-2 | http://archive.test/debian bookworm/main amd64 Packages
linux-source-6.1 | 6.1.170-3 | http://archive.test/debian bookworm/main amd64 Packages
"""
    assert sources.newest(said, "6.1") == "6.1.192-2"
    with pytest.raises(sources.NoSource, match=r"no suite has linux-source-6$"):
        sources.newest(said, "6")


def test_a_tarball_that_is_there_is_not_fetched(tmp_path):
    there = tmp_path / "linux-source-6.1.tar.xz"
    there.write_text("whole")
    assert sources.get(["6.1"], [], tmp_path) == [there]
    assert there.read_text() == "whole"


def played(**verdicts: list[str]) -> dict:
    """A document as of `daybreak kernel dialogues --kernels 6.1,7.3 --json`."""
    kinds = {"+": ("agrees", None), "-": ("does not apply", None)}
    return {
        "kernels": {"6.1": "6.1.192", "7.3": "7.3.4"},
        "dialogues": [
            {"name": name, "mechanism": f"Of {name}.", "verdicts": {
                kernel: dict(zip(("verdict", "line"), kinds.get(word) or ("differs", int(word)), strict=True))
                for kernel, word in zip(("6.1", "7.3"), words, strict=True)}}
            for name, words in verdicts.items()
        ],
    }  # fmt: skip


def test_a_dialogue_has_a_row_unless_it_applies_to_no_kernel():
    assert list(tables.dialogues(played(both=["+", "+"], one=["+", "7"], none=["-", "-"]))) == [
        ["dialogue", "mechanism", "6.1", "7.3"],
        ["both", "Of both.", "agrees", "agrees"],
        ["one", "Of one.", "agrees", "differs at line 7"],
    ]


def test_a_dialogue_says_other_ticks_without_moving_a_line():
    text = "# What it shows.\n\nconfig variant reno\n0 accept rtt 10ms\n\n# End.\n"
    assert tables.with_ticks(text, 250) == text.replace("shows.\n\n", "shows.\nconfig jiffy 4ms\n")
    assert tables.with_ticks(text.replace("\n\nconfig", "\n\nconfig jiffy 1ms\nconfig"), 250) is None


def test_other_ticks_are_judged_by_the_dialogues_in_which_they_do_not_matter():
    usual = played(alike=["+", "7"], of_ticks=["+", "+"], of_one=["+", "+"])
    other = played(alike=["+", "7"], of_ticks=["3", "+"], of_one=["+", "9"])
    assert list(tables.ticks(usual, other))[1:] == [["6.1", 2, 2, ""], ["7.3", 2, 1, "of_one"]]


def end(side: str, segments: int, same: int, fct_ns: int | None, alike: bool) -> dict:
    replayed = {"segments": segments, "same": same, "is_identical": same == segments}
    whole = {"segments": segments, "same": segments, "is_identical": True}
    return {
        "scenario": "one", "flow": "flow", "side": side, "model": {"kernel:6.1": whole, "kernel:7.3": replayed},
        "fct_ns": {"kernel:6.1": 1000, "kernel:7.3": fct_ns},
        "between": [{"first": "kernel:6.1", "second": "kernel:7.3", "is_identical": alike}],
    }  # fmt: skip


def test_a_kernel_is_put_beside_the_model_and_beside_6_1():
    found = {
        "kernels": ["kernel:6.1", "kernel:7.3"],
        "programs": {"kernel:6.1": "Linux 6.1.192, image 1", "kernel:7.3": "Linux 7.3.4 (pure), image 2"},
        "ends": [
            end("sender", 10, 4, 1200, False),
            end("sender", 5, 5, None, True),
            end("receiver", 8, 8, 1200, False),
        ],
    }
    assert list(tables.suite(found, "7.3"))[1:] == [
        ["one", "flow", "sender", 10, 0, 4, 1200, 1000],
        ["one", "flow", "sender", 5, 1, "", None, 1000],
        ["one", "flow", "receiver", 8, 1, "", 1200, 1000],
    ]
    head, modelled, newer = tables.summary(found)
    row = dict(zip(head, newer, strict=True))
    assert row["version"] == "7.3.4" and row["senders"] == 2 and row["receivers"] == 1
    assert (row["identical_senders"], row["same_sender_segments"], row["sender_segments"]) == (1, 9, 15)
    assert (row["identical_senders_to_6.1"], row["identical_receivers_to_6.1"]) == (1, 0)
    # A flow that did not end has no ratio.
    assert (row["flows"], row["median_fct_ratio"], row["flows_over_1.1"]) == (1, "1.2000", 1)
    assert dict(zip(head, modelled, strict=True))["identical_senders_to_6.1"] == 2
