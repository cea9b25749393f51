"""Parts of estimators whose numbers can be worked out: made by hand, not fitted."""

import math

import numpy as np
import pytest
from sklearn.model_selection import KFold

from daybreak.learn import trees
from daybreak.learn.conformal import ConformalRegressor, Ensemble, _first, _supported, widening
from daybreak.learn.neural import NeuralMean, _forward


def network(**changed):
    """Two networks of one layer each, of two inputs and two columns of values."""
    found = NeuralMean()
    found.n_features_in_ = 2
    found.is_flat_ = False
    found.low_, found.high_ = np.array([0.0, -10.0]), np.array([4.0, 10.0])
    found.center_, found.spread_ = np.array([1.0, 0.0]), np.array([2.0, 5.0])
    found.mean_, found.scale_ = np.array([100.0, 7.0]), np.array([10.0, 0.5])
    found.weights_ = [
        [(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, -0.5]))],
        [(np.array([[-1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 0.0]))],
    ]
    for name, value in changed.items():
        setattr(found, name, value)
    return found


def test_a_layer_is_cut_at_zero_and_the_last_one_is_not():
    layers = [(np.array([[1.0, -1.0]]), np.array([0.5, 0.25])), (np.array([[2.0], [4.0]]), np.array([-1.0]))]
    # 1 becomes 1.5 and 0 of -0.75, hence 3 - 1; of -2 remain 0 and 2.25, hence 9 - 1.
    assert _forward(layers, np.array([[1.0], [-2.0]])).tolist() == [[2.0], [8.0]]
    assert _forward(layers[1:], np.array([[-1.0, 0.0]])).tolist() == [[-3.0]]


def test_inputs_are_scaled_and_cut_and_values_are_scaled_back():
    # (3, 5) is (1, 1): 1 + 3 + 0.5 and 2 + 4 - 0.5 in one network, -1 + 1 and 1 in the other.
    of_members = network().of_members(np.array([[3.0, 5.0], [99.0, -99.0]]))
    assert of_members[:, 0].tolist() == [[100 + 10 * 4.5, 7 + 0.5 * 5.5], [100.0, 7.5]]
    # Beyond what was seen is its end: (4, -10) is (1.5, -2).
    assert of_members[:, 1].tolist() == [[100 + 10 * (1.5 - 6 + 0.5), 7 + 0.5 * (3 - 8 - 0.5)], [95.0, 6.0]]
    both = network().predict(np.array([[3.0, 5.0]]))
    assert both.tolist() == [[(145 + 100) / 2, (9.75 + 7.5) / 2]]
    assert network(is_flat_=True).predict(np.array([[3.0, 5.0]])).tolist() == [122.5]


def test_what_a_fit_keeps_of_its_data():
    x = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0], [6.0, 5.0]])
    y = np.array([[1.0, 3.0], [3.0, 3.0], [5.0, 3.0], [7.0, 3.0]])
    fitted = NeuralMean(members=2, width=3, layers=2, lead=4.0).fit(x, y)
    assert (fitted.low_.tolist(), fitted.high_.tolist()) == ([0, 5], [6, 5])
    # What never differs has no spread of its own.
    assert fitted.center_.tolist() == [3, 5] and fitted.spread_ == pytest.approx([math.sqrt(5), 1.0])
    assert fitted.mean_.tolist() == [4, 3] and fitted.scale_ == pytest.approx([math.sqrt(5) / 4, 1.0])
    assert [[matrix.shape for matrix, _ in layers] for layers in fitted.weights_] == [[(2, 3), (3, 3), (3, 2)]] * 2
    assert not fitted.is_flat_ and fitted.predict(x).shape == (4, 2)
    assert NeuralMean(members=1, width=3).fit(x, y[:, 0]).predict(x).shape == (4,)


class Fixed:
    """Trees that predict one value for every row, or for each row one of its inputs."""

    def __init__(self, value=None, column=None):
        self.value, self.column = value, column

    def predict(self, X):
        return np.full(len(X), self.value) if self.column is None else np.asarray(X)[:, self.column]


class Parts(Ensemble):
    """What trees say is the first input, what networks say the second, and the doubt the third."""

    def parts(self, X):
        return np.asarray(X, dtype=float).T


def regressor():
    """Two classes, 3 and 5: of the first the trees count a quarter, of the other all."""
    found = ConformalRegressor()
    found.n_features_in_ = 3
    found.center_ = Parts()
    found.classes_, found.shares_ = np.array([3, 5]), np.array([0.25, 1.0])
    found.widened_ = np.array([0.5, -3.0])
    # The quantiles of errors cross: what is fitted to the upper tail is below what is fitted to the lower.
    found.quantiles_ = [Fixed(2.0), Fixed(-1.0)]
    found.squares_ = [(np.array([1.0, 3.0]), np.array([4.0, 16.0])), (np.zeros(1), np.full(1, math.inf))]
    return found


