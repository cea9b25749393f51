"""The tables and figures that go beyond the paper, on made-up runs: each number stands beside the setting it is of."""

import math

import polars as pl
import pytest
from test_space_switch import measured

from daybreak.studies.space_switch import beyond, fit, plots
from daybreak.studies.space_switch import settings as grids
from daybreak.studies.space_switch.claims import TABLES
from daybreak.studies.space_switch.measured import Measurements
from daybreak.studies.space_switch.settings import SCALES
from daybreak.studies.space_switch.study import STUDY
from daybreak.studies.space_switch.testbed import DEADLINE_FACTOR, ELEPHANT_GIB, MIXED, alone_s

FULL, QUICK = SCALES["full"], SCALES["quick"]
COUNTS = {"rtos": 6, "retransmits": 12, "fast_recoveries": 4, "spurious": 2}


def numbered(settings):
    """Evidence in which the settings differ by their rates, in Mbit/s, and times: 10, 11, 12 ... and 10 times that."""
    found = {}
    for number, setting in enumerate(dict.fromkeys(settings), start=10):
        values = {"elephant": ([number], [10 * number]), "mouse": ([2 * number], [20 * number])}
        one = measured(setting, values)
        found[setting] = Measurements(
            setting, one.flows.with_columns(**{name: pl.lit(n) for name, n in COUNTS.items()})
        )
    return found


def heights(figure):
    return [round(bar.get_height(), 6) for axes in figure.axes for bar in axes.patches if bar.get_height()]


def test_cells_have_their_own_numbers_and_the_counts_of_a_transfer():
    settings = grids.printed(FULL)
    table = plots.cells(numbered(settings), FULL)["cells"]
    assert table.height == 4 * len(settings)
    for number, setting in enumerate(settings, start=10):
        mine = table.filter(setting=setting.name)
        assert set(mine["scheme"]) == {setting.scheme} and set(mine["transfers"]) == {setting.transfers}
        for vm_class, times in (("elephant", 1), ("mouse", 2)):
            row = mine.filter(vm_class=vm_class, metric="throughput").row(0, named=True)
            assert row["min"] == row["mean"] == row["max"] == pytest.approx(times * number)
            assert (row["rtos"], row["retransmits"], row["recoveries"], row["undone"]) == (6, 12, 4, 2)
            row = mine.filter(vm_class=vm_class, metric="completion").row(0, named=True)
            assert row["mean"] == pytest.approx(10 * times * number * setting.time_factor)


def test_a_class_with_a_transfer_that_is_not_complete_has_no_extremes():
    one = measured(grids.one(FULL, 24, "ut"), {"elephant": ([1, 2, 6], [3.0, 4.0, None]), "mouse": ([1], [2])})
    assert all(math.isnan(value) for value in one.extremes("elephant", "completion"))
    assert one.extremes("elephant", "throughput") == (1, 3, 6) and math.isnan(one.mean("elephant", "completion"))


def test_delays_stand_beside_what_they_cost():
    settings = plots.delay_settings(FULL)
    evidence = numbered(settings)
    rows = plots.delay_cells(evidence, FULL)["delays"].to_dicts()
    assert len(rows) == len(settings) == 9 * len(grids.NIGHTS_US)
    for row, setting in zip(rows, settings, strict=True):
        assert (row["scheme"], row["downtime"], row["delay_ms"]) == (
            setting.scheme, setting.downtime, setting.night_us / 1000,
        )  # fmt: skip
        number = evidence[setting].mean("elephant", "throughput")
        assert (row["elephant_mbps"], row["rtos"]) == (number, 6)
        assert row["mouse_completion_s"] == pytest.approx(2 * row["elephant_completion_s"])
    figure = plots.delays(evidence, FULL, STUDY.published())["delays"]
    shown = {(x, round(y, 3)) for axes in figure.axes for line in axes.lines for x, y in line.get_xydata()}
    assert shown >= {(row["delay_ms"], round(row["elephant_mbps"], 3)) for row in rows}


