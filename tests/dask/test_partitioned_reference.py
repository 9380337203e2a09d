"""The reference partition of a table in partitions, and what the prior is made of."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal
from sklearn.base import BaseEstimator

from bbclust import BBC
from bbclust.dask.cluster.session import open_session
from bbclust.dask.partitioned import reference
from bbclust.dask.partitioned.passes import result_of
from bbclust.dask.partitioned.reference import (
    NearestCenterRule,
    cluster_partitions,
    cross_products,
    reference_from,
)
from bbclust.dask.partitioned.table import rows_of, survey
from bbclust.ensemble.assembly import make_plan, make_settings
from bbclust.ensemble.engine_kmeans import EngineKMeans

GENERATOR = np.random.default_rng(1)
SIZES = (900, 1500, 600)
X = GENERATOR.permutation(
    np.concatenate(
        [GENERATOR.normal(4 * j, 1 + j / 2, size=(size, 2)) for j, size in enumerate(SIZES)]
    )
)


@pytest.fixture
def session(client):
    with open_session(client) as session:
        yield session


@pytest.fixture
def table(session):
    model = BaseEstimator()
    return survey(session, model, rows_of(model, da.from_array(X, chunks=(170, 2)), reset=True))


def rule_of(session, table, max_iter=300, tol=0.0):
    settings = make_settings(
        EngineKMeans(5, max_iter, tol), resampling="proper", prior_weight=0.5, weighting="weights"
    )
    return cluster_partitions(session, table, 3, make_plan(settings, table, seed=0))


def test_full_passes_end_where_lloyd_stands_still(session, table, monkeypatch):
    monkeypatch.setattr(reference, "SAMPLE", 200)
    rule = rule_of(session, table)
    labels = rule.labels(X)
    means = [X[labels == k].mean(axis=0) for k in range(3)]
    assert_allclose(rule.centers, means, rtol=1e-12)
    # another fixed point than from another start, perhaps, but no worse one
    local = BBC(3, random_state=0, n_replicas=1, votes="all").fit(X)
    assert cost(rule) < 1.001 * cost(NearestCenterRule(local.reference_centers_, table.center))


def cost(rule):
    return np.square(X - rule.centers[rule.labels(X)]).sum()


def test_passes_stop_at_the_tolerance_and_at_max_iter(session, table, monkeypatch):
    monkeypatch.setattr(reference, "SAMPLE", 200)
    assert rule_of(session, table).n_iter > 2
    # one iteration on the sample, one pass
    assert rule_of(session, table, max_iter=1).n_iter == 2
    assert rule_of(session, table, tol=np.inf).n_iter == 2


def test_a_sample_of_all_rows_needs_no_passes(session, table, monkeypatch):
    def refuse(*arguments):
        raise AssertionError

    monkeypatch.setattr(reference, "_pass", refuse)
    rule_of(session, table)


def test_an_empty_cluster_moves_to_the_row_farthest_from_its_centre(session, table):
    rule = NearestCenterRule(np.array([[0.0, 0.0], [6.0, 6.0], [500.0, 500.0]]), table.center)
    moved = reference._pass(session, table, rule)
    centers = rule.centers[rule.labels(X)]
    farthest = np.square(X - centers).sum(axis=1).argmax()
    assert_equal(moved.centers[2], X[farthest])


def test_sizes_means_and_covariances_are_those_of_the_rows(session, table):
    rule = NearestCenterRule(np.array([[0.0, 1.0], [9.0, 7.0], [4.0, 4.0]]), table.center)
    found = reference_from(rule, result_of(session, cross_products(session, table, rule)))
    labels = found.rule.labels(X)
    sizes = np.bincount(labels)
    assert sizes.tolist() == sorted(sizes, reverse=True)
    assert_equal(found.moments.sizes, sizes)
    assert_allclose(found.shares, sizes / len(X))
    for k in range(3):
        mine = X[labels == k]
        assert_allclose(found.centers[k], mine.mean(axis=0), rtol=1e-12)
        covariance = np.cov(mine.T, bias=True)
        assert_allclose(found.moments.covariances[k], covariance, rtol=1e-10, atol=1e-12)


def test_covariances_far_from_zero(session):
    model, far = BaseEstimator(), X + 1e8
    table = survey(session, model, rows_of(model, da.from_array(far, chunks=500), reset=True))
    rule = NearestCenterRule(np.array([[1e8, 1e8], [1e8 + 9, 1e8 + 7]]), table.center)
    found = reference_from(rule, result_of(session, cross_products(session, table, rule)))
    mine = far[found.rule.labels(far) == 0]
    exact = np.cov((mine - 1e8).T, bias=True)
    assert_allclose(found.moments.covariances[0], exact, rtol=1e-6)
