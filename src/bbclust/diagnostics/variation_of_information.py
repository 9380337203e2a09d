r"""How far two partitions of the same rows are from each other, in bits.

The variation of information (Meila 2007, J. Multivariate Analysis 98, 873-895) between partitions
:math:`c` and :math:`c'`, with the masses :math:`n_{ij}` of their common parts and T of all rows, is

.. math:: VI(c, c') = H(c \mid c') + H(c' \mid c)
          = \frac1T \sum_{ij} n_{ij} \left(\log_2 \frac{n_{i \cdot}}{n_{ij}}
          + \log_2 \frac{n_{\cdot j}}{n_{ij}}\right).

It is a metric, does not depend on the names of clusters, and is at most :math:`\log_2` of the
number of rows if these weigh the same. Two partitions of E rows take O(E) time, and no pair of rows
is ever looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bbclust.stages.table import Array

Labels = npt.NDArray[np.integer]
Codes = npt.NDArray[np.int64]

_PARTITIONS_AT_ONCE = 64  # few enough that their codes stay in cache
_CELLS_PER_ROW = 16  # tables with more are not held with their empty cells


@dataclass(frozen=True)
class RowGroups:
    """Groups of rows that all of some partitions label alike.

    Attributes
    ----------
    labels : ndarray of shape (M, G), int64
        Clusters of every partition, numbered in the order of the rows.
    weights : ndarray of shape (G,)
        Of the rows of each group together.
    group : ndarray of shape (E,), int64
        Group of each row.
    """

    labels: Codes
    weights: Array
    group: Codes


def number_in_order(labels: Labels) -> Codes:
    """Labels (E,) renamed from 0 in the order in which they first appear.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.diagnostics.variation_of_information import number_in_order
    >>> number_in_order(np.array([5, 5, -1, 0, 5]))
    array([0, 0, 1, 2, 0])
    """
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[codes.reshape(-1)], dtype=np.int64)


def group_rows(partitions: Labels, weights: Array) -> RowGroups:
    """Groups of the E rows that are labelled alike by all partitions (M, E), in row order."""
    named = np.array([number_in_order(labels).astype(np.int32) for labels in partitions])
    # a row's labels as one item: numpy sorts columns of whole numbers fifty times more slowly
    columns = np.ascontiguousarray(named.T)
    items = columns.view(np.dtype((np.void, columns.itemsize * columns.shape[1])))
    group = number_in_order(np.unique(items.reshape(-1), return_inverse=True)[1].reshape(-1))
    _, first = np.unique(group, return_index=True)
    masses = np.bincount(group, weights).astype(np.float64)
    return RowGroups(named[:, first].astype(np.int64), masses, group)


def variation_of_information(first: Labels, second: Labels, weights: Array | None = None) -> float:
    """Variation of information between two partitions (E,) of weighted rows, in bits.

    Examples
    --------
    Half of the rows leave one cluster for a new one, which takes one bit to tell:

    >>> import numpy as np
    >>> from bbclust.diagnostics.variation_of_information import variation_of_information
    >>> variation_of_information(np.array([0, 0, 0, 0]), np.array([7, 7, 3, 3]))
    1.0
    """
    masses = np.ones(len(first)) if weights is None else weights
    named = number_in_order(first)[None]
    return float(vi_from_partition(named, number_in_order(second), masses)[0])


def vi_from_partition(labels: Codes, partition: Codes, weights: Array) -> Array:
    """Variation of information between each of some partitions (B, E) and one more (E,), (B,).

    Clusters go by numbers from 0 on, with few gaps.
    """
    return np.concatenate(
        [
            _vi_of_some(labels[start : start + _PARTITIONS_AT_ONCE], partition, weights)
            for start in range(0, len(labels), _PARTITIONS_AT_ONCE)
        ]
    )


def _vi_of_some(labels: Codes, partition: Codes, weights: Array) -> Array:
    n_labels, n_clusters = int(labels.max()) + 1, int(partition.max()) + 1
    size, numbers = n_labels * n_clusters, np.arange(len(labels))
    cells = labels * n_clusters
    cells += partition
    cells += size * numbers[:, None]
    cells, repeated = cells.reshape(-1), np.tile(weights, len(labels))
    if size <= _CELLS_PER_ROW * len(partition):
        masses = np.bincount(cells, repeated, size * len(labels))
        found = np.flatnonzero(masses)
        masses = masses[found]
    else:
        found, places = np.unique(cells, return_inverse=True)
        masses = np.bincount(places.reshape(-1), repeated)
    replica, label, cluster = found // size, found // n_clusters, found % n_clusters
    column = replica * n_clusters + cluster
    of_label = np.bincount(label, masses)[label]
    of_cluster = np.bincount(column, masses)[column]
    # each term is 0 if and only if a part is all of its cluster, also after rounding
    bits = masses * (np.log2(of_label / masses) + np.log2(of_cluster / masses))
    return np.asarray(np.bincount(replica, bits, len(labels)) / weights.sum())


def mean_vi_of_each(labels: Codes, weights: Array, n_first: int) -> Array:
    """Mean variation of information of each of the first partitions from all B of them (B, E)."""
    n_first = min(n_first, len(labels))
    sums = np.zeros(n_first)
    for b in range(min(n_first, len(labels) - 1)):
        to_later = vi_from_partition(labels[b + 1 :], labels[b], weights)
        sums[b] += to_later.sum()
        sums[b + 1 :] += to_later[: n_first - b - 1]
    return np.asarray(sums / len(labels))
