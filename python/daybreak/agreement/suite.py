"""The suite as data: a table of families, each of which expands into cases.

A case describes one scenario, which `scenarios.scenario` makes.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from daybreak.errors import ScenarioError, UnknownName, reason
from daybreak.plan.types import Downtime
from daybreak.scenario import QueueLimit, Rate, RequestResponse, Span
from daybreak.scenario.model import Model
from daybreak.scenario.problems import scenario_error
from daybreak.scenario.quantities import reject

HEADERS = 52
"""IPv4 and TCP headers with timestamps: an MTU of 1500 carries 1448 bytes of payload."""
BUILT_IN = files(__package__).joinpath("suite.toml")


def _short(value: object) -> str:
    return str(value).replace(" ", "")


_GROUP = re.compile(r"(?:(\d+) )?(\w+)")
# The fields that may have several values in a family, and how a case's name shows them.
_LABELS: dict[str, Callable[[Any], str]] = {
    "flows": lambda value: value.replace(" ", ""),
    "rate": lambda value: _short(value).replace("bit/s", "").lower(),
    "rtt": _short,
    "buffer": lambda value: f"{value:g}bdp",
    "mtu": lambda value: f"mtu{value}",
    "packets": lambda value: f"{value}p",
    "tail": lambda value: f"tail{value}",
    "exchange": lambda value: _exchange(value),  # noqa: PLW0108 - it is defined below
    "threshold": lambda value: f"mark{value}",
    "loss": lambda value: f"{value * 100:g}%",
    "ack_loss": lambda value: f"acks{value * 100:g}%",
    "reverse": lambda value: f"reverse-{value.replace(' ', '')}" if value else "oneway",
    "rmem": lambda value: f"rmem{value}",
    "wmem": lambda value: f"wmem{value}",
    "stack": lambda value: _settings(value),  # noqa: PLW0108 - it is defined below
    "receiver": lambda value: f"receiver-{_settings(value)}",
    "repeat": lambda value: f"{value}times",
    "day": lambda value: f"day{_short(value)}",
    "night": lambda value: f"night{_short(value) if value else 0}",
    "downtime": str,
    "period": lambda value: f"period{_short(value)}",
    "far": lambda value: f"far{value:g}",
}


def _exchange(exchange: RequestResponse | None) -> str:
    if exchange is None:
        return "bulk"
    return f"{exchange.exchanges}x{_short(exchange.request)}+{_short(exchange.response)}"


def _settings(settings: dict[str, Any]) -> str:
    settings = {
        name if inner is None else f"{name}.{inner}": value
        for name, given in settings.items()
        for inner, value in (given.items() if isinstance(given, dict) else [(None, given)])
    }
    return ",".join(f"{name}={str(value).lower().replace(' ', '')}" for name, value in settings.items()) or "default"


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value,)


class Case(Model):
    """One scenario of the suite."""

    name: str
    """Unique name: the family's, and the values by which it differs from the family's other cases."""
    what: str
    """Description of the family."""
    flows: str
    """Variants, as in "cubic", "cubic+reno", "8 cubic"."""
    rate: Rate
    """Rate of the bottleneck."""
    rtt: Span = Field(gt=0)
    """Base round-trip time without serialisation."""
    buffer: float | None = Field(default=None, gt=0)
    """Buffer of the bottleneck in bandwidth-delay products."""
    queue: QueueLimit | None = None
    """Buffer of the bottleneck, in place of `buffer`."""
    mtu: int = Field(default=9000, ge=576, le=9000)
    """Largest IP packet in bytes."""
    packets: int | None = Field(default=None, ge=1, le=100_000)
    """Size of each flow in full segments."""
    tail: int = Field(default=0, ge=0, le=9000)
    """Bytes of each flow beyond its full segments."""
    exchange: RequestResponse | None = None
    """Requests and responses of each flow, in place of `packets`; the way back is a bottleneck as well then."""
    threshold: int | None = Field(default=None, ge=1)
    """Packets waiting above which the bottleneck marks instead of waiting for its limit; the hosts ask for ECN then."""
    loss: float = Field(default=0.0, ge=0, lt=1)
    """Probability that the bottleneck loses a packet."""
    ack_loss: float = Field(default=0.0, ge=0, lt=1)
    """Probability that a packet is lost on the way back."""
    reverse: str = ""
    """Variants, as in `flows`, of endless flows from receivers to senders, whose data delays the others' ACKs."""
    stack: dict[str, Any] = {}
    """Settings of the hosts' stacks, as a scenario has them."""
    receiver: dict[str, Any] = {}
    """Settings in which the receivers' stacks differ."""
    repeat: int = Field(default=1, ge=1, le=100)
    """Number of successive connections of each flow, which share the host's metrics cache."""
    gap: Span = Span(0)
    """Time between the starts of repeated flows."""
    rmem: int | None = Field(default=None, ge=4096)
    """Largest receive buffer in bytes."""
    wmem: int | None = Field(default=None, ge=4096)
    """Largest send buffer in bytes."""
    period: Span | None = Field(default=None, gt=0)
    """Time between two moves of the last flow."""
    day: Span | None = Field(default=None, gt=0)
    """If given, the bottleneck is a circuit that is up for this long, followed by a night."""
    night: Span = Span(0)
    """Time without a path at every move, or after every day."""
    downtime: Downtime = "drop"
    """The downtime policy: what happens to packets in a night."""
    far: float = Field(default=1.0, ge=1)
    """Round-trip time of the second path over that of the first."""
    is_quick: bool = False
    """Whether it belongs to the quick subset."""

    @model_validator(mode="after")
    def _one_size(self) -> Case:
        if (self.packets is None) == (self.exchange is None):
            raise reject("has no size of its flows: expected either packets or exchange")
        if self.exchange is not None and (self.exchange.response is None or self.repeat > 1 or self.tail):
            raise reject("has an exchange: expected a response, and neither repeat nor tail")
        return self

    @model_validator(mode="after")
    def _one_limit(self) -> Case:
        if (self.buffer is None) == (self.queue is None):
            raise reject("has no limit of the bottleneck: expected either buffer or queue")
        if self.day is not None and (self.period is not None or not self.night):
            raise reject("has a day: expected a night as well, and no period")
        if self.period is None and self.day is None and (self.night or self.far != 1.0):
            raise reject("has a night or a far path: expected a period as well")
        if self.repeat > 1 and not self.gap:
            raise reject("repeats its flows: expected a gap between their starts")
        return self

    def variants(self) -> list[str]:
        """The variant of each flow, in the order of the flows."""
        return self._variants("flows", self.flows)

    def reverse_variants(self) -> list[str]:
        """The variant of each flow in the other direction."""
        return self._variants("reverse", self.reverse) if self.reverse else []

    def _variants(self, field: str, text: str) -> list[str]:
        found: list[str] = []
        for part in text.split("+"):
            match = _GROUP.fullmatch(part.strip())
            if match is None:
                raise ScenarioError(f'{self.name}: {field} = "{text}": expected variants such as "cubic+2 reno"')
            found += [match[2]] * int(match[1] or 1)
        return found

    def payload_bytes(self) -> int:
        """Payload of each flow, of requests and responses together."""
        if self.exchange is None:
            assert self.packets is not None
            return self.packets * (self.mtu - HEADERS) + self.tail
        assert self.exchange.response is not None
        return self.exchange.exchanges * (int(self.exchange.request) + int(self.exchange.response))

    def queue_packets(self) -> int:
        """Limit of the bottleneck in packets; at least two, since with one no window grows."""
        if self.queue is not None:
            return int(self.queue)
        assert self.buffer is not None
        product_bytes = int(self.rate) * self.rtt.seconds / 8
        return max(2, round(self.buffer * product_bytes / self.mtu))


