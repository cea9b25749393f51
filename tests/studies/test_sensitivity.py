"""Verdicts with other values of an inference: here of the migration study's testbed."""

import csv
from dataclasses import replace

import pytest
import synthetic

import daybreak
from daybreak.errors import ScenarioError, UnknownName
from daybreak.scenario.lowering import lower
from daybreak.studies import STUDIES, sensitivity, study, variation
from daybreak.studies.inferences import Inference
from daybreak.studies.migration.settings import (
    KERNEL_TESTBED,
    SCALES,
    kernel_rows,
    kernel_setting,
    of_figure,
    pair,
)  # fmt: skip
from daybreak.studies.migration.settings import (
    Testbed as Bed,
)
from daybreak.studies.migration.study import STUDY, job
from daybreak.studies.migration.testbed import scenario
from daybreak.studies.scales import varied
from daybreak.studies.scoreboard import Scoreboard

FULL = SCALES["full"]


def judged(profile):
    board = Scoreboard("migration", engine="simulated", mode="full", seeds=5, published=STUDY.published())
    STUDY.experiments["7"].judge(board, synthetic.evidence(profile, FULL), FULL)
    return board.claims


def loopback_packets(setting):
    queues = lower(scenario(setting), 1).content.queues
    return next(queue.limit_packets for queue in queues if queue.name == "green")


def test_changes_are_the_claims_whose_verdicts_differ(tmp_path):
    base, contrary = judged(synthetic.paper), judged(synthetic.contrary)
    found = sensitivity.SensitivityResult(base, {("buffer", "200"): base, ("buffer", "350"): contrary}).changes()
    # Nothing changes with 200 packets, and a row says so.
    assert found[0] == variation.Change("buffer", "200")
    # A claim that is made with this value alone has not changed with it.
    more = sensitivity.SensitivityResult(base[1:], {("buffer", "200"): base}).changes()
    assert more == [variation.Change("buffer", "200")]
    differ = [one.id for one, other in zip(base, contrary, strict=True) if one.verdict != other.verdict]
    assert differ and [change.claim for change in found[1:]] == differ
    assert {(change.verdict, change.other) for change in found[1:]} == {("shape-pass", "shape-miss")}
    variation.save(found, tmp_path / variation.FILE)
    assert variation.load(tmp_path) == {"buffer": found}
    assert b"\r" not in (tmp_path / variation.FILE).read_bytes(), "it is committed"
    inference = Inference("b", "", "", "text", "", field="buffer", values=("1",))
    assert variation.text(inference, found).startswith("200: none; 350: `fig7")
    many = [variation.Change("buffer", "350", f"claim.{number}") for number in range(13)]
    assert variation.text(inference, many) == "350: 13 rows", "too many to name"
    assert variation.text(inference, many[:12]).endswith("`claim.11`")


def test_each_field_of_the_testbed_reaches_the_scenario():
    usual = scenario(pair(FULL, "cubic", "cubic", 10))
    for change, expected in (
        ({"buffer": 77}, ("topology", "queue", "77 packets")),
        ({"hz": 1000}, ("stack", "hz", 1000)),
        ({"rtt_us": 80}, ("topology", "rtt", "80 us")),
        ({"jitter_ns": 500}, ("topology", "jitter", "500 ns")),
    ):
        part, field, value = expected
        found = scenario(pair(replace(FULL, **change), "cubic", "cubic", 10))
        assert str(getattr(getattr(found, part), field)) == str(value)
        assert getattr(getattr(usual, part), field) != getattr(getattr(found, part), field)
        assert found.name != usual.name
    assert scenario(pair(FULL, "cubic", "cubic", 10)).stack.tcp_limit_output_bytes != (
        scenario(pair(replace(FULL, small_queues=1), "cubic", "cubic", 10)).stack.tcp_limit_output_bytes
    )


def test_the_buffer_reaches_all_settings_but_those_that_the_kernel_was_run_with():
    scale = replace(FULL, buffer=77)
    for figure in ("4", "5", "6a", "6b", "7"):
        for setting in of_figure(figure, scale):
            assert loopback_packets(setting) == 77
    for row in kernel_rows():
        assert loopback_packets(kernel_setting(scale, row)) == KERNEL_TESTBED.buffer == 350


