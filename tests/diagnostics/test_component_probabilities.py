"""Probabilities of components: EM by hand and by an oracle, calibration, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering

from bbclust import BBC, load_model
from bbclust.diagnostics.component_probabilities import (
    Trial,
    fit_component_model,
    matching_power,
    replica_mixtures,
    temper,
)
from bbclust.stages.gaussian_em import (
    GaussianComponents,
    component_shares,
    covariance_within,
    fit_components,
    maximize,
)
from bbclust.stages.table import Table


def two_groups(n, separation, seed=0, d=2):
    """Rows and groups; the groups are unit spheres, a third and two thirds of the rows."""
    generator = np.random.default_rng(seed)
    groups = (np.arange(n) % 3 == 0).astype(int)
    X = generator.normal(size=(n, d))
    X[:, 0] += separation * groups
    return X, groups


def some_rows(seed, n=40, d=3, K=3):
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % K
    rows = generator.normal(size=(n, d)) + generator.normal(size=(K, d))[labels]
    return rows, generator.gamma(2.0, 0.5, size=n), labels


# --- EM -------------------------------------------------------------------------------------------


def test_one_step_by_hand():
    """Rows -1, 1 and 3 in one dimension, shares 1, 1/2 and 0 of the first component, P = 1/4.

    n_0 = 3/2, mean (-1 + 1/2) / 1.5 = -1/3, squares 1 * (2/3)^2 + 1/2 * (4/3)^2 = 4/3, and two more
    rows of P: (4/3 + 1/2) / 3.5 = 11/21. The other: n_1 = 3/2, mean (1/2 + 3) / 1.5 = 7/3, squares
    1/2 * (4/3)^2 + (2/3)^2 = 4/3, so 11/21 as well.
    """
    rows = np.array([[-1.0], [1.0], [3.0]])
    shares = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    found = maximize(rows, np.ones(3), shares, np.array([[0.25]]), np.zeros((2, 1)))
    np.testing.assert_allclose(found.weights, [0.5, 0.5])
    np.testing.assert_allclose(found.means, [[-1 / 3], [7 / 3]])
    np.testing.assert_allclose(found.covariances, [[[11 / 21]], [[11 / 21]]])


def test_shares_by_hand():
    """Unit Gaussians at 0 and 2, weights 1/4 and 3/4: at 1 the weights, at 0 odds of e^2 / 3."""
    one = np.ones((2, 1, 1))
    mixture = GaussianComponents(np.array([0.25, 0.75]), np.array([[0.0], [2.0]]), one)
    found = component_shares(np.array([[1.0], [0.0]]), mixture)
    odds = math.exp(2) / 3
    np.testing.assert_allclose(found, [[0.25, 0.75], [odds / (1 + odds), 1 / (1 + odds)]])


def em_step_in_loops(rows, weights, mixture, within):
    """One step of EM and the objective before it, from the definition."""
    (n, d), K = rows.shape, len(mixture.weights)
    parts, objective = np.zeros((n, K)), 0.0
    for i in range(n):
        densities = []
        for j in range(K):
            away = rows[i] - mixture.means[j]
            square = away @ np.linalg.solve(mixture.covariances[j], away)
            volume = (2 * math.pi) ** d * np.linalg.det(mixture.covariances[j])
            densities.append(mixture.weights[j] * math.exp(-square / 2) / math.sqrt(volume))
        objective += weights[i] * math.log(sum(densities))
        for j in range(K):
            parts[i, j] = weights[i] * densities[j] / sum(densities)
    for covariance in mixture.covariances:
        trace = np.trace(np.linalg.solve(covariance, within))
        objective -= (d + 1) / 2 * (math.log(np.linalg.det(covariance)) + trace)
    shares, means, covariances = [], [], []
    for j in range(K):
        mass = sum(parts[:, j])
        mean = sum(parts[i, j] * rows[i] for i in range(n)) / mass
        gram = sum(parts[i, j] * np.outer(rows[i] - mean, rows[i] - mean) for i in range(n))
        shares.append(mass / weights.sum())
        means.append(mean)
        covariances.append((gram + (d + 1) * within) / (mass + d + 1))
    after = GaussianComponents(np.array(shares), np.array(means), np.array(covariances))
    return after, objective


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_steps_are_those_of_the_definition_and_never_lower_the_likelihood(seed):
    rows, weights, labels = some_rows(seed)
    within = covariance_within(rows, weights, labels)
    mixture = maximize(rows, weights, np.eye(3)[labels], within, np.zeros((3, 3)))
    objectives = []
    for _ in range(8):
        expected, objective = em_step_in_loops(rows, weights, mixture, within)
        objectives.append(objective)
        shares = component_shares(rows, mixture)
        mixture = maximize(rows, weights, shares, within, mixture.means)
        for name in ("weights", "means", "covariances"):
            np.testing.assert_allclose(
                getattr(mixture, name), getattr(expected, name), rtol=1e-8, atol=1e-10
            )
    assert (np.diff(objectives) > -1e-9).all()


def test_a_replica_fits_its_own_rows_at_least_as_well_as_its_start():
    rows, _, labels = some_rows(1, n=90)
    weights = np.random.default_rng(2).standard_exponential(90)
    within = covariance_within(rows, weights, labels)
    start = maximize(rows, weights, np.eye(3)[labels], within, np.zeros((3, 3)))
    fitted = fit_components(rows, weights, start, within)
    before, after = (em_step_in_loops(rows, weights, m, within)[1] for m in (start, fitted))
    assert after > before


def test_the_covariance_within_clusters_is_pooled_over_them():
    rows = np.array([[0.0], [2.0], [10.0], [10.0]])
    found = covariance_within(rows, np.array([1.0, 1.0, 1.0, 3.0]), np.array([0, 0, 1, 1]))
    assert found[0, 0] == pytest.approx(2 / 6)


def test_a_row_of_weight_two_counts_as_two_rows():
    rows, _, labels = some_rows(3)
    weights = 1.0 + (np.arange(len(rows)) % 2)
    doubled = np.repeat(np.arange(len(rows)), weights.astype(int))
    within = covariance_within(rows, weights, labels)
    np.testing.assert_allclose(
        within, covariance_within(rows[doubled], np.ones(len(doubled)), labels[doubled])
    )
    one = maximize(rows, weights, np.eye(3)[labels], within, np.zeros((3, 3)))
    other = maximize(
        rows[doubled], np.ones(len(doubled)), np.eye(3)[labels[doubled]], within, np.zeros((3, 3))
    )
    np.testing.assert_allclose(one.covariances, other.covariances)


# --- calibration ----------------------------------------------------------------------------------


def test_the_power_by_hand():
    """Shares of 9 : 1, right in three of four cases: 9^t : 1 is 3 : 1 at t = 1/2."""
    assert matching_power([Trial(np.array([[0.9, 0.1]]), 0.75)]) == pytest.approx(0.5)


def test_nothing_is_claimed_that_the_mixtures_do_not():
    assert matching_power([Trial(np.array([[0.6, 0.4]]), 0.9)]) == 1.0


@settings(max_examples=50, deadline=None)
@given(power=st.floats(0.01, 1.0), seed=st.integers(0, 1000))
def test_tempered_shares_sum_to_one_and_keep_their_order(power, seed):
    shares = np.random.default_rng(seed).dirichlet(np.full(4, 0.2), size=20)
    tempered = temper(shares, power)
    np.testing.assert_allclose(tempered.sum(axis=1), 1.0)
    largest = shares.argmax(axis=1)
    rows = np.arange(20)
    assert (tempered[rows, largest] == tempered.max(axis=1)).all()
    assert (tempered[rows, largest] <= shares[rows, largest] + 1e-12).all()


def test_columns_follow_the_numbers_of_the_clusters():
    X, _ = two_groups(300, 2.5)
    labels = (X[:, 0] > 1.2).astype(np.int32)
    one = replica_mixtures(X, np.ones(300), labels, 2, np.random.default_rng(0))
    other = replica_mixtures(X, np.ones(300), 1 - labels, 2, np.random.default_rng(0))
    for a, b in zip(one, other, strict=True):
        there = component_shares(X, b)[:, ::-1]
        np.testing.assert_allclose(component_shares(X, a), there, atol=1e-8)


def calibration_error(probabilities, groups):
    """ECE of two groups, 15 bins of the largest probability; clusters matched for most hits."""
    hit = probabilities.argmax(axis=1) == groups
    hit = hit if hit.mean() >= 0.5 else ~hit
    claimed = probabilities.max(axis=1)
    bins = np.minimum((15 * claimed).astype(int), 14)
    return np.abs(np.bincount(bins, claimed - hit)).sum() / len(hit)


def test_probabilities_are_calibrated_where_votes_are_not():
    """Two groups three standard deviations apart, 4,000 rows.

    Over 24 pairs of seeds the error was 0.008 with a standard deviation of 0.002, and that of the
    votes 0.069 with 0.005: each limit is more than five standard deviations away.
    """
    X, groups = two_groups(4000, 3.0, seed=3)
    model = BBC(2, n_replicas=30, votes="all", random_state=0).fit(X)
    assert calibration_error(model.component_probabilities(), groups) < 0.03
    assert calibration_error(model.memberships_, groups) > 0.04


# --- of a model -----------------------------------------------------------------------------------


def test_two_far_groups_are_certain():
    X, _ = two_groups(300, 50.0)
    model = BBC(2, n_replicas=30, votes="all", random_state=0).fit(X)
    probabilities = model.component_probabilities()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities.argmax(axis=1) == model.labels_).all()
    assert probabilities.max(axis=1).min() > 1 - 1e-9


def test_same_bits_for_any_number_of_threads_and_replicas():
    X, _ = two_groups(120, 2.0)
    one = (
        BBC(2, n_replicas=20, votes="all", random_state=5, n_jobs=1)
        .fit(X)
        .component_probabilities()
    )
    two = (
        BBC(2, n_replicas=30, votes="all", random_state=5, n_jobs=2)
        .fit(X)
        .component_probabilities()
    )
    assert one.tobytes() == two.tobytes()


def test_rows_of_fit_are_judged_as_other_rows_are():
    X, _ = two_groups(120, 2.0)
    weights = np.where(np.arange(120) < 10, 0.0, 1.0 + np.arange(120) % 2)
    model = BBC(2, n_replicas=30, votes="all", random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.component_probabilities(), model.component_probabilities(X))


def test_a_column_without_spread_tells_nothing():
    X, _ = two_groups(120, 2.0)
    flat = np.column_stack([X, np.full(120, 7.0)])
    one = BBC(2, n_replicas=30, votes="all", random_state=0).fit(X).component_probabilities()
    other = BBC(2, n_replicas=30, votes="all", random_state=0).fit(flat).component_probabilities()
    np.testing.assert_allclose(one, other, atol=1e-8)


def test_one_cluster_is_certain():
    X, _ = two_groups(60, 2.0)
    model = BBC(1, n_replicas=30, votes="all", random_state=0).fit(X)
    assert (model.component_probabilities() == np.ones((60, 1))).all()


def test_a_cluster_of_one_row_has_a_density():
    X, _ = two_groups(60, 0.0)
    X[0] = 100.0
    model = fit_component_model(
        Table(X, np.zeros(2)), (np.arange(60) == 0).astype(np.int32), 2, seed=1
    )
    probabilities = model.probabilities(X)
    assert np.isfinite(probabilities).all()
    assert probabilities[0, 1] > 0.99


def test_what_has_no_mixture_is_refused_in_one_sentence(tmp_path):
    X, _ = two_groups(60, 5.0)
    model = BBC(2, n_replicas=30, votes="all", random_state=0).fit(X)
    model.save(tmp_path / "model.bbc")
    with pytest.raises(AttributeError, match="does not hold"):
        load_model(tmp_path / "model.bbc").component_probabilities()
    other = BBC(2, clusterer=AgglomerativeClustering(2), n_replicas=100, random_state=0).fit(X)
    with pytest.raises(ValueError, match="leave clusterer=None"):
        other.component_probabilities()
    X[3, 0] = np.nan
    incomplete = BBC(2, missing="draw", n_replicas=30, votes="all", random_state=0).fit(X)
    with pytest.raises(ValueError, match="1 of 60"):
        incomplete.component_probabilities()
