"""The Etalon study: its settings are scenarios, its claims get the measurements, and a small run of it."""

import csv
import json
from dataclasses import replace

import polars as pl
import pytest
from executors import Serial
from ready_files import ROOT

import daybreak
from daybreak import _native
from daybreak.scenario.lowering import lower
from daybreak.studies import page, scoreboard, study, tally
from daybreak.studies.etalon import beside, claims, eight_racks, measured, plots, testbed
from daybreak.studies.etalon.settings import SCALES, STATIC, Setting, dynamic, static, switches, undilated
from daybreak.studies.etalon.study import STUDY
from daybreak.studies.hosts import LINUX_4_15
from daybreak.studies.reproduce import reproduce
from daybreak.studies.scales import varied
from daybreak.studies.scoreboard import Scoreboard

QUICK = SCALES["quick"]
SETTINGS = STUDY.settings(QUICK)
SMALL = replace(QUICK, weeks=12)


def test_settings_have_names_of_their_own():
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    assert study("etalon") is STUDY


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_a_sound_plan(setting):
    _native.check_plan(lower(testbed.scenario(setting), 1).json)


@pytest.mark.parametrize("racks", [3, 8, 25])
def test_the_week_is_that_of_the_racks(racks):
    scenario = testbed.scenario(replace(static(SMALL, "cubic", 16), racks=racks))
    assert scenario.schedule.week(scenario.topology) == (racks - 1) * 200_000_000
    assert int(scenario.duration) == 12 * (racks - 1) * 200_000_000
    source, destination = testbed.pair(racks)
    # The data's circuit comes last in the week.
    days = scenario.schedule.days(scenario.topology)[source, destination]
    assert days[-1][1] == (racks - 1) * 200_000_000


def test_marks_and_sizes_are_those_of_the_setting():
    document = testbed.scenario(dynamic(SMALL, "retcp", 150)).document()
    assert document["schedule"]["resize"] == {"limit": "50 packets", "before": "150 us"}
    assert document["schedule"]["announce"] == {"before": "150 us", "until": "next_check"}
    assert document["stack"]["timer_dilation"] == 20
    alone = testbed.scenario(undilated(static(SMALL, "retcp", 32))).document()
    assert "resize" not in alone["schedule"] and alone["schedule"]["announce"]["before"] == "600 us"
    assert "timer_dilation" not in alone["stack"]
    assert "announce" not in testbed.scenario(static(SMALL, "cubic", 32)).document()["schedule"]


def test_sizes_are_varied_by_name():
    assert varied(QUICK, {"racks": "8", "large": "64"}) == replace(QUICK, racks=8, large=64)
    with pytest.raises(daybreak.errors.ScenarioError, match="racks: 2 is below the 3"):
        varied(QUICK, {"racks": "2"})
    with pytest.raises(daybreak.errors.UnknownName, match='"rack" is not one of weeks'):
        varied(QUICK, {"rack": "8"})
    with pytest.raises(daybreak.errors.ScenarioError, match='"many" is not of type int'):
        varied(QUICK, {"weeks": "many"})


def made_up(setting, seed=1, better=0.0):
    """Measurements of a setting as published, and better."""
    published = STUDY.published()
    figures = {figure: claims.points(figure, QUICK) for figure in "456789"}
    figures |= {f"{eight_racks.KEY}.{figure}": points for figure, points in eight_racks.points(QUICK).items()}
    found = {}
    for figure, points in figures.items():
        end = {one: end for end, one in points.items()}.get(setting)
        for name in ("utilisation", *claims.LATENCIES):
            entry = published.get(f"{figure}.{name}.{end}")
            if entry is not None:
                found[name] = entry.value + better
    expected = claims.PACKET_TIME_US * setting.small + claims.WITHOUT_QUEUE_US
    row = dict.fromkeys(("utilisation", *claims.LATENCIES), 50.0) | found | {"max_packet": expected + 5 * better}
    week = (setting.racks - 1) * (setting.day_us + setting.night_us)
    best = claims.optimal(setting)
    curve = {"time_us": [0.0, week - 180.0, float(week)], "kilobytes": [0.0, 0.0, 0.9 * best[week]]}
    return measured.Measurements(
        setting,
        pl.DataFrame({"run": [seed]}),
        pl.DataFrame([row | {"run": seed}]),
        pl.DataFrame(curve | {"run": [seed] * 3}),
        occupancy(setting, seed, better),
    )


