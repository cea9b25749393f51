"""Settings as numbers, as scenarios and as draws: whole tables of them."""

import numpy as np
import polars as pl
import pytest
from made_up import SETTING

from daybreak.learn import design, domain, fluid, measured, setting, stalls
from daybreak.learn.columns import columns
from daybreak.learn.domain import NUMBERS, Domain

OTHER = {
    "migrated_variant": "bbr", "migrated_mib": 256.0, "migrated_flows": 4, "main_variant": "westwood",
    "main_mib": 256.0, "main_flows": 4, "rate_gbps": 5.0, "rtt_us": 300.0, "buffer_packets": 100, "period_ms": 4.0,
    "night_ms": 1.0, "downtime": "hold", "start_ms": 1.0, "hz": 250,
}  # fmt: skip


def test_settings_are_columns_in_milliseconds():
    found = columns([SETTING | {"downtime": "drop", "night_ms": 2.0}, OTHER, SETTING | {"period_ms": 2.0}])
    expected = {
        "rate_gbps": [10, 5, 10], "rtt": [0.04, 0.3, 0.04], "buffer": [250, 100, 250], "mib": [64, 256, 64],
        "flows": [1, 4, 1], "period": [10, 4, 2], "night": [2, 1, 0],
        # Flows start after 2.5 ms on average; who would be moved before them is moved soon.
        "first": [7.5, 2.5, 0.2], "phase": [0, 0.25, 0], "tick": [1, 4, 1], "is_drop": [1, 0, 0], "is_hold": [0, 1, 0],
        "packet": [9038 * 8 / 1e7, 9038 * 8 / 5e6, 9038 * 8 / 1e7],
        "fill": [250 * 9038 * 8 / 1e7, 100 * 9038 * 8 / 5e6, 250 * 9038 * 8 / 1e7],
        "ideal": [2**29 / 1e7, 2**31 / 5e6, 2**29 / 1e7], "day": [8, 3, 2],
    }  # fmt: skip
    for name, values in expected.items():
        assert getattr(found, name).tolist() == pytest.approx(values), name
        assert getattr(found, name).dtype == float


def at(period, night, first):
    """Settings of which only the schedule counts: 100 ms of bytes."""
    schedule = {"period_ms": period, "night_ms": night, "start_ms": first - period + 2.5, "downtime": "drop"}
    return columns([SETTING | schedule | {"migrated_mib": 100 * 1e7 / 8 / 2**20}])


@pytest.mark.parametrize(("until", "dark", "shared"), [
    # Nights from 20 to 23, 30 to 33 ms and so on; on the main one's link from 23 to 30, 43 to 50 ms.
    (0, 0, 0), (20, 0, 0), (21, 1, 0), (23, 3, 0), (26, 3, 3), (30, 3, 7), (32, 5, 7), (40, 6, 7), (45, 9, 9),
    (60, 12, 14),
])  # fmt: skip
def test_times_without_a_path_and_on_a_shared_one(until, dark, shared):
    of = at(10.0, 3.0, 20.0)
    assert of.first[0] == pytest.approx(20)
    assert fluid.dark(of, np.array([float(until)]))[0] == pytest.approx(dark)
    assert fluid.shared(of, np.array([float(until)]))[0] == pytest.approx(shared)


