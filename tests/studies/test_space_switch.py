"""The space-switch study: its claims on what the paper prints and on the opposite, and its network."""

import json
from dataclasses import replace
from itertools import pairwise

import polars as pl
import pytest
from ready_files import ROOT

from daybreak.engines import run
from daybreak.metrics import fct
from daybreak.studies.kept import FLOW_COLUMNS
from daybreak.studies.scoreboard import LEFT_OUT, NOT_EVALUATED, Scoreboard
from daybreak.studies.space_switch import settings as grids
from daybreak.studies.space_switch import testbed
from daybreak.studies.space_switch.measured import Measurements, of_run, of_runs
from daybreak.studies.space_switch.settings import SCALES, SCHEMES, TRANSFERS, Setting, one
from daybreak.studies.space_switch.study import STUDY

FULL = SCALES["full"]
PUBLISHED = STUDY.published()
SIZES = {"elephant": 3 * 2**30, "mouse": 250 * 2**20}


def measured(setting, values):
    """Flows with a completion time and a throughput for each class and run.

    Two flows have any mean throughput with any mean time that is not shorter than what that throughput takes.
    """
    rows = []
    for group, (mbps, seconds) in values.items():
        for number, (rate, time) in enumerate(zip(mbps, seconds, strict=True), start=1):
            rows += [
                {"group": group, "run": number, "goodput_gbps": rate * setting.rate_mbps / 1e6, "fct_s": time}
                for _ in range(2)
            ]
    columns = dict.fromkeys(FLOW_COLUMNS, 0) | {"group": "", "bytes": 1, "end_ns": 1, "fct_ns": 1}
    frame = pl.DataFrame([columns | row for row in rows])
    return Measurements(setting, frame)


def printed(setting, opposite=False):
    """What the tables print of a cell, as three runs with the same least, mean and largest value; or something else."""
    found = {}
    for group, (rate, time) in {"elephant": ("table1", "table2"), "mouse": ("table3", "table4")}.items():
        both = []
        for table in (rate, time):
            key = f"{table}.{setting.scheme}.{setting.transfers}"
            least, mean, largest = (PUBLISHED[f"{key}.{end}"].value for end in ("min", "mean", "max"))
            # Fifteen values with these three.
            middle = (15 * mean - least - largest) / 13
            values = [least, *[middle] * 13, largest]
            both.append([2.5 * value for value in values] if opposite else values)
        found[group] = both
    # Transfers time out where they move, and send nothing again where elephants are alone.
    counts = {"rtos": 5 if setting.scheme in grids.TURNS else 0, "retransmits": int(setting.scheme != "on_demand")}
    flows = measured(setting, found).flows
    return Measurements(setting, flows.with_columns(**{name: pl.lit(count) for name, count in counts.items()}))


def evidence(opposite=False):
    found = {cell: printed(cell, opposite) for cell in grids.printed(FULL)}
    for cell in grids.spread(FULL):
        # A second uplink gives nothing, or all that elephants have on demand.
        like = one(FULL, cell.transfers, "on_demand" if opposite else "no_direct_link")
        found[cell] = Measurements(cell, found[like].flows)
    for cell in grids.epochs(FULL):
        rate = 1e6 if opposite else 1
        found.setdefault(cell, measured(cell, {"elephant": ([rate], [1]), "mouse": ([rate], [1])}))
    for cell, at_once in grids.instant(FULL).items():
        found[at_once] = Measurements(at_once, found[cell].flows)
    for cell, fast in grids.fast(FULL).items():
        found[fast] = measured(
            fast, {g: ([1], [found[cell].mean(g, "completion") / 100 * (1 + opposite)]) for g in SIZES}
        )
    for scheme, rate in {"no_direct_link": 1.0, "ut": 0.9, "on_demand": 1.5}.items():
        for cell in grids.variants(FULL, scheme).values():
            # Those of CUBIC with the default settings are cells of the tables.
            found.setdefault(cell, measured(cell, {g: ([1.0 if opposite else rate], [1]) for g in SIZES}))
    for cell, real in grids.kernel_cells(FULL).items():
        found[cell] = measured(cell, {g: ([1], [1 + opposite]) for g in SIZES})
        found[real] = measured(real, {g: ([1], [1]) for g in SIZES})
    return found


