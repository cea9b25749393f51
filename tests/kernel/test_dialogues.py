"""TCP dialogues with the real kernel."""

import pytest
from real_kernel import with_kernel

from daybreak.engines.kernel import dialogues
from daybreak.engines.kernel.dialogues import NoDialogue


@with_kernel
def test_linux_says_what_the_dialogues_of_the_model_say():
    files = dialogues.find()
    verdicts = dialogues.play(files)
    assert [verdict.name for verdict in verdicts] == sorted(file.stem for file in files)
    assert [verdict for verdict in verdicts if not verdict.is_good] == []
    assert sum(verdict.kind == "agrees" for verdict in verdicts) > 40


@with_kernel
def test_timers_of_the_first_dialogue_that_a_guest_plays_are_right():
    (first,) = (file for file in dialogues.find() if file.stem == "syn_ack_again")
    assert [verdict.kind for verdict in dialogues.play([first])] == ["agrees"]


@with_kernel
def test_a_dialogue_that_expects_something_else_differs(tmp_path):
    opening = "0 accept rtt 10ms\n20ms < . 1:1449 ack 1\n"
    texts = {
        "field": opening + "20ms > . 1 ack 1449 win 64000",
        "late": opening + "21ms > . 1 ack 1449",
        "missing": opening + "20ms > . 1 ack 1449\n+0 > . 1 ack 1449",
        "more": opening + "25ms < . 1449:2897 ack 1",
        "foreign": "config variant compound\n0 open",
        "reported": opening + "20ms > . 1 ack 1449\n+0 expect delivered 1449",
        "unknown": opening + "20ms > . 1 ack 1449\n+0 expect mood good",
        "unreadable": "0 jump",
        "unsaid": "model only: for a reason\n0 open",
        "well": opening + "20ms > . 1 ack 1449 win 64128",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.dialogue").write_text(text)
    said = {verdict.name: verdict for verdict in dialogues.play(sorted(tmp_path.iterdir()))}
    assert {name: (verdict.kind, verdict.line) for name, verdict in said.items()} == {
        "field": ("differs", 3),
        "foreign": ("does not apply", None),
        "late": ("differs", 3),
        "missing": ("differs", 4),
        "more": ("differs", 3),
        "reported": ("differs", 4),
        "unknown": ("differs", 4),
        "unreadable": ("unreadable", 1),
        "unsaid": ("does not apply", None),
        "well": ("agrees", None),
    }
    assert "win differs" in said["field"].problem
    assert said["reported"].problem == "delivered is 1448, expected 1449"
    assert said["foreign"].problem == "compound, which the kernel has not"
    assert said["unreadable"].problem.startswith('column 3: unknown step "jump"')
    assert said["unsaid"].problem == "for a reason"


@with_kernel
def test_what_linux_draws_is_found_by_trying(tmp_path):
    (bbr,) = (file for file in dialogues.find() if file.stem == "bbr_phase")
    text = bbr.read_text()
    assert "config draws 3" in text
    # No draw brings this rate.
    (tmp_path / "drawn.dialogue").write_text(text)
    (tmp_path / "never.dialogue").write_text(text.replace("pacing_rate 5733320", "pacing_rate 5733321"))
    drawn, never = dialogues.play(sorted(tmp_path.iterdir()))
    assert drawn.kind == "agrees"
    assert never.kind == "differs"
    assert never.problem.endswith("expected 5733321")


def test_what_is_no_dialogue_is_refused(tmp_path):
    with pytest.raises(NoDialogue, match="expected a name that ends in"):
        dialogues.play([tmp_path / "a.txt"])
    with pytest.raises(NoDialogue, match="cannot be read"):
        dialogues.play([tmp_path / "gone.dialogue"])
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.dialogue").write_text("0 open")
    with pytest.raises(NoDialogue, match="same name"):
        dialogues.play([tmp_path / "a" / "x.dialogue", tmp_path / "b" / "x.dialogue"])
