r"""Entropies of memberships: how undecided the votes are, in bits unless told otherwise.

For one point with memberships u,

.. math:: S(u) = -\sum_k u_k \log u_k, \qquad
          S_{lm}(u) = -p \log p - (1 - p) \log (1 - p), \quad p = u_l / (u_l + u_m).

A point with no vote for l and none for m is not undecided between the two: its :math:`S_{lm}` is
zero. At K = 2 both are the same quantity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import entr

from bbclust._native import engine

Array = npt.NDArray[np.float64]


def entropy(memberships: npt.ArrayLike, *, base: float = 2.0) -> Array:
    r"""Shannon entropy of each point's memberships.

    .. math:: S(u) = -\sum_k u_k \log u_k

    Parameters
    ----------
    memberships : array-like of shape (n, K)
        Non-negative, rows sum to one.
    base : float, default=2
        Base of the logarithm; 2 gives bits, ``np.e`` nats.

    Returns
    -------
    ndarray of shape (n,)
        0 where one cluster has all, :math:`\log K` where all have the same.

    References
    ----------
    C. E. Shannon (1948). A mathematical theory of communication. Bell System Technical Journal 27,
    379-423.

    Examples
    --------
    >>> from bbclust import entropy
    >>> entropy([[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])
    array([0. , 1. , 1.5])
    """
    u = check_memberships(memberships)
    return np.asarray(entr(u).sum(axis=1) / np.log(base))


def pairwise_entropy(
    memberships: npt.ArrayLike,
    *,
    pair: tuple[int, int] | None = None,
    sample_weight: npt.ArrayLike | None = None,
    base: float = 2.0,
) -> Array:
    r"""Entropy between two clusters: their mean over the points for all pairs, or each point's.

    .. math:: S_{lm}(u) = -p \log p - (1 - p) \log (1 - p), \quad p = u_l / (u_l + u_m),

    and 0 for a point with no membership in either.

    Parameters
    ----------
    memberships : array-like of shape (n, K)
        Non-negative, rows sum to one.
    pair : tuple of two ints, optional
        Two clusters; then each point's entropy between them is returned.
    sample_weight : array-like of shape (n,), optional
        Weights of the points in the means; equal by default.
    base : float, default=2
        Base of the logarithm; 2 gives bits.

    Returns
    -------
    ndarray of shape (K, K), or of shape (n,) with ``pair``
        The matrix is symmetric, and zero on the diagonal.

    Examples
    --------
    >>> from bbclust import pairwise_entropy
    >>> u = [[0.5, 0.5, 0], [1, 0, 0]]
    >>> pairwise_entropy(u)
    array([[0. , 0.5, 0. ],
           [0.5, 0. , 0. ],
           [0. , 0. , 0. ]])
    >>> pairwise_entropy(u, pair=(0, 1))
    array([1., 0.])
    """
    u = check_memberships(memberships)
    unit = float(np.log2(base))
    if pair is not None:
        return entropy_between(u[:, pair[0]], u[:, pair[1]]) / unit
    weights = None
    if sample_weight is not None:
        weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    return mean_pairwise_entropy(u, weights) / unit


def entropy_between(first: Array, second: Array) -> Array:
    """Entropy in bits of (first, second) normalised to sum one; zero where both are zero."""
    total = first + second
    share = np.divide(first, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray((entr(share) + entr(1 - share)) / np.log(2) * (total > 0))


def mean_pairwise_entropy(memberships: Array, weights: Array | None = None) -> Array:
    """Weighted means over the points of the entropy between each two clusters, in bits."""
    n_clusters = memberships.shape[1]
    means = np.empty((n_clusters, n_clusters))
    engine.mean_pairwise_entropy(memberships, weights, False, means)
    return means


def pair_doubts(memberships: Array, weights: Array | None = None) -> Array:
    r"""Doubt between each two clusters: entropy per vote for either, in bits, shape (K, K).

    .. math:: D_{lm} = \frac{\sum_i (u_{il} + u_{im})\, S_{lm}(u_i)}{\sum_i (u_{il} + u_{im})}

    The mean of the pairwise entropy in which a point counts by its membership in the two clusters.
    One bit is a coin toss, however few of all points the two clusters hold.
    """
    n_clusters = memberships.shape[1]
    means = np.empty((n_clusters, n_clusters))
    engine.mean_pairwise_entropy(memberships, weights, True, means)
    together = pair_shares(memberships, weights)
    return np.divide(means, together, out=np.zeros_like(means), where=together > 0)


def pair_shares(memberships: Array, weights: Array | None = None) -> Array:
    """Share of the votes for each two clusters together, (K, K); zero on the diagonal."""
    sizes = np.average(memberships, axis=0, weights=weights)
    together = sizes[:, None] + sizes[None, :]
    np.fill_diagonal(together, 0.0)
    return np.asarray(together)


def worst_pair(pairwise: Array) -> tuple[int, int] | None:
    """The two clusters worst told apart; None when there is only one."""
    if len(pairwise) < 2:
        return None
    rows, columns = np.triu_indices(len(pairwise), k=1)
    worst = int(np.argmax(pairwise[rows, columns]))
    return int(rows[worst]), int(columns[worst])


def check_memberships(memberships: npt.ArrayLike) -> Array:
    """Memberships as a contiguous array, or a sentence that says what is wrong with them."""
    u = np.ascontiguousarray(memberships, dtype=np.float64)
    if u.ndim != 2 or 0 in u.shape:
        raise ValueError(f"memberships must have shape (points, clusters), got shape {u.shape}.")
    if not (u >= 0).all():
        raise ValueError(
            f"memberships must be non-negative numbers, got {u[~(u >= 0)][0]:g}: "
            "pass votes or probabilities, not logarithms."
        )
    sums = u.sum(axis=1)
    off = np.abs(sums - 1).argmax()
    if abs(sums[off] - 1) > 1e-6:
        raise ValueError(
            f"memberships of a point must sum to one, row {off} sums to {sums[off]:g}: "
            "divide each row by its sum."
        )
    return u


@dataclass(frozen=True)
class MembershipSummary:
    """Means over rows.

    Attributes
    ----------
    shares : ndarray of shape (K,)
        Of the memberships: the share of the rows that each cluster holds.
    entropy : float
    pairwise_entropy, pair_doubts : ndarrays of shape (K, K)
    """

    shares: npt.NDArray[np.float64]
    entropy: float
    pairwise_entropy: npt.NDArray[np.float64]
    pair_doubts: npt.NDArray[np.float64]


def summarize_memberships(
    memberships: npt.NDArray[np.float64], weights: npt.NDArray[np.float64] | None = None
) -> MembershipSummary:
    """Mean memberships and entropies of rows, which may have weights."""
    return MembershipSummary(
        shares=np.average(memberships, axis=0, weights=weights),
        entropy=float(np.average(entropy(memberships), weights=weights)),
        pairwise_entropy=mean_pairwise_entropy(memberships, weights),
        pair_doubts=pair_doubts(memberships, weights),
    )
