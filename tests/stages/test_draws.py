"""Replicas against the oracle, word for word, and against Algorithm 1's distribution.

Each statistical test compares a mean over many independent replicas with its expectation and
rejects beyond Z standard errors: a false alarm once in five hundred million per comparison, so
below one in a million for all of a test's comparisons.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import oracle
import pytest
from numpy.testing import assert_equal
from scipy import stats
from scipy.spatial import KDTree
from scipy.special import gammaln

from bbclust import proper_bayesian_bootstrap
from bbclust.priors import GaussianMixture, MixturePrior
from bbclust.stages.bootstrap import Resampling, draw_from_prior, draw_replica, drawn_rows
from bbclust.stages.random_streams import root_seed
from bbclust.stages.table import largest_distance, make_table
from bbclust.validation import check_reach

Z = 6.0

KINDS = [("proper", 0.0), ("proper", 0.5), ("proper", 0.9), ("rubin", 0.0), ("efron", 0.0)]


def mixture_for(d):
    generator = np.random.default_rng(d)
    return GaussianMixture(
        weights=np.array([0.2, 0.5, 0.3]),
        means=generator.normal(size=(3, d)),
        # full rank, rank one, and a point mass
        factors=(generator.normal(size=(d, d)), generator.normal(size=(1, d)), np.zeros((0, d))),
    )


@pytest.fixture(params=[np.float64, np.float32])
def table(request):
    return make_table(np.random.default_rng(1).normal(size=(40, 5)).astype(request.param))


@pytest.mark.parametrize(("kind", "prior_weight"), KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_draws", [40, 7, 701])
def test_replica_equals_the_oracle(table, kind, prior_weight, weighted, n_draws):
    if weighted:
        table = make_table(table.rows, np.random.default_rng(2).gamma(1.0, size=table.n))
    assert_equals_the_oracle(table, mixture_for(table.d), kind, prior_weight, n_draws)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("kind", "prior_weight"), KINDS)
@pytest.mark.parametrize("d", [3, 21])
def test_a_replica_of_many_rows_equals_the_oracle(dtype, kind, prior_weight, d):
    """More rows and draws than are dealt with at once, and factors that are triangles."""
    generator = np.random.default_rng(d)
    mixture = GaussianMixture(
        weights=np.array([0.1, 0.6, 0.3]),
        means=generator.normal(size=(3, d)),
        factors=tuple(np.triu(generator.normal(size=(d, d))) for _ in range(3)),
    )
    table = make_table(generator.normal(size=(9000, d)).astype(dtype))
    assert_equals_the_oracle(table, mixture, kind, prior_weight, n_draws=5000)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_of_more_rows_than_are_dealt_with_at_once_equal_the_oracle(dtype):
    generator = np.random.default_rng(3)
    weights = generator.gamma(1.0, size=2100)
    table = make_table(generator.normal(size=(2100, 2)).astype(dtype), weights / weights.mean())
    assert_equals_the_oracle(table, mixture_for(2), "rubin", 0.0, n_draws=2100)


def assert_equals_the_oracle(table, mixture, kind, prior_weight, n_draws):
    resampling = Resampling(n_draws=n_draws, prior_weight=prior_weight, kind=kind)
    replica = draw_replica(table, mixture, resampling, seed=9, replica=4)
    centered = SimpleNamespace(
        weights=mixture.weights, means=mixture.means - table.center, factors=mixture.factors
    )
    draws = oracle.draw_replica(
        table.rows.astype(float), centered, seed=9, replica=4, n_draws=n_draws,
        prior_weight=prior_weight, kind=kind, row_weights=table.weights,
    )  # fmt: skip
    expected = oracle.merge(draws)
    tolerance = 1e-10 if table.rows.dtype == np.float64 else 2e-6
    from_data = replica.rows >= 0
    assert set(replica.rows[from_data].tolist()) == set(expected["rows"])
    for row, weight in zip(replica.rows[from_data], replica.weights[from_data], strict=True):
        assert weight == pytest.approx(expected["rows"][int(row)], rel=tolerance)
    assert (replica.points[from_data] == table.rows[replica.rows[from_data]]).all()
    assert (~from_data).sum() == len(expected["prior"])
    if not expected["prior"]:
        return
    # Draws from the prior are in no particular order, and in single precision some weigh the same.
    points, weights = (np.array(column) for column in zip(*expected["prior"], strict=True))
    drawn = np.column_stack([replica.points[~from_data], replica.weights[~from_data]])
    _, match = KDTree(np.column_stack([points, weights])).query(drawn)
    assert_equal(np.sort(match), np.arange(len(points)))
    # deviations from the mean are drawn in single precision
    np.testing.assert_allclose(drawn[:, :-1], points[match], rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(drawn[:, -1], weights[match], rtol=tolerance)


@pytest.mark.parametrize(("kind", "prior_weight"), [k for k in KINDS if k[0] != "rubin"])
def test_rows_that_are_drawn_are_all_that_must_be_there(table, kind, prior_weight):
    resampling = Resampling(n_draws=12, prior_weight=prior_weight, kind=kind)
    numbers = drawn_rows(resampling, table.n, 9, range(3, 5))
    assert 0 < len(numbers) < table.n
    part = replace(table, rows=table.rows[numbers], numbers=numbers, n_whole=table.n)
    mixture = mixture_for(table.d)
    for b in (3, 4):
        whole = draw_replica(table, mixture, resampling, seed=9, replica=b)
        stored = draw_replica(part, mixture, resampling, seed=9, replica=b)
        from_data = whole.rows >= 0
        assert_equal(stored.points, whole.points)
        assert_equal(stored.weights, whole.weights)
        assert_equal(numbers[stored.rows[from_data]], whole.rows[from_data])
        assert_equal(stored.rows >= 0, from_data)


@pytest.mark.parametrize("others", [range(0), range(1, 4)])
def test_points_have_one_order_whichever_rows_are_there(others):
    """Many rows are put in order by stretches, of the whole table."""
    table = make_table(np.random.default_rng(0).normal(size=(50_000, 2)))
    resampling = Resampling(n_draws=20_000, prior_weight=0.5)
    drawn = [drawn_rows(resampling, table.n, 9, range(b, b + 1)) for b in (0, *others)]
    numbers = np.unique(np.concatenate(drawn))
    assert len(numbers) > 9000
    part = replace(table, rows=table.rows[numbers], numbers=numbers, n_whole=table.n)
    mixture = mixture_for(table.d)
    whole = draw_replica(table, mixture, resampling, seed=9, replica=0)
    stored = draw_replica(part, mixture, resampling, seed=9, replica=0)
    assert_equal(stored.points, whole.points)
    assert_equal(stored.weights, whole.weights)
    from_data = whole.rows >= 0
    assert_equal(numbers[stored.rows[from_data]], whole.rows[from_data])


def test_a_drawn_row_that_is_not_there_is_an_error(table):
    resampling = Resampling(n_draws=12, prior_weight=0.0)
    numbers = drawn_rows(resampling, table.n, 9, range(1))[1:]
    part = replace(table, rows=table.rows[numbers], numbers=numbers, n_whole=table.n)
    with pytest.raises(IndexError, match="not among those given"):
        draw_replica(part, None, resampling, seed=9, replica=0)


class HandsOver:
    """Another class than a mixture, with the arrays of one."""

    def __init__(self, mixture):
        self.engine_mixture = mixture.engine_mixture

    def sample(self, n, generator):
        raise AssertionError


class SamplesItself(GaussianMixture):
    """A subclass is drawn by the engine all the same, whatever its own method does."""

    def sample(self, n, generator):
        raise AssertionError


def test_the_engine_draws_from_whatever_hands_over_its_arrays(table):
    mixture, resampling = mixture_for(table.d), Resampling(n_draws=40)
    expected = draw_replica(table, mixture, resampling, seed=9, replica=4)
    itself = SamplesItself(mixture.weights, mixture.means, mixture.factors)
    for prior in (HandsOver(mixture), itself):
        assert draw_from_prior(table, prior, resampling, 9, range(2)) is None
        for one, other in zip(draw_replica(table, prior, resampling, 9, 4), expected, strict=True):
            assert_equal(one, other)


@pytest.mark.parametrize("d", [1, 5, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_and_draws_have_one_limit_below_which_squares_are_finite(d, dtype):
    limit = largest_distance(dtype, d)
    table = make_table(np.zeros((2, d), dtype=dtype))
    near, far = (
        SimpleNamespace(sample=lambda n, _, r=r: np.full((n, d), r * limit)) for r in (0.999, 1)
    )
    drawn = draw_from_prior(table, near, Resampling(64, 0.99), 0, range(1)).points
    assert np.isfinite(np.square(drawn + drawn).sum(dtype=dtype))
    check_reach(0.999 * limit, dtype, d)
    with pytest.raises(ValueError, match="whose squares overflow"):
        draw_from_prior(table, far, Resampling(64, 0.99), 0, range(1))
    with pytest.raises(ValueError, match="whose squares overflow"):
        check_reach(limit, dtype, d)


def test_second_resampling_gives_whole_numbers_with_the_weights_as_expectation():
    table = make_table(np.arange(12.0)[:, None])
    seed = root_seed(None)
    for kind in ("proper", "rubin"):
        plain = Resampling(n_draws=12, prior_weight=0.0, kind=kind)
        again = Resampling(n_draws=12, prior_weight=0.0, kind=kind, weighting="resample")
        differences = []
        for b in range(4000):
            weights = np.zeros(12)
            counts = np.zeros(12)
            first = draw_replica(table, None, plain, seed, b)
            second = draw_replica(table, None, again, seed, b)
            weights[first.rows] = first.weights
            counts[second.rows] = second.weights
            assert counts.sum() == 12
            assert (counts == counts.round()).all()
            assert (counts[weights == 0] == 0).all()
            differences.append(counts - weights)
        differences = np.array(differences)
        error = differences.std(axis=0) / np.sqrt(len(differences))
        assert (np.abs(differences.mean(axis=0)) < Z * error).all()


def test_share_of_rows_that_vote_is_as_documented():
    """By the chance that the second sample leaves a row out.

    A row is drawn N times, binomial; its weight is Beta(aN, a(m - N)), and none of m draws with
    that chance finds it with probability E (1 - weight)^m. It would catch rows of the first sample
    that vote although the second leaves them out.
    """
    n, omega, n_replicas, seed = 300, 0.5, 300, root_seed(None)
    table, prior, shape = make_table(np.arange(300.0)[:, None]), mixture_for(1), 1 / (1 - omega)
    times = np.arange(n + 1)
    chance = stats.binom.pmf(times, n, (1 - omega) / n)
    left_out = np.exp(
        gammaln(shape * (n - times[:-1]) + n)
        - gammaln(shape * (n - times[:-1]))
        - gammaln(shape * n + n)
        + gammaln(shape * n)
    )
    expected = {
        "weights": 1 - chance[0],
        "resample": 1 - float(chance[:-1] @ left_out),
    }
    assert expected["weights"] == pytest.approx(1 - np.exp(-(1 - omega)), abs=2e-3)
    few = 1 - np.exp(-(1 - omega) * (1 - (shape / (shape + 1)) ** shape))
    assert few == pytest.approx(0.2425, abs=1e-4)
    assert expected["resample"] == pytest.approx(few, abs=2e-3)
    for weighting, share in expected.items():
        resampling = Resampling(n_draws=n, prior_weight=omega, weighting=weighting)
        drawn = (draw_replica(table, prior, resampling, seed, b) for b in range(n_replicas))
        drawn = (one.rows[(one.rows >= 0) & (one.weights > 0)] for one in drawn)
        voted = np.array([len(np.unique(rows)) for rows in drawn])
        error = voted.std() / n / np.sqrt(n_replicas)
        assert abs(voted.mean() / n - share) < Z * error


def weights_of_sets(table, prior, resampling, n_replicas, sets):
    """Weight of every set in every replica; a set is a function of (points, rows)."""
    seed = root_seed(None)
    result = np.empty((n_replicas, len(sets)))
    for b in range(n_replicas):
        points, weights, rows = draw_replica(table, prior, resampling, seed, b)
        points = points + table.center
        for s, contains in enumerate(sets):
            result[b, s] = weights[contains(points, rows)].sum() / weights.sum()
    return result


def assert_mean_and_variance(values, mean, variance):
    n = len(values)
    error = np.sqrt(variance / n)
    assert abs(values.mean() - mean) < Z * error
    squares = (values - mean) ** 2
    error = squares.std() / np.sqrt(n)
    assert abs(squares.mean() - variance) < Z * error


@pytest.mark.parametrize("n_draws", [5, 20, 100])
@pytest.mark.parametrize("prior_weight", [0.0, 0.3, 0.8])
def test_weight_of_a_set_has_the_mean_and_variance_of_algorithm_1(n_draws, prior_weight):
    n = 20
    X = np.random.default_rng(5).normal(size=(n, 1))
    prior = MixturePrior([1.0], [[1.0]], [[[4.0]]]).prepare(X, None, 1.0)
    resampling = Resampling(n_draws=n_draws, prior_weight=prior_weight)
    k = resampling.concentration(n)
    sets = [
        (lambda points, rows: (rows >= 0) & (rows < 6), 6 / n, 0.0),
        (lambda points, rows: rows == 0, 1 / n, 0.0),
        (lambda points, rows: points[:, 0] < 0.5, (X < 0.5).mean(), stats.norm(1, 2).cdf(0.5)),
    ]
    values = weights_of_sets(make_table(X), prior, resampling, 8000, [s[0] for s in sets])
    for column, (_, in_data, in_prior) in enumerate(sets):
        g = (n * in_data + k * in_prior) / (n + k)
        variance = g * (1 - g) * (n_draws + n + k) / (n_draws * (n + k + 1))
        assert_mean_and_variance(values[:, column], g, variance)


def test_variance_ratio_by_hand():
    """At n = m = k = 20: (m + n + k) / m of the posterior, and more after a second resampling."""
    assert Resampling(20, 0.5).variance_ratio(20) == pytest.approx(3.0)
    again = (3 / 41 * 19 / 20 + 1 / 20) * 41
    assert Resampling(20, 0.5, weighting="resample").variance_ratio(20) == pytest.approx(again)
    assert Resampling(20, 0.5, "rubin").variance_ratio(20) == 1.0
    assert Resampling(10, 0.5, "efron").variance_ratio(20) == 2.0


def test_without_prior_it_tends_to_rubin_only_as_draws_grow():
    """At k = 0, m = n the variance is twice Rubin's; at m = 50 n it is 1.02 times."""
    n, g = 20, 0.3
    rubin = g * (1 - g) / (n + 1)
    table = make_table(np.arange(float(n))[:, None])
    first_six = [lambda points, rows: (rows >= 0) & (rows < 6)]
    for n_draws, ratio in [(n, 2.0), (50 * n, 1.02)]:
        resampling = Resampling(n_draws=n_draws, prior_weight=0.0)
        values = weights_of_sets(table, None, resampling, 4000, first_six)
        assert_mean_and_variance(values[:, 0], g, ratio * rubin)
    values = weights_of_sets(table, None, Resampling(n, 0.0, "rubin"), 8000, first_six)
    assert_mean_and_variance(values[:, 0], g, rubin)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_are_normal_numbers_or_zero(dtype):
    """Gammas of shape 0.001 are often below what a float holds, and so sums need not be slow."""
    table = make_table(np.random.default_rng(0).normal(size=(10, 2)).astype(dtype))
    prior = MixturePrior([1.0], np.zeros((1, 2)), [np.eye(2)]).prepare(table.rows, None, 1.0)
    drawn = draw_replica(table, prior, Resampling(n_draws=20_000, prior_weight=0.5), 3, 0)
    present = drawn.weights[drawn.weights > 0]
    assert present.min() >= np.finfo(dtype).tiny
    assert len(present) < len(drawn.weights)
    assert drawn.weights.sum() == pytest.approx(20_000, rel=1e-5)


