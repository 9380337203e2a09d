"""The data as the engine sees them: rows of positive weight, centred, in one block of memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Table:
    """Rows to be clustered.

    Attributes
    ----------
    rows : ndarray of shape (n, d), float32 or float64
        Centred rows, C-contiguous.
    center : ndarray of shape (d,), float64
        What was subtracted.
    weights : ndarray of shape (n,), float64, or None
        Relative weights with mean one; None when all rows weigh the same.
    numbers : ndarray of shape (n,), int64, or None
        Ascending row numbers in a whole table of which only these rows are here; None when all are.
        Replicas are drawn from the whole, so every row that they draw must be here.
    n_whole : int or None
        Rows of that whole table.
    """

    rows: Floats
    center: Array
    weights: Array | None = None
    numbers: npt.NDArray[np.int64] | None = None
    n_whole: int | None = None

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    @property
    def d(self) -> int:
        return int(self.rows.shape[1])

    def weights_or_ones(self) -> Array:
        return np.ones(self.n) if self.weights is None else self.weights

    def original(self, rows: Any = slice(None)) -> Floats:
        """Rows as they were before centring, to a rounding."""
        return np.asarray((self.rows[rows] + self.center).astype(self.rows.dtype))

    def mean_variance(self) -> float:
        """Variance of a feature, averaged over features."""
        if self.weights is None:
            total = np.einsum("ij,ij->", self.rows, self.rows, dtype=np.float64)
        else:
            total = np.einsum("i,ij,ij->", self.weights, self.rows, self.rows, dtype=np.float64)
        return float(total) / (self.n * self.d)


def make_table(X: Floats, weights: Array | None = None) -> Table:
    """Centre the rows of X.

    ``einsum`` rather than ``@``: BLAS gives other bits for other numbers of threads.
    """
    if weights is None:
        center = X.mean(axis=0, dtype=np.float64)
    else:
        center = np.einsum("i,ij->j", weights, X, dtype=np.float64) / weights.sum()
    return Table(rows=centered(X, center), center=center, weights=weights)


def largest_distance(dtype: Any, n_features: int) -> float:
    """Distance from the centre below which squared distances do not overflow the type.

    Two points may be twice as far apart, and sixty-four squares are summed in the rows' type; a
    rounding is taken off.
    """
    limits = np.finfo(dtype)
    return float((1 - limits.eps) * np.sqrt(float(limits.max) / (4 * 64 * n_features)))


def count_distinct_rows(rows: Floats, enough: int) -> int:
    """Number of distinct rows, or some number of at least ``enough``."""
    for some in (rows[: 4 * enough + 100], rows):
        distinct = len(np.unique(some, axis=0))
        if distinct >= enough:
            break
    return distinct


def centered(X: Floats, center: Array) -> Floats:
    """X minus center, in X's own precision and C order."""
    rows = np.empty(X.shape, dtype=X.dtype)
    return np.subtract(X, center, out=rows, casting="same_kind")
