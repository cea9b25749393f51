"""Generators of flows: sizes and times have the distributions that are asked for, and pairs are the network's."""

import itertools
import math
from collections import Counter

import pytest
import scipy.stats
import tomli_w

import daybreak
from daybreak._native import Stream
from daybreak.errors import ScenarioError, UnknownName
from daybreak.scenario import Scenario, load, save
from daybreak.scenario.lowering import lower
from daybreak.scenario.workloads.sizes import DataMining, Hadoop, WebSearch

US, MS = 10**6, 10**9
HOSTS = [f"{side}-{i}" for side in ("sender", "receiver") for i in range(3)]
DUMBBELL = {
    "kind": "dumbbell", "pairs": 3, "rate": "10 Gbit/s", "delay": "20 us", "queue": "350 packets",
}  # fmt: skip
FIXED = {"kind": "fixed", "size": "1 MB"}


def document(**generator):
    """A scenario with one generator; what is None is left out."""
    said = {"name": "g", "from": "sender-0", "to": "receiver-0", "every": "1 us", "sizes": FIXED} | generator
    if "pairs" in said:
        said |= {"from": None, "to": None}
    if "process" in said:
        said["every"] = None
    arrivals = [{key: value for key, value in said.items() if value is not None}]
    return {"name": "workload", "duration": "100 s", "topology": DUMBBELL, "arrivals": arrivals}


def flows(seed=1, **generator):
    return lower(Scenario.parse(document(**generator)), seed).content.flows


def sizes_of(seed, **kind):
    return [flow.application.bytes for flow in flows(seed, sizes=kind, count=2000)]


def pairs_of(seed=1, **generator):
    plan = lower(Scenario.parse(document(**generator)), seed).content
    return [(plan.nodes[flow.src].name, plan.nodes[flow.dst].name) for flow in plan.flows]


# What is asked for, and what scipy says of it; drawn sizes are whole bytes, which a continuous law does not notice.
LAWS = [
    ({"kind": "exponential", "mean_size": "1 MB"}, scipy.stats.expon(scale=1e6)),
    ({"kind": "uniform", "least": "1 MB", "most": "3 MB"}, scipy.stats.uniform(1e6, 2e6)),
    ({"kind": "lognormal", "median": "100 kB", "sigma": 1.5}, scipy.stats.lognorm(1.5, scale=1e5)),
    (
        {"kind": "bounded_pareto", "shape": 1.2, "least": "10 kB", "most": "100 MB"},
        scipy.stats.truncpareto(1.2, 1e4, scale=1e4),
    ),
    (
        {"kind": "bounded_pareto", "shape": 1, "least": "10 kB", "most": "100 MB"},
        scipy.stats.truncpareto(1, 1e4, scale=1e4),
    ),
    (
        {"kind": "empirical", "points": [["100 kB", 0.0], ["1 MB", 0.25], ["2 MB", 1.0]]},
        scipy.stats.rv_histogram(([1, 3], [1e5, 1e6, 2e6]), density=False),
    ),
]
each_law = pytest.mark.parametrize(("kind", "law"), LAWS, ids=lambda one: one["kind"] if isinstance(one, dict) else "")


@each_law
def test_sizes_have_their_distribution(kind, law):
    for seed in range(5):
        assert scipy.stats.kstest(sizes_of(seed, **kind), law.cdf).pvalue > 1e-3, seed


@each_law
def test_a_mean_is_that_of_the_law(kind, law):
    said = Scenario.parse(document(sizes=kind, count=1)).arrivals[0].sizes
    assert said.mean == pytest.approx(law.mean(), rel=1e-6)


def test_the_first_point_of_a_measured_distribution_has_its_share():
    drawn = sizes_of(3, kind="empirical", points=[["1 kB", 0.3], ["1 kB", 0.5], ["2 kB", 0.5], ["4 kB", 1.0]])
    assert Counter(drawn)[1000] == pytest.approx(1000, abs=4 * math.sqrt(500))
    assert all(size == 1000 or 2000 <= size <= 4000 for size in drawn)


