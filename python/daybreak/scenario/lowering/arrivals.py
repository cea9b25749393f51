"""Generates the flows of `arrivals`, drawn from streams named after the generators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import NamedTuple

from daybreak._native import Stream
from daybreak.errors import ScenarioError
from daybreak.plan import types as plan

from ..network import Link
from ..quantities import Size
from ..scenario import Scenario
from ..times import drawn
from ..traffic import MOST_MESSAGE, Arrivals
from ..workloads.pairs import Ends, Pair, Pairs
from ..workloads.processes import AllAtOnce, Rates, Trace
from .choices import resolve_variant
from .hosts import HostGroups
from .names import look_up, unknown
from .planned import Family, PlannedFlow, bulk, exchanges


class _Arriving(NamedTuple):
    """One flow of a generator."""

    start_ps: int
    pair: Pair
    bytes: int | None
    """Its size in bytes; None if its application determines it."""


def arriving_flows(
    scenario: Scenario, index: int, seed: int, variants: Sequence[str] | None, most: int
) -> Iterator[PlannedFlow]:
    """The flows of generator `index`, with seed `seed`. Raises ScenarioError, also for more than `most` flows."""
    arrivals, field = scenario.arrivals[index], f"arrivals[{index}]"
    resolve_variant(arrivals.variant, f"{field}.variant", variants)
    families: dict[Pair, Family] = {}
    for k, one in enumerate(_arriving(scenario, arrivals, field, seed)):
        if k == most:
            _refuse_so_many(arrivals, field, most)
        if one.pair not in families:
            families[one.pair] = _family(arrivals, field, one.pair)
        name = f"{arrivals.name}-{k}"
        yield PlannedFlow(families[one.pair], name, _application(arrivals, one.bytes, name, seed, field), one.start_ps)


def _refuse_so_many(arrivals: Arrivals, field: str, most: int) -> None:
    for key in ("count", "lasts"):
        value = getattr(arrivals, key)
        if value is not None:
            field = f"{field}.{key}"
            raise ScenarioError(
                f"{field} = {value}: makes more flows than the {most:,} that a run can still have", field
            )
    raise ScenarioError(f"{field}: makes more flows than the {most:,} that a run can still have", field)


def _family(arrivals: Arrivals, field: str, pair: Pair) -> Family:
    """The family of the flows of one pair; a generator for one pair is one family."""
    if pair.source == pair.destination and arrivals.from_ is None:
        raise ScenarioError(f'{field}: has a flow from "{pair.source}" to itself: expected two different hosts', field)
    is_only = arrivals.from_ is not None
    return Family(
        field=field, entry=arrivals.name,
        name=arrivals.name if is_only else f"{arrivals.name}/{pair.source}->{pair.destination}",
        group=arrivals.group or arrivals.name, source=pair.source, destination=pair.destination,
        variant=arrivals.variant, via=arrivals.via, ack_via=arrivals.ack_via, stack=arrivals.stack,
        receiver_stack=arrivals.receiver_stack,
    )  # fmt: skip


def _application(arrivals: Arrivals, size: int | None, name: str, seed: int, field: str) -> plan.Application:
    asks = arrivals.application
    most = Size.highest if asks is None else MOST_MESSAGE
    if size is not None and size > most:
        raise ScenarioError(f"{field}.sizes: has drawn {size:,} B: expected sizes of at most {Size(most)}", field)
    if asks is None:
        return bulk(size)
    response = size if size is not None else int(asks.response or 0)
    return exchanges(asks, response, name, seed)


def _arriving(scenario: Scenario, arrivals: Arrivals, field: str, seed: int) -> Iterator[_Arriving]:
    """Times, pairs and sizes, each from a stream of its own."""
    start = drawn(arrivals.start, Stream(seed, f"arrivals/{arrivals.name}/start"))
    hosts = [node.name for node in scenario.nodes if node.kind == "host"]
    if isinstance(arrivals.process, Trace):
        _refuse_unknown(
            {f"flows[{i}]": row[1:3] for i, row in enumerate(arrivals.process.flows)}, hosts, f"{field}.process"
        )
        listed = (_Arriving(start + at, Pair(*pair), int(size)) for at, *pair, size in arrivals.process.flows)
        yield from _in_time(arrivals, start, islice(listed, arrivals.count))
        return
    host_pairs = _host_pairs(scenario, arrivals, field)
    _refuse_unknown(host_pairs.named(), hosts, f"{field}.pairs")
    pairs = host_pairs.of_flows(hosts, Stream(seed, f"arrivals/{arrivals.name}/pairs"), f"{field}.pairs")
    rates = _rates(scenario, arrivals, host_pairs.ends(hosts), field)
    times = _times(arrivals, rates, Stream(seed, f"arrivals/{arrivals.name}/gap"))
    sizes = _sizes(arrivals, Stream(seed, f"sizes/{arrivals.stream or arrivals.name}"), field)
    count = _most_flows(arrivals, pairs.round, field)
    # Sizes come first: when they are exhausted, nothing else may be drawn.
    flows = (_Arriving(start + at, pair, size) for size, at, pair in zip(sizes, times, pairs.pairs, strict=False))
    yield from _in_time(arrivals, start, islice(flows, count))


def _host_pairs(scenario: Scenario, arrivals: Arrivals, field: str) -> Pairs:
    """The pairs of a generator, with groups replaced by their hosts."""
    groups = HostGroups(scenario.nodes, scenario.links)
    nodes = [node.name for node in scenario.nodes]
    for key, name in (("from", arrivals.from_), ("to", arrivals.to)):
        if name is not None and groups.of(name, f"{field}.{key}") is not None:
            raise ScenarioError(
                f'{field}.{key} = "{name}": expected one host: of several, "pairs" says which flows go where',
                f"{field}.{key}",
            )
        if name is not None and name not in nodes:
            raise unknown(name, [node.name for node in scenario.nodes if node.kind == "host"], f"{field}.{key}", "host")
    return arrivals.host_pairs.with_hosts(lambda names, key: groups.among(names, f"{field}.pairs.{key}"))


def _in_time(arrivals: Arrivals, start: int, flows: Iterator[_Arriving]) -> Iterator[_Arriving]:
    """The flows that arrive within `lasts`; rows of a trace may be in any order."""
    if arrivals.lasts is None:
        yield from flows
        return
    for flow in flows:
        if flow.start_ps < start + arrivals.lasts:
            yield flow
        elif not isinstance(arrivals.process, Trace):
            return


def _times(arrivals: Arrivals, rates: Rates, stream: Stream) -> Iterator[int]:
    """Arrival times in ps after the start, each for `at_once` flows."""
    asks, sizes = arrivals.application, arrivals.sizes
    mean = sizes.mean if sizes is not None else int(asks.response or 0) if asks else 0
    mean *= arrivals.at_once * (asks.exchanges if asks else 1)
    now = 0
    for gap in arrivals.arrival_process.gaps(stream, mean, rates):
        now += gap
        yield from repeat(now, arrivals.at_once)


def _rates(scenario: Scenario, arrivals: Arrivals, ends: Ends, field: str) -> Rates:
    # Responses are sent by the hosts that receive requests.
    senders = ends.senders if arrivals.application is None else ends.receivers

    def of_link(name: str) -> int:
        links = {way: link for link in scenario.links for way in _ways(link)}
        known = list(links)
        return int(links[known[look_up(name, known, f"{field}.process.link", "link")]].rate)

    def of_senders() -> int:
        rate = sum(int(link.rate) for link in scenario.links for host in _ways(link).values() if host in senders)
        if not rate:
            where = f"{field}.process"
            raise ScenarioError(f"{where}: no link leaves a host that sends: expected a link or a rate", where)
        return rate

    return Rates(of_link, of_senders)


def _ways(link: Link) -> dict[str, str]:
    """The node at which each direction of a link starts, by the direction's name."""
    forward = {link.forward_name: link.from_}
    return forward | {link.back_name: link.to} if link.duplex else forward


def _sizes(arrivals: Arrivals, stream: Stream, field: str) -> Iterable[int | None]:
    return repeat(None) if arrivals.sizes is None else arrivals.sizes.draws(stream, f"{field}.sizes")


def _most_flows(arrivals: Arrivals, round_of_pairs: int | None, field: str) -> int | None:
    """The number of flows of a generator; None if its sizes or a time limit it instead."""
    if arrivals.count is not None or (arrivals.sizes is not None and arrivals.sizes.ends):
        return arrivals.count
    if isinstance(arrivals.process, AllAtOnce):
        if round_of_pairs is None:
            raise ScenarioError(
                f"{field}: expected a count: neither its sizes nor its pairs limit the number of flows", field
            )
        return round_of_pairs
    if arrivals.lasts is None:
        raise ScenarioError(f"{field}: expected count or lasts: neither its sizes nor its process has an end", field)
    return None


def _refuse_unknown(named: dict[str, Sequence[str]], hosts: Sequence[str], field: str) -> None:
    known = set(hosts)
    for key, names in named.items():
        for name in names:
            if name not in known:
                raise unknown(name, hosts, f"{field}.{key}", "host")
