"""Pairs of hosts between which a generator's flows go.

If no hosts are named, all hosts of the network are used, in its order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, cycle, repeat
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from daybreak._native import Stream
from daybreak.errors import ScenarioError

from ..model import Names, Tagged
from ..quantities import reject
from .rows import FromRows

MOST_PAIRS = 1_000_000
"""Limit on the pairs listed for one generator."""

Order = Literal["in_turn", "drawn"]


class Pair(NamedTuple):
    """Sending and receiving host."""

    source: str
    destination: str


class PairsOfFlows(NamedTuple):
    """The pair of each flow in order, and the number after which they repeat; None if they are drawn."""

    pairs: Iterator[Pair]
    round: int | None


class Ends(NamedTuple):
    """The sending and the receiving hosts, each once."""

    senders: frozenset[str]
    receivers: frozenset[str]


class _Pairs(Tagged):
    """The interface of all choices of pairs."""

    def named(self) -> dict[str, Sequence[str]]:
        """The hosts that it names, by key and position; without `from` and `to` of a generator."""
        return {}

    def with_hosts(self, hosts_of: Callable[[Sequence[str], str], tuple[str, ...]]) -> Self:
        """A copy with groups replaced by their hosts: `hosts_of(names, key)` expands the list under `key`."""
        lists = {key: getattr(self, key, None) for key in ("hosts", "from_", "to")}
        return self.model_copy(
            update={key: hosts_of(names, key.rstrip("_")) for key, names in lists.items() if isinstance(names, tuple)}
        )

    def ends(self, hosts: Sequence[str]) -> Ends:
        """The hosts among `hosts` that may send, and those that may receive."""
        raise NotImplementedError

    def of_flows(self, hosts: Sequence[str], stream: Stream, field: str) -> PairsOfFlows:
        """The pairs of a generator's flows, among `hosts`, drawn from `stream`. Raises ScenarioError about `field`."""
        raise NotImplementedError


def _ends(pairs: Iterable[tuple[str, str]]) -> Ends:
    senders, receivers = zip(*pairs, strict=True)
    return Ends(frozenset(senders), frozenset(receivers))


def _in_order(pairs: Sequence[Pair], order: Order, stream: Stream, field: str) -> PairsOfFlows:
    if not pairs:
        raise ScenarioError(f"{field}: expected at least two hosts, and receivers that are not the only sender", field)
    if order == "in_turn":
        return PairsOfFlows(cycle(pairs), len(pairs))
    return PairsOfFlows((pairs[stream.below(len(pairs))] for _ in repeat(None)), None)


class OnePair(_Pairs):
    """All flows from one host to another."""

    kind: Literal["one"] = "one"
    """How pairs are chosen; `from` and `to` of the generator are short for this kind."""
    from_: str = Field(alias="from")
    """Sending host."""
    to: str
    """Receiving host."""

    def ends(self, hosts: Sequence[str]) -> Ends:
        return Ends(frozenset([self.from_]), frozenset([self.to]))

    def of_flows(self, hosts: Sequence[str], stream: Stream, field: str) -> PairsOfFlows:
        return _in_order([Pair(self.from_, self.to)], "in_turn", stream, field)


class PairList(_Pairs):
    """The pairs of a list."""

    kind: Literal["list"] = "list"
    """The kind of choice."""
    pairs: tuple[tuple[str, str], ...] = Field(min_length=1, max_length=MOST_PAIRS)
    """Sending and receiving host of each pair."""
    order: Order = "in_turn"
    """Whether flows take the pairs cyclically, or each draws one."""

    def named(self) -> dict[str, Sequence[str]]:
        return {f"pairs[{i}]": pair for i, pair in enumerate(self.pairs)}

    def ends(self, hosts: Sequence[str]) -> Ends:
        return _ends(self.pairs)

    def of_flows(self, hosts: Sequence[str], stream: Stream, field: str) -> PairsOfFlows:
        return _in_order([Pair(*pair) for pair in self.pairs], self.order, stream, field)