def test_what_two_fluids_do_is_in_the_ideal_time():
    of = at(40.0, 4.0, 20.0)
    migrated, main = fluid.completion(of, 0.5)
    # Until 24 ms the main one has 24 of its 100 ms, until 60 ms 42, alone until 104 ms 86, and at 132 ms all. The other
    # one has 20, 38, in nights from 60 to 64 and from 100 to 104 ms nothing, hence 74 and 88. Alone it has all 12 ms
    # later, and there is a night in between.
    assert (migrated[0], main[0]) == (pytest.approx(148.0), pytest.approx(132.0))
    found = {name: float(values[0]) for name, values in fluid.features(of).items()}
    assert found["fluid_main_0.5"] == pytest.approx(np.log(1.32))
    assert found["fluid_migrated_0.5"] == pytest.approx(np.log(1.48))
    assert found["fluid_prolongation_0.5"] == pytest.approx(np.log1p(0.16))
    # Moves at 20, 60 and 100 ms; the main one ends 112 ms after the first: 2.8 periods, at an angle of as many half
    # turns.
    assert np.expm1(found["moves"]) == pytest.approx(3) and found["is_unmoved"] == 0
    assert found["end_cos"] == pytest.approx(np.cos(2.8 * np.pi))
    assert found["end_sin"] == pytest.approx(np.sin(2.8 * np.pi))
    assert found["shared_part"] == pytest.approx((36 + 28) / 100) and found["shared_ideal"] == pytest.approx(0.36)
    assert found["dark_part"] == pytest.approx(16 / 100)
    late = {name: float(values[0]) for name, values in fluid.features(at(40.0, 4.0, 200.0)).items()}
    assert (late["moves"], late["is_unmoved"], late["end_cos"], late["end_sin"]) == (0, 1, 0, 0)
    assert late["fluid_main_0.5"] == pytest.approx(0, abs=1e-9) and late["shared_ideal"] == 0


def test_a_migrated_fluid_that_is_first_leaves_the_link_to_the_other():
    # With 0.85 of the shared link, and hardly a night.
    of = at(200.0, 0.01, 20.0)
    migrated, main = fluid.completion(of, 0.85)
    # 80 ms are left at 20 ms. The migrated one needs 80 / 0.85 of shared time; the main one has 0.15 of that and then
    # the rest alone.
    assert migrated[0] == pytest.approx(20.01 + 80 / 0.85, abs=1e-3)
    assert main[0] == pytest.approx(migrated[0] + 80 - 0.15 * 80 / 0.85, abs=0.02)


def test_the_names_of_what_stalls_say():
    of = columns([SETTING | {"period_ms": 20.0, "night_ms": 2.0, "downtime": "drop"}])
    kinds = (
        "probe_lost", "rto_lost", "second_lost", "third_lost", "both_lost", "rto", "stall", "probe_night",
        "probe_period", "night_rtt",
    )  # fmt: skip
    assert list(stalls.features(of)) == [f"{kind}_{queue}" for queue in ("empty", "full") for kind in kinds] + [
        "recovery_day"
    ]
    assert stalls._rounded_to(np.array([1, 62.9, 63, 503.9, 504, 2000])).tolist() == [1, 1, 8, 8, 64, 64]


def test_a_probe_that_leaves_as_the_night_ends_is_lost_in_part():
    """It leaves from 2.04 to 3.04 ms, with ticks of 1 ms, and a night of 2.54 ms takes half of that."""
    of = columns([SETTING | {"period_ms": 20.0, "night_ms": 2.54, "downtime": "drop"}])
    found = stalls.features(of)
    assert found["probe_lost_empty"][0] == pytest.approx(0.5)
    # The stall is that of the probe in one half, and the timeout's in the other.
    rto = np.exp(found["rto_empty"][0])
    assert np.exp(found["stall_empty"][0]) == pytest.approx(2.54 / 2 + rto / 2)


SMALL = {
    "rate_gbps": 5.0, "rtt_us": 20.0, "buffer_packets": 60, "period_ms": 2.0, "night_ms": 0.02, "downtime": "drop",
    "start_ms": 0.0, "hz": 100,
}  # fmt: skip
LARGE = {
    "rate_gbps": 25.0, "rtt_us": 320.0, "buffer_packets": 500, "period_ms": 80.0, "night_ms": 16.0, "downtime": "hold",
    "start_ms": 80.0, "hz": 1000,
}  # fmt: skip


def row(part, **others):
    return np.array([others.get(name, part) for name in design._COLUMNS])


