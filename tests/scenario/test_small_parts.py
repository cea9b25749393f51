"""Parts of the scenario layer by themselves: cycles, patterns, names, parameters, quantities, draws, rows of files."""

import math
from types import SimpleNamespace

import pytest
from pydantic_core import PydanticCustomError

from daybreak._native import Stream
from daybreak.errors import ScenarioError, UnknownName
from daybreak.plan import types as plan
from daybreak.scenario import FlowSize, Framing, Load, Loss, QueueLimit, Rate, Size, Span
from daybreak.scenario.choice import Discipline, FlowPolicy, Variant, default_text, expected, range_text
from daybreak.scenario.lowering import choices
from daybreak.scenario.lowering.names import among, look_up, unknown
from daybreak.scenario.lowering.patterns import is_pattern, numbered, select
from daybreak.scenario.model import check_texts
from daybreak.scenario.quantities import FlowRate, OfferedRate
from daybreak.scenario.schedules.cycle import changes, is_inside
from daybreak.scenario.times import Exponential, Uniform, drawn, exponential
from daybreak.scenario.workloads.pairs import (
    AllToAll,
    FanOut,
    Incast,
    OnePair,
    PairList,
    Permutation,
    RandomPairs,
    TrafficMatrix,
)
from daybreak.scenario.workloads.processes import AllAtOnce, Every, Poisson, Rates, Trace
from daybreak.scenario.workloads.rows import read_lines, read_rows
from daybreak.scenario.workloads.sizes import (
    BoundedPareto,
    ChoiceOfSizes,
    EmpiricalSizes,
    ExponentialSizes,
    FixedSizes,
    LognormalSizes,
    UniformSizes,
    _fewest_parts,
)


@pytest.mark.parametrize(("intervals", "found"), [
    ([], [(0, False)]),
    ([(2, 5)], [(0, False), (2, True), (5, False)]),
    ([(0, 5)], [(0, True), (5, False)]),
    # Up to the end of the period, across it, and from before its beginning.
    ([(7, 10)], [(0, False), (7, True)]),
    ([(8, 13)], [(0, True), (3, False), (8, True)]),
    ([(-2, 3)], [(0, True), (3, False), (8, True)]),
    ([(22, 25)], [(0, False), (2, True), (5, False)]),
    # Those that touch or overlap are one.
    ([(2, 5), (5, 7)], [(0, False), (2, True), (7, False)]),
    ([(2, 5), (4, 7), (3, 4)], [(0, False), (2, True), (7, False)]),
    ([(2, 8), (3, 4), (6, 7)], [(0, False), (2, True), (8, False)]),
    ([(8, 10), (0, 2)], [(0, True), (2, False), (8, True)]),
    ([(6, 8), (1, 2)], [(0, False), (1, True), (2, False), (6, True), (8, False)]),
    # A period or longer, and nothing at all.
    ([(3, 13)], [(0, True)]), ([(3, 12)], [(0, True), (2, False), (3, True)]), ([(0, 10)], [(0, True)]),
    ([(4, 4)], [(0, False)]), ([(0, 4), (4, 10)], [(0, True)]),
])  # fmt: skip
def test_intervals_of_a_period_of_ten(intervals, found):
    assert changes(intervals, 10) == found


@pytest.mark.parametrize(("start", "end", "inside"), [
    (2, 5, True), (0, 1, False), (0, 2, True), (5, 11, False), (5, 12, True), (4, 4, True), (5, 5, False),
    (12, 12, True), (3, 4, True), (25, 31, False), (25, 32, True),
])  # fmt: skip
def test_a_span_meets_an_interval_of_any_period(start, end, inside):
    assert is_inside([(2, 5)], start, end, 10) == inside
    assert is_inside([(12, 15)], start, end, 10) == inside
    assert not is_inside([], start, end, 10)


NAMES = ["host-0", "host-1", "host-10", "rack-0-1", "rack-0-2", "rack-1-1", "left", "-3", "a-b-2", "7-1"]


def test_names_that_end_in_numbers_form_groups():
    assert {key: [tuple(one) for one in members] for key, members in numbered(NAMES).items()} == {
        ("hosts", 1): [((0,), "host-0"), ((1,), "host-1"), ((10,), "host-10")],
        ("racks", 2): [((0, 1), "rack-0-1"), ((0, 2), "rack-0-2"), ((1, 1), "rack-1-1")],
        ("a-bs", 1): [((2,), "a-b-2")],
    }  # fmt: skip


