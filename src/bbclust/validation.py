"""What may come in: checks at the public boundary, each with one sentence when it fails.

Nothing below the estimators checks its input again.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from bbclust.table import Floats, Table

MAX_CLUSTERS = 32_767  # labels of evaluation points are kept in 16 bits


def check_integer(name: str, value: object, *, minimum: int, maximum: int = 2**31 - 1) -> int:
    """A whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    number = int(value)
    if not minimum <= number <= maximum:
        bound = f"at least {minimum}" if number < minimum else f"at most {maximum}"
        raise ValueError(f"{name} must be {bound}, got {number}.")
    return number


def check_number(name: str, value: object, *, above: float, why: str) -> float:
    """A finite number greater than a bound."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    if not (above < float(value) < np.inf):
        raise ValueError(f"{name} must be greater than {above:g}, got {value!r}: {why}.")
    return float(value)


def check_share(name: str, value: object, *, why: str) -> float:
    """A number in [0, 1)."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    if not 0 <= float(value) < 1:
        raise ValueError(f"{name} must be at least 0 and below 1, got {value!r}: {why}.")
    return float(value)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {known}, got {value!r}.")
    return value


def check_table(estimator: BaseEstimator, X: Any, *, reset: bool) -> Floats:
    """X as finite float32 or float64, C or Fortran order, with scikit-learn's own bookkeeping."""
    _refuse_text_columns(X)
    try:
        rows: Floats = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
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
    _refuse_missing(estimator, rows)
    return rows


def _refuse_text_columns(X: Any) -> None:
    if isinstance(X, np.ndarray | list | tuple):
        return
    import narwhals.stable.v1 as nw  # only data frames need it

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    wrong = [
        name
        for name, dtype in frame.schema.items()
        if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown))
    ]
    if wrong:
        raise ValueError(
            f"Column {wrong[0]!r} of X holds {frame.schema[wrong[0]]} where numbers are needed: "
            "leave it out or encode it as numbers."
        )


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
    names = getattr(estimator, "feature_names_in_", None)
    where = f"column {column}" if names is None else f"column {names[column]!r}"
    raise ValueError(f"X holds {what} in row {row}, {where}: drop or fill such rows first.")


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
        raise ValueError(
            f"sample_weight is positive for {int(positive.sum())} rows of X: "
            "at least two must count."
        )
    if (weights == weights[0]).all():
        return None
    return np.asarray(weights / weights[positive].mean())


def check_spread(table: Table) -> None:
    """Refuse numbers whose squares do not fit the type."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = table.mean_variance()
        largest = np.abs(table.rows).max()
        square = largest * largest * table.rows.dtype.type(table.d)
    if not (np.isfinite(variance) and np.isfinite(square)):
        raise ValueError(
            f"X holds numbers as far as {largest:g} from their mean, whose squares overflow "
            f"{table.rows.dtype}: rescale the columns."
        )


def check_distinct_rows(rows: Floats, n_clusters: int) -> None:
    """Refuse more clusters than there are distinct rows."""
    for some in (rows[: 4 * n_clusters + 100], rows):
        distinct = len(np.unique(some, axis=0))
        if distinct >= n_clusters:
            return
    raise ValueError(
        f"n_clusters={n_clusters} is more than the {distinct} distinct rows of X: "
        f"ask for at most {distinct} clusters."
    )


def check_reference_labels(labels: Any, n: int, n_clusters: int) -> npt.NDArray[np.int32]:
    """Given labels as 0 .. K-1."""
    given = np.asarray(labels)
    if given.shape != (n,):
        raise ValueError(f"reference_labels must have shape ({n},), got {given.shape}.")
    names, codes = np.unique(given, return_inverse=True)
    if len(names) != n_clusters:
        raise ValueError(
            f"reference_labels name {len(names)} clusters and n_clusters is {n_clusters}: "
            f"set n_clusters={len(names)}."
        )
    return codes.astype(np.int32)