def test_the_first_point_of_a_measured_distribution_counts_in_its_mean():
    """Half of the flows have 1 kB, the others are spread evenly from 2 to 4 kB: an arrival rate depends on it."""
    points = [["1 kB", 0.3], ["1 kB", 0.5], ["2 kB", 0.5], ["4 kB", 1.0]]
    said = Scenario.parse(document(sizes={"kind": "empirical", "points": points}, count=1)).arrivals[0].sizes
    assert said.mean == 0.5 * 1000 + 0.5 * 3000
    alone = Scenario.parse(document(sizes={"kind": "empirical", "points": [["5 kB", 1.0]]}, count=1)).arrivals[0].sizes
    assert alone.mean == 5000


@pytest.mark.parametrize(("model", "mean"), [(WebSearch, 1_711_250), (DataMining, 12_658_199)])
def test_the_means_of_the_measured_clusters_are_those_that_others_use(model, mean):
    # The means that scripts of simulations with these two distributions set.
    assert model().mean == pytest.approx(mean, abs=0.5)


def test_the_points_of_hadoop_are_those_of_its_source():
    # Half of the width of each step, times the sum of its sizes, by hand; FbHdp_distribution.txt counts in percent.
    percent = [
        (0, 0), (100, 1), (200, 2), (300, 5), (350, 15), (400, 20), (500, 30), (600, 40), (700, 50), (1000, 60),
        (2000, 67), (7000, 70), (30000, 72), (50000, 82), (80000, 87), (120000, 90), (300000, 95), (1000000, 97.5),
        (2000000, 99), (10000000, 100),
    ]  # fmt: skip
    areas = [(b - a) * (low + high) for (low, a), (high, b) in itertools.pairwise(percent)]
    assert sum(areas) / 200 == pytest.approx(120_420.75)
    assert Hadoop().mean == pytest.approx(120_420.75)
    drawn = sizes_of(2, kind="hadoop")
    for size, share in ((350, 15), (700, 50), (7000, 70), (50_000, 82), (300_000, 95)):
        assert sum(one <= size for one in drawn) / 2000 == pytest.approx(share / 100, abs=4 * math.sqrt(0.25 / 2000))
    # Between two points, evenly: a tenth of the flows have 700 to 1000 bytes.
    between = [one for one in drawn if 700 < one <= 1000]
    assert scipy.stats.kstest(between, scipy.stats.uniform(700, 300).cdf).pvalue > 1e-3


def test_flows_of_web_search_have_its_shares():
    drawn = sizes_of(2, kind="web_search")
    for size, share in ((10_000, 0.15), (80_000, 0.53), (1_000_000, 0.7), (10_000_000, 0.97)):
        assert sum(one <= size for one in drawn) / 2000 == pytest.approx(share, abs=4 * math.sqrt(0.25 / 2000))
    assert max(drawn) <= 30_000_000 and min(drawn) >= 1


def test_sizes_are_drawn_from_the_generators_own_stream():
    stream = Stream(7, "sizes/g")
    drawn = [max(1, round(-math.log(1 - stream.unit()) * 1e6)) for _ in range(5)]
    said = {"sizes": {"kind": "exponential", "mean_size": "1 MB"}, "count": 5}
    assert [flow.application.bytes for flow in flows(7, **said)] == drawn
    # Neither the times nor the pairs take numbers of it.
    others = said | {"pairs": {"kind": "random"}, "process": {"kind": "poisson", "load": 1, "rate": "1 Gbit/s"}}
    assert [flow.application.bytes for flow in flows(7, **others)] == drawn


def test_poisson_arrivals_make_the_load():
    process = {"kind": "poisson", "load": 0.4, "link": "bottleneck"}
    for seed in range(5):
        times = [flow.start_ps for flow in flows(seed, process=process, count=2000)]
        gaps = [after - before for before, after in itertools.pairwise([0, *times])]
        # 1 MB at 40 % of 10 Gbit/s.
        assert scipy.stats.kstest(gaps, scipy.stats.expon(scale=2000 * US).cdf).pvalue > 1e-3