@pytest.mark.parametrize(("name", "chosen"), [
    ("hosts[*]", ("host-0", "host-1", "host-10")), ("hosts[1]", ("host-1",)), ("hosts[0:2]", ("host-0", "host-1")),
    ("hosts[1:]", ("host-1", "host-10")), ("hosts[:1]", ("host-0",)), ("hosts[:]", ("host-0", "host-1", "host-10")),
    ("hosts[0:11]", ("host-0", "host-1", "host-10")), ("racks[0][*]", ("rack-0-1", "rack-0-2")),
    ("racks[*][1]", ("rack-0-1", "rack-1-1")), ("racks[1:][1:2]", ("rack-1-1",)),
])  # fmt: skip
def test_a_pattern_selects_members_in_their_order(name, chosen):
    assert select(name, numbered(NAMES), "f", "host", '"senders[*]"') == chosen


@pytest.mark.parametrize(("name", "sentence"), [
    ("hosts[0:12]", 'f = "hosts[0:12]": the last host of this group is "host-10": expected no number beyond it'),
    ("hosts[11]", 'f = "hosts[11]": the last host of this group is "host-10": expected no number beyond it'),
    ("racks[0][3]", 'f = "racks[0][3]": the last host of this group is "rack-0-2": expected no number beyond it'),
    ("hosts[5]", 'f = "hosts[5]": no host is in it: expected at least one'),
    ("hosts[1:1]", 'f = "hosts[1:1]": no host is in it: expected at least one'),
    ("racks[1][2]", 'f = "racks[1][2]": no host is in it: expected at least one'),
    ("hosts[x]", 'f = "hosts[x]": expected an index such as "[*]", "[3]" or "[0:8]" in it, not "[x]"'),
    ("hosts[]", 'f = "hosts[]": expected an index such as "[*]", "[3]" or "[0:8]" in it, not "[]"'),
    ("hosts[1", 'f = "hosts[1": expected a host, or a group of hosts such as "senders[*]"'),
    ("hosts[*][*]", 'f = "hosts[*][*]": there is no such group of hosts (did you mean "hosts[*]"?); known are '
     "hosts[*], racks[*][*], a-bs[*]"),
])  # fmt: skip
def test_what_a_pattern_cannot_be_is_one_sentence(name, sentence):
    with pytest.raises(ScenarioError) as caught:
        select(name, numbered(NAMES), "f", "host", '"senders[*]"')
    assert (str(caught.value), caught.value.field) == (sentence, "f")


@pytest.mark.parametrize(("name", "said"), [
    ("hosts[*]", True), ("hosts[", True), ("]", True), ("host-1", False), ("a b[1]", False), ("", False),
])  # fmt: skip
def test_brackets_mean_a_pattern(name, said):
    assert is_pattern(name) == said


def test_an_unknown_name_is_told_with_those_that_are_known():
    assert look_up("b", ["a", "b"], "f", "host") == 1
    with pytest.raises(UnknownName) as caught:
        look_up("host-3", ["host-1", "x"], "f.to", "host")
    assert str(caught.value) == 'f.to = "host-3": there is no such host (did you mean "host-1"?); known are host-1, x'
    assert caught.value.field == "f.to"
    assert str(unknown("x", [], "f", "link")) == 'f = "x": there is no link at all'
    many = [f"n{number}" for number in range(22)]
    assert among("??", many) == f"; known are {', '.join(many[:20])} and 2 more"
    assert among("??", many[:20]) == f"; known are {', '.join(many[:20])}"
    assert str(unknown("?" * 61, ["a"], "f", "link")) == f'f = "{"?" * 60}...": there is no such link; known are a'
    assert str(unknown("?" * 60, ["a"], "f", "link")) == f'f = "{"?" * 60}": there is no such link; known are a'


def parameter(kind, low=None, high=None, default=None, name="p"):
    return SimpleNamespace(name=name, kind=kind, range=None if low is None else (low, high), default=default)


PARAMETERS = [
    (parameter("switch", default=("switch", True)), "true", "true or false", "true or false"),
    (parameter("packets", 1, 9, ("packets", 5)), "5 packets", "1 packets to 9 packets",
     '1 packets to 9 packets, such as "10 packets"'),
    (parameter("length", 1, 900, ("bytes", 1500)), "1500 B", "packets or bytes, 1 to 900",
     'packets or bytes, 1 to 900, such as "10 packets" or "15 kB"'),
    (parameter("bytes", 1, 2000, ("bytes", 10**6)), "1 MB", "1 B to 2 kB", "a size from 1 B to 2 kB"),
    (parameter("time", 0, 10**9, ("ps", 5 * 10**6)), "5 us", "0 s to 1 ms", "a time from 0 s to 1 ms"),
    (parameter("rate", 0, 10**9, ("bps", 0)), "0 bit/s", "0 bit/s to 1 Gbit/s", "a rate from 0 bit/s to 1 Gbit/s"),
    (parameter("count", 1, 8, ("count", 3)), "3", "1 to 8", "a whole number from 1 to 8"),
    (parameter("number", 0.0, 1.0, ("number", 0.7)), "0.7", "0 to 1", "a number from 0 to 1"),
    (parameter("number", 0.0, 1.0), "must be given", "0 to 1", "a number from 0 to 1"),
]  # fmt: skip