class _Among(_Pairs):
    """Pairs with the same hosts on both sides."""

    hosts: Names = ()
    """The hosts; by default all."""
    order: Order = "in_turn"
    """Whether flows take the pairs cyclically, or each draws one."""

    def named(self) -> dict[str, Sequence[str]]:
        return {"hosts": self.hosts}

    def ends(self, hosts: Sequence[str]) -> Ends:
        return Ends(frozenset(self.hosts or hosts), frozenset(self.hosts or hosts))


class AllToAll(_Among):
    """Every host sends to every other one.

    In order, each host first sends to the one after it, then each to the second after it: successive flows, one per
    host, form a permutation.
    """

    kind: Literal["all_to_all"] = "all_to_all"
    """The kind of choice."""

    def of_flows(self, hosts: Sequence[str], stream: Stream, field: str) -> PairsOfFlows:
        among = self.hosts or hosts
        count = len(among) * (len(among) - 1)
        if count > MOST_PAIRS:
            raise ScenarioError(f"{field}: makes {count:,} pairs of hosts: expected at most {MOST_PAIRS:,}", field)
        pairs = [
            Pair(host, among[(i + ahead) % len(among)])
            for ahead in range(1, len(among))
            for i, host in enumerate(among)
        ]
        return _in_order(pairs, self.order, stream, field)


class Permutation(_Among):
    """Every host sends to one other host and receives from one: a random permutation without fixed points."""

    kind: Literal["permutation"] = "permutation"
    """The kind of choice."""

    def of_flows(self, hosts: Sequence[str], stream: Stream, field: str) -> PairsOfFlows:
        among = list(self.hosts or hosts)
        pairs = [Pair(*both) for both in zip(among, _derangement(among, stream), strict=True)] if len(among) > 1 else []
        return _in_order(pairs, self.order, stream, field)


def _derangement(items: list[str], stream: Stream) -> list[str]:
    """A uniformly random derangement; about one of e permutations is one."""
    while True:
        shuffled = list(items)
        for last in range(len(shuffled) - 1, 0, -1):
            other = stream.below(last + 1)
            shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
        if all(one != other for one, other in zip(items, shuffled, strict=True)):
            return shuffled


class RandomPairs(_Pairs):
    """Each flow draws its sender uniformly, then its receiver uniformly among the others."""

    kind: Literal["random"] = "random"
    """The kind of choice."""
    from_: Names = Field(default=(), alias="from")
    """Senders; by default all hosts."""
    to: Names = ()
    """Receivers; by default all hosts."""

    def named(self) -> dict[str, Sequence[str]]:
        return {"from": self.from_, "to": self.to}

    def ends(self, hosts: Sequence[str]) -> Ends:
        senders, receivers = frozenset(self.from_ or hosts), frozenset(self.to or hosts)
        # A host does not send to itself, so a single host yields no pair.
        return Ends(
            frozenset(host for host in senders if receivers - {host}),
            frozenset(host for host in receivers if senders - {host}),
        )

    def of_flows(self, hosts: Sequence[str], stream: Stream, field: str) -> PairsOfFlows:
        receivers = self.to or hosts
        place = {host: i for i, host in enumerate(receivers)}
        senders = [host for host in self.from_ or hosts if len(receivers) > (host in place)]
        if not senders:
            return _in_order([], "drawn", stream, field)
        return PairsOfFlows(_random(senders, receivers, place, stream), None)


def _random(senders: Sequence[str], receivers: Sequence[str], place: dict[str, int], stream: Stream) -> Iterator[Pair]:
    while True:
        sender = senders[stream.below(len(senders))]
        own = place.get(sender, len(receivers))
        drawn = stream.below(len(receivers) - (sender in place))
        yield Pair(sender, receivers[drawn + (drawn >= own)])


