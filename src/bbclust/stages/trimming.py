"""Which rows a reference partition leaves out: trimmed k-means.

A few far rows drag centres along or take them for themselves, since their squared distances are
large. Trimmed k-means leaves out a share of the rows, those that the partition of the others
describes worst: over all sets S of rows that leave out at most the share alpha of the weight, and
all centres c, it looks for the least

    sum over i in S of  w_i min_k |x_i - c_k|^2

(Cuesta-Albertos, Gordaliza & Matrán 1997, Trimmed k-means: an attempt to robustify quantizers,
Annals of Statistics 25, 553-576). Given the centres, the best S leaves out the farthest rows; given
S, centres are best at the means of their rows. These two steps in turn, *concentration*, never make
the cost larger if all rows weigh the same, and end in a local optimum. So there are several starts:
the partition of all rows, and partitions of small random samples, most of which have no far row
(as in García-Escudero, Gordaliza, Matrán & Mayo-Iscar 2008, Annals of Statistics 36, 1324-1345).
From the best of them, the rows that are kept are partitioned anew by whatever finds the reference,
which is a better search than single steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bbclust.stages.kmeans import Partition, cluster_reference
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Array, Floats, Table, count_distinct_rows
from bbclust.stages.voting import nearest_center

Mask = npt.NDArray[np.bool_]
Search = Callable[[Table], Partition]

# Random samples to start from, and their rows per cluster. At a share of 0.05 and K = 5, one sample
# in four has no row of that share, so 20 of them all have one in 1 of 300 tables; and a sample with
# a far row is not lost yet.
N_SAMPLES = 20
ROWS_PER_CLUSTER = 5
# Starts that go on, of least cost after the first steps.
N_FOLLOWED = 4
# Concentration steps between two searches, and searches at most, which end by themselves.
MAX_STEPS = 4
MAX_SEARCHES = 20
# By which sums of weights may be off, beside the weight of all rows.
ROUNDING = 1e-9


class Concentrated(NamedTuple):
    """The rows that are kept (n,), centres (K, d), and the cost per unit of weight.

    The cost is infinite if a centre has no row.
    """

    kept: Mask
    centers: Array
    cost: float


def keep_nearest(distances: Array, weights: Array, share: float) -> Mask:
    """All rows but the farthest, which together weigh at most ``share`` of all, shape (n,).

    Of rows at the same distance the later ones go first.

    Examples
    --------
    >>> keep_nearest(np.array([1.0, 9.0, 2.0, 8.0]), np.ones(4), 0.5).tolist()
    [True, False, True, False]
    >>> keep_nearest(np.array([1.0, 9.0, 2.0, 8.0]), np.array([1.0, 2.0, 1.0, 1.0]), 0.5).tolist()
    [True, False, True, True]
    """
    farthest_first = np.argsort(distances, kind="stable")[::-1]
    total = float(weights.sum())
    weighed = np.cumsum(weights[farthest_first])
    n_left_out = int(np.searchsorted(weighed, (share + ROUNDING) * total, side="right"))
    kept = np.ones(len(distances), dtype=np.bool_)
    kept[farthest_first[:n_left_out]] = False
    return kept


def take_rows(table: Table, which: Mask | npt.NDArray[np.int64]) -> Table:
    """A table of some of the rows, centred anew."""
    rows, weights = table.rows[which], None
    if table.weights is None:
        shift = rows.mean(axis=0, dtype=np.float64)
    else:
        weights = table.weights[which] / table.weights[which].mean()
        shift = np.einsum("i,ij->j", weights, rows, dtype=np.float64) / len(rows)
    moved = np.subtract(rows, shift, casting="same_kind").astype(rows.dtype, copy=False)
    return Table(rows=np.ascontiguousarray(moved), center=table.center + shift, weights=weights)


def find_kept_rows(table: Table, n_clusters: int, share: float, seed: int, search: Search) -> Mask:
    """The rows that trimmed k-means keeps, shape (n,).

    Parameters
    ----------
    table : Table
        Complete rows.
    n_clusters : int
    share : float in [0, 1)
        alpha, of the weight.
    seed : int
    search : callable
        The best partition of a table into as many clusters: what finds the reference.

    Raises
    ------
    ValueError
        The rows that are kept are too few, or too much alike, for so many clusters.

    Examples
    --------
    >>> from bbclust.stages.table import make_table
    >>> table = make_table(np.array([[0.0], [1.0], [2.0], [50.0], [10.0], [11.0], [12.0]]))
    >>> search = lambda some: cluster_reference(some, 2, seed=0)
    >>> find_kept_rows(table, 2, 0.15, 0, search).tolist()
    [True, True, True, False, True, True, True]
    """
    weights = table.weights_or_ones()
    if weights.min() > (share + ROUNDING) * weights.sum():
        return np.ones(table.n, dtype=np.bool_)
    generator = stream_generator(seed, Stage.TRIMMING)
    starts = [search(table).centers - table.center]
    for _ in range(N_SAMPLES):
        start = _centers_of_sample(table, n_clusters, generator)
        if start is not None:
            starts.append(start)
    tried = [concentrate(table.rows, weights, one, share) for one in starts]
    tried.sort(key=lambda one: one.cost)  # of equal ones the first comes first
    found = [_search_on(table, one, share, search) for one in tried[:N_FOLLOWED]]
    best = min(found, key=lambda one: one.cost)
    if not np.isfinite(best.cost):
        raise ValueError(
            f"trim={share:g} leaves too few distinct rows for {n_clusters} clusters: lower trim, "
            "or ask for fewer clusters."
        )
    return best.kept


def concentrate(rows: Floats, weights: Array, centers: Array, share: float) -> Concentrated:
    """Some concentration steps from given centres, fewer if nothing changes any more.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [10.0], [11.0], [90.0]])
    >>> found = concentrate(rows, np.ones(5), np.array([[0.0], [10.0]]), 0.2)
    >>> found.centers.ravel().tolist(), found.kept.tolist(), found.cost
    ([0.5, 10.5], [True, True, True, True, False], 0.25)
    """
    previous = None
    for _ in range(MAX_STEPS):
        labels = nearest_center(rows, centers)
        differences = rows - centers[labels]
        distances = np.einsum("ij,ij->i", differences, differences, dtype=np.float64)
        kept = keep_nearest(distances, weights, share)
        clusters = np.where(kept, labels, -1)
        mass = np.bincount(labels[kept], weights=weights[kept], minlength=len(centers))
        masses = mass.astype(np.float64)
        if not masses.all():
            return Concentrated(kept, centers, np.inf)
        cost = float(np.einsum("i,i->", weights[kept], distances[kept])) / float(masses.sum())
        if previous is not None and np.array_equal(clusters, previous):
            break
        previous, centers = clusters, _means(rows, weights, clusters, masses)
    return Concentrated(kept, centers, cost)


def _means(rows: Floats, weights: Array, clusters: npt.NDArray[np.int32], masses: Array) -> Array:
    """Means of clusters 0 .. K-1; -1 is in none."""
    inside = clusters >= 0
    of, w, points = clusters[inside], weights[inside], rows[inside]
    sums = [np.bincount(of, weights=w * column, minlength=len(masses)) for column in points.T]
    return np.stack(sums, axis=1) / masses[:, None]


def _centers_of_sample(
    table: Table, n_clusters: int, generator: np.random.Generator
) -> Array | None:
    """Centres of a small sample; None if it has too few distinct rows.

    Rows are drawn by their weight, so that a row of weight two is in it as often as two rows.
    """
    weights = table.weights_or_ones()
    size = min(max(table.n // 2, n_clusters), ROWS_PER_CLUSTER * n_clusters)
    drawn = generator.choice(table.n, size, replace=False, p=weights / weights.sum())
    sample_seed = int(generator.integers(2**63 - 1))
    sample = take_rows(table, np.sort(drawn))
    if count_distinct_rows(sample.rows, n_clusters) < n_clusters:
        return None
    return cluster_reference(sample, n_clusters, sample_seed).centers - table.center


def _search_on(table: Table, start: Concentrated, share: float, search: Search) -> Concentrated:
    """Concentration from the best partition of the rows that are kept, as long as that helps."""
    best = start
    for _ in range(MAX_SEARCHES):
        if not np.isfinite(best.cost):
            break
        centers = search(take_rows(table, best.kept)).centers - table.center
        found = concentrate(table.rows, table.weights_or_ones(), centers, share)
        if not found.cost < best.cost:
            break
        best = found
    return best
