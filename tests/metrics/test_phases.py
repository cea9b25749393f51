import polars as pl
import pytest

from daybreak.metrics import phases

MS = 1_000_000


def circuits(*rows, timeline="t", run=None):
    """Rows of ``circuits``: time in ms, step, before, phase."""
    schema = {
        "time_ns": pl.UInt64,
        "timeline_name": pl.String,
        "step": pl.UInt32,
        "before": pl.String,
        "phase": pl.String,
    }
    full = [(time * MS, timeline, step, before, phase) for time, step, before, phase in rows]
    table = pl.DataFrame(full, schema=schema, orient="row")
    return table if run is None else table.with_columns(pl.lit(run, pl.Int64).alias("run"))


# Moved at 10, 20, 30 ... ms, after a night of 2 ms each time.
MIGRATED = (
    (10, 0, "path 0", "night"), (12, 1, "night", "path 1"), (20, 2, "path 1", "night"), (22, 3, "night", "path 0"),
    (30, 0, "path 0", "night"), (32, 1, "night", "path 1"),
)  # fmt: skip


def spans(table):
    scaled = table.select("phase", pl.col("start_ns") / MS, pl.col("end_ns") / MS)
    return [tuple(row) for row in scaled.iter_rows()]


def test_phases_follow_each_other_from_the_start():
    assert spans(phases.intervals(circuits(*MIGRATED))) == [
        ("path 0", 0, 10), ("night", 10, 12), ("path 1", 12, 20), ("night", 20, 22), ("path 0", 22, 30),
        ("night", 30, 32), ("path 1", 32, 40),
    ]  # fmt: skip


def test_the_last_phase_is_as_long_as_that_of_its_step_before_or_open():
    assert spans(phases.intervals(circuits(*MIGRATED[:4])))[-1] == ("path 0", 22, None)
    assert spans(phases.intervals(circuits(*MIGRATED[:5])))[-1] == ("night", 30, 32)


def test_the_last_phase_is_as_long_as_that_of_the_same_step_of_its_own_program():
    """Two programs of one name: what the other one does at its step 0 says nothing of how long this phase lasts."""
    turns = circuits((10, 0, "path 0", "path 1"), (16, 0, "path 1", "path 2"), (20, 0, "path 2", "path 3"))
    both = turns.with_columns(timeline=pl.Series([0, 1, 0], dtype=pl.UInt32))
    assert spans(phases.intervals(both))[-1] == ("path 3", 20, 26)
    assert spans(phases.intervals(both.head(2)))[-1] == ("path 2", 16, None)


def test_a_timeline_that_begins_at_once_has_no_phase_before():
    week = ((0, 0, "night", "day 0"), (3, 1, "day 0", "night"), (10, 0, "night", "day 0"))
    assert spans(phases.intervals(circuits(*week))) == [("day 0", 0, 3), ("night", 3, 10), ("day 0", 10, 13)]


def test_steps_of_one_time_follow_each_other_as_in_the_table():
    """A night without a length: at the same time the path goes and the other one is there."""
    turns = range(1, 100)
    steps = [row for at in turns for row in ((at, 0, f"path {at - 1}", "night"), (at, 1, "night", f"path {at}"))]
    rows = [row for at in turns for row in (("night", at, at), (f"path {at}", at, at + 1))]
    # Also where runs are not in the order of their seeds.
    found = phases.intervals(pl.concat([circuits(*steps, run=run) for run in (9, 7)]))
    assert found["run"].to_list() == [7] * 199 + [9] * 199
    assert spans(found) == [("path 0", 0, 1), *rows] * 2


def test_no_steps_no_phases():
    assert phases.intervals(circuits()).height == 0
    assert phases.of_longest_run(phases.intervals(circuits(run=1))).height == 0


def test_one_of_several_timelines_is_asked_for_by_its_name():
    both = pl.concat([circuits(*MIGRATED, timeline="a"), circuits((5, 0, "path 0", "path 1"), timeline="b")])
    assert spans(phases.intervals(both, timeline="b")) == [("path 0", 0, 5), ("path 1", 5, None)]
    with pytest.raises(ValueError, match="timeline: expected one of a, b"):
        phases.intervals(both)
    with pytest.raises(ValueError, match=r"timeline: 'c' has no step in the table \(there are: a, b\)"):
        phases.intervals(both, timeline="c")


