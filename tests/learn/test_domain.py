"""Which settings are drawn, and which ones a model may be asked for."""

import numpy as np
import pytest
from made_up import QUICK, SETTING, made_up

from daybreak.learn import design, domain, model
from daybreak.learn import setting as setting_
from daybreak.learn.design import DOWNTIMES, HZ, RANGES


def test_draws_fill_the_ranges_and_depend_on_the_seed_alone():
    drawn = list(design.drawn(3000, 7))
    assert drawn == list(design.drawn(3000, 7)) and drawn != list(design.drawn(3000, 8))
    numbers = domain.numbers_of(drawn)
    for name, (low, high) in RANGES.items():
        column = numbers[:, domain.NUMBERS.index(name)]
        assert np.nanmin(column) == pytest.approx(low, rel=0.02) and np.nanmax(column) == pytest.approx(high, rel=0.02)
        # Evenly on a logarithmic scale: half lies below the geometric mean.
        assert np.mean(column[~np.isnan(column)] < np.sqrt(low * high)) == pytest.approx(0.5, abs=0.04)
    for key, weights in (("hz", HZ), ("downtime", DOWNTIMES)):
        for name, weight in weights.items():
            assert np.mean([one[key] == name for one in drawn]) == pytest.approx(weight, abs=0.03)
    phases = numbers[:, domain.NUMBERS.index("phase")]
    assert phases.min() < 0.01 and 0.99 < phases.max() <= 1
    pairs = {(one["migrated_variant"], one["main_variant"], one["migrated_flows"]) for one in drawn}
    assert len(pairs) == 64
    # Inputs are drawn jointly: none tells another.
    apart = np.corrcoef(np.nan_to_num(numbers, nan=0.05), rowvar=False) - np.eye(len(domain.NUMBERS))
    assert np.abs(apart).max() < 0.08


def test_a_part_of_the_design_is_its_beginning_and_reaches_beyond_the_ranges():
    many = list(design.learnt(64))
    assert many[:8] == list(design.learnt(8)) and many[40:48] == list(design.learnt(8, 40))
    for (low, high), column in zip(RANGES.values(), domain.numbers_of(list(design.learnt(2048))).T, strict=False):
        assert np.nanmin(column) < low and np.nanmax(column) > high


@pytest.fixture(scope="module")
def known():
    return domain.of(list(design.learnt(2048)))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"period_ms": 1.0}, "period in ms = 1; measured were"),
        ({"rtt_us": 900.0}, "topology.rtt in us = 900"),
        ({"night_ms": 5.0, "downtime": "drop"}, "night as a part of the period = 0.5"),
        ({"start_ms": 20.0}, "first period's start"),
        ({"hz": 500}, "stack.hz = 500; measured were 100, 250, 300, 1000"),
        ({"migrated_variant": "vegas"}, 'migrated\'s variant "vegas" was not measured'),
        ({"main_mib": 65.0}, "the groups differ in mib"),
        ({"migrated_flows": 8, "main_flows": 8, "migrated_mib": 512.0, "main_mib": 512.0}, "flows of a group = 8"),
    ],
)
def test_what_was_not_measured_is_named(known, change, sentence):
    assert known.reasons(SETTING) == ()
    assert any(sentence in one for one in known.reasons(SETTING | change))


def test_one_of_a_hundred_measured_settings_is_as_far_from_the_others_as_the_limit(known):
    some = list(design.learnt(400))
    without = domain.of(some)
    far = [np.sort(without._distances(one))[1 : domain.NEAREST + 1].mean() > without.limit for one in some]
    assert np.mean(far) == pytest.approx(0.01, abs=0.005)
    # A setting is the nearest to itself, and the next ones are in order.
    rows = known.nearest(some[7], 4)
    assert rows[0] == 7 and (np.diff(known._distances(some[7])[rows]) >= 0).all()
    assert domain.of(some, 0.25).limit == 0.25


