"""Runs of several scenarios in one figure: which are put together, what curves are called, and what is refused."""

import pytest

import daybreak
from daybreak import plots
from daybreak.errors import PlotError, UsageError
from daybreak.plan import capacity
from daybreak.plots.cases import cases
from daybreak.report.figure import documents
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower

RECORDS = {"bins": "100 us", "window": "100 us", "queues": "100 us"}


def run(one_flow, variant="cubic", seed=1, **more):
    changes = {"flows.0.variant": variant, "records": RECORDS, "duration": "20 ms"} | more
    return daybreak.run(one_flow.with_(changes), seed=seed)


@pytest.fixture(scope="module")
def three():
    scenario = Scenario.parse(
        {
            "name": "one flow", "duration": "1 s",
            "topology": {"kind": "dumbbell", "rate": "10 Gbit/s", "delay": "20 us", "queue": "350 packets"},
            "flows": [{"from": "sender-0", "to": "receiver-0", "size": "1 MB"}],
        }
    )  # fmt: skip
    return [run(scenario, variant) for variant in ("cubic", "reno", "dctcp")]


def test_runs_of_one_scenario_are_a_case_and_names_tell_cases_apart(one_flow):
    runs = [run(one_flow), run(one_flow, "reno"), run(one_flow, seed=2)]
    assert [(case.name, len(case.runs)) for case in cases(runs)] == [("one flow 1", 2), ("one flow 2", 1)]
    assert [case.name for case in cases(runs, ["a/x", "a/y", "a/x"])] == ["a/x", "a/y"]
    renamed = [run(one_flow), run(one_flow, name="other")]
    assert [case.name for case in cases(renamed, ["x", "y"])] == ["one flow", "other"]
    with pytest.raises(PlotError, match="seed 1 is there twice"):
        cases([runs[0], runs[0]])


def test_variants_are_overlaid_with_one_colour_in_every_row(three):
    shown = plots.figure_content(three, what=["throughput", "cwnd", "queues"])
    (facet,) = shown.facets
    assert [list(row.panel.curves) for row in facet.rows] == [["cubic", "reno", "dctcp"]] * 3
    assert len({tuple(row.panel.colours) for row in facet.rows}) == 1
    # The curves are those of the runs alone.
    alone = plots.figure_content(three[1:2], what=["cwnd"]).rows[0].panel.curves["flow-0"]
    assert facet.rows[1].panel.curves["reno"].equals(alone)


def test_by_run_adds_up_the_flows_of_a_case_and_by_flow_names_both(three, one_flow):
    two = run(one_flow, **{"flows.0.count": 2, "name": "pair"})
    shown = plots.figure_content([three[0], two], what=["cwnd"], by="run")
    assert list(shown.rows[0].panel.curves) == ["one flow", "pair"]
    flows = plots.figure_content([three[0], two], what=["cwnd"], by="flow").rows[0].panel.curves
    assert list(flows) == ["flow-0", "flow-0-0", "flow-0-1"]
    same = plots.figure_content(three[:2], what=["cwnd"], by="group", labels=["x", "y"]).rows[0].panel.curves
    assert list(same) == ["x", "y"]
    together = shown.rows[0].panel.curves["pair"]["mean"]
    each = [flows[name]["mean"].fill_null(0) for name in ("flow-0-0", "flow-0-1")]
    assert together.to_list() == (each[0] + each[1]).to_list()


def test_facets_stand_beside_each_other_with_common_axes(three):
    drawn = plots.draw(three[:2], what=["throughput", "cwnd"], facet=True, labels=["left", "right"])
    axes = drawn.figure.axes
    assert len(axes) == 4
    assert [one.get_title() for one in axes[:2]] == ["left", "right"]
    assert axes[0].get_ylim() == axes[1].get_ylim() and axes[0].get_xlim() == axes[3].get_xlim()


def test_shading_that_differs_is_left_out_and_weeks_that_differ_are_refused(migration):
    def moved(period):
        return daybreak.run(migration.with_({"timelines.0.period": period, "records": RECORDS, "duration": "50 ms"}))

    shown = plots.figure_content([moved("4 ms"), moved("5 ms")], what=["throughput"])
    assert shown.rows[0].panel.shading is None
    assert any("differ between the runs" in note for note in shown.notes)
    with pytest.raises(PlotError, match="expected one length with fold"):
        plots.figure_content([moved("4 ms"), moved("5 ms")], fold="week")
    renamed = migration.with_({"timelines.0.period": "4 ms", "records": RECORDS, "duration": "50 ms", "name": "other"})
    alike = plots.figure_content([moved("4 ms"), daybreak.run(renamed)], what=["throughput"])
    assert alike.rows[0].panel.shading is not None


