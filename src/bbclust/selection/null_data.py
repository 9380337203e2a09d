"""Data without clusters, to compare with."""

from __future__ import annotations

import numpy as np

from bbclust._native import engine
from bbclust.priors import semidefinite_factor
from bbclust.stages.table import Floats, Table

NULLS = ("gaussian", "uniform")


def draw_null(kind: str, table: Table, generator: np.random.Generator) -> Floats:
    """As many rows as the table's, centred, of one Gaussian or one uniform box.

    The Gaussian has the covariance of the data; the box spans the range of each column.
    """
    rows = table.rows.astype(np.float64)
    if kind == "uniform":
        draws = generator.uniform(rows.min(axis=0), rows.max(axis=0), size=rows.shape)
    else:
        covariance = np.zeros((table.d, table.d))
        weights = table.weights_or_ones()
        engine.weighted_gram(rows, weights / weights.sum(), covariance)
        factor = semidefinite_factor(covariance)
        draws = np.einsum("ij,jk->ik", generator.standard_normal(rows.shape), factor)
    return draws.astype(table.rows.dtype)
