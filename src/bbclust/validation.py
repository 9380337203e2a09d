"""What may come in: checks at the public boundary, each with one sentence when it fails.

Nothing below the estimators checks its input again.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from bbclust.stages.table import (
    Floats,
    Table,
    WeightedRows,
    count_distinct_rows,
    largest_distance,
    make_table,
)

# Packages whose lines a warning does not point at: users look for their own.
_INSIDE = ("bbclust", "sklearn")

MAX_CLUSTERS = 32_767  # labels of evaluation points are kept in 16 bits


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """What fails inside leaves the estimator as it was, an earlier fit included."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before  # one step: a second Ctrl-C takes no parameter away
        raise


def check_integer(name: str, value: object, *, minimum: int, maximum: int = 2**31 - 1) -> int:
    """A whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    number = int(value)
    if not minimum <= number <= maximum:
        bound = f"at least {minimum}" if number < minimum else f"at most {maximum}"
        raise ValueError(f"{name} must be {bound}, got {number}.")
    return number


def check_n_jobs(n_jobs: object) -> None:
    """None, or a number of threads as scikit-learn counts them."""
    if n_jobs is not None and check_integer("n_jobs", n_jobs, minimum=-(2**31)) == 0:
        raise ValueError("n_jobs must not be 0: use 1 for one thread, -1 for all cores.")


def check_callbacks(callbacks: Any) -> list[Callable[[int, int], None]]:
    """None, a function or several, as a list."""
    if callbacks is None:
        return []
    if callable(callbacks):
        return [callbacks]
    if not isinstance(callbacks, Iterable) or not all(callable(one) for one in callbacks):
        raise TypeError(
            f"callbacks must be a function or a list of functions, got {callbacks!r}: "
            "each is called as callback(done, total)."
        )
    return list(callbacks)


def check_number(name: str, value: object, *, above: float, why: str) -> float:
    """A finite number greater than a bound."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    if not (above < float(value) < np.inf):
        raise ValueError(f"{name} must be greater than {above:g}, got {value!r}: {why}.")
    return float(value)


def warn_user(sentence: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this package, however deep the warning arose."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].split(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, category, stacklevel=level)


def check_share(name: str, value: object, *, why: str) -> float:
    """A number in [0, 1)."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    if not 0 <= float(value) < 1:
        raise ValueError(f"{name} must be at least 0 and below 1, got {value!r}: {why}.")
    return float(value)


def check_trim(value: object) -> float:
    """A share of rows to leave out: a number in [0, 0.5)."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"trim must be a number, got {value!r}.")
    if not 0 <= float(value) < 0.5:
        raise ValueError(
            f"trim must be at least 0 and below 0.5, got {value!r}: it is the share of rows that "
            "are left out as outliers."
        )
    return float(value)


def check_level(value: object) -> float:
    """The probability of an interval."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"level must be a number between 0 and 1 such as 0.95, got {value!r}.")
    if not 0 < float(value) < 1:
        raise ValueError(
            f"level must lie between 0 and 1, got {value!r}: it is a probability such as 0.95."
        )
    return float(value)


def check_confidence(value: object) -> float | None:
    """None, or a number that memberships can be compared with."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"min_confidence must be a number, got {value!r}.")
    if not 0 <= float(value) <= 1:
        raise ValueError(
            f"min_confidence must lie between 0 and 1, got {value!r}: "
            "it is compared with memberships."
        )
    return float(value)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {known}, got {value!r}.")
    return value


def check_table(
    estimator: BaseEstimator, X: Any, *, reset: bool, allow_missing: bool = False
) -> Floats:
    """X as finite float32 or float64 in C order, with scikit-learn's own bookkeeping.

    With ``allow_missing`` a value may be NaN, but not all of a row.
    """
    dtype = dtype_of_frame(X)
    try:
        rows: Floats = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=dtype,
            order="C",  # sums over columns must not depend on the layout
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
    except ValueError as error:
        if "could not convert string to float" in str(error):
            raise ValueError(
                f"X holds text ({str(error).rpartition(':')[2].strip()}) where numbers are needed: "
                "leave that column out or encode it as numbers."
            ) from None
        raise
    if allow_missing:
        _refuse_infinite(estimator, rows)
        _refuse_empty_rows(rows)
    else:
        _refuse_missing(estimator, rows)
    return rows


def dtype_of_frame(X: Any) -> Any:
    """Type to convert X to: float32 stays as it is, in data frames too, where text is refused."""
    either = [np.float64, np.float32]
    if isinstance(X, np.ndarray | list | tuple):
        return either
    import narwhals.stable.v1 as nw  # only data frames need it

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return either
    for name, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown)):
            raise ValueError(
                f"Column {name!r} of X holds {dtype} where numbers are needed: "
                "leave it out or encode it as numbers."
            )
    return np.float32 if set(frame.schema.values()) == {nw.Float32()} else either