LEAVES = {
    "kind": "leaf_spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "rate": "10 Gbit/s", "delay": "1 us",
    "queue": "2000 packets",
}  # fmt: skip


@pytest.mark.parametrize(
    ("pairs", "senders"),
    [
        ({"kind": "random"}, 8),
        ({"kind": "all_to_all", "hosts": "leaf-0[*]"}, 4),
        ({"kind": "permutation"}, 8),
        ({"kind": "random", "from": "leaf-0[0:2]", "to": "hosts[*]"}, 2),
        # host-0 cannot send where it alone receives.
        ({"kind": "random", "from": "hosts[0:2]", "to": ["host-0"]}, 1),
        ({"kind": "incast", "to": "host-0"}, 7),
        ({"kind": "fan_out", "from": "host-0"}, 1),
        ({"kind": "list", "pairs": [["host-0", "host-1"], ["host-0", "host-2"], ["host-3", "host-0"]]}, 2),
        ({"kind": "matrix", "weights": [["host-0", "host-1", 1], ["host-2", "host-1", 0]]}, 1),
    ],
)
def test_a_load_is_that_of_the_links_of_the_hosts_that_send(pairs, senders):
    generator = {"name": "g", "pairs": pairs, "sizes": FIXED, "count": 50}
    said = {"name": "load", "duration": "100 s", "topology": LEAVES}

    def starts(**process):
        arrivals = [generator | {"process": {"kind": "poisson", **process}}]
        return [flow.start_ps for flow in lower(Scenario.parse(said | {"arrivals": arrivals}), 3).content.flows]

    assert starts(load="30 %") == starts(load=0.3, rate=f"{10 * senders} Gbit/s")


def test_the_links_of_those_that_respond_count_where_flows_ask():
    asks = {"kind": "request_response", "request": "300 B"}
    said = {"pairs": {"kind": "fan_out", "from": "sender-0"}, "application": asks, "count": 30}
    by_hosts = flows(3, **said, process={"kind": "poisson", "load": 0.3})
    by_rate = flows(3, **said, process={"kind": "poisson", "load": 0.3, "rate": "50 Gbit/s"})
    assert [flow.start_ps for flow in by_hosts] == [flow.start_ps for flow in by_rate]


def test_every_link_of_a_sender_counts():
    nodes = [{"name": "a"}, {"name": "b"}, {"name": "c"}]
    links = [
        {"from": "a", "to": "b", "rate": "1 Gbit/s", "delay": "1 us"},
        {"from": "c", "to": "a", "rate": "2 Gbit/s", "delay": "1 us"},
        {"from": "c", "to": "a", "name": "to", "duplex": False, "rate": "4 Gbit/s", "delay": "1 us"},
    ]
    generator = {"name": "g", "from": "a", "to": "b", "sizes": FIXED, "count": 50}

    def starts(**process):
        document = {"name": "own", "duration": "100 s", "nodes": nodes, "links": links}
        arrivals = [generator | {"process": {"kind": "poisson", **process}}]
        return [flow.start_ps for flow in lower(Scenario.parse(document | {"arrivals": arrivals}), 3).content.flows]

    assert starts(load="50 %") == starts(load="50 %", rate="3 Gbit/s")


