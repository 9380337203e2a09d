"""Trimmed k-means: which rows a reference partition leaves out."""

from itertools import combinations, product

import numpy as np
import pytest

from bbclust import BBC, KSelector, load_model
from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.selection.checkpoint import fingerprint
from bbclust.selection.grid import GridSettings
from bbclust.stages.table import make_table
from bbclust.stages.trimming import concentrate, find_kept_rows, keep_nearest, take_rows

KMEANS = EngineKMeans()


def two_groups_and_two_far_rows():
    """18 rows around (0, 0) and (10, 0), and rows 4 and 13 far away."""
    X = np.random.default_rng(0).normal(size=(20, 2)) + 10 * (np.arange(20) % 2)[:, None] * [1, 0]
    X[4], X[13] = [500, 300], [-400, 350]
    return X


def find(X, n_clusters, share, *, weights=None, seed=0):
    table = make_table(X, weights)
    return find_kept_rows(
        table,
        n_clusters,
        share,
        seed,
        lambda t: KMEANS.find_reference(t, n_clusters, seed).partition,
    )


def least_cost(X, n_kept):
    """The least cost of two clusters of so many rows, over all sets of rows and partitions."""
    best = np.inf
    for rows in combinations(range(len(X)), n_kept):
        kept = X[list(rows)]
        for labels in product((0, 1), repeat=n_kept - 1):
            second = np.array((0, *labels), dtype=bool)
            if second.any():
                parts = kept[second], kept[~second]
                best = min(best, sum(((p - p.mean(axis=0)) ** 2).sum() for p in parts))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_no_set_of_rows_and_no_partition_costs_less(seed):
    X = np.random.default_rng(seed).standard_t(2, size=(7, 2))
    kept = find(X, 2, 0.3, seed=seed)
    assert kept.sum() == 5
    found = KMEANS.find_reference(take_rows(make_table(X), kept), 2, seed).partition.inertia
    assert found == pytest.approx(least_cost(X, 5), rel=1e-9)


def test_the_farthest_go_until_their_weight_is_more_than_the_share():
    distances = np.array([1.0, 5.0, 4.0, 2.0])
    assert keep_nearest(distances, np.ones(4), 0.25).tolist() == [True, False, True, True]
    assert keep_nearest(distances, np.array([1, 1, 3, 1.0]), 0.5).tolist() == [1, 0, 1, 1]
    assert keep_nearest(distances, np.array([1, 1, 2, 1.0]), 0.6).tolist() == [1, 0, 0, 1]


def test_shares_that_are_not_whole_in_binary_count_as_they_are_meant():
    distances = np.arange(100.0)
    assert keep_nearest(distances, np.ones(100), 0.29).sum() == 71


def test_a_step_never_costs_more():
    X = np.random.default_rng(1).standard_t(2, size=(60, 2))
    centers, costs = X[:3], []
    for _ in range(5):
        found = concentrate(X, np.ones(60), centers, 0.1)
        centers = found.centers
        costs.append(found.cost)
    assert costs == sorted(costs, reverse=True)


def test_some_rows_make_a_table_of_their_own():
    X = np.random.default_rng(2).normal(size=(10, 3))
    weights = np.linspace(0.5, 1.5, 10)
    which = np.arange(10) % 3 > 0
    table = take_rows(make_table(X, weights), which)
    np.testing.assert_allclose(table.original(), X[which], atol=1e-12)
    np.testing.assert_allclose(np.average(table.rows, axis=0, weights=table.weights), 0, atol=1e-12)
    assert table.weights.mean() == pytest.approx(1)


def test_far_rows_are_left_out_and_the_centres_are_the_means_of_the_others():
    X = two_groups_and_two_far_rows()
    model = BBC(2, n_replicas=20, votes="all", trim=0.1, random_state=0).fit(X)
    assert np.flatnonzero(model.trimmed_).tolist() == [4, 13]
    odd = np.arange(20) % 2 == 1
    means = [X[side & ~model.trimmed_].mean(axis=0) for side in (odd, ~odd)]
    order = np.argsort(model.reference_centers_[:, 0])[::-1]
    np.testing.assert_allclose(model.reference_centers_[order], means, atol=1e-9)
    nearest = ((X[:, None] - model.reference_centers_) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.reference_labels_, nearest)
    np.testing.assert_array_equal(model.labels_[[4, 13]], nearest[[4, 13]])
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)
    assert model.was_fitted_to(X)


def test_the_prior_and_the_replicas_know_nothing_of_rows_left_out():
    X = two_groups_and_two_far_rows()
    model = BBC(2, n_replicas=50, votes="all", trim=0.1, random_state=0).fit(X)
    draws = model.prior_.sample(1000, np.random.default_rng(0))
    assert np.abs(draws).max() < 30
    assert np.abs(model.replica_centers_).max() < 30


