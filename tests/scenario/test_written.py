"""Versions of Linux that are written like numbers."""

import pickle

import pytest
from cli.program import daybreak as command
from ready_files import ROOT

from daybreak.cli.scenario import scenario_of
from daybreak.errors import ScenarioError
from daybreak.scenario.written import Written

FILE = ROOT / "scenarios" / "01-one-flow.toml"


@pytest.mark.parametrize("text", ["6.12", '"6.12"', " 6.12"])
def test_a_version_is_what_was_typed(text):
    assert scenario_of(FILE, [f"stack.linux={text}"]).stack.linux == "6.12"


def test_a_version_that_is_none_is_shown_as_it_was_typed():
    done = command("validate", FILE, "--set", "stack.linux=6.10")
    assert done.returncode == 1
    assert "stack.linux = \"6.10\": expected '6.1', '6.12' or '7.3'" in done.stderr


def test_a_number_for_a_version_is_to_be_quoted(one_flow):
    with pytest.raises(ScenarioError, match=r'stack.linux = 6\.12: expected a text in quotes, such as "6\.12"'):
        one_flow.with_({"stack.linux": 6.12})


def test_a_number_with_its_text_is_a_number_elsewhere():
    assert (
        scenario_of(FILE, ["topology.loss=0.5"]).topology
        == scenario_of(FILE, None).with_({"topology.loss": 0.5}).topology
    )
    assert Written("0.50") == 0.5 and pickle.loads(pickle.dumps(Written("0.50"))).text == "0.50"
