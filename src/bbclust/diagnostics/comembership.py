"""How often two rows share a cluster, and clusters made of rows that often do.

The dissimilarity of two rows is the share of replicas that put them apart. Those of E rows are kept
in scipy's condensed form: E (E - 1) / 2 numbers, those of row 0 with rows 1, 2, ..., then those of
row 1 with rows 2, 3, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from bbclust.stages.table import Array

Labels = npt.NDArray[np.integer]

_BLOCK_ROWS = 256  # compared with all others at a time


def comembership_rates(
    replica_labels: Iterable[Labels],
    first: Labels,
    second: Labels,
) -> Array:
    """Share of replicas that put rows ``first[p]`` and ``second[p]`` together, shape (p,).

    A replica counts where it labels both rows, -1 being no label; NaN where none does.
    """
    together = np.zeros(len(first), dtype=np.int64)
    compared = np.zeros(len(first), dtype=np.int64)
    for labels in replica_labels:
        one, other = labels[first], labels[second]
        both = (one >= 0) & (other >= 0)
        compared += both
        together += both & (one == other)
    shares: Array = np.full(len(first), np.nan)
    np.divide(together, compared, out=shares, where=compared > 0)
    return shares


def unknown_dissimilarity(n_rows: int) -> Array:
    """NaN for every pair, to be filled."""
    return np.full(n_rows * (n_rows - 1) // 2, np.nan)


def fill_dissimilarity(dissimilarity: Array, labels: Labels, n_clusters: int) -> None:
    """Share of the replicas that label both rows in which the labels differ, where still unknown.

    ``labels`` (B, E) are those of all replicas, -1 where a row has none. Only NaN entries of the
    condensed ``dissimilarity`` are set; those of pairs that no replica labels remain NaN.
    """
    n_rows = labels.shape[1]
    for first in range(0, n_rows, _BLOCK_ROWS):
        last = min(first + _BLOCK_ROWS, n_rows)
        together, compared = _count_pairs(labels[:, first:last], labels[:, first:], n_clusters)
        apart = np.full(compared.shape, np.nan)
        np.divide(compared - together, compared, out=apart, where=compared > 0)
        for row, mine in _rows_of_condensed(dissimilarity, n_rows, first, last):
            np.copyto(mine, apart[row - first, row - first + 1 :], where=np.isnan(mine))


class PairCounts(NamedTuple):
    """In how many replicas two rows are together, and compared at all; shape (r, c) each."""

    together: Array
    compared: Array


def _count_pairs(block: Labels, others: Labels, n_clusters: int) -> PairCounts:
    # Sums of ones below 2**24 are exact in float32, so BLAS may add them in any order.
    together = np.zeros((block.shape[1], others.shape[1]), dtype=np.float32)
    for k in range(n_clusters):
        together += (block == k).T.astype(np.float32) @ (others == k).astype(np.float32)
    compared = (block >= 0).T.astype(np.float32) @ (others >= 0).astype(np.float32)
    return PairCounts(together.astype(np.float64), compared.astype(np.float64))


def _rows_of_condensed(
    dissimilarity: Array, n_rows: int, first: int, last: int
) -> Iterator[tuple[int, Array]]:
    """Each row with a view of its dissimilarities to the rows after it."""
    for row in range(first, last):
        start = row * (2 * n_rows - row - 1) // 2
        yield row, dissimilarity[start : start + n_rows - row - 1]


def mean_among_landmarks(dissimilarity: Array, clusters: Labels, n_clusters: int) -> Array:
    """Mean dissimilarity of each landmark to those of each cluster, not counting itself, (E, K).

    A cluster without landmarks is at the largest dissimilarity, 1; a landmark alone in its cluster
    has no mean there, NaN.
    """
    n_rows = len(clusters)
    sums = np.zeros((n_rows, n_clusters))
    for row, to_later in _rows_of_condensed(dissimilarity, n_rows, 0, n_rows):
        sums[row] += np.bincount(clusters[row + 1 :], weights=to_later, minlength=n_clusters)
        sums[row + 1 :, clusters[row]] += to_later
    sizes = np.bincount(clusters, minlength=n_clusters)
    others = np.tile(sizes, (n_rows, 1))
    others[np.arange(n_rows), clusters] -= 1
    means: Array = np.where(sizes > 0, np.nan, np.ones_like(sums))
    np.divide(sums, others, out=means, where=others > 0)
    return means


def mean_to_landmarks(
    replica_labels: Iterable[Labels],
    n_rows: int,
    landmark_labels: Labels,
    clusters: Labels,
    n_clusters: int,
) -> Array:
    """Mean dissimilarity of rows to the landmarks of each cluster, shape (n, K).

    ``replica_labels`` are those of the rows, ``landmark_labels`` (B, E) those of the landmarks, by
    one replica after the other; ``clusters`` (E,) are the landmarks' clusters. Row i and cluster c
    are compared once per replica and landmark, where both have a label; the mean is the share of
    comparisons that differ, and 1 where there is none. As labels of landmarks are counted first,
    no two rows are ever compared, and memory is O(n K).
    """
    together = np.zeros((n_rows, n_clusters), dtype=np.int64)
    compared = np.zeros((n_rows, n_clusters), dtype=np.int64)
    for labels, of_landmarks in zip(replica_labels, landmark_labels, strict=True):
        counts = _count_labels(of_landmarks, clusters, n_clusters)
        totals = np.zeros_like(counts)
        totals[:-1] = counts.sum(axis=0)
        together += counts[labels]
        compared += totals[labels]
    means: Array = np.ones(together.shape)
    np.divide(compared - together, compared, out=means, where=compared > 0)
    return means


def _count_labels(labels: Labels, clusters: Labels, n_clusters: int) -> npt.NDArray[np.int64]:
    """Landmarks by label and cluster; a last row of zeros, which the label -1 picks."""
    named = labels >= 0
    cells = labels[named].astype(np.int64) * n_clusters + clusters[named]
    return np.bincount(cells, minlength=(n_clusters + 1) * n_clusters).reshape(-1, n_clusters)


def silhouette(means: Array, clusters: Labels) -> Array:
    r"""Silhouette :math:`(b - a) / \max(a, b)` of each row, shape (n,).

    ``means`` (n, K) are mean dissimilarities to each cluster: a is that to the row's own cluster,
    b the smallest other. 0 at K = 1, and where both are 0 or a is NaN.
    """
    own = means[np.arange(len(means)), clusters]
    if means.shape[1] == 1:
        return np.zeros_like(own)
    others = means.copy()
    others[np.arange(len(means)), clusters] = np.inf
    nearest = others.min(axis=1)
    larger = np.maximum(own, nearest)
    values: Array = np.zeros_like(own)
    np.divide(nearest - own, larger, out=values, where=larger > 0)
    return values


def cluster_by_linkage(
    dissimilarity: Array, n_rows: int, n_clusters: int, method: str
) -> npt.NDArray[np.int32]:
    """Exactly K clusters: the tree of scipy's ``linkage`` without its last K - 1 merges."""
    from scipy.cluster.hierarchy import linkage  # BBC, which does not need it, should not wait

    n_merges = n_rows - n_clusters
    # fcluster gives fewer than K clusters where heights are equal, as shares often are; cut_tree
    # gives these but takes seconds for 4,096 rows
    children = linkage(dissimilarity, method)[:n_merges, :2].astype(np.int64)
    parents = np.repeat(np.arange(n_rows, n_rows + n_merges), 2)
    nodes = n_rows + n_merges
    edges = coo_array((np.ones(2 * n_merges), (children.ravel(), parents)), shape=(nodes, nodes))
    return np.asarray(connected_components(edges, directed=False)[1][:n_rows], dtype=np.int32)
