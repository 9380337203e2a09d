"""Tables in double precision: starts run in single precision, and what they find is made exact."""

import numpy as np
import pytest

from bbclust import BBC
from bbclust.stages.kmeans import cluster_reference
from bbclust.stages.table import make_table


def groups_within_groups(apart, n=400):
    """Two pairs of clusters: within a pair they are 8 apart, the pairs are far away."""
    generator = np.random.default_rng(0)
    labels = np.arange(n) % 4
    centers = np.array([[0.0, 0.0], [8.0, 0.0], [apart, apart], [apart + 8.0, apart]])
    return centers[labels] + generator.normal(size=(n, 2)), labels


def same_partition(a, b):
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist()))


@pytest.mark.parametrize("apart", [1e2, 1e4, 1e6, 1e8])
def test_clusters_that_single_precision_cannot_tell_apart_are_found(apart):
    X, labels = groups_within_groups(apart)
    model = BBC(4, n_replicas=100, random_state=0).fit(X)
    assert same_partition(model.labels_, labels)
    assert model.mean_entropy_ < 0.05


@pytest.mark.parametrize("power", [-90, -30, 30, 90])
def test_the_unit_of_the_table_does_not_matter(power):
    """Units beyond the range of single precision too. Powers of two: nothing is rounded."""
    X, _ = groups_within_groups(20.0)
    model = BBC(4, n_replicas=100, random_state=0).fit(X)
    scaled = BBC(4, n_replicas=100, random_state=0).fit(X * 2.0**power)
    np.testing.assert_array_equal(scaled.memberships_, model.memberships_)
    np.testing.assert_allclose(scaled.cluster_centers_, model.cluster_centers_ * 2.0**power)


@pytest.mark.parametrize(("n", "n_clusters"), [(150, 3), (900, 12), (12_000, 5)])
def test_centers_and_inertia_are_those_of_the_labels_in_double_precision(n, n_clusters):
    generator = np.random.default_rng(n)
    centers = 3.0 * generator.normal(size=(n_clusters, 4))
    X = centers[generator.integers(n_clusters, size=n)] + generator.normal(size=(n, 4))
    found = cluster_reference(make_table(X), n_clusters, seed=1)
    means = np.array([X[found.labels == k].mean(axis=0) for k in range(n_clusters)])
    np.testing.assert_allclose(found.centers, means, rtol=1e-12, atol=1e-12)
    assert found.inertia == pytest.approx(((X - means[found.labels]) ** 2).sum(), rel=1e-11)