def judged(found, mode="full"):
    board = Scoreboard("space-switch", engine="synthetic", mode=mode, seeds=15, published=PUBLISHED)
    for figure, experiment in STUDY.experiments.items():
        if figure not in ("policies", "gap", "causes", "delays"):
            experiment.judge(board, found, FULL)
    if mode == "full":
        board.complete()
    return board


def test_every_claim_holds_on_what_the_paper_prints():
    board = judged(evidence())
    missed = {claim.id: (claim.ours, claim.note) for claim in board.claims if claim.verdict.endswith("miss")}
    # The paper prints two values for this cell.
    assert PUBLISHED["on_demand.gain.48"].value != PUBLISHED["on_demand.figure8b"].value
    assert set(missed) == {"on_demand.figure8b"}, missed
    assert not [claim.id for claim in board.claims if claim.verdict == LEFT_OUT]
    # What nothing here can judge has its reason on the page.
    assert {claim.id for claim in board.claims if claim.verdict == NOT_EVALUATED} == {"dt.isolates", "transient"}
    used = {key for claim in board.claims for key in PUBLISHED if claim.id == key or claim.id.startswith(f"{key}.")}
    assert used == set(PUBLISHED)


def test_half_of_the_throughput_is_gained_where_it_is_least():
    ours = {claim.id: claim.ours for claim in judged(evidence()).claims}
    gains = [ours[f"on_demand.gain.{transfers}"] for transfers in TRANSFERS]
    assert len(set(gains)) == 3 and ours["abstract.half"] == pytest.approx(min(gains), abs=0.01)


def test_every_number_of_the_tables_can_miss():
    board = judged(evidence(opposite=True))
    held = {claim.id for claim in board.claims if claim.verdict.endswith("pass")}
    assert not [name for name in held if name.startswith(("table", "scaling", "kernel", "fig3", "capacity"))]
    assert {name for name in held if name.startswith("variants")} <= {"variants.ut.cubic", "variants.on_demand.cubic"}


def swapped(first, second):
    """What the paper prints, with two schemes exchanged."""
    found = evidence()
    for transfers in TRANSFERS:
        a, b = one(FULL, transfers, first), one(FULL, transfers, second)
        found[a], found[b] = Measurements(a, found[b].flows), Measurements(b, found[a].flows)
    return {claim.id for claim in judged(found).claims if claim.verdict.endswith("miss")}


def test_every_statement_can_miss():
    missed = swapped("no_direct_link", "ut") | swapped("no_direct_link", "dt") | swapped("no_direct_link", "on_demand")
    missed |= swapped("ut", "on_demand") | swapped("dt", "on_demand")
    assert {"abstract.detrimental", "abstract.half"} <= missed
    statements = (
        "order",
        "ut.worse",
        "ut.severe",
        "ut.slow_start",
        "dt.gain",
        "dt.spread",
        "on_demand.stable",
        "spread",
    )
    numbers = ("on_demand.gain", *(f"effect{n}.{scheme}" for n in (1, 2, 3, 4) for scheme in grids.TURNS))
    for claim in (*statements, *numbers, "effect3.on_demand", "effect4.on_demand"):
        assert {f"{claim}.{transfers}" for transfers in TRANSFERS} & missed, claim
    assert {f"order.{transfers}" for transfers in TRANSFERS} <= missed


def test_a_mean_of_a_scheme_with_turns_holds_only_with_what_it_changes():
    found = evidence()
    for transfers in TRANSFERS:
        # Without direct links all is 5 % slower than printed, which is within the tolerance.
        cell = one(FULL, transfers, "no_direct_link")
        slow = (pl.col("goodput_gbps") / 1.05, pl.col("fct_s") * 1.05)
        found[cell] = Measurements(cell, found[cell].flows.with_columns(*slow))
    board = judged(found)
    rows = {claim.id: claim for claim in board.claims}
    assert rows["table1.ut.48.mean"].verdict == rows["table1.no_direct_link.48.mean"].verdict == "pass"
    assert rows["effect1.ut.48"].verdict == "miss"
    assert rows["effect1.ut.48"].statement == rows["table1.ut.48.mean"].statement


