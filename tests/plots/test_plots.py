"""Figures of runs: what is drawn, the sentence about what is not, and one sentence for every mistake."""

import io
import os
import re

import pytest
from cli.program import daybreak as program
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg

import daybreak
from daybreak import plots
from daybreak.errors import OutputError, PlotError, UsageError
from daybreak.plan import ways
from daybreak.plots.view import Stretch, Weeks
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower

EVERYTHING = {"bins": "1 ms", "window": "200 us", "queues": "200 us"}


@pytest.fixture(scope="module")
def moved():
    """Two flows, one of which is moved, with a night: three seeds."""
    scenario = Scenario.parse(
        {
            "name": "moved", "duration": "2 s", "topology": {"kind": "migration_testbed"}, "stack": {"mtu": 9000},
            "flows": [
                {"name": "main", "from": "sender-main", "to": "receiver-main", "size": "32 MiB", "via": "green"},
                {"name": "moved", "from": "sender-migrated", "to": "receiver-migrated", "size": "32 MiB",
                 "start": {"uniform": ["0 s", "1 ms"]}},
            ],
            "timelines": [
                {"kind": "migrate", "flows": ["moved"], "between": ["blue", "green"], "period": "10 ms",
                 "night": "1 ms"}
            ],
            "records": EVERYTHING,
        }
    )  # fmt: skip
    return [daybreak.run(scenario, seed=seed) for seed in (1, 2, 3)]


def many(pairs, **more):
    """Flows over one bottleneck."""
    document = {
        "name": "many", "duration": "5 ms", "stop": "duration",
        "topology": {"kind": "dumbbell", "pairs": pairs, "rate": "10 Gbit/s", "delay": "20 us", "queue": "20 packets"},
        "flows": [
            {"name": f"f{i}", "from": f"sender-{i}", "to": f"receiver-{i}", "size": "1 MB"} for i in range(pairs)
        ],
        "records": EVERYTHING,
    }  # fmt: skip
    return daybreak.run(Scenario.parse(document | more))


def titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def heading(figure):
    return figure.legends[0].get_title().get_text()


def axes_of(figure, label):
    return next(axes for axes in figure.axes if axes.get_ylabel().startswith(label))


def test_a_run_shows_all_that_is_recorded_with_units_legend_days_and_nights(moved):
    drawn = plots.draw(moved[:1])
    labels = [axes.get_ylabel() for axes in drawn.figure.axes]
    assert labels == [
        "Throughput\n[Gbit/s]", "cwnd\n[segments]", "In flight\n[MB]", "srtt\n[ms]", "Queue\n[packets]",
        "Drops\n[packets]", "Resent\n[segments]",
    ]  # fmt: skip
    assert legend(drawn.figure) == ["main", "moved", "path 1 (green)", "night"]
    assert heading(drawn.figure) == "moved: simulated, seed 1"
    assert drawn.figure.axes[-1].get_xlabel() == "Time [ms]"
    assert titles(drawn.figure)[0] == "Payload that arrives at the receiver, mean of each 1 ms"


def test_curves_carry_the_flows_bytes(moved):
    (run,) = moved[:1]
    axes = axes_of(plots.draw([run], what=["goodput"]).figure, "Goodput")
    for line in axes.get_lines():
        times, gbps = line.get_xdata(), line.get_ydata()
        carried = sum((times[1::2] - times[::2]) * gbps[::2]) * 1e9 / 8
        assert carried == pytest.approx(32 * 2**20, rel=1e-9)


def test_retransmissions_and_drops_are_all_there(moved):
    (run,) = moved[:1]
    figure = plots.draw([run], what=["drops", "retransmissions"]).figure
    counted = {
        label: sum(sum(line.get_ydata()[::2]) for line in axes_of(figure, label).get_lines())
        for label in ("Drops", "Resent")
    }
    assert counted["Drops"] == len(run.drops) > 0
    assert counted["Resent"] == pytest.approx(run.flows["retransmits"].sum(), abs=3)


