"""Replica labels onto reference labels.

The permutation that maximises the number of points on which a replica and the reference agree;
among equal ones, the one whose centres are nearest (smallest summed squared distance).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
