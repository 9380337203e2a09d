"""Swaps of centres: a better reference partition for small tables."""

from itertools import product

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbclust import BBC
from bbclust.datasets import make_paper_dataset
from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.stages.kmeans import cluster_reference, lloyd, partition_from_labels
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.swaps import MISSED, draw_swaps, improve_by_swaps, n_futile_swaps, pays_to_swap
from bbclust.stages.table import make_table


def blurred(n=60, d=2, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


@pytest.mark.parametrize("n_clusters", [2, 3, 6])
@pytest.mark.parametrize("weighted", [False, True])
def test_search_equals_the_oracle(n_clusters, weighted):
    X = blurred(45, seed=n_clusters)
    weights = np.random.default_rng(1).gamma(2.0, size=45) if weighted else np.ones(45)
    weights /= weights.mean()
    table = make_table(X, weights if weighted else None)
    start = partition_from_labels(table, (np.arange(45) % n_clusters).astype(np.int32))
    found = improve_by_swaps(table, start, seed=7)
    expected = oracle.improve_by_swaps(
        table.rows,
        weights,
        start.centers - table.center,
        n_clusters=n_clusters,
        seed=7,
        n_futile=n_futile_swaps(n_clusters),
    )
    assert found.inertia == pytest.approx(expected.inertia, rel=1e-9)
    order = np.lexsort((*expected.centers.T[::-1], -np.bincount(expected.labels, weights)))
    np.testing.assert_allclose(
        found.centers - table.center, expected.centers[order], rtol=1e-9, atol=1e-12
    )


def test_best_of_all_partitions_of_seven_rows_is_found():
    """By looking at each of the partitions in three, of four tables."""
    for seed in range(4):
        table = make_table(blurred(7, seed=seed))
        costs = [
            sum(
                float(((table.rows[mine] - table.rows[mine].mean(axis=0)) ** 2).sum())
                for mine in (np.array(labels) == k for k in range(3))
            )
            for labels in product(range(3), repeat=7)
            if len(set(labels)) == 3
        ]
        found = EngineKMeans().find_reference(table, 3, seed=seed).partition
        assert found.inertia == pytest.approx(min(costs), rel=1e-12)


@given(st.integers(0, 2**32), st.integers(2, 7))
@settings(max_examples=30, deadline=None)
def test_never_worse_than_where_it_began_and_an_optimum_of_lloyd(seed, n_clusters):
    table = make_table(blurred(40, seed=seed))
    start = cluster_reference(table, n_clusters, seed=seed)
    found = improve_by_swaps(table, start, seed=seed)
    assert found.inertia <= start.inertia * (1 + 1e-12)
    again = lloyd(table.rows, np.ones(40), found.centers - table.center)
    np.testing.assert_array_equal(again.labels, found.labels)
    assert (np.diff(found.shares) <= 0).all()


def test_seeds_agree_on_the_reference_of_a_paper_table():
    """Starts alone find the best partition of this table for some seeds only."""
    table = make_table(make_paper_dataset(3, random_state=0).data)
    starts = {round(cluster_reference(table, 4, seed).inertia, 6) for seed in range(10)}
    found = {
        round(EngineKMeans().find_reference(table, 4, seed).partition.inertia, 6)
        for seed in range(10)
    }
    assert len(found) < len(starts)
    assert min(found) <= min(starts)


def test_swaps_are_of_every_kind_alike():
    """6 standard errors of a binomial for each of 9 kinds: false alarms below 1e-7."""
    labels = np.repeat([0, 1, 2], [5, 40, 15]).astype(np.int32)
    generator = stream_generator(0, Stage.REFERENCE_SWAPS)
    drawn = np.concatenate([draw_swaps(labels, 3, generator) for _ in range(400)])
    kinds = np.bincount(3 * drawn[:, 0] + labels[drawn[:, 1]], minlength=9) / len(drawn)
    assert (np.abs(kinds - 1 / 9) < 6 * np.sqrt(8 / 81 / len(drawn))).all()


def test_futile_swaps_miss_a_kind_as_rarely_as_is_said():
    for n_clusters in (4, 10, 30):
        missed = (1 - 1 / n_clusters**2) ** n_futile_swaps(n_clusters)
        assert 0.8 * MISSED < missed <= MISSED


def test_rows_of_few_distinct_values_are_left_alone():
    X = np.repeat(np.arange(3.0)[:, None], 10, axis=0)
    start = cluster_reference(make_table(X), 3, seed=0)
    assert improve_by_swaps(make_table(X), start, seed=0) is start


def test_single_precision_ends():
    table = make_table(blurred(80, 3, dtype=np.float32) + np.float32(1000))
    found = EngineKMeans().find_reference(table, 6, seed=0).partition
    assert found.inertia <= cluster_reference(table, 6, seed=0).inertia * (1 + 1e-6)


def test_large_tables_keep_the_partition_of_the_starts():
    table = make_table(blurred(5000, 8))
    assert not pays_to_swap(table, 5)
    kmeans = EngineKMeans()
    tolerance = kmeans.reference_tolerance(table.mean_variance)
    found = kmeans.find_reference(table, 5, seed=3).partition
    starts = cluster_reference(table, 5, seed=3, tolerance=tolerance)
    np.testing.assert_array_equal(found.centers, starts.centers)


def test_one_cluster_has_nothing_to_swap():
    assert not pays_to_swap(make_table(blurred(10)), 1)


def test_same_bits_for_any_number_of_threads():
    X = make_paper_dataset(2, random_state=1).data
    one, three = (
        BBC(5, n_replicas=20, votes="all", random_state=0, n_jobs=j).fit(X) for j in (1, 3)
    )
    np.testing.assert_array_equal(one.memberships_, three.memberships_)
    np.testing.assert_array_equal(one.reference_centers_, three.reference_centers_)
