"""The light-path study's claims on made-up runs: as the paper says, just within what is claimed, and just outside."""

from dataclasses import replace

import polars as pl
import pytest

from daybreak.studies import scoreboard
from daybreak.studies.lightpath.claims import figure3, figure4, figure5, figure6, grid, variants
from daybreak.studies.lightpath.measured import Measurements
from daybreak.studies.lightpath.settings import AT_LIMIT, NAMES, NS2, SCALES, STACKS, Setting
from daybreak.studies.lightpath.settings import figure3 as of_figure3
from daybreak.studies.lightpath.settings import figure4 as of_figure4
from daybreak.studies.lightpath.settings import figure5 as of_figure5
from daybreak.studies.lightpath.settings import figure6 as of_figure6
from daybreak.studies.lightpath.settings import grid as of_grid
from daybreak.studies.lightpath.study import STUDY
from daybreak.studies.scoreboard import Scoreboard

FULL, QUICK = SCALES["full"], SCALES["quick"]


def made(setting, mbps, *, tenth=None, ms=None, lost=(), rtts=(1.005, 0.603), windows=None, queues=(), flows=None):
    """A run whose rate at a second after the move is `mbps` of it, from 70 s before to 95 s after."""
    rows = [(1000, float(at), mbps(at), mbps(at), 0.0) for at in range(-70, 95)]
    rows += [(100, 0.1, tenth if tenth is not None else mbps(0), 0.0, 0.0)]
    rows += [(1, 0.001 * at, 0.0, 0.0, rate) for at, rate in ms or ()]
    names = ("width_ms", "time_s", "mbps", "goodput_mbps", "arriving_mbps")
    seen = windows or [(time, 10, 5, rtts[time > 0] * setting.rtt_ms, "Open") for time in (-0.5, 29.0)]
    losses = pl.DataFrame(list(lost), schema={"place": pl.String, "time_s": pl.Float64, "lost": pl.Int64}, orient="row")
    kinds = {"queue": pl.String, "time_s": pl.Float64, "packets": pl.Int64, "max_packets": pl.Int64}
    return Measurements(
        setting, pl.DataFrame(flows or {"dup_acks": [0]}), pl.DataFrame(rows, schema=names, orient="row"),
        pl.DataFrame(seen, schema=("time_s", "cwnd", "ssthresh", "srtt_ms", "state"), orient="row"),
        pl.DataFrame(list(queues), schema=kinds, orient="row"), losses,
    )  # fmt: skip


def judged(judge, evidence, scale):
    board = Scoreboard("lightpath", engine="synthetic", mode="full", seeds=1, published=STUDY.published())
    judge(board, evidence, scale)
    return {claim.id: claim for claim in board.claims}


def holds(claim):
    return claim.verdict in (scoreboard.PASS, scoreboard.SHAPE_PASS)


def of_kind(setting):
    """A cell as sections 4 and 5 have it, in parts of the limiting rate."""
    rate = setting.rate_mbps
    match setting.scenario:
        case "A":
            return made(setting, lambda at: rate if at < 0 else 1.65 * rate)
        case "C2":
            return made(setting, lambda at: rate, tenth=1.4 * rate)
        case "B" | "C1":
            return made(setting, lambda at: 0.9 * rate if at == 0 else rate)
        case _:
            return made(setting, lambda at: 0.1 * rate if 0 <= at < 50 else rate, lost=[("receiver", 0.5, 9)])


def of_grid_but(*others):
    """The grid of both stacks as the paper says, but for these cells."""
    cells = {setting: of_kind(setting) for stack in STACKS for setting in of_grid(QUICK, stack)}
    return cells | {one.setting: one for one in others}


def cell(scenario, rate, rtt):
    return next(
        one for one in of_grid(QUICK, "linux") if (one.scenario, one.rate_mbps, one.rtt_ms) == (scenario, rate, rtt)
    )


