"""Suites as text: the cases that come with Daybreak, those that a seed draws, and what a case makes of a scenario.

What is drawn and what is made must not change unnoticed: results of earlier suites would be of other scenarios.
"""

import json

from agreement import made_up

from daybreak.agreement import drawn, scenarios, suite

EXCHANGE = {"request": "1 kB", "response": "5 kB", "exchanges": 3, "think": "1 ms"}
EVERYTHING = {
    "plain": {},
    "several": {"flows": "2 cubic+reno", "tail": 77, "queue": None, "buffer": 0.5, "mtu": 1500},
    "least": {"queue": None, "buffer": 0.001, "rate": "100 Gbit/s", "rtt": "20 us", "packets": 1},
    "lossy": {"loss": 0.01, "ack_loss": 0.2, "rmem": 100_000, "wmem": 10_000},
    "buffers": {"rmem": 400_000, "wmem": 300_000, "stack": {"tcp_sack": False}, "receiver": {"tcp_ecn": 0}},
    "marked": {"flows": "dctcp", "threshold": 7, "stack": {"initial_window": 4}},
    "both": {"flows": "cubic", "reverse": "2 bbr+reno", "ack_loss": 0.1, "loss": 0.2},
    "asking": {"packets": None, "exchange": EXCHANGE, "loss": 0.2, "ack_loss": 0.1, "threshold": 9},
    "asked": {"packets": None, "exchange": EXCHANGE, "loss": 0.1, "ack_loss": 0.3, "flows": "bbr+cubic"},
    "repeated": {"repeat": 3, "gap": "50 ms", "packets": 10},
    "circuit": {"day": "2 ms", "night": "100 us", "downtime": "drain"},
    "moved": {"flows": "cubic+bbr+reno", "period": "30 ms"},
    "far": {"flows": "2 cubic", "period": "30 ms", "night": "1 ms", "downtime": "hold", "far": 2.5, "threshold": 20},
}


def lines(document):
    """Each entry of a scenario's lists on a line of its own."""
    found = []
    for name, value in document.items():
        entries = value if isinstance(value, list) and value and isinstance(value[0], dict) else [value]
        found += [f"  {name}: {json.dumps(entry, ensure_ascii=False)}" for entry in entries]
    return found


def test_what_a_case_makes_of_a_scenario(golden):
    text = []
    for name, changes in EVERYTHING.items():
        case = made_up.case(name=name, **changes)
        scenarios.scenario(case)
        text += [f"{name}: groups {', '.join(scenarios.groups(case))}", *lines(scenarios._document(case))]
    golden("suite-scenarios.txt", "\n".join(text) + "\n")


def of_case(case):
    """What differs from a case with the defaults, and what follows from it."""
    usual = made_up.case()
    given = {
        name: value for name, value in case.model_dump(mode="json").items()
        if name not in ("name", "what", "queue") and value != usual.model_dump(mode="json")[name]
    }  # fmt: skip
    size = f"{case.payload_bytes()} B, {case.queue_packets()} packets, bins of {scenarios.bin_width(case)}"
    return f"{case.name}{' (quick)' if case.is_quick else ''}: {size}; {json.dumps(given, ensure_ascii=False)}"


def test_the_cases_that_come_with_daybreak(golden):
    golden("suite-cases.txt", "\n".join(map(of_case, suite.load())) + "\n")


def test_what_seed_one_draws(golden):
    golden("suite-drawn.txt", "\n".join(map(of_case, drawn.cases(60, 1))) + "\n")