def _refuse_missing(estimator: BaseEstimator, rows: Floats) -> None:
    # A sum is finite only if all terms are; only then is every value looked at.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum(dtype=np.float64)):
            return
    finite = np.isfinite(rows)
    if finite.all():
        return
    row, column = (int(index) for index in np.argwhere(~finite)[0])
    what = "NaN" if np.isnan(rows[row, column]) else "infinity (inf)"
    where = name_column(estimator, column)
    raise ValueError(f"X holds {what} in row {row}, {where}: drop or fill such rows first.")


def _refuse_infinite(estimator: BaseEstimator, rows: Floats) -> None:
    infinite = np.isinf(rows)
    if infinite.any():
        row, column = (int(index) for index in np.argwhere(infinite)[0])
        where = name_column(estimator, column)
        raise ValueError(
            f"X holds infinity (inf) in row {row}, {where}: only NaN counts as a missing value."
        )


def _refuse_empty_rows(rows: Floats) -> None:
    empty = np.isnan(rows).all(axis=1)
    if empty.any():
        raise ValueError(
            f"Row {int(empty.argmax())} of X has no value at all, so nothing tells where it "
            "belongs: drop such rows first."
        )


def refuse_empty_columns(estimator: BaseEstimator, rows: Floats) -> None:
    """Every column needs a value in a row that counts."""
    empty = np.isnan(rows).all(axis=0)
    if empty.any():
        where = name_column(estimator, int(empty.argmax()))
        raise ValueError(
            f"X has no value at all in {where} of the rows that count, so nothing tells what is "
            "missing: leave that column out."
        )


def name_column(estimator: BaseEstimator, column: int) -> str:
    """A column by its name, or by its number if the table has no names."""
    names = getattr(estimator, "feature_names_in_", None)
    return f"column {column}" if names is None else f"column {names[column]!r}"