def test_the_axis_of_a_single_run_ends_where_its_values_do(one_flow):
    slow = one_flow.with_({"flows.0.stack": "slow", "stacks": {"slow": {"tcp_wmem": [4096, 16384, 65536]}}})
    (axes,) = plots.draw([daybreak.run(slow)], what=["throughput"]).figure.axes
    highest = max(value for line in axes.get_lines() for value in line.get_ydata())
    assert highest < 8 and axes.get_ylim()[1] == pytest.approx(1.08 * highest)


def filled(**more):
    """A flow whose window has a hole that is filled after a while: what was behind it is delivered at once."""
    document = {
        "name": "filled", "duration": "40 ms", "stop": "duration",
        "topology": {"kind": "dumbbell", "rate": "1 Gbit/s", "access_rate": "10 Gbit/s",
                     "delay": "500 us", "queue": "60 packets"},
        "flows": [{"name": "f", "from": "sender-0", "to": "receiver-0", "size": "unlimited"}],
        "records": {"bins": "100 us"},
    }  # fmt: skip
    return Scenario.parse(document | more)


def drawn_values(figure, label):
    return [value for line in axes_of(figure, label).get_lines() for value in line.get_ydata()]


def test_throughput_is_what_arrives_and_goodput_says_where_it_exceeds_the_links():
    run = daybreak.run(filled())
    figure = plots.draw([run], what=["throughput", "goodput"]).figure
    step = 1 + 1500 * 8 / 100_000
    assert max(drawn_values(figure, "Throughput")) < step < max(drawn_values(figure, "Goodput"))
    assert titles(figure)[1] == (
        "Payload delivered in order, mean of each 100 us; above the links' 1 Gbit/s where a hole is filled"
    )
    # All that is delivered has arrived, some of it twice perhaps.
    arrived, delivered = (run.bins.filter(scope=scope)["bytes"].sum() for scope in ("arrived", "delivered"))
    assert arrived >= delivered == run.flows["delivered_bytes"][0]
    assert "goodput" not in " ".join(axes.get_ylabel().lower() for axes in plots.draw([run]).figure.axes)


def test_throughput_above_the_links_says_why_in_lines_that_are_not_cut(tmp_path):
    falls = {"kind": "trace", "links": ["bottleneck"],
             "rows": [{"time": "0 s", "delay": "5 ms"}, {"time": "20 ms", "delay": "100 us"}]}  # fmt: skip

    def caption(scenario):
        figure = plots.draw([daybreak.run(scenario)], what=["throughput"]).figure
        figure.savefig(tmp_path / "f.png")
        (text,) = (
            text for text in figure.axes[0].get_children() if getattr(text, "get_text", str)() == titles(figure)[0]
        )
        assert text.get_window_extent().x1 <= figure.bbox.x1
        return " ".join(titles(figure)[0].split())

    usual = filled(**{"records": {"bins": "1 ms"}})
    assert caption(usual).endswith("each 1 ms")
    large = {"initial_window": 1500, "tcp_rmem": [4096, 2**26, 2**26], "tcp_wmem": [4096, 2**26, 2**26]}
    changed = usual.with_({"timelines": [falls], "topology.queue": "2000 packets", "stack": large})
    assert caption(changed).endswith("; above the links' 1 Gbit/s where a delay falls")
    short = usual.with_({"records.bins": "13 us", "stack.mtu": 9000, "duration": "2 ms"})
    assert caption(short).endswith(
        "; above the links' 1 Gbit/s by less than a packet a step, as packets count where they end"
    )
    document = usual.document() | {
        "topology": {"kind": "parallel_links", "access_rate": "40 Gbit/s", "between": [
            {"name": "slow", "rate": "1 Gbit/s", "delay": "5 ms", "queue": "900 packets"},
            {"name": "fast", "rate": "5 Gbit/s", "delay": "1 us", "queue": "900 packets"},
        ]},
        "timelines": [{"kind": "migrate", "flows": ["f"], "between": ["slow", "fast"], "period": "20 ms"}],
        "flows": [{"name": "f", "from": "sender-0", "to": "receiver-0", "ack_via": "fast.back", "size": "unlimited"}],
    }  # fmt: skip
    content = lower(Scenario.parse(document), 1).content
    assert ways.may_catch_up(content, [0]) == "a shorter way is taken"
    assert ways.last_packets_bits(content, [0]) == 8 * 1538


