"""Replica labels onto reference labels.

The permutation that maximises the number of points on which a replica and the reference agree;
among equal ones, the one whose centres are nearest (smallest summed squared distance).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from bbclust._native import engine


@dataclass(frozen=True)
class Alignment:
    """How the clusters of a replica are named.

    Attributes
    ----------
    to_reference : ndarray of shape (K,), int32
        Reference cluster of each replica cluster.
    overlap : int
        Points on which the aligned replica agrees with the reference.
    margin : float
        How much agreement the best other permutation would lose, per point; one at K = 1.
    """

    to_reference: npt.NDArray[np.int32]
    overlap: int
    margin: float


def overlap_matrix(
    labels: npt.NDArray[np.integer], reference_labels: npt.NDArray[np.integer], n_clusters: int
) -> npt.NDArray[np.int64]:
    """Points in replica cluster k and reference cluster j, shape (K, K)."""
    cells = labels.astype(np.int64) * n_clusters + reference_labels
    return np.bincount(cells, minlength=n_clusters**2).reshape(n_clusters, n_clusters)


def align(overlap: npt.NDArray[np.int64], squared_distances: npt.NDArray[np.float64]) -> Alignment:
    """Align by overlap, ties by distance; rows are replica clusters, columns reference clusters."""
    to_reference = np.empty(len(overlap), dtype=np.int32)
    best, second = engine.align(overlap, squared_distances, to_reference)
    n_points = int(overlap.sum())
    if second < 0:
        margin = 1.0
    else:
        margin = (best - second) / n_points if n_points else 0.0
    return Alignment(to_reference=to_reference, overlap=int(best), margin=float(margin))


@dataclass(frozen=True)
class Pairing:
    """How the clusters of a replica are named when there may be more or fewer than K.

    Attributes
    ----------
    to_reference : ndarray of shape (found,)
        Reference cluster of each replica cluster, -1 for those left over.
    margin : float
        How much agreement the best pairing without one of these pairs would lose, per point.
    """

    to_reference: npt.NDArray[np.int64]
    margin: float


def pair_clusters(
    overlap: npt.NDArray[np.int64], squared_distances: npt.NDArray[np.float64]
) -> Pairing:
    """Pair clusters one to one for most agreement, ties by distance; no overlap, no pair.

    ``overlap`` and ``squared_distances`` have a row per replica cluster and a column per reference
    cluster.
    """
    to_reference = np.full(len(overlap), -1, dtype=np.int64)
    if overlap.size == 0 or not overlap.any():
        return Pairing(to_reference, 0.0)
    # All distances together weigh less than one point.
    largest = squared_distances.max() * 2 * min(overlap.shape)
    scores = overlap - squared_distances / (largest or 1.0)
    rows, columns = linear_sum_assignment(scores, maximize=True)
    paired = overlap[rows, columns] > 0
    rows, columns = rows[paired], columns[paired]
    to_reference[rows] = columns
    best, second = overlap[rows, columns].sum(), 0
    for row, column in zip(rows, columns, strict=True):
        without = overlap.copy()
        without[row, column] = -best - 1
        other = without[linear_sum_assignment(without, maximize=True)]
        second = max(second, other[other > 0].sum())
    return Pairing(to_reference, float(best - second) / float(overlap.sum()))