@pytest.mark.parametrize(("of", "default", "between", "words"), PARAMETERS, ids=lambda one: getattr(one, "kind", ""))
def test_a_parameter_is_told_in_the_units_of_a_scenario(of, default, between, words):
    assert (default_text(of), range_text(of), expected(of)) == (default, between, words)


@pytest.mark.parametrize(("kind", "low", "high", "given", "value"), [
    ("switch", None, None, True, ("switch", True)), ("switch", None, None, 1, None), ("switch", None, None,
     "true", None),
    ("number", 0.0, 2.0, 2, ("number", 2.0)), ("number", 0.0, 2.0, 2.1, None), ("number", 0.0, 2.0, True, None),
    ("number", 0.0, 2.0, "1", None), ("number", 0.5, 2.0, 0.5, ("number", 0.5)), ("number", 0.5, 2.0, 0.4, None),
    ("count", 1, 5, 5, ("count", 5)), ("count", 1, 5, 2.0, None), ("count", 1, 5, True, None), ("count", 1, 5, 0, None),
    ("packets", 1, 9, "9 packets", ("packets", 9)), ("packets", 1, 9, "9 B", None), ("packets", 1, 9, 9, None),
    ("length", 1, 9000, "9 packets", ("packets", 9)), ("length", 1, 9000, "9 kB", ("bytes", 9000)),
    ("length", 1, 9000, "10 kB", None),
    ("bytes", 0, 9000, "9 kB", ("bytes", 9000)), ("bytes", 0, 9000, "9", None),
    ("time", 0, 9000, "9 ns", ("ps", 9000)), ("time", 0, 9000, "10 ns", None),
    ("rate", 0, 10**9, "1 Gbit/s", ("bps", 10**9)), ("rate", 0, 10**9, "0 bit/s", ("bps", 0)),
])  # fmt: skip
def test_a_value_is_read_and_held_against_its_range(kind, low, high, given, value):
    entry = SimpleNamespace(name="rule", parameters=[parameter("switch", name="other"), parameter(kind, low, high)])
    if value is None:
        shown = {True: "true"}.get(given, given) if given is True else f'"{given}"' if isinstance(given, str) else given
        with pytest.raises(ScenarioError) as caught:
            choices.parameter_value(entry, "p", given, "f.p")
        assert str(caught.value) == f"f.p = {shown}: expected {expected(entry.parameters[1])}"
        assert caught.value.field == "f.p"
    else:
        found = choices.parameter_value(entry, "p", given, "f.p")
        assert found == plan.Value(unit=value[0], value=value[1]) and type(found.value) is type(value[1])


def test_a_parameter_that_there_is_not_is_told():
    entry = SimpleNamespace(name="rule", parameters=[parameter("switch", name="beta")])
    with pytest.raises(UnknownName) as caught:
        choices.parameter_value(entry, "bet", True, "f.bet")
    assert str(caught.value) == 'f.bet: rule has no such parameter (did you mean "beta"?); known are beta'
    entry.parameters.clear()
    with pytest.raises(UnknownName) as caught:
        choices.parameter_value(entry, "bet", True, "f.bet")
    assert str(caught.value) == "f.bet: rule has no such parameter; it has none"


def test_a_kernels_variant_that_is_not_modelled_has_no_parameters():
    ours, theirs = Variant("cubic", (("beta", 0.8),)), Variant("none")
    assert choices.resolve_variant(theirs, "f", ["none", "cubic"]) == plan.Choice(name="none", parameters={})
    known = choices.resolve_variant(ours, "f", ["none", "cubic"])
    assert known == choices.resolve_variant(ours, "f", None)
    assert known.parameters == {"beta": plan.Value(unit="number", value=0.8)}
    with pytest.raises(UnknownName) as caught:
        choices.resolve_variant(Variant("none", (("x", 1),)), "f", ["none"])
    assert (str(caught.value), caught.value.field) == ("f: none has no such parameter; it has none", "f.x")
    with pytest.raises(UnknownName, match=r'^f = "cubic": there is no such variant; known are none$'):
        choices.resolve_variant(ours, "f", ["none"])


@pytest.mark.parametrize(("kind", "value", "plain", "text"), [
    (Variant, "bbr", "bbr", "bbr"), (Variant, {"name": "bbr"}, "bbr", "bbr"),
    (Discipline, {"name": "red", "a": 1, "b": True}, {"name": "red", "a": 1, "b": True}, "red a=1 b=True"),
])  # fmt: skip
def test_a_choice_is_a_name_or_a_table(kind, value, plain, text):
    found = kind.parse(value)
    assert (found.plain(), str(found), kind.parse(found)) == (plain, text, found)


