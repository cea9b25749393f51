"""What the scenario layer says and makes, word by word: its schema, sentences, topologies, and a plan of everything."""

import json

import pytest
from networks import NETWORKS
from ready_files import ROOT

from daybreak import _native
from daybreak.errors import ScenarioError
from daybreak.scenario import Scenario, load, schema
from daybreak.scenario.lowering import lower
from daybreak.scenario.topologies import REGISTRY

FOLDER = ROOT / "tests" / "goldens"
ONE_FLOW = {
    "name": "one flow",
    "duration": "1 s",
    "topology": {"kind": "dumbbell", "rate": "10 Gbit/s", "delay": "20 us", "queue": "350 packets"},
    "flows": [{"from": "sender-0", "to": "receiver-0", "size": "1 MB"}],
}


def test_the_schema_in_the_documents_is_that_of_the_models(golden):
    golden("scenario.schema.json", json.dumps(schema(), indent=1, ensure_ascii=False) + "\n", ROOT / "docs")


def test_a_plan_has_everything_that_a_scenario_says(golden):
    plan = lower(load(FOLDER / "everything.toml"), 7)
    _native.check_plan(plan.json)
    parts = [
        f'"{name}": [\n ' + ",\n ".join(json.dumps(item) for item in value) + "\n]"
        if isinstance(value, list)
        else f'"{name}": {json.dumps(value)}'
        for name, value in json.loads(plan.json).items()
    ]
    golden("plan-everything.json", "{\n" + ",\n".join(parts) + "\n}\n")


def test_a_saved_scenario_has_only_what_was_said(golden):
    path = FOLDER / "everything.toml"
    comment = path.read_text(encoding="utf-8").partition("\n")[0]
    golden("everything.toml", f"{comment}\n{load(path).to_toml()}")


def test_topologies_are_built_link_by_link(golden):
    lines = []
    for model in REGISTRY:
        kind = model.model_fields["kind"].default
        for parameters in NETWORKS[kind].built:
            nodes, links = model.model_validate(parameters).build()
            lines += [f"# {kind} {json.dumps(parameters)}", *(f"{node.kind} {node.name}" for node in nodes)]
            for link in links:
                ways = f"{link.forward_name}, {link.back_name}" if link.duplex else link.forward_name
                lines.append(
                    f"{link.from_} to {link.to} ({ways}): {link.rate}, {link.delay}, jitter {link.jitter}, queue "
                    f"{link.queue} {link.queue_kind}, NIC {link.nic_queue}, framing {link.framing:d}, loss {link.loss}"
                )
    golden("topologies.txt", "\n".join(lines) + "\n")


def test_every_mistake_is_a_sentence_that_names_field_and_value(golden):
    """The file has the changes of a scenario, as JSON behind "# ", and below them the field and the sentences."""
    base = Scenario.parse(ONE_FLOW)
    lines = []
    for changes in (FOLDER / "sentences.txt").read_text(encoding="utf-8").splitlines():
        if changes.startswith("# "):
            with pytest.raises(ScenarioError) as error:
                lower(base.with_(json.loads(changes[2:])), 1)
            messages = [f"[{error.value.field}] {error.value}", *error.value.problems[1:]]
            assert all(len(line) < 500 and "\n" not in line for line in messages)
            lines += [changes, *map(without_registries, messages)]
    golden("sentences.txt", "\n".join(lines) + "\n")


def without_registries(sentence):
    """The sentence without the names of rules and queues, to which others are added."""
    for noun, entries in (
        ("variants", _native.variants()),
        ("queues", _native.queues()),
        ("policies for flows", _native.flow_policies()),
    ):
        sentence = sentence.replace(f"known are {', '.join(entry.name for entry in entries)}", f"known are the {noun}")
    return sentence
