"""A percentile of few flows is named what it is: the greatest of their completion times."""

import pytest
from cli.program import daybreak as daybreak_program

import daybreak
from daybreak.report import summary


@pytest.mark.parametrize(
    ("count", "greatest"), [(1, (50, 90, 99)), (2, (90, 99)), (9, (90, 99)), (10, (99,)), (100, ())]
)
def test_what_is_only_the_greatest_value_is_named_so(one_flow, count, greatest):
    changes = {"flows.0.count": count, "flows.0.size": "100 kB", "duration": "9 s"}
    start = {"flows.0.start": {"uniform": ["0 s", "50 us"]}}
    (row,) = rows = summary.group_rows([summary.flow_table(daybreak.run(one_flow.with_(changes | start)))])
    assert row["complete"] == count
    sentence = summary.few_flows(rows) or ""
    named = {p: f"p{p} below" in sentence for p in summary.PERCENTILES}
    assert named == {p: p in greatest for p in summary.PERCENTILES}
    if count > 1:
        # The greatest of all, as the sentence says, or one that another flow exceeds.
        most = summary.flow_table(daybreak.run(one_flow.with_(changes | start)))["fct_s"].max()
        assert {p: row[f"p{p}_s"] == most for p in (90, 99)} == {p: p in greatest for p in (90, 99)}


def test_groups_without_flows_of_limited_size_have_no_percentiles(one_flow):
    endless = one_flow.with_({"flows.0.size": "unlimited", "duration": "1 ms", "stop": "duration"})
    assert summary.few_flows(summary.group_rows([summary.flow_table(daybreak.run(endless))])) is None


def test_sweeps_and_comparisons_say_so_of_each_runs_flows(one_flow, tmp_path):
    for count, is_named in ((3, True), (100, False)):
        changes = {"flows.0.count": count, "flows.0.size": "10 kB", "flows.0.start": {"uniform": ["0 s", "5 ms"]}}
        scenario = tmp_path / f"{count}.toml"
        scenario.write_text(one_flow.with_(changes).to_toml(), encoding="utf-8")
        grid = tmp_path / f"grid-{count}.toml"
        grid.write_text(f'scenario = "{scenario.name}"\nseeds = 40\naxes = {{ duration = ["1 s"] }}\n')
        swept = daybreak_program("sweep", grid, "-o", tmp_path / str(count))
        compared = daybreak_program("compare", scenario, scenario, "--runs", 3)
        for done in (swept, compared):
            assert done.returncode == 0, done.stderr
            assert ("with few flows a percentile is the maximum: p99 below 100 flows" in done.stdout) is is_named
        # The page of the sweep as well.
        page = tmp_path / f"{count}.html"
        assert daybreak_program("report", tmp_path / str(count), "-o", page).returncode == 0
        assert ("With few flows a percentile is the maximum" in page.read_text(encoding="utf-8")) is is_named
