"""What the scenario layer lets pass, the engine takes."""

import re
import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st
from ready_files import ROOT

from daybreak import _native
from daybreak.errors import ScenarioError
from daybreak.plan.downtimes import POLICIES
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower

times = st.integers(1, 10**7).map(lambda ns: f"{ns} ns")
rates = st.integers(1, 10**7).map(lambda mbps: f"{mbps} Mbit/s")
queues = st.one_of(st.integers(1, 10**6).map(lambda n: f"{n} packets"), st.integers(1, 10**9).map(lambda n: f"{n} B"))
OF_CIRCUITS = [name for name, policy in POLICIES.items() if policy.is_of_circuits]
variants = st.sampled_from([entry.name for entry in _native.variants()])


@st.composite
def parallel(draw):
    """Two switches with two to four links, flows of all kinds, and a timeline over the links."""
    count = draw(st.integers(2, 4))
    links = [f"link-{i}" for i in range(count)]
    between = [{"name": name, "rate": draw(rates), "delay": draw(times), "queue": draw(queues)} for name in links]
    starts = st.one_of(times, st.builds(lambda end: {"uniform": ["0 s", end]}, times))
    flows = [
        {
            "name": f"f{i}", "from": f"sender-{draw(st.integers(0, 2))}", "to": f"receiver-{draw(st.integers(0, 2))}",
            "variant": draw(variants), "start": draw(starts), "count": draw(st.integers(1, 3)),
            "size": draw(st.sampled_from(["unlimited", "1 B", "3 MB", "1 TB"])),
        }
        for i in range(draw(st.integers(1, 4)))
    ]  # fmt: skip
    migrate = {
        "kind": "migrate", "flows": ["f0"], "between": links, "period": draw(times), "night": draw(times),
        "downtime": draw(st.sampled_from([*POLICIES])), "start": draw(times),
    }  # fmt: skip
    circuit = {
        "kind": "circuit", "matchings": draw(st.permutations(links)), "day": draw(times), "night": draw(times),
        "downtime": draw(st.sampled_from(OF_CIRCUITS)), "start": draw(times),
    }  # fmt: skip
    link = st.sampled_from(links)
    actions = st.one_of(
        st.builds(lambda link: {"kind": "open_gate", "queue": link, "link": link}, link),
        st.builds(lambda link: {"kind": "close_gate", "queue": link, "link": link, "downtime": "drain"}, link),
        st.builds(lambda link, limit: {"kind": "set_limit", "queue": link, "limit": limit}, link, queues),
        st.builds(lambda link, rate: {"kind": "set_rate", "link": link, "rate": rate}, link, rates),
    )
    steps = [{"at": f"{i} ms", "do": draw(st.lists(actions, min_size=1, max_size=3))} for i in range(3)]
    program = {"kind": "program", "period": "3 ms", "start": draw(times), "steps": steps}
    return {
        "name": "drawn",
        "duration": "1 s",
        "routing": draw(st.sampled_from(["first", "ecmp"])),
        "topology": {"kind": "parallel_links", "pairs": 3, "access_rate": draw(rates), "between": between},
        "flows": flows,
        "timelines": draw(st.sampled_from([[], [migrate], [circuit], [migrate, circuit], [program]])),
        "records": {"bins": draw(times), "taps": links[:1], "window": "every ack", "capture": links[1:]},
    }


@settings(max_examples=150, deadline=None)
@given(parallel(), st.integers(0, 2**64 - 1))
def test_the_engine_takes_every_plan(document, seed):
    try:
        scenario = Scenario.parse(document)
    except ScenarioError as error:
        # The only thing that the drawn numbers can get wrong.
        assert "expected one longer than its night" in str(error)
        return
    try:
        plan = lower(scenario, seed)
    except ScenarioError as error:
        assert "steps of timelines in a run of 1 s: expected at least" in str(error)
        return
    _native.check_plan(plan.json)
    assert lower(Scenario.parse(scenario.document()), seed).json == plan.json


def test_the_scenario_of_the_readme_is_one():
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    _native.check_plan(lower(Scenario.parse(tomllib.loads(text)), 1).json)
