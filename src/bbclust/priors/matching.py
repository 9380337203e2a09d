"""Which component of a mixture belongs to which cluster."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import chdtri
from threadpoolctl import threadpool_limits

from bbclust.priors.gaussian import GaussianMixture
from bbclust.stages.table import Array

# A row at the new centre would be an outlier of the old cluster at this level.
OUTLIER_LEVEL = 0.001
# Part of the old covariance that is replaced by a sphere, so that no direction is without spread.
ROUNDED = 0.25


def nearest_pairs(centers: Array, means: Array) -> dict[int, int]:
    """Component of each centre, by the least sum of squared distances; as many as can be."""
    deviations = centers[:, None, :] - means[None, :, :]
    rows, columns = linear_sum_assignment(np.einsum("ijf,ijf->ij", deviations, deviations))
    return dict(zip(rows.tolist(), columns.tolist(), strict=True))


def pairs_within_spread(centers: Array, mixture: GaussianMixture) -> dict[int, int]:
    """Component of each centre, where one is near enough.

    The distance of centre x from component j is ``(x - m)' R^-1 (x - m)`` with R three quarters of
    the component's covariance and a quarter of the sphere with the mean variance of all components
    (over components by weight, and over columns). A centre beyond the 99.9% quantile of chi-square
    with d degrees of freedom is outside the component. The pairs minimise the sum of distances, in
    which a centre or component without a partner counts as much as that quantile.
    """
    limit = float(chdtri(mixture.n_features, OUTLIER_LEVEL))
    squares = np.stack(
        [
            _squared_distances(centers - mean, factor, mean_variance(mixture))
            for mean, factor in zip(mixture.means, mixture.factors, strict=True)
        ],
        axis=1,
    )
    rows, columns = linear_sum_assignment(np.minimum(squares, limit))
    return {int(i): int(j) for i, j in zip(rows, columns, strict=True) if squares[i, j] <= limit}


def mean_variance(mixture: GaussianMixture) -> float:
    """Variance within components, averaged over components by weight and over columns."""
    variances = np.square(mixture.standard_deviations).mean(axis=1)
    return float(np.average(variances, weights=mixture.weights))


def _squared_distances(deviations: Array, factor: Array, variance: float) -> Array:
    """x' R^-1 x for rows x."""
    d = deviations.shape[1]
    with threadpool_limits(1):  # BLAS and LAPACK give other bits for other numbers of threads
        rounded = (1 - ROUNDED) * factor.T @ factor + ROUNDED * variance * np.eye(d)
        if not rounded.any():  # every component is a point mass
            return np.where((deviations == 0).all(axis=1), 0.0, np.inf)
        solved = np.linalg.solve(rounded, deviations.T)
    return np.asarray(np.einsum("ij,ji->i", deviations, solved))


def completed(
    stated: GaussianMixture, pairs: dict[int, int], elicited: GaussianMixture
) -> GaussianMixture:
    """One component per cluster: the stated one where there is a pair, else the elicited one.

    Elicited components keep their weights (shares of the data); stated ones divide the rest in
    proportion to theirs.
    """
    weights, means, factors = elicited.weights.copy(), elicited.means.copy(), []
    clusters = list(pairs)
    if clusters:
        of_stated = stated.weights[list(pairs.values())]
        left = 1.0 - sum(w for k, w in enumerate(elicited.weights) if k not in pairs)
        weights[clusters] = left * of_stated / of_stated.sum()
    for k, factor in enumerate(elicited.factors):
        factors.append(stated.factors[pairs[k]] if k in pairs else factor)
        if k in pairs:
            means[k] = stated.means[pairs[k]]
    return GaussianMixture(weights / weights.sum(), means, tuple(factors))
