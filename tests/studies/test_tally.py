"""What a scoreboard adds up to: each printed number and statement once."""

import pytest

from daybreak.studies import STUDIES, study, tally
from daybreak.studies.inferences import Inference, fitted_to, load_inferences
from daybreak.studies.published import PublishedEntry, load_explanations
from daybreak.studies.scoreboard import LEFT_OUT, NOT_EVALUATED, Claim, Scoreboard


def entry(key, kind, **fields):
    return PublishedEntry(
        key=key, figure="1", what=f"{key} {{cell}}", where="1", printed="it is so", unit="s", kind=kind, **fields
    )


def board(entries, inferences=()):
    published = {one.key: one for one in entries}
    return Scoreboard("s", engine="simulated", mode="full", seeds=1, published=published, inferences=inferences)


def test_a_statement_that_many_rows_tell_counts_once_and_holds_if_all_do():
    one = board([entry("order", "statement"), entry("fct", "number", value=3.0, tolerance="10 %")])
    for cell, ours in (("a", 3.1), ("b", 2.9), ("c", 3.0)):
        one.value("fct", [ours], suffix=cell, cell=cell)
        one.shape("order", cell != "b", suffix=cell, cell=cell)
    counts = tally.tally(one.claims)
    assert (counts["number"].hold, counts["number"].judged) == (1, 1)
    assert (counts["statement"].hold, counts["statement"].judged) == (0, 1)
    assert tally.headline(one.claims) == (
        "1 of 1 printed number within the tolerance and 0 of 1 printed statement held"
    )


def test_numbers_of_a_family_count_each():
    one = board([entry("rate", "number", values={"a": 1.0, "b": 2.0}, tolerance="10 %")])
    one.value("rate", [1.0], suffix="a", cell="a")
    one.value("rate", [3.0], suffix="b", cell="b")
    assert tally.tally(one.claims)["number"] == tally.Count(hold=1, judged=2)


def test_two_entries_that_tell_one_number_count_once():
    twice = entry("again", "number", value=1.0, tolerance="10 %", counts_as="first")
    one = board([entry("first", "number", value=1.0, tolerance="10 %"), twice])
    one.value("first", [1.0], cell="")
    one.value("again", [2.0], cell="")
    assert tally.tally(one.claims)["number"] == tally.Count(hold=0, judged=1)


def test_rows_of_another_tcp_are_our_own():
    one = board([entry("rate", "number", value=1.0, tolerance="10 %", own="linux*")])
    one.value("rate", [1.0], suffix="ns2-2009", cell="")
    one.value("rate", [9.0], suffix="linux", cell="")
    counts = tally.tally(one.claims)
    assert (counts["number"].hold, counts["own"].hold, counts["own"].judged) == (1, 0, 1)


def test_what_is_left_out_counts_as_missed_until_it_cannot_be_compared():
    one = board([
        entry("a", "number", value=1.0, tolerance="10 %"), entry("b", "number", value=1.0, tolerance="10 %"),
        entry("c", "number", value=1.0, tolerance="10 %", not_comparable="the unit is not known"),
        entry("d", "number", values={"x": 1.0, "y": 1.0}, tolerance="10 %"),
    ])  # fmt: skip
    one.value("a", [1.0], cell="")
    one.value("d", [1.0], suffix="x", cell="")
    one.complete()
    verdicts = {claim.id: claim.verdict for claim in one.claims}
    assert verdicts == {"a": "pass", "d.x": "pass", "b": LEFT_OUT, "c": NOT_EVALUATED, "d.y": LEFT_OUT}
    assert tally.tally(one.claims)["number"] == tally.Count(hold=2, judged=4, left_out=2, not_evaluated=1)
    assert "2 left out of the comparison, which count as missed" in tally.others(one.claims)
    # Unfilled words are not shown.
    assert all("{" not in claim.what for claim in one.claims)


def test_what_an_inference_was_fitted_to_is_not_counted():
    gap = Inference("gap", "a gap", "1 s", "after", "why", fixed="it is", fitted=("mean.24.*",))
    one = board([entry("mean.24", "number", value=1.0, tolerance="10 %"),
                 entry("mean.48", "number", value=1.0, tolerance="10 %")], [gap])  # fmt: skip
    one.value("mean.24", [1.0], suffix="ut", cell="")
    one.value("mean.48", [1.0], suffix="ut", cell="")
    assert [claim.fitted for claim in one.claims] == ["gap", ""]
    assert tally.tally(one.claims)["number"] == tally.Count(hold=1, judged=1, fitted=1)
    assert fitted_to([gap], "mean.240.x") == ""


def test_a_statement_of_which_some_rows_are_fitted_is_held_to_the_others():
    gap = Inference("gap", "a gap", "1 s", "after", "why", fixed="it is", fitted=("mean.ut",))
    one = board([entry("mean", "number", value=1.0, tolerance="10 %")], [gap])
    one.value("mean", [1.0], suffix="ut", cell="")
    one.value("mean", [9.0], suffix="wc", cell="")
    assert [claim.fitted for claim in one.claims] == ["gap", ""]
    assert tally.tally(one.claims)["number"] == tally.Count(hold=0, judged=1)