ROWS = np.array([[10.0, 20.0, 1.0], [10.0, 20.0, 2.0], [10.0, 20.0, 9.0]])


def test_means_are_mixed_by_the_shares_of_their_class():
    assert regressor().predict(ROWS, np.array([3, 5, 4])).tolist() == [17.5, 10.0, 15.0]
    # Without classes all are of the first one.
    assert regressor().predict(ROWS).tolist() == [17.5] * 3


def test_errors_are_between_those_of_the_doubts_that_were_measured_and_no_less_than_the_doubt():
    errors = regressor().predict_error(ROWS, np.array([3, 3, 3]))
    assert errors.tolist() == [2.0, math.sqrt(10), 9.0]
    assert regressor().predict_error(ROWS).tolist() == errors.tolist()
    assert regressor().predict_error(ROWS, np.array([5, 4, 3])).tolist() == [math.inf, math.inf, 9.0]


def test_intervals_are_widened_in_each_class_and_never_end_before_they_begin():
    found = regressor().predict_interval(ROWS, np.array([3, 5, 4]))
    # -1 to 2 around 17.5, wider by a half; narrower by 3 around 10 it ends in its middle; unknown is everything.
    assert found.tolist() == [[16.0, 20.0], [10.5, 10.5], [-math.inf, math.inf]]
    assert regressor().predict_interval(ROWS[:1]).tolist() == [[16.0, 20.0]]


def test_errors_are_measured_in_the_class_of_their_rows():
    found = regressor()
    rows = np.column_stack([np.zeros((40, 2)), np.arange(40.0)])
    means = np.where(np.arange(40) < 20, 2.0, 3.0)
    found.calibrate(rows, means, np.where(np.arange(40) < 20, 3, 5))
    (doubts, squares), (others, others_squares) = found.squares_
    assert (doubts.tolist(), squares.tolist()) == ([9.5], [4.0])
    assert (others.tolist(), others_squares.tolist()) == ([29.5], [9.0])
    # All are of the first class where none is given.
    found.calibrate(rows, means)
    assert [one.tolist() for one in found.squares_[0]] == [[9.5, 29.5], [4.0, 9.0]]
    assert found.squares_[1][1].tolist() == [math.inf]


def test_doubts_are_measured_in_groups_of_twenty_or_more_in_their_order():
    draw = np.random.default_rng(1)
    order = draw.permutation(50)
    doubts, squares = _supported(order.astype(float), np.where(order < 25, 1.0, 4.0))
    # 50 rows are two groups of 25.
    assert (doubts.tolist(), squares.tolist()) == ([12.0, 37.0], [1.0, 4.0])
    few = _supported(np.arange(19.0), np.ones(19))
    assert [one.tolist() for one in few] == [[0.0], [math.inf]]


@pytest.mark.parametrize(
    ("count", "share", "rank"), [(9, 0.9, 9), (10, 0.9, 10), (19, 0.9, 18), (4, 0.5, 3), (1, 0.5, 1)]
)
def test_intervals_are_widened_by_the_value_of_a_rank(count, share, rank):
    values = np.arange(count, 0.0, -1) - 7
    assert widening(values, share) == rank - 7


def test_values_of_one_column_or_several_have_a_first_one():
    assert _first(np.array([1.0, 2.0])).tolist() == [1, 2] == _first(np.array([[1.0, 9.0], [2.0, 9.0]])).tolist()


def test_folds_are_of_groups_and_cover_every_row_once():
    groups = np.repeat(np.arange(30), 2)
    fitted = ConformalRegressor(folds=3, random_state=4)
    folds = list(fitted._folds(groups))
    assert len(folds) == 3 and sorted(np.concatenate([left for _, left in folds])) == list(range(60))
    for seen, left in folds:
        assert sorted([*seen, *left]) == list(range(60))
    expected = [left for _, left in KFold(3, shuffle=True, random_state=4).split(np.arange(30))]
    assert [np.unique(groups[left]).tolist() for _, left in folds] == [one.tolist() for one in expected]


def test_an_ensembles_doubt_is_that_of_its_networks_and_of_both_kinds():
    """The variance of the networks, 2.25 here, and a quarter of the square by which both kinds are apart."""
    found = Ensemble()
    found.n_features_in_ = 2
    found.trees_ = Fixed(4.0)
    found.networks_ = network(
        mean_=np.array([0.0, 0.0]), scale_=np.array([1.0, 1.0]),
        weights_=[[(np.zeros((2, 2)), np.array([value, 9.0]))] for value in (1.0, 4.0)],
    )  # fmt: skip
    of_trees, of_networks, doubt = found.parts(np.zeros((3, 2)))
    assert (of_trees.tolist(), of_networks.tolist()) == ([4.0] * 3, [2.5] * 3)
    assert doubt.tolist() == pytest.approx([math.sqrt(1.5**2 + 0.75**2)] * 3)
    assert found.predict(np.zeros((3, 2))).tolist() == [3.25] * 3


