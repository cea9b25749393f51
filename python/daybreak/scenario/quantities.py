"""Quantities with units, as people write them: "10 Gbit/s", "40 us", "3 MB", "2 GiB", "350 packets".

Each type is an integer in its base unit (bit/s, ps, bytes), so arithmetic stays exact, and prints as
text that parses back to the same number. Units are known only here. Prefixes are exact: kB, MB, GB are powers of 1000,
KiB, MiB, GiB powers of 1024; "b" and "bit" are bits, "B" bytes.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

_NUMBER_AND_UNIT = re.compile(r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)\s*(.*)", re.ASCII)
_SHARE = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)\s*(%?)", re.ASCII)
# Longer text is not a sensible number.
_LONGEST = 100

_SI = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def reject(expected: str) -> PydanticCustomError:
    """The error of a value that is not what was `expected`; the field and the value are added later."""
    return PydanticCustomError("quantity", "{expected}", {"expected": expected})


def _short(value: str | int | float) -> str:
    """The text of a value; empty for what is longer than any number."""
    if isinstance(value, int) and value.bit_length() > 4 * _LONGEST:
        return ""
    text = str(value).strip()
    return text if len(text) <= _LONGEST else ""


class Quantity(int):
    """A whole number of base units."""

    noun: ClassVar[str]
    example: ClassVar[str]
    units: ClassVar[dict[str, int]]
    # Units for printing, largest first.
    printed: ClassVar[tuple[str, ...]]
    lowest: ClassVar[int]
    highest: ClassVar[int]
    base_unit: ClassVar[str]

    @classmethod
    def parse(cls, text: Any) -> Self:
        """Parses `text`; raises an error that states what was expected."""
        if isinstance(text, cls):
            return text
        expected = f"expected {cls.noun} such as {cls.example}"
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            raise reject(expected)
        match = _NUMBER_AND_UNIT.fullmatch(_short(text))
        if match is None:
            raise reject(expected)
        number, unit = Fraction(match[1]), match[2]
        if unit not in cls.units:
            if unit == "" and number == 0 and cls.lowest == 0:
                return cls(0)
            raise reject(f"{expected}{cls._hint(unit)}")
        value = number * cls.units[unit]
        if value < 0:
            raise reject(f"{expected}, not a negative one")
        if value.denominator != 1:
            raise reject(f"expected a whole number of {cls.base_unit}")
        return cls.checked(int(value))

    @classmethod
    def checked(cls, value: int) -> Self:
        """`value` in base units, if it is in the valid range."""
        if not cls.lowest <= value <= cls.highest:
            raise reject(f"expected {cls.noun} from {cls(cls.lowest)} to {cls(cls.highest)}")
        return cls(value)

    @classmethod
    def _hint(cls, unit: str) -> str:
        if unit == "":
            return " (a unit is missing)"
        alike = [known for known in cls.units if known.lower() == unit.lower()]
        return f' (did you mean "{alike[0]}"?)' if alike else f' ("{unit}" is not a unit of it)'

    def __str__(self) -> str:
        for unit in self.printed:
            size = self.units[unit]
            # At most six decimals: the text must give the same number back.
            millionths, beyond = divmod(int(self) * 10**6, size)
            if int(self) >= size and not beyond:
                whole, rest = divmod(millionths, 10**6)
                decimals = f".{rest:06d}".rstrip("0").rstrip(".")
                return f"{whole}{decimals} {unit}"
        return f"{int(self)} {self.printed[0 if self == 0 else -1]}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_plain_validator_function(
            cls.parse,
            serialization=core_schema.plain_serializer_function_ser_schema(str),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        units = "|".join(re.escape(unit) for unit in cls.units)
        text = rf"\+?\d+(\.\d+)?([eE][+-]?\d{{1,3}})?\s*({units})"
        # Zero needs no unit.
        nothing = r"|\+?0+(\.0+)?([eE][+-]?\d{1,3})?" if cls.lowest == 0 else ""
        return {
            "type": "string",
            "pattern": rf"^\s*({text}{nothing})\s*$",
            "examples": [example for example in re.findall(r'"([^"]*)"', cls.example) if example[0].isdigit()],
            "description": f"{cls.noun[0].upper()}{cls.noun[1:]}.",
        }


class Rate(Quantity):
    """A rate in bit/s."""

    noun = "a rate"
    example = '"10 Gbit/s"'
    units = (
        {f"{prefix}{bit}": size for prefix, size in _SI.items() for bit in ("bit/s", "b/s", "bps")}
        | {f"{prefix}B/s": 8 * size for prefix, size in _SI.items()}
        | {f"{prefix}B/s": 8 * size for prefix, size in _BINARY.items()}
    )
    printed = ("Tbit/s", "Gbit/s", "Mbit/s", "kbit/s", "bit/s")
    lowest, highest = 10**6, 10 * 10**12
    base_unit = "bit/s"


class OfferedRate(Rate):
    """A total rate of many links or hosts in bit/s, which may exceed that of any link."""

    highest = 10**18


class FlowRate(Rate):
    """A rate at which a flow may send, in bit/s, which may be unlimited."""

    lowest = 0

    def __str__(self) -> str:
        return super().__str__() if self else "0 bit/s"


class Span(Quantity):
    """A time in picoseconds."""

    noun = "a time"
    example = '"40 us"'
    units = {
        "ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "μs": 10**6, "ms": 10**9, "s": 10**12,
        "min": 60 * 10**12, "h": 3600 * 10**12,
    }  # fmt: skip
    printed = ("s", "ms", "us", "ns", "ps")
    lowest, highest = 0, 24 * 3600 * 10**12
    base_unit = "picoseconds"

    @property
    def seconds(self) -> float:
        """The time in seconds, for figures."""
        return int(self) * 1e-12


class Size(Quantity):
    """A number of bytes."""

    noun = "a size"
    example = '"3 MB" or "2 GiB"'
    units = {f"{prefix}B": size for prefix, size in (_SI | _BINARY).items()} | {"bytes": 1, "byte": 1}
    printed = ("TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "kB", "B")
    lowest, highest = 0, 10**15
    base_unit = "bytes"

    @classmethod
    def _hint(cls, unit: str) -> str:
        if unit == "KB":
            return ' ("KB" is ambiguous: write "kB" for 1000 or "KiB" for 1024 bytes)'
        if unit in Rate.units or unit.endswith(("b", "bit", "bits")):
            return f' ("{unit}" counts bits)'
        return super()._hint(unit)

    def __str__(self) -> str:
        if int(self) == 0:
            return "0 B"
        # The shortest exact text reads best: "3 MB", not "2.861023 MiB".
        texts = (
            f"{int(self) // self.units[unit]} {unit}" for unit in self.printed if int(self) % self.units[unit] == 0
        )
        return min(texts, key=len)


class FlowSize(Size):
    """The payload of a flow of limited size."""

    example = '"3 MB", "2 GiB" or "unlimited"'
    lowest = 1

    @classmethod
    def checked(cls, value: int) -> Self:
        if value == 0:
            raise reject('expected a size above 0 B, or "unlimited" for a flow without an end')
        return super().checked(value)


class QueueLimit(Quantity):
    """Capacity of a queue, in packets if `in_packets`, else in bytes (IP length)."""

    noun = "a queue limit"
    example = '"350 packets" or "3 MB"'
    units = {"packets": 1, "packet": 1} | Size.units
    printed = ("packets",)
    lowest, highest = 1, 10**12
    base_unit = "packets or bytes"
    in_packets: bool = True

    @classmethod
    def parse(cls, text: Any) -> Self:
        if isinstance(text, cls):
            return text
        value = super().parse(text)
        limit = cls(value)
        limit.in_packets = str(text).rstrip().endswith(("packet", "packets"))
        return limit

    def __str__(self) -> str:
        return f"{int(self)} packets" if self.in_packets else str(Size(self))

    def __eq__(self, other: object) -> bool:
        same_kind = not isinstance(other, QueueLimit) or other.in_packets == self.in_packets
        return same_kind and int(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((int(self), self.in_packets))


class _Share(float):
    """A number, or text in percent."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Parses a share. Raises an error that pydantic reports for the value."""
        raise NotImplementedError

    @staticmethod
    def _read(value: Any, expected: str) -> tuple[Fraction, bool]:
        """The number, and whether it was given in percent."""
        match = None
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            match = _SHARE.fullmatch(_short(value))
        if match is None:
            raise reject(expected)
        is_percent = match[2] == "%"
        return Fraction(match[1]) / (100 if is_percent else 1), is_percent

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(float)
        )