def test_the_fit_stands_beside_the_printed_means():
    evidence = numbered(grids.fits(FULL))
    published = STUDY.published()
    rows = fit.tables(evidence, FULL)["gap"].to_dicts()
    assert [row["fitted"] for row in rows] == 2 * (5 * [True] + 5 * [False])
    cells = [cell for shares in (3, 1) for cell in (*grids.gaps(FULL, shares).values(), *grids.others(FULL, shares))]
    for row, cell in zip(rows, cells, strict=True):
        printed = float(published[f"table1.{cell.scheme}.{cell.transfers}.mean"].printed)
        ours = evidence[cell].mean("elephant", "throughput")
        assert (row["gap_s"], row["elephant_mbps"], row["printed_mbps"]) == (cell.night_us / 1e6, ours, printed)
        assert row["loss_percent"] == pytest.approx(100 * abs(ours - printed) / printed)
    figures = fit.draw(evidence, FULL, published)
    shown = {(x, round(y, 3)) for axes in figures["gap"].axes for line in axes.lines for x, y in line.get_xydata()}
    assert shown >= {(row["gap_s"], round(row["elephant_mbps"], 3)) for row in rows if row["fitted"]}
    assert shown >= {(row["gap_s"], round(row["loss_percent"], 3)) for row in rows if row["fitted"]}
    assert set(heights(figures["gap-others"])) >= {round(row["elephant_mbps"], 6) for row in rows if not row["fitted"]}


def test_both_readings_of_the_turns_are_judged_by_what_the_schemes_change():
    settings = grids.fits(FULL)
    made = numbered(settings)
    published = STUDY.published()
    without = {cell.transfers: cell for cell in settings if cell.scheme == "no_direct_link"}
    for cell in grids.others(FULL, 1):
        # As printed with one turn an epoch; with three turns some other change.
        base, key = made[without[cell.transfers]], f"{cell.scheme}.{cell.transfers}"
        rate, time = (
            base.mean("elephant", metric) * (1 + published[f"effect{number}.{key}"].value / 100)
            for number, metric in enumerate(("throughput", "completion"), start=1)
        )
        made[cell] = measured(cell, {"elephant": ([rate], [time])})
    table = fit.tables(made, FULL)["gap-effects"]
    assert table.height == 2 * 2 * 5
    assert table.filter(shares=1)["met"].all() and not table.filter(shares=3)["met"].any()
    assert (
        table.filter(shares=1).select((pl.col("change_percent") - pl.col("printed_percent")).abs().max()).item() < 1e-6
    )
    shown = set(heights(fit.draw(made, FULL, published)["gap-effects"]))
    assert shown >= {round(abs(one), 6) for one in table.filter(shares=1, metric="throughput")["change_percent"]}


def test_unevenness_is_one_where_all_take_the_same_time():
    size = 250 * 2**20 * 8 / 1e6
    cell = grids.one(FULL, 24, "no_direct_link")
    even = measured(cell, {"mouse": ([size / 10], [10]), "elephant": ([1], [1])})
    assert beyond.uneven(even, "mouse") == pytest.approx(1)
    uneven = measured(cell, {"mouse": ([size / 5, size / 20], [5, 20]), "elephant": ([1], [1])})
    assert beyond.uneven(uneven, "mouse") == pytest.approx((1 / 5 + 1 / 20) / 2 * 12.5)
    printed = beyond.printed_unevenness(STUDY.published(), 24, "no_direct_link", "mouse")
    assert printed == pytest.approx(171.9 * 18.5 / size)


