"""The reference partition of a table in partitions, and the covariances of its clusters.

A sample is clustered on one worker by the local engine, from many starts; Lloyd passes over all
partitions then refine the best centres until they move no more. Each pass adds up counts and sums
of the rows nearest to each centre. A last pass adds up what the prior is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed

from bbclust import validation as check
from bbclust._native import engine
from bbclust.dask.cluster.session import Session
from bbclust.dask.partitioned.passes import Task, each_partition, joined_in_order, result_of, shared
from bbclust.dask.partitioned.row_picking import PickedRows, pick_rows
from bbclust.dask.partitioned.table import PartitionedTable, slabs
from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.ensemble.job import Plan
from bbclust.priors.covariances import ClusterMoments
from bbclust.stages.kmeans import Partition, cluster_reference, order_by_size
from bbclust.stages.random_streams import Stage, fixed_sample
from bbclust.stages.table import Floats, Table, centered
from bbclust.stages.voting import nearest_center

Array = npt.NDArray[np.float64]

SAMPLE = 100_000  # rows on which the starts are tried: more of them rarely find other clusters
SAMPLE_VALUES = 2**25  # numbers in these rows, at most: 256 MB in float64


@dataclass(frozen=True)
class NearestCenterRule:
    """Centres that say to which cluster a row belongs, that of the nearest.

    Attributes
    ----------
    centers : ndarray of shape (K, d)
        In the units of the data.
    origin : ndarray of shape (d,)
        Subtracted from rows and centres first.
    n_iter : int
        Lloyd iterations on the sample, and passes over all rows.
    """

    centers: Array
    origin: Array
    n_iter: int = 0

    def labels(self, rows: Floats) -> npt.NDArray[np.int32]:
        """Cluster of each row."""
        return nearest_center(centered(rows, self.origin), self.centers - self.origin)


@dataclass(frozen=True)
class PartitionedReference:
    """A partition of rows that are elsewhere.

    Attributes
    ----------
    rule : NearestCenterRule
        What makes the clusters.
    centers : ndarray of shape (K, d)
        Their means, in the units of the data.
    moments : ClusterMoments
        Their sizes and covariances.
    """

    rule: NearestCenterRule
    centers: Array
    moments: ClusterMoments

    @property
    def n_clusters(self) -> int:
        return len(self.centers)

    @property
    def n_iter(self) -> int:
        return self.rule.n_iter

    @property
    def shares(self) -> Array:
        """Each cluster's share of the rows."""
        return np.asarray(self.moments.sizes / self.moments.sizes.sum())

    @property
    def without_rows(self) -> Partition:
        """The partition of no rows: centres and shares are those of all."""
        return self.of_rows(np.empty((0, self.centers.shape[1])))

    def renumbered(self, order: npt.NDArray[np.integer[Any]] | None) -> PartitionedReference:
        """The same partition with other numbers: cluster ``order[j]`` becomes cluster j."""
        if order is None:
            return self
        return PartitionedReference(
            replace(self.rule, centers=self.rule.centers[order]),
            self.centers[order],
            self.moments.renumbered(order),
        )

    def of_rows(self, rows: Floats) -> Partition:
        """The partition of some rows; centres and shares remain those of all."""
        sizes, covariances = self.moments.sizes, self.moments.covariances
        return Partition(
            labels=self.rule.labels(rows),
            centers=self.centers,
            shares=self.shares,
            weights=None,
            inertia=float(np.einsum("k,kff->", sizes, covariances)),
            n_iter=self.rule.n_iter,
        )


