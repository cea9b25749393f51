"""Scenarios that are made in Python: the same rules as for files, and files of them."""

import tomllib

import pytest
from ready_files import ROOT, SCENARIO_FILES

import daybreak
from daybreak import scenario as scenario_names
from daybreak.errors import ScenarioError
from daybreak.scenario import Dumbbell, Flow, Migrate, Records, Scenario, Variant, load
from daybreak.scenario.controllers import Controller
from daybreak.scenario.model import members
from daybreak.scenario.schedules import REGISTRY as SCHEDULES
from daybreak.scenario.timelines import Timeline
from daybreak.scenario.topologies import REGISTRY as TOPOLOGIES

FILES = [*SCENARIO_FILES, ROOT / "tests" / "goldens" / "everything.toml"]


def dumbbell(**fields):
    return Dumbbell(**{"rate": "10 Gbit/s", "delay": "20 us", "queue": "350 packets"} | fields)


def one_flow(**fields):
    flow = Flow(from_="sender-0", to="receiver-0", size="1 MB", variant={"name": "cubic", "beta": 0.8})
    return Scenario(**{"name": "one flow", "duration": "2 s", "topology": dumbbell(), "flows": [flow]} | fields)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_is_the_same_after_a_file_of_it(path):
    scenario = load(path)
    assert Scenario.parse(tomllib.loads(scenario.to_toml())) == scenario


@pytest.mark.parametrize("model", [*TOPOLOGIES, *SCHEDULES, *members(Timeline), *members(Controller)])
def test_what_a_file_may_choose_by_its_kind_can_be_made_in_python(model):
    assert getattr(scenario_names, model.__name__) is model and model.__name__ in scenario_names.__all__
    assert f"`{model.__name__}`" in (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")


def test_objects_make_the_scenario_that_tables_make(tmp_path):
    scenario = one_flow(records=Records(window="1 ms"))
    table = {
        "name": "one flow", "duration": "2 s",
        "topology": {"kind": "dumbbell", "rate": "10 Gbit/s", "delay": "20 us", "queue": "350 packets"},
        "flows": [{
            "from": "sender-0", "to": "receiver-0", "size": "1 MB", "variant": {"name": "cubic", "beta": 0.8},
        }],
        "records": {"window": "1 ms"},
    }  # fmt: skip
    assert scenario == Scenario.parse(table)
    assert scenario.document() == table
    daybreak.save(scenario, tmp_path / "saved.toml")
    assert daybreak.load(tmp_path / "saved.toml") == scenario
    assert scenario.flows[0].variant == Variant("cubic", (("beta", 0.8),))
    assert daybreak.run(scenario).flows["delivered_bytes"].to_list() == [1_000_000]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: dumbbell(rate="10 Gb"), r'Dumbbell: rate = "10 Gb": expected a rate such as "10 Gbit/s" .*'),
        (lambda: dumbbell(rat="1 bit/s"), r'Dumbbell: it has no key "rat" \(did you mean "rate"\?\); known are .*'),
        (lambda: Flow(from_=3, to="b", size="1 MB"), r"Flow: from_ = 3: expected text"),
        (lambda: Flow(from_="a", to="b"), r"Flow: it = {...}: expected either size or application, not none of them"),
        (lambda: Scenario(name="x"), "Scenario: duration is missing"),
        (lambda: one_flow(flows=[{"from": "a", "to": "b", "size": "1 m"}]), r'Scenario: flows\[0\].size = "1 m": .*'),
        (lambda: one_flow(name="\udcff"), r"Scenario: '\\udcff' is not valid Unicode text"),
    ],
)  # fmt: skip
def test_mistakes_are_sentences_that_name_the_field(make, sentence):
    with pytest.raises(ScenarioError, match=f"^{sentence}$"):
        make()


def test_what_is_wrong_in_a_file_is_named_where_it_is_in_the_file():
    timeline = {"kind": "migrate", "period": "1 ms", "group": "g", "between": ["a", "b"]}
    with pytest.raises(ScenarioError, match=r"^scenario: timelines\[0\]"):
        Scenario.parse(one_flow().document() | {"timelines": [timeline | {"night": "x"}]})
    with pytest.raises(ScenarioError, match=r"^Migrate: night = \"x\""):
        Migrate(**timeline, night="x")
