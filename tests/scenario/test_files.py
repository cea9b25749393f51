"""Files of scenarios and what they name, changes of documents: whole sentences, and what is left for validation."""

import base64
import copy
import re

import pytest

from daybreak.errors import OutputError, ScenarioError
from daybreak.scenario import Span, load, save, schema
from daybreak.scenario.docstrings import of_fields
from daybreak.scenario.files import _put_rows
from daybreak.scenario.model import Model, Names, members
from daybreak.scenario.programs import MOST_CONTENT, Command, Programs, put_contents
from daybreak.scenario.scenario import plain
from daybreak.scenario.timelines import Circuit, Migrate, Program, Timeline
from daybreak.scenario.traces import LinkTrace, put_traces
from daybreak.scenario.traffic import Arrivals, Flow, RequestResponse


@pytest.mark.parametrize(("content", "sentence"), [
    (None, "{} cannot be read: no such file or directory"),
    (b"\xff", "{} is not a scenario file: it is not UTF-8 text"),
    (b"a = 1\na = 2\n", "{} is not valid TOML: cannot overwrite a value (at line 2, column 6)"),
    (b"a = " + b"1" * 5000, "{} is not valid TOML: exceeds the limit (4300 digits) for integer string conversion: "
     "value has 5000 digits"),
    (b"a = " + b"[" * 5000, "{} is not a scenario file: its tables or lists are nested too deeply"),
])  # fmt: skip
def test_what_is_no_file_of_a_scenario_is_one_sentence(tmp_path, content, sentence):
    place = tmp_path / "s.toml"
    if content is not None:
        place.write_bytes(content)
    with pytest.raises(ScenarioError) as caught:
        load(str(place))
    assert str(caught.value) == sentence.format(place)


def test_a_file_may_begin_with_a_mark_of_its_encoding(one_flow, tmp_path):
    (tmp_path / "s.toml").write_text("\ufeff" + one_flow.to_toml(), encoding="utf-8")
    assert load(tmp_path / "s.toml") == one_flow
    with pytest.raises(OutputError) as caught:
        save(one_flow, tmp_path / "none" / "s.toml")
    assert str(caught.value) == f"{tmp_path}/none/s.toml cannot be written: no such file or directory"
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


TRACE = {"kind": "trace", "file": "trace.csv"}
SIZES = {"kind": "empirical", "file": "sizes.csv"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "trace.csv").write_text("time,from,to,size\n1 s,a,b,5\n")
    (tmp_path / "sizes.csv").write_text("size,probability\n5,1\n")
    (tmp_path / "matrix.csv").write_text("from,to,weight\na,b,2\n")
    (tmp_path / "links.csv").write_text("time (ms),rate (Mbit/s),delay,loss\n1,5,,0.5\n2,7 Gbit/s,3 us,\n")
    (tmp_path / "data").write_bytes(b"\x00\x01")
    return tmp_path


def test_rows_of_files_take_the_place_of_their_names(folder):
    document = {"arrivals": [
        {"process": dict(TRACE)},
        {"sizes": dict(SIZES), "pairs": {"kind": "matrix", "file": "matrix.csv"}},
    ]}  # fmt: skip
    _put_rows(document, folder)
    assert document == {"arrivals": [
        {"process": {"kind": "trace", "flows": [["1 s", "a", "b", "5 B"]]}},
        {"sizes": {"kind": "empirical", "points": [["5 B", 1.0]]},
         "pairs": {"kind": "matrix", "weights": [["a", "b", 2.0]]}},
    ]}  # fmt: skip
    with pytest.raises(ScenarioError) as caught:
        _put_rows({"arrivals": [{}, {"sizes": {"kind": "empirical", "file": "none"}}]}, folder)
    sentence = f'arrivals[1].sizes.file = "{folder}/none" cannot be read: no such file or directory'
    assert (str(caught.value), caught.value.field) == (sentence, "arrivals[1].sizes.file")


@pytest.mark.parametrize("arrivals", [
    None, 5, "x", [5], [{"sizes": 5}], [{"sizes": {"file": "sizes.csv"}}],
    [{"sizes": {"kind": 5, "file": "sizes.csv"}}],
    [{"sizes": {"kind": "fixed", "file": "sizes.csv"}}], [{"sizes": {"kind": "empirical", "file": 5}}],
    [{"sizes": SIZES | {"points": []}}], [{"process": {"kind": "empirical", "file": "sizes.csv"}}],
])  # fmt: skip
def test_what_names_no_rows_is_left_for_validation(folder, arrivals):
    document = {"arrivals": arrivals}
    _put_rows(copied := copy.deepcopy(document), folder)
    assert copied == document
    _put_rows({}, folder)


