"""Iris species by cluster: Tables 1 and 2."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from bbclust.datasets import load_iris

Counts = npt.NDArray[np.int64]

SPECIES = ("setosa", "versicolor", "virginica")


def species_by_cluster(labels: npt.NDArray[np.integer]) -> Counts:
    """Flowers of each species (down) in each cluster (across), shape (3, 3).

    Columns are put in the order that agrees best with the species: the paper does not say how it
    numbers clusters.
    """
    counts = np.zeros((3, 3), dtype=np.int64)
    np.add.at(counts, (load_iris().target, labels), 1)
    _, columns = linear_sum_assignment(counts, maximize=True)
    return counts[:, columns]