def occupancy(setting, seed, better):
    """A VOQ with 14 packets that has 40 from its growth to the day; or 10 more throughout."""
    week = (setting.racks - 1) * (setting.day_us + setting.night_us)
    grown = week - setting.day_us - (setting.tau_us or 0)
    times = [float(at) for at in range(0, week, 20)]
    packets = [14.0 + better / 10 * bool(setting.tau_us) + 26 * (grown < at <= week - setting.day_us) for at in times]
    return pl.DataFrame({"time_us": times, "packets": packets, "run": [seed] * len(times)})


def judged(better):
    board = Scoreboard("etalon", engine="simulated", mode="quick", seeds=1, published=STUDY.published())
    for experiment in STUDY.experiments.values():
        experiment.judge(board, {one: made_up(one, better=better) for one in experiment.settings(QUICK)}, QUICK)
    return {claim.id: claim for claim in board.claims}


def test_values_as_published_pass_and_others_miss():
    same, other = judged(0.0), judged(100.0)
    values = [name for name in same if name[0] in "456789" and ".curve." not in name and not name.endswith(".rank")]
    assert len(values) == 244 + 351
    assert {same[name].verdict for name in values} == {scoreboard.PASS}
    wide = {name for name in values if float(other[name].tolerance) >= 100}
    assert not wide and {other[name].verdict for name in values} == {scoreboard.MISS}
    assert (same["check.latency"].verdict, other["check.latency"].verdict) == ("shape-pass", "shape-miss")
    assert (same["check.day"].verdict, other["check.day"].verdict) == ("shape-pass", "shape-miss")


def test_what_the_talk_says_in_words_can_miss():
    names = {
        f"headline.{name}"
        for name in ("dynamic", "mitigates", "together", "large", "short", "ramp", "needs", "buffers")
    }
    assert {judged(0.0)[name].verdict for name in names} == {"shape-pass", "pass"}
    assert {judged(100.0)[name].verdict for name in ("headline.ramp", "headline.buffers")} == {"shape-miss", "miss"}
    settings = claims.headline(QUICK)
    alike = {one: made_up(static(QUICK, "cubic", 16)) for one in settings}
    board = Scoreboard("etalon", engine="simulated", mode="quick", seeds=1, published=STUDY.published())
    claims.judge_headline(board, {one: replace(alike[one], setting=one) for one in settings}, QUICK)
    never = {"headline.ramp", "headline.short", "headline.buffers"}  # Of a VOQ that is always alike.
    assert {claim.id for claim in board.claims if claim.verdict.endswith("miss")} >= names - never


def test_both_techniques_are_best_by_latency_at_equal_utilisation():
    """By utilisation alone CUBIC has more where VOQs grow early; the tail decides, at the least tau with as much."""
    settings = claims.headline(QUICK)
    evidence = {one: made_up(one) for one in settings}
    rival = evidence[dynamic(QUICK, "cubic", 2100)]
    evidence[rival.setting] = replace(rival, values=rival.values.with_columns(p99_all=pl.lit(100.0)))
    board = Scoreboard("etalon", engine="simulated", mode="quick", seeds=1, published=STUDY.published())
    claims.judge_headline(board, evidence, QUICK)
    rows = {claim.id: claim for claim in board.claims}
    assert rows["headline.together"].verdict == "shape-miss"
    assert "CUBIC alone, grown 2100 us before" in rows["headline.together"].note
    assert "reTCP alone, VOQs of 64 packets" in rows["headline.together"].note
    assert rows["headline.needs"].ours == 1800


def test_numbers_are_counted_by_where_they_are_from():
    rows = judged(0.0)
    counts = tally.by_source(rows.values())
    talk = "that the talk prints"
    assert (counts[talk].hold, counts[talk].judged) == (4, 4)  # 91 % with its 1800 us, 93 %, 1.20, and 40 packets.
    assert f"4 of 4 numbers {talk}, " in tally.headline(rows.values())
    assert sum(one.judged for one in counts.values()) == tally.tally(rows.values())["number"].judged
    # Latencies of all packets and of the packet network that are published alike count once.
    assert rows["5.p50_packet.64p"].statement != rows["5.p50_all.64p"].statement
    assert rows["5.p50_packet.32p"].statement == rows["5.p50_all.32p"].statement


