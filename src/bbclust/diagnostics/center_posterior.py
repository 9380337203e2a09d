r"""The posterior of the cluster centres, from the centres that the replicas found.

Replicas scatter more than the posterior does. A replica of the proper Bayesian bootstrap is m draws
with random weights, and gives a set of mass g a weight with variance
:math:`g (1 - g) (m + n + k) / (m (n + k + 1))`. Under the posterior, the Dirichlet process with
concentration n + k that it approaches as m grows, it is :math:`g (1 - g) / (n + k + 1)`. So
deviations from the mean over the replicas are divided by the root of the ratio, 1 + (n + k) / m,
which at m = n and without a prior is 2 (``bootstrap.Resampling.variance_ratio``).

A prior that was elicited from the same rows tells nothing that they do not, yet counts as k more of
them: the posterior is too narrow for what another sample of rows would give. The mean of a cluster
with covariance S varies over samples by S / (n p), and under the posterior by
:math:`((1 - \omega) S + \omega s S) / ((n + k) p)`, where :math:`n / (n + k) = 1 - \omega`. So the
variance is divided by :math:`(1 - \omega) (1 - \omega + \omega s)` as well, and by the share of
rows that unequal weights leave (Kish): :func:`sampling_ratio`. As the covariance is estimated from
the rows of the cluster, intervals are those of Student's distribution and regions Hotelling's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, fdtri

from bbclust.priors.covariances import semidefinite_factor
from bbclust.priors.density import support_of, whitened
from bbclust.stages.table import Array

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CenterRegions:
    r"""Ellipsoids that hold the cluster centres with a given probability.

    Cluster k's is :math:`\{c : (c - \mu_k)' \Sigma_k^{-1} (c - \mu_k) \le r_k^2\}`.

    Attributes
    ----------
    centers : ndarray of shape (K, d)
        Posterior means.
    covariances : ndarray of shape (K, d, d)
        Posterior covariances.
    radii : ndarray of shape (K,)
        How many standard deviations the region reaches; NaN for a cluster found by too few
        replicas.
    """

    centers: Array
    covariances: Array
    radii: Array


@dataclass(frozen=True)
class CenterDistances:
    """Euclidean distances between cluster centres; zero on the diagonal.

    Attributes
    ----------
    distance : ndarray of shape (K, K)
        Posterior medians.
    lower, upper : ndarrays of shape (K, K)
        Ends of the interval; NaN for pairs found by too few replicas.
    """

    distance: Array
    lower: Array
    upper: Array


def sampling_ratio(prior_weight: float, scale: float, effective_share: float) -> float:
    """Variance of a centre under the posterior, divided by that over samples of the rows.

    For a prior elicited from these rows, of weight omega and scale s; 1 without a prior. With
    weights, as many equal rows as ``effective_share`` of them would tell as much.
    """
    return (1 - prior_weight) * (1 - prior_weight + prior_weight * scale) * effective_share


def effective_share(weights: Array | None) -> float:
    """Rows of equal weight that would tell as much as these (Kish), as a share of them."""
    return 1.0 if weights is None else float(weights.mean() ** 2 / (weights**2).mean())


def small_sample_factor(level: float, n_rows: float, n_features: int) -> float:
    """How many times wider than a normal region one is whose covariance was estimated from rows.

    n draws with Dirichlet weights give the variance of a mean as 1 / (n + 1) of that with divisor
    n, instead of 1 / n of that with divisor n - 1; and the quantile is that of Hotelling's
    distribution, Student's in one dimension, instead of the normal one. NaN for too few rows.
    """
    if n_rows <= n_features:
        return math.nan
    rest = n_rows - n_features
    hotelling = n_features * (n_rows - 1) / rest * fdtri(n_features, rest, level)
    normal = chdtri(n_features, 1 - level)
    return math.sqrt((n_rows + 1) / (n_rows - 1) * hotelling / normal)


def posterior_centers(centers: Array, occupied: Flags, variance_ratio: float) -> Array:
    """Draws from the posterior of the centres, (B, K, d); NaN where a replica lacks the cluster.

    ``centers`` (B, K, d) and ``occupied`` (B, K) are those of the replicas.
    """
    found = np.where(occupied[:, :, None], centers, np.nan)
    counts = occupied.sum(axis=0)
    sums = np.where(occupied[:, :, None], centers, 0.0).sum(axis=0)
    means = sums / np.maximum(counts, 1)[:, None]
    return np.asarray(means + (found - means) / math.sqrt(variance_ratio))


def replicas_needed(level: float, *, tails: int = 2) -> int:
    """How many draws an interval of this level needs: 39 for 95% between two tails."""
    share = (1 - level) / tails
    return max(2, math.ceil((1 - share) / share - 1e-9)) if share > 0 else 2**62


def quantiles(draws: Array, shares: tuple[float, ...]) -> Array:
    """Quantiles over the first axis, at the front.

    Order statistic r of B draws has r / (B + 1) of the distribution below it on average, whatever
    the distribution (Weibull's positions), so intervals hold what they say also for few draws:
    they are wider than those between plain sample quantiles.
    """
    return np.asarray(np.quantile(draws, shares, axis=0, method="weibull"))


def center_intervals(draws: Array, level: float, n_rows: Array | None = None) -> Array:
    """Equal-tailed intervals of every coordinate, (K, d, 2).

    With the rows ``n_rows`` (K,) of each cluster they are as much wider as their number asks for.
    NaN for clusters that too few of the replicas found, and for those of a single row.
    """
    tail = (1 - level) / 2
    _, n_clusters, d = draws.shape
    intervals = np.full((n_clusters, d, 2), np.nan)
    for k in range(n_clusters):
        mine = _found(draws[:, k])
        if len(mine) >= replicas_needed(level):
            factor = 1.0 if n_rows is None else small_sample_factor(level, n_rows[k], 1)
            mean = mine.mean(axis=0)
            intervals[k] = (mean + factor * (quantiles(mine, (tail, 1 - tail)) - mean)).T
    return intervals


def center_regions(draws: Array, level: float, n_rows: Array | None = None) -> CenterRegions:
    """Ellipsoids in the shape of the covariance that hold the share ``level`` of the draws.

    With the rows ``n_rows`` (K,) of each cluster they are as much larger as their number asks for.
    """
    _, n_clusters, d = draws.shape
    centers = np.full((n_clusters, d), np.nan)
    covariances = np.full((n_clusters, d, d), np.nan)
    radii = np.full(n_clusters, np.nan)
    for k in range(n_clusters):
        mine = _found(draws[:, k])
        if len(mine) < 2:
            continue
        centers[k] = mine.mean(axis=0)
        deviations = mine - centers[k]
        covariances[k] = np.einsum("bi,bj->ij", deviations, deviations) / (len(mine) - 1)
        if len(mine) >= replicas_needed(level, tails=1):
            support = support_of(semidefinite_factor(covariances[k]))
            lengths = np.sqrt((whitened(deviations, support) ** 2).sum(axis=1))
            factor = 1.0 if n_rows is None else small_sample_factor(level, n_rows[k], d)
            radii[k] = factor * quantiles(lengths, (level,))[0]
    return CenterRegions(centers, covariances, radii)


def distances_between(draws: Array, level: float, n_rows: Array | None = None) -> CenterDistances:
    """Distances between the centres of each two clusters, over replicas that found both."""
    tail = (1 - level) / 2
    n_clusters = draws.shape[1]
    found = np.zeros((3, n_clusters, n_clusters))
    for k in range(n_clusters):
        for other in range(k):
            differences = _found(draws[:, k] - draws[:, other])
            lengths = np.sqrt(np.einsum("bi,bi->b", differences, differences))
            values = np.full(3, np.nan)
            if len(lengths):
                values[0] = np.median(lengths)
            if len(lengths) >= replicas_needed(level):
                pair = None if n_rows is None else n_rows[k] + n_rows[other] - 1
                factor = 1.0 if pair is None else small_sample_factor(level, pair, 1)
                ends = values[0] + factor * (quantiles(lengths, (tail, 1 - tail)) - values[0])
                values[1:] = np.maximum(ends, 0.0)
            found[:, k, other] = found[:, other, k] = values
    return CenterDistances(*found)


def _found(draws: Array) -> Array:
    """Draws of replicas that have the cluster."""
    return np.asarray(draws[~np.isnan(draws[:, 0])])
