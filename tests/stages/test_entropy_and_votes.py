"""Entropies, memberships and their Monte-Carlo errors."""

from functools import partial

import numpy as np
import oracle
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bbclust import entropy, pairwise_entropy
from bbclust.stages.entropies import entropy_between, pair_doubts, worst_pair
from bbclust.stages.monte_carlo import (
    entropy_interval,
    mean_entropy_bias,
    mean_entropy_influence,
    membership_se,
    pair_doubt_bias,
    pair_doubt_influence,
    pairwise_entropy_influence,
    share_interval,
    standard_error,
)
from bbclust.stages.voting import count_votes, memberships, nearest_center, vote_by_centers

VOTES = hnp.arrays(
    np.int32,
    st.tuples(st.integers(1, 15), st.integers(1, 6)),
    elements=st.integers(0, 40),
).filter(lambda votes: (votes.sum(axis=1) > 0).all())


@given(VOTES)
@settings(max_examples=200, deadline=None)
def test_entropies_equal_the_definition(votes):
    u = memberships(votes)
    n_clusters = u.shape[1]
    expected = [oracle.entropy(row) for row in u]
    np.testing.assert_allclose(entropy(u), expected, atol=1e-12)
    assert (entropy(u) <= np.log2(n_clusters) + 1e-12).all()
    pairwise = pairwise_entropy(u)
    for a in range(n_clusters):
        assert pairwise[a, a] == 0
        for b in range(a + 1, n_clusters):
            each = [oracle.pairwise_entropy(row, a, b) for row in u]
            assert pairwise[a, b] == pairwise[b, a] == pytest.approx(np.mean(each), abs=1e-12)
            np.testing.assert_allclose(pairwise_entropy(u, pair=(a, b)), each, atol=1e-12)


@given(VOTES)
@settings(max_examples=50, deadline=None)
def test_renaming_clusters_changes_nothing(votes):
    u = memberships(votes)
    np.testing.assert_allclose(entropy(u), entropy(u[:, ::-1]), atol=1e-12)
    np.testing.assert_allclose(
        pairwise_entropy(u), pairwise_entropy(u[:, ::-1])[::-1, ::-1], atol=1e-12
    )


def test_at_two_clusters_both_entropies_are_equal():
    u = memberships(np.random.default_rng(0).integers(0, 30, size=(500, 2)).astype(np.int32) + 1)
    assert entropy(u).mean() == pytest.approx(pairwise_entropy(u)[0, 1], rel=1e-12)


