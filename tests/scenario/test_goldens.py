"""What the scenario layer says and makes, word by word: its schema, sentences, topologies, and a plan of everything."""

import json

import pytest
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
# Parameters of each topology: those that it must have, and all.
LIGHT_PATH = {
    "rtt": "20 ms", "sender_rate": "1 Gbit/s", "ip_rate": "2 Gbit/s", "optical_rate": "3 Gbit/s",
    "receiver_rate": "4 Gbit/s",
}  # fmt: skip
LINK = {"rate": "1 Gbit/s", "delay": "1 ms", "queue": "9 packets"}
HYBRID = {
    "host_rate": "40 Gbit/s", "host_delay": "1 us", "packet_rate": "10 Gbit/s", "packet_delay": "5 us",
    "circuit_rate": "80 Gbit/s", "circuit_delay": "30 us", "voq": "16 packets",
}  # fmt: skip
TOPOLOGIES = {
    "dumbbell": [
        LINK,
        LINK | {"pairs": 2, "access_rate": "4 Gbit/s", "access_delay": "3 us", "loss": 0.01, "framing": 14},
    ],
    "parallel_links": [
        {"access_rate": "40 Gbit/s", "between": [LINK | {"name": "packet"}, LINK | {"name": "light"}]},
        {
            "pairs": 2, "access_rate": "40 Gbit/s", "access_delay": "2 us", "framing": 14,
            "between": [LINK | {"name": "a"}, {"name": "b", "rate": "10 Gbit/s", "delay": "2 ms", "queue": "1 MB"}],
        },
    ],
    "migration_testbed": [
        {},
        {"rate": "5 Tbit/s", "rtt": "101 ps", "queue": "7 packets", "jitter": "0", "framing": 14},
    ],
    "hybrid": [
        HYBRID | {"racks": 2, "hosts": 1},
        HYBRID | {"racks": 3, "hosts": 2, "to_host_rate": "800 Gbit/s", "framing": 0},
    ],
    "leaf_spine": [
        LINK | {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
        LINK | {"leaves": 1, "spines": 1, "hosts_per_leaf": 1, "spine_rate": "4 Gbit/s", "framing": 14},
        LINK | {"leaves": 3, "spines": 3, "hosts_per_leaf": 1, "spine_rate": "4 Gbit/s", "direct": [[0, 1], [2, 0]]},
    ],
    "light_path": [
        LIGHT_PATH,
        LIGHT_PATH
        | {"optical_delay": "3 ms", "receiver_queue": "7 packets", "nic_queue": "8 packets", "framing": 0},
    ],
}  # fmt: skip


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
        for parameters in TOPOLOGIES[kind]:
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