def test_intervals_of_rates_end_at_the_links_rate_and_at_zero():
    # Two seeds, one of which sends in the first half and one in the second: the interval of the mean is far wider.
    runs = [
        daybreak.run(filled(flows=[{"from": "sender-0", "to": "receiver-0", "size": "1 MB", "start": {"uniform": [
            "0 ms", "12 ms"]}}], records={"bins": "1 ms"}), seed=seed)
        for seed in (1, 2, 3)
    ]  # fmt: skip
    shown = plots.figure_content(runs, what=["throughput"])
    (row,) = shown.rows
    for table in row.panel.curves.values():
        unit = 1.0 if "Gbit/s" in row.ylabel else 1000.0
        assert (table["high"] <= unit * (1 + 1e-9)).all() and (table["low"] >= 0).all()
        assert (table["high"] == unit).any()


def test_several_runs_have_means_and_intervals(moved):
    figure = plots.draw(moved, what=["cwnd"]).figure
    assert heading(figure) == (
        "moved: simulated, 3 runs, seeds 1 to 3\nlines are means over the runs, bands their 95 % intervals"
    )
    assert len(figure.axes[0].collections) == 2
    with pytest.raises(PlotError, match="seed 2 is there twice"):
        plots.draw([moved[1], moved[1]])


def test_part_of_the_time_is_drawn_from_its_start_to_its_end(moved):
    figure = plots.draw(moved[:1], from_="12.5 ms", to="20 ms").figure
    assert figure.axes[0].get_xlim() == pytest.approx((0.0125, 0.02))
    for line in figure.axes[0].get_lines():
        assert line.get_xdata()[0] == pytest.approx(0.0125)


def test_weeks_are_overlaid_from_the_reconfiguration_on(moved):
    drawn = plots.draw(moved[:1], fold="week")
    assert drawn.figure.axes[0].get_xlim() == pytest.approx((0, 0.02))
    assert "weeks overlaid" in heading(drawn.figure)
    assert drawn.figure.axes[-1].get_xlabel() == "Time since the reconfiguration [ms]"
    # The first move is at 10 ms: a night of 1 ms, 9 ms on the second path, and the same on the first one.
    shaded = [patch.get_x() + width for patch in drawn.figure.axes[0].patches for width in (0, patch.get_width())]
    assert shaded == pytest.approx([0.001, 0.01, 0, 0.001, 0.01, 0.011])
    assert legend(drawn.figure) == ["main", "moved", "path 1 (green)", "night"]
    uneven = plots.draw(moved[:1], fold="13 ms")
    assert "days and nights are not shaded: they differ from week to week" in uneven.notes


def test_a_fold_keeps_the_mean(moved):
    (run,) = moved[:1]
    folded = plots.draw([run], what=["throughput"], fold="week", to="30 ms").figure.axes[0].get_lines()
    plain = plots.draw([run], what=["throughput"], from_="10 ms", to="30 ms").figure.axes[0].get_lines()
    for one, other in zip(folded, plain, strict=True):
        assert one.get_ydata().mean() == pytest.approx(other.get_ydata().mean())


def test_many_flows_become_a_mean_and_a_range():
    run = many(20)
    figure = plots.draw([run]).figure
    assert legend(figure) == ["mean of 20 flows"]
    assert "middle 80 % of the flows" in heading(figure)
    assert len(plots.draw([run], flows="f[0-6]").figure.axes[0].get_lines()) == 7


def test_few_groups_of_many_flows_are_added_up():
    flows = [
        {"name": f"f{i}", "from": f"sender-{i}", "to": f"receiver-{i}", "size": "1 MB", "group": "ab"[i % 2]}
        for i in range(10)
    ]
    figure = plots.draw([many(10, flows=flows)]).figure
    assert [name.partition(" ")[0] for name in legend(figure)] == ["a", "b"]
    assert "Congestion window, sum of each group's flows" in titles(figure)


def test_an_unfinished_flow_is_called_so():
    flows = [{"name": "f0", "from": "sender-0", "to": "receiver-0", "size": "1 GB"}]
    assert legend(plots.draw([many(1, flows=flows)]).figure) == ["f0 (unfinished)"]
    endless = [flows[0] | {"size": "unlimited"}]
    assert legend(plots.draw([many(1, flows=endless)]).figure) == ["f0"]