def test_a_draw_is_a_setting_between_the_least_and_the_greatest():
    both = {"migrated_mib": 64.0, "main_mib": 64.0, "migrated_flows": 1, "main_flows": 1}
    least = design._setting(row(0.0, downtime=0.5), 1.0)
    assert least == SMALL | both | {"migrated_variant": "cubic", "main_variant": "cubic"}
    most = design._setting(row(1.0), 1.0)
    assert most == LARGE | {
        "migrated_mib": 1024.0, "main_mib": 1024.0, "migrated_flows": 4, "main_flows": 4,
        "migrated_variant": "westwood", "main_variant": "westwood",
    }  # fmt: skip
    middle = design._setting(row(0.5, downtime=0.1, migrated_variant=0.3), 1.0)
    assert middle["rate_gbps"] == pytest.approx(np.sqrt(125), abs=1e-6) and middle["rtt_us"] == 80.0
    assert (middle["downtime"], middle["night_ms"], middle["migrated_variant"]) == ("none", 0.0, "bbr")
    assert (middle["migrated_flows"], middle["main_variant"]) == (3, "reno") and middle["hz"] == 300
    assert middle["migrated_mib"] == pytest.approx(3 * 128) and middle["buffer_packets"] == round(np.sqrt(30_000))
    assert middle["start_ms"] == pytest.approx(middle["period_ms"] / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("downtime", "part", "beyond"), [("none", 0.0, 0.25), ("drop", 0.5, 0.05), ("hold", 1.0, 0.05)]
)
def test_what_is_learnt_reaches_beyond_by_a_tenth(downtime, part, beyond):
    most, least = (design._setting(row(value, downtime=part), 1.1) for value in (1.0, 0.0))
    assert most["downtime"] == least["downtime"] == downtime
    assert most["rate_gbps"] == pytest.approx(27.5) and least["rate_gbps"] == pytest.approx(5 / 1.1, abs=1e-6)
    assert most["rtt_us"] == pytest.approx(352) and least["rtt_us"] == pytest.approx(20 / 1.1, abs=1e-3)
    assert (most["buffer_packets"], least["buffer_packets"]) == (550, 55)
    assert most["start_ms"] == pytest.approx(88 * (1 + beyond))
    assert most["night_ms"] == pytest.approx(0.0 if downtime == "none" else 88 * 0.22)


@pytest.mark.parametrize(("part", "name"), [(0.0, "a"), (0.19, "a"), (0.2, "b"), (0.49, "b"), (0.5, "c"), (1.0, "c")])
def test_a_name_is_drawn_by_its_weight(part, name):
    assert design._one_of(part, {"a": 2, "b": 3, "c": 5}) == name


def test_the_design_of_one_setting_is_its_first():
    assert list(design.learnt(1)) == list(design.learnt(4))[:1]
    assert list(design.learnt(0)) == []


def test_a_setting_is_what_it_changes_of_the_testbed_and_back():
    found = setting.changes(OTHER)
    assert found == {
        "flows.0.variant": "bbr", "flows.0.size": "67108864 B", "flows.0.count": 4, "flows.1.variant": "westwood",
        "flows.1.size": "67108864 B", "flows.1.count": 4, "topology.rate": "5.000000 Gbit/s",
        # 9038 bytes at 5 Gbit/s.
        "topology.jitter": "14461 ns", "topology.rtt": "300000 ns", "topology.queue": "100 packets",
        "timelines.0.period": "4000000 ns", "timelines.0.night": "1000000 ns", "timelines.0.start": "1000000 ns",
        "timelines.0.downtime": "hold", "stack.hz": 250,
    }  # fmt: skip
    assert setting.describe(setting.scenario_of(OTHER)) == OTHER
    assert setting.changes(SETTING)["timelines.0.downtime"] == "drop"
    assert setting.ideal_s(OTHER) == pytest.approx(2**31 / 5e9)


@pytest.mark.parametrize(("night", "downtime", "told"), [
    ("1 ms", "drain", ("hold", 1.0, 4.0)), ("1 ms", "hold", ("hold", 1.0, 4.0)), ("1 ms", "drop", ("drop", 1.0, 4.0)),
    ("1 ms", "make_before_break", ("none", 0.0, 5.0)), ("0 s", "drop", ("none", 0.0, 4.0)),
])  # fmt: skip
def test_a_policy_is_one_of_three(night, downtime, told):
    changes = {"timelines.0.night": night, "timelines.0.downtime": downtime, "timelines.0.start": "4 ms"}
    found = setting.describe(setting.testbed().with_(changes))
    assert (found["downtime"], found["night_ms"], found["start_ms"]) == told