def cluster_partitions(
    session: Session,
    table: PartitionedTable,
    n_clusters: int,
    plan: Plan,
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> NearestCenterRule:
    """Centres of the reference partition: the best start on a sample, refined on all rows.

    ``tell`` is called with how far it is, in words.
    """
    kmeans = plan.clusterer
    assert isinstance(kmeans, EngineKMeans)  # others are refused with partitions
    tolerance = kmeans.reference_tolerance(table.mean_variance)
    numbers = sample_of(table, plan.seed)
    wanted = shared("sample-numbers", (numbers,))
    (sample,) = pick_rows(session, table.rows, wanted, 1, len(numbers) * table.d)
    cluster = Task(session, "cluster-sample", cluster_sample)
    found: Partition = result_of(
        session, cluster(sample, table.center, n_clusters, plan.seed, kmeans.max_iter, tolerance)
    )
    rule = NearestCenterRule(found.centers, table.center, found.n_iter)
    tell(f"{len(numbers)} rows clustered")
    if len(numbers) == table.n:  # nothing is left to refine
        return rule
    for i in range(kmeans.max_iter):
        before, rule = rule, _pass(session, table, rule)
        moved = rule.centers - before.centers
        square = float(np.einsum("kf,kf->", moved, moved))
        tell(f"pass {i + 1} moved the centres by {square**0.5:.3g} (ends at {tolerance**0.5:.3g})")
        if square <= tolerance:
            break
    return rule


def sample_of(table: PartitionedTable, seed: int) -> npt.NDArray[np.int64]:
    """Numbers of the rows that stand for all where these would be too many."""
    at_most = max(min(SAMPLE, SAMPLE_VALUES // table.d), 1)
    return fixed_sample(table.n, at_most, seed, Stage.REFERENCE_SAMPLE)


def cluster_sample(
    sample: PickedRows,
    center: Array,
    n_clusters: int,
    seed: int,
    max_iter: int,
    tolerance: float,
) -> Partition:
    """The best of many starts on some rows."""
    table = Table(centered(sample.rows, center), center)
    check.check_distinct_rows(table.rows, n_clusters)
    return cluster_reference(table, n_clusters, seed, max_iter=max_iter, tolerance=tolerance)


@dataclass(frozen=True)
class ClusterSums:
    """Rows of each cluster (K,), and the sums of their deviations from the origin (K, d)."""

    counts: npt.NDArray[np.int64]
    sums: Array


def _pass(session: Session, table: PartitionedTable, rule: NearestCenterRule) -> NearestCenterRule:
    """One Lloyd iteration. Empty clusters move to the rows farthest from their centres."""
    centers = shared("centers", rule)
    found: ClusterSums = _added_up(session, "sum-clusters", sum_clusters, add_up, table, centers)
    counts = np.maximum(found.counts, 1)[:, None]
    means = np.where(found.counts[:, None] > 0, rule.origin + found.sums / counts, rule.centers)
    empty = np.flatnonzero(found.counts == 0)
    if len(empty):
        far: FarRows = _added_up(
            session, "find-far-rows", find_far_rows, farthest, table, centers, len(empty)
        )
        means[empty[: len(far.rows)]] = far.rows
    return NearestCenterRule(means, rule.origin, rule.n_iter + 1)


def _added_up(
    session: Session,
    name: str,
    of_partition: Callable[..., Any],
    join: Callable[[list[Any]], Any],
    table: PartitionedTable,
    *arguments: Any,
) -> Any:
    parts = each_partition(session, name, of_partition, table.rows, *arguments)
    return result_of(session, joined_in_order(session, f"join-{name}", join, parts))


def _by_slab(
    rows: Floats, rule: NearestCenterRule
) -> Iterator[tuple[Floats, npt.NDArray[np.int32]]]:
    for slab in slabs(rows):
        yield slab, rule.labels(slab)


def sum_clusters(rows: Floats, partition: int, rule: NearestCenterRule) -> ClusterSums:
    """Counts and sums of the rows of a partition nearest to each centre."""
    origins = np.broadcast_to(rule.origin, rule.centers.shape)
    counts, sums, _ = _moments(rows, rule, origins, with_products=False)
    return ClusterSums(counts, sums)


def _moments(
    rows: Floats, rule: NearestCenterRule, about: Array, *, with_products: bool
) -> tuple[npt.NDArray[np.int64], Array, Array]:
    """Counts, and sums and products of deviations from ``about`` (K, d), of each cluster's rows.

    One call of the engine for each slab. Arrays as large as a slab would be cheap to make, if Dask
    did not have its workers give memory back at once: to get it again took half of the time.
    """
    n_clusters, d = rule.centers.shape
    counts, sums = np.zeros(n_clusters, dtype=np.int64), np.zeros((n_clusters, d))
    products = np.zeros((n_clusters if with_products else 0, d, d))
    centers, about = rule.centers - rule.origin, np.ascontiguousarray(about)
    for slab in slabs(rows):
        of_slab = np.zeros_like(sums)
        engine.cluster_moments(
            np.ascontiguousarray(slab), rule.origin, centers, about, counts, of_slab, products
        )
        sums += of_slab
    return counts, sums, products


Sums = TypeVar("Sums", "ClusterSums", "CrossProducts")


def add_up(parts: Sequence[Sums]) -> Sums:
    """Sums of neighbouring partitions, added from the first to the last."""
    names = [field.name for field in fields(parts[0])]
    sums = {name: reduce(np.add, [getattr(part, name) for part in parts]) for name in names}
    return replace(parts[0], **sums)


@dataclass(frozen=True)
class FarRows:
    """Squared distances (r,) of rows (r, d) from their centres, the largest first."""

    squares: Array
    rows: Array


def find_far_rows(rows: Floats, partition: int, rule: NearestCenterRule, count: int) -> FarRows:
    """The rows of a partition that are farthest from their centres."""
    far = [FarRows(np.zeros(0), np.zeros((0, rows.shape[1])))]
    for slab, labels in _by_slab(rows, rule):
        deviations = slab - rule.centers[labels]
        squares = np.einsum("ij,ij->i", deviations, deviations)
        order = np.argsort(-squares, kind="stable")[:count]
        far.append(FarRows(squares[order], slab[order].astype(np.float64)))
    return _largest(far, count)


def farthest(parts: Sequence[FarRows]) -> FarRows:
    """The farthest rows of neighbouring partitions."""
    return _largest(parts, max(len(part.squares) for part in parts))


def _largest(parts: Sequence[FarRows], count: int) -> FarRows:
    squares = np.concatenate([part.squares for part in parts])
    rows = np.concatenate([part.rows for part in parts])
    order = np.argsort(-squares, kind="stable")[:count]
    return FarRows(squares[order], rows[order])


@dataclass(frozen=True)
class CrossProducts:
    """What covariances are made of.

    Attributes
    ----------
    counts : ndarray of shape (K,), int64
    sums : ndarray of shape (K, d)
        Of the rows' deviations from their centre.
    products : ndarray of shape (K, d, d)
        Summed products of these deviations.
    """

    counts: npt.NDArray[np.int64]
    sums: Array
    products: Array


def cross_products(
    session: Session,
    table: PartitionedTable,
    rule: NearestCenterRule,
    read: Sequence[Delayed] | None = None,
) -> Delayed:
    """One pass that adds up what the covariances of the clusters are made of."""
    centers = shared("centers", rule)
    parts = each_partition(session, "sum-products", sum_products, table.rows, centers, read=read)
    return joined_in_order(session, "add-products", add_up, parts)


def sum_products(rows: Floats, partition: int, rule: NearestCenterRule) -> CrossProducts:
    """Counts, sums and products of the deviations of a partition's rows from their centres."""
    counts, sums, products = _moments(rows, rule, rule.centers, with_products=True)
    below = np.tril(products, -1)
    return CrossProducts(counts, sums, products + below.transpose(0, 2, 1))


def reference_from(rule: NearestCenterRule, found: CrossProducts) -> PartitionedReference:
    """The partition that a rule makes, its clusters numbered by decreasing size.

    Deviations are from centres that Lloyd's last steps hardly moved, so that nothing is lost when
    the square of what they moved is subtracted.
    """
    counts = np.maximum(found.counts, 1)
    moved = found.sums / counts[:, None]
    covariances = found.products / counts[:, None, None]
    covariances -= np.einsum("kf,kg->kfg", moved, moved)
    variances = np.einsum("kff->kf", covariances)  # a view
    np.maximum(variances, 0.0, out=variances)
    centers = rule.centers + moved
    order = order_by_size(found.counts, centers)
    moments = ClusterMoments(found.counts.astype(np.float64), covariances)
    return PartitionedReference(rule, centers, moments).renumbered(order)
