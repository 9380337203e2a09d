"""Missing values against slow definitions, cases computed by hand, and the conditional law."""

import numpy as np
import oracle_missing
import pytest
from numpy.testing import assert_allclose, assert_equal
from scipy import stats

from bbclust._native import engine
from bbclust.stages.bootstrap import Resampling, draw_replica
from bbclust.stages.kmeans import Partition, cluster_reference
from bbclust.stages.missing_values import (
    RIDGE,
    MissingModel,
    complete_rows,
    draws_by_content,
    draws_by_number,
    elicit_model,
    hash_rows,
)
from bbclust.stages.observed_kmeans import (
    N_FILLS,
    cluster_observed,
    fill_from_columns,
    observed_lloyd,
)
from bbclust.stages.table import Table, make_table


def with_holes(X, share, seed=0):
    """X without a share of its values; every row keeps one."""
    generator = np.random.default_rng(seed)
    missing = generator.random(X.shape) < share
    missing[np.arange(len(X)), generator.integers(0, X.shape[1], len(X))] = False
    return np.where(missing, np.nan, X).astype(X.dtype)


def two_clusters(n=60, d=4, seed=3):
    generator = np.random.default_rng(seed)
    mixing = generator.normal(size=(2, d, d))
    labels = np.arange(n) % 2
    rows = np.einsum("if,ifg->ig", generator.normal(size=(n, d)), mixing[labels])
    return rows + 5.0 * labels[:, None] + 100.0, labels.astype(np.int32)