class Incast(_Pairs):
    """Many hosts send to one. With `at_once` equal to the number of senders, all of them send at each arrival."""

    kind: Literal["incast"] = "incast"
    """The kind of choice."""
    from_: Names = Field(default=(), alias="from")
    """Senders; by default all hosts but the receiver."""
    to: str
    """The receiver."""
    order: Order = "in_turn"
    """Whether flows take the senders cyclically, or each draws one."""

    def named(self) -> dict[str, Sequence[str]]:
        return {"from": self.from_, "to": [self.to]}

    def ends(self, hosts: Sequence[str]) -> Ends:
        return Ends(frozenset(self.from_ or hosts) - {self.to}, frozenset([self.to]))

    def of_flows(self, hosts: Sequence[str], stream: Stream, field: str) -> PairsOfFlows:
        pairs = [Pair(host, self.to) for host in self.from_ or hosts if host != self.to]
        return _in_order(pairs, self.order, stream, field)


class FanOut(_Pairs):
    """One host sends to many. With an `application` it sends requests to all of them, and their responses form an
    incast."""

    kind: Literal["fan_out"] = "fan_out"
    """The kind of choice."""
    from_: str = Field(alias="from")
    """The sender."""
    to: Names = ()
    """Receivers; by default all hosts but the sender."""
    order: Order = "in_turn"
    """Whether flows take the receivers cyclically, or each draws one."""

    def named(self) -> dict[str, Sequence[str]]:
        return {"from": [self.from_], "to": self.to}

    def ends(self, hosts: Sequence[str]) -> Ends:
        return Ends(frozenset([self.from_]), frozenset(self.to or hosts) - {self.from_})

    def of_flows(self, hosts: Sequence[str], stream: Stream, field: str) -> PairsOfFlows:
        pairs = [Pair(self.from_, host) for host in self.to or hosts if host != self.from_]
        return _in_order(pairs, self.order, stream, field)


class TrafficMatrix(FromRows, _Pairs):
    """Each flow draws a pair by weight: a pair's expected share of the flows, and of their bytes."""

    columns = {"from": "text", "to": "text", "weight": "number"}
    rows_key = "weights"
    kind: Literal["matrix"] = "matrix"
    """The kind of choice."""
    weights: tuple[tuple[str, str, float], ...] = Field(default=(), max_length=MOST_PAIRS)
    """Sending host, receiving host and weight of each pair; pairs that are not listed have no flows."""
    file: str | None = None
    """CSV file instead of `weights`, relative to the scenario's: columns from, to and weight."""

    @model_validator(mode="after")
    def _weighs(self) -> Self:
        self._has_rows(self.file)
        for source, destination, weight in self.weights:
            if not 0 <= weight <= 1e12:
                raise reject(f"expected a weight from 0 to 1e12, not {weight} from {source} to {destination}")
        if not any(weight for *_, weight in self.weights):
            raise reject("expected at least one weight above 0")
        return self

    def named(self) -> dict[str, Sequence[str]]:
        return {f"weights[{i}]": row[:2] for i, row in enumerate(self.weights)}

    def ends(self, hosts: Sequence[str]) -> Ends:
        return _ends([row[:2] for row in self.weights if row[2]])

    def of_flows(self, hosts: Sequence[str], stream: Stream, field: str) -> PairsOfFlows:
        weighty = [row for row in self.weights if row[2]]
        sums = list(accumulate(weight for *_, weight in weighty))
        drawn = (bisect_right(sums, stream.unit() * sums[-1], hi=len(sums) - 1) for _ in repeat(None))
        return PairsOfFlows((Pair(*weighty[i][:2]) for i in drawn), None)


Pairs = Annotated[
    OnePair | PairList | AllToAll | Permutation | RandomPairs | Incast | FanOut | TrafficMatrix,
    Field(discriminator="kind"),
]
"""A choice of host pairs, selected by its `kind`."""