def check_sample_weight(sample_weight: Any, n: int) -> npt.NDArray[np.float64] | None:
    """Relative weights with mean one over the positive ones; None when all are equal."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be 1D, one number per row, got {weights.ndim}D.")
    if len(weights) != n:
        raise ValueError(f"sample_weight has {len(weights)} numbers for {n} rows of X.")
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight holds NaN or infinity: give every row a finite weight.")
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight must not be negative, got {weights.min():g}: "
            "give rows that should not count the weight 0."
        )
    positive = weights > 0
    if positive.sum() < 2:
        count = int(positive.sum())
        raise ValueError(
            f"sample_weight is positive for {count} row{'s'[: count != 1]} and zero for the "
            "others: at least two rows must count."
        )
    if (weights == weights[0]).all():
        return None
    weights = weights / weights.max()  # the mean of large ones could overflow
    positive = weights > 0  # what vanishes beside the largest is as zero
    if positive.sum() < 2:
        raise ValueError(
            "sample_weight is so much larger for one row that all others vanish beside it: "
            "at least two rows must count."
        )
    return np.asarray(weights / weights[positive].mean())


def check_pairs(pairs: Any, n: int) -> npt.NDArray[np.int64]:
    """Pairs of row numbers, shape (p, 2)."""
    given = np.asarray(pairs)
    if given.ndim != 2 or given.shape[1] != 2:
        raise ValueError(f"pairs must have shape (p, 2), two row numbers each, got {given.shape}.")
    if not np.issubdtype(given.dtype, np.integer):
        raise TypeError(f"pairs must hold row numbers, which are whole numbers, got {given.dtype}.")
    outside = (given < 0) | (given >= n)
    if outside.any():
        raise ValueError(
            f"pairs hold the row number {given[outside][0]}, and the {n} rows of fit are numbered "
            f"from 0 to {n - 1}."
        )
    return given.astype(np.int64)


def check_spread(X: Floats, table: Table) -> None:
    """Refuse numbers whose squares the type cannot hold."""
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(np.nanmax(np.abs(table.rows)))
        if not np.isfinite(largest):
            largest = float(np.nanmax(np.abs(X)))
    check_reach(largest, table.rows.dtype, table.d)


def make_checked_table(rows: Floats, weights: npt.NDArray[np.float64] | None) -> Table:
    """Centre rows of positive weight, unless their squares leave the range of their type."""
    with np.errstate(over="ignore", invalid="ignore"):  # check_spread refuses such rows
        table = make_table(rows, weights)
    check_spread(rows, table)
    return table


def split_by_weight(X: Floats, weights: npt.NDArray[np.float64] | None) -> WeightedRows:
    """Rows of positive weight as a table, and the others."""
    if weights is None or (weights > 0).all():
        return WeightedRows(make_checked_table(X, weights), None, X[:0])
    positive = weights > 0
    return WeightedRows(make_checked_table(X[positive], weights[positive]), positive, X[~positive])


def check_reach(largest: float, dtype: Any, n_features: int) -> None:
    """Refuse a largest distance from the mean whose square the type cannot hold."""
    limits = np.finfo(dtype)
    if not largest < largest_distance(dtype, n_features):
        raise ValueError(
            f"X holds numbers as far as {largest:g} from their mean, whose squares overflow "
            f"{limits.dtype}: rescale the columns."
        )
    if 0 < largest * largest < float(limits.tiny / limits.eps):
        raise ValueError(
            f"X holds numbers no farther than {largest:g} from their mean, whose squares "
            f"vanish in {limits.dtype}: rescale the columns."
        )


class RowsTooCloseError(ValueError):
    """Rows differ by less than their squared distances can show, so that clusters stay empty."""


def check_distinct_rows(rows: Floats, n_clusters: int) -> None:
    """Refuse more clusters than there are distinct rows, of which centring may round some away."""
    distinct = count_distinct_rows(rows, n_clusters)
    if distinct < n_clusters:
        raise RowsTooCloseError(
            f"n_clusters={n_clusters} is more than the {distinct} distinct rows of X, to a "
            f"rounding: ask for at most {distinct} clusters."
        )


def check_no_cluster_is_empty(shares: npt.NDArray[np.float64]) -> None:
    """Refuse a reference whose clusters, of these shares, could not all be filled."""
    filled = int((shares > 0).sum())
    if filled < len(shares):
        raise RowsTooCloseError(
            f"n_clusters={len(shares)} is more than the {filled} groups of rows that squared "
            f"distances can tell apart, the others vanish beside the largest: ask for at most "
            f"{filled} clusters, or rescale columns that are much larger than others."
        )


def check_reference_labels(
    labels: Any,
    n: int,
    positive_weight: npt.NDArray[np.bool_] | None,
    n_clusters: int | None,
    *,
    noise: bool = False,
) -> npt.NDArray[np.int32]:
    """Labels given for rows of positive weight, as 0 .. K-1, and -1 for noise where allowed.

    Any number of clusters will do when none is given.
    """
    given = np.asarray(labels)
    if given.shape != (n,):
        raise ValueError(f"reference_labels must have shape ({n},), got {given.shape}.")
    if positive_weight is not None:
        given = given[positive_weight]
    outside = (given == -1) if noise else np.zeros(len(given), dtype=np.bool_)
    names, codes = np.unique(given[~outside], return_inverse=True)
    if n_clusters is not None and len(names) != n_clusters:
        raise ValueError(
            f"reference_labels name {len(names)} clusters and n_clusters is {n_clusters}: "
            f"set n_clusters={len(names)}."
        )
    if len(names) == 0:
        raise ValueError("reference_labels call every row noise: at least one cluster is needed.")
    numbers = np.full(len(given), -1, dtype=np.int32)
    numbers[~outside] = codes
    return numbers