def partition(table, labels, shares=None):
    K = int(labels.max()) + 1
    if shares is None:
        mass = np.bincount(labels, weights=table.weights_or_ones(), minlength=K)
        shares = mass / mass.sum()
    return Partition(labels, np.zeros((K, table.d)), shares, table.weights, 0.0, 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_iter", [1, 2, 9])
def test_moments_equal_the_oracle(weighted, n_iter):
    X, labels = two_clusters()
    weights = np.random.default_rng(1).gamma(2.0, size=len(X)) if weighted else None
    weights = None if weights is None else weights / weights.mean()
    table = make_table(with_holes(X, 0.3), weights)
    found = elicit_model(table, partition(table, labels), max_iter=n_iter, tolerance=0.0)
    means, covariances, expected = oracle_missing.em_moments(
        table.rows, table.weights_or_ones(), labels, n_iter, table.d + 1, RIDGE
    )
    assert_allclose(found.model.means - table.center, means, atol=1e-9)
    assert_allclose(found.model.covariances, covariances, atol=1e-9)
    assert_allclose(found.covariances, expected, atol=1e-9)


def test_moments_of_a_column_that_a_cluster_lacks_are_those_of_all_rows():
    X, labels = two_clusters()
    X = with_holes(X, 0.2)
    X[labels == 1, 2] = np.nan
    table = make_table(X)
    found = elicit_model(table, partition(table, labels), max_iter=5, tolerance=0.0)
    _, covariances, _ = oracle_missing.em_moments(
        table.rows, table.weights_or_ones(), labels, 5, table.d + 1, RIDGE
    )
    assert found.model.means[1, 2] == pytest.approx(np.nanmean(X[:, 2]))
    assert_allclose(found.model.covariances, covariances, atol=1e-9)


def test_moments_of_complete_rows_are_those_of_the_clusters():
    X, labels = two_clusters()
    table = make_table(X)
    model, covariances = elicit_model(table, partition(table, labels))
    for j in (0, 1):
        assert_allclose(model.means[j], X[labels == j].mean(axis=0))
        assert_allclose(covariances[j], np.cov(X[labels == j].T, bias=True), atol=1e-10)


def test_moments_of_two_columns_by_hand():
    """Where only the second column has holes, EM ends at its regression on the first among complete
    rows (Anderson 1957); of one cluster, the pooled covariance is its own."""
    generator = np.random.default_rng(5)
    x = generator.normal(size=4000)
    y = 2.0 * x + generator.normal(size=4000)
    X = np.column_stack([x, np.where(x > 0.5, np.nan, y)])
    table = make_table(X)
    labels = np.zeros(len(X), dtype=np.int32)
    model, covariances = elicit_model(
        table, partition(table, labels), max_iter=5000, tolerance=1e-12
    )
    kept = x <= 0.5
    slope, intercept = np.polyfit(x[kept], y[kept], 1)
    residual = np.mean((y[kept] - intercept - slope * x[kept]) ** 2)
    assert_allclose(model.means[0], [x.mean(), intercept + slope * x.mean()], rtol=1e-6, atol=1e-6)
    variance = x.var()
    by_hand = [[variance, slope * variance], [slope * variance, residual + slope**2 * variance]]
    assert_allclose(covariances[0], by_hand, rtol=1e-6)


@pytest.mark.parametrize("order", [[2, 0, 3, 1], [3, 2, 1, 0]])
def test_moments_do_not_depend_on_the_order_of_columns(order):
    X, labels = two_clusters()
    X = with_holes(X, 0.3)
    table, moved = make_table(X), make_table(np.ascontiguousarray(X[:, order]))
    one, other = (
        elicit_model(table, partition(table, labels)),
        elicit_model(moved, partition(moved, labels)),
    )
    assert_allclose(other.model.means, one.model.means[:, order], atol=1e-9)
    assert_allclose(
        other.model.covariances, one.model.covariances[:, order][:, :, order], atol=1e-9
    )


def test_moments_have_the_same_bits_for_any_number_of_threads():
    X, labels = two_clusters(300)
    table = make_table(with_holes(X, 0.3))
    one = elicit_model(table, partition(table, labels))
    two = elicit_model(table, partition(table, labels), n_jobs=2)
    assert_equal(two.model.covariances, one.model.covariances)
    assert_equal(two.model.means, one.model.means)


@pytest.mark.parametrize("kind", ["one row", "constant column", "collinear", "fewer rows than d"])
def test_flat_clusters_give_finite_numbers(kind):
    X, labels = two_clusters(30)
    if kind == "one row":
        labels = (np.arange(len(X)) == 7).astype(np.int32)
    if kind == "constant column":
        X[:, 1] = 4.0
    if kind == "collinear":
        X[:, 1] = X[:, 0] + X[:, 2]
    if kind == "fewer rows than d":
        labels = (np.arange(len(X)) < 3).astype(np.int32)
    table = make_table(with_holes(X, 0.3))
    model, covariances = elicit_model(table, partition(table, labels))
    assert np.isfinite(model.covariances).all()
    for covariance in (*model.covariances, *covariances):
        assert np.linalg.eigvalsh(covariance).min() >= -1e-9 * np.trace(covariance)
    completed = complete_rows(table.rows, table.center, draws_by_number(model, table, 1))
    assert np.isfinite(completed).all()
    if kind == "constant column":
        assert_allclose(completed[:, 1], 0.0, atol=1e-9)


def some_model(d=4, K=3):
    generator = np.random.default_rng(8)
    factors = generator.normal(size=(K, d, d))
    return MissingModel(
        np.array([0.5, 0.3, 0.2]),
        generator.normal(size=(K, d)) + 10.0,
        np.einsum("kfi,kgi->kfg", factors, factors),
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["proper", "rubin", "efron"])
def test_rows_of_a_replica_are_completed_as_the_oracle_does(dtype, kind):
    X = with_holes(np.random.default_rng(2).normal(10.0, 1.5, size=(50, 4)).astype(dtype), 0.4)
    table, model = make_table(X), some_model()
    draws = draws_by_number(model, table, 77)
    resampling = Resampling(n_draws=50, prior_weight=0.0, kind=kind)
    replica = draw_replica(table, None, resampling, 77, 5, draws)
    assert len(replica.rows)
    for point, row in zip(replica.points, replica.rows, strict=True):
        expected = table.rows[row].astype(float)
        if np.isnan(expected).any():
            expected = oracle_missing.complete(
                expected, row * 2, model.weights, model.means - table.center, model.covariances,
                seed=77, purpose=0, replica=5,
            )  # fmt: skip
        assert_allclose(point, expected, rtol=1e-9 if dtype == np.float64 else 1e-5, atol=1e-6)


def test_factors_that_find_no_room_give_the_same_bits():
    X = with_holes(np.random.default_rng(2).normal(10.0, 1.5, size=(50, 4)), 0.4)
    table, model = make_table(X), some_model()
    draws = draws_by_number(model, table, 77)
    kept = complete_rows(table.rows, table.center, draws, replica=3)
    again = np.empty_like(kept)
    engine.complete_rows(table.rows, (*draws.for_engine(table.center)[:-1], 0), 3, again)
    assert_equal(again, kept)
    assert_equal(again[~np.isnan(X)], table.rows[~np.isnan(X)])


def test_other_rows_are_completed_alike_wherever_they_stand():
    X = with_holes(np.random.default_rng(2).normal(10.0, 1.5, size=(20, 4)), 0.4)
    origin, model = np.full(4, 10.0), some_model()

    def completed(rows):
        return complete_rows(
            rows - origin, origin, draws_by_content(model, rows, rows - origin, origin, 5)
        )

    assert_equal(completed(X[::-1].copy())[::-1], completed(X))
    assert_equal(completed(X[3:7].copy()), completed(X)[3:7])
    assert len(np.unique(hash_rows(X))) == len(X)


def test_missing_values_follow_the_conditional_mixture():
    """A Kolmogorov-Smirnov test of 20,000 completed values of one row: false alarm 1e-7.

    It fails if components are not weighed by the density of what is observed, or if the
    conditional mean or variance is that of the whole component.
    """
    model = MissingModel(
        np.array([0.7, 0.3]),
        np.array([[0.0, 0.0], [2.0, 3.0]]),
        np.array([[[1.0, 0.8], [0.8, 1.0]], [[1.0, -0.5], [-0.5, 2.0]]]),
    )
    n, x = 20_000, 1.1
    table = Table(np.column_stack([np.full(n, x), np.full(n, np.nan)]), center=np.zeros(2))
    values = complete_rows(table.rows, table.center, draws_by_number(model, table, 13))
    # by hand: regression of the second column on the first
    first = 0.7 * stats.norm.pdf(x, 0, 1)
    second = 0.3 * stats.norm.pdf(x, 2, 1)
    share = first / (first + second)

    def cdf(t):
        return share * stats.norm.cdf(t, 0.8 * x, 0.6) + (1 - share) * stats.norm.cdf(
            t, 3.0 - 0.5 * (x - 2.0), np.sqrt(1.75)
        )

    assert stats.kstest(values[:, 1], cdf).pvalue > 1e-7


def test_lloyd_on_what_is_observed_equals_the_oracle():
    X, _ = two_clusters(80)
    rows = with_holes(X, 0.3)
    weights = np.random.default_rng(1).gamma(2.0, size=len(X))
    start = X[:3].copy()
    found = observed_lloyd(rows, weights, start)
    labels, centers, cost = oracle_missing.observed_lloyd(rows, weights, start)
    assert_equal(found.labels, labels)
    assert_allclose(found.centers, centers)
    assert found.inertia == pytest.approx(cost)


def test_lloyd_fills_a_cluster_that_no_row_is_near():
    rows = np.array([[0.0, np.nan], [0.1, 0.0], [np.nan, 9.0], [5.0, 9.5]])
    found = observed_lloyd(rows, np.ones(4), np.array([[0.0, 0.0], [1000.0, 1000.0]]))
    assert len(set(found.labels.tolist())) == 2


def test_the_reference_of_separate_clusters_is_found_in_spite_of_holes():
    generator = np.random.default_rng(0)
    truth = np.arange(200) % 4
    X = generator.normal(size=(200, 6)) + 20.0 * generator.normal(size=(4, 6))[truth]
    found = cluster_observed(make_table(with_holes(X, 0.3)), 4, seed=1)
    pairs = set(zip(found.labels.tolist(), truth.tolist(), strict=True))
    assert len(pairs) == 4


def test_the_best_of_several_fills_is_kept():
    table = make_table(with_holes(np.random.default_rng(4).normal(size=(60, 3)), 0.4))
    costs = []
    for fill in range(N_FILLS):
        start = cluster_reference(make_table(fill_from_columns(table.rows, 1, fill)), 5, 1)
        costs.append(observed_lloyd(table.rows, np.ones(60), start.centers).inertia)
    assert min(costs) < max(costs)
    assert cluster_observed(table, 5, seed=1).inertia == min(costs)


def test_fills_are_values_of_the_same_column():
    X = with_holes(np.random.default_rng(2).normal(size=(40, 3)), 0.4)
    filled = fill_from_columns(X, 3, 0)
    for f in range(3):
        assert np.isin(filled[:, f], X[:, f]).all()
    assert_equal(fill_from_columns(X, 3, 0), filled)
    assert (fill_from_columns(X, 3, 1) != filled).any()


def test_columns_are_centred_on_what_is_observed():
    X = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 8.0]])
    assert_equal(make_table(X).center, [2.0, 6.0])
    assert_equal(make_table(X, np.array([1.0, 3.0, 0.0])).center, [2.5, 4.0])
    assert make_table(X).mean_variance == 2.5
