"""Time-division TCP over a packet network and a circuit, beside the same variant with one congestion state."""

import polars as pl
import pytest
from ready_files import ROOT

import daybreak
from daybreak.scenario import load

SCENARIO = load(ROOT / "scenarios" / "16-time-division.toml")
DEAF = {"schedule.announce": None}
SEEDS = range(1, 4)


def delivered(changes, seeds=SEEDS):
    runs = [daybreak.run(SCENARIO.with_(changes), seed=seed) for seed in seeds]
    return [run.flows["delivered_bytes"].sum() for run in runs]


@pytest.mark.parametrize("variant", ["cubic", "reno"])
def test_a_state_for_each_network_delivers_more(variant):
    flows = {f"flows.{k}.variant": variant for k in range(4)}
    one, two = delivered(flows | {"stack.tdtcp": False}), delivered(flows)
    assert min(two) > 1.15 * max(one), (one, two)


def test_without_the_networks_word_it_is_the_variant_itself():
    """All goes over the first state then: what several states need costs and gains nothing."""
    one, deaf = delivered(DEAF | {"stack.tdtcp": False}), delivered(DEAF)
    assert abs(sum(deaf) / sum(one) - 1) < 0.05, (one, deaf)


def test_the_window_of_each_network_is_found_again():
    """The window jumps when the network changes, without a retransmission between the two windows."""
    window = daybreak.run(SCENARIO).window.filter(pl.col("flow") == 0).sort("time_ns")
    jumps = window.filter((pl.col("cwnd").cast(pl.Int64).diff().abs() >= 4) & (pl.col("retransmits").diff() == 0))
    assert jumps.height > 20