def test_runs_are_kept_apart():
    both = pl.concat([circuits(*MIGRATED[:2], run=7), circuits(*MIGRATED, run=9)])
    found = phases.intervals(both)
    assert found.filter(run=9).drop("run").equals(phases.intervals(circuits(*MIGRATED)))
    assert spans(found.filter(run=7)) == [("path 0", 0, 10), ("night", 10, 12), ("path 1", 12, None)]
    assert phases.of_longest_run(found).equals(found.filter(run=9))
    # Whichever seed it has; of two that are as long, the one with the greater seed.
    seeds = found.with_columns(run=16 - pl.col("run"))
    assert set(phases.of_longest_run(seeds)["run"]) == {7}
    twice = pl.concat([found, found.filter(run=9).with_columns(run=pl.lit(8, pl.Int64))])
    assert set(phases.of_longest_run(twice)["run"]) == {9}
    # How long a phase of another run was says nothing of the last one of this.
    short = phases.intervals(pl.concat([circuits(*MIGRATED, run=9), circuits(*MIGRATED[:1], run=11)]))
    assert spans(short.filter(run=11)) == [("path 0", 0, 10), ("night", 10, None)]


def test_cycles_go_from_a_phase_to_its_next():
    week = [(time, time % 2, *(("path 1", "path 0") if time % 2 else ("path 0", "path 1"))) for time in range(1, 7)]
    found = phases.cycles(phases.intervals(circuits(*week)), phase="path 0")
    scaled = found.select("cycle", pl.col("start_ns") / MS, pl.col("end_ns") / MS)
    # "path 0" begins at 1, 3 and 5 ms; the last cycle is as long as the one before.
    assert list(scaled.iter_rows()) == [(0, 1, 3), (1, 3, 5), (2, 5, 7)]


def series(*values, run=None, width_ms=1):
    table = pl.DataFrame({"time_s": [i * width_ms / 1000 for i in range(len(values))], "x": [float(v) for v in values]})
    return table if run is None else table.with_columns(pl.lit(run, pl.Int64).alias("run"))