@pytest.fixture(scope="module")
def stump():
    """Trees of some leaves over two inputs, of ten values each."""
    x = np.array([[a, b] for a in range(10) for b in range(10)] * 4, dtype=float)
    y = 10.0 * (x[:, 0] > 4) + (x[:, 1] > 6)
    return x, trees.fitted(x, y, kind="chance")


def test_trees_are_of_their_kind():
    x = np.random.default_rng(1).uniform(size=(400, 2))
    for kind, quantile in (("mean", None), ("quantile", 0.25), ("chance", None)):
        count, leaves, least, rate, part = trees.KINDS[kind]
        given = {"kind": kind} if kind == "chance" else {}
        found = trees.fitted(x, x[:, 0], quantile, 7, **given)
        assert (found.max_iter, found.max_leaf_nodes, found.min_samples_leaf) == (count, leaves, least)
        assert (found.learning_rate, found.max_features, found.random_state) == (rate, part, 7)
        assert (found.loss, found.quantile) == ("squared_error" if quantile is None else "quantile", quantile)
        assert found.early_stopping is False and found.l2_regularization == 0.1 and len(found._predictors) == count
    assert trees.fitted(x, x[:, 0]).random_state == 1


def test_a_quantile_is_below_its_part_of_the_values_and_weights_count():
    draw = np.random.default_rng(2)
    x, y = np.zeros((2000, 1)), draw.uniform(size=2000)
    low, high = (trees.predicted(trees.fitted(x, y, tail), x)[0] for tail in (0.1, 0.9))
    assert 0 < low < 0.5 < high < 1
    two = np.repeat([0.0, 1.0], 1000)
    weighted = trees.fitted(x, two, weights=np.where(two == 1, 3.0, 1.0))
    assert trees.predicted(weighted, x)[0] == pytest.approx(0.75, abs=0.01)
    assert trees.predicted(trees.fitted(x, two), x)[0] == pytest.approx(0.5, abs=0.01)


def test_trees_that_are_unpacked_say_the_same(stump):
    x, fitted = stump
    bare, arrays = trees.packed(fitted)
    assert bare._predictors == [] and len(fitted._predictors) == fitted.max_iter
    assert {-1, 0, 1} == set(arrays["inputs"])
    assert {name: array.dtype for name, array in arrays.items()} == {
        "inputs": np.int16, "thresholds": np.uint8, "values": np.float32,
    }  # fmt: skip
    assert len(arrays["values"]) == np.sum(arrays["inputs"] == -1)
    assert len(arrays["thresholds"]) == np.sum(arrays["inputs"] >= 0)
    again = trees.unpacked(bare, arrays)
    assert (again.predict(x) == fitted.predict(x)).all() and bare._predictors == []


@pytest.mark.parametrize(("change", "sentence"), [
    ({"inputs": lambda one: one.astype(np.int32)}, "a node of a tree asks for what there is not"),
    ({"inputs": lambda one: one[None]}, "a node of a tree asks for what there is not"),
    ({"inputs": lambda one: (one + (one == 1)).astype(np.int16)}, "a node of a tree asks for what there is not"),
    ({"thresholds": lambda one: one[:-1]}, "a node of a tree has no threshold"),
    ({"thresholds": lambda one: one.astype(np.uint16)}, "a node of a tree has no threshold"),
    ({"thresholds": lambda one: np.full_like(one, 9)}, "a node of a tree asks for a threshold that there is not"),
    ({"values": lambda one: one[:-1]}, "a leaf of a tree has no value"),
    ({"values": lambda one: one.astype(float)}, "a leaf of a tree has no value"),
    ({"values": lambda one: np.full_like(one, np.nan)}, "a leaf of a tree has no value"),
    ({"inputs": lambda one: one[:-1], "values": lambda one: one[:-1]}, "the nodes of a tree do not follow each other"),
])  # fmt: skip
def test_what_are_no_nodes_of_trees_is_one_sentence(stump, change, sentence):
    bare, arrays = trees.packed(stump[1])
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        trees.unpacked(bare, arrays | {name: of(arrays[name]) for name, of in change.items()})


def test_the_right_branch_of_a_node_comes_after_the_last_leaf_of_its_left_one():
    # A node with a leaf and a node of two leaves; then a leaf alone; then a node of two leaves.
    starts, right = trees._grown([False, True, False, True, True, True, False, True, True])
    assert starts == [0, 5, 6] and right.tolist() == [2, 0, 4, 0, 0, 0, 8, 0, 0]
