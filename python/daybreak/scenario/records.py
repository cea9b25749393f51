"""Selects what a run records. Records that are off cost nothing."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from .model import Model
from .quantities import Span, reject


def _span_or(word: str) -> BeforeValidator:
    def parse(value: Any) -> Any:
        if value == word:
            return value
        span = Span.parse(value)
        if span == 0:
            raise reject(f'expected a time above 0 s, or "{word}"')
        return span

    return BeforeValidator(parse)


class Records(Model):
    """Selects tables and their detail.

    Lists of links may contain groups of links. Links whose names end in numbers form groups as hosts do (see `flows`):
    circuit-0-1 is one of "circuits[0][*]", and its other direction one of "circuits[0][*].back". "senders[*]->left" are
    the links from each of these hosts to the node left; each end is a node or a group of hosts or switches.
    """

    bins: Annotated[Span | Literal["off"], _span_or("off")] = Span.parse("10 ms")
    """Width of the throughput bins of table `bins`, or "off"."""
    delivered: bool = True
    """Bin the payload that reaches each receiver, and the payload that it delivers in order."""
    taps: tuple[str, ...] = ()
    """Links on which each flow's bytes are binned, framing included."""
    links: tuple[str, ...] = ()
    """Links whose total bytes are binned."""
    window: Annotated[Span | Literal["every ack"], _span_or("every ack")] | None = None
    """Interval of the samples in table `window`, or "every ack"."""
    queues: Span | None = Field(default=None, gt=0)
    """Interval of the samples in table `queues`."""
    sampled_queues: tuple[str, ...] = ()
    """Queues that are sampled, by their links' names; by default all queues of switches."""
    drops: bool = True
    """One row of table `drops` for every lost packet."""
    loss_bins: Span | None = Field(default=None, gt=0)
    """Width of the bins of table `losses`, which counts lost packets where table `drops` would list too many."""
    circuits: bool = True
    """One row of table `circuits` for every step of a timeline, one of `control` for every decision of a controller."""
    latency: bool = False
    """A histogram of each flow's one-way delay in table `latency`."""
    packets: tuple[str, ...] = ()
    """Links whose packets are listed one by one in table `packets`."""
    capture: tuple[str, ...] = ()
    """Links whose packets are captured as pcapng."""
    snaplen: int = Field(default=128, ge=40, le=65_535)
    """Bytes of each packet that are kept in a capture."""

    @property
    def bin_width(self) -> Span | None:
        """`bins`; None without."""
        return None if self.bins == "off" else self.bins