@pytest.mark.parametrize(("change", "sentences"), [
    ({"flows.1.via": []}, ("flows.main.via.0 = nothing; only \"green\" was measured",)),
    ({"stack.tcp_ecn": 1, "stack.tcp_sack": False},
     ("stack.tcp_ecn = 1; only 2 was measured", "stack.tcp_sack = false; only true was measured")),
    ({"topology.jitter": "7.31 us"}, ('topology.jitter = "7.31 us"; only "7.23 us" was measured',)),
    ({"topology.jitter": "7.15 us"}, ('topology.jitter = "7.15 us"; only "7.23 us" was measured',)),
    ({"timelines.0.group": None, "timelines.0.flows": ["main"], "flows.1.via": []},
     ('flows.main.via.0 = nothing; only "green" was measured',
      'timelines.0.moves = "main"; only "migrated" was measured')),
])  # fmt: skip
def test_what_was_not_measured_is_said_whole(change, sentences):
    scenario = setting.testbed().with_(change)
    assert setting.differences(scenario, setting.describe(scenario)) == sentences


def known(*rows, limit=1.0):
    """A domain of settings."""
    return domain.of(list(rows), limit)


def test_reasons_are_whole_sentences_in_the_order_of_the_inputs():
    some = known(OTHER, OTHER | {"rate_gbps": 20.0, "hz": 1000, "night_ms": 0.4, "start_ms": 3.0}, limit=9.0)
    assert some.reasons(OTHER) == ()
    asked = OTHER | {
        "migrated_variant": "vegas", "main_mib": 65.0, "main_flows": 2, "rate_gbps": 21.0, "night_ms": 2.0, "hz": 300,
        "start_ms": 3.2,
    }  # fmt: skip
    assert some.reasons(asked) == (
        'migrated\'s variant "vegas" was not measured',
        "the groups differ in mib; only equal ones were measured",
        "the groups differ in flows; only equal ones were measured",
        "topology.rate in Gbit/s = 21; measured were 5 to 20",
        "night as a part of the period = 0.5; measured were 0.1 to 0.25",
        "first period's start (and the night, with make_before_break) in periods = 0.8; measured were 0 to 0.75",
        "stack.hz = 300; measured were 250, 1000",
    )
    assert some.reasons(OTHER | {"rate_gbps": 4.0}) == ("topology.rate in Gbit/s = 4; measured were 5 to 20",)
    # A period that begins at once, without a night, and what differs by rounding only, are not named one by one.
    assert some.reasons(OTHER | {"start_ms": 0.0, "rate_gbps": 20.000001}) == ()
    assert known(OTHER, limit=0.1).reasons(OTHER | {"downtime": "drop"}) == (
        "no setting that was measured is like it in all inputs together",
    )


def test_numbers_of_a_setting_are_on_their_own_scale():
    numbers = domain.numbers_of([OTHER, SETTING])
    assert dict(zip(NUMBERS, numbers[0].tolist(), strict=True)) == {
        "rate_gbps": 5, "rtt_us": 300, "buffer_packets": 100, "mib": 64, "period_ms": 4, "night_share": 0.25,
        "flows": 4, "phase": 0.25, "hz": 250,
    }  # fmt: skip
    assert np.isnan(numbers[1][NUMBERS.index("night_share")])
    table = pl.DataFrame([OTHER, SETTING])
    assert domain.numbers_of(table).tolist()[0] == numbers[0].tolist()
    assert (domain._names_of(table) == domain._names_of([OTHER, SETTING])).all()


def test_distances_are_those_of_the_five_nearest():
    points = np.column_stack([np.exp(np.arange(8.0)), *(np.ones(8) for _ in NUMBERS[1:])])
    found = Domain(points, np.tile(domain._names_of([OTHER]), (8, 1)), 1.0)
    asked = OTHER | {
        "rate_gbps": 1.0, "rtt_us": 1.0, "buffer_packets": 1, "migrated_mib": 1.0, "period_ms": 1.0, "night_ms": 1.0,
        "migrated_flows": 1, "start_ms": 1.0, "hz": 1,
    }  # fmt: skip
    # In units of the range, 0 to 7 on the scale of logarithms.
    assert found.distance(asked) == pytest.approx((0 + 1 + 2 + 3 + 4) / 5 / 7)
    assert found.nearest(asked | {"rate_gbps": np.exp(5.2)}, 3) == [5, 6, 4]
    assert found.nearest(asked, 0) == []