def test_numbers_of_several_sources_are_counted_by_these_the_one_with_the_fewest_first():
    talk, paper = "that the talk prints", "that the paper prints"
    one = board([
        entry("a", "number", value=1.0, tolerance="10 %", source=talk),
        entry("b", "number", value=1.0, tolerance="10 %"),
        # What a source prints as well is its number, also where the first row is of another entry.
        entry("b.again", "number", value=1.0, tolerance="10 %", counts_as="b", source=talk),
        entry("c", "number", value=1.0, tolerance="10 %", source=paper),
    ])  # fmt: skip
    for name, ours in (("a", 1.0), ("b", 1.0), ("b.again", 2.0), ("c", 1.0)):
        one.value(name, [ours], cell="")
    assert list(tally.by_source(one.claims).items()) == [
        (paper, tally.Count(hold=1, judged=1)), (talk, tally.Count(hold=1, judged=2)),
    ]  # fmt: skip
    assert tally.headline(one.claims) == (
        "1 of 1 number that the paper prints, 1 of 2 numbers that the talk prints are within the tolerance, and 0 of 0 "
        "printed statements held"
    )


def test_the_largest_differences_are_of_printed_numbers_each_once():
    one = board([entry(name, "number", value=10.0, tolerance="10 %") for name in "abc"])
    for name, values in (("a", (12.0, 19.0)), ("b", (5.0,)), ("c", (10.5,))):
        for at, value in enumerate(values):
            one.value(name, [value], suffix=str(at), cell="")
    assert [claim.id for claim in tally.largest_differences(one.claims, 5)] == ["a.1", "b.0"]


def test_a_claim_is_read_as_it_was_written():
    one = board([entry("a", "number", value=1.0, tolerance="10 %")])
    one.value("a", [1.0, 1.1, 1.2], cell="")
    assert [Claim.of_row(row) for row in one.document()["claims"]] == one.claims


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[a]\nwhat=""\nvalue=""\nsource="guess"\nwhy=""\nfixed="x"', "a.source: 'guess' is not one of text"),
        ('[a]\nwhat=""\nvalue=""\nsource="text"\nwhy=""', "a: expected either field and values, or why it is fixed"),
        ('[a]\nwhat=""\nvalue=""\nsource="text"\nwhy=""\nfield="x"', "a: field and values belong together"),
        ('[a]\nwhat=""\nvalue=""\nsource="text"\nwhy=""\nfixed="x"\nfitted=["b"]', "has the source \"after\""),
        ('[a]\nmuch=1', "inferences.toml: a: .*unexpected keyword argument 'much'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_inference_is_named(tmp_path, text, sentence):
    (tmp_path / "inferences.toml").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        load_inferences(tmp_path / "inferences.toml")


def test_explanations_that_refer_to_others_are_read_as_these(tmp_path):
    path = tmp_path / "explanations.toml"
    path.write_text('"a.b" = "it rains"\n"c.d" = "as a.b"\n"e.f" = "as c.d; and snows"\n"g.h" = "as ns-2 has it"\n')
    assert load_explanations(path) == {
        "a.b": "it rains", "c.d": "it rains", "e.f": "it rains; and snows", "g.h": "as ns-2 has it",
    }  # fmt: skip
    path.write_text('"c.d" = "as a.b"\n')
    with pytest.raises(ValueError, match="'as a\\.b' refers to an id that is not there"):
        load_explanations(path)


@pytest.mark.parametrize("name", STUDIES)
def test_every_number_that_is_printed_has_a_tolerance_or_a_rule(name):
    for one in study(name).published().values():
        if one.kind == "number":
            assert one.tolerance or "rule" in one.note or one.key in ("fig3.best",), one.key
        for other in filter(None, (one.counts_as,)):
            assert other in study(name).published(), one.key


def test_sections_add_up_to_the_headline_and_a_number_of_two_sections_is_of_the_first():
    rates = entry("rate", "number", values={"a": 1.0, "b": 2.0}, tolerance="10 %")
    again = entry("again", "number", value=1.0, tolerance="10 %", counts_as="rate.a")
    one = board([rates, entry("order", "statement"), again])
    one.value("rate", [1.0], suffix="a", cell="a")
    one.value("rate", [3.0], suffix="b", cell="b")
    one.shape("order", True, cell="")
    one.value("again", [3.0], cell="")
    first, second = tally.by_section([one.claims[:2], one.claims[2:]])
    # The second section says that "rate.a" is missed.
    assert first["number"] == tally.Count(hold=0, judged=2) and second["number"] == tally.Count()
    assert second["statement"] == tally.Count(hold=1, judged=1)
    whole = tally.tally(one.claims)
    assert whole["number"] == first["number"] and whole["statement"] == second["statement"]
