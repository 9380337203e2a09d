"""A table in partitions: its rows as a Dask array, and what one look at all of them tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.utils import is_dataframe_like, is_series_like
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from bbclust import validation as check
from bbclust.dask.cluster.session import Session
from bbclust.dask.partitioned.passes import each_partition, joined_in_order, result_of
from bbclust.stages.table import Floats

Array = npt.NDArray[np.float64]

SLAB = 65_536  # rows of a partition that are looked at together: more would only take memory


@dataclass(frozen=True)
class PartitionedTable:
    """Rows to be clustered, none of them in memory.

    Attributes
    ----------
    rows : dask.array.Array of shape (n, d), float32 or float64
        One block per partition, of known length, in the units of the data.
    center : ndarray of shape (d,), float64
        Their mean, which tasks subtract first.
    mean_variance : float
        Variance of a feature, averaged over features.
    """

    rows: da.Array
    center: Array
    mean_variance: float

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    @property
    def d(self) -> int:
        return int(self.rows.shape[1])

    @property
    def n_partitions(self) -> int:
        return int(self.rows.numblocks[0])


def rows_of(estimator: BaseEstimator, X: Any, *, reset: bool) -> da.Array:
    """A Dask array or data frame as rows of float32 or float64, one block per partition.

    Nothing is computed; the estimator keeps or checks the names and the number of the columns.
    Lengths of partitions may be unknown.
    """
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(
                f"X must have two dimensions, rows and columns, got {X.ndim}: "
                "use X.reshape(-1, 1) for a single column."
            )
        _check_columns(estimator, np.empty((0, X.shape[1])), reset=reset)
        dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        return X.map_blocks(rows_of_block, to=dtype, dtype=dtype, meta=np.empty((0, 0), dtype))
    meta: Any = getattr(X, "_meta", None)
    if is_series_like(meta):
        raise ValueError("X is a single column: use X.to_frame().")
    if not is_dataframe_like(meta):
        raise TypeError(
            f"X must be a Dask array or a Dask data frame, got {type(X).__name__}: "
            "use its to_dask_array() or to_dataframe()."
        )
    _check_columns(estimator, meta, reset=reset)
    single = check.dtype_of_frame(meta) == np.float32
    dtype = np.dtype(np.float32 if single else np.float64)
    rows: da.Array = X.map_partitions(
        rows_of_frame, to=dtype, meta=np.empty((0, meta.shape[1]), dtype)
    )
    return rows


def _check_columns(estimator: BaseEstimator, meta: Any, *, reset: bool) -> None:
    if meta.shape[1] == 0:
        raise ValueError("X has no columns.")
    validate_data(estimator, meta, reset=reset, skip_check_array=True)


def rows_of_block(block: Any, to: Any, block_id: Any = None) -> Floats:
    """A block of an array as numbers; a task."""
    return _as_numbers(lambda: np.asarray(block).astype(to, order="C", copy=False), block_id[0])


def rows_of_frame(frame: Any, to: Any, partition_info: Any = None) -> Floats:
    """A partition of a data frame as numbers, missing ones as NaN; a task."""
    return _as_numbers(
        lambda: np.ascontiguousarray(frame.to_numpy(dtype=to, na_value=np.nan)),
        None if partition_info is None else partition_info["number"],
    )


def _as_numbers(convert: Callable[[], Floats], partition: int | None) -> Floats:
    try:
        return convert()
    except (TypeError, ValueError) as error:
        where = "" if partition is None else f" in partition {partition}"
        raise ValueError(
            f"X holds something that is no number{where} ({error}): "
            "leave that column out or encode it as numbers."
        ) from None


@dataclass(frozen=True)
class BadValue:
    """The first value of a partition that is not finite."""

    partition: int
    row: int
    column: int
    is_nan: bool


@dataclass(frozen=True)
class Survey:
    """What one look at some neighbouring partitions tells.

    Attributes
    ----------
    lengths : tuple of int
        Rows of each partition.
    mean, squares : ndarrays of shape (d,)
        Mean, and summed squares of the deviations from it.
    low, high : ndarrays of shape (d,)
    bad : BadValue or None
    """

    lengths: tuple[int, ...]
    mean: Array
    squares: Array
    low: Array
    high: Array
    bad: BadValue | None

    @property
    def n(self) -> int:
        return sum(self.lengths)


def slabs(rows: Floats) -> Iterator[Floats]:
    """Some rows at a time, so that what is made of them takes little memory."""
    for start in range(0, len(rows), SLAB):
        yield rows[start : start + SLAB]


def survey_partition(rows: Floats, partition: int) -> Survey:
    """Count the rows of a partition, look for values that are not finite, and add up."""
    d = rows.shape[1]
    nothing = Survey(
        (0,), np.zeros(d), np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf), bad=None
    )
    first = first_bad_value(rows, partition)
    if first is not None:
        return replace(nothing, lengths=(len(rows),), bad=first)
    # For all slabs: Dask has its workers give memory back at once, and to get it again takes long.
    room = np.empty((2, min(SLAB, len(rows)), d))
    with np.errstate(over="ignore", invalid="ignore"):  # check_reach refuses such rows
        found = join_moments([nothing, *(_survey_slab(slab, room) for slab in slabs(rows))])
    return replace(found, lengths=(len(rows),))


def _survey_slab(slab: Floats, room: Array) -> Survey:
    values, deviations = room[:, : len(slab)]
    values[...] = slab
    mean = values.mean(axis=0)
    np.subtract(values, mean, out=deviations)
    missed = deviations.mean(axis=0)  # by rounding, which grows with the distance from zero
    squares = np.einsum("ij,ij->j", deviations, deviations) - len(slab) * missed**2
    low, high = values.min(axis=0), values.max(axis=0)
    return Survey((len(slab),), mean + missed, np.maximum(squares, 0.0), low, high, bad=None)


def first_bad_value(rows: Floats, partition: int) -> BadValue | None:
    """The first value of a partition that is not finite; None if all are."""
    before = 0
    for slab in slabs(rows):
        # A sum is finite only if all terms are; only then is every value looked at.
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(slab.sum(dtype=np.float64))
        if suspicious and not np.isfinite(slab).all():
            row, column = (int(index) for index in np.argwhere(~np.isfinite(slab))[0])
            return BadValue(partition, before + row, column, bool(np.isnan(slab[row, column])))
        before += len(slab)
    return None


def join_moments(parts: Sequence[Survey]) -> Survey:
    """Neighbouring parts as one, from the first to the last.

    Means and squares by the update of Chan, Golub and LeVeque, which loses nothing far from zero.
    """
    joined = parts[0]
    for part in parts[1:]:
        lengths, bad = joined.lengths + part.lengths, joined.bad or part.bad
        n, more = joined.n, part.n
        if more:
            step = part.mean - joined.mean
            with np.errstate(over="ignore", invalid="ignore"):
                mean = joined.mean + step * (more / (n + more))
                squares = joined.squares + part.squares + step**2 * (n * more / (n + more))
            low, high = np.minimum(joined.low, part.low), np.maximum(joined.high, part.high)
            joined = Survey(lengths, mean if n else part.mean, squares, low, high, bad)
        else:
            joined = replace(joined, lengths=lengths, bad=bad)
    return joined


def survey(session: Session, estimator: BaseEstimator, rows: da.Array) -> PartitionedTable:
    """Look at all partitions once: how long they are, whether all numbers are finite, and means."""
    parts = each_partition(session, "count-rows", survey_partition, rows)
    found: Survey = result_of(session, joined_in_order(session, "add-counts", join_moments, parts))
    if found.bad is not None:
        raise ValueError(_sentence(found.bad, found.lengths, estimator))
    if found.n < 2:
        raise ValueError(
            f"X has {found.n} row{'s'[: found.n != 1]} in {len(found.lengths)} "
            f"partition{'s'[: len(found.lengths) != 1]}: at least two are needed."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        reach = float(np.maximum(found.high - found.mean, found.mean - found.low).max())
        if not np.isfinite(reach):
            reach = float(np.maximum(np.abs(found.high), np.abs(found.low)).max())
    check.check_reach(reach, rows.dtype, len(found.mean))
    known = da.Array(
        rows.dask, rows.name, (found.lengths, (len(found.mean),)), meta=np.empty((0, 0), rows.dtype)
    )
    return PartitionedTable(known, found.mean, float((found.squares / found.n).mean()))


def _sentence(bad: BadValue, lengths: Sequence[int], estimator: BaseEstimator) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    column = bad.column if names is None else repr(names[bad.column])
    return (
        f"X holds {'NaN' if bad.is_nan else 'infinity (inf)'} in row {bad.row} of partition "
        f"{bad.partition} (row {sum(lengths[: bad.partition]) + bad.row} of all), column {column}: "
        "drop or fill such rows first."
    )