@pytest.mark.parametrize("load", [0.2, 0.6])
def test_a_run_offers_its_load(load):
    """Payload over the rate of the hosts' links is the load, and the links carry headers beyond it."""
    lasts, mean = 0.02, 50_000
    generator = {
        "name": "g", "pairs": {"kind": "random"}, "lasts": f"{lasts} s",
        "sizes": {"kind": "exponential", "mean_size": f"{mean} B"}, "process": {"kind": "poisson", "load": load},
    }  # fmt: skip
    document = {"name": "offered", "duration": "2 s", "topology": LEAVES, "arrivals": [generator]}
    run = daybreak.run(Scenario.parse(document), seed=4)
    expected = load * 8 * 10e9 / 8 * lasts
    # The sum of a Poisson number of exponential sizes has the variance 2 n mean^2.
    assert run.flows["bytes"].sum() == pytest.approx(expected, abs=4 * mean * math.sqrt(2 * expected / mean))
    assert run.flows["end_ns"].null_count() == 0
    up = run.links.filter(run.links["link_name"].str.contains(r"^host-\d+->leaf"))
    # Headers beside payload: 52 bytes of IP and TCP, 38 of Ethernet. Each segment has them, and each ACK alone; there
    # are at most as many ACKs as segments, and a flow opens and closes with fewer than eight packets.
    needed = run.flows["bytes"].sum() + 90 * sum(math.ceil(size / 1448) for size in run.flows["bytes"])
    sent = run.flows["bytes"].sum() + 1538 * run.flows["retransmits"].sum()
    assert needed < up["bytes"].sum() < sent + 90 * (2 * run.flows["segments"].sum() + 8 * run.flows.height)


@pytest.mark.parametrize("times", [1, 5])
def test_a_load_is_that_of_what_flows_carry(times):
    said = {
        "sizes": {"kind": "exponential", "mean_size": "100 kB"}, "at_once": 2, "lasts": "1 s",
        "process": {"kind": "poisson", "load": 0.5, "rate": "8 Gbit/s"},
        "application": {"kind": "request_response", "request": "1 kB", "exchanges": times},
    }  # fmt: skip
    asked = sum(run.count * run.response_bytes for flow in flows(**said) for run in flow.application.exchanges)
    # 500 MB in a second; a flow carries `times` equal responses, and its number and size are both random.
    spread = math.sqrt(2 * times * 100e3 * 500e6 * 2)
    assert asked == pytest.approx(500e6, abs=4 * spread)


def test_a_generator_ends_with_the_first_of_its_bounds():
    assert len(flows(every="1 ms", count=7, lasts="10 ms")) == 7
    last = flows(every="1 ms", start="2 ms", count=70, lasts="10 ms")
    assert [flow.start_ps for flow in last] == [(2 + k) * MS for k in range(10)]
    total = {"choice": ["1 kB"], "total": "5 kB"}
    assert len(flows(sizes=total, count=3)) == 3
    assert len(flows(sizes=total, count=30)) == 5


def test_all_at_once_is_one_flow_a_pair():
    said = {"pairs": {"kind": "all_to_all"}, "process": {"kind": "all_at_once"}, "start": "3 ms"}
    assert {flow.start_ps for flow in flows(**said)} == {3 * MS}
    assert sorted(pairs_of(**said)) == sorted(itertools.permutations(HOSTS, 2))
    assert len(flows(**said, count=7)) == 7


def test_each_round_of_all_to_all_is_made_of_permutations():
    pairs = pairs_of(pairs={"kind": "all_to_all"}, count=60)
    assert pairs[:30] == pairs[30:]
    for k in range(0, 30, 6):
        sources, destinations = zip(*pairs[k : k + 6], strict=True)
        assert sorted(sources) == sorted(destinations) == sorted(HOSTS)


def test_a_permutation_is_drawn_once_and_leaves_no_host_to_itself():
    seen = Counter()
    for seed in range(400):
        pairs = pairs_of(seed, pairs={"kind": "permutation", "hosts": HOSTS[:4]}, count=8)
        assert pairs[:4] == pairs[4:]
        assert [source for source, _ in pairs[:4]] == HOSTS[:4]
        assert sorted(to for _, to in pairs[:4]) == sorted(HOSTS[:4]) and all(a != b for a, b in pairs)
        seen[tuple(pairs[:4])] += 1
    # Four hosts have nine permutations without a fixed point, each as likely.
    assert len(seen) == 9 and scipy.stats.chisquare(list(seen.values())).pvalue > 1e-3