def test_a_mean_of_mice_holds_only_with_what_the_scheme_changes():
    found = evidence()
    cell = one(FULL, 72, "ut")
    slow = pl.when(pl.col("group") == "mouse").then(1.1 * pl.col("fct_s")).otherwise(pl.col("fct_s")).alias("fct_s")
    found[cell] = Measurements(cell, found[cell].flows.with_columns(slow))
    rows = {claim.id: claim for claim in judged(found).claims}
    assert (rows["table4.ut.72.mean"].verdict, rows["effect4.ut.72"].verdict) == ("pass", "miss")
    assert rows["effect4.ut.72"].statement == rows["table4.ut.72.mean"].statement


def test_what_repeats_a_number_and_what_no_sentence_has_are_no_statements():
    rows = {claim.id: claim for claim in judged(evidence()).claims}
    assert rows["abstract.half"].statement == rows["on_demand.gain.24"].statement
    assert rows["abstract.half"].kind == rows["on_demand.gain.24"].kind == "number"
    assert {rows[f"{name}.{transfers}"].kind for name in ("order", "spread") for transfers in TRANSFERS} == {"own"}


def test_a_result_is_judged_from_its_tables_again():
    setting = one(FULL, 24, "ut")
    runs = STUDY.again(setting, ROOT / "docs/results/space_switch/tables")
    assert sorted(runs) == list(range(1, 16))
    cells = pl.read_csv(ROOT / "docs/results/space_switch/tables/cells.csv")
    row = cells.filter(setting=setting.name, vm_class="elephant", metric="throughput").row(0, named=True)
    assert STUDY.measured(setting, runs).mean("elephant", "throughput") == pytest.approx(row["mean"], rel=1e-6)


def test_mice_that_take_much_longer_are_noticed():
    found = evidence()
    slow = pl.when(pl.col("group") == "mouse").then(3 * pl.col("fct_s")).otherwise(pl.col("fct_s")).alias("fct_s")
    for scheme in ("ut", "dt", "on_demand"):
        for transfers in TRANSFERS:
            cell = one(FULL, transfers, scheme)
            found[cell] = Measurements(cell, found[cell].flows.with_columns(slow))
    missed = {claim.id for claim in judged(found).claims if claim.verdict.endswith("miss")}
    names = ("ut.mice", "dt.mice", "on_demand.mice")
    assert {f"{name}.{transfers}" for name in names for transfers in TRANSFERS} <= missed


def test_quick_judges_no_extremes():
    found = judged(evidence(), mode="quick")
    left_out = {claim.id for claim in found.claims if claim.verdict == NOT_EVALUATED}
    assert "table1.ut.24.min" in left_out and "table1.ut.24.mean" not in left_out


@pytest.mark.parametrize("mode", SCALES)
def test_every_setting_has_a_scenario_of_its_own(mode):
    settings = STUDY.settings(SCALES[mode])
    assert len({setting.name for setting in settings}) == len(settings)
    for setting in settings:
        assert testbed.scenario(setting).name == setting.name


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("transfers", TRANSFERS)
def test_transfers_are_those_of_the_paper(scheme, transfers):
    found = testbed.scenario(Setting(transfers, scheme)).flows
    assert len(found) == transfers and len({flow.from_ for flow in found}) == transfers
    sizes = [int(flow.size) for flow in found]
    assert sizes.count(SIZES["elephant"]) * 7 == sizes.count(SIZES["mouse"]) == transfers * 7 // 8


def test_the_gap_was_fitted_to_one_cell_which_is_not_counted():
    fitted = next(one for one in STUDY.inferences() if one.name == "gap")
    assert FULL.gap_ms == grids.FITTED_MS[FULL.shares] and FULL.shares == 3
    transfers, scheme = grids.FITTED_CELL
    cell = one(FULL, transfers, scheme)
    assert grids.gaps(FULL, 3)[FULL.gap_ms] == cell
    assert {pattern.split(".")[1] for pattern in fitted.fitted if pattern.startswith("table")} == {scheme}
    assert all(f".{transfers}" in pattern or pattern == "ut.slow_start.*" for pattern in fitted.fitted)
    # A third of the epoch for each pair, of which the gap is the beginning.
    schedule = testbed.scenario(cell).schedule
    assert (int(schedule.turn), int(schedule.night)) == (3_333_333_333_000, 500_000_000_000)
    assert len(grids.others(FULL, 1)) == 5 and all(other.shares == 1 for other in grids.others(FULL, 1))


