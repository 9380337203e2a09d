"""What one look at a partition adds up, against slow Python from the definitions."""

import numpy as np
import pytest

from bbclust._native import ISAS, engine, using_isa
from bbclust.dask.partitioned.reference import (
    NearestCenterRule,
    add_up,
    sum_clusters,
    sum_products,
)
from bbclust.dask.partitioned.table import SLAB


def table(n, d, n_clusters, dtype):
    generator = np.random.default_rng([n, d])
    rows = (generator.normal(size=(n, d)) + 10).astype(dtype)
    return rows, NearestCenterRule(generator.normal(size=(n_clusters, d)) + 10, rows.mean(axis=0))


def slow_moments(rows, rule, about):
    """Row by row, in the order of the table."""
    n_clusters, d = rule.centers.shape
    counts, sums = np.zeros(n_clusters, dtype=np.int64), np.zeros((n_clusters, d))
    products = np.zeros((n_clusters, d, d))
    for row in rows.astype(np.float64):
        k = np.argmin(((row - rule.centers) ** 2).sum(axis=1))
        deviation = row - about[k]
        counts[k] += 1
        sums[k] += deviation
        products[k] += np.outer(deviation, deviation)
    return counts, sums, products


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "n_clusters"), [(1, 3, 2), (700, 1, 4), (2500, 5, 7)])
def test_moments_are_those_of_the_definition(n, d, n_clusters, dtype, isa):
    rows, rule = table(n, d, n_clusters, dtype)
    origins = np.broadcast_to(rule.origin, rule.centers.shape)
    with using_isa(isa):
        sums, products = sum_clusters(rows, 0, rule), sum_products(rows, 0, rule)
    counts, expected, _ = slow_moments(rows, rule, origins)
    np.testing.assert_array_equal(sums.counts, counts)
    np.testing.assert_array_equal(sums.sums, expected)  # added one after the other, as here
    counts, expected, squares = slow_moments(rows, rule, rule.centers)
    np.testing.assert_array_equal(products.counts, counts)
    np.testing.assert_array_equal(products.sums, expected)
    np.testing.assert_allclose(products.products, squares, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(products.products, products.products.transpose(0, 2, 1))


def test_a_partition_of_several_slabs_is_the_sum_of_them():
    rows, rule = table(2 * SLAB + 17, 2, 3, np.float32)
    whole = sum_products(rows, 0, rule)
    parts = add_up(
        [sum_products(rows[at : at + SLAB], 0, rule) for at in range(0, len(rows), SLAB)]
    )
    assert whole.counts.sum() == len(rows)
    np.testing.assert_array_equal(whole.counts, parts.counts)
    np.testing.assert_array_equal(whole.sums, parts.sums)
    np.testing.assert_allclose(whole.products, parts.products, rtol=1e-12)


def test_products_are_left_out_if_there_is_no_room_for_them():
    rows, rule = table(50, 2, 3, np.float64)
    counts, sums = np.zeros(3, dtype=np.int64), np.zeros((3, 2))
    arguments = (rows, rule.origin, rule.centers - rule.origin, rule.centers, counts, sums)
    engine.cluster_moments(*arguments, np.zeros((0, 2, 2)))
    assert counts.sum() == 50
    with pytest.raises(ValueError, match="products must have shape"):
        engine.cluster_moments(*arguments, np.zeros((2, 2, 2)))
