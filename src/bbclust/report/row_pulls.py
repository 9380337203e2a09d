"""What an opened row shows: the two clusters it lies between, and which columns pull which way.

A row goes to the nearer centre. In one column a row x is nearer to the centre a than to b by

.. math:: (x - b)^2 - (x - a)^2,

in the units in which it was clustered, and over all columns these pulls add up to the difference of
the squared distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust.report.analysis import Analysis
from bbclust.report.profiles import Profiles

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

ROWS_AT_ONCE = 500
# Of a column's range: values in four bytes are this exact.
ROUNDING = 1e-4


def known_centers(analysis: Analysis) -> Array | None:
    """Centres whose distances decide on rows, shape (K, d); None for clusterers without them."""
    model = analysis.model
    centers = getattr(model, "cluster_centers_", None)
    if centers is None or getattr(model, "clusterer", None) is not None:
        return None
    found = np.asarray(centers, dtype=np.float64)
    return found if np.isfinite(found).all() else None


def rivals_and_pulls(analysis: Analysis, rows: Rows) -> dict[str, npt.NDArray[Any]]:
    """Per row the cluster it might be in instead, and how much nearer its own is.

    ``rival`` is the cluster with the second most votes, or the nearest other one where all votes
    agree; -1 if there is none. ``pull`` is the squared distance to the centre of the rival minus
    that to the cluster with most votes; left out for clusterers without centres.
    """
    memberships = analysis.memberships[rows]
    if memberships.shape[1] < 2:
        return {"rival": np.full(len(rows), -1)}
    order = np.argsort(-memberships, axis=1, kind="stable")[:, :2]
    first, second = order[:, 0], order[:, 1]
    shared = np.take_along_axis(memberships, order, axis=1)[:, 1] > 0
    centers = known_centers(analysis)
    if centers is None:
        return {"rival": np.where(shared, second, -1)}
    distances = np.concatenate(
        [
            _squared_distances(analysis.X[rows[start : start + ROWS_AT_ONCE]], centers)
            for start in range(0, len(rows), ROWS_AT_ONCE)
        ]
    )
    others = distances.copy()
    np.put_along_axis(others, first[:, None], np.inf, axis=1)
    rival = np.where(shared, second, others.argmin(axis=1))
    mine, its = (
        np.take_along_axis(distances, one[:, None], axis=1)[:, 0] for one in (first, rival)
    )
    return {"rival": rival, "pull": its - mine}


def describe_columns(
    analysis: Analysis, profiles: Profiles, rows: Rows, columns: Sequence[int]
) -> dict[str, Any]:
    """Plain data beside which a row is shown, for the columns that the page holds.

    Returns
    -------
    dict
        ``columns`` as indices, ``n_columns`` of the table, ``means`` of the clusters (K, c) in the
        units of the file; and, where pulls are known, ``centers`` (K, c) in these units with the
        ``weights`` (c,) that turn their squared distances into those of the clustering.
    """
    chosen = list(columns)
    described: dict[str, Any] = {
        "columns": chosen,
        "n_columns": len(analysis.columns),
        "means": _digits(profiles.means[:, chosen]),
        "centers": None,
        "weights": None,
    }
    centers = known_centers(analysis)
    if centers is None or analysis.n_clusters < 2:
        return described
    scales = [_line(analysis.values[rows, j], analysis.X[rows, j]) for j in chosen]
    if any(scale is None for scale in scales):
        return described
    lines = np.array([scale for scale in scales if scale is not None]).reshape(-1, 2)
    slopes, offsets = lines.T
    in_file_units = (centers[:, chosen] - offsets) / np.where(slopes == 0, 1, slopes)
    return described | {"centers": _digits(in_file_units), "weights": _digits(slopes**2)}


def _squared_distances(rows: npt.NDArray[Any], centers: Array) -> Array:
    """Shape (n, K), one cluster at a time; a value that is missing is not counted."""
    points = rows.astype(np.float64)
    return np.stack([np.nansum((points - center) ** 2, axis=1) for center in centers], axis=1)


def _line(values: npt.NDArray[Any], scaled: npt.NDArray[Any]) -> tuple[float, float] | None:
    """Slope and offset of ``scaled = slope * values + offset``; None if it is no such line."""
    known = np.isfinite(values) & np.isfinite(scaled)
    v, x = values[known].astype(np.float64), scaled[known].astype(np.float64)
    if len(v) == 0 or v.min() == v.max():
        return 0.0, 0.0
    low, high = v.argmin(), v.argmax()
    slope = (x[high] - x[low]) / (v[high] - v[low])
    offset = x[low] - slope * v[low]
    is_line = np.abs(slope * v + offset - x).max() <= ROUNDING * np.ptp(x)
    return (float(slope), float(offset)) if is_line else None


def _digits(values: Array) -> Any:
    """Lists of numbers with seven digits, as many as the values have on the page."""
    shortened: Any = (
        np.array([float(f"{value:.7g}") for value in np.ravel(values)])
        .reshape(np.shape(values))
        .tolist()
    )
    return shortened