def test_the_grid_as_the_paper_says_holds_with_its_numbers():
    found = judged(grid.judge, of_grid_but(), QUICK)
    # Cells that are moved before they have reached the limit, which the rule allows, are counted.
    missed = {name for name, claim in found.items() if not holds(claim)}
    assert missed <= {"setup.move.linux", f"setup.move.{NS2}"}
    linux = {name.removesuffix(".linux"): claim.ours for name, claim in found.items() if name.endswith(".linux")}
    reached = sum(one.reaches_limit for one in of_grid(QUICK, "linux"))
    assert linux == {
        "setup.move": reached, "setup.rtt_base": 1.005, "setup.rtt_optical": pytest.approx(1.005),
        "A.one_kind": 4, "kinds": 20, "BC.small": pytest.approx(10), "BC.short": 2, "other_numbers": 4,
        "D.large": pytest.approx(90),
    }  # fmt: skip


@pytest.mark.parametrize(("scenario", "course", "claims"), [
    ("A", lambda at: 1000 if at < 0 else 1601, set()),
    ("A", lambda at: 1000 if at < 0 else 1599, {"A.one_kind", "kinds"}),
    ("B", lambda at: 801 if at == 0 else 1000, set()),
    ("B", lambda at: 799 if at == 0 else 1000, {"BC.small", "kinds"}),
    ("C1", lambda at: 900 if 0 <= at < 28 else 1000, set()),
    ("C1", lambda at: 900 if 0 <= at < 29 else 1000, {"BC.short"}),
    ("C1", lambda at: 900 if at >= 0 else 1000, {"BC.short"}),
    ("D", lambda at: 199 if at == 0 else 1000, set()),
    ("D", lambda at: 200 if at == 0 else 1000, {"D.large", "other_numbers", "kinds"}),
    ("B", lambda at: 969 if at == -1 else 1000, {"setup.move"}),
])  # fmt: skip
def test_one_cell_that_is_otherwise_is_noticed_and_named(scenario, course, claims):
    setting = cell(scenario, 1000, 100)
    usual = judged(grid.judge, of_grid_but(), QUICK)
    lost = [("receiver", 0.5, 9)] if scenario == "D" else []
    found = judged(grid.judge, of_grid_but(made(setting, course, lost=lost)), QUICK)
    for name in ("A.one_kind", "kinds", "BC.small", "BC.short", "other_numbers", "D.large"):
        assert holds(found[f"{name}.linux"]) == (name not in claims), name
        assert holds(found[f"{name}.{NS2}"])
    counted = claims & {"A.one_kind", "kinds", "other_numbers", "setup.move"}
    for name in counted:
        claim = found[f"{name}.linux"]
        assert claim.ours == usual[f"{name}.linux"].ours - 1 and setting.cell in claim.note


def test_a_collapse_needs_losses_at_r3_within_a_second():
    setting = cell("D", 1000, 100)
    for at, place, is_kind in ((0.999, "receiver", True), (1.0, "receiver", False), (0.5, "sender", False)):
        one = made(setting, lambda at: 100 if at == 0 else 1000, lost=[(place, at, 1)])
        assert holds(judged(grid.judge, of_grid_but(one), QUICK)["kinds.linux"]) == is_kind


def test_every_cell_of_d_has_to_collapse():
    # 0.4 * 10 ms at 100 Mb/s are 33 packets, for which r3 has room: the print does not leave such cells out.
    found = judged(grid.judge, of_grid_but(made(cell("D", 100, 10), lambda at: 100)), QUICK)
    assert found["D.large.linux"].ours == 0
    assert not holds(found["D.large.linux"]) and not holds(found["other_numbers.linux"])


@pytest.mark.parametrize(("rtts", "missing"), [
    ((1.0, 0.6), set()), ((0.998, 0.6), {"setup.rtt_base"}), ((1.0, 0.599), {"setup.rtt_optical"}),
])  # fmt: skip
def test_no_round_trip_is_shorter_than_its_path(rtts, missing):
    found = judged(grid.judge, of_grid_but(made(cell("B", 100, 10), lambda at: 100, rtts=rtts)), QUICK)
    assert {name for name in ("setup.rtt_base", "setup.rtt_optical") if not holds(found[f"{name}.linux"])} == missing


