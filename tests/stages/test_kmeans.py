"""Seeding, Lloyd and the reference partition."""

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from bbclust._native import engine
from bbclust.stages.kmeans import cluster_reference, lloyd, partition_from_labels, seed_centers
from bbclust.stages.random_streams import Stage
from bbclust.stages.table import make_table


def weighted_points(n, d, seed, dtype=np.float64, spread=3.0):
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(n, d)) + spread * generator.integers(0, 4, size=(n, 1))
    return points.astype(dtype), generator.gamma(2.0, size=n)


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 8, 21])
@pytest.mark.parametrize(("n", "d"), [(30, 1), (133, 4), (2500, 2), (70, 11)])
def test_seeding_equals_the_oracle(n, d, n_clusters):
    points, weights = weighted_points(n, d, seed=n)
    centers = seed_centers(points, weights, n_clusters, seed=5, start=2, replica=3)
    raw = oracle.words(5, Stage.SEEDING, 8 * n_clusters, 2, 3)
    np.testing.assert_array_equal(centers, oracle.seed_centers(points, weights, n_clusters, raw))


def test_seeding_stops_when_the_points_run_out():
    points = np.repeat(np.arange(3.0)[:, None], 10, axis=0)
    centers = seed_centers(points, np.ones(30), 5, seed=1)
    assert sorted(centers[:, 0].tolist()) == [0.0, 1.0, 2.0]


def test_seeding_never_picks_a_point_of_weight_zero():
    points = np.arange(50.0)[:, None]
    weights = (np.arange(50) % 5 == 0).astype(float)
    for seed in range(50):
        assert (seed_centers(points, weights, 10, seed=seed)[:, 0] % 5 == 0).all()


