"""The lightpath study: its grid, what a move does to packets, and how runs are measured."""

import json
from dataclasses import replace

import polars as pl
import pytest
from executors import Serial
from msgspec import structs
from ready_files import ROOT

from daybreak import _native
from daybreak.engines import run
from daybreak.scenario.lowering import lower
from daybreak.studies import scoreboard
from daybreak.studies.lightpath import management, measured, ns2, testbed
from daybreak.studies.lightpath.changes import CHANGES, ROWS
from daybreak.studies.lightpath.claims import cells, figure6, others, setup, shifts
from daybreak.studies.lightpath.claims import kernel as kernel_board
from daybreak.studies.lightpath.settings import NS2, SCALES, STACKS, ManagedSetting, Setting
from daybreak.studies.lightpath.settings import figure6 as figure6_of
from daybreak.studies.lightpath.study import STUDY, job, of_run, of_runs
from daybreak.studies.reproduce import reproduce
from daybreak.studies.scoreboard import Scoreboard

FULL, QUICK = SCALES["full"], SCALES["quick"]
SMALL = Setting("D", 100, 100, move="5", after_s=1.0)


def of(setting: Setting) -> measured.Measurements:
    return measured.of_runs(setting, {1: measured.of_run(run(testbed.scenario(setting)))})


def managed(case: str, stack: str = "linux") -> management.Outcome:
    setting = ManagedSetting(case, stack)
    return of_runs(setting, {1: of_run(run(management.scenario(setting)))})


def board(mode: str = "full") -> Scoreboard:
    return Scoreboard("lightpath", engine="simulated", mode=mode, seeds=1, published=STUDY.published())


def verdicts(found: Scoreboard) -> dict[str, str]:
    return {claim.id: claim.verdict for claim in found.claims}


@pytest.mark.parametrize("mode", SCALES)
def test_every_setting_has_a_time_of_its_move_and_a_scenario(mode):
    settings = STUDY.settings(SCALES[mode])
    assert len({setting.name for setting in settings}) == len(settings)
    for setting in settings:
        assert job(setting, 1, "simulated").scenario.name == setting.name
        # The rule moves flows from 10 s on, and some are moved up to half a second earlier than it.
        assert isinstance(setting, ManagedSetting) or setting.move == "3" or setting.move_s >= 9.5


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("change", [change for change in CHANGES if change != "large-buffer"])
def test_every_change_is_a_sound_plan_that_differs_or_is_so_already(stack, change):
    setting = replace(SMALL, stack=stack)
    plain, changed = (lower(testbed.scenario(one), 1) for one in (setting, setting.changed(change)))
    _native.check_plan(changed.json)
    is_so_already = change.endswith("-of-ns2" if stack == NS2 else "-of-linux") or (stack, change) == (
        "linux", "long-sender-queue",
    )  # fmt: skip
    if not is_so_already:
        assert replace_name(changed.json) != replace_name(plain.json)


def replace_name(text: bytes) -> dict[str, object]:
    return {key: value for key, value in json.loads(text).items() if key != "name"}


def test_all_rows_together_make_one_stack_the_other():
    def stack_of(setting: Setting) -> object:
        plan = lower(testbed.scenario(setting), 1).content
        return (replace_stack(plan.stacks[0]), plan.rules, [queue.limit_packets for queue in plan.queues])

    to_ns2 = SMALL.changed(*(f"{name}-of-ns2" for name in ROWS))
    assert stack_of(to_ns2) == stack_of(replace(SMALL, stack=NS2))


def replace_stack(stack: object) -> dict[str, object]:
    fields = {name: getattr(stack, name) for name in stack.__struct_fields__}
    return fields | {"legacy": sorted(fields["legacy"])}


def test_the_set_up_is_as_printed_and_can_be_otherwise(monkeypatch):
    found = board()
    setup.judge(found, {}, QUICK)
    missed = [claim.id for claim in found.claims if claim.verdict.endswith("miss")]
    # The cells that are not run are missed.
    assert missed == ["setup.grid"] and verdicts(found)["sctp_dccp"] == scoreboard.LEFT_OUT
    monkeypatch.setitem(testbed.LIMITS, "B", ("receiver_rate",))
    other = board()
    setup.judge(other, {}, QUICK)
    assert verdicts(other)["setup.limits"] == "shape-miss"


