"""A clusterer that the engine does not know runs through its replica loop, with no change to it.

``toy_clusterer.cpp`` is compiled here, against the headers of the engine alone.
"""

import ctypes

import numpy as np
import pytest
from native_code import compiled
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from bbclust._native import using_isa
from bbclust.priors import MixturePrior
from bbclust.stages.bootstrap import Resampling, draw_arguments, draw_replica
from bbclust.stages.table import make_table

SEED, FIRST, COUNT, K, D = 11, 5, 40, 3, 4
RESAMPLING = Resampling(n_draws=200, prior_weight=0.3)


@pytest.fixture(scope="module")
def run_toy_replicas(tmp_path_factory):
    return compiled("toy_clusterer.cpp", tmp_path_factory.mktemp("native")).run_toy_replicas


@pytest.fixture(scope="module")
def problem():
    """Overlapping clusters, whose rows are not all nearest to the centre of their own."""
    generator = np.random.default_rng(0)
    labels = generator.integers(K, size=150).astype(np.int32)
    means = generator.normal(scale=1.5, size=(K, D))
    table = make_table(means[labels] + generator.normal(size=(150, D)))
    centers = np.array([table.rows[labels == k].mean(axis=0) for k in range(K)])
    prior = MixturePrior([1, 2], means[:2], [np.eye(D), 2 * np.eye(D)])
    return table, labels, centers, prior.prepare(table.rows, None, 1.0)


def as_c(value):
    if isinstance(value, np.ndarray):
        return value.ctypes.data_as(ctypes.c_void_p)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)


def by_engine(run_toy_replicas, problem, evaluation_rows, *, vote_on_all, n_threads):
    table, labels, centers, prior = problem
    draws = draw_arguments(table, prior, RESAMPLING, SEED)
    mixture = ["mixture_cumulative", "mixture_means", "factor_rows", "factor_offsets"]
    results = {
        "votes": np.zeros((table.n, K), dtype=np.int32),
        "centers": np.empty((COUNT, K, D)),
        "occupied": np.empty((COUNT, K), dtype=np.uint8),
        "margin": np.empty(COUNT),
        "inertia": np.empty(COUNT),
        "n_iter": np.empty(COUNT, dtype=np.int32),
        "evaluation_labels": np.empty((COUNT, len(evaluation_rows)), dtype=np.int16),
    }
    arguments = [
        *[SEED, RESAMPLING.n_draws, RESAMPLING.prior_weight, table.n, D, table.rows],
        *[len(draws["mixture_cumulative"]), *(draws[name] for name in mixture)],
        *[K, centers, labels, int(vote_on_all), len(evaluation_rows), evaluation_rows],
        *[FIRST, COUNT, n_threads, *results.values()],
    ]
    run_toy_replicas(*map(as_c, arguments))
    return results


def cluster(replica, centers):
    """The toy clusterer: labels, means, inertia."""
    labels = cdist(replica.points, centers).argmin(axis=1)
    shares = (labels == np.arange(K)[:, None]) * replica.weights
    means = shares @ replica.points / shares.sum(axis=1, keepdims=True)
    inertia = (replica.weights * ((replica.points - means[labels]) ** 2).sum(axis=1)).sum()
    return labels, means, inertia


def by_numpy(problem, evaluation_rows, *, vote_on_all):
    table, labels, centers, prior = problem
    votes = np.zeros((table.n, K), dtype=np.int32)
    evaluation_labels = np.full((COUNT, len(evaluation_rows)), -1)
    aligned_means, inertias = np.empty((COUNT, K, D)), np.empty(COUNT)
    for b in range(COUNT):
        with using_isa("portable"):  # for which the toy is compiled: the same rounding
            replica = draw_replica(table, prior, RESAMPLING, SEED, FIRST + b)
        found, means, inertias[b] = cluster(replica, centers)
        by_row = np.full(table.n, -1)
        drawn = replica.rows >= 0
        by_row[replica.rows[drawn]] = found[drawn]
        if vote_on_all:
            by_row = cdist(table.rows, means).argmin(axis=1)
        compared = evaluation_rows if vote_on_all else replica.rows[drawn]
        overlap = np.zeros((K, K))
        np.add.at(overlap, (by_row[compared], labels[compared]), 1)
        to_reference = linear_sum_assignment(overlap, maximize=True)[1]
        aligned = np.where(by_row < 0, -1, to_reference[by_row])
        voted = aligned >= 0
        votes[voted, aligned[voted]] += 1
        evaluation_labels[b] = aligned[evaluation_rows]
        aligned_means[b, to_reference] = means
    return votes, aligned_means, inertias, evaluation_labels


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("vote_on_all", [False, True])
def test_toy_clusterer_votes_as_written_in_numpy(run_toy_replicas, problem, vote_on_all, n_threads):
    rows = np.arange(0, 150, 3)
    found = by_engine(run_toy_replicas, problem, rows, vote_on_all=vote_on_all, n_threads=n_threads)
    votes, centers, inertias, labels = by_numpy(problem, rows, vote_on_all=vote_on_all)
    assert (votes.argmax(axis=1) != problem[1]).any()  # not the reference over again
    np.testing.assert_array_equal(found["votes"], votes)
    np.testing.assert_array_equal(found["evaluation_labels"], labels)
    np.testing.assert_allclose(found["centers"], centers, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found["inertia"], inertias, rtol=1e-10)
    assert (found["occupied"] == 1).all()
    assert (found["n_iter"] == 1).all()
    assert (found["margin"] > 0).all()