class Loss(_Share):
    """The probability that a packet is lost: a number below 1, or text such as "0.1 %"."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Reads a probability; at most nine decimals, since the plan counts in parts per 10^9."""
        expected = 'expected a probability below 1 such as 0.001 or "0.1 %"'
        share, _ = cls._read(value, expected)
        if share >= 1:
            raise reject(expected)
        return cls(share)

    @property
    def ppb(self) -> int:
        """Parts per 10^9."""
        return round(self * 1e9)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, {"type": "string"}]}


class Load(_Share):
    """A share of a rate: a number such as 0.4, or text such as "40 %"; it may exceed 1."""

    highest = 10.0

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Reads a share above 0."""
        expected = f'expected a load above 0 and up to {cls.highest:g}, such as 0.4 or "40 %"'
        share, in_percent = cls._read(value, expected)
        if not 0 < share <= cls.highest:
            is_percent = not in_percent and cls.highest < share <= 100 * cls.highest
            number = _short(value)
            raise reject(f'{expected} ({number} percent is "{number} %")' if is_percent else expected)
        return cls(share)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": cls.highest}, {"type": "string"}]}


ETHERNET_FRAMING = 38
"""Bytes around an IP packet on Ethernet: preamble 8, header 14, frame check sequence 4, gap 12 (IEEE 802.3)."""


class Framing(int):
    """Bytes that a packet takes on the wire beyond its IP length; "ethernet" stands for 38."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Reads "ethernet" or a number of bytes."""
        if value == "ethernet":
            return cls(ETHERNET_FRAMING)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1000:
            raise reject('expected "ethernet" (38 bytes a packet) or a number of bytes from 0 to 1000')
        return cls(value)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_plain_validator_function(
            cls.parse,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: "ethernet" if value == ETHERNET_FRAMING else int(value)
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"const": "ethernet"}, {"type": "integer", "minimum": 0, "maximum": 1000}]}