def test_bins_are_labelled_by_where_they_start():
    labelled = phases.label(series(*range(45)), phases.intervals(circuits(*MIGRATED)))
    # After 40 ms no phase is known.
    assert labelled["x"].to_list() == list(range(40))
    rows = {row["x"]: (row["phase"], row["at_ns"] // MS) for row in labelled.iter_rows(named=True)}
    assert [rows[x] for x in (0, 9, 10, 11, 12, 19, 20, 22, 39)] == [
        ("path 0", 0), ("path 0", 9), ("night", 0), ("night", 1), ("path 1", 0), ("path 1", 7), ("night", 0),
        ("path 0", 0), ("path 1", 7),
    ]  # fmt: skip


def test_bins_of_every_run_are_labelled_by_its_own_phases():
    later = circuits((15, 0, "path 0", "path 1"), (30, 1, "path 1", "path 0"), run=2)
    intervals = phases.intervals(pl.concat([circuits(*MIGRATED, run=1), later]))
    both = pl.concat([series(*range(40), run=2), series(*range(40), run=1)])
    found = phases.during(both, intervals, "path 1")
    assert found.filter(run=1)["x"].to_list() == [*range(12, 20), *range(32, 40)]
    assert found.filter(run=2)["x"].to_list() == list(range(15, 30))
    # As it came: the runs in their order, and no column more.
    assert found["run"].to_list() == [2] * 15 + [1] * 16 and found.columns == both.columns


def test_the_last_part_of_a_phase():
    intervals = phases.intervals(circuits(*MIGRATED))
    assert phases.during(series(*range(40)), intervals, "path 0", last_part=0.5)["x"].to_list() == [
        5, 6, 7, 8, 9, 26, 27, 28, 29,
    ]  # fmt: skip
    open_ended = phases.intervals(circuits(*MIGRATED[:2]))
    assert phases.during(series(*range(20)), open_ended, "path 1")["x"].to_list() == list(range(12, 20))
    assert phases.during(series(*range(20)), open_ended, "path 1", last_part=0.5).height == 0


def test_a_curve_is_folded_and_its_peaks_are_those_of_whole_cycles():
    cycles = pl.DataFrame({"cycle": [0, 1, 2, 3], "start_ns": [0, 4 * MS, 8 * MS, 12 * MS]}).with_columns(
        (pl.col("start_ns") + 4 * MS).alias("end_ns")
    )
    # The first cycle is left out, and the last is cut.
    table = series(90, 90, 90, 90, 1, 2, 3, 4, 5, 6, 7, 8, 80, run=1)
    cycles = cycles.with_columns(pl.lit(1, pl.Int64).alias("run"))
    assert phases.folded(table, cycles, "x", parts=2) == [(1 + 2 + 5 + 6 + 80) / 5, (3 + 4 + 7 + 8) / 4]
    assert phases.folded(table, cycles, "x", parts=2, skip=2) == [(5 + 6 + 80) / 3, (7 + 8) / 2]
    assert phases.peaks(table, cycles, "x", bin_ns=MS) == [(4 + 8) / 2]
    assert phases.peaks(table, cycles, "x", bin_ns=MS, skip=0) == [(90 + 4 + 8) / 3]


def control(*rows, run=None):
    """Rows of ``control``: time in ns, controller, flow, phase."""
    schema = {"time_ns": pl.UInt64, "controller_name": pl.String, "flow_name": pl.String, "phase": pl.String}
    table = pl.DataFrame(list(rows), schema=schema, orient="row")
    return table if run is None else table.with_columns(pl.lit(run, pl.Int64).alias("run"))


CIRCUIT = control(
    (5, "c", None, "night"), (7, "c", None, None), (9, "c", None, "day 0"), (12, "c", None, "day 0"),
    (15, "c", None, "night"), (15, "c", None, "day 1"),
)  # fmt: skip


def test_phases_of_a_circuit_that_a_controller_sets():
    found = phases.of_controller(CIRCUIT)
    # A decision without a phase changes none; of two at a time the last one counts.
    expected = [("night", 5, 9), ("day 0", 9, 15), ("day 1", 15, None)]
    assert found.select("phase", "start_ns", "end_ns").rows() == expected
    assert found.columns == ["phase", "start_ns", "end_ns"]
    assert phases.of_controller(CIRCUIT, controller="c").equals(found)
    assert phases.of_controller(CIRCUIT.clear()).rows() == []


def test_phases_of_one_of_the_flows_that_a_controller_moves():
    moved = control(
        (5, "c", "f", "path 1"), (6, "c", "g", "path 2"), (9, "c", "f", "path 0"), (9, "d", "f", "path 7"),
    )  # fmt: skip
    found = phases.of_controller(moved, controller="c", flow="f")
    assert found.rows() == [("path 0", 0, 5), ("path 1", 5, 9), ("path 0", 9, None)]
    assert phases.of_controller(moved, controller="d", flow="f").rows() == [("path 0", 0, 9), ("path 7", 9, None)]
    # It stays where it is if nothing is decided about it.
    assert phases.of_controller(moved, controller="c", flow="h").rows() == [("path 0", 0, None)]
    at_once = control((0, "c", "f", "path 1"), (3, "c", "f", "path 1"))
    assert phases.of_controller(at_once, flow="f").rows() == [("path 1", 0, None)]


def test_controllers_of_several_runs_are_kept_apart():
    both = pl.concat([control((5, "c", "f", "path 1"), run=9), control((3, "c", "f", "path 1"), run=4)])
    found = phases.of_controller(both, flow="f").select("run", "phase", "start_ns", "end_ns")
    assert found.rows() == [(4, "path 0", 0, 3), (4, "path 1", 3, None), (9, "path 0", 0, 5), (9, "path 1", 5, None)]


@pytest.mark.parametrize(("asked", "sentence"), [
    ({}, "controller: expected one of c, d"),
    ({"controller": "e"}, r"controller: 'e' has no decision in the table \(there are: c, d\)"),
    ({"controller": "d"}, "flow: expected the name of a flow, the controller decides about flows"),
])  # fmt: skip
def test_what_has_to_be_named_is_said(asked, sentence):
    both = pl.concat([CIRCUIT, control((5, "d", "f", "path 1"))])
    assert phases.of_controller(both, controller="c").height == 3
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        phases.of_controller(both, **asked)