ROW = OTHER | {"prolongation_s": 0.25, "runs": 3}


def test_a_table_of_settings_is_kept_in_whole_numbers():
    rows = [ROW, SETTING | {"prolongation_s": 1 / 3, "runs": 300, "rate_gbps": 10.000001, "period_ms": 12.345678}]
    table = measured.table(rows)
    assert table.columns == list(measured.COLUMNS)
    # As exact as four bytes are.
    assert table["prolongation_s"].to_list() == [0.25, float(np.float32(1 / 3))]
    arrays = measured.packed(table)
    assert arrays["migrated_variant"][0] == ["bbr", "cubic"] and arrays["migrated_variant"][1].tolist() == [0, 1]
    widths = {name: len(arrays[name]) for name in (*measured.UNITS, "prolongation_s")}
    assert widths == {
        "migrated_mib": 4, "migrated_flows": 1, "main_mib": 4, "main_flows": 1, "rate_gbps": 4, "rtt_us": 4,
        "buffer_packets": 1, "period_ms": 4, "night_ms": 4, "start_ms": 4, "hz": 2, "runs": 2, "prolongation_s": 4,
    }  # fmt: skip
    # The first bytes of all, then the second ones.
    assert arrays["hz"].tolist() == [[250, 1000 % 256], [0, 1000 // 256]]
    assert arrays["migrated_mib"] is arrays["main_mib"]
    again = measured.unpacked(arrays)
    assert again.equals(table) and again.schema == table.schema


@pytest.mark.parametrize(("change", "sentence"), [
    ({"downtime": [["hold"], np.array([0, 1], np.uint8)]}, "downtime is not a name for each setting"),
    ({"downtime": [["hold"], np.array([0, 0], np.int8)]}, "downtime is not a name for each setting"),
    ({"downtime": [["hold"], np.array([[0, 0]], np.uint8)]}, "downtime is not a name for each setting"),
    ({"hz": np.zeros((3, 2), np.uint8)}, "hz is not a number for each setting"),
    ({"hz": np.zeros((1, 2), np.int8)}, "hz is not a number for each setting"),
    ({"hz": np.zeros(2, np.uint8)}, "hz is not a number for each setting"),
    ({"prolongation_s": np.zeros((2, 2), np.uint8)}, "prolongation_s is not a number for each setting"),
    ({"prolongation_s": np.full((4, 2), 255, np.uint8)}, "prolongation_s has values that are no finite numbers"),
    ({"hz": np.zeros((1, 3), np.uint8)}, "its settings do not all have all inputs"),
    ({"downtime": [["hold"], np.array([0], np.uint8)]}, "its settings do not all have all inputs"),
    ({"prolongation_s": np.zeros((4, 1), np.uint8)}, "its settings do not all have all inputs"),
])  # fmt: skip
def test_what_is_no_table_of_settings_is_one_sentence(change, sentence):
    arrays = measured.packed(measured.table([ROW, ROW]))
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        measured.unpacked(arrays | change)


def test_an_input_that_never_differs_is_measured_in_its_own_units():
    """On the scale of logarithms: half of a rate is as far as log 2, whatever the range of the others is."""
    some = known(OTHER, OTHER | {"period_ms": 8.0})
    apart = some._distances(OTHER | {"rate_gbps": 2.5})
    assert apart[0] == pytest.approx(np.log(2), rel=1e-6)
    low, span = domain._scale(domain.numbers_of([OTHER, OTHER | {"period_ms": 8.0, "night_ms": 2.0}]))
    assert span.tolist() == pytest.approx([1, 1, 1, 1, np.log(2), 1, 1, 0.125, 1])
    assert low[0] == pytest.approx(np.log(5))
