"""Scenarios: files in, files out, and one sentence for whatever is wrong."""

import json

import jsonschema
import pytest
from ready_files import SCENARIO_FILES

import daybreak
from daybreak.errors import OutputError, ScenarioError
from daybreak.scenario import Scenario, Size, load, save, schema


@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_files_survive_saving(path, tmp_path):
    scenario = load(path)
    save(scenario, tmp_path / "copy.toml")
    assert load(tmp_path / "copy.toml") == scenario


@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_files_obey_the_schema(path):
    import tomllib

    jsonschema.validate(tomllib.loads(path.read_text()), schema())


def test_the_schema_refuses_what_the_models_refuse(one_flow):
    document = one_flow.document()
    for key, value in (("duration", "2 parsec"), ("surprise", 1), ("stop", "never")):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document | {key: value}, schema())


def test_ten_lines_are_a_scenario():
    text = SCENARIO_FILES[0].read_text()
    assert len([line for line in text.splitlines() if line and not line.startswith("#")]) <= 10


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"duration": "2"}, 'duration = "2": expected a time such as "40 us" (a unit is missing)'),
        ({"duration": "-2 s"}, 'duration = "-2 s": expected a time such as "40 us", not a negative one'),
        ({"duration": "0 s"}, 'duration = "0 s": expected more than 0'),
        ({"speed": 1}, 'the scenario has no key "speed"'),
        ({"topology.raet": "1 Gbit/s"}, 'topology has no key "raet" (did you mean "rate"?); known are access_delay'),
        ({"topology.rate": "10 GB"}, 'topology.rate = "10 GB": expected a rate such as "10 Gbit/s"'),
        ({"topology.kind": "ring"}, "topology.kind = \"ring\": expected 'dumbbell'"),
        ({"topology.pairs": 0}, "topology.pairs = 0: expected at least 1"),
        ({"topology.queue": "0 packets"}, 'topology.queue = "0 packets": expected a queue limit from 1 packets'),
        ({"flows.0.size": "3 Mb"}, 'flows[0].size = "3 Mb": expected a size'),
        ({"stack": {"preset": "ns2"}}, "stack.preset = \"ns2\": expected 'ns2-2009'"),
        ({"stack": {"preset": {}}}, "stack.preset = {}: expected 'ns2-2009'"),
        ({"flows.0.start": "soon"}, 'flows[0].start = "soon": expected a time'),
        ({"flows.0.start": {"uniform": ["2 ms", "1 ms"]}}, "expected the earlier time first"),
        ({"flows.0.start": {"uniform": ["2 ms"]}}, "flows[0].start.uniform[1] is missing"),
        ({"flows.0.count": -3}, "flows[0].count = -3: expected at least 1"),
        ({"flows.0.count": "many"}, 'flows[0].count = "many": expected a whole number'),
        ({"stop": "never"}, "stop = \"never\": expected 'flows_complete' or 'duration'"),
        ({"stack.linux": "6.13"}, "stack.linux = \"6.13\": expected '6.1', '6.12' or '7.3'"),
        ({"name": ""}, 'name = "": expected a text that is not empty'),
        ({"stack": {"mtu": 100}}, "stack.mtu = 100: expected at least 576"),
        ({"stack": {"tcp_rmem": [9, 5, 7]}}, "stack has tcp_rmem = [9, 5, 7]: expected minimum, default and maximum"),
        ({"stack": {"tcp_sack": "perhaps"}}, 'stack.tcp_sack = "perhaps": expected true or false'),
        ({"records": {"window": "0 s"}}, 'records.window = "0 s": expected a time above 0 s'),
        ({"links": [{"from": "a", "to": "a", "rate": "1 Gbit/s", "delay": "0"}]}, 'links[0] joins "a" with itself'),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(one_flow, changes, sentence):
    with pytest.raises(ScenarioError) as error:
        one_flow.with_(changes)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"period": "1 ms", "night": "1 ms"}, "timelines[0] has a period of 1 ms: expected one longer than its night"),
        ({"period": "1 ms", "night": "2 ms"}, "timelines[0] has a period of 1 ms: expected one longer than its night"),
        ({"period": "0 s"}, 'timelines[0].period = "0 s": expected more than 0'),
        ({"between": ["green"]}, "timelines[0] has 1 paths in between: expected at least 2"),
        ({"downtime": "wait"}, "timelines[0].downtime = \"wait\": expected 'drop', 'hold', 'drain'"),
        ({"group": "x"}, "timelines[0] moves nothing: expected either a group or a list of flows"),
        ({"kind": "swap"}, "timelines[0].kind = \"swap\": expected 'migrate', 'circuit'"),
        ({"ack_between": ["green"]}, "timelines[0] has 1 paths in ack_between: expected 2"),
        ({"hold_limit": "3 MB"}, "timelines[0] has a hold_limit of 3 MB: expected packets"),
    ],
)
def test_what_is_wrong_with_a_timeline(migration, changes, sentence):
    with pytest.raises(ScenarioError) as error:
        migration.with_({f"timelines.0.{key}": value for key, value in changes.items()})
    assert sentence in str(error.value)


