"""The section of a page about the runs of one scenario: its facts, what it leaves out and says so, and its progress."""

import html
import re
from types import SimpleNamespace

import polars as pl
import pytest

import daybreak
from daybreak.metrics import occupancy, units
from daybreak.plots import link_use
from daybreak.report import network, summary
from daybreak.report import runs as report


def of(one_flow, *flows, **more):
    return one_flow.with_({"flows": [{"from": "sender-0", "to": "receiver-0"} | flow for flow in flows]} | more)


def facts(runs):
    return dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", str(report._facts(runs))))


def headings(markup):
    return re.findall("<h3>(.*?)</h3>", str(markup))


def sentences(markup):
    return re.findall("<p>(.*?)</p>", str(markup))


def test_facts_of_several_runs_have_all_seeds_and_the_range_of_their_lengths(one_flow):
    runs = [daybreak.run(one_flow.with_({"flows.0.start": {"uniform": ["0 s", "1 ms"]}}), seed=7)]
    (manifest,) = [run.manifest for run in runs]
    ended = manifest["totals"]["ended_ns"]
    assert facts(runs)["seeds"] == "7" and facts(runs)["plan"] == manifest["plan_hash"][:16]
    assert facts(runs)["simulated time"] == f"{ended / 1e6:.4g} ms"
    assert facts(runs)["version"].startswith(f"Daybreak {manifest['versions']['daybreak']}, plan ")

    class Longer:
        """The same run with another seed, which took a number of seconds."""

        def __init__(self, seed, seconds):
            self.seed = seed
            self.manifest = manifest | {"seed": seed, "totals": {"ended_ns": round(seconds * 1e9)}}

    some = [Longer(seed, seconds) for seed, seconds in ((1, 2.0), (2, 0.5), (3, 1.0))]
    assert (facts(some)["seeds"], facts(some)["simulated time"]) == ("1, 2, 3", "500 ms to 2 s")
    assert "plan" not in facts(some) and facts(some)["plan of the first seed"] == manifest["plan_hash"][:16]
    assert facts([Longer(seed, 1.0) for seed in range(20)])["seeds"] == ", ".join(map(str, range(20)))
    many = facts([Longer(seed, 1.0) for seed in range(21)])["seeds"]
    assert many == f"{', '.join(map(str, range(20)))} ... (21 runs)"


def test_slowdowns_by_size_are_shown_where_sizes_are_of_several_ranges(one_flow):
    def section(*sizes):
        run = daybreak.run(of(one_flow, *({"size": size, "group": "g"} for size in sizes)))
        return report.section(report.RunGroup((run,)), explained=False)

    usual = ["Groups", "Utilisation of links", "Over time", "Where the completion times went"]
    assert headings(section("1 kB", "2 kB")) == usual
    assert headings(section("1 kB", "2 MB")) == ["Groups", "Slowdown by size", *usual[1:]]


def test_a_description_is_a_paragraph_and_none_is_no_empty_one(one_flow):
    for words in ("A flow of its own.", ""):
        run = daybreak.run(one_flow.with_({"description": words, "flows.0.size": "1 kB"}))
        section = str(report.section(report.RunGroup((run,)), explained=False))
        assert section.startswith(f"<p>{words}</p><dl>" if words else "<dl>")


def test_why_there_is_no_explanation_is_one_sentence(one_flow, monkeypatch):
    run = daybreak.run(of(one_flow, {"size": "1 kB", "count": 3}))
    endless = daybreak.run(of(one_flow, {"size": "unlimited"}, duration="5 ms"))

    def said(of_run, explained=True):
        return sentences(report._explanation(of_run, explained=explained, progress=lambda _: None))

    assert said(run, explained=False) == ["Not asked for."]
    assert said(endless) == ["No flow has ended, so that there is nothing to explain."]
    monkeypatch.setattr(report, "_MOST_EXPLAINED", 3)
    assert said(run)[0].startswith("Seed 1. The parts of a flow add up to its completion time")
    monkeypatch.setattr(report, "_MOST_EXPLAINED", 2)
    assert said(run) == ["Not made of 3 flows, which is more than 2: daybreak explain RUN does."]