def rising(setting, *, full_at=70, slope=516.0, before=334.3, first=1.2, rise_at=3):
    """Scenario C2: linear up to the limit, a plateau on the old window, and linear again."""
    rate, optical = setting.rate_mbps, 39_813.0

    def mbps(at):
        if at < 0:
            return max(rate / 4, min(rate, rate + before * (at + 10)))
        if at < 3:
            return first * rate
        if at < 25:
            return 1.35 * rate if at >= rise_at else 1.2 * rate
        return optical if at >= full_at - 1 else min(1.35 * rate + slope * (at - 25), 0.98 * optical)

    return made(setting, mbps)


def of_c2(**changes):
    printed = replace(FULL, figure5_mbps=10_000)
    settings = of_figure5(printed, NS2)
    assert (settings[100].move, of_figure5(printed, "linux")) == (AT_LIMIT, {})
    evidence = {setting: rising(setting, **(changes if rtt == 10 else {})) for rtt, setting in settings.items()}
    found = judged(figure5.judge, evidence, printed)
    # The growth at 100 ms is another one, and after the move it is left out.
    assert {name for name, claim in found.items() if name.endswith(".100ms") and not holds(claim)} == {
        f"C2.{name}.{NS2}.100ms" for name in ("linear_before", "linear_after", "optical_full")
    }
    ending = f".{NS2}.10ms"
    return {name.removesuffix(ending): claim for name, claim in found.items() if name.endswith(ending)}


def test_at_less_than_the_printed_rate_the_growth_counts_as_missed():
    slower = replace(FULL, figure5_mbps=1_000)
    evidence = {one: rising(one) for stack in STACKS for one in of_figure5(slower, stack).values()}
    found = judged(figure5.judge, evidence, slower)
    missed = {name.split(".")[1] for name, claim in found.items() if not holds(claim)}
    assert missed >= {"linear_before", "linear_after", "optical_full"} and len(found) == 4 * 5


def test_c2_as_the_paper_says_holds_with_its_numbers():
    found = of_c2()
    assert {name: holds(claim) for name, claim in found.items()} == dict.fromkeys(found, True)
    assert {name: claim.ours for name, claim in found.items()} == {
        "C2.transient": pytest.approx(1.2), "C2.rise": 4, "C2.linear_before": pytest.approx(334.3, rel=1e-3),
        "C2.linear_after": pytest.approx(516), "C2.optical_full": 70,
    }  # fmt: skip


@pytest.mark.parametrize(("changes", "missing"), [
    ({"full_at": 90}, set()), ({"full_at": 91}, {"C2.optical_full"}),
    ({"slope": 516 * 1.049}, set()), ({"slope": 516 * 1.051}, {"C2.linear_after"}),
    ({"slope": 516 * 0.951}, set()), ({"slope": 516 * 0.949}, {"C2.linear_after"}),
    ({"before": 334.3 * 1.049}, set()), ({"before": 334.3 * 1.051}, {"C2.linear_before"}),
    ({"before": 334.3 * 0.951}, set()), ({"before": 334.3 * 0.949}, {"C2.linear_before"}),
    ({"first": 0.9}, set()), ({"first": 0.89}, {"C2.transient"}),
    ({"first": 1.8}, set()), ({"first": 1.81}, {"C2.transient"}),
    ({"first": 1.0, "rise_at": 4}, set()), ({"first": 1.0, "rise_at": 5}, {"C2.rise"}),
])  # fmt: skip
def test_c2_is_judged_at_the_limits_of_what_is_claimed(changes, missing):
    assert {name for name, claim in of_c2(**changes).items() if not holds(claim)} == missing


def of_b(dip=(0, 5), depth=0.95, other=0.95, recoveries=1, dup_acks=0, lost=0):
    evidence = {}
    for stack in STACKS:
        setting = of_figure4(FULL, stack)
        course = made(setting, lambda at: 1000 * (depth if dip[0] <= at < dip[1] else 1), lost=[("ip-1", 0.5, lost)])
        evidence[setting] = course
        evidence[setting.unmoved()] = made(setting.unmoved(), lambda at: 1000)
        c1 = of_figure4(FULL, stack, "C1")
        evidence[c1] = made(c1, lambda at: 1000 * (other if at == 0 else 1))
        counts = ({"dup_acks": 7, "fast_recoveries": 2, "spurious": 1}, None)
        later = {"dup_acks": 7 + dup_acks, "fast_recoveries": 2 + recoveries, "spurious": 1}
        for one, values in zip(figure4.counted(setting), (counts[0], later), strict=True):
            evidence[one] = replace(course, setting=one, flows=pl.DataFrame([values]))
    return {name: claim for name, claim in judged(figure4.judge, evidence, FULL).items() if ".linux" in name}


