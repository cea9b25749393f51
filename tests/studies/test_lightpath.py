"""The lightpath study: its grid, what a move does to packets, and how runs are measured."""

from dataclasses import replace

import polars as pl
import pytest

from daybreak.engines import run
from daybreak.studies.lightpath import measured, testbed
from daybreak.studies.lightpath.claims import figure6
from daybreak.studies.lightpath.settings import SCALES, Setting
from daybreak.studies.lightpath.study import STUDY


def of(setting: Setting) -> measured.Measured:
    return measured.of_runs(setting, {1: measured.of_run(run(testbed.scenario(setting)))})


@pytest.mark.parametrize("mode", SCALES)
def test_every_setting_has_a_time_of_its_move_and_a_scenario(mode):
    for setting in STUDY.settings(SCALES[mode]):
        assert testbed.scenario(setting).name == setting.name and setting.move_s >= 10


def test_as_many_packets_overtake_as_the_light_path_is_shorter():
    # 100 Mb/s for 0.4 * 40 ms are 133 packets of 1500 bytes, which come early. The only queue is in the sender.
    setting = Setting("B", 100, 40, "reno", "linux", move="3", after_s=0.03)
    early = of(setting).counted("reordered") - of(replace(setting, after_s=0.0)).counted("reordered")
    assert early == pytest.approx(133, abs=4)


def test_without_a_move_nothing_overtakes_and_the_axis_is_the_same():
    setting = Setting("C1", 100, 10, stack="linux", move="2", after_s=1.0)
    moved, unmoved = of(setting), of(setting.unmoved())
    assert moved.bins(1000)["time_s"].to_list() == unmoved.bins(1000)["time_s"].to_list() == [-2.0, -1.0, 0.0]
    assert moved.before_mbps == unmoved.before_mbps
    assert moved.bins(1)["mbps"][-100:].to_list() != unmoved.bins(1)["mbps"][-100:].to_list()


def test_the_first_loss_is_the_overlap_less_the_free_buffer():
    # 1 Gb/s for 0.4 * 100 ms are 3333 packets, more than r3's 500: a flow that fills its link loses the difference.
    setting = Setting("D", 1000, 100, after_s=0.5)
    found = of(setting)
    assert found.before_mbps == pytest.approx(1000, rel=0.001)
    assert figure6.first_loss(found) == pytest.approx(figure6.expected_loss(found), rel=0.01)
    assert figure6.arriving_gbps(found) == pytest.approx(2, rel=0.02)


def test_the_bins_hold_all_that_left():
    found = of(Setting("B", 100, 10, move="3", after_s=1.0))
    for width in (1000, 100):
        bins = found.bins(width).filter(pl.col("time_s") >= -1)
        assert bins["mbps"].mean() == pytest.approx(100, rel=0.02)
    assert found.bins(1).filter(pl.col("time_s") >= 0).height == 1000