def test_first_center_is_drawn_by_weight():
    """6 standard errors of a binomial: a false alarm once in five hundred million."""
    points, weights = np.arange(4.0)[:, None], np.array([1.0, 2.0, 3.0, 4.0])
    picks = [int(seed_centers(points, weights, 1, seed=s)[0, 0]) for s in range(20_000)]
    shares = np.bincount(picks, minlength=4) / 20_000
    expected = weights / 10
    assert (np.abs(shares - expected) < 6 * np.sqrt(expected * (1 - expected) / 20_000)).all()


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 9, 30])
@pytest.mark.parametrize(("n", "d"), [(40, 1), (133, 4), (1500, 8), (90, 13)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lloyd_equals_the_oracle(n, d, n_clusters, dtype):
    points, weights = weighted_points(n, d, seed=d, dtype=dtype)
    start = points[:n_clusters].astype(np.float64)
    run = lloyd(points, weights, start)
    # the engine weighs in the type of the data
    expected = oracle.lloyd(
        points.astype(float), weights.astype(dtype).astype(float), start, n_clusters=n_clusters
    )
    np.testing.assert_array_equal(run.labels, expected.labels)
    np.testing.assert_allclose(run.centers, expected.centers, rtol=1e-9, atol=1e-9)
    assert run.inertia == pytest.approx(expected.inertia, rel=1e-9)


def test_lloyd_by_hand():
    points = np.array([[0.0], [1.0], [10.0], [14.0]])
    run = lloyd(points, np.array([1.0, 3.0, 1.0, 1.0]), np.array([[0.0], [9.0]]))
    assert run.labels.tolist() == [0, 0, 1, 1]
    assert run.centers[:, 0].tolist() == [0.75, 12.0]
    assert run.inertia == pytest.approx(0.75**2 + 3 * 0.25**2 + 4 + 4)


def test_empty_cluster_takes_the_farthest_point():
    points = np.array([[0.0], [1.0], [2.0], [30.0]])
    run = lloyd(points, np.ones(4), np.array([[0.0], [500.0]]))
    assert run.labels.tolist() == [0, 0, 0, 1]
    assert run.centers[:, 0].tolist() == [1.0, 30.0]


@pytest.mark.parametrize("n_clusters", [4, 7])
def test_surplus_clusters_stay_empty_and_relocation_ends(n_clusters):
    points = np.repeat(np.array([[0.0, 0.1], [1.0, 0.3], [5.0, 0.7]]), 4, axis=0)
    run = lloyd(points, np.ones(12), np.zeros((n_clusters, 2)) + np.arange(n_clusters)[:, None])
    assert len(np.unique(run.labels)) == 3
    assert run.inertia == pytest.approx(0, abs=1e-12)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_lloyd_ends_at_means_of_nearest_points(data):
    n = data.draw(st.integers(2, 60))
    d = data.draw(st.integers(1, 9))
    n_clusters = data.draw(st.integers(1, min(n, 12)))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    points = generator.normal(size=(n, d))
    weights = generator.uniform(0.1, 2, size=n)
    run = lloyd(points, weights, points[:n_clusters])
    distances = oracle.squared_distances(points, run.centers)
    assert (distances[np.arange(n), run.labels] <= distances.min(axis=1) * (1 + 1e-9) + 1e-12).all()
    for k in range(n_clusters):
        mine = run.labels == k
        assert mine.any()  # n distinct points: no cluster stays empty
        mean = np.average(points[mine], axis=0, weights=weights[mine])
        np.testing.assert_allclose(run.centers[k], mean, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 2**32), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_weight_two_equals_two_copies(seed, n_clusters):
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(30, 2))
    copies = generator.integers(1, 4, size=30)
    weighted = lloyd(points, copies.astype(float), points[:n_clusters])
    copied = lloyd(np.repeat(points, copies, axis=0), np.ones(copies.sum()), points[:n_clusters])
    np.testing.assert_allclose(weighted.centers, copied.centers, rtol=1e-9, atol=1e-12)
    assert weighted.inertia == pytest.approx(copied.inertia)
    np.testing.assert_array_equal(np.repeat(weighted.labels, copies), copied.labels)


def test_points_of_weight_zero_do_not_count():
    points, weights = weighted_points(80, 3, seed=0)
    weights[::3] = 0
    run = lloyd(points, weights, points[1:20:6])
    without = lloyd(points[weights > 0], weights[weights > 0], points[1:20:6])
    np.testing.assert_allclose(run.centers, without.centers, rtol=1e-12)
    np.testing.assert_array_equal(run.labels[weights > 0], without.labels)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_reference_finds_the_optimum_that_scikit_learn_finds(dtype):
    X, _ = weighted_points(400, 3, seed=8, dtype=dtype)
    for n_clusters in (2, 4):
        mine = cluster_reference(make_table(X), n_clusters, seed=1, tolerance=0.0)
        theirs = KMeans(n_clusters, n_init=30, tol=0, random_state=0).fit(X.astype(float))
        assert mine.inertia == pytest.approx(theirs.inertia_, rel=1e-6)


def test_single_starts_are_as_good_as_scikit_learns_on_average():
    """6 standard errors of the difference of two means: a false alarm below one in 10^8."""
    X, _ = weighted_points(400, 3, seed=8)
    table = make_table(X)
    centers, labels = np.empty((7, 3)), np.empty(400, dtype=np.int32)
    mine = np.array(
        [
            engine.kmeans(table.rows, np.ones(400), seed, 1, 300, 0.0, 1, centers, labels)[0]
            for seed in range(200)
        ]
    )
    theirs = np.array(
        [KMeans(7, n_init=1, tol=0, random_state=seed).fit(X).inertia_ for seed in range(200)]
    )
    error = np.sqrt((mine.var() + theirs.var()) / 200)
    assert abs(mine.mean() - theirs.mean()) < 6 * error


def test_reference_finds_fifteen_blobs():
    generator = np.random.default_rng(0)
    centers = np.array([[20 * (i % 4), 20 * (i // 4)] for i in range(15)], dtype=float)
    X = np.repeat(centers, 60, axis=0) + generator.normal(size=(900, 2))
    partition = cluster_reference(make_table(X), 15, seed=2, tolerance=0.0)
    assert np.bincount(partition.labels).tolist() == [60] * 15


def test_clusters_are_numbered_by_size_then_by_coordinates():
    X = np.array([[0.0], [0.1], [9.0], [9.1], [9.2], [5.0], [5.1]])
    partition = cluster_reference(make_table(X), 3, seed=0)
    assert partition.labels.tolist() == [1, 1, 0, 0, 0, 2, 2]
    assert partition.centers[:, 0] == pytest.approx([9.1, 0.05, 5.05])
    assert partition.shares == pytest.approx([3 / 7, 2 / 7, 2 / 7])


def test_sizes_are_weighted():
    X = np.array([[0.0], [0.1], [9.0], [9.1], [9.2]])
    weights = np.array([2.0, 2.0, 0.5, 0.25, 0.25])
    partition = cluster_reference(make_table(X, weights), 2, seed=0)
    assert partition.labels.tolist() == [0, 0, 1, 1, 1]
    assert partition.centers[:, 0] == pytest.approx([0.05, (4.5 + 2.275 + 2.3) / 1.0])
    assert partition.shares == pytest.approx([0.8, 0.2])


def test_partition_from_labels_has_the_means_of_the_labels():
    X, weights = weighted_points(50, 2, seed=3)
    labels = np.repeat(np.arange(3), [10, 25, 15]).astype(np.int32)
    partition = partition_from_labels(make_table(X, weights / weights.mean()), labels)
    for k in range(3):
        original = labels[partition.labels == k][0]
        mine = labels == original
        mean = np.average(X[mine], axis=0, weights=weights[mine])
        np.testing.assert_allclose(partition.centers[k], mean)
    assert (np.diff(partition.shares) <= 0).all()


def test_reference_does_not_depend_on_threads():
    X, _ = weighted_points(500, 5, seed=1)
    one, five = (cluster_reference(make_table(X), 6, seed=3, n_jobs=j) for j in (1, 5))
    assert (one.centers == five.centers).all()
    assert (one.labels == five.labels).all()


def test_engine_reports_its_instruction_set():
    assert engine.ISA in ("portable", "avx2", "avx512")