def test_a_point_without_votes_for_either_is_not_undecided_between_them():
    u = np.array([[0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    assert pairwise_entropy(u)[0, 1] == 0.5
    assert pairwise_entropy(u, pair=(0, 1)).tolist() == [0.0, 1.0]


def test_bases():
    u = [[0.25, 0.75]]
    assert entropy(u, base=np.e)[0] == pytest.approx(entropy(u)[0] * np.log(2))
    assert pairwise_entropy(u, base=4)[0, 1] == pytest.approx(pairwise_entropy(u)[0, 1] / 2)
    assert pairwise_entropy(u, base=4, pair=(0, 1))[0] == pytest.approx(entropy(u)[0] / 2)


def test_weights_of_points():
    u = [[0.5, 0.5], [1.0, 0.0]]
    assert pairwise_entropy(u, sample_weight=[3, 1])[0, 1] == 0.75


@pytest.mark.parametrize(
    ("memberships", "words"),
    [
        ([0.5, 0.5], r"shape \(2,\)"),
        ([[1.5, -0.5]], "got -0.5"),
        ([[0.5, 0.2]], "row 0 sums to 0.7"),
        ([[np.nan, 1.0]], "got nan"),
    ],
)
def test_bad_memberships_are_refused(memberships, words):
    with pytest.raises(ValueError, match=words):
        entropy(memberships)


def test_worst_pair():
    pairwise = np.array([[0, 0.2, 0.1], [0.2, 0, 0.4], [0.1, 0.4, 0]])
    assert worst_pair(pairwise) == (1, 2)
    assert worst_pair(np.zeros((1, 1))) is None


def test_memberships_are_shares():
    u = memberships(np.array([[1, 3], [0, 0]], dtype=np.int32))
    assert u.tolist() == [[0.25, 0.75], [0.0, 0.0]]


def test_share_intervals_are_jeffreys_and_end_at_the_borders():
    low, high = share_interval([0, 3, 10, 0], [10, 10, 10, 0], 0.95)
    np.testing.assert_allclose([low[1], high[1]], scipy.stats.beta(3.5, 7.5).interval(0.95))
    assert (low[0], high[2]) == (0, 1)
    np.testing.assert_allclose([1 - low[2], high[0]], scipy.stats.beta(0.5, 10.5).ppf(0.975))
    assert np.isnan([low[3], high[3]]).all()


def test_share_intervals_hold_the_share_about_as_often_as_they_say():
    """By all outcomes and their probabilities: exact, not simulated."""
    for trials in (20, 80, 400):
        outcomes = np.arange(trials + 1)
        low, high = share_interval(outcomes, np.full(trials + 1, trials), 0.95)
        shares = np.linspace(0.05, 0.95, 181)
        held = [
            scipy.stats.binom(trials, share).pmf(outcomes) @ ((low <= share) & (share <= high))
            for share in shares
        ]
        assert abs(np.mean(held) - 0.95) < 0.006


def test_memberships_of_rows_without_votes_are_those_of_a_label_or_of_all_alike():
    votes = np.array([[1, 3], [0, 0], [0, 0], [0, 0]], dtype=np.int32)
    u = memberships(votes, otherwise=np.array([0, 0, 1, -1]))
    assert u.tolist() == [[0.25, 0.75], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]


def test_membership_se_is_jeffreys_posterior_deviation():
    votes = np.array([[3, 7], [0, 10]], dtype=np.int32)
    for row, errors in zip(votes, membership_se(votes), strict=True):
        a, b = row + 0.5
        assert errors == pytest.approx(np.sqrt(a * b / ((a + b) ** 2 * (a + b + 1))))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_centers_vote_for_the_nearest_and_unoccupied_ones_abstain(dtype, n_jobs):
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(2100, 3)).astype(dtype)
    centers = generator.normal(size=(7, 5, 3))
    occupied = generator.uniform(size=(7, 5)) < 0.7
    occupied[:, 0] = True
    votes = vote_by_centers(rows, centers, occupied, n_jobs=n_jobs)
    expected = np.zeros_like(votes)
    for b in range(7):
        distances = oracle.squared_distances(rows.astype(float), centers[b])
        distances[:, ~occupied[b]] = np.inf
        np.add.at(expected, (np.arange(len(rows)), distances.argmin(axis=1)), 1)
    # single precision may decide the rare near-ties otherwise
    assert (votes != expected).any(axis=1).sum() <= (0 if dtype == np.float64 else 3)
    assert (votes.sum(axis=1) == 7).all()


@pytest.mark.parametrize("n_replicas", [254, 255, 256, 257, 511])
def test_more_votes_for_one_cluster_than_a_byte_holds_are_counted(n_replicas):
    rows, centers = np.zeros((3, 2)), np.tile([[0.0, 0.0], [9.0, 9.0]], (n_replicas, 1, 1))
    votes = vote_by_centers(rows, centers, np.ones((n_replicas, 2), dtype=np.bool_))
    assert votes.tolist() == [[n_replicas, 0]] * 3


def test_nearest_center():
    centers = np.array([[0.0], [10.0]])
    assert nearest_center(np.array([[1.0], [9.0], [4.0]]), centers).tolist() == [0, 1, 0]
    assert nearest_center(np.empty((0, 1)), centers).shape == (0,)


def simulate(probabilities, drawn, n_replicas, generator):
    """Votes of independent replicas on points with given probabilities."""
    n_points, n_clusters = probabilities.shape
    u = generator.uniform(size=(n_replicas, n_points, 1))
    labels = (u > np.cumsum(probabilities, axis=1)).sum(axis=2).clip(max=n_clusters - 1)
    labels[generator.uniform(size=labels.shape) > drawn] = -1
    counts = np.stack([(labels == k).sum(axis=0) for k in range(n_clusters)], axis=1)
    labels = labels.astype(np.int16)
    assert (count_votes(labels, n_clusters) == counts).all()
    return labels, counts.astype(np.int32)


def left_out(labels, counts, result):
    """The jackknife, literally: the result without each replica, as what each replica moves it."""
    without = []
    for replica in labels:
        rest = counts.copy()
        points = np.flatnonzero(replica >= 0)
        rest[points, replica[points]] -= 1
        without.append(result(rest))
    B = len(labels)
    return (np.mean(without) - np.array(without)) * (B - 1) / B


def corrected_entropy(counts):
    """B H - (B - 1) mean of H without one vote, for one point; 0 without votes."""

    def plain(votes):
        total = votes.sum()
        shares = votes[votes > 0] / max(total, 1)
        return -(shares * np.log2(shares)).sum()

    total = counts.sum()
    if total == 0:
        return 0.0
    without = [
        mine * plain(counts - np.eye(len(counts), dtype=int)[k])
        for k, mine in enumerate(counts)
        if mine
    ]
    return total * plain(counts) - (total - 1) / total * sum(without)


def corrected_mean(counts, weights):
    return np.average([corrected_entropy(row) for row in counts], weights=weights)


def corrected_doubt(counts, weights, pair):
    """The jackknife of t S for every point, over the mean of t."""

    def plain(votes):
        total, two = votes.sum(), votes[list(pair)]
        if total == 0 or two.sum() == 0:
            return 0.0
        shares = two[two > 0] / two.sum()
        return -(shares * np.log2(shares)).sum() * two.sum() / total

    values = []
    for row in counts:
        total = row.sum()
        one = np.eye(len(row), dtype=int)
        without = sum(mine * plain(row - one[k]) for k, mine in enumerate(row) if mine)
        values.append(total * plain(row) - (total - 1) / max(total, 1) * without if total else 0)
    together = counts[:, list(pair)].sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return (weights * values).sum() / (weights * together).sum()


@pytest.mark.parametrize("drawn", [0.4, 1.0])
def test_influences_are_what_a_result_loses_without_each_replica(drawn):
    generator = np.random.default_rng()
    probabilities = generator.dirichlet([0.5, 0.5, 0.5, 0.5], size=9)
    weights = generator.uniform(0.5, 2.0, size=9)
    labels, counts = simulate(probabilities, drawn, 12, generator)
    weights = weights * (counts.sum(axis=1) > 1)

    def pairwise(counts):
        first, second = counts[:, 0].astype(float), counts[:, 2].astype(float)
        return np.average(entropy_between(first, second), weights=weights)

    for expected, found in [
        (partial(corrected_mean, weights=weights), mean_entropy_influence),
        (pairwise, partial(pairwise_entropy_influence, pair=(0, 2))),
        (
            partial(corrected_doubt, weights=weights, pair=(0, 2)),
            partial(pair_doubt_influence, pair=(0, 2)),
        ),
    ]:
        np.testing.assert_allclose(
            found(labels, counts, weights), left_out(labels, counts, expected), atol=1e-12
        )


def test_bias_is_the_plain_value_less_the_jackknife():
    generator = np.random.default_rng()
    weights = generator.uniform(0.5, 2.0, size=9)
    _, counts = simulate(generator.dirichlet([0.5] * 3, size=9), 1.0, 12, generator)
    u = counts / counts.sum(axis=1, keepdims=True)
    plain = np.average(entropy(u), weights=weights)
    assert mean_entropy_bias(counts, weights) == pytest.approx(
        plain - corrected_mean(counts, weights)
    )
    doubt = pair_doubts(u, weights)[0, 1]
    assert pair_doubt_bias(counts, weights, (0, 1)) == pytest.approx(
        doubt - corrected_doubt(counts, weights, (0, 1))
    )


def test_bias_by_hand():
    """One vote for each of two: 1 bit, and 0 without either vote, so 2 by the jackknife."""
    counts = np.array([[1, 1]], dtype=np.int32)
    assert mean_entropy_bias(counts, np.ones(1)) == pytest.approx(1 - 2)
    assert pair_doubt_bias(counts, np.ones(1), (0, 1)) == pytest.approx(1 - 2)
    agreed = np.array([[7, 0], [0, 7]], dtype=np.int32)
    assert mean_entropy_bias(agreed, np.ones(2)) == 0


def test_correction_leaves_a_tenth_of_the_bias_at_most():
    """20,000 points of 40 votes: the error of either mean is below 0.001, the bias is 0.03 bits."""
    generator = np.random.default_rng()
    shares = np.array([0.6, 0.3, 0.1])
    counts = generator.multinomial(40, shares, size=20_000).astype(np.int32)
    truth = float(entropy([shares])[0])
    plain = entropy(counts / 40).mean()
    bias = mean_entropy_bias(counts, np.ones(len(counts)))
    assert truth - plain > 0.03
    assert abs(plain - bias - truth) < 0.006  # five standard errors and a tenth of the bias


def test_interval_is_around_the_corrected_value_and_wider_for_a_larger_correction():
    low, high = entropy_interval(0.10, -0.01, 0.01, 200, 0.95)
    assert low * high == pytest.approx(0.11**2)
    assert low < 0.10 < 0.11 < high
    assert entropy_interval(0.10, -0.02, 0.01, 200, 0.95)[1] > high
    assert entropy_interval(0.10, -0.01, 0.01, 200, 0.5)[1] < high
    assert entropy_interval(0.0, 0.0, 0.0, 200, 0.95) == (0.0, 0.0)
    assert np.isnan(entropy_interval(0.1, 0.0, float("nan"), 1, 0.95)).all()


def test_standard_errors_match_the_spread_over_repetitions():
    """Ratio of mean stated error to true spread over 2,000 repetitions.

    The spread's own relative error is about 1 / sqrt(4,000) = 1.6%; the jackknife is good to a few
    percent. A deviation of 20% is beyond ten standard errors.
    """
    generator = np.random.default_rng()
    probabilities = np.array([[0.6, 0.3, 0.1], [0.5, 0.5, 0.0], [0.9, 0.05, 0.05]] * 4)
    weights = np.linspace(1, 2, 12)
    means, errors, pair_means, pair_errors = [], [], [], []
    for _ in range(2000):
        labels, counts = simulate(probabilities, 0.5, 200, generator)
        u = counts / counts.sum(axis=1, keepdims=True)
        corrected = np.average(entropy(u), weights=weights) - mean_entropy_bias(counts, weights)
        means.append(corrected)
        errors.append(standard_error(mean_entropy_influence(labels, counts, weights)))
        pair_means.append(pairwise_entropy(u, sample_weight=weights)[0, 1])
        pair_errors.append(
            standard_error(pairwise_entropy_influence(labels, counts, weights, pair=(0, 1)))
        )
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.2)
    assert np.mean(pair_errors) == pytest.approx(np.std(pair_means), rel=0.2)


def test_standard_error_of_one_replica_is_unknown_and_of_unanimous_votes_zero():
    labels = np.zeros((1, 4), dtype=np.int16)
    counts = np.array([[1, 0]] * 4, dtype=np.int32)
    assert np.isnan(standard_error(mean_entropy_influence(labels, counts, np.ones(4))))
    labels, counts = np.zeros((9, 4), dtype=np.int16), 9 * counts
    assert standard_error(mean_entropy_influence(labels, counts, np.ones(4))) == 0
    assert standard_error(pairwise_entropy_influence(labels, counts, np.ones(4), pair=(0, 1))) == 0