class Family(Model):
    """One experiment: one case for every combination of its values."""

    name: str = Field(pattern=r"^[a-z]+$")
    """Unique name."""
    what: str
    """Description."""
    flows: Annotated[tuple[str, ...], BeforeValidator(_listed)]
    """As in a case, like all that follow."""
    rate: Annotated[tuple[Rate, ...], BeforeValidator(_listed)]
    """See `Case.rate`."""
    rtt: Annotated[tuple[Span, ...], BeforeValidator(_listed)]
    """See `Case.rtt`."""
    buffer: Annotated[tuple[float | None, ...], BeforeValidator(_listed)] = (None,)
    """See `Case.buffer`."""
    queue: QueueLimit | None = None
    """See `Case.queue`."""
    mtu: Annotated[tuple[int, ...], BeforeValidator(_listed)] = (9000,)
    """See `Case.mtu`."""
    packets: Annotated[tuple[int | None, ...], BeforeValidator(_listed)] = (None,)
    """See `Case.packets`."""
    tail: Annotated[tuple[int, ...], BeforeValidator(_listed)] = (0,)
    """See `Case.tail`."""
    exchange: Annotated[tuple[RequestResponse | None, ...], BeforeValidator(_listed)] = (None,)
    """See `Case.exchange`."""
    threshold: Annotated[tuple[int | None, ...], BeforeValidator(_listed)] = (None,)
    """See `Case.threshold`."""
    loss: Annotated[tuple[float, ...], BeforeValidator(_listed)] = (0.0,)
    """See `Case.loss`."""
    ack_loss: Annotated[tuple[float, ...], BeforeValidator(_listed)] = (0.0,)
    """See `Case.ack_loss`."""
    reverse: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ("",)
    """See `Case.reverse`."""
    stack: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_listed)] = ({},)
    """See `Case.stack`."""
    receiver: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_listed)] = ({},)
    """See `Case.receiver`."""
    repeat: Annotated[tuple[int, ...], BeforeValidator(_listed)] = (1,)
    """See `Case.repeat`."""
    gap: Span = Span(0)
    """See `Case.gap`."""
    rmem: Annotated[tuple[int | None, ...], BeforeValidator(_listed)] = (None,)
    """See `Case.rmem`."""
    wmem: Annotated[tuple[int | None, ...], BeforeValidator(_listed)] = (None,)
    """See `Case.wmem`."""
    period: Annotated[tuple[Span | None, ...], BeforeValidator(_listed)] = (None,)
    """See `Case.period`."""
    day: Annotated[tuple[Span | None, ...], BeforeValidator(_listed)] = (None,)
    """See `Case.day`."""
    night: Annotated[tuple[Span, ...], BeforeValidator(_listed)] = (Span(0),)
    """See `Case.night`."""
    downtime: Annotated[tuple[Downtime, ...], BeforeValidator(_listed)] = ("drop",)
    """See `Case.downtime`."""
    far: Annotated[tuple[float, ...], BeforeValidator(_listed)] = (1.0,)
    """See `Case.far`."""
    quick: tuple[str, ...] = ()
    """Names of the cases of the quick subset."""

    def cases(self) -> Iterator[Case]:
        """All combinations, the last field changing fastest. Raises ScenarioError."""
        names = list(_LABELS)
        varied = {name for name in names if len(getattr(self, name)) > 1}
        # The variants are always in the name, since readers look for them.
        varied.add("flows")
        for values in itertools.product(*(getattr(self, name) for name in names)):
            chosen = dict(zip(names, values, strict=True))
            name = "-".join([self.name, *(_LABELS[key](chosen[key]) for key in names if key in varied)])
            shared = {"what": self.what, "queue": self.queue, "gap": self.gap}
            yield Case.model_validate({"name": name, "is_quick": name in self.quick} | shared | chosen)


