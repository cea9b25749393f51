"""What the page of models lists is what there is: names, and what the kernel engine refuses."""

import re

import pytest
from ready_files import ROOT
from real_kernel import with_kernel

import daybreak
from daybreak.cli import listing
from daybreak.engines import check, lowered
from daybreak.engines.kernel import dilation
from daybreak.errors import PlanError

TEXT = (ROOT / "docs/explanations/modelled.md").read_text(encoding="utf-8")
REFUSED = {
    "delayed_ack_min": "20 ms",
    "delayed_ack_max": "100 ms",
    "rto_min": "500 us",
    "cwnd_clamp": 40,
    "tdtcp": True,
    "legacy": ["fack"],
    "tcp_rmem": [4096, 131072, 2**31],
    "tcp_wmem": [4096, 16384, 2**31],
    "latency": True,
    "window": "every ack",
}
"""By setting of a stack or of the records a value that the kernel engine refuses."""


def passage(start: str, end: str) -> str:
    """What stands between these words, on one line."""
    assert TEXT.count(start) == 1, start
    return " ".join(TEXT.split(start)[1].split()).partition(end)[0]


def names(text: str) -> list[str]:
    """Single words between backticks."""
    return re.findall(r"`(\w+)`", text)


@pytest.mark.parametrize(
    ("what", "start", "end"),
    [
        ("variants", "- **Congestion control**:", "With parameters"),
        ("queues", "- **Queues**:", "Several queues"),
        ("schedules", "- **Schedules**:", "They set"),
    ],
)
def test_the_lists_are_those_of_the_registries(what, start, end):
    plain, with_parameters = listing._PARAMETRISED[listing.What(what)]()
    known = [name for name, _ in plain] + [entry.name for entry in with_parameters]
    assert sorted(names(passage(start, end))) == sorted(known)


def test_the_settings_that_the_kernel_engine_refuses_are_those_that_it_looks_at():
    layout = (ROOT / "crates/guest/src/layout.rs").read_text(encoding="utf-8")
    stack = layout.partition("\nfn supported(")[2].partition("\n}\n")[0]
    records = layout.partition("\nfn records(")[2].partition("\n}\n")[0]
    found = {name for field in re.findall(r'field\("([^"]+)"\)', stack) for name in field.split(" or ")}
    found |= set(re.findall(r'"records\.(\w+)"', records))
    # Which the engine takes from the stacks before the guest looks.
    found.remove("timer_dilation")
    said = names(
        passage("parameters of congestion controls that cannot be set in a running Linux 6.1;", "Each is refused")
    )
    assert sorted(name for name in said if name != "records") == sorted(found) == sorted(REFUSED)


@with_kernel
@pytest.mark.parametrize("setting", REFUSED)
def test_what_the_page_says_is_refused_is_refused_by_name(setting, one_flow):
    table = "records" if setting in ("latency", "window") else "stack"
    assert refusal(one_flow) is None
    assert setting in (refusal(one_flow.with_({f"{table}.{setting}": REFUSED[setting]})) or "")


@with_kernel
def test_other_clocks_are_taken_on_all_hosts_and_refused_where_the_page_says_so(one_flow):
    faster = one_flow.with_({"stack.timer_dilation": 10})
    assert dilation.of(lowered(faster, 1, "kernel").content) == 10 and refusal(faster) is None
    captured = faster.with_({"records.capture": ["bottleneck"]})
    some = faster.with_({"stacks.slow": {}, "flows.0.receiver_stack": "slow"})
    for scenario in (captured, some):
        assert "timer_dilation is 10" in (refusal(scenario) or "")


def refusal(scenario: daybreak.Scenario) -> str | None:
    """The sentence with which the kernel engine refuses a scenario."""
    try:
        check(lowered(scenario, 1, "kernel"), "kernel")
    except PlanError as error:
        return str(error)
    return None
