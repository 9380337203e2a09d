"""How far the number of replicas lets us trust a result: Monte-Carlo errors.

The influence of a replica on a result is what its votes move it, to first order; the standard error
of the result is read off the influences of all replicas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.stages.entropies import entropy_between

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int16]
Votes = npt.NDArray[np.int32]

_ROWS_AT_ONCE = 65_536


def membership_se(votes: Votes) -> Array:
    """Posterior standard deviation of the memberships under Jeffreys' prior, (n, K)."""
    counts = votes + 0.5
    total = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.sqrt(counts * (total - counts) / (total**2 * (total + 1))))


def mean_entropy_influence(labels: Labels, counts: Votes, weights: Array) -> Array:
    r"""What each replica moves the mean entropy, to first order, shape (B,).

    ``labels`` (B, E) are the votes of every replica on the evaluation points, -1 where it did not
    vote; ``counts`` (E, K) are these votes summed, ``weights`` (E,) those of the points. A vote for
    k on a point with entropy S and v votes moves that entropy by :math:`(-\log_2 u_k - S) / v`.
    """
    totals = counts.sum(axis=1)
    u = counts / np.maximum(totals, 1)[:, None]
    surprise = -np.log2(u, out=np.zeros_like(u), where=u > 0)
    entropies = (u * surprise).sum(axis=1)
    moves = (surprise - entropies[:, None]) / np.maximum(totals, 1)[:, None]
    return _sum_influence(labels, moves, weights * (totals > 0))


def pairwise_entropy_influence(
    labels: Labels,
    counts: Votes,
    weights: Array,
    pair: tuple[int, int],
) -> Array:
    """What each replica moves the mean entropy between two clusters, shape (B,)."""
    seen = counts.sum(axis=1) > 0
    first, second = (counts[:, k].astype(np.float64) for k in pair)
    total = first + second
    between = entropy_between(first, second)
    moves = np.zeros(counts.shape)
    for k, mine in zip(pair, (first, second), strict=True):
        share = np.divide(mine, total, out=np.ones_like(total), where=mine > 0)
        moves[:, k] = (-np.log2(share) - between) / np.maximum(total, 1)
    return _sum_influence(labels, moves, weights * seen)


def pair_doubt_influence(
    labels: Labels,
    counts: Votes,
    weights: Array,
    pair: tuple[int, int],
) -> Array:
    """What each replica moves the doubt between two clusters, shape (B,).

    With t the membership in the two, point e holds F = t S of doubt. A vote for k of the two moves
    F by (-log2(u_k / t) - F) / v and t by (1 - t) / v, any other vote by -F / v and -t / v.
    """
    votes = np.maximum(counts.sum(axis=1), 1).astype(np.float64)
    first, second = (counts[:, k] / votes for k in pair)
    together = first + second
    doubt = together * entropy_between(first, second)
    total = (weights * together).sum()
    if total == 0:
        return np.zeros(len(labels))
    mean = (weights * doubt).sum() / total
    moves = np.tile((mean * together - doubt)[:, None], (1, counts.shape[1]))
    for k, mine in zip(pair, (first, second), strict=True):
        share = np.divide(mine, together, out=np.ones_like(together), where=mine > 0)
        moves[:, k] += -np.log2(share) - mean
    return np.asarray(
        _sum_influence(labels, moves / votes[:, None], weights) * (weights.sum() / total)
    )


def standard_error(moves: Array) -> float:
    """Monte-Carlo standard error of a mean, from what each replica moves it; NaN for one."""
    n_replicas = len(moves)
    if n_replicas < 2:
        return float("nan")
    return float(np.sqrt(n_replicas / (n_replicas - 1) * (moves**2).sum()))


def _sum_influence(labels: Labels, moves: Array, weights: Array) -> Array:
    """Move of the weighted mean by each replica, when a vote for k moves point e by moves[e, k]."""
    # a first column of zeros, which the label -1 picks
    shares = np.zeros((moves.shape[0], moves.shape[1] + 1))
    shares[:, 1:] = moves * (weights / max(weights.sum(), 1e-300))[:, None]
    moved = np.empty(len(labels))
    engine.sum_moves(labels, shares, moved)
    return moved


@dataclass(frozen=True)
class Precision:
    """Errors that some replicas leave.

    Attributes
    ----------
    n_replicas : int
    mean_entropy_se : float
        Monte-Carlo standard error of the mean entropy, in bits.
    max_membership_se : float
        Largest error of a membership, over rows with votes and clusters.
    """

    n_replicas: int
    mean_entropy_se: float
    max_membership_se: float

    def reaches(self, tolerance: float) -> bool:
        """Whether entropies are as precise as asked for, and memberships a fifth as much."""
        return self.mean_entropy_se <= tolerance and self.max_membership_se <= 5 * tolerance


def measure_precision(labels: Labels, counts: Votes, weights: Array, votes: Votes) -> Precision:
    """Errors that replicas leave.

    Parameters
    ----------
    labels : ndarray of shape (B, E)
        Votes of every replica on the evaluation points, -1 where it did not vote.
    counts : ndarray of shape (E, K)
        These votes, summed.
    weights : ndarray of shape (E,)
        Weights of the evaluation points.
    votes : ndarray of shape (n, K)
        Votes on all rows whose memberships are to be precise.
    """
    influence = mean_entropy_influence(labels, counts, weights)
    return Precision(len(labels), standard_error(influence), _max_membership_se(votes))


def _max_membership_se(votes: Votes) -> float:
    """Largest error of a membership, over rows with votes; some rows at a time, to save memory."""
    largest = 0.0
    for start in range(0, len(votes), _ROWS_AT_ONCE):
        some = votes[start : start + _ROWS_AT_ONCE]
        errors = membership_se(some[some.any(axis=1)])
        largest = max(largest, float(errors.max(initial=0.0)))
    return largest


def as_columns(trace: Sequence[Precision]) -> dict[str, npt.NDArray[Any]]:
    """Precisions one after the other, as a dict of arrays."""
    names = ("n_replicas", "mean_entropy_se", "max_membership_se")
    return {name: np.array([getattr(one, name) for one in trace]) for name in names}
