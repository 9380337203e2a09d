"""Covariances of clusters, in several forms, as factors A of shape (rank, d) with A'A the matrix.

All forms work for clusters of fewer points than features; all are divided by the weight of the
cluster, so that a row of weight two counts as two rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Array, Floats

FORMS = ("empirical", "shrunk", "diagonal", "spherical", "tied")


@dataclass(frozen=True)
class ClusterMoments:
    """Covariances of clusters whose rows are not at hand; takes the place of X where these will do.

    Attributes
    ----------
    sizes : ndarray of shape (K,)
        Rows of each cluster.
    covariances : ndarray of shape (K, d, d)
        Divided by these sizes.
    """

    sizes: Array
    covariances: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features, as that of X."""
        return int(self.sizes.sum()), int(self.covariances.shape[1])

    def renumbered(self, order: npt.NDArray[np.integer]) -> ClusterMoments:
        """With other numbers: cluster ``order[j]`` becomes cluster j."""
        return ClusterMoments(self.sizes[order], self.covariances[order])


def cluster_factors(
    X: Floats | ClusterMoments, reference: Partition, form: str
) -> tuple[Array, ...]:
    """A factor of the covariance of every cluster; ``form`` is one of :data:`FORMS`."""
    if isinstance(X, ClusterMoments):
        return _factors_of_moments(X, form)
    clusters = _members(X, reference)
    if form == "tied":
        return (_tied_factor(clusters),) * len(clusters)
    if form in _BY_VARIANCES:
        return tuple(_BY_VARIANCES[form](_variances(*cluster)) for cluster in clusters)
    factor = _empirical_factor if form == "empirical" else _shrunk_factor
    return tuple(factor(points, weights) for points, weights in clusters)


def _factors_of_moments(moments: ClusterMoments, form: str) -> tuple[Array, ...]:
    covariances, sizes = moments.covariances, moments.sizes
    if form == "tied":
        together = np.einsum("k,kij->ij", sizes / sizes.sum(), covariances)
        return (semidefinite_factor(together),) * len(sizes)
    if form == "shrunk":
        return tuple(map(_shrunk_to_sphere, covariances, sizes))
    if form == "empirical":
        return tuple(map(semidefinite_factor, covariances))
    return tuple(_BY_VARIANCES[form](np.diag(covariance)) for covariance in covariances)


def effective_size(weights: Array) -> float:
    """Kish's number of equally weighted rows that tell as much: (sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / np.einsum("i,i->", weights, weights))


def semidefinite_factor(covariance: Array) -> Array:
    """Upper triangular A with A'A the covariance, which may be singular."""
    factor = np.array(covariance, dtype=np.float64, order="C")
    engine.semidefinite_factor(factor)
    return factor


def _members(X: Floats, reference: Partition) -> list[tuple[Floats, Array]]:
    """Rows and weights of every cluster."""
    weights = np.ones(len(X)) if reference.weights is None else reference.weights
    by_cluster = np.argsort(reference.labels, kind="stable")
    sizes = np.bincount(reference.labels, minlength=reference.n_clusters)
    return [(X[rows], weights[rows]) for rows in np.split(by_cluster, np.cumsum(sizes)[:-1])]


def _deviations(points: Floats, shares: Array) -> Array:
    """Points minus their mean.

    Exact zero in columns where all are alike: the computed mean may miss them by a rounding.
    """
    points = points.astype(np.float64)
    deviations: Array = points - np.einsum("i,ij->j", shares, points)
    deviations[:, np.ptp(points, axis=0) == 0] = 0.0
    return deviations


def weighted_gram(deviations: Array, shares: Array) -> Array:
    """Weighted mean of x x', shape (d, d)."""
    d = deviations.shape[1]
    gram = np.zeros((d, d))
    engine.weighted_gram(deviations, shares, gram)
    return gram


def _factor_of_deviations(deviations: Array, shares: Array) -> Array:
    """Factor of the weighted mean of x x'; the points themselves when there are at most d."""
    n, d = deviations.shape
    if n <= d:
        return np.asarray(np.sqrt(shares)[:, None] * deviations)
    return semidefinite_factor(weighted_gram(deviations, shares))


def _empirical_factor(points: Floats, weights: Array) -> Array:
    shares = weights / weights.sum()
    return _factor_of_deviations(_deviations(points, shares), shares)


def _shrunk_factor(points: Floats, weights: Array) -> Array:
    shares = weights / weights.sum()
    covariance = weighted_gram(_deviations(points, shares), shares)
    return _shrunk_to_sphere(covariance, effective_size(weights))


def _shrunk_to_sphere(covariance: Array, size: float) -> Array:
    """OAS: the empirical covariance S, shrunk towards the sphere of the same trace.

    ``(1 - r) S + r mu I`` with mu = tr(S) / d, a = tr(S^2) / d^2 and
    ``r = min(1, (a + mu^2) / ((n + 1) (a - mu^2 / d)))`` (Chen, Wiesel, Eldar & Hero 2010). It is
    made for Gaussian clusters, which F0 consists of, has less error there than Ledoit-Wolf, and
    needs n only as a number, so that weights enter by the effective size.
    """
    d = len(covariance)
    mean_square = float(np.einsum("ij,ij->", covariance, covariance)) / d**2
    mean_variance = float(np.trace(covariance)) / d
    signal = mean_square + mean_variance**2
    noise = (size + 1) * (mean_square - mean_variance**2 / d)
    shrinkage = 1.0 if noise <= signal else signal / noise
    return semidefinite_factor((1 - shrinkage) * covariance + shrinkage * mean_variance * np.eye(d))


def _variances(points: Floats, weights: Array) -> Array:
    shares = weights / weights.sum()
    deviations = _deviations(points, shares)
    return np.asarray(np.einsum("i,ij,ij->j", shares, deviations, deviations))


def _axes_factor(variances: Array) -> Array:
    return np.asarray(np.diag(np.sqrt(variances))[variances > 0])


def _sphere_factor(variances: Array) -> Array:
    variance, d = float(variances.mean()), len(variances)
    return np.sqrt(variance) * np.eye(d) if variance > 0 else np.zeros((0, d))


_BY_VARIANCES = {"diagonal": _axes_factor, "spherical": _sphere_factor}


def _tied_factor(clusters: list[tuple[Floats, Array]]) -> Array:
    """Deviations from the own cluster's mean, all clusters together."""
    weights = np.concatenate([weights for _, weights in clusters])
    deviations = np.concatenate(
        [_deviations(points, weights / weights.sum()) for points, weights in clusters]
    )
    return _factor_of_deviations(deviations, weights / weights.sum())