def test_one_buffer_that_limits_the_window_is_noticed(monkeypatch):
    """Half of a buffer can be in flight: 2 GiB, more than the 1 GiB that a TCP header can say, but for one cell."""
    whole = setup._plan

    def smaller(setting: Setting):
        found = whole(setting)
        if (setting.scenario, setting.rate_mbps, setting.rtt_ms) != ("D", 1000, 100):
            return found
        stack = found.stacks[0]
        return structs.replace(found, stacks=[structs.replace(stack, tcp_wmem=[*stack.tcp_wmem[:2], 2**29])])

    for plan, verdict, gib in ((whole, "shape-pass", 2.0), (smaller, "shape-miss", 0.25)):
        monkeypatch.setattr(setup, "_plan", plan)
        found = board()
        setup.judge(found, {}, QUICK)
        (claim,) = (one for one in found.claims if one.id == "setup.alpha_other")
        assert (claim.verdict, claim.ours) == (verdict, pytest.approx(gib, abs=0.01))


def test_every_published_entry_is_of_an_experiment():
    assert {entry.figure for entry in STUDY.published().values()} <= set(STUDY.figures)


def test_datagrams_are_late_and_lost_as_arithmetic_says():
    found = board()
    evidence = {setting: of(setting) for setting in others.datagrams()}
    evidence |= {setting: evidence[others.datagrams()[0]] for setting in others.large_buffers().values()}
    others.judge(found, evidence, QUICK)
    assert [verdict for name, verdict in verdicts(found).items() if name.startswith("udp")] == ["shape-pass"] * 4


def test_cells_of_ns2_are_judged_by_their_tolerances():
    cell = next(one for one in ns2.cells() if one.name == "B_1G_100ms_cubic")
    assert ns2.is_near(cell, "move", 47) and not ns2.is_near(cell, "move", 47.1)
    assert ns2.is_near(cell, "trough", 1066) and not ns2.is_near(cell, "trough", 1068)
    assert ns2.is_near(cell, "recovery", 6) and not ns2.is_near(cell, "recovery", 6.1)
    assert ns2.is_near(cell, "recovery", None) is False
    wide = next(one for one in ns2.cells() if one.name == "A_1G_100ms_cubic")
    assert ns2.is_near(wide, "first_100ms", 1539) is None
    # Moved half a second earlier or later ns-2 itself has 1304 to 7391.3, and the tolerance is 15 % around.
    collapse = next(one for one in ns2.cells() if one.name == "D_10G_10ms_cubic_paper")
    assert ns2.band(collapse, "trough") == pytest.approx((0.85 * 1304, 1.15 * 7391.3))
    assert ns2.is_near(collapse, "trough", 1109) and not ns2.is_near(collapse, "trough", 1108)
    # With a queue of the sender that never drops it is another band.
    long = next(one for one in ns2.cells() if one.name == "D_10G_10ms_cubic_paper_bigsndq")
    assert ns2.band(long, "trough") == pytest.approx((0.85 * 853.6, 1.15 * 1974.3))
    # Where ns-2 was not back when its run ended, ours must not be either.
    late = next(one for one in ns2.cells() if one.name == "D_100M_1000ms_cubic")
    assert ns2.is_near(late, "recovery", None) and not ns2.is_near(late, "recovery", 50)


def test_a_value_that_is_left_out_counts_as_missed():
    found = board()
    scale = replace(QUICK, ns2_packets=1.5e6)
    evidence = {setting: of(setting) for cell in cells.asked(scale) for setting in cell.settings}
    assert evidence
    cells.judge(found, evidence, scale)
    total = next(one for one in found.claims if one.id == "cells.values")
    every = sum(ns2.is_near(cell, name, None) is not None for cell in ns2.cells() for name in ("move", *cell.values))
    near = sum(one.ours for one in found.claims if one.id.startswith("cells.") and one.id != "cells.values")
    assert total.ours == pytest.approx(100 * near / every) and total.ours < 50


def test_what_is_assumed_reaches_the_network():
    def limits(setting):
        plan = lower(testbed.scenario(setting), 1).content
        names = [plan.links[queue.served_by[0]].name for queue in plan.queues]
        return {name: queue.limit_packets for name, queue in zip(names, plan.queues, strict=True)}

    of_scale = lambda **changes: figure6_of(replace(FULL, **changes), NS2)  # noqa: E731
    usual = limits(of_scale())
    assert {usual[name] for name in ("sender", "ip-1", "ip-2", "optical", "receiver")} == {499}
    assert limits(of_scale(sender_queue=4000)) == usual | {"sender": 3999}
    other = limits(of_scale(router_queues=250))
    assert {name for name in usual if other[name] != usual[name]} >= {"ip-1", "ip-2", "optical"}
    assert (other["sender"], other["receiver"]) == (499, 499)
    flow = lower(testbed.scenario(of_scale(start_ms=500)), 1).content.flows[0]
    assert flow.start_ps == 500 * 10**9
    assert of_scale(start_ms=500).name.endswith("-start-500")


