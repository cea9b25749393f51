"""What studies measure, on made-up tables whose numbers can be read off, and how a reproduction says what it is."""

from dataclasses import replace

import polars as pl
import pytest
from executors import Serial

from daybreak.studies import page, scoreboard, sensitivity, variation
from daybreak.studies.evidence import gather, seeds
from daybreak.studies.lightpath import costs, testbed
from daybreak.studies.lightpath.changes import buffer_for_overlap, optical_delay, paced
from daybreak.studies.lightpath.measured import Measurements
from daybreak.studies.lightpath.settings import SCALES, Setting, counted
from daybreak.studies.migration.study import STUDY
from daybreak.studies.scales import varied
from daybreak.studies.scoreboard import Scoreboard

SETTING = Setting("D", 1000, 100, move="20", after_s=30.0)


def moved(mbps, *, goodput=None, tenths=(), losses=(), queues=()):
    """A run whose rates in whole seconds, the first of them at -2 s, are given."""
    rows = [(1000, second - 2.0, rate, rate) for second, rate in enumerate(mbps)]
    if goodput is not None:
        rows = [(*row[:3], rate) for row, rate in zip(rows, goodput, strict=True)]
    rows += [(100, at / 10, rate, rate) for at, rate in tenths]
    names = ("width_ms", "time_s", "mbps", "goodput_mbps")
    lost = pl.DataFrame(list(losses), schema={"place": pl.String, "time_s": pl.Float64, "lost": pl.Int64}, orient="row")
    kinds = {"queue": pl.String, "time_s": pl.Float64, "packets": pl.Int64}
    waiting = pl.DataFrame(list(queues), schema=kinds, orient="row")
    rates = pl.DataFrame(rows, schema=names, orient="row")
    return Measurements(SETTING, pl.DataFrame(), rates, pl.DataFrame(), waiting, lost)


def test_a_move_costs_what_the_ten_seconds_after_it_lack():
    rates = [500, 1000, 0, 500, *[1000] * 8, 250, 250]
    found = moved(rates)
    assert found.before_mbps == 1000
    # A whole second and half of one; what is lost after ten seconds is not the move's.
    assert found.missing_s == pytest.approx(1.5)
    assert (found.trough().rate, found.trough().end_s, found.reduction) == (0, 1.0, 1.0)
    # Duplicates fill the link, but are no goodput.
    double = moved([1000] * 12, goodput=[1000, 1000, 600, *[1000] * 9])
    assert double.missing_s == pytest.approx(0.4) and double.reduction == 0
    assert moved([1000, 1000, *[1200] * 10]).reduction == pytest.approx(-0.2)


def test_a_rate_has_recovered_at_95_percent_of_its_level():
    found = moved([1000, 1000, 0, 940, 949, 950, 1000, 1000])
    assert found.recovery_s(1000) == 4.0
    assert found.recovery_s(990) == 3.0, "940.5 of 949"
    assert moved([1000, 1000, 950, 1000]).recovery_s(1000) == 0.0
    assert moved([1000, 1000, 0, 900, 900]).recovery_s(1000) is None


def test_the_peak_is_that_of_a_tenth_of_the_first_second():
    found = moved([1000, 1000], tenths=[(-1, 9000), (0, 1500), (9, 1700), (10, 5000)])
    assert found.peak_mbps == 1700


def test_losses_are_of_a_place_and_of_milliseconds_that_start_in_a_span():
    losses = [("sender", -0.001, 5), ("sender", 0.0, 1), ("sender", 0.999, 2), ("sender", 1.0, 4), ("receiver", 0.5, 8)]
    found = moved([1000, 1000], losses=losses)
    assert found.lost("sender", 0, 1) == 3 and found.lost("sender") == 7 and found.lost("receiver") == 8
    assert found.lost("sender", -1) == 12 and found.lost_anywhere() == 15 and found.lost_anywhere(1.0) == 4


def test_the_queue_at_the_move_is_the_last_sample_before_it():
    queues = [("q", -0.05, 3), ("other", 0.0, 9), ("q", 0.0, 7), ("q", 0.06, 1)]
    assert moved([1000, 1000], queues=queues).queue_at_move("q") == 7
    assert moved([1000, 1000]).queue_at_move("q") == 0


def test_moves_are_half_a_second_apart_and_the_first_is_the_rules():
    first = Setting("D", 100, 1000).move_s
    settings = costs.moves(replace(SCALES["full"], moves=3), "linux", "overlap-buffer")
    assert [one.move_s for one in settings] == pytest.approx([first, first + 0.5, first + 1.0])
    assert {(one.scenario, one.rate_mbps, one.rtt_ms, one.after_s, one.changes) for one in settings} == {
        ("D", 100, 1000, 40.0, ("overlap-buffer",))
    }
    before, after = counted(SETTING)
    assert (before.end_s, after.end_s) == (20.0, 20.5)


def changed(change, setting):
    document = testbed.scenario(setting).document()
    document.setdefault("stack", {})
    change(document, setting)
    return document