def test_b_dips_for_seconds_and_counts_what_happened_in_between():
    found = of_b(dup_acks=11)
    assert holds(found["B.dip.linux"]) and found["B.dip.linux"].ours == pytest.approx(950)
    assert found["B.dip.linux"].note.startswith("5 of the seconds") and found["B.dupacks.linux"].ours == 11
    assert holds(found["B.cause.linux"]) and found["B.cause.linux"].ours == 1
    assert holds(found["C1.as_B.linux"]) and found["BC.no_drop.linux.B"].ours == 0
    assert not holds(of_b(recoveries=0)["B.cause.linux"])
    assert of_b(lost=3)["BC.no_drop.linux.B"].ours == 3
    for dip, is_dip in (((0, 0), False), ((0, 1), True), ((0, 30), True), ((0, 31), False)):
        assert holds(of_b(dip=dip)["B.dip.linux"]) == is_dip
    assert not holds(of_b(depth=0.99)["B.dip.linux"]) and holds(of_b(depth=0.989)["B.dip.linux"])
    for other, is_like in ((0.998, False), (0.997, True), (0.903, True), (0.902, False)):
        assert holds(of_b(other=other)["C1.as_B.linux"]) == is_like


def of_d(*, trough=1600.0, lost=335_000, first=2984, queue=149, back=10, dup_acks=20_000, dip=2):
    setting = of_figure6(FULL, "linux")
    losses = [("receiver", 0.0064, first), ("receiver", 0.0066, lost - first), ("receiver", 0.2, 10**6)]
    queues = [("receiver", 0.0, queue, queue)]
    counts = {
        one: {"dup_acks": [number]} for one, number in zip(figure6.counted(setting), (5, 5 + dup_acks), strict=True)
    }

    def mbps(at):
        return trough if 0 <= at < (back or 1000) else 10_000.0

    ms = [(0, 19_000.0), (4, 20_000.0), (5, 90_000.0)]
    one = made(setting, mbps, lost=losses, queues=queues, ms=ms)
    evidence = {of: replace(one, setting=of, flows=pl.DataFrame(flows)) for of, flows in counts.items()} | {
        setting: one
    }
    other = of_figure6(FULL, NS2)
    evidence |= {
        of: replace(one, setting=of, flows=pl.DataFrame({"dup_acks": [0]})) for of in (other, *figure6.counted(other))
    }
    for stack in STACKS:
        of_b = of_figure4(FULL, stack)
        evidence[of_b] = made(of_b, lambda at: 900 if 0 <= at < dip else 1000)
        evidence[of_b.unmoved()] = made(of_b.unmoved(), lambda at: 1000)
    found = judged(figure6.judge, evidence, FULL)
    return {name.removesuffix(".linux"): claim for name, claim in found.items() if name.endswith(".linux")}


def test_d_loses_what_the_overlap_brings_beyond_r3s_free_buffer():
    # 0.4 * 10 ms at 10 Gb/s are 3333.3 packets; of 500 places one is the packet that is sent, and 149 wait.
    found = of_d()
    assert {name: claim.ours for name, claim in found.items()} == {
        "D.severe": 84, "D.overlap": 20, "D.drops": 335_000, "D.first_loss": 2984, "D.trough": 1.6, "D.dupacks": 20_000,
        "D.recovery": pytest.approx(11 / 0.006, rel=1e-5), "D.longer": 5.5,
    }  # fmt: skip
    assert {name for name, claim in found.items() if not holds(claim)} == set()
    assert "2983 expected with 149 packets" in found["D.first_loss"].note


