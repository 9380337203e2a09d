"""Alignment against all permutations."""

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from bbclust.stages.alignment import align, overlap_matrix, pair_clusters


@given(st.integers(1, 6), st.integers(0, 2**32), st.integers(1, 30))
@settings(max_examples=300, deadline=None)
def test_overlap_and_margin_equal_brute_force(n_clusters, seed, largest):
    generator = np.random.default_rng(seed)
    overlap = generator.integers(0, largest + 1, size=(n_clusters, n_clusters))
    distances = generator.uniform(0, 100, size=(n_clusters, n_clusters))
    mine, expected = align(overlap, distances), oracle.align(overlap, distances)
    assert mine.overlap == expected.overlap
    assert tuple(mine.to_reference) == expected.to_reference
    if n_clusters > 1 and overlap.sum():
        assert mine.margin == pytest.approx((expected.overlap - expected.second) / overlap.sum())


@pytest.mark.parametrize("n_clusters", [7, 20, 60])
def test_overlap_equals_scipys_for_many_clusters(n_clusters):
    generator = np.random.default_rng(n_clusters)
    overlap = generator.integers(0, 10_000, size=(n_clusters, n_clusters))
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    mine = align(overlap, generator.uniform(size=overlap.shape))
    assert mine.overlap == overlap[rows, columns].sum()
    assert sorted(mine.to_reference) == list(range(n_clusters))


def test_second_best_is_found_for_many_clusters():
    """A diagonal of tens with one pair that swaps at the price of three."""
    overlap = 10 * np.eye(12, dtype=np.int64)
    overlap[4, 7], overlap[7, 4] = 8, 9
    mine = align(overlap, np.ones((12, 12)))
    assert mine.margin == pytest.approx(3 / overlap.sum())


def test_equal_overlaps_go_to_the_nearest_centers():
    overlap = np.array([[5, 5], [5, 5]])
    assert align(overlap, np.array([[9.0, 1.0], [1.0, 9.0]])).to_reference.tolist() == [1, 0]
    assert align(overlap, np.array([[1.0, 9.0], [9.0, 1.0]])).to_reference.tolist() == [0, 1]


def test_distance_never_outweighs_a_single_point():
    overlap = np.array([[1_000_001, 1_000_000], [1_000_000, 1_000_000]])
    distances = np.array([[1e9, 0.0], [0.0, 1e9]])
    assert align(overlap, distances).to_reference.tolist() == [0, 1]


def test_empty_rows_are_settled_by_distance():
    overlap = np.array([[7, 0, 0], [0, 0, 0], [0, 0, 0]])
    distances = np.array([[0.0, 9.0, 9.0], [9.0, 4.0, 1.0], [9.0, 1.0, 4.0]])
    mine = align(overlap, distances)
    assert mine.to_reference.tolist() == [0, 2, 1]
    assert mine.margin == 0.0


def test_one_cluster_has_margin_one_and_no_points_margin_zero():
    assert align(np.array([[4]]), np.zeros((1, 1))).margin == 1.0
    assert align(np.zeros((2, 2), dtype=np.int64), np.zeros((2, 2))).margin == 0.0


def test_margin_by_hand():
    overlap = np.array([[6, 2], [1, 7]])  # 13 as it is, 3 swapped, of 16 points
    assert align(overlap, np.zeros((2, 2))).margin == pytest.approx(10 / 16)


def test_overlap_matrix_counts_pairs():
    matrix = overlap_matrix(np.array([0, 0, 1, 2]), np.array([1, 1, 0, 2], dtype=np.int32), 3)
    assert matrix.tolist() == [[0, 2, 0], [1, 0, 0], [0, 0, 1]]


def test_equal_pairings_of_more_clusters_than_the_reference_has_go_to_the_nearest_centers():
    overlap = np.array([[3, 3], [3, 3], [0, 1]])
    distances = np.array([[9.0, 1.0], [1.0, 9.0], [0.0, 0.0]])
    assert pair_clusters(overlap, distances).to_reference.tolist() == [1, 0, -1]


def test_clusters_without_a_common_row_are_not_paired():
    pairing = pair_clusters(np.array([[4, 0], [0, 0]]), np.ones((2, 2)))
    assert pairing.to_reference.tolist() == [0, -1]
    assert pairing.margin == 1.0
