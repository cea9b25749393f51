"""Traces of links: what their rows are in the plan, files with them, and what is wrong with either."""

import polars as pl
import pytest

import daybreak
from daybreak.errors import ScenarioError
from daybreak.plan import types as plan
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower

ROWS = [
    {"time": "0 s", "delay": "20 ms"},
    {"time": "2 ms", "rate": "3 Mbit/s", "delay": "9 us", "loss": "1 %"},
    {"time": "5 ms", "loss": 0},
]
FILE = "# measured\ntime (s), delay (ms),rate,loss (%)\n0,20,,\n0.002,9 us,3 Mbit/s,1\n0.005,,,0\n"


def traced(scenario, **fields):
    fields = {"kind": "trace", "links": ["bottleneck"], "rows": ROWS} | fields
    return scenario.with_({"timelines": [{key: value for key, value in fields.items() if value is not None}]})


def timelines(scenario):
    return lower(scenario, 1).content.timelines


def test_rows_are_steps_for_each_link(one_flow):
    scenario = traced(one_flow, links=["bottleneck", "bottleneck.back"], start="1 ms", period="7 ms")
    names = [link.name for link in lower(scenario, 1).content.links]
    there, back = names.index("bottleneck"), names.index("bottleneck.back")

    def of(link):
        return [
            [plan.SetDelay(link=link, delay_ps=20 * 10**9)],
            [
                plan.SetRate(link=link, rate_bps=3_000_000),
                plan.SetDelay(link=link, delay_ps=9_000_000),
                plan.SetLoss(link=link, loss_ppb=10_000_000),
            ],
            [plan.SetLoss(link=link, loss_ppb=0)],
        ]

    steps = [
        plan.TimelineStep(offset_ps=offset, actions=[*first, *second])
        for offset, first, second in zip((0, 2 * 10**9, 5 * 10**9), of(there), of(back), strict=True)
    ]
    expected = plan.Timeline(name="trace-0", start_ps=10**9, period_ps=7 * 10**9, steps=steps)
    assert timelines(scenario) == [expected]


def test_without_a_period_the_last_row_stays(one_flow):
    scenario = traced(one_flow.with_({"duration": "20 ms", "stop": "duration", "flows.0.size": "unlimited"}))
    run = daybreak.run(scenario)
    assert run.circuits["step"].to_list() == [0, 1, 2]
    (line,) = timelines(scenario.with_({"duration": "3 ms"}))
    assert line.period_ps == 5 * 10**9 + 1


def test_a_file_stands_for_its_rows(tmp_path, one_flow):
    (tmp_path / "pass.csv").write_text(FILE, encoding="utf-8")
    path = tmp_path / "scenario.toml"
    # A scenario in Python has rows; its text, with the file in their place, is what a user writes.
    text = traced(one_flow).to_toml()
    head, _, rest = text.partition("\nrows = [")
    path.write_text(head + '\nfile = "pass.csv"\n' + rest.partition("\n]\n")[2], encoding="utf-8")
    loaded = daybreak.load(path)
    assert timelines(loaded) == timelines(traced(one_flow))
    (tmp_path / "pass.csv").unlink()
    assert Scenario.parse(loaded.document()) == loaded, "a scenario is complete without the file"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("time,delays\n0 s,1 ms\n", "has the columns time, delays: expected time and any of rate, delay and loss"),
        ("delay (ms)\n1\n", "has the columns delay (ms): expected time and any of"),
        ("time (s)\n1\n", "has the columns time (s): expected time and any of"),
        ("time,loss,loss (%)\n0 s,1,2\n", "has the columns time, loss, loss (%): expected time and any of"),
        ("", "has the columns none: expected time and any of"),
        ("time,delay\n0 s,1 ms,2\n", "line 2 has 3 values: expected 2"),
        ("time,delay\n0,1\n", 'timelines[0].rows[0].delay = "1": expected a time such as "40 us" (a unit is missing)'),
        ("time,delay\n,1 s\n", "timelines[0].rows[0].time is missing"),
        ("time,loss (%)\n0,100\n", 'timelines[0].rows[0].loss = "100 %": expected a probability below 1'),
        ("time,delay (ms)\n0,-1\n", 'timelines[0].rows[0].delay = "-1 ms": expected a time such as "40 us", not a neg'),
        ("time,delay (ms)\n0,\n", "timelines[0].rows[0] = {...}: expected a rate, a delay or a loss"),
        ("time,delay (ms)\n", "timelines[0] = {...}: expected rows, or a file with them"),
        ("time (s),delay (ms)\n1,1\n1,2\n", "timelines[0] has a row at 1 s behind one at 1 s: expected times"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said(tmp_path, text, sentence):
    (tmp_path / "pass.csv").write_text(text, encoding="utf-8")
    path = tmp_path / "scenario.toml"
    path.write_text(
        'name = "x"\nduration = "1 s"\n[[timelines]]\nkind = "trace"\nlinks = "a"\nfile = "pass.csv"\n',
        encoding="utf-8",
    )
    with pytest.raises(ScenarioError) as error:
        daybreak.load(path)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"links": ["bottle"]}, 'timelines[0].links = "bottle": there is no such link (did you mean "bottleneck"?)'),
        ({"links": []}, "timelines[0].links"),
        ({"period": "5 ms"}, "timelines[0] has a row at 5 ms: expected a time before the end of the period of 5 ms"),
        ({"rows": None, "file": "pass.csv"}, 'has file = "pass.csv": expected rows; a file is read only where'),
        ({"period": "6 ms", "rows": [{"time": "1 ns", "loss": 0}], "start": "1 s"}, None),
    ],
)  # fmt: skip
def test_mistakes_are_named(one_flow, fields, sentence):
    if sentence is None:
        lower(traced(one_flow, **fields), 1)
        return
    with pytest.raises(ScenarioError) as error:
        lower(traced(one_flow, **fields), 1)
    assert sentence in str(error.value)