@pytest.mark.parametrize(("place", "mode"), [("etalon", "full"), ("etalon-kernel", "full")])
def test_values_are_read_from_the_tables_of_a_result(place, mode):
    scale = STUDY.scales[mode]
    folder = ROOT / "docs/results" / place
    board = json.loads((folder / "scoreboard.json").read_text(encoding="utf-8"))
    rows = {row["id"]: row for row in board["claims"]}
    for end, setting in claims.points("9", scale).items():
        found = STUDY.measured(setting, STUDY.again(setting, folder / "tables"))
        assert found.mean("utilisation") == pytest.approx(rows[f"9.utilisation.{end}"]["ours"], rel=1e-5)
        assert found.mean("p99_all") == pytest.approx(rows[f"9.p99_all.{end}"]["ours"], rel=1e-5)
        assert found.progress.is_empty() and found.flows["segments"].min() > 0


def test_what_the_tables_of_a_result_do_not_have_is_not_judged_from_them():
    board = Scoreboard("etalon", engine="kernel", mode="full", seeds=3, published=STUDY.published())
    folder, scale = ROOT / "docs/results/etalon-kernel/tables", STUDY.scales["full"]
    evidence = {one: STUDY.measured(one, STUDY.again(one, folder)) for one in claims.headline(scale)}
    claims.judge_headline(board, evidence, scale)
    rows = {claim.id: claim.verdict for claim in board.claims}
    assert {name for name, verdict in rows.items() if verdict == "not-evaluated"} == {
        "headline.buffers",
        "headline.ramp",
    }


def test_every_published_entry_is_judged():
    assert set(judged(0.0)) == set(STUDY.published())


def test_the_order_of_the_variants_is_judged_by_itself():
    settings = claims.points("4", QUICK)
    printed = {one: STUDY.published()[f"4.utilisation.{end}"].value for end, one in settings.items()}

    def ranked(value):
        board = Scoreboard("etalon", engine="simulated", mode="quick", seeds=1, published=STUDY.published())
        evidence = {one: made_up(one, better=value(printed[one]) - printed[one]) for one in settings.values()}
        claims.judge_values("4", board, evidence, settings)
        (found,) = (claim for claim in board.claims if claim.id == "4.rank")
        return found.ours, found.verdict, found.kind

    # All within the tolerance of 4 points of each other, and yet in the opposite order.
    assert ranked(lambda percent: percent / 2) == (1.0, scoreboard.PASS, "own")
    assert ranked(lambda percent: 50 - percent / 100) == (-1.0, scoreboard.MISS, "own")


def test_the_run_with_eight_racks_has_a_week_and_voqs_of_its_own():
    points = eight_racks.points(QUICK)
    assert {(one.racks, one.large) for figure in points.values() for one in figure.values()} == {(8, None), (8, 64)}
    week = testbed.scenario(points["6"]["300us"]).document()["schedule"]
    assert (week["as_racks"], week["resize"]) == (8, {"limit": "64 packets", "before": "300 us"})
    assert len(eight_racks.settings(QUICK)) == len(set(eight_racks.settings(QUICK))) == 118


def test_the_emulators_hosts_are_older_than_the_kernel_engines():
    setting = static(SMALL, "bic", 16)
    assert testbed.scenario(setting).document()["stack"]["legacy"] == list(LINUX_4_15)
    real = testbed.scenario(setting, real_hosts=True).document()["stack"]
    assert "legacy" not in real and (real["hz"], real["tso_max_bytes"]) == (250, 65_536)
    newer = replace(setting, hosts=replace(setting.hosts, older=0))
    assert "legacy" not in testbed.scenario(newer).document()["stack"]


def test_the_voq_is_not_drawn_through_a_long_night():
    slow = made_up(switches(QUICK)["slow"])
    times = [9_000.0, 10_000.0, 10_500.0, 11_000.0, 12_000.0]
    seen = plots._seen(replace(slow, occupancy=pl.DataFrame({"time_us": times, "packets": [1.0] * 5, "run": [1] * 5})))
    assert seen["packets"].to_list() == [1.0, 1.0, None, 1.0, 1.0]


def test_a_claim_of_other_racks_is_not_made():
    board = Scoreboard("etalon", engine="simulated", mode="quick", seeds=1, published=STUDY.published())
    scale = replace(QUICK, racks=8)
    for experiment in STUDY.experiments.values():
        experiment.judge(board, {}, scale)
    assert not board.claims


def test_what_a_flow_can_carry_at_best():
    """The published curve: 357.81 kB in the night before the day, 470.31 kB at the end of the week."""
    best = claims.optimal(Setting("cubic", 1, 25, 16, 20))
    assert best[4600] == pytest.approx(357.81, abs=0.01)
    assert best[4800] == pytest.approx(470.31, abs=0.01)
    assert len(switches(QUICK)) == 3