@pytest.mark.parametrize(("kind", "value", "sentence"), [
    (Variant, 5, 'expected a variant: a name such as "{}", or a table with a name and parameters'),
    (FlowPolicy, {"a": 1}, 'expected a policy for flows: a name such as "{}", or a table with a name and parameters'),
    (Discipline, {"name": 1},
     'expected a queue discipline: a name such as "{}", or a table with a name and parameters'),
    (Discipline, {"name": "red", "x": [1]}, "has x = [1]: expected a number, a quantity, true or false"),
])  # fmt: skip
def test_what_is_no_choice_is_told(kind, value, sentence):
    with pytest.raises(PydanticCustomError) as caught:
        kind.parse(value)
    assert str(caught.value) == sentence.format(kind.registry()[0].name)


@pytest.mark.parametrize(("kind", "value", "text"), [
    (Rate, 10**10, "10 Gbit/s"), (Rate, 2_500_000, "2.5 Mbit/s"), (Rate, 10**13, "10 Tbit/s"),
    (Rate, 1_234_567, "1.234567 Mbit/s"), (Rate, 1_234_567_891, "1234.567891 Mbit/s"), (FlowRate, 0, "0 bit/s"),
    (FlowRate, 7, "7 bit/s"), (OfferedRate, 10**18, "1000000 Tbit/s"),
    (Span, 0, "0 s"), (Span, 1, "1 ps"), (Span, 1500, "1.5 ns"), (Span, 10**12, "1 s"), (Span, 999_999, "999.999 ns"),
    (Span, 1_000_001, "1.000001 us"), (Span, 1_000_000_001, "1000.000001 us"), (Span, 3600 * 10**12, "3600 s"),
    (Size, 0, "0 B"), (Size, 1500, "1500 B"), (Size, 2000, "2 kB"), (Size, 2048, "2 KiB"), (Size, 3 * 10**6, "3 MB"),
    (Size, 2**40, "1 TiB"), (Size, 1025, "1025 B"),
])  # fmt: skip
def test_a_quantity_prints_in_its_greatest_unit_with_six_decimals_at_most(kind, value, text):
    assert (str(kind(value)), repr(kind(value))) == (text, f"{kind.__name__}('{text}')")


@pytest.mark.parametrize(("kind", "value", "sentence"), [
    (Rate, "10", 'expected a rate such as "10 Gbit/s" (a unit is missing)'),
    (Rate, 10, 'expected a rate such as "10 Gbit/s" (a unit is missing)'),
    (Rate, "1 gbit/s", 'expected a rate such as "10 Gbit/s" (did you mean "Gbit/s"?)'),
    (Rate, "1 x", 'expected a rate such as "10 Gbit/s" ("x" is not a unit of it)'),
    (Rate, None, 'expected a rate such as "10 Gbit/s"'), (Rate, "x", 'expected a rate such as "10 Gbit/s"'),
    (Rate, "999999 bit/s", "expected a rate from 1 Mbit/s to 10 Tbit/s"),
    (Rate, "10.1 Tbit/s", "expected a rate from 1 Mbit/s to 10 Tbit/s"),
    (Rate, "0", 'expected a rate such as "10 Gbit/s" (a unit is missing)'),
    (Span, "-1 us", 'expected a time such as "40 us", not a negative one'),
    (Span, "1.5 ps", "expected a whole number of picoseconds"),
    (Span, "24.1 h", "expected a time from 0 s to 86400 s"), (Span, "1" * 101, 'expected a time such as "40 us"'),
    (Size, "5", 'expected a size such as "3 MB" or "2 GiB" (a unit is missing)'),
    (Size, "1 KB",
     'expected a size such as "3 MB" or "2 GiB" ("KB" is ambiguous: write "kB" for 1000 or "KiB" for 1024 bytes)'),
    (Size, "1 kbit", 'expected a size such as "3 MB" or "2 GiB" ("kbit" counts bits)'),
    (Size, "1 Mbits", 'expected a size such as "3 MB" or "2 GiB" ("Mbits" counts bits)'),
    (Size, "1 bit/s", 'expected a size such as "3 MB" or "2 GiB" ("bit/s" counts bits)'),
    (Size, "1 mb", 'expected a size such as "3 MB" or "2 GiB" ("mb" counts bits)'),
    (Size, "1 gB", 'expected a size such as "3 MB" or "2 GiB" (did you mean "GB"?)'),
    (FlowSize, "0 B", 'expected a size above 0 B, or "unlimited" for a flow without an end'),
    (FlowSize, "2000 TB", "expected a size from 1 B to 1000 TB"),
    (QueueLimit, "0 B", "expected a queue limit from 1 packets to 1000000000000 packets"),
    (Loss, 1, 'expected a probability below 1 such as 0.001 or "0.1 %"'),
    (Loss, "x", 'expected a probability below 1 such as 0.001 or "0.1 %"'),
    (Load, 0, 'expected a load above 0 and up to 10, such as 0.4 or "40 %"'),
    (Load, 50, 'expected a load above 0 and up to 10, such as 0.4 or "40 %" (50 percent is "50 %")'),
    (Load, 1001, 'expected a load above 0 and up to 10, such as 0.4 or "40 %"'),
    (Load, 1000, 'expected a load above 0 and up to 10, such as 0.4 or "40 %" (1000 percent is "1000 %")'),
    (Load, "1001 %", 'expected a load above 0 and up to 10, such as 0.4 or "40 %"'),
    (Framing, 1001, 'expected "ethernet" (38 bytes a packet) or a number of bytes from 0 to 1000'),
    (Framing, True, 'expected "ethernet" (38 bytes a packet) or a number of bytes from 0 to 1000'),
])  # fmt: skip
def test_what_is_no_quantity_is_one_sentence(kind, value, sentence):
    with pytest.raises(PydanticCustomError) as caught:
        kind.parse(value)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("kind", "value", "number"), [
    (Rate, "1 Mbit/s", 10**6), (Rate, " 10 Tbit/s ", 10**13), (Rate, "+2e3 kbit/s", 2 * 10**6), (Span,
     "86400 s", 86400 * 10**12),
    (Span, "24 h", 86400 * 10**12), (Span, 0, 0), (Span, "0.0", 0), (Span, "-0 s", 0), (Size, "1000 TB", 10**15),
    (FlowSize, "1000 TB", 10**15), (QueueLimit, "1 B", 1), (Load, "1000 %", 10), (Load, 1e-9, 1e-9), (Loss, 0, 0),
    (Loss, "99.9 %", 0.999), (Framing, 1000, 1000), (Framing, "ethernet", 38), (Span, "1" + "0" * 6 + " us", 10**12),
])  # fmt: skip
def test_bounds_are_quantities_too(kind, value, number):
    assert kind.parse(value) == number and kind.parse(kind.parse(value)) == number


