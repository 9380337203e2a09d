"""What P is: the native weighted k-means.

Every run of k-means keeps the partition of lowest inertia among its starts. The reference
partition uses :data:`REFERENCE_STARTS` greedy k-means++ seedings: five of them miss the optimum at
K = 15 well separated clusters. Where K is larger than the number of clusters that show, 30 miss it
as well; :mod:`bbclust.stages.swaps` goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.stages.random_streams import Stage
from bbclust.stages.table import Floats, Table

REFERENCE_STARTS = 30
ROUNDING = 1e-12  # of a sum of a million numbers; one row of so many is 1e-6


@dataclass(frozen=True)
class Partition:
    """A partition of the table into K clusters, numbered by decreasing size unless renumbered.

    Attributes
    ----------
    labels : ndarray of shape (n,), int32
        -1 for rows of noise, which only clusterers other than k-means find.
    centers : ndarray of shape (K, d), float64
        Cluster means, in the units of the data.
    shares : ndarray of shape (K,), float64
        Each cluster's share of the total weight.
    weights : ndarray of shape (n,) or None
        Relative weights of the rows, mean one; None when equal.
    inertia : float
        Weighted sum of squared distances to the centres.
    n_iter : int
        Lloyd iterations of the best start.
    """

    labels: npt.NDArray[np.int32]
    centers: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64] | None
    inertia: float
    n_iter: int

    @property
    def n_clusters(self) -> int:
        return int(self.centers.shape[0])

    def without_noise(self) -> tuple[npt.NDArray[np.bool_], Partition]:
        """Which rows are in a cluster, and the partition of these alone."""
        clustered = self.labels >= 0
        weights = None if self.weights is None else self.weights[clustered]
        return clustered, replace(self, labels=self.labels[clustered], weights=weights)

    def renumbered(self, order: npt.NDArray[np.integer[Any]] | None) -> Partition:
        """The same partition with other numbers: cluster ``order[j]`` becomes cluster j."""
        if order is None:
            return self
        number = np.empty(self.n_clusters, dtype=np.int32)
        number[order] = np.arange(self.n_clusters, dtype=np.int32)
        labels = np.where(self.labels < 0, self.labels, number[self.labels]).astype(np.int32)
        return replace(self, labels=labels, centers=self.centers[order], shares=self.shares[order])


def cluster_reference(
    table: Table,
    n_clusters: int,
    seed: int,
    *,
    max_iter: int = 300,
    tolerance: float = 0.0,
    n_jobs: int = 1,
) -> Partition:
    """The reference partition: best of :data:`REFERENCE_STARTS` seedings (Algorithm 3, step 2)."""
    centers = np.empty((n_clusters, table.d))
    labels = np.empty(table.n, dtype=np.int32)
    inertia, n_iter = engine.kmeans(
        table.rows,
        table.weights_or_ones(),
        seed=seed,
        n_starts=REFERENCE_STARTS,
        max_iter=max_iter,
        tolerance=tolerance,
        n_threads=n_jobs,
        centers=centers,
        labels=labels,
    )
    return number_by_size(table, labels, centers, inertia=inertia, n_iter=n_iter)


def partition_from_labels(table: Table, labels: npt.NDArray[np.int32]) -> Partition:
    """The partition that given labels 0 .. K-1 describe, its clusters numbered anew by size.

    Rows with the label -1 are noise.
    """
    n_clusters = int(labels.max()) + 1
    weights = table.weights_or_ones() * (labels >= 0)
    codes = np.maximum(labels, 0)
    rows, masses = table.rows, np.bincount(codes, weights=weights)[:, None].astype(np.float64)
    if table.incomplete is not None:
        rows, masses = np.nan_to_num(table.rows), _observed_masses(table, weights, codes)
    sums = np.empty((n_clusters, table.d))
    for feature in range(table.d):
        values = weights * rows[:, feature]
        sums[:, feature] = np.bincount(codes, weights=values, minlength=n_clusters)
    centers = sums / masses
    differences = table.rows - centers[codes]
    if table.incomplete is not None:
        differences = np.nan_to_num(differences)
    distances = np.einsum("ij,ij->i", differences, differences)
    inertia = float(np.einsum("i,i->", weights, distances))
    return number_by_size(table, labels, centers, inertia=inertia, n_iter=0)


def _observed_masses(
    table: Table, weights: npt.NDArray[np.float64], codes: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:
    """Weight of the values that each cluster has of each column, at least something, (K, d)."""
    observed = ~np.isnan(table.rows)
    masses = [np.bincount(codes, weights=weights * column) for column in observed.T]
    return np.maximum(np.stack(masses, axis=1), np.finfo(np.float64).tiny)


def number_by_size(
    table: Table,
    labels: npt.NDArray[np.int32],
    centers: npt.NDArray[np.float64],
    *,
    inertia: float,
    n_iter: int,
) -> Partition:
    """A partition into clusters of centred rows, numbered by decreasing size."""
    n_clusters = len(centers)
    clustered = labels >= 0
    weights = None if table.weights is None else table.weights[clustered]
    mass = np.bincount(labels[clustered], weights=weights, minlength=n_clusters).astype(np.float64)
    partition = Partition(
        labels=labels,
        centers=centers + table.center,
        shares=mass / mass.sum(),
        weights=table.weights,
        inertia=float(inertia),
        n_iter=int(n_iter),
    )
    return partition.renumbered(order_by_size(mass, centers))


def order_by_size(
    mass: npt.NDArray[Any], centers: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """Clusters by decreasing size, equal ones by the coordinates of their centres, shape (K,).

    Sizes that differ by a rounding are equal: weights are rescaled and summed in the order of rows.
    """
    largest_first = np.argsort(-mass, kind="stable")
    drops = -np.diff(mass[largest_first], prepend=mass[largest_first[:1]])
    place = np.empty(len(mass), dtype=np.int64)
    place[largest_first] = np.cumsum(drops > ROUNDING * mass.sum())
    # lexsort sorts by its last key first: size, then the coordinates from the first one on
    return np.lexsort((*centers.T[::-1], place))


def seed_centers(
    points: Floats,
    weights: npt.NDArray[np.float64],
    n_clusters: int,
    *,
    seed: int,
    stage: Stage = Stage.SEEDING,
    start: int = 1,
    replica: int = 0,
) -> npt.NDArray[np.float64]:
    """Greedy weighted k-means++.

    Returns fewer than ``n_clusters`` centres when there are fewer distinct points.
    """
    centers = np.empty((n_clusters, points.shape[1]))
    found = engine.seed_centers(points, weights, seed, stage, start, replica, centers)
    return centers[:found]


@dataclass(frozen=True)
class LloydRun:
    """One run of Lloyd's algorithm: the partition it ended with."""

    labels: npt.NDArray[np.int32]
    centers: npt.NDArray[np.float64]
    inertia: float
    n_iter: int


def lloyd(
    points: Floats,
    weights: npt.NDArray[np.float64],
    centers: npt.NDArray[np.float64],
    *,
    max_iter: int = 300,
    tolerance: float = 0.0,
) -> LloydRun:
    """Weighted Lloyd iterations from given centres, with relocation of empty clusters."""
    moved = np.array(centers, dtype=np.float64, order="C")
    labels = np.empty(len(points), dtype=np.int32)
    inertia, n_iter = engine.lloyd(points, weights, moved, max_iter, tolerance, labels)
    return LloydRun(labels=labels, centers=moved, inertia=inertia, n_iter=n_iter)