def test_remedies_are_what_they_say():
    # The light-path is 0.4 RTTs shorter: 40 ms at 1 Gb/s are 3333 packets of 1500 bytes.
    assert SETTING.overlap_packets == pytest.approx(3333.3, abs=0.1)
    assert changed(buffer_for_overlap, SETTING)["topology"]["receiver_queue"] == "3833 packets"
    assert changed(optical_delay(0.3), SETTING)["topology"]["optical_delay"] == "30000 us"
    assert changed(paced, SETTING)["stack"]["max_pacing_rate"] == "950.0 Mbit/s"
    held = testbed.scenario(SETTING.changed("hold")).timelines[0]
    plain = testbed.scenario(SETTING).timelines[0]
    # Dark from 40 ms before the move on.
    dark, move = held.steps[0], held.steps[-1]
    assert len(held.steps) == len(plain.steps) + 1 and (dark.do[0].kind, dark.do[0].downtime) == ("darken", "hold")
    assert (move.at, move.at - dark.at) == (20 * 10**12, 40 * 10**9)


def test_a_setting_counts_the_packets_of_its_whole_run():
    # 100 Mb/s send a packet of 1500 bytes every 120 us.
    assert Setting("B", 100, 10, move="20", after_s=5).packets == pytest.approx(25 / 120e-6)
    # A window that grows by 310 packets a second, over an RTT of 1 s: half of it in the mean.
    assert Setting("B", 10_000, 1000, move="100", after_s=0).packets == pytest.approx(155 * 100**2)
    assert Setting("B", 1, 1).packets == float("inf")


def judged(*verdicts):
    """A scoreboard with a claim for each of these."""
    found = Scoreboard("migration", engine="simulated", mode="full", seeds=2, published=STUDY.published())
    for number, verdict in enumerate(verdicts):
        found.shape("fig5.flatter", verdict == scoreboard.SHAPE_PASS, [1.0, 3.0], suffix=str(number))
    return found


def test_a_changed_verdict_is_a_row_with_both_measurements():
    base, other = (
        judged(*verdicts).claims
        for verdicts in ((scoreboard.SHAPE_PASS, scoreboard.SHAPE_MISS), (scoreboard.SHAPE_PASS, scoreboard.SHAPE_PASS))
    )
    found = sensitivity.SensitivityResult(base, {("buffer", "100"): other, ("buffer", "200"): base})
    assert found.changes() == [
        variation.Change("buffer", "100", "fig5.flatter.1", scoreboard.SHAPE_MISS, scoreboard.SHAPE_PASS, "2", "2"),
        variation.Change("buffer", "200"),
    ]
    # The rows form one statement: it holds if all of them do.
    assert found.counts() == [
        variation.Count("", "", 0, 0, 0, 1),
        variation.Count("buffer", "100", 0, 0, 1, 1),
        variation.Count("buffer", "200", 0, 0, 0, 1),
    ]  # fmt: skip


def test_the_command_names_what_is_otherwise_than_the_mode_says():
    def command(figures, **more):
        usual = {"engine": "simulated", "mode": "quick", "seeds": STUDY.scales["quick"].runs}
        return page.command(STUDY, Scoreboard("migration", published={}, **usual | more), figures)

    runs = STUDY.scales["quick"].runs
    assert command(STUDY.figures) == "daybreak reproduce migration --quick"
    for number in (runs - 1, runs + 1):
        assert command(STUDY.figures, seeds=number) == f"daybreak reproduce migration --quick --seeds {number}"
    first, second, *_ = STUDY.figures
    assert command((first, second), engine="kernel") == (
        f"daybreak reproduce migration --quick --engine kernel --figure {first} --figure {second}"
    )


def test_the_longest_runs_are_made_first_with_the_seeds_of_their_scale(tmp_path):
    scale = varied(STUDY.scales["quick"], {"single_mib": "1", "pair_mib": "1"}).with_runs(2)
    costly = replace(STUDY, cost=lambda setting: setting.period_ms)
    executor = Serial()
    (evidence,) = gather(costly, [scale], tmp_path, figures=["7"], executor=executor)
    settings = sorted(STUDY.settings(scale, ["7"]), key=lambda one: (-one.period_ms, one.name))
    assert [(name, seed) for _, name, seed in executor.ran] == [
        (costly.job(one, seed, "simulated").scenario.name, seed) for one in settings for seed in seeds(one, scale)
    ]
    found = evidence.of_figure("7")
    assert {run for measured in found.values() for run in measured.flows["run"]} == {1, 2}


def test_a_claim_without_a_number_or_words_is_an_error_and_a_mean_without_a_run_a_miss():
    found = judged()
    with pytest.raises(ValueError, match="the entry has no number"):
        found.value("fig5.flatter", [1.0])
    found.value("fig3.fct", [], suffix="cubic.none", variant="CUBIC", period="none")
    assert (found.claims[0].verdict, found.claims[0].ours) == (scoreboard.MISS, None)