def test_queue_limits_are_of_packets_or_bytes():
    packets, size = QueueLimit.parse("5 packets"), QueueLimit.parse("5 B")
    assert (str(packets), str(size), str(QueueLimit.parse("3 MB"))) == ("5 packets", "5 B", "3 MB")
    assert packets == 5 and size == 5 and packets != size and (packets == size) is False
    assert hash(packets) == hash(QueueLimit.parse("5 packets")) != hash(size)
    assert len({packets, size, QueueLimit.parse("5 packet")}) == 2 and Loss(0.25).ppb == 250_000_000


def test_random_times_are_drawn_to_the_nanosecond():
    one, other = Stream(3, "a"), Stream(3, "a")
    spans = [Span.parse(text) for text in ("2 us", "4 us")]
    assert drawn(Uniform(uniform=tuple(spans)), one) == (2000 + other.below(2001)) * 1000
    assert drawn(Exponential(exponential=Span(10**9)), one) == round(-math.log(1 - other.unit()) * 10**6) * 1000
    assert exponential(5e8, one) == round(-math.log(1 - other.unit()) * 5e5) * 1000
    # What is fixed draws nothing.
    assert drawn(Span(7), one) == 7 and one.unit() == other.unit()


HOSTS = ["a", "b", "c", "d"]


def first(kind, count, seed=5, hosts=HOSTS, **given):
    """The first pairs, and after how many they repeat."""
    found = kind.model_validate(given).of_flows(hosts, Stream(seed, "pairs"), "f")
    return ["".join(next(found.pairs)) for _ in range(count)], found.round


@pytest.mark.parametrize(("kind", "given", "pairs", "repeat"), [
    (OnePair, {"from": "a", "to": "b"}, "ab ab", 1),
    (PairList, {"pairs": [["a", "b"], ["c", "a"]]}, "ab ca ab", 2),
    (AllToAll, {}, "ab bc cd da ac bd ca db ad ba cb dc ab", 12),
    (AllToAll, {"hosts": ["c", "a"]}, "ca ac ca", 2),
    (Incast, {"to": "b"}, "ab cb db ab", 3), (Incast, {"to": "b", "from": ["d", "b", "a"]}, "db ab db", 2),
    (FanOut, {"from": "b"}, "ba bc bd ba", 3), (FanOut, {"from": "b", "to": ["d", "b", "a"]}, "bd ba bd", 2),
])  # fmt: skip
def test_pairs_in_turn(kind, given, pairs, repeat):
    wanted = pairs.split()
    assert first(kind, len(wanted), **given) == (wanted, repeat)