def test_a_trace_with_very_many_steps_is_refused(one_flow):
    often = traced(one_flow.with_({"duration": "100 s"}), rows=[{"time": "0 s", "loss": 0}], period="1 us")
    with pytest.raises(ScenarioError, match=r'timelines\[0\].period = "?1 us"?: makes 100,000,000 steps of timelines'):
        lower(often, 1)


def test_a_round_trip_follows_the_trace(one_flow):
    """Datagrams are as late as the link is long when they have left it."""
    probe = {"kind": "constant_rate", "rate": "1 Mbit/s", "payload": "125 B", "stop": "50 ms"}
    flows = [{"name": "probe", "from": "sender-0", "to": "receiver-0", "application": probe}]
    rows = [
        {"time": "0 s", "delay": "5 ms"},
        {"time": "20 ms", "delay": "8 ms"},
        {"time": "40 ms", "loss": 0.999999999},
    ]
    scenario = traced(one_flow.with_({"flows": flows, "duration": "1 s"}), rows=rows)
    links = [link.name for link in lower(scenario, 1).content.links if link.name.startswith("right->")]
    packets = daybreak.run(scenario.with_({"records.packets": ["bottleneck", *links]})).packets
    at = packets.select("packet", "link_name", "time_ns").pivot("link_name", index="packet", values="time_ns")
    # 191 bytes at 10 Gbit/s are on the wire for 152.8 ns.
    late = at.select("bottleneck", late=pl.col(links[0]) - pl.col("bottleneck") - 152).sort("bottleneck")
    before, after = late.filter(pl.col("bottleneck") < 19_999_000), late.filter(pl.col("bottleneck") > 20_000_000)
    assert len(before) == 20 and before["late"].is_between(5_000_000, 5_000_001).all()
    arrived = after.filter(pl.col("bottleneck") < 40_000_000)
    assert len(arrived) == 20 and arrived["late"].is_between(8_000_000, 8_000_001).all()
    assert after.filter(pl.col("bottleneck") > 40_000_000)["late"].is_null().all()
    # When a packet arrives is not known from the links of the plan.
    by_link = dict(packets.group_by("link_name").agg(pl.col("arrival_ns").is_null().all()).iter_rows())
    assert by_link == {"bottleneck": True, links[0]: False}


@pytest.mark.parametrize(("line", "sentence"), [
    ("timelines = [5]", "timelines[0] = 5: expected a table"), ('timelines = ["trace"]', 'timelines[0] = "trace"'),
    ('timelines = [{ kind = "migrate", file = "x.csv" }]', 'has no key "file"'),
])  # fmt: skip
def test_a_timeline_that_is_no_trace_reads_no_file(one_flow, tmp_path, line, sentence):
    path = tmp_path / "scenario.toml"
    path.write_text(f"{line}\n{one_flow.to_toml()}")
    with pytest.raises(ScenarioError) as caught:
        daybreak.load(path)
    assert sentence in str(caught.value)