def test_scripts_start_one_class_first_and_hosts_may_remember_a_round():
    base = Setting(24, "no_direct_link")
    order = replace(base, network=replace(base.network, start_ms=2400, order="mouse"))
    starts = {flow.name: int(flow.start) for flow in testbed.scenario(order).flows}
    elephants = sorted(start for name, start in starts.items() if name.startswith("elephant"))
    assert sorted(starts.values())[-3:] == elephants
    gaps = {b - a for a, b in pairwise(sorted(starts.values()))}
    assert gaps == {100_000_000_000}
    again = testbed.scenario(replace(base, hosts=grids.Hosts(again=True)))
    assert len(again.flows) == 48 and sum(flow.group == testbed.BEFORE for flow in again.flows) == 24
    assert not again.stack.tcp_no_metrics_save and not again.stack.tcp_no_ssthresh_metrics_save
    marking = testbed.scenario(replace(base, hosts=grids.VARIANTS["DCTCP"]))
    assert {flow.variant.name for flow in marking.flows} == {"dctcp"} and marking.stack.tcp_ecn == 1
    assert {link.queue_kind.name for link in marking.topology.build()[1]} == {"ecn_threshold"}


def tiny(scheme, **more):
    setting = Setting(24, scheme, divisor=100, **more)
    return of_runs(setting, {1: of_run(run(testbed.scenario(setting)))})


def test_without_a_direct_link_a_tor_fills_one_link_and_on_demand_two():
    # A hundredth of the bytes; all of a ToR's through 1 Gb/s with 1448 of 1514 bytes payload.
    total = (SIZES["elephant"] + 7 * SIZES["mouse"]) * 8 / (1e9 * 1448 / 1514)
    without, on_demand = tiny("no_direct_link"), tiny("on_demand")
    assert without.mean("elephant", "completion") == pytest.approx(total, rel=0.05)
    alone = testbed.alone_s(Setting(24, "on_demand"), 0)
    assert on_demand.mean("elephant", "completion") == pytest.approx(alone, rel=0.08)


def test_times_and_rates_are_those_of_the_paper_at_any_size_and_rate():
    flows = tiny("no_direct_link").flows
    for setting in (Setting(24, "ut", divisor=100), Setting(24, "ut", divisor=10, rate_mbps=100)):
        found = of_runs(setting, {1: {"flows": flows.select(FLOW_COLUMNS)}})
        seconds = fct.table(flows).filter(group="elephant")["fct_s"].mean()
        assert found.mean("elephant", "completion") == pytest.approx(seconds * setting.time_factor)
        # At 100 Mb/s a flow that fills its link has the 1000 Mb/s that it has at the paper's rate.
        gbps = fct.table(flows).filter(group="elephant")["goodput_gbps"].mean()
        assert found.mean("elephant", "throughput") == pytest.approx(gbps * 1e6 / setting.rate_mbps)
    slow = Setting(24, "ut", divisor=10, rate_mbps=100)
    assert (slow.turn, slow.time_factor) == ("10000000000 ns", 1.0)
    assert Setting(24, "ut", rate_mbps=100_000).turn == "100000000 ns"


def test_brokers_grant_one_at_a_time_or_share():
    for policy, setting in grids.brokers(SCALES["quick"]).items():
        found = testbed.scenario(setting).controllers
        assert len(found) == 3 and all(len(one.between) == (4 if policy == grids.SHARED else 2) for one in found)
    deadlines = testbed.scenario(grids.brokers(FULL)["earliest_deadline"]).controllers[0].deadlines
    assert sorted(deadlines.values())[0] == pytest.approx(2.5 * 1.347 * 1e12, rel=0.001)


def test_explanations_belong_to_claims_and_the_reference_result_has_todays():
    claims = judged(evidence()).claims
    assert set(STUDY.explanations()) <= {claim.id for claim in claims}
    reference = json.loads((ROOT / "docs/results/space_switch/scoreboard.json").read_text(encoding="utf-8"))
    assert (reference["mode"], reference["engine"]) == ("full", "simulated")
    today = {(claim.id, claim.what, claim.published, claim.tolerance, claim.unit) for claim in claims}
    assert {(c["id"], c["what"], c["published"], c["tolerance"], c["unit"]) for c in reference["claims"]} == today
    unexplained = {c["id"] for c in reference["claims"] if c["verdict"].endswith("miss")} - set(STUDY.explanations())
    assert not unexplained