def test_rows_of_traces_of_links_have_the_units_of_their_headings(folder):
    document = {"timelines": [{"kind": "migrate", "file": "links.csv"}, {"kind": "trace", "file": "links.csv"}]}
    put_traces(document, folder)
    assert document["timelines"] == [
        {"kind": "migrate", "file": "links.csv"},
        {"kind": "trace", "rows": [
            {"time": "1 ms", "rate": "5 Mbit/s", "loss": "0.5"}, {"time": "2 ms", "rate": "7 Gbit/s", "delay": "3 us"},
        ]},
    ]  # fmt: skip
    for lines in (None, 5, [5], [{"kind": "trace"}], [{"kind": "trace", "file": 5}],
                  [{"kind": "trace", "file": "links.csv", "rows": []}]):  # fmt: skip
        left = {"timelines": copy.deepcopy(lines)}
        put_traces(left, folder)
        assert left == {"timelines": lines}


@pytest.mark.parametrize("headings", ["time", "rate,delay", "time,time,rate", "time,speed", "time,rate,rate", "none"])
def test_what_are_no_columns_of_a_trace_is_told(tmp_path, headings):
    place = tmp_path / "t.csv"
    place.write_text("" if headings == "none" else f"{headings}\n")
    with pytest.raises(ScenarioError) as caught:
        put_traces({"timelines": [{}, {"kind": "trace", "file": "t.csv"}]}, tmp_path)
    assert str(caught.value) == (
        f'timelines[1].file = "{place}": has the columns {headings.replace(",", ", ")}: expected time and any of rate, '
        'delay and loss, each with the unit of plain numbers behind it if need be, such as "delay (ms)"'
    )


def program(**command):
    return {"application": {"kind": "program", "client": command}}


def test_contents_of_a_programs_files_take_the_place_of_their_names(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "more").write_bytes(b"x")
    flows = [{"size": "1 B"}, program(run=["a"], files=["data", "sub/more"]), program(run=["a"], files="data")]
    flows[2]["application"]["server"] = {"run": ["b"], "files": ["sub/more"]}
    put_contents(flows, folder)
    data, more = (base64.b64encode(content).decode() for content in (b"\x00\x01", b"x"))
    assert flows == [
        {"size": "1 B"}, program(run=["a"], contents={"data": data, "more": more}),
        {"application": {"kind": "program", "client": {"run": ["a"], "contents": {"data": data}},
                         "server": {"run": ["b"], "contents": {"more": more}}}},
    ]  # fmt: skip


@pytest.mark.parametrize("flows", [
    None, 5, [5], [{}], [{"application": 5}], [{"application": {"kind": "x", "client": {"files": ["data"]}}}],
    [program(files=5)], [program(files=["data", 5])], [program(files=["data"], contents={})], [program(run=["a"])],
    [{"application": {"kind": "program", "client": ["a"]}}],
])  # fmt: skip
def test_what_names_no_files_of_programs_is_left_for_validation(folder, flows):
    put_contents(left := copy.deepcopy(flows), folder)
    assert left == flows


def test_files_of_programs_that_cannot_be_or_are_too_large_are_told(folder):
    with pytest.raises(ScenarioError) as caught:
        put_contents([{}, program(files=["data", "none"])], folder)
    sentence = 'flows[1].application.client.files = "none" cannot be read: no such file or directory'
    assert (str(caught.value), caught.value.field) == (sentence, "flows[1].application.client.files")
    with (folder / "large").open("wb") as file:
        file.truncate(MOST_CONTENT - 2)
    put_contents([program(files=["large", "data"])], folder)
    (folder / "data").write_bytes(b"xyz")
    with pytest.raises(ScenarioError) as caught:
        put_contents([program(files=["large", "data"])], folder)
    assert str(caught.value) == (
        'flows[0].application.client.files = "data": the files have more than 16 MiB: expected less'
    )