Source = str | Path | Sequence[Case] | None
"""Source of a suite: a file, a list of cases, or None for the suite that comes with Daybreak."""


def load(path: Source = None) -> list[Case]:
    """All cases of a suite. Raises ScenarioError."""
    if isinstance(path, Sequence) and not isinstance(path, str):
        return list(path)
    source = Path(path) if path else BUILT_IN
    try:
        document = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"{source} cannot be read: {reason(error)}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(f"{source} is not valid TOML: {reason(error)}") from None
    cases: list[Case] = []
    for table in document.get("family", []):
        try:
            family = Family.model_validate(table)
            made = list(family.cases())
        except ValidationError as error:
            raise scenario_error(error, table, f"{source}, family {table.get('name', '?')}") from None
        for name in family.quick:
            if name not in {case.name for case in made}:
                known = ", ".join(case.name for case in made)
                raise UnknownName(f'{source}: family {family.name}: quick = "{name}": expected one of {known}')
        cases += made
    if not cases:
        raise ScenarioError(f"{source} is not a suite: it has no family")
    names = [case.name for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise ScenarioError(f'{source}: two cases are called "{name}"')
    return cases


def with_stack(cases: Sequence[Case], **stack: int | None) -> list[Case]:
    """The cases with these settings of the hosts, where they are given."""
    given = {name: value for name, value in stack.items() if value is not None}
    return [case.model_copy(update={"stack": case.stack | given}) for case in cases] if given else list(cases)


def chosen(cases: list[Case], *, quick: bool, only: Sequence[str] = ()) -> list[Case]:
    """The cases of the quick subset, or those whose name matches one of the patterns `only`. Raises UnknownName."""
    for pattern in only:
        if not any(fnmatchcase(case.name, pattern) for case in cases):
            known = ", ".join(case.name for case in cases[:8])
            raise UnknownName(f'only: no scenario of the suite fits "{pattern}" (there are {known} ...)')
    wanted = [case for case in cases if not only or any(fnmatchcase(case.name, pattern) for pattern in only)]
    found = [case for case in wanted if case.is_quick or not quick]
    if not found:
        raise UnknownName(f"only: no scenario of the quick subset fits {', '.join(only)}")
    return found