def test_rows_left_out_are_as_rows_of_weight_zero():
    X = two_groups_and_two_far_rows()
    trimmed = BBC(2, n_replicas=20, votes="all", trim=0.1, random_state=0).fit(X)
    weightless = BBC(2, n_replicas=20, votes="all", random_state=0).fit(
        X, sample_weight=~trimmed.trimmed_
    )
    np.testing.assert_allclose(trimmed.memberships_, weightless.memberships_)
    np.testing.assert_allclose(trimmed.cluster_centers_, weightless.cluster_centers_)


def test_rows_of_weight_zero_are_never_trimmed_and_shares_are_of_weight():
    X = two_groups_and_two_far_rows()
    weights = np.ones(20)
    weights[4], weights[:4] = 0, 3.0
    model = BBC(2, n_replicas=20, votes="all", trim=0.05, random_state=0).fit(
        X, sample_weight=weights
    )
    assert np.flatnonzero(model.trimmed_).tolist() == [13]
    weights[13] = 2.0  # more than a twentieth of 28
    assert not model.fit(X, sample_weight=weights).trimmed_[13]


def test_without_trim_every_bit_is_as_it_was():
    X = np.random.default_rng(3).normal(size=(80, 2))
    before, now = (
        BBC(3, n_replicas=20, votes="all", random_state=0, **p).fit(X) for p in ({}, {"trim": 0})
    )
    too_few = BBC(3, n_replicas=20, votes="all", random_state=0, trim=0.01).fit(
        X
    )  # less than one row
    for model in (now, too_few):
        np.testing.assert_array_equal(model.memberships_, before.memberships_)
        np.testing.assert_array_equal(model.replica_centers_, before.replica_centers_)
        assert not model.trimmed_.any()


def test_same_bits_for_any_number_of_threads():
    X = np.random.default_rng(4).standard_t(2, size=(300, 3))
    one, two = (
        BBC(4, n_replicas=20, votes="all", trim=0.05, n_jobs=n, random_state=0).fit(X)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.trimmed_, two.trimmed_)
    np.testing.assert_array_equal(one.memberships_, two.memberships_)
    assert one.trimmed_.sum() == 15


def test_more_replicas_leave_out_the_same_rows():
    X = two_groups_and_two_far_rows()
    model = BBC(2, n_replicas=10, votes="all", trim=0.1, random_state=0).fit(X).add_replicas(10)
    whole = BBC(2, n_replicas=20, votes="all", trim=0.1, random_state=0).fit(X)
    np.testing.assert_array_equal(model.memberships_, whole.memberships_)


def test_files_keep_the_parameter(tmp_path):
    X = two_groups_and_two_far_rows()
    BBC(2, n_replicas=10, votes="all", trim=0.1, random_state=0).fit(X).save(tmp_path / "model.bbc")
    loaded = load_model(tmp_path / "model.bbc")
    assert loaded.trim == 0.1
    with pytest.raises(AttributeError, match="trimmed_"):
        _ = loaded.trimmed_


@pytest.mark.parametrize("trim", [-0.1, 0.5, float("nan")])
def test_other_shares_are_refused(trim):
    with pytest.raises(ValueError, match=r"trim must be at least 0 and below 0\.5"):
        BBC(2, trim=trim).fit(two_groups_and_two_far_rows())


def test_what_trim_is_not_for_is_refused():
    X = two_groups_and_two_far_rows()
    with pytest.raises(TypeError, match="trim must be a number"):
        BBC(2, trim="some").fit(X)
    with pytest.raises(ValueError, match="trim cannot be used with missing='draw'"):
        BBC(2, trim=0.1, missing="draw").fit(X)
    with pytest.raises(ValueError, match="trim is for k-means"):
        BBC(2, trim=0.1, clusterer=lambda rows: (rows[:, 0] > 5).astype(int)).fit(X)
    with pytest.raises(ValueError, match="reference_labels give one"):
        BBC(2, trim=0.1).fit(X, reference_labels=np.arange(20) % 2)
    with pytest.raises(ValueError, match="leaves too few distinct rows for 19 clusters"):
        BBC(19, trim=0.1).fit(X)


def test_k_is_found_beside_far_rows():
    generator = np.random.default_rng(5)
    centers = np.array([[0, 0], [12, 0], [6, 10]])
    X = centers[np.arange(90) % 3] + generator.normal(size=(90, 2))
    far = np.array([[300, 200], [-250, 100], [50, -400]])
    selector = KSelector(
        BBC(n_replicas=60, n_init=2, trim=0.04), k_range=(2, 3, 4), random_state=0
    ).fit(np.vstack([X, far]))
    assert selector.best_k_ == 3
    assert selector.best_estimator_.trimmed_[-3:].all()
    reference = selector.grid_.references[1]
    np.testing.assert_array_equal(reference.labels[-3:], -1)
    np.testing.assert_allclose(
        np.sort(reference.centers, axis=0), np.sort(centers, axis=0), atol=1.0
    )


def test_checkpoints_know_the_share():
    X = two_groups_and_two_far_rows()
    plain, trimmed = (
        fingerprint(X, None, GridSettings(BBC(trim=trim)._settings(), 20, 20), 0)
        for trim in (0.0, 0.1)
    )
    assert trimmed.keys() - plain.keys() == {"trim"}
