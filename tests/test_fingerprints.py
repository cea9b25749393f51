"""Every scenario still gives the results that are committed."""

import fingerprints
import numpy as np
import polars as pl

ADVICE = "If this is meant, run `python tools/fingerprints.py --write` and say why in the commit."
TABLES = {"flows": pl.DataFrame({"flow": [0, 1], "name": ["a", "b"]}), "drops": pl.DataFrame({"seq": [7]})}


def test_no_result_has_changed():
    expected = fingerprints.parse(fingerprints.FILE.read_text(encoding="utf-8"))
    differences = fingerprints.differences(expected, fingerprints.fingerprints(fingerprints.runs()))
    assert not differences, "\n".join(["", *differences, ADVICE])


def test_the_engine_s_own_test_has_the_plans_of_today():
    stale = fingerprints.stale_plans(fingerprints.plans(fingerprints.runs()))
    assert not stale, "\n".join(["", *stale, ADVICE])


def test_a_digest_sees_every_name_and_value():
    def changed(table, column, values):
        return {**TABLES, table: TABLES[table].with_columns(pl.Series(column, values))}

    others = [
        changed("flows", "flow", [0, 2]),
        changed("flows", "name", ["a", "c"]),
        changed("flows", "flow", [0, None]),
        changed("drops", "more", [7]),
        {**TABLES, "drops": TABLES["drops"].rename({"seq": "number"})},
        {"flows": TABLES["flows"], "losses": TABLES["drops"]},
        {**TABLES, "drops": pl.DataFrame({"seq": [7, 7]})},
    ]
    digests = {fingerprints.digest(tables) for tables in [TABLES, *others]}
    assert len(digests) == 1 + len(others)


def test_a_digest_does_not_depend_on_types_or_memory():
    apart = np.array([0, 99, 1, 99], dtype=np.uint8)[::2]
    in_pieces = pl.concat([pl.Series("name", ["a"]), pl.Series("name", ["b"])], rechunk=False)
    tables = {**TABLES, "flows": pl.DataFrame([pl.Series("flow", apart), in_pieces])}
    assert tables["flows"]["flow"].dtype != TABLES["flows"]["flow"].dtype
    assert fingerprints.digest(tables) == fingerprints.digest(TABLES)


def test_a_difference_names_the_run_and_the_fields():
    before = {"a/x": "rtos=1 drops=- tables=12", "a/old": "rtos=0", "a/same": "rtos=0"}
    after = {"a/x": "rtos=2 drops=- tables=34", "a/new": "rtos=0", "a/same": "rtos=0"}
    assert fingerprints.differences(before, after) == [
        "a/new: missing from fingerprints.txt",
        "a/old: no longer run",
        "a/x:\n    rtos: 1 -> 2\n    tables: 12 -> 34",
    ]
    assert fingerprints.parse(fingerprints.text(after)) == after


def test_a_line_shows_what_a_reviewer_asks_for():
    never = None
    flows = {
        "end_ns": [5_000_000_000, never],
        "fct_ns": [4_999_999_999, never],
        "delivered_bytes": [10, 20],
        "segments": [3, 4],
        "retransmits": [1, 2],
        "rtos": [0, 1],
    }
    drops = {"place_name": ["left", "right hand", "left"], "reason": ["queue_full", "night", "queue_full"]}
    tables = {"flows": pl.DataFrame(flows, schema_overrides=dict.fromkeys(("end_ns", "fct_ns"), pl.UInt64))}
    tables["drops"] = pl.DataFrame(drops)
    totals = {"packet_hops": 21, "ended_ns": 6_000_000_000, "events": 99}
    shown = fingerprints.line(tables, totals)
    assert shown == (
        "complete=1/2 fct_s=4.999999999 delivered=30 segments=7 retransmits=3 rtos=1 "
        "drops=left:queue_full:2,right_hand:night:1 packet_hops=21 ended_s=6.000000000 "
        f"tables={fingerprints.digest(tables)} events=99"
    )
    assert fingerprints.line(tables, {**totals, "events": 1}).replace("events=1", "events=99") == shown