@pytest.mark.parametrize(("kind", "given", "pairs"), [
    (PairList, {"pairs": [["a", "b"], ["c", "a"], ["d", "c"]]}, "ab ca dc"),
    (Incast, {"to": "b"}, "ab cb db"), (FanOut, {"from": "b", "to": ["d", "b", "a"]}, "bd ba"),
    (AllToAll, {"hosts": ["c", "a", "b"]}, "ca ab bc cb ac ba"),
])  # fmt: skip
def test_pairs_that_are_drawn_are_those_of_the_stream(kind, given, pairs):
    stream, among = Stream(5, "pairs"), pairs.split()
    drawn = [among[stream.below(len(among))] for _ in range(20)]
    assert first(kind, 20, order="drawn", **given) == (drawn, None)


@pytest.mark.parametrize(("kind", "given"), [
    (AllToAll, {"hosts": ["a"]}), (Permutation, {"hosts": ["a"]}), (Incast, {"to": "a", "from": ["a"]}),
    (FanOut, {"from": "a", "to": ["a"]}), (RandomPairs, {"from": ["a"], "to": ["a"]}),
])  # fmt: skip
def test_pairs_of_one_host_are_none(kind, given):
    with pytest.raises(ScenarioError) as caught:
        first(kind, 1, **given)
    sentence = "f: expected at least two hosts, and receivers that are not the only sender"
    assert (str(caught.value), caught.value.field) == (sentence, "f")


def test_a_permutation_is_shuffled_until_no_host_is_its_own():
    stream = Stream(5, "pairs")
    while True:
        among = list(HOSTS)
        for last in (3, 2, 1):
            other = stream.below(last + 1)
            among[last], among[other] = among[other], among[last]
        if all(map(str.__ne__, HOSTS, among)):
            break
    wanted = [f"{one}{other}" for one, other in zip(HOSTS, among, strict=True)]
    assert first(Permutation, 5) == ([*wanted, wanted[0]], 4)


def test_random_pairs_draw_the_sender_and_then_another_host():
    stream = Stream(5, "pairs")
    wanted = []
    for _ in range(30):
        sender = ["a", "b"][stream.below(2)]
        among = [host for host in ("b", "c", "d") if host != sender]
        wanted.append(sender + among[stream.below(len(among))])
    assert first(RandomPairs, 30, **{"from": ["a", "b"], "to": ["b", "c", "d"]}) == (wanted, None)
    # One that may only send to itself does not send.
    assert set(first(RandomPairs, 9, **{"from": ["a", "b"], "to": ["b"]})[0]) == {"ab"}


def test_a_matrix_draws_by_weight():
    weights = [["a", "b", 1], ["b", "a", 0], ["c", "d", 3]]
    stream = Stream(5, "pairs")
    wanted = ["ab" if stream.unit() * 4 < 1 else "cd" for _ in range(30)]
    assert first(TrafficMatrix, 30, weights=weights) == (wanted, None) and len(set(wanted)) == 2


@pytest.mark.parametrize(("kind", "given", "senders", "receivers", "named"), [
    (OnePair, {"from": "a", "to": "b"}, "a", "b", {}),
    (PairList, {"pairs": [["a", "b"], ["c", "b"]]}, "ac", "b", {"pairs[0]": ("a", "b"), "pairs[1]": ("c", "b")}),
    (AllToAll, {}, "abcd", "abcd", {"hosts": ()}), (Permutation, {"hosts": ["a", "c"]}, "ac", "ac",
     {"hosts": ("a", "c")}),
    (RandomPairs, {"from": ["a", "b"], "to": "b"}, "a", "b", {"from": ("a", "b"), "to": ("b",)}),
    (RandomPairs, {}, "abcd", "abcd", {"from": (), "to": ()}),
    (RandomPairs, {"from": "a", "to": ["a", "c"]}, "a", "c", {"from": ("a",), "to": ("a", "c")}),
    (Incast, {"to": "b"}, "acd", "b", {"from": (), "to": ["b"]}),
    (Incast, {"from": ["b", "d"], "to": "b"}, "d", "b", {"from": ("b", "d"), "to": ["b"]}),
    (FanOut, {"from": "b"}, "b", "acd", {"from": ["b"], "to": ()}),
    (TrafficMatrix, {"weights": [["a", "b", 1], ["c", "d", 0]]}, "a", "b",
     {"weights[0]": ("a", "b"), "weights[1]": ("c", "d")}),
])  # fmt: skip
def test_who_may_send_and_who_may_receive(kind, given, senders, receivers, named):
    one = kind.model_validate(given)
    assert one.ends(HOSTS) == (frozenset(senders), frozenset(receivers)) and one.named() == named
    grouped = one.with_hosts(lambda names, key: (*names, f"{key}!"))
    assert {key: names[-1] for key, names in grouped.named().items() if names and names[-1].endswith("!")} == {
        key: f"{key}!" for key, names in named.items() if isinstance(names, tuple) and "[" not in key
    }