@pytest.mark.parametrize(("changes", "missing"), [
    # Within 20 % of the printed 1.6 Gb/s.
    ({"trough": 1279.0}, {"D.trough"}), ({"trough": 1281.0}, set()), ({"trough": 1919.0}, set()),
    ({"trough": 1921.0}, {"D.trough"}), ({"trough": 5000.0}, {"D.trough", "D.severe"}),
    # Within 20 % of the printed 335,107.
    ({"lost": 268_085}, {"D.drops"}), ({"lost": 268_086}, set()), ({"lost": 402_128}, set()),
    ({"lost": 402_129}, {"D.drops"}), ({"first": 3014}, {"D.first_loss"}), ({"first": 2953}, {"D.first_loss"}),
    ({"queue": 180}, {"D.first_loss"}), ({"dup_acks": 10_000}, {"D.dupacks"}), ({"dup_acks": 10_001}, set()),
    # A thousand RTTs of 6 ms are 6 s.
    ({"back": 4}, {"D.recovery"}), ({"back": 5}, set()),
    # One that is not back within the run has no time that could be long.
    ({"back": None}, {"D.recovery", "D.longer"}),
    # B is below for 5 or 6 s, D is back after 11.
    ({"dip": 5}, set()), ({"dip": 6}, {"D.longer"}),
])  # fmt: skip
def test_d_is_judged_at_the_limits_of_what_is_claimed(changes, missing):
    assert {name for name, claim in of_d(**changes).items() if not holds(claim)} == missing


def test_a_queue_that_stays_full_has_filled_once():
    samples = [("receiver", float(at), 0, packets) for at, packets in enumerate([499, 499, 498, 500, 10, 499])]
    one = made(of_figure6(FULL, "linux"), lambda at: 1, queues=[*samples, ("sender", 4.0, 0, 500)])
    assert [figure6.fillings(one, *span) for span in ((0, 6), (1, 6), (2, 6), (0, 5), (4, 5))] == [3, 3, 2, 2, 0]


def test_growth_is_that_of_congestion_avoidance_where_the_window_does_not_fall():
    setting = Setting("D", 100, 100, "reno")
    rows = [
        (0.0, 50, 100, 100.0, "Open"), (0.1, 100, 100, 100.0, "Open"), (0.2, 101, 100, 100.0, "Open"),
        (0.3, 103, 100, 100.0, "Open"), (0.4, 104, 100, 100.0, "Open"), (0.5, 60, 100, 100.0, "Recovery"),
        (0.6, 60, 50, 100.0, "Open"), (0.8, 62, 50, 100.0, "Open"),
    ]  # fmt: skip
    # From 101 to 104 in two round trips, and from 60 to 62 in two.
    assert variants.packets_per_rtt(made(setting, lambda at: 1, windows=rows)) == pytest.approx(5 / 4)
    assert variants.packets_per_rtt(made(setting, lambda at: 1, windows=rows[:3])) == 0.0


@pytest.mark.parametrize(
    ("compound", "cubic", "is_faster"), [(1, 5, True), (5, 5, False), (6, 5, False), (0, 0, False)]
)
def test_compound_has_to_be_back_earlier_somewhere(compound, cubic, is_faster):
    def of(one):
        falls = {"compound": compound, "cubic": cubic}.get(one.variant, 0) if one.scenario == "D" else 0
        return made(one, lambda at: one.rate_mbps * (0.1 if 0 <= at < falls else 1))

    small = QUICK.of_variants()
    evidence = {one: of(one) for stack in STACKS for one in of_grid(small, stack, NAMES)}
    found = judged(variants.judge, evidence, QUICK)
    assert holds(found[f"var.faster.{NS2}"]) == is_faster
    # It may be back as late as CUBIC, but in no cell later; the cells that are later are counted and named.
    later = [one.cell for one in of_grid(small, NS2, ["compound"]) if one.scenario == "D"] if compound > cubic else []
    never = found[f"var.compound.{NS2}"]
    assert (holds(never), never.ours) == (not later, len(later))
    assert ("later in: " in never.note) == bool(later)
    assert all(f"{one} (7 s after 6 s)" in never.note for one in later)


def lines_of(axes):
    """The curves of a panel by name, without the vertical line at the event and the rate of a link."""
    return {
        line.get_label(): (line.get_xdata().tolist(), line.get_ydata().tolist(), line.get_linestyle())
        for line in axes.get_lines()
        if not line.get_label().startswith("_")
    }


