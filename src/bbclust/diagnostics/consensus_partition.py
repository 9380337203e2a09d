r"""The partition of least expected variation of information from many partitions.

With :math:`f(x) = x \log_2 x`, masses :math:`n_j` of the clusters and :math:`n^b_{ij}` of their
parts in cluster i of partition b, the mean over B partitions is

.. math:: \frac1T \left(\sum_j f(n_j) - \frac2B \sum_{bij} f(n^b_{ij})
          + \frac1B \sum_{bi} f(n^b_{i \cdot})\right),

so that a row that changes its cluster changes two terms of each partition.

Rows that all partitions label alike are together in the minimum. Let some of them, of mass x, move
to cluster j: the second derivative in x of what j adds is, up to a factor,
:math:`1 / n_j - (2 / B) \sum_b 1 / n^b_{ij} < 0`, as no part is larger than its cluster. The same
holds for the cluster that they leave, so all of them in one or in the other is better. The search
therefore moves groups of such rows, of which there are usually far fewer than rows.

It goes down from the best of the candidates: single groups move, two clusters merge, and a cluster
is dissolved, its groups being placed one after the other, which also splits it (the "zealous
updates" of Dahl, Johnson and Mueller 2022, J. Comput. Graph. Statist. 31, 1189-1201). It ends where
none of these helps. That need not be the minimum over all partitions; it is at most that of every
candidate. Where there are few groups it also starts from other candidates and from one cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust.diagnostics.variation_of_information import (
    Codes,
    mean_vi_of_each,
    vi_from_partition,
)
from bbclust.stages.table import Array

ROUNDING = 1e-12  # bits; a smaller gain may be none
MOST_CELLS = 2**24  # of the contingency tables with all partitions: 256 MB with their terms
MOST_CANDIDATES = 200  # partitions that are compared with all: time is linear in B beyond
_GROUPS_IN_STARTS = 128  # more starts where groups are few, and cost nothing
_GROUPS_AT_ONCE = 16


def find_consensus(labels: Codes, weights: Array, published: Codes) -> Codes:
    """Clusters (G,) of least expected variation of information from partitions (B, G).

    ``weights`` (G,) are those of the groups of rows. Candidates are ``published`` (G,) and the
    first ``MOST_CANDIDATES`` partitions. Where the contingency tables would have more than
    ``MOST_CELLS`` cells, as for many hundreds of clusters, it is the best of these.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.diagnostics.consensus_partition import find_consensus
    >>> labels = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]])
    >>> find_consensus(labels, np.ones(4), labels[2])
    array([0, 0, 1, 1])
    """
    means = mean_vi_of_each(labels, weights, MOST_CANDIDATES)
    mean_of_published = vi_from_partition(labels, published, weights).mean()
    candidates = np.vstack([published, labels[: len(means)]])
    order = np.argsort(np.append(mean_of_published, means), kind="stable")
    if len(labels) * (labels.max() + 1) * (candidates.max() + 2) > MOST_CELLS:
        return np.asarray(candidates[order[0]])
    one_cluster = np.zeros_like(published)
    n_starts = max(1, _GROUPS_IN_STARTS // len(weights))
    starts = [candidates[order[0]], one_cluster, *candidates[order[1:]]]
    distinct = {start.tobytes(): start for start in starts}.values()
    found = [descend(labels, weights, start) for start in islice(distinct, n_starts)]
    reached = [vi_from_partition(labels, clusters, weights).mean() for clusters in found]
    return found[int(np.argmin(reached))]


def descend(labels: Codes, weights: Array, start: Codes) -> Codes:
    """Clusters (G,) that no single step makes better, found by such steps from ``start`` (G,)."""
    search = _Search(labels, weights, start)
    while search.move_groups() or search.merge_clusters() or search.dissolve_clusters():
        pass
    return search.clusters


def _x_log2_x(x: Any) -> Array:
    return np.asarray(x * np.log2(np.maximum(x, 1e-300)))


def _looked_up(total: int) -> Callable[[Any], Array]:
    """The same for whole numbers up to a total, without logarithms."""
    values = _x_log2_x(np.arange(total + 1.0))
    return lambda x: values[x]


class _Search:
    """A partition, and its contingency tables with all others, under change.

    ``masses`` (B L, C) are those of the clusters' parts, row b L + i being cluster i of partition
    b, and ``terms`` their f. One column at least is empty, for a new cluster.
    """

    def __init__(self, labels: Codes, weights: Array, clusters: Codes) -> None:
        n_labels = int(labels.max()) + 1
        self.n_rows = len(labels) * n_labels
        self.parts = np.ascontiguousarray((labels + n_labels * np.arange(len(labels))[:, None]).T)
        self.factor = 2 / len(labels)
        self.least_gain = ROUNDING * weights.sum()
        self.weights: npt.NDArray[Any] = weights
        self.f: Callable[[Any], Array] = _x_log2_x
        largest = 2 * int(weights.sum())  # of a group beside itself
        if largest <= MOST_CELLS and (weights == np.rint(weights)).all():
            self.weights, self.f = weights.astype(np.int64), _looked_up(largest)
        self._set(clusters)

    def _set(self, clusters: Codes) -> None:
        """Begin from these clusters, renumbered, with sums that no move has rounded."""
        _, codes = np.unique(clusters, return_inverse=True)
        self.clusters = codes.reshape(-1).astype(np.int64)
        n_columns = int(self.clusters.max()) + 2
        cells = (self.parts * n_columns + self.clusters[:, None]).reshape(-1)
        repeated = np.repeat(self.weights, self.parts.shape[1])
        masses = np.bincount(cells, repeated, self.n_rows * n_columns)
        self.masses = masses.reshape(self.n_rows, n_columns).astype(self.weights.dtype)
        self.terms = self.f(self.masses)
        self.sizes = np.bincount(self.clusters, self.weights, n_columns).astype(self.weights.dtype)
        self.counts = np.bincount(self.clusters, minlength=n_columns)

    def _objective(self) -> float:
        """The mean over the partitions, times T, without what no move changes."""
        return float(self.f(self.sizes).sum() - self.factor * self.terms.sum())

    def _costs(self, groups: Codes) -> Array:
        """What it costs to put groups that are in no cluster into each, shape (g, C)."""
        parts, w = self.parts[groups], self.weights[groups, None]
        gained = self.f(self.masses[parts] + w[:, :, None])
        gained -= self.terms[parts]
        return np.asarray(
            self.f(self.sizes + w) - self.f(self.sizes) - self.factor * gained.sum(axis=1)
        )

    def _gains(self, groups: Codes) -> Array:
        """What groups gain by moving to each cluster, shape (g, C); 0 in their own."""
        own, w = self.clusters[groups], self.weights[groups]
        parts, sizes = self.parts[groups], self.sizes[own]
        rest = np.maximum(self.masses[parts, own[:, None]] - w[:, None], 0)
        lost = (self.terms[parts, own[:, None]] - self.f(rest)).sum(axis=1)
        stays = self.f(sizes) - self.f(np.maximum(sizes - w, 0)) - self.factor * lost
        gains = stays[:, None] - self._costs(groups)
        gains[np.arange(len(groups)), own] = 0.0
        return np.asarray(gains)

    def _set_cells(self, parts: Codes, cluster: int, masses: Array) -> None:
        self.masses[parts, cluster] = masses
        self.terms[parts, cluster] = self.f(masses)

    def _take_out(self, group: int) -> None:
        own, parts, w = self.clusters[group], self.parts[group], self.weights[group]
        self.counts[own] -= 1
        if self.counts[own] == 0:
            self._empty(own)
        else:
            self._set_cells(parts, own, np.maximum(self.masses[parts, own] - w, 0))
            self.sizes[own] -= w

    def _empty(self, cluster: int) -> None:
        self.masses[:, cluster] = self.terms[:, cluster] = 0
        self.sizes[cluster] = self.counts[cluster] = 0

    def _put_in(self, group: int, cluster: int) -> None:
        parts, w = self.parts[group], self.weights[group]
        self.clusters[group] = cluster
        self._set_cells(parts, cluster, self.masses[parts, cluster] + w)
        self.sizes[cluster] += w
        self.counts[cluster] += 1
        if self.counts.all():
            self.masses = np.pad(self.masses, ((0, 0), (0, 1)))
            self.terms = np.pad(self.terms, ((0, 0), (0, 1)))
            self.sizes = np.pad(self.sizes, (0, 1))
            self.counts = np.pad(self.counts, (0, 1))

    def move_groups(self) -> bool:
        """Move single groups until none gains by it; whether any moved."""
        moved = False
        while self._move_in_turn():
            moved = True
            self._set(self.clusters)
        return moved

    def _move_in_turn(self) -> bool:
        """Move every group that gains by it, one after the other; whether any moved."""
        moved = False
        for start in range(0, len(self.weights), _GROUPS_AT_ONCE):
            groups = np.arange(start, min(start + _GROUPS_AT_ONCE, len(self.weights)))
            for group in groups[self._gains(groups).max(axis=1) > self.least_gain]:
                gains = self._gains(group[None])[0]  # others may have moved since
                if gains.max() > self.least_gain:
                    self._take_out(group)
                    self._put_in(group, int(gains.argmax()))
                    moved = True
        return moved

    def merge_clusters(self) -> bool:
        """Merge the two clusters that gain most by it, if any do."""
        best, pair = self.least_gain, None
        parts, sizes = self.terms.sum(axis=0), self.f(self.sizes)
        for first in np.flatnonzero(self.counts):
            merged = self.f(self.masses + self.masses[:, [first]]).sum(axis=0)
            joint = self.f(self.sizes + self.sizes[first])
            gains = self.factor * (merged - parts - parts[first]) - joint + sizes + sizes[first]
            gains[: first + 1] = 0.0
            gains[self.counts == 0] = 0.0
            if gains.max() > best:
                best, pair = gains.max(), (first, int(gains.argmax()))
        if pair is None:
            return False
        self._set(np.where(self.clusters == pair[1], pair[0], self.clusters))
        return True

    def dissolve_clusters(self) -> bool:
        """Dissolve one cluster after the other and place its groups anew, until that helps."""
        before, objective = self.clusters.copy(), self._objective()
        heaviest = np.argsort(-self.weights, kind="stable")
        for cluster in range(int(before.max()) + 1):
            self._empty(cluster)
            for group in heaviest[before[heaviest] == cluster]:
                self._put_in(group, int(self._costs(group[None])[0].argmin()))
            self._set(self.clusters)
            if self._objective() < objective - self.least_gain:
                return True
            self._set(before)
        return False