def test_efron_counts_are_multinomial():
    n, m, g = 20, 35, 0.3
    table = make_table(np.arange(float(n))[:, None])
    first_six = [lambda points, rows: rows < 6]
    values = weights_of_sets(table, None, Resampling(m, 0.0, "efron"), 8000, first_six)
    assert_mean_and_variance(values[:, 0], g, g * (1 - g) / m)
    replica = draw_replica(table, None, Resampling(m, 0.0, "efron"), 1, 1)
    assert (replica.weights == replica.weights.round()).all()
    assert replica.weights.sum() == m


def test_rubin_weights_follow_the_row_weights():
    """Dirichlet(w_i): mean w_i / n, variance p (1 - p) / (n + 1)."""
    n = 12
    weights = np.linspace(0.2, 1.8, n)
    table = make_table(np.arange(float(n))[:, None], weights)
    rows = [lambda points, rows, i=i: rows == i for i in range(n)]
    values = weights_of_sets(table, None, Resampling(n, 0.0, "rubin"), 8000, rows)
    for i in range(n):
        p = weights[i] / n
        assert_mean_and_variance(values[:, i], p, p * (1 - p) / (n + 1))


@pytest.mark.parametrize("prior_weight", [0.1, 0.5, 0.95])
def test_share_of_prior_draws(prior_weight):
    table = make_table(np.random.default_rng(0).normal(size=(50, 3)))
    resampling = Resampling(n_draws=200, prior_weight=prior_weight)
    seed = root_seed(None)
    count = sum(
        (draw_replica(table, mixture_for(3), resampling, seed, b).rows < 0).sum()
        for b in range(300)
    )
    total = 300 * 200
    assert abs(count - total * prior_weight) < Z * np.sqrt(
        total * prior_weight * (1 - prior_weight)
    )


