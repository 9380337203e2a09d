"""A better reference partition for small tables: k-means that moves one centre at a time elsewhere.

Starts from nothing are a poor search where K is larger than the number of clusters that show: there
are thousands of local optima, and the best one is found by one start in hundreds. Swaps keep what
was found: one centre is taken away, a row becomes a centre instead, Lloyd's iterations follow, and
the new partition stays if it is better (Fränti 2018, Efficiency of random swap clustering, Journal
of Big Data 5:13). ``benchmarks/reference_search.py`` compares the two.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.stages.kmeans import (
    REFERENCE_STARTS,
    LloydRun,
    Partition,
    lloyd,
    number_by_size,
)
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Table

# How often a swap that leads to something better is overlooked, if there is one of its kind.
MISSED = 0.05
# Multiplications of a whole round of swaps above which there are none, some milliseconds: much less
# than a fit of 200 replicas takes. Larger tables keep the partition of the starts.
MOST_WORK = 2e7
# Iterations of a run of Lloyd's algorithm after a swap, for that estimate.
ITERATIONS = 10


def n_futile_swaps(n_clusters: int) -> int:
    """Swaps in vain after which no better partition is expected.

    A swap takes away one of K centres and puts it into one of K clusters. One that is drawn evenly
    is of a given one of these K² kinds with chance 1 / K², so all of ``K² log(1 / MISSED)`` swaps
    miss it with chance :data:`MISSED`. Of few kinds, the row that becomes a centre matters as well:
    there are at least as many swaps as starts.

    Examples
    --------
    >>> [n_futile_swaps(k) for k in (2, 3, 5, 10)]
    [30, 30, 75, 300]
    """
    return max(REFERENCE_STARTS, math.ceil(n_clusters**2 * math.log(1 / MISSED)))


def pays_to_swap(table: Table, n_clusters: int) -> bool:
    """Whether a table is so small that swaps take next to no time."""
    work = ITERATIONS * table.n * n_clusters * table.d * n_futile_swaps(n_clusters)
    return n_clusters > 1 and work <= MOST_WORK


def improve_by_swaps(
    table: Table, partition: Partition, seed: int, *, max_iter: int = 300
) -> Partition:
    """The best partition that random swaps lead to from a given one, numbered by size.

    Parameters
    ----------
    table : Table
        Complete rows.
    partition : Partition
        Of the table; clusters all have rows.
    seed : int
    max_iter : int
        Of Lloyd's iterations after every swap. They go on until no label changes: the optima of so
        few rows are near, and only at the end can two of them be compared.

    Examples
    --------
    >>> from bbclust.stages.kmeans import partition_from_labels
    >>> from bbclust.stages.table import make_table
    >>> table = make_table(np.array([[0.0], [1.0], [10.0], [11.0], [30.0], [31.0]]))
    >>> poor = partition_from_labels(table, np.array([0, 1, 2, 2, 2, 2], dtype=np.int32))
    >>> improve_by_swaps(table, poor, seed=0).labels.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    weights = table.weights_or_ones()
    best = lloyd(table.rows, weights, partition.centers - table.center, max_iter=max_iter)
    # What sums of squares over the table may be rounded by, as in precision.hpp: less is no gain.
    rounding = 100 * float(np.finfo(table.rows.dtype).eps) * table.mean_variance * table.n * table.d
    has_rows = np.bincount(best.labels, minlength=partition.n_clusters) > 0
    if best.inertia <= rounding or not has_rows.all():
        return partition
    generator = stream_generator(seed, Stage.REFERENCE_SWAPS)
    below = best.inertia - rounding
    while (better := _first_better(table, best, below, generator, max_iter)) is not None:
        best, below = better, better.inertia - rounding
    return number_by_size(
        table, best.labels, best.centers, inertia=best.inertia, n_iter=best.n_iter
    )


def _first_better(
    table: Table, best: LloydRun, below: float, generator: np.random.Generator, max_iter: int
) -> LloydRun | None:
    """What the first swap that costs less leads to; None if a whole round is in vain."""
    rows, weights = table.rows, table.weights_or_ones()
    labels = np.empty(table.n, dtype=np.int32)
    for removed, row in draw_swaps(best.labels, len(best.centers), generator):
        centers = best.centers.copy()
        centers[removed] = rows[row]
        # the kernel itself: on so few rows, all that surrounds it costs as much
        inertia, n_iter = engine.lloyd(rows, weights, centers, max_iter, 0.0, labels)
        if inertia < below:
            return LloydRun(labels=labels, centers=centers, inertia=inertia, n_iter=n_iter)
    return None


def draw_swaps(
    labels: npt.NDArray[np.int32], n_clusters: int, generator: np.random.Generator
) -> list[list[int]]:
    """A round of swaps: the centre that goes, and the row that becomes one, of any cluster alike.

    Returns :func:`n_futile_swaps` pairs of numbers.
    """
    uniform = generator.random((n_futile_swaps(n_clusters), 3))
    removed, into = (uniform[:, :2] * n_clusters).astype(np.int64).T
    sizes = np.bincount(labels, minlength=n_clusters)
    first = np.cumsum(sizes) - sizes
    place = first[into] + (uniform[:, 2] * sizes[into]).astype(np.int64)
    rows = np.argsort(labels, kind="stable")[place]
    pairs: list[list[int]] = np.stack([removed, rows], axis=1).tolist()
    return pairs
