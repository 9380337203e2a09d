"""Votes into memberships, and how far the number of replicas lets us trust them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from bbclust._native import engine
from bbclust.stages.entropies import entropy_between
from bbclust.stages.table import Floats

Array = npt.NDArray[np.float64]


def memberships(
    votes: npt.NDArray[np.int32], otherwise: npt.NDArray[np.integer] | None = None
) -> Array:
    """Share of votes of each cluster, (n, K).

    Rows without votes belong to the cluster given by ``otherwise``, to all alike where that is -1;
    they are zero when it is not given.
    """
    totals = votes.sum(axis=1, dtype=np.int64)
    shares = np.asarray(votes / np.maximum(totals, 1)[:, None])
    if otherwise is not None:
        without = np.flatnonzero(totals == 0)
        labels = otherwise[without]
        shares[without[labels < 0]] = 1 / votes.shape[1]
        shares[without[labels >= 0], labels[labels >= 0]] = 1.0
    return shares


def membership_se(votes: npt.NDArray[np.int32]) -> Array:
    """Posterior standard deviation of the memberships under Jeffreys' prior, (n, K)."""
    counts = votes + 0.5
    total = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.sqrt(counts * (total - counts) / (total**2 * (total + 1))))


def largest_memberships(shares: Array, k: int) -> csr_array:
    """The k largest positive entries of each row, of equal ones the first; shape (n, K)."""
    largest = np.sort(np.argsort(-shares, axis=1, kind="stable")[:, :k], axis=1)
    values = np.take_along_axis(shares, largest, axis=1)
    stored = values > 0
    starts = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    return csr_array((values[stored], largest[stored], starts), shape=shares.shape)


def vote_by_centers(
    rows: Floats,
    centers: Array,
    occupied: npt.NDArray[np.bool_],
    *,
    n_jobs: int = 1,
) -> npt.NDArray[np.int32]:
    """Every replica's centres vote on every row: nearest occupied centre, (n, K).

    ``centers`` (B, K, d) and ``rows`` (n, d) are in the same units; unoccupied centres abstain.
    """
    votes = np.zeros((len(rows), centers.shape[1]), dtype=np.int32)
    if len(rows) == 0:
        return votes
    engine.vote_by_centers(rows, centers, occupied.view(np.uint8), n_jobs, votes)
    return votes


def nearest_center(rows: Floats, centers: Array) -> npt.NDArray[np.int32]:
    """Index of the nearest centre of each row."""
    occupied = np.ones((1, len(centers)), dtype=np.bool_)
    votes = vote_by_centers(rows, centers[None], occupied)
    return np.asarray(votes.argmax(axis=1), dtype=np.int32)


def count_votes(labels: npt.NDArray[np.int16], n_clusters: int) -> npt.NDArray[np.int32]:
    """Votes (E, K) from the labels (B, E) of all replicas; -1 is no vote."""
    counts = np.zeros((labels.shape[1], n_clusters), dtype=np.int32)
    engine.count_labels(labels, counts)
    return counts


def mean_entropy_influence(
    labels: npt.NDArray[np.int16], counts: npt.NDArray[np.int32], weights: Array
) -> Array:
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
    labels: npt.NDArray[np.int16],
    counts: npt.NDArray[np.int32],
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
    labels: npt.NDArray[np.int16],
    counts: npt.NDArray[np.int32],
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


def _sum_influence(labels: npt.NDArray[np.int16], moves: Array, weights: Array) -> Array:
    """Move of the weighted mean by each replica, when a vote for k moves point e by moves[e, k]."""
    # a first column of zeros, which the label -1 picks
    shares = np.zeros((moves.shape[0], moves.shape[1] + 1))
    shares[:, 1:] = moves * (weights / max(weights.sum(), 1e-300))[:, None]
    moved = np.empty(len(labels))
    engine.sum_moves(labels, shares, moved)
    return moved
