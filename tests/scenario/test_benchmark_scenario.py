"""A benchmark written as a scenario file is the benchmark."""

import subprocess
import sys
import tomllib

from ready_files import ROOT

import daybreak
from daybreak.scenario import Scenario

TOOL = ROOT / "tools" / "benchmark-scenario.py"
TWO_HOSTS = """\
name small
pkt 1500
maxwin 100
end 0
nodes 4
hosts 2
link 0 2 1000000000 1000 100000 50
link 3 1 1000000000 1000 50 100000
link 2 3 1000000000 5000 20 30
flow 0 1 1000000 2000 4 0 2 3 1
rev 4 1 3 2 0
"""


def test_a_benchmark_becomes_a_scenario_that_runs() -> None:
    made = subprocess.run([sys.executable, TOOL], input=TWO_HOSTS, capture_output=True, text=True, check=True)
    scenario = Scenario.parse(tomllib.loads(made.stdout))
    links = {link.name: link for link in scenario.links}
    assert set(links) == {"0-2", "2-0", "3-1", "1-3", "2-3", "3-2"}
    assert str(links["2-3"].queue) == "20 packets" and str(links["3-2"].queue) == "30 packets"
    assert str(links["2-0"].queue) == "50 packets"
    assert links["0-2"].nic_queue is None
    assert scenario.stack.cwnd_clamp == 100
    [flow] = scenario.flows
    assert flow.via == ("0-2", "2-3", "3-1") and flow.ack_via == ("1-3", "3-2", "2-0")
    flows = daybreak.run(scenario, seed=1).flows
    assert flows["delivered_bytes"].to_list() == [1_000_000]
    assert flows["start_ns"].to_list() == [2_000]