def test_what_is_not_recorded_is_said():
    drawn = plots.draw([many(1, records={})])
    assert 'cwnd, in_flight, rtt, retransmissions: not recorded, set records.window = "1 ms"' in drawn.notes
    with pytest.raises(PlotError, match=r'^queues is not recorded in the run: set records.queues = "1 ms"$'):
        plots.draw([many(1, records={})], what=["queues"])
    with pytest.raises(PlotError, match="there is nothing to draw"):
        plots.draw([many(1, records={"delivered": False, "drops": False})])


@pytest.mark.parametrize("duration", ["1 ns", "10 us", "3 ms"])
def test_short_runs_are_drawn(duration):
    drawn = plots.draw([many(2, duration=duration)], what=list(plots.QUANTITIES))
    # Where nothing is known there is no row; a row of zeros is named.
    unknown = ["cwnd", "in_flight", "rtt", "queues"] if duration != "3 ms" else []
    assert len(drawn.figure.axes) == len(plots.QUANTITIES) - len(unknown)
    noted = [f"{name}: there is no sample" for name in unknown]
    noted += [f"{name}: there were none" for name in ("drops", "retransmissions") if unknown]
    assert [note for note in drawn.notes if "queues are drawn" not in note] == noted


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"flows": "x*"}, 'no flow is called "x*": there are main, moved'),
        ({"fold": "5 s"}, "there is no whole week of 5 s between 10 ms and"),
        ({"what": ["throughput"], "fold": "3 ms"}, "throughput is recorded every 1 ms, too seldom for weeks of 3 ms"),
        ({"timeline": "x"}, 'timeline "x" has no step in the run: there are migrate-0'),
        ({"phase": "day 7"}, 'phase "day 7" is not there: timeline "migrate-0" has path'),
    ],
)
def test_mistakes_are_one_sentence(moved, options, sentence):
    with pytest.raises(PlotError, match=f"^{re.escape(sentence)}") as error:
        plots.draw(moved[:1], **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"what": ["speed"]}, '"speed" cannot be drawn: known are throughput, goodput, sequence, cwnd'),
        ({"by": "host"}, 'by = "host": expected flow, group, variant or run'),
        ({"from_": "5"}, 'from = "5": expected a time such as "40 us" (a unit is missing)'),
        ({"from_": "5 s"}, "from (5 s) must be before the end of the run ("),
        ({"from_": "5 ms", "to": "5 ms"}, "from (5 ms) must be before to (5 ms)"),
        ({"from_": "6 s", "to": "5 s"}, "from (6 s) must be before to (5 s)"),
        ({"fold": "0 s"}, "fold = 0 s: expected the length of a week above 0 s"),
        ({"fold": "soon"}, 'fold = "soon": expected a time'),
    ],
)
def test_words_that_no_run_has_are_wrong_usage(moved, options, sentence):
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}") as error:
        plots.draw(moved[:1], **options)
    assert "\n" not in str(error.value)


def test_the_edges_of_a_stretch_are_round_and_cover_it():
    edges = Stretch(0, 85_000_000).edges()
    assert edges[0] == 0 and edges[-1] == 85_000_000 and set(edges[1:-1] - edges[:-2]) == {200_000}
    cut = Stretch(15, 95).edges(every_ns=20)
    assert cut.tolist() == [15, 20, 40, 60, 80, 95]


def test_the_edges_of_weeks_never_drift():
    weeks = Weeks(7, 1_400_001, 1000)
    edges = weeks.edges()
    parts = weeks.parts()
    assert edges[::parts].tolist() == [7 + 1_400_001 * week for week in range(1001)]


@pytest.mark.parametrize(("name", "start"), [("f.png", b"\x89PNG"), ("f.svg", b"<?xml"), ("F.PDF", b"%PDF")])
def test_a_figure_is_the_same_bytes_and_replaces_only_figures(moved, tmp_path, name, start):
    place = tmp_path / "new" / name
    figure = moved[0].plot(what=["cwnd"])
    first = plots.write(figure, place).read_bytes()
    assert first.startswith(start)
    assert plots.write(figure, place).read_bytes() == first
    place.write_text("mine")
    with pytest.raises(OutputError, match="is no figure of Daybreak's"):
        plots.write(figure, place)
    assert place.read_text() == "mine"
    plots.write(figure, place, force=True)
    assert [entry.name for entry in place.parent.iterdir()] == [name]


