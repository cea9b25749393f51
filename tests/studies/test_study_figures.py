"""What the figures of the studies show, on made-up runs: each panel's curves and points, in the units of its axes.

The panels of the migration study are in test_reproduce.py, the bars of the space switch in test_space_switch_tables.py.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import synthetic
from test_etalon import made_up
from test_lightpath_claims import made, of_kind

from daybreak.studies.etalon.claims import points
from daybreak.studies.etalon.settings import DELAYS_NS, delayed, dilation_pairs, switches, undilated
from daybreak.studies.etalon.settings import SCALES as ETALON_SCALES
from daybreak.studies.etalon.study import STUDY as ETALON
from daybreak.studies.lightpath import plots
from daybreak.studies.lightpath.settings import NAMES, SCALES, STACKS, figure3, figure5, figure6, grid
from daybreak.studies.lightpath.study import STUDY as LIGHTPATH
from daybreak.studies.migration import settings as migration
from daybreak.studies.migration.claims import figure8
from daybreak.studies.migration.claims.table2 import averages
from daybreak.studies.migration.study import STUDY as MIGRATION


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """A figure that pyplot keeps would stay in memory, and a notebook would show it twice."""
    yield
    assert plt.get_fignums() == []


FULL, QUICK = SCALES["full"], SCALES["quick"]


def curves(axes):
    """The named curves of a panel."""
    return {
        line.get_label(): list(zip(line.get_xdata().tolist(), line.get_ydata().tolist(), strict=True))
        for line in axes.get_lines()
        if not line.get_label().startswith("_")
    }


def lightpath(figure, evidence, scale=QUICK):
    return LIGHTPATH.experiments[figure].draw(evidence, scale, {})


def test_figure_3_has_a_curve_for_each_round_trip_and_a_panel_for_each_width():
    evidence = {}
    for stack in STACKS:
        for rtt, one in figure3(QUICK, stack).items():
            evidence[one] = made(one, lambda at, rtt=rtt: 1000 + rtt * (at >= 0), tenth=rtt)
    figure = lightpath("3", evidence)["figure3"]
    panels = {axes.get_title(): curves(axes) for axes in figure.axes}
    assert list(panels) == [f"{name}, bins of {width} ms" for name in STACKS.values() for width in (1000, 100)]
    assert {axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()} == {"Throughput [Gb/s]"}
    for stack, name in STACKS.items():
        rtts = [f"base RTT {rtt} ms" for rtt in figure3(QUICK, stack)]
        seconds, tenths = (panels[f"{name}, bins of {width} ms"] for width in (1000, 100))
        assert list(seconds) == list(tenths) == rtts and len(rtts) > 1
        for rtt in figure3(QUICK, stack):
            # Each second at its end: what begins at the move is drawn at 1 s.
            drawn = dict(seconds[f"base RTT {rtt} ms"])
            assert (min(drawn), max(drawn), drawn[0.0], drawn[1.0]) == (-5.0, 15.0, 1.0, (1000 + rtt) / 1e3)
            assert tenths[f"base RTT {rtt} ms"] == [(0.2, rtt / 1e3)]


def test_figure_5_names_the_rate_and_the_round_trip_of_each_panel():
    evidence = {one: made(one, lambda at: 1000 + at) for stack in STACKS for one in figure5(QUICK, stack).values()}
    figure = lightpath("5", evidence)["figure5"]
    assert [axes.get_title() for axes in figure.axes] == [
        f"1 Gb/s, base RTT {rtt} ms, {name}" for stack, name in STACKS.items() for rtt in figure5(QUICK, stack)
    ]
    settings = [one for stack in STACKS for one in figure5(QUICK, stack).values()]
    for axes, one in zip(figure.axes, settings, strict=True):
        drawn = curves(axes)["throughput"]
        # From the first second, which is before the move, at least 5 s before it.
        assert drawn[0][0] == max(-69, math.ceil(min(-5.0, -one.move_s))) and drawn[-1][0] == min(95, one.after_s)
        assert all(gbps == pytest.approx((1000 + at - 1) / 1e3) for at, gbps in drawn)


def test_figures_6_and_7_have_the_rate_and_the_goodput_and_only_r3s_queue():
    queues = [("receiver", -1.0, 7, 9), ("sender", -1.0, 5, 5), ("receiver", 2.0, 400, 499), ("receiver", -30.0, 1, 1)]
    evidence = {
        one: made(one, lambda at: 10_000 if at else 500, tenth=250, queues=queues)
        for one in (figure6(FULL, stack) for stack in STACKS)
    }
    # ns-2's TCP is run for longer than what is drawn of it.
    end = min(one.after_s for one in evidence)
    assert end < max(one.after_s for one in evidence)
    six, seven = lightpath("6", evidence, FULL)["figure6"], lightpath("7", evidence, FULL)["figure7"]
    for axes, (name, width) in zip(six.axes, [(n, w) for n in STACKS.values() for w in (1000, 100)], strict=True):
        assert axes.get_title() == f"{name}, bins of {width} ms"
        assert list(curves(axes)) == ["throughput", "goodput"]
        throughput, goodput = curves(axes).values()
        if width == 1000:
            assert (throughput[0], dict(throughput)[1.0], throughput[-1]) == ((-20.0, 10.0), 0.5, (end, 10.0))
            assert goodput == throughput
        else:
            assert (throughput, goodput) == ([(0.2, 0.25)], [(0.2, 0.0)])
    for axes, name in zip(seven.axes, STACKS.values(), strict=True):
        assert (axes.get_title(), curves(axes)) == (name, {"r3's queue": [(-1.0, 7), (2.0, 400)]})


@pytest.mark.parametrize(("figure", "scale", "variants"), [("grid", QUICK, None), ("variants", QUICK, NAMES)])
def test_a_cell_has_the_change_in_its_worst_second_in_percent(figure, scale, variants):
    wanted = (scale.of_variants(), variants) if variants else (scale, ["cubic"])
    cells = {one: of_kind(one) for stack in STACKS for one in grid(wanted[0], stack, wanted[1])}
    drawn = lightpath(figure, cells)
    assert list(drawn) == ([f"variants-{stack}" for stack in STACKS] if variants else ["grid"])
    # Of the made-up runs: as `of_kind` has them.
    change = {"A": "+65", "B": "-10", "C1": "-10", "C2": "0", "D": "-90"}
    for name, one in drawn.items():
        axes, bar = one.axes
        rows, columns = (
            [tick.get_text() for tick in ticks] for ticks in (axes.get_yticklabels(), axes.get_xticklabels())
        )
        assert "\n".join(columns[:2]).startswith("100 Mb/s\n10 ms") and bar.get_ylabel() == plots.CHANGE
        shown = {
            (rows[round(y)], columns[round(x)]): text.get_text()
            for text in axes.texts
            for x, y in [text.get_position()]
        }
        mine = [setting for setting in cells if not variants or name == f"variants-{setting.stack}"]
        assert shown == {
            (f"{setting.scenario}, {NAMES[setting.variant] if variants else STACKS[setting.stack]}",
             f"{plots.rate_name(setting.rate_mbps)}\n{setting.rtt_ms} ms"): change[setting.scenario]
            for setting in mine
        }  # fmt: skip


@pytest.mark.parametrize(("mbps", "name"), [(10, "10 Mb/s"), (999, "999 Mb/s"), (1000, "1 Gb/s"), (10_000, "10 Gb/s")])
def test_a_rate_has_the_unit_that_reads_best(mbps, name):
    assert plots.rate_name(mbps) == name


EMULATED = ETALON_SCALES["quick"]


def etalon(experiment, better=0.0):
    """The figures of an experiment on runs as published, and better, with and without the published values."""
    study = ETALON.experiments[experiment]
    evidence = {one: made_up(one, better=better) for one in study.settings(EMULATED)}
    return study.draw(evidence, EMULATED, ETALON.published()), study.draw(evidence, EMULATED, {})


def placed(axes):
    """The points of each line of a panel, published ones last."""
    return [list(zip(*map(list, line.get_data()), strict=True)) for line in axes.get_lines() if len(line.get_xdata())]


@pytest.mark.parametrize(("figure", "xlabel", "is_size"), [
    ("5", "VOQ [packets]", True), ("6", "Grown before the day [us]", False), ("8", "VOQ [packets]", True),
    ("9", "Grown before the day [us]", False),
])  # fmt: skip
def test_what_was_varied_is_a_point_beside_the_published_one(figure, xlabel, is_size):
    (drawn, bare), published = etalon(figure, better=1.0), ETALON.published()
    assert list(drawn) == [f"figure{figure}-curves", f"figure{figure}"]
    ends = list(points(figure, EMULATED))
    for axes, empty, name in zip(
        drawn[f"figure{figure}"].axes, bare[f"figure{figure}"].axes, ("utilisation", "p50_all", "p99_all"), strict=True
    ):
        assert (axes.get_xlabel(), axes.get_xscale()) == (xlabel, "log" if is_size else "linear")
        printed = [(float(end.strip("pus")), published[f"{figure}.{name}.{end}"].value) for end in ends]
        ours = [(at, pytest.approx(value + 1)) for at, value in printed]
        assert placed(axes) == [ours, printed]
        assert len(placed(empty)) == 1
        # A share of the circuit is at most 100 %.
        assert (axes.get_ylim()[1] == 105) == (name == "utilisation")


def test_a_curve_is_of_one_week_with_its_day_and_what_the_links_allow():
    drawn, _ = etalon("5")
    above, below = drawn["figure5-curves"].axes
    names = {line.get_label(): line for line in above.get_lines() if not line.get_label().startswith("_")}
    shown = [f"{packets} packets" for packets in (4, 8, 16, 32, 64, 128)]
    assert list(names) == [*shown, "optimal", "packet network only"]
    (setting,) = {(one.racks, one.day_us, one.night_us) for one in points("5", EMULATED).values()}
    racks, day, night = setting
    week = (racks - 1) * (day + night)
    (shade,) = above.patches
    assert shade.get_x() == week - day and shade.get_x() + shade.get_width() == week
    assert above.get_xlim() == (max(0, week - 700), week + 350)
    # 10 Gbit/s among 16 flows are 0.078125 kB/us, and the circuit has eight times that.
    packets = names["packet network only"]
    assert list(packets.get_data()[1]) == [0.0, pytest.approx(2 * week * 10_000 / 8 / 16 / 1000)]
    at, kilobytes = (list(values) for values in names["optimal"].get_data())
    of_a_week = 0.078125 * (week - day - 2 * night) + 0.625 * day
    assert (at[0], at[-1], kilobytes[0], kilobytes[-1]) == (0.0, 2 * week, 0.0, pytest.approx(2 * of_a_week))
    assert dict(zip(at, kilobytes, strict=True))[float(week)] == pytest.approx(of_a_week)
    for name in shown:
        assert list(names[name].get_data()[0]) == [0.0, week - 180.0, float(week)]
    assert len(below.get_lines()[0].get_xdata()) == len(range(0, week, 20))


def test_each_switch_of_figure_2_has_a_week_of_its_own():
    drawn, _ = etalon("2")
    for name, setting in switches(EMULATED).items():
        above, _ = drawn[f"figure2-{name}"].axes
        week = (setting.racks - 1) * (setting.day_us + setting.night_us)
        assert above.get_xlim() == (0, pytest.approx(1.06 * week))
        labels = [line.get_label() for line in above.get_lines() if not line.get_label().startswith("_")]
        assert labels == ["CUBIC", "optimal", "packet network only"]


def test_delays_of_hosts_are_in_microseconds_with_the_print_at_the_studys():
    drawn, bare = etalon("delays", better=2.0)
    published = ETALON.published()
    titles = ["CUBIC\nVOQ of 4 packets", "CUBIC\nVOQ of 16 packets", "CUBIC\ngrown 1800 us before",
              "reTCP\ngrown 150 us before"]  # fmt: skip
    assert [axes.get_title() for axes in drawn["delays"].axes] == titles
    assert [axes.get_ylabel() for axes in drawn["delays"].axes] == ["Median of latency [us]", "", "", ""]
    for axes, empty, key in zip(drawn["delays"].axes, bare["delays"].axes, delayed(EMULATED), strict=True):
        lines = [line for line in placed(axes) if len(line) > 1]
        assert [[at for at, _ in line] for line in lines] == [[delay / 1000 for delay in DELAYS_NS]] * 2
        prints = [line for line in placed(axes) if len(line) == 1]
        known = [published[key.format(name)].value for name in ("p50_packet", "p50_circuit")]
        assert prints == [[(EMULATED.delay_ns / 1000, value)] for value in known]
        assert len(placed(empty)) == 2


def test_dilated_and_undilated_clocks_are_two_lines():
    study = ETALON.experiments["dilation"]
    # Bars of the other variants are drawn where there are runs of them.
    pairs = [one for one in dilation_pairs(EMULATED) if one.variant in ("cubic", "retcp", "reno")]
    evidence = {one: made_up(one) for one in pairs} | {undilated(one): made_up(one, better=3.0) for one in pairs}
    drawn = study.draw(evidence, EMULATED, {})
    for figure, xlabel in (
        ("5", "VOQ [packets]"),
        ("6", "Grown before the day [us]"),
        ("9", "Grown before the day [us]"),
    ):
        ends = [end for end, one in points(figure, EMULATED).items() if one in dilation_pairs(EMULATED)]
        for axes, name in zip(drawn[f"dilation-{figure}"].axes, ("utilisation", "p99_all"), strict=True):
            assert (axes.get_xlabel(), axes.get_xscale()) == (xlabel, "log" if figure == "5" else "linear")
            emulated, honest = placed(axes)
            assert [at for at, _ in emulated] == [float(end.strip("pus")) for end in ends]
            printed = [ETALON.published()[f"{figure}.{name}.{end}"].value for end in ends]
            assert [value for _, value in emulated] == pytest.approx(printed)
            assert [value for _, value in honest] == pytest.approx([value + 3 for value in printed])


def bars(axes):
    """The heights of the bars of each series by place, and where the diamonds are."""
    places = [tick.get_text() for tick in axes.get_xticklabels()]
    found = {}
    for container, name in zip(*axes.get_legend_handles_labels(), strict=True):
        if hasattr(container, "patches"):
            for bar in container.patches:
                found[name, places[round(bar.get_x() + bar.get_width() / 2)]] = bar.get_height()
    diamonds = [y for line in axes.get_lines() if line.get_marker() == "D" for y in line.get_ydata()]
    return found, diamonds


def of_migration(name, scale=migration.SCALES["quick"]):
    evidence = {one: synthetic.measured(one, synthetic.paper, 2) for one in MIGRATION.experiments[name].settings(scale)}
    return evidence, MIGRATION.experiments[name].draw(evidence, scale, MIGRATION.published())


def mean(values):
    return pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize(("name", "figure", "xlabel"), [
    ("4", "figure4-fct", "Reconfiguration period"), ("7", "figure7-fct", "Day + night"),
    ("4-variants", "figure4-variants", "Variant of both flows and reconfiguration period"),
])  # fmt: skip
def test_completion_times_of_pairs_are_two_bars_a_setting(name, figure, xlabel):
    evidence, drawn = of_migration(name)
    (axes,) = drawn[figure].axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == (xlabel, "FCT [s]")
    found, diamonds = bars(axes)
    expected = {}
    for one in evidence:
        # What has no night is run beside those of figure 7, and is in figure 4.
        if one.kind != "pair" or (name == "7" and not one.night_ms):
            continue
        day = one.period_ms - one.night_ms
        place = {"4": f"{day} ms", "7": f"{day}+{one.night_ms} ms"}.get(
            name, f"{migration.NAMES[one.migrated]}\n{day} ms"
        )
        for group in ("migrated", "main"):
            expected[f"{group} flow", place] = mean(evidence[one].fcts(group))
    assert found == expected and diamonds == []


def test_one_flow_alone_has_a_panel_a_variant_and_the_printed_time_at_each_bar():
    evidence, drawn = of_migration("3")
    assert set(drawn) == {"figure3", "figure3-fct"}
    assert [axes.get_title() for axes in drawn["figure3"].axes] == list(migration.NAMES.values())
    found, diamonds = bars(drawn["figure3-fct"].axes[0])
    names = {0: "no reconfiguration", 50: "50 ms", 10: "10 ms"}
    assert found == {
        (names[one.period_ms], migration.NAMES[one.migrated]): mean(evidence[one].fcts("migrated")) for one in evidence
    }
    assert diamonds == [3.47] * len(evidence)


@pytest.mark.parametrize("name", ["table2", "table2-exchanges"])
def test_average_throughputs_stand_beside_the_printed_ones(name):
    scale = migration.SCALES["quick"]
    evidence, drawn = of_migration(name)
    (axes,) = drawn[name].axes
    found, diamonds = bars(axes)
    assert axes.get_ylabel() == "Average throughput [Gb/s]"
    assert found == {
        (f"{group} flows", f"{one.period_ms} ms"): mean(averages(evidence[one], group, scale.reading))
        for one in evidence for group in ("migrated", "main")
    }  # fmt: skip
    printed = MIGRATION.published()
    assert sorted(diamonds) == sorted(
        value for group in ("migrated", "main") for value in printed[f"table2.{group}"].values.values()
    )


def test_the_kernels_times_are_diamonds_over_the_models():
    evidence, drawn = of_migration("kernel", migration.SCALES["full"])
    found, diamonds = bars(drawn["kernel"].axes[0])
    rows = migration.kernel_rows()
    assert sorted(diamonds) == sorted(row[f"{group}_s"] for row in rows for group in ("migrated", "main"))
    assert sorted(found.values()) == sorted(
        sum(one.fcts(group)) / 2 for one in evidence.values() for group in ("migrated", "main")
    )


def test_predictions_stand_right_of_what_they_predict(monkeypatch):
    class Fit:
        """A forest that is 1 s too high."""

        predicted = np.array([3.0, 5.0, 2.0])
        cycles = ("9+1", "90+10", "9+1")

        class data:
            """The runs."""

            @staticmethod
            def seconds():
                return np.array([2.0, 4.0, 1.0])

    monkeypatch.setattr(figure8, "fitted", lambda evidence, scale: Fit)
    draw = MIGRATION.experiments["8"].draw
    assert draw({}, migration.SCALES["quick"], {}) == {}
    (axes,) = draw({}, migration.SCALES["full"], {})["figure8"].axes
    actual, predicted = (points.get_offsets() for points in axes.collections)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["9+1", "90+10"]
    assert (actual[:, 1].tolist(), predicted[:, 1].tolist()) == ([2.0, 4.0, 1.0], [3.0, 5.0, 2.0])
    assert np.allclose(predicted[:, 0] - actual[:, 0], 0.36) and (np.abs(actual[:, 0] - [0, 1, 0]) < 0.5).all()