def test_four_elephants_that_may_take_the_one_light_path_pay_the_others_price():
    equal, taken = (managed(case) for case in ("one-path", "taken"))
    of_four, of_others = ([one.mean_fct_s(group)[0] for one in (equal, taken)] for group in ("favoured", "elephant"))
    assert of_four[1] < 0.75 * of_four[0] and of_others[1] > of_others[0]


def test_the_kernels_board_says_which_values_differ(monkeypatch):
    found = board()
    kernel_board.judge(found, {}, FULL)
    assert len(found.claims) == 4 and verdicts(found)["kernel.B-100M-100ms-cubic"] == "shape-pass"
    (model, kernel), *_ = kernel_board.cells().values()
    assert len(model) == 11 and kernel_board.differences(model, kernel) == []
    other = {**kernel, "segments": model["segments"] + 1, "dup_acks": 0}
    assert kernel_board.differences(model, other) == ["segments", "dup_acks"]


def test_a_part_that_runs_nothing_is_reproduced(tmp_path):
    found = reproduce(STUDY, figures=["kernel"], out=tmp_path, executor=Serial())
    assert {claim.figure for claim in found.claims} == {"kernel"}
    rows = (tmp_path / "tables" / "kernel.csv").read_text().splitlines()
    assert rows[0].startswith("cell,engine,") and len(rows) == 9
    assert not (tmp_path / "tables" / "flows.parquet").exists()


def test_moves_at_other_times_are_judged_by_a_rank_test_and_count_falls_by_more_than_half():
    cell = next(one for one in ns2.cells() if one.name == "D_100M_100ms_cubic")
    parts = dict(enumerate((0.45, 0.46, 0.44, 0.57, 0.45, 0.47, 0.46, 0.45)))
    alike = shifts.Moves(cell, parts, {shift: part + 0.001 for shift, part in parts.items()})
    other = shifts.Moves(cell, parts, {shift: part + 0.2 for shift, part in parts.items()})
    assert alike.falls == (7, 7) and alike.p_value > 0.05
    assert other.falls == (0, 7) and other.p_value < 0.01


def test_a_cell_is_moved_at_the_times_at_which_ns2_was():
    moves = {one.move for one in shifts.settings(QUICK) if one.cell.startswith("D-100M-100ms")}
    at_s = next(one for one in ns2.cells() if one.name == "D_100M_100ms_cubic").setting.move_s
    assert moves == {f"{at_s + shift:g}" for shift in (0, -0.5, -0.3, -0.2, -0.1, 0.05, 0.1, 0.3)}


def test_the_smallest_cell_of_ns2_is_met():
    cell = next(one for one in ns2.cells() if one.name == "D_100M_10ms_cubic")
    evidence = {setting: of(setting) for setting in cell.settings}
    values = cells.ours(cell, evidence)
    assert [name for name, value in values.items() if ns2.is_near(cell, name, value) is False] == []


def test_the_manager_moves_the_one_flow_after_it_filled_its_link_for_two_readings():
    # Slow start fills 100 Mb/s in the first second of sending, from 1 s on; the readings at 3 and 4 s see a full link.
    moves = managed(management.ONE_FLOW).moves
    assert moves["time_ns"].to_list() == [4_050_000_000]


def test_the_manager_helps_elephants_and_holding_packets_spares_them_spurious_recoveries():
    unmanaged, kept, held = (managed(case) for case in ("unmanaged", "managed", "held"))
    assert unmanaged.moves.is_empty() and unmanaged.flows.height == kept.flows.height == 200
    assert kept.mean_fct_s("elephant")[0] < 0.5 * unmanaged.mean_fct_s("elephant")[0]
    moved = [one.flows.join(one.moves, on=["run", "flow"], how="semi") for one in (kept, held)]
    assert moved[0]["spurious"].sum() > 0 == moved[1]["spurious"].sum()


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


def test_the_reference_has_every_published_entry_and_nine_of_ten_of_the_compared_values_of_ns2():
    text = (ROOT / "docs/results/lightpath/scoreboard.json").read_text(encoding="utf-8")
    reference = json.loads(text)
    assert (reference["mode"], reference["engine"]) == ("full", "simulated")
    found = {claim["id"]: claim for claim in reference["claims"]}
    for key in STUDY.published():
        assert any(name == key or name.startswith(f"{key}.") for name in found), key
    values = pl.read_csv(ROOT / "docs/results/lightpath/tables/ns2-cells.csv")["near"].drop_nulls()
    assert values.len() > 200 and values.mean() >= 0.9
    # No cell is left out: the values of those that are not run would count as missed.
    assert found["cells.values"]["ours"] == pytest.approx(100 * values.mean(), abs=0.01)
    assert set(STUDY.explanations()) <= {name for name, claim in found.items() if claim["verdict"].endswith("miss")}