def test_a_run_begins_anywhere_against_the_hosts_ticks():
    setting = pair(FULL, "cubic", "cubic", 10)

    def begins(setting, seed):
        made = job(setting, seed, "simulated").scenario
        starts = {tuple(int(end) for end in flow.start.uniform) for flow in made.flows}
        assert len(starts) == 1
        # Flows begin with the switch's cycle.
        ((first, last),) = starts
        assert first == int(made.timelines[0].start) and last - first == 5_000_000_000
        return first

    found = [begins(setting, seed) for seed in range(1, 201)]
    assert len(set(found)) == 200 and all(0 <= begin < 1_000_000_000_000 for begin in found)
    # Even draws over a tick of 4 ms: the mean phase of 200 is within four standard errors of the middle.
    tick = 4_000_000_000
    assert abs(sum(begin % tick for begin in found) / 200 / tick - 0.5) < 4 / (12 * 200) ** 0.5
    # One beginning a seed, whatever the setting.
    assert begins(pair(FULL, "cubic", "bbr", 50), 3) == found[2]
    assert begins(replace(setting, testbed=Bed(phase=0)), 1) == 0


def test_times_of_a_run_count_from_its_beginning():
    tiny = pair(replace(FULL, pair_mib=8), "cubic", "cubic", 10)
    late, early = (
        STUDY.reduction.function(daybreak.run(scenario(tiny, begin_ns), seed=1)) for begin_ns in (3_500_000_000, 0)
    )
    assert late["flows"]["start_ns"].to_list() == early["flows"]["start_ns"].to_list()
    assert late["circuits"]["time_ns"].to_list() == early["circuits"]["time_ns"].to_list()
    assert late["throughput"]["time_s"].max() < 0.1


def test_an_inference_takes_each_of_its_values(tmp_path, monkeypatch):
    tiny = replace(FULL, pair_mib=4, kernel_mib=4)
    monkeypatch.setitem(SCALES, "full", tiny)
    found = sensitivity.vary(STUDY, names=["phase", "small_queues"], figures=["7"], seeds=1, out=tmp_path)
    assert list(found.others) == [("phase", "0"), ("small_queues", "1")]
    assert [one.id for one in found.base] == [one.id for one in found.others["phase", "0"]]
    assert len(list((tmp_path / "runs").glob("??/*"))) == 3 * len(of_figure("7", tiny))
    rows = list(csv.DictReader((tmp_path / variation.FILE).open(encoding="utf-8")))
    assert {(row["inference"], row["value"]) for row in rows} == set(found.others)
    assert (tmp_path / "figures" / "sensitivity.png").stat().st_size > 1000
    counts = variation.load_counts(tmp_path)
    assert counts == found.counts() and [(one.inference, one.value) for one in counts] == [
        ("", ""), ("phase", "0"), ("small_queues", "1"),
    ]  # fmt: skip
    axes = variation.draw(counts, STUDY.inferences()).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "as it is", "beginning: with a tick", "TCP small queues: on",
    ]  # fmt: skip
    # No printed number is judged by figure 7.
    assert len(axes.figure.legends[0].get_texts()) == 1


def test_what_cannot_be_varied_is_named(tmp_path):
    with pytest.raises(UnknownName, match='field: "speed" is not one of single_mib, pair_mib'):
        varied(STUDY.scales["full"], {"speed": "1"})
    with pytest.raises(ScenarioError, match='buffer: "many" is not of type int'):
        varied(STUDY.scales["full"], {"buffer": "many"})
    with pytest.raises(ScenarioError, match='reading: "median" is not one of mean_goodput'):
        varied(STUDY.scales["full"], {"reading": "median"})
    with pytest.raises(UnknownName, match='inference: "frames" is not one of ticks, phase, buffer'):
        sensitivity.vary(STUDY, names=["frames"], out=tmp_path)


@pytest.mark.parametrize("name", STUDIES)
def test_every_value_of_every_inference_can_be_taken(name):
    one = study(name)
    inferences = one.inferences()
    assert inferences
    for inference in inferences:
        for value in inference.values:
            changed = varied(one.scales["full"], inference.changes(value))
            assert changed != one.scales["full"], (inference.name, value)
        for pattern in inference.fitted:
            stem = pattern.split("*")[0].rstrip(".")
            assert any(key.startswith(stem) or stem.startswith(f"{key}.") for key in one.published()), pattern
    assert set(variation.load(one.folder)) <= {inference.name for inference in inferences if inference.field}


def test_a_value_may_take_another_field_with_it():
    turns = next(one for one in study("space-switch").inferences() if one.name == "shares")
    assert turns.changes("1") == {"shares": "1"}
    assert turns.changes("1, gap_ms=1500") == {"shares": "1", "gap_ms": "1500"}
    assert turns.label("1, gap_ms=1500") == "one an epoch, gap of 1.5 s"