def test_only_a_packet_in_pages_is_bounded_by_their_number(one_flow):
    # A frame with its headroom has 30 bytes more than its packet, and is in pages from `linear` on, 17 at most.
    def with_(**changed):
        return one_flow.with_({"stack": {"mtu": 4_382, "receive_buffers": {"linear": 4_412, "page": 256} | changed}})

    with pytest.raises(ScenarioError, match="page = 256: expected at least 258, since a packet of mtu = 4382"):
        with_()
    assert with_(page=258).stack.mtu == with_(linear=4_413).stack.mtu == 4_382


def test_a_circuit_needs_a_week_for_its_days(one_flow):
    circuit = {"kind": "circuit", "matchings": ["bottleneck"], "day": "2 ms", "night": "1 ms", "week": "2 ms"}
    with pytest.raises(ScenarioError, match="week of 2 ms: expected at least its days and nights, 3 ms"):
        one_flow.with_({"timelines": [circuit]})


def test_every_problem_is_reported(one_flow):
    with pytest.raises(ScenarioError) as error:
        one_flow.with_({"duration": "x", "flows.0.size": "y"})
    assert len(error.value.problems) == 2
    assert error.value.field == "duration"
    assert "(and 1 more problem)" in str(error.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "no such file"),
        (b"name = ", "is not valid TOML"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"name = 'x'", "duration is missing"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, content, sentence):
    path = tmp_path / "scenario.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ScenarioError) as error:
        load(path)
    assert sentence in str(error.value)
    assert str(path) in str(error.value)


def test_a_folder_is_not_a_scenario(tmp_path):
    with pytest.raises(ScenarioError, match="is a directory"):
        load(tmp_path)


def test_saving_where_nothing_can_be_written(one_flow, tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        save(one_flow, tmp_path / "missing" / "x.toml")


def test_changes_reach_into_lists_and_leave_the_original(one_flow):
    changed = one_flow.with_({"flows.0.variant": "reno", "topology": {"pairs": 3}}, name="other")
    assert (changed.flows[0].variant.name, changed.topology.pairs, changed.name) == ("reno", 3, "other")
    assert changed.topology.rate == one_flow.topology.rate
    assert one_flow.flows[0].variant.name == "cubic"


@pytest.mark.parametrize("path", ["flows.1.variant", "flows.x.variant", "flows.7", "name.first"])
def test_changes_that_lead_nowhere(one_flow, path):
    with pytest.raises(ScenarioError, match="cannot be changed"):
        one_flow.with_({path: "reno"})


def test_scenarios_are_made_in_python_too():
    scenario = Scenario(
        name="python",
        duration="1 s",
        topology=daybreak.scenario.topologies.Dumbbell(rate="1 Gbit/s", delay="1 ms", queue="100 kB"),
        flows=[daybreak.scenario.Flow(from_="sender-0", to="receiver-0", size=Size(5_000))],
    )
    assert Scenario.parse(json.loads(json.dumps(scenario.document()))) == scenario
    assert "5 kB" in scenario.to_toml()
