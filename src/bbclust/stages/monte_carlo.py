r"""How far the number of replicas lets us trust a result: Monte-Carlo errors.

Entropies of shares of votes are too low when votes are few. With :math:`f(x) = x \log_2 x`, the
entropy of v votes, :math:`n_k` of them for cluster k, is :math:`(f(v) - \sum_k f(n_k)) / v`. Its
jackknife, which leaves one vote out at a time and takes away what is of order 1 / v, is the same
with

.. math:: g(x) = x\,(f(x) - f(x - 1))

in the place of f (Zahl 1977, Ecology 58, 907-913, on the jackknife of entropies). What counts in
the doubt between two clusters, :math:`(f(l + m) - f(l) - f(m)) / v`, is corrected in the same way.

The influence of a replica is what the result loses when that replica is left out, beside what it
loses on average; the standard error is read off the influences of all replicas. They are those of
corrected entropies, which scatter more than entropies as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, entr, ndtri, stdtrit

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


def share_interval(
    successes: npt.ArrayLike, trials: npt.ArrayLike, level: float
) -> tuple[Array, Array]:
    """Where a share lies by some successes in some trials, by Jeffreys' prior.

    Lower ends are 0 without any success, upper ends 1 without any failure, as Brown, Cai and
    DasGupta advise (2001, Statistical Science 16, 101-133); NaN without trials.
    """
    successes, trials = np.asarray(successes, np.float64), np.asarray(trials, np.float64)
    failures, tail = trials - successes, (1 - level) / 2
    low = np.where(successes > 0, betaincinv(successes + 0.5, failures + 0.5, tail), 0.0)
    high = np.where(failures > 0, betaincinv(successes + 0.5, failures + 0.5, 1 - tail), 1.0)
    return np.where(trials > 0, low, np.nan), np.where(trials > 0, high, np.nan)


def bounded_mean_interval(
    mean: npt.ArrayLike, error: npt.ArrayLike, n: npt.ArrayLike, level: float
) -> tuple[Array, Array]:
    """Where the mean of numbers between 0 and 1 lies, by the mean of n of them and its error.

    Jeffreys' interval of a share of as many trials as give the same error,
    ``mean (1 - mean) / error**2``, fewer for small n as Student's intervals are wider than those of
    the normal distribution. Means near 1 are skew, which symmetric intervals do not know. Equal
    numbers count as n trials; NaN for n < 2.
    """
    mean, n = np.asarray(mean, np.float64), np.asarray(n, np.float64)
    squared = np.asarray(error, np.float64) ** 2
    trials = np.divide(mean * (1 - mean), squared, out=n.copy(), where=squared > 0)
    degrees = np.where(n > 1, n - 1, np.nan)
    trials *= (ndtri(0.5 + level / 2) / stdtrit(degrees, 0.5 + level / 2)) ** 2
    return share_interval(mean * trials, trials, level)


def mean_entropy_influence(labels: Labels, counts: Votes, weights: Array) -> Array:
    """What each replica moves the corrected mean entropy, shape (B,).

    ``labels`` (B, E) are the votes of every replica on the evaluation points, -1 where it did not
    vote; ``counts`` (E, K) are these votes summed, ``weights`` (E,) those of the points.
    """
    votes = counts.sum(axis=1)
    jackknife = _jackknife_terms(counts)
    total = _jackknife_terms(votes) - jackknife.sum(axis=1)
    one_less = _jackknife_terms(votes - 1)[:, None] - (
        jackknife.sum(axis=1)[:, None] - jackknife + _jackknife_terms(counts - 1)
    )
    moves = _per_vote(total, votes)[:, None] - _per_vote(one_less, votes[:, None] - 1)
    return _centered(_losses(labels, moves, _of_voted(weights, counts)))


def pairwise_entropy_influence(
    labels: Labels,
    counts: Votes,
    weights: Array,
    pair: tuple[int, int],
) -> Array:
    """What each replica moves the mean entropy between two clusters, uncorrected, shape (B,).

    Many points have one vote or none for either, so what the mean would be by more replicas cannot
    be told from these: the influences tell its spread over repetitions with as many replicas.
    """
    first, second = (counts[:, k].astype(np.float64) for k in pair)
    one_less = [np.maximum(mine - 1, 0) for mine in (first, second)]
    moves = np.zeros(counts.shape)
    moves[:, pair[0]] = entropy_between(first, second) - entropy_between(one_less[0], second)
    moves[:, pair[1]] = entropy_between(first, second) - entropy_between(first, one_less[1])
    return _centered(_losses(labels, moves, _of_voted(weights, counts)))


def pair_doubt_influence(
    labels: Labels,
    counts: Votes,
    weights: Array,
    pair: tuple[int, int],
) -> Array:
    """What each replica moves the corrected doubt between two clusters, shape (B,).

    The doubt is a ratio of two means over the points: of what is counted in
    ``(g(l + m) - g(l) - g(m)) / v``, and of the share ``(l + m) / v`` of the votes for the two.
    """
    votes = counts.sum(axis=1)
    first, second = (counts[:, k] for k in pair)
    between = np.tile(_doubt_terms(first, second)[:, None], (1, counts.shape[1]))
    together = np.tile((first + second)[:, None], (1, counts.shape[1]))
    between[:, pair[0]] = _doubt_terms(first - 1, second)
    between[:, pair[1]] = _doubt_terms(first, second - 1)
    together[:, pair] -= 1
    doubt = _per_vote(_doubt_terms(first, second), votes)
    share = _per_vote(first + second, votes)
    # of a point with one vote nothing is known without it, and it keeps its share
    moved = np.where(votes > 1, share, 0.0)[:, None] - _per_vote(together, votes[:, None] - 1)
    lost_doubt = _losses(labels, doubt[:, None] - _per_vote(between, votes[:, None] - 1), weights)
    lost_share = _losses(labels, moved, weights)
    left = _mean(share, weights) - lost_share
    without = np.divide(
        _mean(doubt, weights) - lost_doubt, left, out=np.zeros_like(left), where=left > 0
    )
    return _centered(-without)


def mean_entropy_bias(counts: Votes, weights: Array) -> float:
    """Mean entropy less what it would be by ever more replicas, by the jackknife; in bits."""
    votes = counts.sum(axis=1)
    too_low = _plain_terms(votes) - _plain_terms(counts).sum(axis=1)
    too_low -= _jackknife_terms(votes) - _jackknife_terms(counts).sum(axis=1)
    return _mean(_per_vote(too_low, votes), _of_voted(weights, counts))


def pair_doubt_bias(counts: Votes, weights: Array, pair: tuple[int, int]) -> float:
    """Doubt between two clusters less what it would be by ever more replicas; in bits."""
    votes = counts.sum(axis=1)
    first, second = (counts[:, k] for k in pair)
    plain = _plain_terms(first + second) - _plain_terms(first) - _plain_terms(second)
    too_low = _mean(_per_vote(plain - _doubt_terms(first, second), votes), weights)
    share = _mean(_per_vote(first + second, votes), weights)
    return too_low / share if share > 0 else 0.0


def entropy_interval(
    value: float, bias: float, error: float, n_replicas: int, level: float
) -> tuple[float, float]:
    """Where an entropy would be by ever more replicas.

    Around ``value - bias``, on the scale of logarithms: rare dissent makes entropies skew, and they
    are never below zero. The correction counts as an error as large as itself, since what it leaves
    is of the next order in 1 / v, which at 20 votes is not small beside it. (0, 0) if no votes
    differ, and NaN by one replica.
    """
    corrected = value - bias
    if corrected <= 0:
        return 0.0, 0.0
    width = stdtrit(n_replicas - 1, (1 + level) / 2) * np.hypot(error, bias) / corrected
    return float(corrected * np.exp(-width)), float(corrected * np.exp(width))


def standard_error(moves: Array) -> float:
    """Monte-Carlo standard error of a result, from what each replica moves it; NaN for one."""
    n_replicas = len(moves)
    if n_replicas < 2:
        return float("nan")
    return float(np.sqrt(n_replicas / (n_replicas - 1) * (moves**2).sum()))


def _plain_terms(counts: npt.NDArray[np.integer[Any]]) -> Array:
    """f of counts; 0 below 1."""
    return np.asarray(-entr(np.maximum(counts, 0.0)) / np.log(2))


def _jackknife_terms(counts: npt.NDArray[np.integer[Any]]) -> Array:
    """g of counts; 0 below 1."""
    return np.asarray(np.maximum(counts, 0) * (_plain_terms(counts) - _plain_terms(counts - 1)))


def _doubt_terms(first: Votes, second: Votes) -> Array:
    """g of both together less g of each."""
    terms = _jackknife_terms(first + second)
    return np.asarray(terms - _jackknife_terms(first) - _jackknife_terms(second))


def _per_vote(terms: npt.NDArray[Any], votes: npt.NDArray[Any]) -> Array:
    """Terms divided by the votes; 0 where there are none."""
    return np.asarray(terms / np.maximum(votes, 1) * (votes > 0))


def _of_voted(weights: Array, counts: Votes) -> Array:
    """Weights of the points with votes; 0 for the others, of which nothing is known."""
    return np.asarray(weights * counts.any(axis=1))


def _mean(values: Array, weights: Array) -> float:
    return float((weights * values).sum() / max(weights.sum(), 1e-300))


def _centered(losses: Array) -> Array:
    """Losses beside their mean, in the unit in which :func:`standard_error` reads them."""
    share = (len(losses) - 1) / len(losses)
    return np.asarray((losses - losses.mean()) * share)


def _losses(labels: Labels, moves: Array, weights: Array) -> Array:
    """What the mean loses without each replica, if a vote for k is worth moves[e, k] to point e."""
    # a first column of zeros, which the label -1 picks
    shares = np.zeros((moves.shape[0], moves.shape[1] + 1))
    shares[:, 1:] = moves * (weights / max(weights.sum(), 1e-300))[:, None]
    lost = np.empty(len(labels))
    engine.sum_moves(labels, shares, lost)
    return lost


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