def test_another_variant_is_as_far_as_a_fifth_of_a_range():
    one = SETTING | {"downtime": "drop", "night_ms": 1.0}
    others = [one | {"main_variant": "bbr"}, one | {"migrated_variant": "bbr", "downtime": "hold"}, one]
    far = [domain.of([one | {"rtt_us": 20.0}, one | {"rtt_us": 320.0}, other], 1.0) for other in others]
    assert [found._distances(one)[2] for found in far] == pytest.approx([0.2, 0.2 * 2**0.5, 0.0], abs=1e-6)
    # On a logarithmic scale 80 us are in the middle.
    assert far[2]._distances(one | {"rtt_us": 80.0})[:2] == pytest.approx([0.5, 0.5], abs=1e-6)


def test_settings_of_the_law_are_inside(known):
    found = [bool(known.reasons(one)) for one in design.drawn(300, 5)]
    assert np.mean(found) < 0.02


def test_inputs_are_looked_at_together_not_one_by_one():
    """Every buffer, round trip and period was measured, but large ones only with other large ones."""
    middle = {name: float(np.sqrt(np.prod(ends))) for name, ends in RANGES.items()}
    large = ("buffer_packets", "rtt_us", "period_ms")
    some = [one for one in design.learnt(8192) if len({one[name] > middle[name] for name in large}) == 1]
    known = domain.of(some)
    setting = SETTING | {"rate_gbps": middle["rate_gbps"], "migrated_mib": 128.0, "main_mib": 128.0, "hz": 250}

    def asked(buffer, rtt, period):
        return setting | {"buffer_packets": buffer, "rtt_us": rtt, "period_ms": period, "start_ms": period / 2}

    assert known.reasons(asked(400, 250.0, 60.0)) == known.reasons(asked(80, 30.0, 3.0)) == ()
    for apart in ((490, 22.0, 2.2), (62, 310.0, 2.2), (62, 22.0, 75.0), (490, 310.0, 2.2)):
        assert known.reasons(asked(*apart)) == ("no setting that was measured is like it in all inputs together",)


def test_a_model_is_sure_where_its_error_is_tolerated(monkeypatch):
    fitted = model.fit(made_up(200, runs=2), **QUICK)
    model.calibrate(fitted, [made_up(settings=list(design.drawn(200, 8)), runs=4, seed=8)])
    settings = list(design.drawn(30, 3))
    monkeypatch.setattr(model, "TOLERATED", 1e9)
    assert all(one.holds for one in fitted.predict(settings))
    monkeypatch.setattr(model, "TOLERATED", 0.0)
    assert all("is not sure" in one.reasons[0] for one in fitted.predict(settings))
    monkeypatch.setattr(model, "TOLERATED", 0.5)
    for setting, one in zip(settings, fitted.predict(settings), strict=True):
        ideal = setting_.ideal_s(setting)
        assert one.holds == (one.error_s <= 0.5 * max(abs(one.prolongation_s), 0.05 * ideal))


def test_the_error_in_seconds_is_that_of_the_target_times_the_slope(monkeypatch):
    fitted = model.fit(made_up(200, runs=2), **QUICK)
    setting = next(design.drawn(1, 4)) | {"migrated_mib": 1000.0, "main_mib": 1000.0}
    monkeypatch.setattr(type(fitted.regressor), "predict", lambda *_: np.array([2.0]))
    monkeypatch.setattr(type(fitted.regressor), "predict_error", lambda *_: np.array([0.01]))
    found = fitted.predict([setting])[0]
    little = (model.seconds(np.array([2.0 + 1e-6]), 1.0) - model.seconds(np.array([2.0]), 1.0))[0] / 1e-6
    assert found.error_s == pytest.approx(0.01 * little * setting_.ideal_s(setting), rel=1e-4)


def test_what_the_model_learns_from_has_seeds_of_its_own(monkeypatch):
    monkeypatch.setattr(design, "EVENLY", 64)
    monkeypatch.setattr(design, "TWICE", 16)
    found = design.chosen(128)
    whole = list(design.learnt(128))
    assert [one for one, _ in found] == whole[:64] + [one for one in whole[64:] if one["downtime"] != "drop"]
    assert [len(seeds) for _, seeds in found] == [2] * 16 + [1] * (len(found) - 16)
    seeds = [seed for _, of_setting in found for seed in of_setting]
    assert len(set(seeds)) == len(seeds)
    assert found == design.chosen(200)[: len(found)]