def test_causes_and_variants_have_their_own_numbers():
    evidence = numbered(beyond.cause_settings(FULL))
    rows = beyond.cause_table(evidence, FULL)["causes"].to_dicts()
    assert len(rows) == len(evidence) and len({row["unevenness"] for row in rows}) == len(rows)
    figure = beyond.causes(evidence, FULL, STUDY.published())["causes"]
    assert set(heights(figure)) >= {round(row["unevenness"], 6) for row in rows}
    evidence = numbered(beyond.variant_settings(FULL))
    rows = beyond.variant_table(evidence, FULL)["variants"].to_dicts()
    assert len(rows) == 2 * len(evidence)
    shown = heights(beyond.variants(evidence, FULL, STUDY.published())["variants"])
    elephants = [row["mean_mbps"] for row in rows if row["vm_class"] == "elephant"]
    assert all(any(bar == pytest.approx(value, rel=1e-4) for bar in shown) for value in elephants)


@pytest.mark.parametrize(("figure", "of"), [
    ("tables", "table1"), ("instant", "instant"), ("100G", "scaling"), ("ecmp", "ecmp"), ("kernel", "kernel"),
])  # fmt: skip
def test_bars_are_as_high_as_what_was_measured(figure, of):
    experiment = STUDY.experiments[figure]
    evidence = numbered(experiment.settings(FULL))
    shown = heights(experiment.draw(evidence, FULL, STUDY.published())[of])
    is_rate = figure in ("tables", "instant")
    for setting, one in evidence.items():
        if figure == "instant" and setting.scheme == "no_direct_link":
            continue  # Which the statement is judged against.
        values = [one.mean("elephant", "throughput")]
        if not is_rate:
            values = [one.mean(vm_class, "completion") for vm_class in ("elephant", "mouse")]
        assert all(any(bar == pytest.approx(value, rel=1e-4) for bar in shown) for value in values)


def test_boxes_have_the_printed_extremes_and_the_measured_values():
    published = STUDY.published()
    for table, (vm_class, metric) in TABLES.items():
        setting = grids.one(FULL, 24, "ut")
        box = plots._box(measured(setting, {vm_class: ([1, 2, 6], [3, 4, 5])}), vm_class, metric, published)
        assert list(box.values) == ([1, 2, 6] if metric == "throughput" else [3, 4, 5])
        assert box.printed == tuple(float(published[f"{table}.ut.24.{end}"].printed) for end in ("min", "mean", "max"))


@pytest.mark.parametrize("scale", [FULL, QUICK])
def test_the_brokers_table_counts_by_deadlines_and_by_what_each_elephant_needs_alone(scale):
    evidence = {}
    for number, setting in enumerate(grids.brokers(scale).values()):
        # One elephant of each size a run: times of twice to four times what it takes alone, as the paper has them.
        rows = []
        for run in (1, 2):
            for at, part in enumerate(MIXED):
                alone = alone_s(setting, at)
                slow = 2.0 + number / 10 if run == 1 else 4.0
                size = round(part * ELEPHANT_GIB * 2**30 / setting.divisor)
                rows.append(
                    {"group": "elephant", "run": run, "bytes": size, "fct_s": slow * alone, "goodput_gbps": 1.0}
                )
        evidence[setting] = Measurements(setting, pl.DataFrame(rows))
    assert 2.0 <= DEADLINE_FACTOR < 4.0
    table = plots.policy_table(evidence, scale)["policies"]
    assert table["policy"].to_list() == list(grids.brokers(scale))
    for number, row in enumerate(table.to_dicts()):
        slow = 2.0 + number / 10
        assert row["slowdown"] == pytest.approx((slow + 4) / 2, rel=2e-3)
        assert row["in_time_percent"] == pytest.approx(50.0 if slow <= DEADLINE_FACTOR else 0.0)
        setting = grids.brokers(scale)[row["policy"]]
        longest = 4 * max(alone_s(setting, at) for at in range(len(MIXED))) * setting.time_factor
        assert row["longest_s"] == pytest.approx(longest)
    frame = plots.broker_frame(evidence, scale)
    assert sorted(set(frame["size_gib"])) == pytest.approx(sorted({part * ELEPHANT_GIB for part in MIXED}), abs=1e-3)