@pytest.mark.parametrize(
    "pairs", [{"kind": "random"}, {"kind": "all_to_all", "order": "drawn"}], ids=["random", "all to all, drawn"]
)
def test_random_pairs_are_even_among_all(pairs):
    counts = Counter(pairs_of(5, pairs=pairs, count=6000))
    assert set(counts) == set(itertools.permutations(HOSTS, 2))
    assert scipy.stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_random_pairs_between_two_sets_that_overlap():
    pairs = {"kind": "random", "from": HOSTS[:2], "to": HOSTS[1:4]}
    counts = Counter(pairs_of(pairs=pairs, count=6000))
    # The second host may not send to itself: its two receivers have half of its flows each, the first's three a third.
    law = {(0, 1): 1000, (0, 2): 1000, (0, 3): 1000, (1, 2): 1500, (1, 3): 1500}
    expected = {(HOSTS[a], HOSTS[b]): count for (a, b), count in law.items()}
    assert set(counts) == set(expected)
    assert scipy.stats.chisquare([counts[pair] for pair in expected], list(expected.values())).pvalue > 1e-3


def test_incast_and_fan_out_take_each_other_host_in_turn():
    to_one = pairs_of(pairs={"kind": "incast", "to": "receiver-1"}, count=10)
    assert to_one == [(host, "receiver-1") for host in HOSTS if host != "receiver-1"] * 2
    from_one = pairs_of(pairs={"kind": "fan_out", "from": "receiver-1", "to": HOSTS[:2]}, count=4)
    assert from_one == [("receiver-1", host) for host in HOSTS[:2]] * 2


def test_a_matrix_draws_pairs_by_their_weights():
    weights = [[HOSTS[0], HOSTS[3], 3], [HOSTS[1], HOSTS[4], 0], [HOSTS[2], HOSTS[5], 1]]
    counts = Counter(pairs_of(pairs={"kind": "matrix", "weights": weights}, count=4000))
    assert set(counts) == {(HOSTS[0], HOSTS[3]), (HOSTS[2], HOSTS[5])}
    assert counts[HOSTS[0], HOSTS[3]] == pytest.approx(3000, abs=4 * math.sqrt(4000 * 0.25 * 0.75))


@pytest.mark.parametrize(("place", "pair"), [
    (0, [[HOSTS[0], "receiver-99", 1]]), (0, [["receiver-99", HOSTS[0], 1]]),
    # Also where no flow would go there.
    (1, [[HOSTS[0], HOSTS[1], 1], [HOSTS[0], "receiver-99", 0]]),
])  # fmt: skip
def test_a_host_that_is_not_there_is_named_with_its_row(place, pair):
    with pytest.raises(UnknownName) as caught:
        pairs_of(pairs={"kind": "matrix", "weights": pair}, count=4)
    assert f'arrivals[0].pairs.weights[{place}] = "receiver-99": there is no such host' in str(caught.value)


def test_pairs_of_a_list_in_turn_and_drawn():
    pairs = [[HOSTS[0], HOSTS[3]], [HOSTS[4], HOSTS[1]]]
    assert pairs_of(pairs={"kind": "list", "pairs": pairs}, count=3) == [tuple(pairs[k]) for k in (0, 1, 0)]
    drawn = pairs_of(pairs={"kind": "list", "pairs": pairs, "order": "drawn"}, count=400)
    assert Counter(drawn)[tuple(pairs[0])] == pytest.approx(200, abs=4 * 10)


def test_responses_have_the_drawn_sizes():
    said = {"sizes": {"kind": "uniform", "least": "1 kB", "most": "9 kB"}, "count": 20}
    asks = {"kind": "request_response", "request": "300 B", "exchanges": 2}
    plain, asked = flows(**said), flows(**said, application=asks)
    runs = [run for flow in asked for run in flow.application.exchanges]
    assert [run.response_bytes for run in runs] == [flow.application.bytes for flow in plain]
    assert {(run.request_bytes, run.count) for run in runs} == {(300, 2)}


