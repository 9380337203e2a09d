"""The data as the engine sees them: rows of positive weight, centred, in one block of memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Incomplete:
    """Which values of which rows are missing.

    Attributes
    ----------
    patterns : ndarray of shape (patterns, d), uint8
        One where a value is missing.
    place : ndarray of shape (n,), int32
        Place of a row among the incomplete ones, -1 for complete rows.
    pattern : ndarray of shape (incomplete rows,), int32
    """

    patterns: npt.NDArray[np.uint8]
    place: npt.NDArray[np.int32]
    pattern: npt.NDArray[np.int32]

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """Numbers of the incomplete rows, ascending."""
        return np.flatnonzero(self.place >= 0)


def has_missing(rows: Floats) -> bool:
    """Whether any value is NaN; a sum is not only if none is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(rows.sum(dtype=np.float64))) and bool(np.isnan(rows).any())


def find_incomplete(rows: Floats) -> Incomplete | None:
    """Which values are missing (NaN); None if none is."""
    if not has_missing(rows):
        return None
    missing = np.isnan(rows)
    of_rows = np.flatnonzero(missing.any(axis=1))
    packed, pattern = np.unique(np.packbits(missing[of_rows], axis=1), axis=0, return_inverse=True)
    place = np.full(len(rows), -1, dtype=np.int32)
    place[of_rows] = np.arange(len(of_rows), dtype=np.int32)
    patterns = np.unpackbits(packed, axis=1, count=rows.shape[1])
    return Incomplete(patterns, place, pattern.reshape(-1).astype(np.int32))


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

    @cached_property
    def incomplete(self) -> Incomplete | None:
        """Which values are missing; None if none is."""
        return find_incomplete(self.rows)

    def original(self, rows: Any = slice(None)) -> Floats:
        """Rows as they were before centring, to a rounding."""
        return np.asarray((self.rows[rows] + self.center).astype(self.rows.dtype))

    def part(self, chosen: npt.NDArray[np.int64]) -> Table:
        """Some of the rows as a table of their own, with weights of mean one again."""
        weights = None if self.weights is None else self.weights[chosen]
        if weights is not None:
            weights = weights / weights.mean()
        return Table(self.rows[chosen], self.center, weights)

    @cached_property
    def mean_variance(self) -> float:
        """Variance of a feature, averaged over features; over what is observed."""
        if self.incomplete is not None:
            squares = np.square(self.rows, dtype=np.float64)
            return float(observed_means(squares, self.weights).mean())
        if self.weights is None:
            total = np.einsum("ij,ij->", self.rows, self.rows, dtype=np.float64)
        else:
            total = np.einsum("i,ij,ij->", self.weights, self.rows, self.rows, dtype=np.float64)
        return float(total) / (self.n * self.d)