@pytest.mark.parametrize(("weights", "sentence"), [
    ([], "expected weights, or a file with them"), ([["a", "b", 0]], "expected at least one weight above 0"),
    ([["a", "b", -1]], "expected a weight from 0 to 1e12, not -1.0 from a to b"),
    ([["a", "b", 2e12]], "expected a weight from 0 to 1e12, not 2000000000000.0 from a to b"),
])  # fmt: skip
def test_what_is_no_matrix_is_told(weights, sentence):
    with pytest.raises(ScenarioError, match=f"{sentence}$"):
        TrafficMatrix(weights=weights)


RATES = Rates({"l": 10**9}.__getitem__, lambda: 4 * 10**9)


@pytest.mark.parametrize(("given", "mean_ps"), [
    # 1000 bytes are 8 us at 1 Gbit/s and half of that load is 16.
    ({"load": 0.5, "link": "l"}, 16e6), ({"load": "50 %"}, 4e6), ({"load": 2, "rate": "8 Gbit/s"}, 5e5),
])  # fmt: skip
def test_a_load_is_that_of_its_rate(given, mean_ps):
    gaps, stream = Poisson(**given).gaps(Stream(2, "gap"), 1000, RATES), Stream(2, "gap")
    assert [next(gaps) for _ in range(5)] == [exponential(mean_ps, stream) for _ in range(5)]


def test_other_processes_are_even_or_at_once():
    even = Every(gap=Span(5)).gaps(Stream(1, "g"), 1, RATES)
    assert [next(even) for _ in range(3)] == [0, 5, 5]
    random, stream = Every(gap=Exponential(exponential=Span(10**9))).gaps(Stream(1, "g"), 1, RATES), Stream(1, "g")
    assert [next(random) for _ in range(3)] == [0, exponential(10**9, stream), exponential(10**9, stream)]
    once = AllAtOnce().gaps(Stream(1, "g"), 1, RATES)
    assert [next(once) for _ in range(3)] == [0, 0, 0]
    assert not Every(gap=Span(5)).ends and Trace(flows=[["0 s", "a", "b", "1 B"]]).ends
    with pytest.raises(ScenarioError, match=r"expected at most one of link and rate, not both$"):
        Poisson(load=1, link="l", rate="1 Gbit/s")


def law(kind, count=5, seed=4, **given):
    draws = kind(**given).draws(Stream(seed, "sizes"), "f")
    return [next(draws) for _ in range(count)]


def units(count=5, seed=4):
    stream = Stream(seed, "sizes")
    return [stream.unit() for _ in range(count)]


def test_sizes_are_functions_of_the_numbers_of_their_stream():
    assert law(FixedSizes, size="3 kB") == [3000] * 5 and FixedSizes(size="3 kB").mean == 3000
    assert law(ExponentialSizes, mean_size="1 MB") == [max(1, round(-math.log(1 - one) * 1e6)) for one in units()]
    stream = Stream(4, "sizes")
    assert law(UniformSizes, least="5 B", most="9 B") == [5 + stream.below(5) for _ in range(5)]
    assert UniformSizes(least="5 B", most="10 B").mean == 7.5
    pareto = {"shape": 1.5, "least": "1 kB", "most": "8 kB"}
    share = 1 - 8**-1.5
    assert law(BoundedPareto, **pareto) == [round(1000 * (1 - one * share) ** (-1 / 1.5)) for one in units()]
    points = [["1 kB", 0.5], ["3 kB", 0.75], ["3 kB", 0.8], ["7 kB", 1]]
    wanted = []
    for one in units(60):
        if one <= 0.5:
            wanted.append(1000)
        elif one <= 0.75:
            wanted.append(round(1000 + 2000 * (one - 0.5) / 0.25))
        elif one <= 0.8:
            wanted.append(3000)
        else:
            wanted.append(round(3000 + 4000 * (one - 0.8) / 0.2))
    assert law(EmpiricalSizes, 60, points=points) == wanted and len(set(wanted)) > 9
    # A size is at least one byte.
    assert (
        set(law(ExponentialSizes, 50, mean_size="1 B")) >= {1} and min(law(ExponentialSizes, 50, mean_size="1 B")) == 1
    )
    assert LognormalSizes(median="1 kB", sigma=2).mean == pytest.approx(1000 * math.exp(2))