def is_moved(plan, flow):
    return any(step.kind == "route_switch" for step in plan.paths[flow.data_path])


@pytest.fixture
def leaves():
    """All hosts of three leaves send to all, and two leaves have a direct link."""
    arrivals = {"name": "g", "pairs": {"kind": "all_to_all"}, "process": {"kind": "all_at_once"}, "sizes": FIXED}
    topology = {
        "kind": "leaf_spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2, "rate": "1 Gbit/s", "delay": "1 us",
        "queue": "9 packets", "direct": [[0, 1]],
    }  # fmt: skip
    return Scenario.parse({"name": "leaves", "duration": "1 s", "topology": topology, "arrivals": [arrivals]})


def test_a_schedule_moves_those_pairs_that_it_joins(leaves):
    plan = lower(leaves.with_({"schedule": {"kind": "direct_turns", "turn": "1 ms"}}), 1).content
    hosts = [node.name for node in plan.nodes if node.kind == "host"]
    leaf = [hosts.index(node.name) // 2 if node.name in hosts else None for node in plan.nodes]
    for flow in plan.flows:
        assert is_moved(plan, flow) == ({leaf[flow.src], leaf[flow.dst]} == {0, 1})


def test_a_route_moves_all_flows_of_a_generator_by_its_name(leaves):
    pairs = {"kind": "list", "pairs": [["host-0", "host-2"], ["host-1", "host-3"]]}
    route = {"name": "r", "flows": ["g"], "between": [["direct-0-1"], ["leaf-0->spine-0"]]}
    plan = lower(leaves.with_({"routes": [route], "arrivals.0.pairs": pairs}), 1).content
    assert [is_moved(plan, flow) for flow in plan.flows] == [True, True]


FILES = {
    "sizes.csv": "size,probability\n1000,0.5\n2 kB,1\n",
    "trace.csv": "# a comment\ntime,from,to,size\n0.001,sender-0,receiver-1,1000\n2 us,sender-2,receiver-0,2 MB\n",
    "matrix.csv": "from,to,weight\nsender-0,receiver-0,3\n\nsender-1,receiver-0,1\n",
}


def loaded(folder, **generator):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    path = folder / "scenario.toml"
    path.write_text(tomli_w.dumps(document(**generator)))
    return load(path)


def test_a_trace_is_played_as_it_stands(tmp_path):
    trace = {
        "process": {"kind": "trace", "file": "trace.csv"},
        "from": None,
        "to": None,
        "sizes": None,
        "start": "1 ms",
    }
    scenario = loaded(tmp_path, **trace)
    plan = lower(scenario, 1).content
    played = [
        (flow.name, flow.start_ps, plan.nodes[flow.src].name, plan.nodes[flow.dst].name, flow.application.bytes)
        for flow in plan.flows
    ]
    assert played == [
        ("g-0", 2 * MS, "sender-0", "receiver-1", 1000), ("g-1", MS + 2 * US, "sender-2", "receiver-0", 2_000_000),
    ]  # fmt: skip
    late = scenario.with_({"arrivals.0.lasts": "1 ms"})
    assert [flow.name for flow in lower(late, 1).content.flows] == ["g-0"]
    # The rows are the scenario's now: it needs the file no more.
    (tmp_path / "trace.csv").unlink()
    save(scenario, tmp_path / "saved.toml")
    assert load(tmp_path / "saved.toml") == scenario


def test_sizes_and_pairs_from_files(tmp_path):
    scenario = loaded(
        tmp_path, sizes={"kind": "empirical", "file": "sizes.csv"}, pairs={"kind": "matrix", "file": "matrix.csv"},
        count=1,
    )  # fmt: skip
    (generator,) = scenario.arrivals
    assert generator.sizes.points == ((1000, 0.5), (2000, 1.0))
    assert generator.pairs.weights == (("sender-0", "receiver-0", 3.0), ("sender-1", "receiver-0", 1.0))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read"),
        ("", "has the columns none: expected size, probability"),
        ("bytes,probability\n1,1\n", "has the columns bytes, probability: expected size, probability"),
        ("size,probability\n1\n", "line 2 has 1 values: expected 2"),
        ("size,probability\n1 XB,1\n", 'arrivals[0].sizes.points[0][0] = "1 XB"'),
        ("size,probability\n1,\n", 'arrivals[0].sizes.points[0][1] = ""'),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, monkeypatch, text, sentence):
    if text is None:
        monkeypatch.delitem(FILES, "sizes.csv")
    else:
        monkeypatch.setitem(FILES, "sizes.csv", text)
    with pytest.raises(ScenarioError) as error:
        loaded(tmp_path, sizes={"kind": "empirical", "file": "sizes.csv"}, count=1)
    assert sentence in str(error.value) and "scenario.toml" in str(error.value)


