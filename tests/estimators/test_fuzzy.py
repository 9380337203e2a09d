"""Fuzzy c-means: its equations, the minimum that R finds, and scikit-learn's promises."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from bbclust import FuzzyCMeans
from bbclust.datasets import load_iris, make_uniform_square
from bbclust.estimators import fuzzy_c_means as fuzzy

IRIS = load_iris().data
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "fuzzy.json").read_text())


@parametrize_with_checks(
    [
        FuzzyCMeans(),
        FuzzyCMeans(fuzzifier=1.3, tol=1e-9),
        FuzzyCMeans(n_clusters=2, n_init=0),
        FuzzyCMeans(n_clusters=1),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def objective(X, centers, shares, fuzzifier, weights):
    return np.sum(weights[:, None] * shares**fuzzifier * cdist(X, centers) ** 2)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=["m=2", "m=1.5", "m=3, weighted"])
def test_agrees_with_e1071(case, seed):
    X, weights = np.array(GOLDEN["data"]), np.array(case["weights"])
    model = FuzzyCMeans(
        case["n_clusters"], fuzzifier=case["fuzzifier"], tol=1e-11, random_state=seed
    ).fit(X, sample_weight=weights)
    centers, shares = np.array(case["centers"]), np.array(case["memberships"])
    match = linear_sum_assignment(cdist(model.cluster_centers_, centers))[1]
    np.testing.assert_allclose(model.cluster_centers_, centers[match], atol=1e-7)
    np.testing.assert_allclose(model.memberships_, shares[:, match], atol=1e-7)
    np.testing.assert_allclose(model.objective_ / len(X), case["withinerror"], rtol=1e-11)


def test_default_tolerance_is_close_to_the_minimum():
    X = np.array(GOLDEN["data"])
    model = FuzzyCMeans(3, random_state=0).fit(X)
    exact = FuzzyCMeans(3, tol=1e-12, random_state=0).fit(X)
    np.testing.assert_allclose(model.memberships_, exact.memberships_, atol=1e-5)


def test_memberships_of_a_small_case():
    # squared distances 1 and 4; with m = 3 the shares are as 1 and 1/2
    np.testing.assert_allclose(fuzzy.memberships(np.array([[1.0, 4.0]]), 2.0), [[0.8, 0.2]])
    np.testing.assert_allclose(fuzzy.memberships(np.array([[1.0, 4.0]]), 3.0), [[2 / 3, 1 / 3]])


@pytest.mark.parametrize("fuzzifier", [1.01, 1.5, 2.0, 3.0])
def test_a_row_on_top_of_centres_belongs_to_them_alone(fuzzifier):
    distances = np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0], [1e-300, 1.0, 1.0]])
    expected = [[1, 0, 0], [0.5, 0, 0.5], [1 / 3] * 3, [1, 0, 0]]
    np.testing.assert_allclose(fuzzy.memberships(distances, fuzzifier), expected, atol=1e-15)


@pytest.mark.parametrize("fuzzifier", [1.2, 2.0, 3.5])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_result_is_a_fixed_point_of_the_equations(fuzzifier, weighted):
    weights = np.arange(150) % 4 + 1.0 if weighted else np.ones(150)
    model = FuzzyCMeans(3, fuzzifier=fuzzifier, tol=1e-10, random_state=0)
    model.fit(IRIS, sample_weight=weights)
    weights /= weights.mean()
    distances = cdist(IRIS, model.cluster_centers_)
    ratios = (distances[:, :, None] / distances[:, None, :]) ** (2 / (fuzzifier - 1))
    shares = 1 / ratios.sum(axis=2)
    np.testing.assert_allclose(model.memberships_, shares, rtol=1e-9, atol=1e-14)
    pull = weights[:, None] * shares**fuzzifier
    centers = pull.T @ IRIS / pull.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-8)
    expected = objective(IRIS, model.cluster_centers_, shares, fuzzifier, weights)
    np.testing.assert_allclose(model.objective_, expected, rtol=1e-12)


def test_one_cluster_is_the_mean():
    model = FuzzyCMeans(1, random_state=0).fit(IRIS)
    np.testing.assert_allclose(model.cluster_centers_, IRIS.mean(axis=0, keepdims=True))
    np.testing.assert_array_equal(model.memberships_, np.ones((150, 1)))
    np.testing.assert_allclose(model.objective_, ((IRIS - IRIS.mean(axis=0)) ** 2).sum())


def test_as_many_clusters_as_rows():
    X = np.array([[0.0, 0], [1, 0], [5, 5], [9, 1]])
    model = FuzzyCMeans(4, random_state=0).fit(X)
    np.testing.assert_allclose(model.objective_, 0, atol=1e-20)
    np.testing.assert_array_equal(np.sort(model.labels_), np.arange(4))


def test_equal_rows_and_one_cluster():
    model = FuzzyCMeans(1, random_state=0).fit(np.full((5, 2), 7.0))
    np.testing.assert_array_equal(model.cluster_centers_, [[7.0, 7.0]])


def test_small_fuzzifier_gives_the_partition_of_k_means():
    model = FuzzyCMeans(3, fuzzifier=1.01, random_state=0).fit(IRIS)
    k_means = KMeans(3, n_init=10, random_state=0).fit(IRIS)
    table = pd.crosstab(model.labels_, k_means.labels_).to_numpy()
    assert (table > 0).sum() == 3
    np.testing.assert_allclose(model.objective_, k_means.inertia_, rtol=1e-3)


def test_large_fuzzifier_gives_equal_memberships():
    model = FuzzyCMeans(3, fuzzifier=500.0, random_state=0).fit(IRIS)
    assert np.isfinite(model.cluster_centers_).all()
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)


def test_weight_two_equals_a_duplicate():
    weights = np.arange(150) % 3
    weighted = FuzzyCMeans(3, tol=1e-11, random_state=0).fit(IRIS, sample_weight=weights)
    repeated = FuzzyCMeans(3, tol=1e-11, random_state=0).fit(np.repeat(IRIS, weights, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-8)
    np.testing.assert_allclose(weighted.memberships_, repeated.predict_proba(IRIS), atol=1e-8)


def test_clusters_are_numbered_by_mass():
    model = FuzzyCMeans(3, random_state=0).fit(IRIS)
    assert (np.diff(model.memberships_.sum(axis=0)) < 0).all()


def test_moving_and_turning_the_data_moves_and_turns_the_centres():
    model = FuzzyCMeans(3, tol=1e-11, random_state=0).fit(IRIS)
    moved = FuzzyCMeans(3, tol=1e-11, random_state=0).fit(IRIS[:, ::-1] + 1000.0)
    np.testing.assert_allclose(
        moved.cluster_centers_, model.cluster_centers_[:, ::-1] + 1000.0, atol=1e-7
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_prediction_of_the_training_rows_gives_their_memberships(dtype):
    X = IRIS.astype(dtype)
    model = FuzzyCMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict_proba(X), model.memberships_)
    np.testing.assert_array_equal(model.transform(X), model.memberships_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_more_starts_never_raise_the_objective(seed):
    X = make_uniform_square(200, random_state=seed)
    few = FuzzyCMeans(7, n_init=0, random_state=seed).fit(X)
    many = FuzzyCMeans(7, n_init=20, random_state=seed).fit(X)
    assert many.objective_ <= few.objective_ * (1 + 1e-9)


def test_many_rows_are_clustered_in_chunks(monkeypatch):
    generator = np.random.default_rng(0)
    centers = np.array([[0.0, 0, 0, 0], [8, 0, 0, 0], [0, 8, 0, 0]])
    X = centers[generator.integers(3, size=100_000)] + generator.standard_normal((100_000, 4))
    model = FuzzyCMeans(3, random_state=0).fit(X)
    near = linear_sum_assignment(cdist(model.cluster_centers_, centers))[1]
    np.testing.assert_allclose(model.cluster_centers_, centers[near], atol=0.1)
    monkeypatch.setattr(fuzzy, "_CHUNK_ENTRIES", 10_000)
    other = clone(model).fit(X)
    np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_, atol=1e-9)


def test_a_sample_that_misses_distinct_rows_is_not_used():
    X = np.zeros((20_000, 1))
    X[:3, 0] = [1.0, 2.0, 3.0]
    model = FuzzyCMeans(4, random_state=0).fit(X)
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), [0, 1, 2, 3], atol=0.01)


def test_stopping_early_is_said():
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        FuzzyCMeans(3, max_iter=2, random_state=0).fit(IRIS)


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"n_clusters": 0}, ValueError, ["n_clusters", "at least 1", "got 0"]),
        ({"n_clusters": 2.5}, TypeError, ["n_clusters", "2.5"]),
        ({"n_clusters": 150}, ValueError, ["n_clusters=150", "149 distinct rows"]),
        ({"fuzzifier": 1.0}, ValueError, ["fuzzifier", "greater than 1", "got 1.0"]),
        ({"fuzzifier": 0.5}, ValueError, ["fuzzifier", "got 0.5"]),
        ({"fuzzifier": np.inf}, ValueError, ["fuzzifier", "inf"]),
        ({"fuzzifier": np.nan}, ValueError, ["fuzzifier", "nan"]),
        ({"fuzzifier": "two"}, TypeError, ["fuzzifier", "'two'"]),
        ({"n_init": -1}, ValueError, ["n_init", "at least 0"]),
        ({"max_iter": 0}, ValueError, ["max_iter", "at least 1"]),
        ({"tol": -1.0}, ValueError, ["tol", "-1.0"]),
    ],
)
def test_bad_parameters_are_refused(parameters, error, words):
    model = FuzzyCMeans(**parameters)
    with pytest.raises(error) as raised:
        model.fit(IRIS)
    for word in words:
        assert word in str(raised.value)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_gaps_are_refused(value):
    X = IRIS.copy()
    X[7, 2] = value
    with pytest.raises(ValueError, match="row 7, column 2"):
        FuzzyCMeans().fit(X)