def test_sizes_that_add_up_are_those_that_still_can():
    said = ChoiceOfSizes(choice=["2 kB", "3 kB"], total="7 kB", max_flows=3)
    for seed in range(20):
        sizes, stream = list(said.draws(Stream(seed, "s"), "f")), Stream(seed, "s")
        # Three sizes: one of 3 kB among two of 2 kB.
        left, wanted, flows = 7, [], 3
        while left:
            flows -= 1
            fitting = [one for one in (2, 3) if {0: 0, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 3}.get(left - one, 99) <= flows]
            wanted.append(fitting[stream.below(len(fitting))])
            left -= wanted[-1]
        assert sizes == [one * 1000 for one in wanted] and sorted(sizes) == [2000, 2000, 3000]
    assert said.mean == 2500 and said.ends and not FixedSizes(size="1 B").ends
    assert _fewest_parts([2, 3], 7) == [0, math.inf, 1, 1, 2, 2, 2, 3]
    with pytest.raises(ScenarioError) as caught:
        list(ChoiceOfSizes(choice=["2 kB", "3 kB"], total="7 kB", max_flows=2).draws(Stream(1, "s"), "f"))
    assert str(caught.value) == "f.total = 7 kB: at most 2 flows of 2 kB, 3 kB cannot add up to it"
    with pytest.raises(ScenarioError) as caught:
        list(ChoiceOfSizes(choice=["1 B", "2 B"], total="9 MB").draws(Stream(1, "s"), "f"))
    assert str(caught.value) == "f.total = 9 MB: expected a total that is a rounder multiple of the sizes"


@pytest.mark.parametrize(("kind", "given", "sentence"), [
    (UniformSizes, {"least": "9 B", "most": "9 B"}, "expected least below most, not 9 B and 9 B"),
    (BoundedPareto, {"shape": 1, "least": "9 B", "most": "8 B"}, "expected least below most, not 9 B and 8 B"),
    (ChoiceOfSizes, {"choice": ["1 B", "0 B"], "total": "1 B"}, "expected sizes above 0 B to choose from"),
    (EmpiricalSizes, {}, "expected points, or a file with them"),
    (EmpiricalSizes, {"points": [["1 B", 0.5]]},
     "expected points from a probability of at least 0 up to one of 1, with a size above 0 B"),
    (EmpiricalSizes, {"points": [["1 B", -0.5], ["1 B", 1]]},
     "expected points from a probability of at least 0 up to one of 1, with a size above 0 B"),
    (EmpiricalSizes, {"points": [["0 B", 1]]},
     "expected points from a probability of at least 0 up to one of 1, with a size above 0 B"),
    (EmpiricalSizes, {"points": [["2 B", 0.5], ["1 B", 1]]},
     "expected points that rise, not 1 B with 1.0 after 2 B with 0.5"),
    (EmpiricalSizes, {"points": [["1 B", 0.5], ["1 B", 0.4], ["2 B", 1]]},
     "expected points that rise, not 1 B with 0.4 after 1 B with 0.5"),
    (EmpiricalSizes, {"file": "x.csv"},
     'has file = "x.csv": expected points; a file is read where the scenario is loaded from one'),
])  # fmt: skip
def test_what_are_no_sizes_is_told(kind, given, sentence):
    with pytest.raises(ScenarioError) as caught:
        kind(**given)
    assert str(caught.value).endswith(sentence)


def test_rows_of_a_file_are_values_of_a_scenario(tmp_path):
    file = tmp_path / "f.csv"
    file.write_text("\ufeff# a comment\nsize , name,weight\n\n1000, x y ,2\n2 kB,3,x\n# more\n-1.5e3,,+4\n")
    assert read_lines(file, "f") == (
        ["size", "name", "weight"],
        [["1000", "x y", "2"], ["2 kB", "3", "x"], ["-1.5e3", "", "+4"]],
    )
    rows = read_rows(file, {"size": "B", "name": "text", "weight": "number"}, "f")
    assert rows == [["1000 B", "x y", 2.0], ["2 kB", "3", "x"], ["-1.5e3 B", "", 4.0]]
    file.write_text("")
    assert read_lines(file, "f") == ([], [])
    for text, sentence in (
        ("a,b\n1\n", "line 2 has 1 values: expected 2"), ("# c\na,b\n\n1,2\n1,2,3\n",
         "line 5 has 3 values: expected 2"),
        ("b\n", "has the columns b: expected a, b"), ("", "has the columns none: expected a, b"),
    ):  # fmt: skip
        file.write_text(text)
        with pytest.raises(ScenarioError) as caught:
            read_rows(file, {"a": "B", "b": "B"}, "f")
        assert (str(caught.value), caught.value.field) == (f'f = "{file}": {sentence}', "f")
    with pytest.raises(ScenarioError) as caught:
        read_lines(tmp_path / "none", "f")
    assert str(caught.value) == f'f = "{tmp_path}/none" cannot be read: no such file or directory'


@pytest.mark.parametrize("document", [{"a": "\udc80"}, {"\udc80": 1}, {"a": [{"b": ("x", ["\udc80"])}]}])
def test_a_text_that_no_file_can_have_is_found_at_any_depth(document):
    with pytest.raises(ScenarioError) as caught:
        check_texts(document, "s")
    assert str(caught.value) == "s: '\\udc80' is not valid Unicode text"
    check_texts({"é": ["ü", {"x": ("y", 5, None)}]}, "s")