@dataclass(frozen=True)
class WeightedRows:
    """The rows of X: those of positive weight as a table, and the others.

    Attributes
    ----------
    table : Table
        Rows of positive weight.
    positive_weight : ndarray of shape (n,), bool, or None
        Which rows of X these are; None when all.
    zero_weight_rows : ndarray of shape (n - table.n, d)
        The others, as they are in X.
    """

    table: Table
    positive_weight: npt.NDArray[np.bool_] | None
    zero_weight_rows: Floats

    @property
    def n(self) -> int:
        """Rows of X."""
        return self.table.n + len(self.zero_weight_rows)

    def leave_out(self, kept: npt.NDArray[np.bool_], of_kept: Table, X: Floats) -> WeightedRows:
        """The rows of X with fewer of them in the table: the others are as if of weight zero.

        ``kept`` (table.n,) says which stay, ``of_kept`` is the table of these.
        """
        positive = self.scatter_to_all_rows(kept, np.False_)
        return WeightedRows(of_kept, positive, X[~positive])

    def scatter_to_all_rows(self, of_table: Any, of_others: Any) -> Any:
        """Values for all rows of X from those of the table and of the other rows."""
        if self.positive_weight is None:
            return of_table
        values = np.empty((len(self.positive_weight), *of_table.shape[1:]), dtype=of_table.dtype)
        values[self.positive_weight] = of_table
        values[~self.positive_weight] = of_others
        return values

    def in_table(self, of_all_rows: Any) -> Any:
        """Values of the table's rows from those of all rows of X."""
        return of_all_rows if self.positive_weight is None else of_all_rows[self.positive_weight]

    def numbers_of(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Numbers in X of rows of the table."""
        if self.positive_weight is None:
            return places
        return np.asarray(np.flatnonzero(self.positive_weight)[places])

    def weights(self) -> Array | None:
        """Weights of all rows of X; None when all count the same."""
        if self.positive_weight is None:
            return self.table.weights
        weights: Array = self.scatter_to_all_rows(
            self.table.weights_or_ones(), np.zeros(len(self.zero_weight_rows))
        )
        return weights

    def original(self) -> Floats:
        """All rows of X, to a rounding."""
        rows: Floats = self.scatter_to_all_rows(self.table.original(), self.zero_weight_rows)
        return rows

    def are(self, X: Floats) -> bool:
        """Whether these are, to a rounding, the rows of X."""
        if len(X) != self.n:
            return False
        mine = self.in_table(X)
        others = X[:0] if self.positive_weight is None else X[~self.positive_weight]
        rows = self.table.rows
        rounding = 1e-6 * (np.nanmax(rows, axis=0) - np.nanmin(rows, axis=0))
        missing = np.isnan(rows)
        same = (np.abs(self.table.original() - mine) <= rounding) | missing
        return bool(
            same.all()
            and np.array_equal(missing, np.isnan(mine))
            and np.array_equal(self.zero_weight_rows, others, equal_nan=True)
        )

    def rows(self, numbers: npt.NDArray[np.int64]) -> Floats:
        """Rows of X by their numbers, as they were before centring, to a rounding."""
        if self.positive_weight is None:
            return self.table.original(numbers)
        mine = self.positive_weight
        place = np.where(mine, np.cumsum(mine), np.cumsum(~mine)) - 1
        of_table = mine[numbers]
        rows = np.empty((len(numbers), self.table.d), dtype=self.table.rows.dtype)
        rows[of_table] = self.table.original(place[numbers[of_table]])
        rows[~of_table] = self.zero_weight_rows[place[numbers[~of_table]]]
        return rows


def make_table(X: Floats, weights: Array | None = None) -> Table:
    """Centre the rows of X, on the mean of what is observed.

    ``einsum`` rather than ``@``: BLAS gives other bits for other numbers of threads.
    """
    if has_missing(X):
        center = observed_means(X, weights)
    elif weights is None:
        center = X.mean(axis=0, dtype=np.float64)
    else:
        center = np.einsum("i,ij->j", weights, X, dtype=np.float64) / weights.sum()
    return Table(rows=centered(X, center), center=center, weights=weights)


def observed_means(X: Floats, weights: Array | None) -> Array:
    """Mean of the values that each column has, shape (d,)."""
    observed = ~np.isnan(X)
    shares = observed * (1.0 if weights is None else weights[:, None])
    sums = np.einsum("ij,ij->j", shares, np.where(observed, X, 0), dtype=np.float64)
    return np.asarray(sums / shares.sum(axis=0))


def largest_distance(dtype: Any, n_features: int) -> float:
    """Distance from the centre below which squared distances do not overflow the type.

    Two points may be twice as far apart, and sixty-four squares are summed in the rows' type; a
    rounding is taken off.
    """
    limits = np.finfo(dtype)
    return float((1 - limits.eps) * np.sqrt(float(limits.max) / (4 * 64 * n_features)))


def count_distinct_rows(rows: Floats, enough: int) -> int:
    """Number of distinct rows, or some number of at least ``enough``; missing values are alike."""
    if has_missing(rows):
        rows = np.nan_to_num(rows)
    for some in (rows[: 4 * enough + 100], rows):
        distinct = len(np.unique(some, axis=0))
        if distinct >= enough:
            break
    return distinct


def count_rows_apart(rows: Floats, enough: int) -> int:
    """How many of the first rows are surely told apart by squared distances, at most ``enough``.

    A squared distance is the difference of squares and products of at most d m^2, with m the
    largest number, and sums of d terms: it misses 4 d (d + 2) m^2 roundings at most.
    """
    some = rows[: 4 * enough + 100].astype(np.float64)
    largest = float(np.abs(rows).max(initial=0.0))
    if largest == 0:
        return min(len(rows), 1)
    d = rows.shape[1]
    rounding = 4 * d * (d + 2) * float(np.finfo(rows.dtype).eps)
    some /= largest
    apart = some[:1]
    for row in some[1:]:
        if len(apart) >= enough:
            break
        differences = apart - row
        if (np.einsum("ij,ij->i", differences, differences) > rounding).all():
            apart = np.concatenate([apart, row[None]])
    return len(apart)


def centered(X: Floats, center: Array) -> Floats:
    """X minus center, in X's own precision and C order."""
    rows = np.empty(X.shape, dtype=X.dtype)
    return np.subtract(X, center, out=rows, casting="same_kind")