@pytest.mark.parametrize("kind", plots.DISTRIBUTIONS)
def test_distributions_are_drawn_of_one_run_and_of_several(three, kind):
    assert plots.draw(three[:1], what=[kind]).figure.axes
    assert plots.draw(three, what=[kind]).figure.axes
    with pytest.raises(UsageError, match=f"^{kind} is drawn alone, over whole runs: remove "):
        plots.draw(three, what=[kind, "cwnd"])
    with pytest.raises(UsageError, match=r"remove fold$"):
        plots.draw(three, what=[kind], fold="1 ms")


def test_a_slowdown_and_an_fct_that_there_is_not_is_said(one_flow):
    endless = run(one_flow, **{"flows.0.size": "unlimited"})
    for kind in ("slowdown", "fct"):
        with pytest.raises(PlotError, match="no flow has a size"):
            plots.draw([endless], what=[kind])
    unfinished = run(one_flow, **{"flows.0.size": "1 GB"})
    with pytest.raises(PlotError, match="fct: no flow has ended"):
        plots.draw([unfinished], what=["fct"])
    with pytest.raises(PlotError, match=r"no samples of queues: set records\.queues"):
        plots.draw([run(one_flow, records={})], what=["occupancy"])


def test_what_a_circuit_could_have_carried_is_that_of_its_days():
    document = {
        "name": "days", "duration": "10 ms",
        "nodes": [{"name": "a"}, {"name": "s", "kind": "switch"}, {"name": "b"}],
        "links": [
            {"from": "a", "to": "s", "rate": "10 Gbit/s", "delay": "1 us"},
            {"name": "c", "from": "s", "to": "b", "rate": "8 Gbit/s", "delay": "1 us"},
        ],
        "flows": [{"from": "a", "to": "b", "size": "1 MB"}],
        "timelines": [{"kind": "program", "period": "4 ms", "steps": [
            {"at": "1 ms", "do": [{"kind": "close_gate", "queue": "c", "link": "c"}]},
            {"at": "2 ms", "do": [{"kind": "open_gate", "queue": "c", "link": "c"},
                                  {"kind": "set_rate", "link": "c", "rate": "4 Gbit/s"}]},
        ]}],
    }  # fmt: skip
    content = lower(Scenario.parse(document), 1).content
    number = next(at for at, link in enumerate(content.links) if link.name == "c")
    found = capacity.of_links(content, 10 * 10**9)[number]
    # Dark from 1 to 2, from 5 to 6 and from 9 ms on; 1 ms at 8 Gbit/s, the others at 4.
    assert found.open_ps == 7 * 10**9
    assert found.byte_count == pytest.approx((1 * 8 + 6 * 4) * 1e6 / 8)
    whole = capacity.of_links(content, 10 * 10**9)[0]
    assert whole.open_ps == 10 * 10**9


def test_a_sequence_goes_up_to_what_was_delivered_and_a_short_run_has_no_phase_later(one_flow, migration):
    both = [run(one_flow), run(one_flow, "reno", **{"flows.0.size": "300 kB", "name": "short"})]
    curves = plots.figure_content(both, what=["sequence"]).rows[0].panel.curves
    unit = 1e6 if "MB" in plots.figure_content(both, what=["sequence"]).rows[0].ylabel else 1e3
    assert [table["mean"].max() * unit for table in curves.values()] == pytest.approx([1e6, 3e5])
    # Nothing is delivered at the start, and all of it only at the end: not a bin before.
    assert [table["mean"][0] for table in curves.values()] == [0, 0]
    ended = [one.manifest["totals"]["ended_ns"] / 1e9 for one in both]
    assert [table["time_s"][-1] for table in curves.values()] == pytest.approx(ended)
    coarse = run(one_flow, **{"records.bins": "10 ms"})
    (sequence,) = plots.figure_content([coarse], what=["sequence"]).rows[0].panel.curves.values()
    assert sequence["time_s"].to_list() == [0, coarse.manifest["totals"]["ended_ns"] / 1e9]
    assert sequence["mean"][0] == 0 < sequence["mean"][1]
    moved = migration.with_({"records": RECORDS, "flows.0.size": "1 MiB", "flows.1.size": "20 MiB"})
    early = daybreak.run(moved.with_({"name": "early", "flows.1.size": "16 MiB"}))
    facets = plots.figure_content([daybreak.run(moved), early], facet=True, what=["throughput"]).facets
    ended = early.manifest["totals"]["ended_ns"]
    assert facets[1].rows[0].panel.shading.intervals["end_ns"].to_list()[-1] == ended
    assert facets[0].rows[0].panel.shading.intervals["end_ns"].to_list()[-1] is None