@pytest.mark.parametrize(("make", "sentence"), [
    (lambda: Command(run=["a"], files="x"),
     'has files = "x": expected contents; files are read when a scenario file is loaded'),
    (lambda: Command(run=["a"], contents={"f": "?"}), 'has contents of "f" that are not Base64'),
    (lambda: Programs(), "expected a client, a server or both"),
    (lambda: Migrate(group="g", between=[["a"], ["b"]], period="1 ms", night="1 ms"),
     "has a period of 1 ms: expected one longer than its night of 1 ms"),
    (lambda: Migrate(between=[["a"], ["b"]], period="1 ms"),
     "moves nothing: expected either a group or a list of flows"),
    (lambda: Migrate(group="g", flows=["f"], between=[["a"], ["b"]], period="1 ms"),
     "moves nothing: expected either a group or a list of flows"),
    (lambda: Migrate(group="g", between=[["a"]], period="1 ms"), "has 1 paths in between: expected at least 2"),
    (lambda: Migrate(group="g", between=["a", "b"], ack_between=["a", "b", "c"], period="1 ms"),
     "has 3 paths in ack_between: expected 2 as in between"),
    (lambda: Migrate(group="g", between=["a", "b"], period="1 ms", hold_limit="1 kB"),
     "has a hold_limit of 1 kB: expected packets"),
    (lambda: Circuit(matchings=["a", "b"], day="1 ms", night="1 ms", week="3 ms"),
     "has a week of 3 ms: expected at least its days and nights, 4 ms"),
    (lambda: Circuit(matchings=[[]], day="1 ms", night="0 s"), "has no link in any matching: expected at least one"),
    (lambda: Circuit(matchings=["a"], day="1 ms", night="0 s", downtime="make_before_break"),
     'has downtime "make_before_break": expected "drop", "hold" or "drain", a circuit has no other path'),
    (lambda: Program(period="2 ms", steps=[{"at": "2 ms", "do": [{"kind": "set_mark", "marker": "m", "on": True}]}]),
     "has a step at 2 ms: expected a time before the end of the period of 2 ms"),
    (lambda: LinkTrace(links="a", file="f"), 'has file = "f": expected rows; a file is read only where the scenario '
     "file names it, not in a change such as --set or in Python"),
    (lambda: LinkTrace(links="a"), "expected rows, or a file with them"),
    (lambda: LinkTrace(links="a", rows=[{"time": "1 s"}]), "expected a rate, a delay or a loss"),
    (lambda: LinkTrace(links="a", rows=[{"time": "1 s", "loss": 0}] * 2),
     "has a row at 1 s behind one at 1 s: expected times that rise"),
    (lambda: LinkTrace(links="a", rows=[{"time": "1 s", "loss": 0}], period="1 s"),
     "has a row at 1 s: expected a time before the end of the period of 1 s"),
    (lambda: Flow(from_="a", to="b"), "expected either size or application, not none of them"),
    (lambda: Flow(from_="a", to="b", size="1 B", application=RequestResponse(request="1 B", response="1 B")),
     "expected either size or application, not both of them"),
    (lambda: Flow(from_="a", to="b", application=RequestResponse(request="1 B")),
     "expected an application with a response: only arrivals draw it"),
])  # fmt: skip
def test_what_makes_no_sense_is_told_whole(make, sentence):
    with pytest.raises(ScenarioError) as caught:
        make()
    assert re.search(rf"(: | it |\] ){re.escape(sentence)}$", str(caught.value)), str(caught.value)


ONE = {"kind": "fixed", "size": "1 B"}
ASKS = {"kind": "request_response", "request": "1 B"}
LISTED = {"kind": "trace", "flows": [["0 s", "a", "b", "1 B"]]}


@pytest.mark.parametrize(("given", "sentence"), [
    ({}, "expected either every or process, not none of them"),
    ({"every": "1 s", "process": LISTED}, "expected either every or process, not both of them"),
    ({"every": "1 s", "from": "a"}, "expected both from and to, or pairs"),
    ({"every": "1 s", "sizes": ONE}, "expected either from and to or pairs, not none of them"),
    ({"every": "1 s", "sizes": ONE, "from": "a", "to": "b", "pairs": {"kind": "random"}},
     "expected either from and to or pairs, not both of them"),
    ({"every": "1 s", "from": "a", "to": "b"}, "expected sizes or an application with a response"),
    ({"every": "1 s", "from": "a", "to": "b", "sizes": ONE, "application": ASKS | {"response": "1 B"}},
     "expected either sizes or the application's response"),
    ({"process": LISTED, "from": "a", "to": "b"},
     "expected no from: a trace says the hosts, size and time of each flow"),
    ({"process": LISTED, "pairs": {"kind": "random"}},
     "expected no pairs: a trace says the hosts, size and time of each flow"),
    ({"process": LISTED, "sizes": ONE}, "expected no sizes: a trace says the hosts, size and time of each flow"),
    ({"process": LISTED, "at_once": 2}, "expected no at_once: a trace says the hosts, size and time of each flow"),
    ({"process": LISTED, "application": ASKS | {"response": "1 B"}},
     "expected no application.response: a trace says the hosts, size and time of each flow"),
    ({"process": {"kind": "all_at_once"}, "at_once": 2, "from": "a", "to": "b", "sizes": ONE},
     'expected count: process.kind = "all_at_once" has no other at_once'),
])  # fmt: skip
def test_a_generator_says_each_thing_once(given, sentence):
    with pytest.raises(ScenarioError) as caught:
        Arrivals(name="g", **given)
    assert str(caught.value).endswith(f": {sentence}")


