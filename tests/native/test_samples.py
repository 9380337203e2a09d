"""Samples of a replica's points, on which seedings run first, are fair."""

import ctypes

import numpy as np
import pytest
from native_code import compiled


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled("samples.cpp", tmp_path_factory.mktemp("native"))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def sample(library, weights, size, in_blocks, number):
    """Which points are taken, and their weights."""
    n = len(weights)
    values, weights = np.arange(n, dtype=np.float32), weights.astype(np.float32)
    taken, taken_weights = np.empty(size, np.float32), np.empty(size, np.float32)
    library.sample(
        pointer(values), pointer(weights), ctypes.c_int64(n), ctypes.c_int64(size),
        ctypes.c_bool(in_blocks), ctypes.c_int(number), pointer(taken), pointer(taken_weights),
    )  # fmt: skip
    return taken.astype(int), taken_weights


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize(("n", "size"), [(1024, 512), (1775, 512), (9999, 640), (54_688, 8192)])
def test_a_sample_has_each_point_once_with_its_weight(library, n, size, in_blocks):
    weights = np.random.default_rng(0).gamma(1.0, size=n)
    for number in range(7):
        taken, taken_weights = sample(library, weights, size, in_blocks, number)
        assert len(set(taken)) == size
        assert taken.min() >= 0
        assert taken.max() < n
        np.testing.assert_array_equal(taken_weights, weights.astype(np.float32)[taken])


@pytest.mark.parametrize("in_blocks", [False, True])
def test_all_points_are_equally_likely(library, in_blocks):
    """Places of the numbers are spread evenly: more evenly than independent ones would be."""
    n, size, n_samples = 1600, 320, 1000
    counts = np.zeros(n)
    for number in range(n_samples):
        counts[sample(library, np.ones(n), size, in_blocks, number)[0]] += 1
    share = size / n
    assert np.abs(counts / n_samples - share).max() < 6 * np.sqrt(share / n_samples)


@pytest.mark.parametrize("in_blocks", [False, True])
def test_points_that_were_drawn_early_do_not_count_for_more(library, in_blocks):
    """Rows drawn early are drawn again more often: weights fall along the points of a replica."""
    n, size = 20_000, 512
    weights = np.linspace(3.0, 1.0, n)
    is_data = np.random.default_rng(1).random(n) < np.linspace(0.7, 0.3, n)
    expected = weights[is_data].sum() / weights.sum()
    shares = []
    for number in range(200):
        taken, taken_weights = sample(library, weights, size, in_blocks, number)
        shares.append(taken_weights[is_data[taken]].sum() / taken_weights.sum())
    # the spread of a share among independent samples is at most half the root of its points
    blocks = 16 if in_blocks else 1
    assert np.mean(shares) == pytest.approx(expected, abs=6 * 0.5 / np.sqrt(200 * size / blocks))


@pytest.mark.parametrize("period", [2, 8, 16, 32, 64])
def test_a_table_with_a_rhythm_is_sampled_as_well(library, period):
    n, size = 64_000, 1600
    taken, _ = sample(library, np.ones(n), size, True, 3)
    assert len(set(taken // 16 % period)) > period / 2


def test_sorted_points_keep_weight_and_label_and_find_back(library):
    generator = np.random.default_rng(2)
    n, n_clusters = 1003, 7
    values, weights = np.arange(n, dtype=np.float32), generator.random(n).astype(np.float32)
    labels = generator.integers(n_clusters, size=n).astype(np.float32)
    found = [np.empty(n, np.float32) for _ in range(4)]
    library.sort_and_undo(
        pointer(values), pointer(weights), pointer(labels), ctypes.c_int64(n),
        ctypes.c_int(n_clusters), *(pointer(array) for array in found),
    )  # fmt: skip
    order = np.argsort(labels, kind="stable")
    for array, expected in zip(
        found, (values[order], weights[order], labels[order], labels), strict=True
    ):
        np.testing.assert_array_equal(array, expected)
