"""Incomplete rows for displays, which need a place for every row."""

from __future__ import annotations

import numpy as np

from bbclust.stages.table import Array, Floats, has_missing


def fill_at_centers(rows: Floats, memberships: Array, centers: Array) -> Floats:
    """Rows with what they miss at the centres of the clusters, weighted by memberships.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, np.nan], [np.nan, 4.0]])
    >>> centers = np.array([[0.0, 0.0], [10.0, 20.0]])
    >>> fill_at_centers(rows, np.array([[1.0, 0.0], [0.5, 0.5]]), centers)
    array([[1., 0.],
           [5., 4.]])
    """
    if not has_missing(rows):
        return rows
    expected = np.einsum("ik,kf->if", memberships, centers)
    return np.where(np.isnan(rows), expected, rows).astype(rows.dtype)


def in_units_of(filled: Floats, values: Floats) -> Floats:
    """What ``values`` miss, by the straight line from each filled column to its own units.

    Examples
    --------
    >>> import numpy as np
    >>> filled = np.array([[-1.0], [0.5], [1.0]])
    >>> in_units_of(filled, np.array([[10.0], [np.nan], [30.0]]))
    array([[10.],
           [25.],
           [30.]])
    """
    if not has_missing(values):
        return values
    whole = values.copy()
    for x, column in zip(filled.T, whole.T, strict=True):
        missing = np.isnan(column)
        if not missing.any() or missing.all():
            continue
        seen = np.flatnonzero(~missing)
        low, high = seen[x[seen].argmin()], seen[x[seen].argmax()]
        width = x[high] - x[low]
        slope = (column[high] - column[low]) / width if width > 0 else 1.0
        column[missing] = column[low] + slope * (x[missing] - x[low])
    return whole
