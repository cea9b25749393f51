"""A run and the replays of its flows are one: what an end does in a network it does with what it received alone."""

import pytest

import daybreak
from daybreak.agreement import drawn, segments
from daybreak.agreement.suite import Case
from daybreak.scenario import Scenario

RATES = ("500 Mbit/s", "1 Gbit/s", "2 Gbit/s")
"""A byte takes whole nanoseconds at these and at four times these, the rates of the hosts' links."""
SEED = 1_795_800_001


def in_whole_nanoseconds(case: Case, number: int, tso_max_bytes: int) -> Scenario:
    """The captured scenario without jitter, at times of which a capture cuts nothing off."""
    whole = case.model_dump(exclude_defaults=True) | {
        "rate": RATES[number % len(RATES)],
        "rtt": f"{80 * (number % 50 + 1)} us",
        "stack": case.stack | ({"tso_max_bytes": tso_max_bytes} if tso_max_bytes else {}),
    }
    document = segments.captured(Case.model_validate(whole)).document()
    for link in document["links"]:
        link.pop("jitter", None)
    return Scenario.parse(document, source=case.name)


@pytest.mark.parametrize("tso_max_bytes", [0, 16_384, 65_536])
def test_every_end_sends_in_a_run_what_it_sends_in_its_replay(tso_max_bytes: int) -> None:
    parted, ends, paced = [], 0, 0
    for number, case in enumerate(drawn.cases(60, SEED)):
        # TCP-LP compares the other end's clock, whose offset a replay does not know.
        if "lp" in case.flows.split("+"):
            continue
        run = daybreak.run(in_whole_nanoseconds(case, number, tso_max_bytes), engine="simulated")
        for side in segments.SIDES:
            for end in segments.flows(run, side):
                if isinstance(end, segments.LeftOut):
                    continue
                ends += 1
                paced += side == "sender" and end.variant == "bbr"
                if not end.is_identical:
                    parted.append((case.name, end.flow, side, end.segments, end.same))
    assert parted == []
    assert ends > 150 and paced > 5