def test_one_plan_and_seed_has_the_same_bytes():
    process = {"kind": "poisson", "load": 0.3, "rate": "30 Gbit/s"}
    said = document(pairs={"kind": "random"}, sizes={"kind": "web_search"}, process=process, lasts="20 ms")
    scenario = Scenario.parse(said)
    assert lower(scenario, 4).json == lower(Scenario.parse(said), 4).json != lower(scenario, 5).json


def test_the_simulator_completes_flows_of_every_kind_of_pairs():
    for pairs in ({"kind": "random"}, {"kind": "permutation"}, {"kind": "incast", "to": "receiver-0"}):
        scenario = Scenario.parse(document(pairs=pairs, sizes={"kind": "exponential", "mean_size": "20 kB"}, count=30))
        ran = daybreak.run(scenario.with_(duration="10 s"), seed=2).flows
        assert ran["end_ns"].null_count() == 0 and len(ran) == 30


def test_a_fabric_of_1024_hosts_can_state_its_load():
    lasts_us, size, load, rate = 20, 100_000, 0.6, 1024 * 100e9
    scenario = Scenario.parse(
        {
            "name": "fabric", "duration": "40 us", "stop": "duration", "routing": "ecmp",
            "topology": {
                "kind": "leaf_spine", "leaves": 32, "spines": 32, "hosts_per_leaf": 32, "rate": "100 Gbit/s",
                "delay": "1 us", "queue": "200 packets",
            },
            "arrivals": [
                {
                    "name": "all", "lasts": f"{lasts_us} us", "sizes": {"kind": "fixed", "size": "100 kB"},
                    "process": {"kind": "poisson", "load": load, "rate": "102.4 Tbit/s"}, "pairs": {"kind": "random"},
                }
            ],
        }
    )  # fmt: skip
    content = lower(scenario, 1).content
    expected = load * rate * lasts_us * 1e-6 / (8 * size)
    assert len(content.flows) == pytest.approx(expected, abs=4 * math.sqrt(expected))
    run = daybreak.run(scenario)
    # They are under way, all together below what the links take.
    assert run.flows["delivered_bytes"].sum() * 8 < rate * 40e-6
    assert (run.flows.filter(run.flows["start_ns"] < 20_000)["delivered_bytes"] > 0).mean() > 0.9


def test_no_link_has_the_rate_of_a_fabric():
    with pytest.raises(ScenarioError, match=r"topology\.rate = \"102.4 Tbit/s\": expected a rate from .* to 10 Tbit/s"):
        Scenario.parse(document() | {"topology": DUMBBELL | {"rate": "102.4 Tbit/s"}})
    process = {"kind": "poisson", "load": 0.5, "rate": "2000000 Tbit/s"}
    with pytest.raises(ScenarioError, match=r"process\.rate = .*: expected a rate from .* to 1000000 Tbit/s"):
        Scenario.parse(document(process=process, count=5))
