"""The data in two dimensions: two columns, or the first two principal components.

All displays of rows use this, so that a row lies at the same place in each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from sklearn.decomposition import PCA

from bbclust.percentages import percent
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Floats
from bbclust.validation import check_integer

Array = npt.NDArray[np.float64]

MAX_POINTS = 20_000
GOLDEN_RATIO = (1 + 5**0.5) / 2


@dataclass(frozen=True)
class Projection:
    """A linear map of rows to the plane.

    Attributes
    ----------
    origin : ndarray of shape (d,)
        The point that becomes zero.
    directions : ndarray of shape (2, d)
    axis_labels : tuple of two str
        The second is None when there is one column only, and nothing to show upwards.
    """

    origin: Array
    directions: Array
    axis_labels: tuple[str, str | None]

    def apply(self, points: Floats) -> Array:
        """Coordinates in the plane, shape (..., 2) for points of shape (..., d)."""
        return np.asarray(np.einsum("...j,aj->...a", points - self.origin, self.directions))

    def place(self, rows: Floats) -> Array:
        """Where to draw rows, shape (n, 2).

        As :meth:`apply`, but a single column is spread upwards evenly between -1 and 1, so that
        rows do not hide each other.
        """
        points = self.apply(rows)
        if self.axis_labels[1] is None:
            points[:, 1] = 2 * np.modf(np.arange(1, len(rows) + 1) * GOLDEN_RATIO)[0] - 1
        return points


def choose_projection(
    X: Floats, names: Sequence[str] | None, columns: Sequence[int | str] | None
) -> Projection:
    """Two columns if asked for or if there are no more, else two principal components.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    names : sequence of d str, or None
        Names of the columns.
    columns : sequence of two names or indices, or None
    """
    d = X.shape[1]
    labels = [f"column {j}" for j in range(d)] if names is None else list(map(str, names))
    if columns is None and d > 2:
        return _principal_components(X)
    if columns is None and d == 1:
        return Projection(np.zeros(1), np.array([[1.0], [0.0]]), (labels[0], None))
    first, second = (0, 1) if columns is None else _find_columns(columns, names, d)
    return Projection(np.zeros(d), np.eye(d)[[first, second]], (labels[first], labels[second]))


def _principal_components(X: Floats) -> Projection:
    with np.errstate(invalid="ignore", divide="ignore"):  # rows that are all alike: share 0/0
        pca = PCA(n_components=2, random_state=0).fit(X)
    # A component without variance would only show roundings.
    rounding = 8 * float(np.finfo(X.dtype).eps) * float(np.abs(X).max())
    varies = np.sqrt(pca.explained_variance_) > rounding
    shares = np.where(varies, np.nan_to_num(pca.explained_variance_ratio_), 0.0)
    first, second = (
        f"principal component {j + 1} ({percent(share)} of variance)"
        for j, share in enumerate(shares)
    )
    directions = np.where(varies[:, None], pca.components_, 0.0)
    return Projection(pca.mean_.astype(np.float64), directions, (first, second))


def _find_columns(
    columns: Sequence[int | str], names: Sequence[str] | None, d: int
) -> tuple[int, int]:
    if isinstance(columns, str) or len(columns) != 2:
        raise ValueError(f"columns must be two names or indices of columns, got {columns!r}.")
    first, second = (_find_column(column, names, d) for column in columns)
    return first, second


def _find_column(column: Any, names: Sequence[str] | None, d: int) -> int:
    if isinstance(column, Integral) and not isinstance(column, bool):
        index = int(column)
        if not -d <= index < d:
            raise ValueError(f"There is no column {index}: X has columns 0 to {d - 1}.")
        return index % d
    if names is None:
        raise ValueError(
            f"There is no column {column!r}, as the model was fitted on columns without names: "
            f"give a number from 0 to {d - 1}."
        )
    if column not in list(names):
        known = ", ".join(repr(str(name)) for name in names)
        raise ValueError(f"There is no column {column!r}: X has {known}.")
    return list(names).index(column)


def label_axes(ax: Axes, axis_labels: tuple[str, str | None]) -> None:
    """Name both axes; one that only spreads the rows has no numbers."""
    ax.set_xlabel(axis_labels[0])
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=(1, 2, 2.5, 5, 10)))  # beside a legend
    if axis_labels[1] is not None:
        ax.set_ylabel(axis_labels[1])
        return
    ax.set(ylabel="spread upwards only to be seen", yticks=(), ylim=(-1.25, 1.25))


def choose_rows(entropy: Array, max_points: int = MAX_POINTS) -> npt.NDArray[np.int64]:
    """Rows to draw, in order: all, or the least certain ones and a sample of the others.

    Of more than ``max_points`` rows, up to half of those drawn are the ones with the largest
    positive entropy; the rest is a fixed random sample.
    """
    max_points = check_integer("max_points", max_points, minimum=1)
    n = len(entropy)
    if n <= max_points:
        return np.arange(n)
    by_doubt = np.argsort(-entropy, kind="stable")
    n_doubtful = min(max_points // 2, int(np.count_nonzero(entropy > 0)))
    others = by_doubt[n_doubtful:]
    sampled = stream_generator(0, Stage.DISPLAY).choice(
        len(others), max_points - n_doubtful, replace=False, shuffle=False
    )
    return np.sort(np.concatenate([by_doubt[:n_doubtful], others[sampled]]))


def shown_note(n_shown: int, n_rows: int, which: str = "the least certain and a sample") -> str:
    """A second line for the title when not all rows are drawn."""
    return "" if n_shown >= n_rows else f"\n{n_shown:,} of {n_rows:,} rows: {which}"
