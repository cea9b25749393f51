"""Estimators: what they promise, on data whose truth is known."""

import math

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from daybreak.learn.conformal import ConformalRegressor, Ensemble, _supported, widening
from daybreak.learn.neural import NeuralMean


@parametrize_with_checks([ConformalRegressor(folds=2, members=1), Ensemble(1), NeuralMean(members=2, width=64)])
def test_estimators_keep_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_rank_is_that_of_the_new_value_among_all():
    """Of 9 known values and a new one, each is as likely the largest: only their maximum holds 9 of 10."""
    values = np.arange(9.0)
    assert widening(values, 0.9) == 8
    assert widening(values[:8], 0.9) == math.inf
    assert widening(np.arange(19.0), 0.9) == 17
    # Exactly: with n known values of rank k the new one is at most the k-th with probability k / (n + 1).
    draw = np.random.default_rng(4).normal(size=(100_000, 5))
    held = np.mean([row[4] <= widening(row[:4], 0.8) for row in draw])
    assert held == pytest.approx(0.8, abs=0.005)


def law(count, seed):
    """Two classes of rows: in the second chance is ten times larger."""
    draw = np.random.default_rng(seed)
    x = np.column_stack([draw.uniform(-2, 2, count), draw.integers(0, 2, count)])
    noise = draw.normal(size=count) * np.where(x[:, 1] == 1, 1.0, 0.1)
    return x, np.sin(2 * x[:, 0]) + noise


def test_intervals_hold_their_share_in_each_class():
    x, y = law(4000, 1)
    # The trees see no class, so that one widening for both would hold too much of one and too little of the other.
    fitted = ConformalRegressor(folds=2, members=1).fit(x[:, :1], y, x[:, 1])
    new_x, new_y = law(20_000, 2)
    low, high = fitted.predict_interval(new_x[:, :1], new_x[:, 1]).T
    for one in (0, 1):
        of_class = new_x[:, 1] == one
        assert np.mean((low <= new_y) & (new_y <= high), where=of_class) == pytest.approx(0.9, abs=0.025)
    unknown = fitted.predict_interval(new_x[:1, :1], np.array([7]))[0]
    assert unknown.tolist() == [-math.inf, math.inf]


def test_only_representative_rows_calibrate():
    x, y = law(3000, 3)
    quiet = x[:, 1] == 0
    both = ConformalRegressor(folds=2, members=1).fit(x[:, :1], y)
    of_quiet = ConformalRegressor(folds=2, members=1).fit(x[:, :1], y, representative=quiet)
    assert of_quiet.widened_[0] < both.widened_[0] - 0.5


def test_an_ensemble_is_the_mean_of_its_parts_and_doubts_where_they_differ():
    x, y = law(1500, 6)
    fitted = Ensemble(2).fit(x, y)
    of_trees, of_networks, doubt = fitted.parts(x)
    assert of_trees == pytest.approx(fitted.trees_.predict(x))
    assert of_networks == pytest.approx(fitted.networks_.of_members(x)[:, :, 0].mean(axis=0))
    assert fitted.predict(x) == pytest.approx((of_trees + of_networks) / 2)
    apart = np.abs(of_trees - of_networks)
    assert (doubt >= apart / 2 - 1e-9).all() and np.corrcoef(doubt, apart)[0, 1] > 0.5