def test_a_curve_ends_with_its_run_though_another_run_goes_on(one_flow):
    long, short = (
        run(one_flow, name=name, duration=f"{end} ms", stop="duration", **{"flows.0.size": "unlimited"})
        for name, end in (("long", 6), ("short", 2))
    )
    shown = plots.figure_content([long, short], what=["throughput", "queues", "sequence"])
    assert shown.subtitle == "each curve ends with its run"
    for row in shown.rows:
        curves = row.panel.curves
        assert curves["short"]["time_s"][-1] == pytest.approx(0.002) and curves["short"]["mean"][-1] is None, row.ylabel
        assert curves["long"]["time_s"][-1] > 0.005 and curves["long"]["mean"].null_count() == 0, row.ylabel
    # The last bin is no mean over a time after the run.
    rates = shown.rows[0].panel.curves["short"]["mean"].to_list()
    assert rates[-2] == pytest.approx(rates[-3], rel=0.2)
    apart = plots.figure_content([long, short], what=["throughput"], facet=True)
    assert [facet.rows[0].panel.run_ended_s for facet in apart.facets] == [0, pytest.approx(0.002)]
    figure = plots.plot([long, short], what=["throughput", "queues"], facet=True)
    assert [text.get_text() for text in figure.legends[0].get_texts()].count("end of run") == 1
    assert [axes.get_xlim()[1] for axes in figure.axes] == pytest.approx([0.006] * 4)
    later = plots.figure_content([long, short], what=["throughput"], from_="3 ms")
    assert list(later.rows[0].panel.curves) == ["long"]
    assert '"short" is not drawn: its run ended at 2 ms' in later.notes
    assert plots.figure_content([short], what=["throughput"]).rows[0].panel.run_ended_s == 0


def test_weeks_after_the_end_of_a_run_do_not_count(one_flow):
    long, short = (
        run(one_flow, name=name, duration=f"{end} ms", stop="duration", **{"flows.0.size": "unlimited"})
        for name, end in (("long", 8), ("short", 4))
    )
    alone = plots.figure_content([short], what=["throughput"], fold="2 ms").rows[0].panel.curves
    both = plots.figure_content([long, short], what=["throughput"], fold="2 ms")
    assert both.rows[0].panel.curves["short"]["mean"].to_list() == pytest.approx(*(t["mean"] for t in alone.values()))
    assert both.subtitle.startswith("4 weeks overlaid")


def test_a_case_has_one_colour_and_one_name_in_every_row_though_it_is_unfinished(one_flow):
    some = [run(one_flow, name=name, **{"flows.0.size": size}) for name, size in (("a", "1 MB"), ("b", "1 GB"))]
    shown = plots.figure_content(some, what=["throughput", "cwnd", "queues"])
    assert [list(row.panel.curves) for row in shown.rows] == [["a", "b (unfinished)"]] * 3
    assert len({tuple(row.panel.colours) for row in shown.rows}) == 1
    assert len(set(shown.rows[0].panel.colours)) == 2 and "#7f7f7f" not in shown.rows[0].panel.colours


def test_no_two_of_many_overlaid_cases_look_alike(one_flow):
    some = [run(one_flow, name=f"n{at}") for at in range(9)]
    shown = plots.figure_content(some, what=["throughput", "queues"])
    for row in shown.rows:
        looks = [row.panel.look(name, at) for at, name in enumerate(row.panel.curves)]
        assert len(set(looks)) == 9 and len({tone for tone, _ in looks}) == 7
    (document,) = documents(shown)
    curves = document["rows"][0]["curves"]
    assert ["dash" in curve for curve in curves] == [False] * 7 + [True] * 2
    lines = plots.plot(some, what=["throughput"]).axes[0].lines
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 9


def test_labels_of_bars_are_beside_their_ends(one_flow):
    figure = run(one_flow).plot(what="utilisation")
    (axes,) = figure.axes
    ends = [bar.get_width() for bar in axes.patches]
    assert [label.xy[0] for label in axes.texts] == ends and {label.xyann for label in axes.texts} == {(3, 0)}
    assert all(label.get_text().endswith("%") for label in axes.texts)


def test_overlaid_cases_of_many_flows_keep_a_curve_each(one_flow):
    some = [run(one_flow, name=name, **{"flows.0.count": 20, "flows.0.size": "10 kB"}) for name in ("a", "b")]
    shown = plots.figure_content(some, what=["throughput", "queues"], by="flow")
    assert list(shown.rows[0].panel.curves) == ["a: mean of 20 flows", "b: mean of 20 flows"]
    assert list(shown.rows[1].panel.curves) == ["a", "b"]
    for row in shown.rows:
        assert len(set(row.panel.colours)) == 2 and "#7f7f7f" not in row.panel.colours


def test_names_that_are_alike_as_far_as_they_are_cut_keep_a_curve_each(one_flow):
    names = ["a flow whose name goes on for a long time, " + end for end in ("first", "last")]
    flow = one_flow.model_dump(mode="json", by_alias=True)["flows"][0] | {"size": "10 kB"}
    two = run(one_flow.with_({"flows": [flow | {"name": name} for name in names]}))
    curves = plots.figure_content([two], what=["throughput"]).rows[0].panel.curves
    assert [name[-4:] for name in curves] == [" (1)", " (2)"]