def test_generators_that_say_each_thing_once_are_some():
    for given in (
        {"every": "1 s", "from": "a", "to": "b", "sizes": ONE},
        {"process": LISTED},
        {"process": LISTED, "application": ASKS},
        {"every": "1 s", "pairs": {"kind": "random"}, "application": ASKS | {"response": "1 B"}},
        {"process": {"kind": "all_at_once"}, "from": "a", "to": "b", "sizes": ONE, "count": 5},
    ):  # fmt: skip
        one = Arrivals(name="g", **given)
        assert one.arrival_process.kind == (one.process.kind if one.process else "every")
    assert (one.host_pairs.from_, one.host_pairs.to, one.host_pairs.kind) == ("a", "b", "one")


def test_a_week_is_as_long_as_its_days_and_nights_or_longer():
    week = {"matchings": ["a", "b", []], "day": "3 ms", "night": "1 ms"}
    assert (Circuit(**week).length, Circuit(**week, week="20 ms").length) == (12 * 10**9, 20 * 10**9)
    assert Circuit(**week, week="12 ms").week == 12 * 10**9
    one = Migrate(group="g", ack_between=["a", "b"], period="1 ms")
    both = Migrate(group="g", between=["c", "d"], ack_between=["a", "b"], period="1 ms")
    assert (one.ways, both.ways) == ((("a",), ("b",)), (("c",), ("d",)))


@pytest.mark.parametrize(("changes", "sentence", "field"), [
    ({"flows.1.size": "1 B"}, '"flows.1.size" cannot be changed: "1" is not in a list of 1', "flows.1.size"),
    ({"flows.x.size": "1 B"}, '"flows.x.size" cannot be changed: "x" is not in a list of 1', "flows.x.size"),
    ({"flows.1": {}}, '"flows.1" cannot be changed: "1" is not in a list of 1', "flows.1"),
    ({"name.x": 1}, '"name.x" cannot be changed: "name" is "one flow", not a table', "name.x"),
    ({"flows.0.size.x": 1}, '"flows.0.size.x" cannot be changed: "size" is "1 MB", not a table', "flows.0.size.x"),
])  # fmt: skip
def test_a_change_that_leads_nowhere_is_told_whole(one_flow, changes, sentence, field):
    with pytest.raises(ScenarioError) as caught:
        one_flow.with_(changes)
    assert (str(caught.value), caught.value.field) == (sentence, field)


def test_a_change_names_the_scenario_and_merges_tables(one_flow):
    changed = one_flow.with_({"topology": {"rate": "1 Gbit/s"}, "stack.hz": 250}, name="b")
    assert (changed.topology.rate, changed.topology.delay, changed.stack.hz, changed.name) == (
        10**9, one_flow.topology.delay, 250, "b",
    )  # fmt: skip
    assert one_flow.with_({"flows.0": {"from": "sender-0", "to": "receiver-0", "size": "5 B"}}).flows[0].size == 5
    assert one_flow.with_() == one_flow
    with pytest.raises(ScenarioError, match=r'^scenario "one flow", changed: flows\[0\]\.size = "x": '):
        one_flow.with_({"flows.0.size": "x"})
    assert plain({"a": (Span(5), [one_flow.flows[0]]), "b": {"c": Span(10**6)}}) == {
        "a": ["5 ps", [{"from": "sender-0", "to": "receiver-0", "size": "1 MB"}]], "b": {"c": "1 us"},
    }  # fmt: skip


class Base(Model):
    """A model."""

    one: int = 1
    """What one
    is."""
    two: Names = ()


def test_a_model_refuses_other_keys_and_takes_one_name_for_a_list():
    assert Base(two="a").two == ("a",) == Base(two=["a"]).two
    assert members(Timeline) == (Migrate, Circuit, Program, LinkTrace)
    with pytest.raises(ScenarioError) as caught:
        Base(on=1)
    assert str(caught.value) == 'Base: it has no key "on" (did you mean "one"?); known are one, two'
    with pytest.raises(ScenarioError) as caught:
        Base(xyz=1)
    assert str(caught.value) == 'Base: it has no key "xyz"; known are one, two'
    with pytest.raises(ScenarioError, match=r"^Base: '\\udc80' is not valid Unicode text$"):
        Base(two="\udc80")
    with pytest.raises(ScenarioError) as caught:
        Base(one="x", two=5)
    assert caught.value.problems == ('Base: one = "x": expected a whole number', "Base: two = 5: expected a list")
    assert str(caught.value) == 'Base: one = "x": expected a whole number (and 1 more problem)'


def test_docstrings_are_those_behind_the_fields_of_models_and_their_bases():
    found = of_fields(Migrate)
    assert found["night"] == "Time without a path at the start of every period except the first."
    # Of the base, and of the model where both have one.
    assert found["group"] == "Moves every flow of this group." and found["kind"] == "The kind of timeline."
    assert of_fields(Base) == {}