@pytest.mark.parametrize("packets", [4, 16, 64])
def test_the_latency_of_a_full_voq_is_what_arithmetic_says(packets):
    """Not a published value but what must hold for any run: no packet waits longer than behind a full VOQ."""
    run = daybreak.run(testbed.scenario(static(SMALL, "cubic", packets)), seed=3)
    (row,) = measured.of_run(run)["values"].iter_rows(named=True)
    expected = claims.PACKET_TIME_US * packets + claims.WITHOUT_QUEUE_US
    assert expected - 2 <= row["max_packet"] <= expected
    assert row["utilisation"] <= 100 * 201 * 8948 * 8 / (180e-6 * 80e9)


def test_packets_of_the_day_leave_by_the_circuit_and_no_others():
    setting = static(SMALL, "reno", 16)
    run = daybreak.run(testbed.scenario(setting), seed=1)
    sent = run.packets.filter(pl.col("link_name") == "circuit-1-2").select(at=pl.col("time_ns") % 4_800_000)
    assert sent.height > 300
    assert sent["at"].min() >= 4_620_000 and sent["at"].max() < 4_800_000
    uplink = run.packets.filter(pl.col("link_name") == "packet-2.back")
    # One packet may be in the packet switch when the night begins: 5 us and two serialisations.
    late = uplink.filter((pl.col("time_ns") % 4_800_000) > 4_600_000 + 7_200 + 5_000 + 7_200)
    assert late.height == 0


def test_a_small_reproduction_writes_its_tables(tmp_path):
    board = reproduce(STUDY, figures=["5"], sizes={"weeks": "8", "racks": "8"}, out=tmp_path, executor=Serial())
    assert board.claims == []
    with (tmp_path / "tables" / "values-5.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["small_packets"]) for row in rows] == list(STATIC)
    assert all(0 < float(row["utilisation"]) <= 100 for row in rows)
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "`daybreak reproduce etalon --quick --weeks 8 --racks 8 --figure 5`" in text


def test_the_model_is_set_beside_linux_in_the_same_scenarios(monkeypatch):
    ran = {}

    def made_up(jobs, *, engine, workers, reduce):
        ran[engine] = jobs
        high = {"simulated": 50.0, "kernel": 49.0}[engine]
        return [dict.fromkeys(beside.QUANTITIES, high + n) for n, _ in enumerate(jobs)]

    monkeypatch.setattr(beside, "run_many", made_up)
    table = beside.beside(SCALES["quick"])
    assert ran["simulated"] == ran["kernel"] and len(ran["kernel"]) == table.height
    stacks = {(job[0].stack.hz, job[0].stack.tso_max_bytes, job[0].stack.legacy) for job in ran["kernel"]}
    assert stacks == {(250, 65_536, ())}, "the emulator's hosts, with the TCP of Linux 6.1"
    assert table["utilisation_linux"].to_list() == [49.0 + n for n in range(table.height)]
    assert table["p99_packet_difference"].unique().to_list() == [1.0]
    settings = table["setting"].to_list()
    assert len(set(settings)) == len(settings) and any(name.startswith("retcp-16to50-150us") for name in settings)


def test_a_page_of_real_linux_has_words_and_explanations_of_its_own():
    reasons = STUDY.explanations("kernel")
    assert set(reasons) - set(STUDY.explanations()) <= set(STUDY.published())
    assert reasons["7.utilisation.dctcp"] != STUDY.explanations()["7.utilisation.dctcp"]
    said = page.words(STUDY)
    for engine, mine, other in (("kernel", "_kernel", ""), ("simulated", "", "_kernel")):
        board = Scoreboard("etalon", engine=engine, mode="full", seeds=1, published=STUDY.published())
        text = page.write(STUDY, board, [page.Section("dilation", (), ())], QUICK, of_record=True)
        for there, words in (
            (f"summary{mine}", said), (f"changed{mine}", said), (f"text{mine}", said["figure"]["dilation"]),
        ):  # fmt: skip
            assert words[there].strip() in text
            assert words[there.removesuffix("_kernel") + other].strip() not in text
        assert ("What depends on each inference" in text) == (engine == "simulated")
        assert ("None of these was varied on this engine" in text) == (engine == "kernel")
    board = Scoreboard("etalon", engine="kernel", mode="full", seeds=1, published=STUDY.published())
    text = page.write(STUDY, board, [page.Section("dilation", (), ())], QUICK)
    assert said["summary_kernel"].strip() not in text, "that was written for the committed result alone"