def test_figure_4_has_b_with_and_without_the_move_beside_c1():
    evidence = {}
    for stack in STACKS:
        setting, c1 = of_figure4(QUICK, stack), of_figure4(QUICK, stack, "C1")
        evidence[setting] = made(setting, lambda at: 1250 if at >= 0 else 1500, tenth=500)
        evidence[setting.unmoved()] = made(setting.unmoved(), lambda at: 1500)
        evidence[c1] = made(c1, lambda at: 750 if at >= 0 else 1500)
    figure = STUDY.experiments["4"].draw(evidence, QUICK, {})["figure4"]
    panels = {axes.get_title(): lines_of(axes) for axes in figure.axes}
    assert list(panels) == [
        f"{kind}, {name}, bins of {width} ms"
        for name in STACKS.values() for width in (1000, 100) for kind in ("B", "C1")
    ]  # fmt: skip
    for name in STACKS.values():
        b, c1 = panels[f"B, {name}, bins of 1000 ms"], panels[f"C1, {name}, bins of 1000 ms"]
        # Each second at its end, in Gb/s, from 5 s before the move to 25 s after it.
        times = [float(at) for at in range(-5, 26)]
        assert b["with the move"] == (times, [1.5 if at <= 0 else 1.25 for at in times], "-")
        assert b["without"] == (times, [1.5] * len(times), "--")
        assert c1 == {"with the move": (times, [1.5 if at <= 0 else 0.75 for at in times], "-")}
        assert panels[f"B, {name}, bins of 100 ms"]["with the move"][:2] == ([0.2], [0.5])


@pytest.mark.parametrize(("rate", "is_stable"), [(970, True), (969, False)])
def test_a_is_stable_if_each_of_five_seconds_is_at_the_limit(rate, is_stable):
    def course(at):
        return 1667 if at >= 0 else rate if at >= -5 else 0

    evidence = {one: made(one, course) for stack in STACKS for one in of_figure3(QUICK, stack).values()}
    found = judged(figure3.judge, evidence, QUICK)
    assert {holds(claim) for name, claim in found.items() if name.startswith("A.stable")} == {is_stable}


def test_c2_at_100_ms_is_left_out_from_the_move_on():
    evidence = {one: rising(one) for stack in STACKS for one in of_figure5(FULL, stack).values()}
    found = judged(figure5.judge, evidence, FULL)
    left = {name for name, claim in found.items() if claim.verdict == scoreboard.LEFT_OUT}
    assert left == {f"C2.linear_after.{NS2}.100ms", f"C2.optical_full.{NS2}.100ms"}


@pytest.mark.parametrize(("seconds", "missing"), [
    ({"cubic": 5, "reno": 9, "vegas": 20}, set()),
    ({"cubic": 5, "reno": 5, "vegas": 20}, {"var.recovery.ns2-2009.reno"}),
    ({"cubic": 9, "reno": 5, "vegas": 4}, {"var.recovery.ns2-2009.reno", "var.recovery.ns2-2009.vegas"}),
    # Where nothing falls nothing recovers later.
    ({"cubic": 0, "reno": 0, "vegas": 0}, {"var.recovery.ns2-2009.reno", "var.recovery.ns2-2009.vegas"}),
])  # fmt: skip
def test_reno_and_vegas_have_to_be_back_later_than_cubic_in_every_cell_that_falls(seconds, missing):
    def of(one):
        falls = seconds.get(one.variant, 1) if one.scenario == "D" else 0
        return made(one, lambda at: one.rate_mbps * (0.1 if 0 <= at < falls else 1))

    small = QUICK.of_variants()
    evidence = {one: of(one) for stack in STACKS for one in of_grid(small, stack, NAMES)}
    found = judged(variants.judge, evidence, QUICK)
    ours = {name for name, claim in found.items() if name.startswith("var.recovery.ns2") and not holds(claim)}
    assert ours == missing
    assert {claim.statement for name, claim in found.items() if name.startswith("var.rec")} == {"var.reno_vegas"}
