"""Each downtime policy is in the engine, in plans, in scenarios and on the pages; what it does is derived from the
engine's."""

from typing import get_args

import pytest
from ready_files import ROOT

from daybreak.plan import types as plan
from daybreak.plan.downtimes import POLICIES
from daybreak.reference import PAGES
from daybreak.scenario import DirectTurns

OF_CIRCUITS = {name for name, policy in POLICIES.items() if policy.is_of_circuits}


def test_the_policies_of_plans_are_those_of_the_engine_in_its_order():
    assert get_args(plan.Downtime) == tuple(POLICIES)
    assert all(policy.name == name for name, policy in POLICIES.items())


def test_links_with_turns_take_the_policies_of_circuits():
    assert set(get_args(DirectTurns.model_fields["waiting"].annotation)) == OF_CIRCUITS


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_has_its_picture_and_stands_where_all_are_listed(name):
    assert f"\n### {name}\n" in PAGES["nights"]()
    for page in ("glossary.md", "explanations/modelled.md", "tutorials/circuit.md"):
        assert f"`{name}`" in (ROOT / "docs" / page).read_text(encoding="utf-8"), page


def test_suites_draw_circuits_without_another_path_and_flows_with_a_night():
    for policy in POLICIES.values():
        assert policy.is_of_circuits or "circuit" not in policy.drawn_for
        assert policy.is_night or "moved" not in policy.drawn_for
