r"""A mixture of one Gaussian per cluster, by the EM algorithm for weighted rows.

With weights :math:`w_i` of mean one, a step takes the probabilities of the components

.. math:: r_{ij} = \frac{p_j N(x_i; \mu_j, \Sigma_j)}{\sum_l p_l N(x_i; \mu_l, \Sigma_l)},
    \qquad n_j = \sum_i w_i r_{ij},

and then, with :math:`S_j` the covariance of the rows weighted by :math:`w_i r_{ij}`,

.. math:: p_j = \frac{n_j}{n}, \qquad \mu_j = \frac{1}{n_j} \sum_i w_i r_{ij} x_i, \qquad
    \Sigma_j = \frac{n_j S_j + (d + 1) P}{n_j + d + 1}.

The covariance P within the clusters of the partition counts as d + 1 more rows, as it does for
missing values (:mod:`bbclust.stages.missing_values`): as many as it takes to know a covariance, and
no component can shrink to a point. A step never lowers the likelihood with these rows in it,

.. math:: \sum_i w_i \log \sum_j p_j N(x_i; \mu_j, \Sigma_j)
    - \frac{d + 1}{2} \sum_j \left(\log |\Sigma_j| + \mathrm{tr}\, \Sigma_j^{-1} P\right).

References
----------
A. P. Dempster, N. M. Laird, D. B. Rubin (1977), JRSS B 39, 1-38; C. Fraley, A. E. Raftery (2007),
Journal of Classification 24, 155-181, for priors of covariances in mixtures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.stages.missing_values import RIDGE
from bbclust.stages.table import Array

# EM ends when no share moves by more, and no mean in standard deviations of the columns. A mean of
# 4,096 rows is known to 0.016 standard deviations at best.
TOLERANCE = 1e-3
MAX_ITERATIONS = 100


@dataclass(frozen=True)
class GaussianComponents:
    """A mixture of Gaussians with densities.

    Attributes
    ----------
    weights : ndarray of shape (K,)
    means : ndarray of shape (K, d)
    covariances : ndarray of shape (K, d, d)
    """

    weights: Array
    means: Array
    covariances: Array


def component_shares(rows: Array, components: GaussianComponents) -> Array:
    """Probability of each component given a row, shape (n, K)."""
    n, d = rows.shape
    shares = np.empty((n, len(components.weights)))
    engine.component_shares(
        np.ascontiguousarray(rows),
        components.weights,
        components.means,
        components.covariances,
        np.zeros(n, dtype=np.int32),
        np.zeros((1, d), dtype=np.uint8),  # one pattern: no value is missing
        1,
        shares,
    )
    return np.diff(shares, axis=1, prepend=0.0)  # the engine sums them up


def covariance_within(rows: Array, weights: Array, labels: npt.NDArray[np.integer]) -> Array:
    """P, the covariance within clusters over all of them, shape (d, d).

    Every column has at least the share ``RIDGE`` of its variance, so that there are densities.
    """
    gram, total = np.zeros((rows.shape[1],) * 2), weights.sum()
    for j in range(int(labels.max()) + 1):
        mine = labels == j
        mean = np.einsum("i,ij->j", weights[mine], rows[mine]) / max(weights[mine].sum(), 1e-300)
        engine.weighted_gram(rows[mine] - mean, weights[mine] / total, gram)
    deviations = rows - np.einsum("i,ij->j", weights, rows) / total
    variances = np.einsum("i,ij,ij->j", weights, deviations, deviations) / total
    return gram + RIDGE * np.diag(variances)


def maximize(
    rows: Array, weights: Array, shares: Array, within: Array, otherwise: Array
) -> GaussianComponents:
    """The M step: the mixture that ``shares`` (n, K) of the components give.

    A component that no row has a part of keeps the mean it has in ``otherwise`` (K, d).
    """
    d, K = rows.shape[1], shares.shape[1]
    parts = weights[:, None] * shares
    masses = parts.sum(axis=0)
    sums = np.einsum("ik,ij->kj", parts, rows)
    means = np.where(masses[:, None] > 0, sums / np.maximum(masses, 1e-300)[:, None], otherwise)
    grams = np.zeros((K, d, d))
    for j in range(K):
        engine.weighted_gram(rows - means[j], np.ascontiguousarray(parts[:, j]), grams[j])
    covariances = (grams + (d + 1) * within) / (masses + d + 1)[:, None, None]
    return GaussianComponents(masses / masses.sum(), means, covariances)


def fit_components(
    rows: Array, weights: Array, start: GaussianComponents, within: Array
) -> GaussianComponents:
    """EM from ``start`` until nothing moves by more than :data:`TOLERANCE`."""
    mean = np.einsum("i,ij->j", weights, rows) / weights.sum()
    unit = np.sqrt(np.einsum("i,ij,ij->j", weights, rows - mean, rows - mean) / weights.sum())
    before = start
    for _ in range(MAX_ITERATIONS):
        shares = component_shares(rows, before)
        after = maximize(rows, weights, shares, within, before.means)
        shift = max(
            np.abs(after.weights - before.weights).max(),
            (np.abs(after.means - before.means)[:, unit > 0] / unit[unit > 0]).max(initial=0.0),
        )
        before = after
        if shift <= TOLERANCE:
            break
    return before