@pytest.mark.parametrize(("most", "left_out"), [(4, []), (3, ["1 more flows are not shown."])])
def test_flows_beyond_the_first_have_no_bars_and_are_counted(one_flow, monkeypatch, most, left_out):
    monkeypatch.setattr(report, "_MOST_BARS", most)
    run = daybreak.run(of(one_flow, *({"name": name, "group": name, "size": "10 kB"} for name in "abcd")))
    bars = report._explanation(run, explained=True, progress=lambda _: None)
    assert re.findall("<span>([a-d])</span>", str(bars)) == list("abcd")[:most]
    assert sentences(bars)[1:] == left_out


def test_progress_grows_to_one_where_there_is_something_to_explain(one_flow):
    seen = []
    run = daybreak.run(one_flow)
    report.section(report.RunGroup((run,)), explained=True, progress=seen.append)
    assert seen == sorted(seen) and seen[0] == report._FIGURED and seen[-1] == pytest.approx(1)
    assert any(report._FIGURED < done < 1 for done in seen)


def test_flows_are_counted_before_their_table(one_flow):
    for count in (1, 3):
        run = daybreak.run(of(one_flow, {"size": "1 kB", "count": count}))
        section = str(report.section(report.RunGroup((run,)), explained=False))
        assert f"<summary>Flows</summary><p>{count} flows.</p><div class=" in section


def test_runs_are_of_one_group_where_scenario_engine_and_program_are_the_same(one_flow):
    manifest = daybreak.run(one_flow.with_({"flows.0.size": "1 kB"})).manifest

    def of(seed, **changes):
        return SimpleNamespace(seed=seed, manifest=manifest | {"seed": seed} | changes)

    first, other = of(1), of(2, versions=manifest["versions"] | {"program": "another"})
    kernel, scenario = of(3, engine="kernel"), of(4, scenario=manifest["scenario"] | {"duration": "2 s"})
    again = of(5)
    found = report.grouped([first, other, kernel, scenario, again])
    assert [[run.seed for run in group.runs] for group in found] == [[1, 5], [2], [3], [4]]
    assert [group.title for group in found][1:3] == ["one flow (simulated)", "one flow (kernel)"]


def rows(markup):
    """The cells of each row of a table."""
    return [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", str(markup))[1:]]


def test_the_use_of_links_and_queues_is_that_of_the_figures(one_flow):
    run = daybreak.run(one_flow.with_({"flows.0.size": "1 MB", "records.queues": "10 us"}))
    section = str(network.section([run]))
    assert headings(section) == ["Utilisation of links", "Occupancy of queues"]
    links, queues = (rows(part) for part in section.split("Occupancy of queues"))
    used = link_use([run]).sort("utilisation", descending=True).filter(pl.col("utilisation") > 0)
    assert [row[0] for row in links] == [html.escape(name) for name in used["link_name"]]
    assert [row[2] for row in links] == [f"{100 * part:.1f}" for part in used["utilisation"]]
    ended = units.time(run.manifest["totals"]["ended_ns"] / 1e9)
    assert f"while it was open, in {ended}." in sentences(section)[0]
    fullest = occupancy.summary(run.queues).sort("p99_packets", "max_packets", descending=True).to_dicts()[0]
    assert queues[0][0] == html.escape(fullest["queue_name"]) and queues[0][4] == str(fullest["max_packets"])
    # Without samples there is no table of queues.
    assert headings(network.section([daybreak.run(one_flow)])) == ["Utilisation of links"]


def test_columns_without_any_value_are_left_out(one_flow):
    endless = daybreak.run(of(one_flow, {"size": "unlimited"}, duration="1 ms"))
    known = ("group", "variant", "flows", "Gbit/s", "Jain", "resent", "RTOs")
    assert summary.group_columns(summary.group_rows([summary.flow_table(endless)]))[0] == known
    columns, cells = summary.flow_columns(summary.flow_table(endless), is_one_run=True)
    assert not [name for name in columns if "FCT" in name or "slowdown" in name] and len(cells[0]) == len(columns)
    both = daybreak.run(of(one_flow, {"size": "unlimited"}, {"size": "10 kB", "group": "g"}, duration="1 ms"))
    columns, _ = summary.group_columns(summary.group_rows([summary.flow_table(both)]))
    assert "complete" in columns and "slowdown p99" in columns