def test_a_row_counts_by_its_own_weight_where_it_is_left_out():
    """Every other row is wrong, and weighs nothing: the networks heed it, trees have no weights."""
    x, wrong = np.linspace(0, 1, 400)[:, None], np.arange(400) % 2 == 1
    y, weights = np.where(wrong, 9.0, 0.0), np.where(wrong, 1e-9, 1.0)
    _, of_networks = ConformalRegressor(folds=2, members=1)._left_out(x, y, weights, np.arange(400) // 4)
    assert np.abs(of_networks).max() < 3.0 and abs(of_networks.mean()) < 1.0


def test_trees_and_networks_count_in_each_class_by_what_they_are_worth():
    """Steps are for trees, a plane is for networks; each is wrong about the other."""
    draw = np.random.default_rng(12)

    def data(count):
        x, steps = draw.uniform(-1, 1, (count, 3)), draw.integers(0, 2, count)
        many = np.sign(np.sin(25 * x[:, 0])) + np.sign(np.sin(25 * x[:, 1]))
        return np.column_stack([x, steps]), np.where(steps == 1, many, x.sum(axis=1)), steps

    x, y, steps = data(3000)
    fitted = ConformalRegressor(folds=2, members=1).fit(x, y, steps)
    assert fitted.shares_[0] < 0.3 < 0.7 < fitted.shares_[1]
    new_x, new_y, steps = data(1000)
    both = np.mean((fitted.predict(new_x, steps) - new_y) ** 2)
    assert both < np.mean((fitted.center_.predict(new_x) - new_y) ** 2)


@pytest.mark.parametrize("worth", [0.0, 0.25, 0.8, 1.0])
def test_shares_of_trees_and_networks_are_those_of_the_least_squares(worth):
    """In each class by itself: the second one has the opposite, and what is beyond 0 and 1 is cut."""
    draw = np.random.default_rng(3)
    of_trees, of_networks = draw.normal(size=(2, 400))
    classes = np.arange(400) % 2
    share = np.where(classes == 0, worth, 1 - worth)
    fitted = ConformalRegressor()
    fitted.classes_ = np.array([0, 1])
    y = share * of_trees + (1 - share) * of_networks
    fitted._fit_shares(y, of_trees, of_networks, np.ones(400), classes)
    assert fitted.shares_ == pytest.approx([worth, 1 - worth])
    fitted._fit_shares(of_networks + 3 * (of_trees - of_networks), of_trees, of_networks, np.ones(400), classes)
    assert fitted.shares_ == pytest.approx([1, 1])


def test_rows_count_less_where_chance_is_large():
    x, y = law(4000, 5)
    weights = ConformalRegressor(folds=2)._weights(x, y, np.zeros(4000, int), np.arange(4000))
    assert weights.mean() == pytest.approx(1)
    # The chance of one class has a variance of 1, the other's of 0.01; a part of that of all, 1, is added to both.
    quiet, loud = weights[x[:, 1] == 0], weights[x[:, 1] == 1]
    assert 2 < np.median(quiet) / np.median(loud) < 6
    of_class = ConformalRegressor(folds=2)._weights(x, y, x[:, 1], np.arange(4000))
    assert of_class[x[:, 1] == 0].mean() == pytest.approx(1) == of_class[x[:, 1] == 1].mean()


def hidden(groups, seed):
    """Two rows a group, the mean of each row, and chance; what a group has in common no input shows."""
    draw = np.random.default_rng(seed)
    x = np.repeat(draw.uniform(-1, 1, (groups, 2)), 2, axis=0)
    means = x[:, 0] + np.repeat(draw.normal(size=groups) * 0.5, 2)
    return x, means, means + draw.normal(size=2 * groups)


def test_the_error_of_a_mean_is_measured_on_other_rows_and_is_not_chance():
    x, _, y = hidden(3000, 11)
    fitted = ConformalRegressor(folds=2, members=2).fit(x, y)
    assert np.isinf(fitted.predict_error(x)).all()
    new_x, means, _ = hidden(1000, 12)
    fitted.calibrate(new_x[::2], means[::2])
    # The upper end of what is found of 0.5, never less than how much those differ who are averaged.
    assert 0.5 < np.sqrt(np.mean(fitted.predict_error(x) ** 2)) < 0.9
    assert fitted.predict_error(x[:1], np.array([7])).tolist() == [math.inf]


def test_few_rows_that_happen_to_be_right_support_nothing():
    x, y = law(1000, 14)
    fitted = ConformalRegressor(folds=2, members=1).fit(x, y)
    fitted.calibrate(x[:19], fitted.predict(x[:19]))
    assert np.isinf(fitted.predict_error(x)).all()
    # Of 20 squared errors one is 1: a mean of 0.05, and 1.73 standard errors of 0.05 above it.
    doubts, squares = _supported(np.arange(20.0), np.eye(20)[3])
    assert doubts.tolist() == [9.5] and squares == pytest.approx([0.05 + 1.729 * 0.05], abs=1e-4)
    # Where the rows differ more errors are taken to be no smaller.
    doubts, squares = _supported(np.arange(40.0), np.repeat([4.0, 1.0], 20))
    assert doubts.tolist() == [9.5, 29.5] and squares.tolist() == [4.0, 4.0]


def test_rows_of_a_group_are_left_out_together():
    """A row that is left out alone is known from the other one: chance is small here, and trees can learn by heart."""
    draw = np.random.default_rng(13)
    x = np.repeat(draw.uniform(-1, 1, (1500, 2)), 20, axis=0)
    common = np.repeat(draw.normal(size=1500), 20)
    groups = np.repeat(np.arange(1500), 20)
    fitted = ConformalRegressor(folds=2, members=1).fit(x[:6000], common[:6000], groups=groups[:6000])
    low, high = fitted.predict_interval(x[6000:]).T
    assert np.mean((low <= common[6000:]) & (common[6000:] <= high)) > 0.8
    for seen, left in fitted._folds(groups):
        assert not set(groups[seen]) & set(groups[left])


def test_networks_learn_a_smooth_law():
    draw = np.random.default_rng(8)

    def data(count):
        x = np.column_stack([draw.uniform(-3, 3, count), draw.uniform(-1, 1, count)])
        return x, np.sin(x[:, 0]) * x[:, 1] + 5

    (x, y), (new_x, new_y) = data(3000), data(500)
    fitted = NeuralMean(members=2, alpha=0.03).fit(x, y)
    assert np.mean((fitted.predict(new_x) - new_y) ** 2) < 0.02 * np.var(new_y)


def test_networks_do_not_extrapolate_and_are_the_same_again():
    draw = np.random.default_rng(9)
    x = draw.uniform(1, 2, (500, 2))
    fitted = NeuralMean(members=2).fit(x, x[:, 0] * 10)
    ends = fitted.predict(np.array([[x[:, 0].max(), 1.5], [x[:, 0].min(), 1.5]]))
    assert fitted.predict(np.array([[1000.0, 1.5], [-1000.0, 1.5]])) == pytest.approx(ends)
    assert (NeuralMean(members=2).fit(x, x[:, 0] * 10).predict(x) == fitted.predict(x)).all()
    assert (NeuralMean(members=2, random_state=2).fit(x, x[:, 0] * 10).predict(x) != fitted.predict(x)).any()


def test_networks_that_are_averaged_all_begin_elsewhere():
    """Also those of other random states: averages of the same networks would not differ by chance."""
    x = np.random.default_rng(3).uniform(-1, 1, (60, 2))
    found = [
        NeuralMean(members=3, width=4, layers=1, random_state=state).fit(x, x[:, 0] * x[:, 1]).of_members(x)[:, :, 0]
        for state in range(8)
    ]
    assert len(np.unique(np.round(np.concatenate(found), 6), axis=0)) == 24


def test_the_column_that_is_wanted_counts_more():
    """A network of one unit can learn one of two columns."""
    x = np.random.default_rng(4).uniform(-1, 1, (400, 2))

    def correlation(**given):
        fitted = NeuralMean(members=4, width=1, layers=1, alpha=0.0, **given).fit(x, x)
        return np.corrcoef(fitted.predict(x)[:, 0], x[:, 0])[0, 1]

    # Twice as much is the default.
    assert correlation(lead=8.0) > correlation() + 0.05 > correlation(lead=0.5) + 0.1


def test_networks_learn_several_columns_at_once():
    x = np.random.default_rng(2).uniform(-1, 1, (800, 2))
    both = NeuralMean(members=1, alpha=0.03).fit(x, np.column_stack([x[:, 0], 100 * x[:, 1]]))
    assert both.predict(x).shape == (800, 2)
    assert both.predict(x)[:, 1] == pytest.approx(100 * x[:, 1], abs=10)
