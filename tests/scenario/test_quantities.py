"""Units are exact, and what is not a unit is refused with a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from daybreak.scenario import FlowSize, Framing, Load, Loss, QueueLimit, Rate, Size, Span


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Rate, "10 Gbit/s", 10_000_000_000),
        (Rate, "10 Gb/s", 10_000_000_000),
        (Rate, "10Gbps", 10_000_000_000),
        (Rate, "10 GB/s", 80_000_000_000),
        (Rate, "1 MiB/s", 8 * 2**20),
        (Rate, "2.5 Mbit/s", 2_500_000),
        (Span, "40 us", 40_000_000),
        (Span, "40 µs", 40_000_000),
        (Span, "0.1 ns", 100),
        (Span, "1e-3 s", 1_000_000_000),
        (Span, "0", 0),
        (Size, "3 MB", 3_000_000),
        (Size, "3 MiB", 3 * 2**20),
        (Size, "2 GiB", 2**31),
        (Size, "1.5 kB", 1500),
        (FlowSize, "1 B", 1),
        (QueueLimit, "350 packets", 350),
        (QueueLimit, "1 packet", 1),
        (QueueLimit, "3 MB", 3_000_000),
        (Framing, "ethernet", 38),
        (Framing, 0, 0),
    ],
)
def test_exact_values(kind, text, value):
    assert kind.parse(text) == value


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        (Span, {"ps": 1, "ns": 1e3, "us": 1e6, "µs": 1e6, "μs": 1e6, "ms": 1e9, "s": 1e12, "min": 6e13, "h": 3.6e15}),
        (
            Size,
            {"bytes": 1, "byte": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
            | {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40},
        ),
        (Rate, {f"{prefix}{unit}": size * factor for prefix, size in {"M": 1e6, "G": 1e9, "T": 1e12}.items()
                for unit, factor in {"bit/s": 1, "b/s": 1, "bps": 1, "B/s": 8}.items() if size * factor <= 1e13}),
        (Rate, {"MiB/s": 8 * 2**20, "GiB/s": 8 * 2**30, "TiB/s": 8 * 2**40}),
        (QueueLimit, {"packets": 1, "packet": 1, "B": 1, "kB": 1e3, "MiB": 2**20}),
    ],
)  # fmt: skip
def test_every_unit_has_its_size(kind, sizes):
    for unit, size in sizes.items():
        assert kind.parse(f"1 {unit}") == size == kind.parse(f"1{unit}"), unit
    known = {unit for unit in kind.units if kind is not Rate and kind is not QueueLimit}
    assert known <= set(sizes)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (Rate, "10", "a unit is missing"),
        (Rate, 10_000_000_000, "a unit is missing"),
        (Rate, "10 gb/s", 'did you mean "Gb/s"'),
        (Rate, "10 GB", '"GB" is not a unit of it'),
        (Rate, "ten Gbit/s", "expected a rate such as"),
        (Rate, "0 Gbit/s", "from 1 Mbit/s to 10 Tbit/s"),
        (Rate, "1 Pbit/s", "is not a unit"),
        (Rate, "999 Tbit/s", "from 1 Mbit/s to 10 Tbit/s"),
        (Span, "-1 s", "not a negative one"),
        (Span, "0.5 ps", "a whole number of picoseconds"),
        (Span, "1000 h", "expected a time from 0 s to 86400 s"),
        (Span, True, "expected a time"),
        (Span, ["1 s"], "expected a time"),
        (Size, "3 Mb", '"Mb" counts bits'),
        (Size, "3 Mbit", '"Mbit" counts bits'),
        (Size, "3 KB", "ambiguous"),
        (Size, "0.3 B", "a whole number of bytes"),
        (FlowSize, "endless", "unlimited"),
        (FlowSize, "0 B", 'expected a size above 0 B, or "unlimited" for a flow without an end'),
        (Span, "1e999999999 s", "expected a time"),
        (Span, "1" * 5000 + " s", "expected a time"),
        pytest.param(Span, 1 << 20_000, "expected a time", id="huge"),
        (Loss, "1e-999999999", "expected a probability"),
        (QueueLimit, "350", "a unit is missing"),
        (QueueLimit, "0 packets", "expected a queue limit from 1 packets"),
        (Framing, "wifi", "expected"),
        (Framing, -1, "expected"),
        (Loss, "100 %", "expected a probability below 1"),
        (Loss, -0.1, "expected a probability below 1"),
        (Load, 0, "expected a load above 0"),
        (Load, "-1 %", "expected a load above 0"),
        (Load, True, "expected a load above 0"),
        (Load, 40, '40 percent is "40 %"'),
        (Load, "1001 %", "expected a load above 0 and up to 10"),
    ],
)
def test_refused(kind, text, message):
    with pytest.raises(PydanticCustomError) as error:
        kind.parse(text)
    assert message in str(error.value)


@given(st.integers(10**6, 10**13))
def test_a_rate_prints_what_it_parses(bps):
    assert Rate.parse(str(Rate(bps))) == bps


@given(st.integers(0, 24 * 3600 * 10**12))
def test_a_span_prints_what_it_parses(ps):
    assert Span.parse(str(Span(ps))) == ps


@given(st.integers(0, 10**15))
def test_a_size_prints_what_it_parses(size):
    assert Size.parse(str(Size(size))) == size
    assert not size or FlowSize.parse(str(FlowSize(size))) == size


@given(st.integers(1, 10**12), st.booleans())
def test_a_queue_limit_prints_what_it_parses(limit, in_packets):
    text = f"{limit} packets" if in_packets else f"{limit} B"
    parsed = QueueLimit.parse(text)
    assert QueueLimit.parse(str(parsed)) == parsed
    assert parsed.in_packets is in_packets


def test_packets_and_bytes_are_different_limits():
    assert QueueLimit.parse("5 packets") != QueueLimit.parse("5 B")
    assert QueueLimit.parse("1 packet") == QueueLimit.parse("1 packets") != QueueLimit.parse("1 byte")
    assert QueueLimit.parse(" 1 packet ").in_packets and not QueueLimit.parse("1 byte").in_packets


def test_loss_in_percent():
    assert Loss.parse("0.1 %").ppb == 1_000_000
    assert Loss.parse(0.5).ppb == 500_000_000


def test_a_load_in_percent_or_as_a_share():
    assert Load.parse("40 %") == Load.parse("40%") == Load.parse(0.4) == Load.parse("0.4") == 0.4
    assert Load.parse("250 %") == 2.5 and Load.parse(10) == Load.parse("1000 %") == 10
