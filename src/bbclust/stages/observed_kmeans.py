"""The reference partition of rows with missing values: k-means on what is observed.

The cost of a row is its squared distance to its centre over the columns that it has, which k-POD
minimises too (Chi, Chi & Baraniuk 2016, The American Statistician 70, 91-99).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.stages.kmeans import LloydRun, Partition, cluster_reference, number_by_size
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Array, Floats, Table, make_table

# Tables filled at random in which centres to start from are looked for.
N_FILLS = 5


def cluster_observed(
    table: Table,
    n_clusters: int,
    seed: int,
    *,
    max_iter: int = 300,
    tolerance: float = 0.0,
    n_jobs: int = 1,
) -> Partition:
    """The partition of lowest cost over what is observed, from several starts.

    Each start fills the missing values of a column with values drawn from it, clusters the filled
    table by the engine, and goes on from its centres on what is observed until labels stay.
    """
    rows = np.asarray(table.rows, dtype=np.float64)
    weights = table.weights_or_ones()
    runs = []
    for fill in range(N_FILLS):
        filled = make_table(fill_from_columns(table.rows, seed, fill), table.weights)
        start = cluster_reference(
            filled, n_clusters, seed, max_iter=max_iter, tolerance=tolerance, n_jobs=n_jobs
        )
        runs.append(observed_lloyd(rows, weights, start.centers, max_iter=max_iter))
    best = min(runs, key=lambda run: run.inertia)  # the first of equal ones
    return number_by_size(
        table, best.labels, best.centers, inertia=best.inertia, n_iter=best.n_iter
    )


def fill_from_columns(rows: Floats, seed: int, fill: int) -> Floats:
    """Rows in which every missing value is one of those that its column has, drawn at random."""
    generator = stream_generator(seed, Stage.MISSING_STARTS, fill)
    filled = rows.copy()
    for column in filled.T:
        missing = np.isnan(column)
        if missing.any():
            column[missing] = generator.choice(column[~missing], int(missing.sum()))
    return filled


def observed_lloyd(
    rows: Array, weights: Array, centers: npt.NDArray[np.float64], *, max_iter: int = 300
) -> LloydRun:
    """Lloyd iterations from given centres, distances and means over what is observed."""
    moved = np.array(centers, dtype=np.float64, order="C")
    labels = np.empty(len(rows), dtype=np.int32)
    inertia, n_iter = engine.observed_lloyd(rows, weights, max_iter, moved, labels)
    return LloydRun(labels=labels, centers=moved, inertia=inertia, n_iter=n_iter)
