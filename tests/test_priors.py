"""What F0 is."""

import numpy as np
import pytest

from bbclust.clusterers import cluster_reference, partition_from_labels
from bbclust.priors import (
    ElicitedPrior,
    GaussianMixture,
    MixturePrior,
    check_prepared,
    semidefinite_factor,
)
from bbclust.table import make_table


def elicited(X, labels, scale=1.0, weights=None):
    reference = partition_from_labels(make_table(X, weights), np.asarray(labels, dtype=np.int32))
    return reference, ElicitedPrior().prepare(X, reference, scale)


@pytest.mark.parametrize("scale", [1.0, 2.5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_elicited_components_are_the_moments_of_the_clusters(scale, dtype):
    X = (100 + np.random.default_rng(0).normal(size=(90, 3))).astype(dtype)
    labels = np.repeat([0, 1, 2], [40, 30, 20])
    reference, prior = elicited(X, labels, scale)
    for j in range(3):
        mine = X[reference.labels == j].astype(float)
        assert prior.weights[j] == pytest.approx(len(mine) / 90)
        np.testing.assert_allclose(prior.means[j], mine.mean(axis=0), rtol=1e-6)
        np.testing.assert_allclose(
            prior.covariances[j], scale * np.cov(mine.T, bias=True), rtol=1e-6, atol=1e-9
        )


def test_weight_two_is_elicited_as_two_rows():
    generator = np.random.default_rng(1)
    X = generator.normal(size=(30, 2))
    copies = generator.integers(1, 4, size=30)
    labels = np.repeat([0, 1], 15)
    weights = copies / copies.mean()
    _, weighted = elicited(X, labels, weights=weights)
    _, copied = elicited(np.repeat(X, copies, axis=0), np.repeat(labels, copies))
    np.testing.assert_allclose(weighted.weights, copied.weights)
    np.testing.assert_allclose(weighted.means, copied.means)
    np.testing.assert_allclose(weighted.covariances, copied.covariances)


def test_cluster_of_one_point_is_a_point_mass_and_constant_columns_stay_constant():
    X = np.array([[0.1, 7.3], [0.2, 7.3], [0.4, 7.3], [50.0, 7.3]])
    _, prior = elicited(X, [0, 0, 0, 1])
    draws = prior.sample(1000, np.random.default_rng(0))
    assert (np.abs(draws[:, 1] - 7.3) < 1e-12).all()
    assert (np.abs(draws[draws[:, 0] > 25] - X[3]) < 1e-12).all()


def test_few_points_in_many_dimensions_take_no_more_room_than_the_data():
    X = np.random.default_rng(2).normal(size=(20, 400))
    reference = cluster_reference(make_table(X), 2, seed=0)
    prior = ElicitedPrior().prepare(X, reference, 1.0)
    assert sum(factor.size for factor in prior.factors) <= X.size
    mine = X[reference.labels == 0]
    np.testing.assert_allclose(prior.covariances[0], np.cov(mine.T, bias=True), atol=1e-9)


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
def test_factor_of_any_semidefinite_matrix(rank):
    half = np.random.default_rng(rank).normal(size=(rank, 5))
    covariance = half.T @ half
    factor = semidefinite_factor(covariance)
    np.testing.assert_allclose(factor.T @ factor, covariance, atol=1e-12)


def test_factor_with_columns_of_very_different_size():
    sizes = np.array([1e-12, 1.0, 1e12])
    covariance = np.outer(sizes, sizes) * (0.5 + 0.5 * np.eye(3))
    factor = semidefinite_factor(covariance)
    np.testing.assert_allclose(factor.T @ factor, covariance, rtol=1e-12)


def test_samples_of_a_mixture_have_its_moments():
    """6 standard errors per entry: below one false alarm in ten million for all six."""
    mixture = MixturePrior([2, 6], [[0, 0], [5, 1]], [np.eye(2), [[1.0, 0.9], [0.9, 1.0]]]).prepare(
        np.zeros((1, 2)), None, 1.0
    )
    draws = mixture.sample(200_000, np.random.default_rng())
    mean = np.array([3.75, 0.75])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - mean) < 6 * error).all()
    products = np.stack([draws[:, 0] ** 2, draws[:, 0] * draws[:, 1], draws[:, 1] ** 2], axis=1)
    expected = np.array([1 + 0.75 * 25, 0.75 * (5 + 0.9), 1 + 0.75])
    error = products.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(products.mean(axis=0) - expected) < 6 * error).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1], [0.0], [[1.0]]), "means must have shape"),
        (([1, 2], [[0.0]], [[[1.0]]]), "1 means need 1 weights"),
        (([1], [[0.0, 1.0]], [[[1.0]]]), r"covariances must have shape \(1, 2, 2\)"),
        (([-1], [[0.0]], [[[1.0]]]), "must be positive, got -1"),
        (([1], [[np.nan]], [[[1.0]]]), "means of the prior hold NaN"),
        (([1], [[0.0]], [[[-2.0]]]), "negative eigenvalue -2"),
        (([1], [[0.0, 0.0]], [[[1.0, 0.5], [0.1, 1.0]]]), "not symmetric"),
    ],
)
def test_impossible_mixtures_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        MixturePrior(*arguments)


def test_prepared_priors_are_checked_against_the_data():
    mixture = GaussianMixture(np.ones(1), np.zeros((1, 3)), (np.zeros((0, 3)),))
    assert check_prepared(mixture, 3) is mixture
    with pytest.raises(ValueError, match="3 features and X has 2"):
        check_prepared(mixture, 2)
    with pytest.raises(TypeError, match="cannot be sampled"):
        check_prepared(object(), 2)