@pytest.mark.parametrize("prior_weight", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_draws_have_the_moments_of_the_posterior_base(prior_weight, weighted):
    """Mean and second moments against (k F0 + n Fn) / (k + n)."""
    X = np.random.default_rng(3).gamma(2.0, size=(30, 3))
    weights = np.random.default_rng(4).uniform(0.1, 2.0, size=30) if weighted else None
    weights = None if weights is None else weights / weights.mean()
    table, mixture = make_table(X, weights), mixture_for(3)
    resampling = Resampling(n_draws=30, prior_weight=prior_weight)
    moments = []
    seed = root_seed(None)
    for b in range(6000):
        points, w, _ = draw_replica(table, mixture, resampling, seed, b)
        points, w = points + table.center, w / w.sum()
        second = np.einsum("i,ij,ik->jk", w, points, points)
        moments.append(np.concatenate([w @ points, second.ravel()]))
    moments = np.array(moments)
    p = np.full(30, 1 / 30) if weights is None else weights / 30
    data = np.concatenate([p @ X, np.einsum("i,ij,ik->jk", p, X, X).ravel()])
    means, covariances = mixture.means, mixture.covariances
    second = np.einsum("c,cjk->jk", mixture.weights, covariances) + np.einsum(
        "c,cj,ck->jk", mixture.weights, means, means
    )
    prior = np.concatenate([mixture.weights @ means, second.ravel()])
    expected = prior_weight * prior + (1 - prior_weight) * data
    error = moments.std(axis=0) / np.sqrt(len(moments))
    assert (np.abs(moments.mean(axis=0) - expected) < Z * error).all()


def test_public_generator_yields_normalised_replicas_in_the_units_of_the_data():
    X = 1e6 + np.random.default_rng(0).normal(size=(25, 2))
    prior = MixturePrior([1, 3], [[1e6, 1e6], [1e6 + 5, 1e6]], [np.eye(2), np.eye(2)])
    replicas = list(proper_bayesian_bootstrap(X, prior, n_replicas=5, random_state=1))
    assert len(replicas) == 5
    for points, weights, rows in replicas:
        assert weights.sum() == pytest.approx(1)
        np.testing.assert_allclose(points[rows >= 0], X[rows[rows >= 0]], rtol=1e-15)
        assert (np.abs(points - 1e6) < 20).all()
    again = proper_bayesian_bootstrap(X, prior, n_replicas=2, random_state=1)
    assert (next(again).weights == replicas[0].weights).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"prior": None}, "there is no prior"),
        ({"prior": None, "prior_weight": 1.0}, "below 1"),
        ({"prior": None, "prior_weight": 0, "n_draws": 0}, "at least 1"),
        ({"prior": MixturePrior([1], [[0.0]], [[[1.0]]])}, "1 features and X has 2"),
    ],
)
def test_public_generator_refuses_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        proper_bayesian_bootstrap(np.zeros((4, 2)), **arguments)
