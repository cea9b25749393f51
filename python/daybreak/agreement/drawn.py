"""Draws a random suite, to test the model on scenarios that it was not developed with.

The suite depends on the seed alone. Each scenario has a random stream of its own, so a longer suite begins with the
scenarios of a shorter one.
"""

from __future__ import annotations

import math
from typing import Any

from daybreak import _native
from daybreak.errors import ScenarioError
from daybreak.plan.downtimes import POLICIES

from .draws import Draws
from .suite import HEADERS, Case
from .wide import widen

MOST = 10_000
# Excluded: they need a switch of their own, or are not in Linux 6.1. Each rule that is not here changes the suites.
WITHOUT = {"retcp", "compound"}
# Half of all flows: most real flows use one of these, and they are the most complex.
COMMON = ("cubic", "bbr", "reno")
SHAPES = ("alone", "alone", "beside", "moved", "moved", "circuit")
MTUS = (1500, 2000, 4000, 9000)
STACKS: tuple[dict[str, Any], ...] = (
    {"tcp_timestamps": False},
    {"tcp_sack": False},
    {"tcp_dsack": False},
    {"tcp_frto": 0},
    {"tcp_early_retrans": 0},
    {"tcp_recovery": 0},
    {"tcp_reordering": 10},
    {"tcp_limit_output_bytes": 262_144},
    {"tcp_comp_sack_nr": 0},
    {"tcp_slow_start_after_idle": False},
    {"initial_window": 2},
    {"rto_min": "5 ms"},
    {"max_pacing_rate": "700 Mbit/s"},
)
RECEIVERS: tuple[dict[str, Any], ...] = (
    {"tcp_adv_win_scale": 2},
    {"receive_buffers": {"linear": 0, "page": 2048}},
    {"tcp_moderate_rcvbuf": False},
    {"tcp_window_scaling": False},
    {"tcp_timestamps": False},
    {"tcp_sack": False},
    {"tcp_ecn": 0},
)
MOST_EXCHANGES = 30


def cases(count: int, seed: int, *, wide: bool = False) -> list[Case]:
    """`count` random cases; if `wide`, from all that a stack may be set to (`wide`). Raises ScenarioError."""
    if not 1 <= count <= MOST:
        raise ScenarioError(f"random: {count} is not a number of scenarios from 1 to {MOST}")
    if seed < 0:
        raise ScenarioError(f"seed: {seed} is below zero")
    return [_case(seed, number, wide=wide) for number in range(1, count + 1)]


def _case(seed: int, number: int, *, wide: bool) -> Case:
    draw = Draws(seed, f"agreement/drawn/{number}")
    shape = draw.one(SHAPES)
    marks = draw.chance(3)
    flows = "+".join(_variant(draw, marks=marks) for _ in range(1 if shape in ("alone", "circuit") else 2))
    fields: dict[str, Any] = {
        "name": f"drawn{seed}-{number}-{flows}-{shape}",
        "what": f"Scenario {number} of those that seed {seed} draws",
        "flows": flows,
        "rate": f"{round(draw.between(500, 10_000), -1):.0f} Mbit/s",
        "rtt": f"{draw.between(50, 5_000):.0f} us",
        "buffer": round(draw.between(0.2, 5), 2),
        "mtu": draw.one(MTUS),
        "packets": round(draw.between(300, 4_000)),
    }
    if draw.chance(4):
        fields["loss"] = round(draw.between(1e-4, 1e-2), 5)
    if draw.chance(6):
        fields["ack_loss"] = round(draw.between(1e-3, 0.1), 4)
    if draw.chance(3):
        fields["stack"] = draw.one(STACKS)
    if draw.chance(6):
        fields["receiver"] = draw.one(RECEIVERS)
    if draw.chance(8):
        fields[draw.one(("rmem", "wmem"))] = round(draw.between(100_000, 2_000_000))
    if marks:
        fields["threshold"] = round(draw.between(3, 100))
    if draw.chance(3):
        fields["exchange"] = _exchange(draw, fields.pop("packets") * fields["mtu"])
    else:
        fields |= _size(Draws(seed, f"agreement/drawn/{number}/size"), fields["packets"], fields["mtu"])
    longest_night = math.inf
    if shape == "moved":
        # Whole periods in the 200 ms of a timeout would let a flow lose each retransmission: see docs/fidelity.md.
        period = round(draw.between(300, 20_000))
        longest_night = period / 2
        fields["period"] = f"{period * 1000 + 7} ns"
        fields["far"] = round(draw.between(1, 3), 2) if draw.chance(3) else 1.0
    elif shape == "circuit":
        fields["day"] = f"{round(draw.between(300, 10_000)) * 1000 + 7} ns"
    if shape == "circuit" or (shape == "moved" and draw.chance(2)):
        fields["night"] = f"{min(draw.between(10, 500), longest_night):.0f} us"
        fields["downtime"] = draw.one([one.name for one in POLICIES.values() if shape in one.drawn_for])
    if wide:
        fields = widen(fields, Draws(seed, f"agreement/wide/{number}")) | {"name": f"wide{seed}-{number}-{shape}"}
    return Case.model_validate(fields)


def _size(draw: Draws, packets: int, mtu: int) -> dict[str, int]:
    """Full segments, of which there are few in one flow of three, and bytes beyond them in one of two."""
    packets = round(draw.between(1, 60)) if draw.chance(3) else packets
    return {"packets": packets, "tail": round(draw.between(1, mtu - HEADERS)) if draw.chance(2) else 0}


def _variant(draw: Draws, *, marks: bool) -> str:
    if marks and draw.chance(3):
        return "dctcp"
    if draw.chance(2):
        return draw.one(COMMON)
    return draw.one([entry.name for entry in _native.variants() if entry.name not in (*WITHOUT, "dctcp")])


def _exchange(draw: Draws, total: float) -> dict[str, Any]:
    """Requests and responses of at most `total` bytes together; a single one may be larger."""
    request, response = (round(draw.between(100, most)) for most in (1e6, 4e6))
    exchanges = max(1, min(MOST_EXCHANGES, round(total / (request + response))))
    think = draw.one(("0 s", f"{draw.between(20, 1_000):.0f} us", f"{draw.between(1, 400):.0f} ms"))
    return {"request": f"{request} B", "response": f"{response} B", "exchanges": exchanges, "think": think}