@pytest.mark.parametrize(
    ("runs", "options", "sentence"),
    [
        ("results/03", {}, r"runs = 'results/03': expected runs, such as those of daybreak\.read_all"),
        (["results/03"], {}, r"runs = \['results/03'\]: expected runs"),
        (None, {}, "runs = None: expected runs"),
        (0, {"what": []}, r"what = \[\]: expected at least one of throughput, goodput"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence_in_python(moved, runs, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        daybreak.plot(moved[0] if runs == 0 else runs, **options)


def test_an_option_that_a_run_does_not_have_is_said_of_its_plot(moved):
    with pytest.raises(TypeError, match=r"Run\.plot\(\) got an unexpected keyword argument 'waht'"):
        moved[0].plot(waht=["cwnd"])


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", ["pipe", "link to a device"])
def test_devices_and_pipes_are_neither_read_nor_replaced(tmp_path, moved, kind, force):
    place = tmp_path / "f.png"
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/full")
    with pytest.raises(OutputError, match=r"f\.png cannot be written: it is no regular file"):
        plots.write(moved[0].plot(what=["cwnd"]), place, force=force)
    assert place.is_fifo() or place.is_symlink()


def test_only_the_ends_of_a_file_say_who_made_it(tmp_path):
    """A large file of another program is not read."""
    place, far = tmp_path / "f.png", 1 << 20
    place.write_bytes(b"x" * far + b"Daybreak" + b"x" * far)
    with pytest.raises(OutputError, match="is no figure of Daybreak's"):
        plots.check(place)
    for text in (b"Daybreak" + b"x" * far, b"x" * far + b"Daybreak"):
        place.write_bytes(text)
        plots.check(place)


@pytest.mark.parametrize("name", ["f.jpg", "f", "f.txt"])
def test_other_kinds_of_files_are_refused(name, tmp_path, moved):
    with pytest.raises(UsageError, match=r"expected a name that ends in \.png, \.svg, \.pdf"):
        plots.write(moved[0].plot(what=["cwnd"]), tmp_path / name)


def test_what_may_be_a_text_and_help_names_all_of_it(moved):
    text, names = moved[0].plot(what="throughput, cwnd"), moved[0].plot(what=["throughput", "cwnd"])
    assert titles(text) == titles(names) and len(titles(text)) == 2
    assert len(moved[0].plot(what="fct").axes) == 1
    shown = program("plot", "--help").stdout
    assert [name for name in (*plots.QUANTITIES, *plots.DISTRIBUTIONS) if name not in shown] == []


def test_a_notebook_shows_a_run(moved):
    html = moved[0]._repr_html_()
    for part in (
        "<strong>moved</strong>",
        "simulated, seed 1",
        "<td>main</td>",
        "flows (2 rows)",
        "data:image/png;base64,",
    ):
        assert part in html
    assert moved[0].plot(what=["cwnd"])._repr_png_().startswith(b"\x89PNG")


def test_a_figure_is_shown_in_a_window_or_says_how_to_keep_it(moved, monkeypatch):
    pyplot.switch_backend("agg")
    figure = moved[0].plot(what=["cwnd"])
    with pytest.raises(PlotError, match="no display to show the figure on: write it with savefig"):
        figure.show()
    assert pyplot.get_fignums() == []
    waited = []
    monkeypatch.setattr(FigureCanvasAgg, "required_interactive_framework", "a toolkit")
    monkeypatch.setattr(pyplot, "show", lambda block: waited.append((block, pyplot.gcf())))
    figure.show()
    assert waited == [(True, figure)]
    pyplot.close(figure)


def test_names_are_no_formulas_are_not_hidden_and_leave_room():
    names = ["_hidden", r"$\frac", "x" * 90]
    flows = [
        {"name": name, "from": f"sender-{i}", "to": f"receiver-{i}", "size": "1 GB"} for i, name in enumerate(names)
    ]
    figure = many(3, name="cost in $", flows=flows).plot(what=["cwnd"])
    shown = legend(figure)
    assert [name.lstrip("\N{ZERO WIDTH SPACE}")[:5] for name in shown] == ["_hidd", r"\$\fr", "xxxxx"]
    assert len(shown[2]) < 60
    figure.savefig(io.BytesIO())
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1


def test_a_run_of_an_older_version_is_refused_in_a_sentence(moved, monkeypatch):
    monkeypatch.setitem(moved[2]._tables, "window", moved[2].window.drop("retransmits"))
    with pytest.raises(PlotError, match="retransmissions cannot be drawn from this run: table window: no column"):
        moved[2].plot()


def test_names_are_no_markup_in_a_notebook():
    flows = [{"name": "<b>x</b>", "from": "sender-0", "to": "receiver-0", "size": "1 kB"}]
    html = many(1, name="<i>n</i>", flows=flows)._repr_html_()
    assert "<b>x" not in html and "<i>n" not in html and "&lt;b&gt;x" in html


def test_a_timeline_without_days_and_nights_is_not_shaded(one_flow, migration):
    trace = {"kind": "trace", "links": "bottleneck", "rows": [{"time": "0 s", "delay": "30 us"}], "period": "1 ms"}
    run = daybreak.run(one_flow.with_({"timelines": [trace], "flows.0.size": "1 MB"}))
    drawn = plots.draw([run], what=["throughput"])
    assert drawn.figure.axes[0].patches == [] or not list(drawn.figure.axes[0].patches)
    # Beside one that has them it is not the one that is meant.
    moved = migration.document()["timelines"]
    other = trace | {"links": "green"}
    both = daybreak.run(migration.with_({"timelines": [other, *moved]}))
    shown = plots.draw([both], what=["throughput"])
    assert list(shown.figure.axes[0].patches) and not any("days and nights are those" in note for note in shown.notes)


def test_a_time_in_which_no_drawn_flow_is_under_way_is_a_mistake(one_flow):
    some = one_flow.with_(
        {
            "duration": "40 ms",
            "stop": "duration",
            "records": EVERYTHING,
            "flows.0.start": "5 ms",
            "flows.0.size": "1 MB",
        }
    )
    run = daybreak.run(some)
    ended = int(run.flows["end_ns"][0]) / 1e6
    assert 5 < ended < 10
    for what in (["throughput"], ["cwnd"], None):
        with pytest.raises(UsageError, match=rf"^no .* from 20 ms to 40 ms: the last one ended at {ended:.6g} ms$"):
            plots.draw([run], what=what, from_="20 ms")
    with pytest.raises(UsageError, match=r"^no .* from 0 ns to 2 ms: the next one starts at 5 ms$"):
        plots.draw([run], what=["throughput"], to="2 ms")
    # A flow that is there may be silent.
    assert plots.draw([run], what=["throughput"], from_="4 ms", to="5.001 ms").figure.axes


def test_a_count_without_any_is_said_though_it_was_requested(one_flow):
    run = daybreak.run(one_flow.with_({"records": EVERYTHING, "flows.0.size": "1 kB"}))
    drawn = plots.draw([run], what=["drops", "throughput"])
    assert drawn.notes == ("drops: there were none",) and len(drawn.figure.axes) == 2
    with pytest.raises(PlotError, match=r"^there is nothing to draw: queues: there is no sample$"):
        plots.draw([run], what=["queues"], to="1 us")


def test_a_legend_of_queues_stands_beside_what_is_drawn(moved):
    early = daybreak.run(moved[0].scenario.with_({"name": "early", "duration": "20 ms"}))
    for some, facet in (([moved[0], early], True), (moved[:1], False)):
        figure = plots.plot(some, what=["queues", "throughput"], facet=facet)
        FigureCanvasAgg(figure).draw()
        legends = [(axes, found) for axes in figure.axes if (found := axes.get_legend())]
        assert len(legends) == len(some)
        for axes, found in legends:
            place, inside = found.get_window_extent(), axes.get_window_extent()
            assert place.y0 >= inside.y1 - 1, "it covers the curves"
