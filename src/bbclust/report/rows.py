"""The rows that the page shows: where they lie, what they are called, who votes for whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust.plots.membership_simplex import corner_of_clusters, regular_corners
from bbclust.plots.projection import choose_projection, choose_rows
from bbclust.report.analysis import Analysis
from bbclust.report.profiles import Profiles
from bbclust.report.row_pulls import rivals_and_pulls

Array = npt.NDArray[np.float64]

MAX_ROWS = 5_000
MAX_AXES = 40
MAX_TEXT = 80
TOP_VOTES = 3
PROJECTED_NUMBERS = 20_000_000
# Steps that fill the unit square evenly, and a line by the first of them alone.
EVEN_STEPS = (0.7548776662466927, 0.5698402909980532)
CORNER_SPREAD = 0.06
# Signs that would turn the direction of all that follows.
TURNS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


@dataclass(frozen=True)
class ShownRows:
    """What the linked views and the table are drawn from.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Which rows of the analysis are shown, in order.
    axes : dict from field to name
        What the map can show across and upwards.
    default_axes : tuple of two fields
    corners : ndarray of shape (K, 2)
        Where the clusters are in the simplex.
    fields : dict of arrays or lists of length m
        The columns of the data source. Names of columns and rows come from strangers, so the
        fields have names of our own.
    """

    rows: npt.NDArray[np.int64]
    axes: dict[str, str]
    default_axes: tuple[str, str]
    corners: Array
    fields: dict[str, Any]

    @property
    def columns(self) -> list[int]:
        """Columns of the table that the page holds, as indices."""
        return [int(field[1:]) for field in self.axes if field.startswith("c")]


def show_rows(analysis: Analysis, profiles: Profiles) -> ShownRows:
    """At most :data:`MAX_ROWS` rows, the least certain among them."""
    rows = choose_rows(analysis.entropy, MAX_ROWS)
    memberships = analysis.memberships[rows]
    corners = regular_corners(analysis.n_clusters)[corner_of_clusters(analysis.memberships)]
    axes, positions = _positions(analysis, rows, profiles)
    across, up = list(axes)[:2]
    fields: dict[str, Any] = {
        "row": analysis.number_rows(rows),
        "cluster": analysis.labels[rows],
        "entropy": analysis.entropy[rows],
        "filling": 1 - 0.9 * np.clip(analysis.entropy[rows], 0, 1),
        **positions,
        "map_x": positions[across],
        "map_y": positions[up],
        "home_x": positions[across],
        "home_y": positions[up],
        **_simplex(memberships, corners),
        "lane": _lanes(analysis, rows),
        **_top_votes(memberships),
        **rivals_and_pulls(analysis, rows),
        **_with_gaps(analysis, rows, axes),
    }
    for field, names in (("id", analysis.ids), ("class", analysis.truth)):
        if names is not None:
            fields[field] = [_text(names[row]) for row in rows]
    return ShownRows(
        rows, axes, (across, up), corners, {name: _compact(one) for name, one in fields.items()}
    )


def short(text: str, length: int = MAX_TEXT) -> str:
    """A text from a stranger, not longer than a page can hold, and in the page's own direction.

    Examples
    --------
    >>> from bbclust.report.rows import short
    >>> short("a very long name", 6)
    'a ver…'
    """
    text = text.translate(TURNS)
    return text if len(text) <= length else text[: length - 1] + "…"


def evenly_spread(n: int, dimension: int = 0) -> Array:
    """n numbers between 0 and 1 that fill it evenly without a pattern, always the same ones."""
    return np.asarray(np.modf(np.arange(1, n + 1) * EVEN_STEPS[dimension])[0])


def _positions(
    analysis: Analysis, rows: npt.NDArray[np.int64], profiles: Profiles
) -> tuple[dict[str, str], dict[str, Array]]:
    """Coordinates to choose from: principal components first, then the columns."""
    X, d = analysis.filled, analysis.X.shape[1]
    columns = list(range(d))
    if d > MAX_AXES:
        telling = np.abs(profiles.differences).max(axis=0)
        columns = sorted(np.argsort(-telling, kind="stable")[:MAX_AXES].tolist())
    names = {f"c{j}": short(analysis.columns[j]) for j in columns}
    values = {f"c{j}": analysis.filled_values[rows, j].astype(np.float64) for j in columns}
    if d == 2:
        return names, values
    # Of very large tables, every so-manieth row shows the same principal components.
    step = max(1, X.size // PROJECTED_NUMBERS)
    projection = choose_projection(X[::step], analysis.columns, None)
    points = projection.place(X[rows])
    if d == 1:
        return names | {"spread": "spread, only to be seen"}, values | {"spread": points[:, 1]}
    first, second = (
        str(label).replace("principal ", "").replace(" of variance", "")
        for label in projection.axis_labels
    )
    return (
        {"pc1": first, "pc2": second} | names,
        {"pc1": points[:, 0], "pc2": points[:, 1]} | values,
    )


def _with_gaps(
    analysis: Analysis, rows: npt.NDArray[np.int64], axes: dict[str, str]
) -> dict[str, Array]:
    """The values of columns in which some are missing; maps show them filled."""
    columns = [int(field[1:]) for field in axes if field.startswith("c")]
    values = {j: analysis.values[rows, j].astype(np.float64) for j in columns}
    return {f"v{j}": one for j, one in values.items() if np.isnan(one).any()}


def _simplex(memberships: Array, corners: Array) -> dict[str, Array]:
    """Mean of the corners, weighted by the memberships; a little apart, so that all can be seen."""
    points = np.einsum("ik,ka->ia", memberships, corners)
    n = len(points)
    if len(corners) <= 2:
        return {"simplex_x": points[:, 0], "simplex_y": evenly_spread(n) - 0.5}
    angles, radii = 2 * np.pi * evenly_spread(n), CORNER_SPREAD * np.sqrt(evenly_spread(n, 1))
    return {
        "simplex_x": points[:, 0] + radii * np.cos(angles),
        "simplex_y": points[:, 1] + radii * np.sin(angles),
    }


def _lanes(analysis: Analysis, rows: npt.NDArray[np.int64]) -> Array:
    """One lane for each cluster, and the last for rows in none, each spread over its lane."""
    labels = analysis.labels[rows]
    lanes = np.where(labels < 0, analysis.n_clusters, labels)
    return np.asarray(lanes + 0.7 * (evenly_spread(len(rows)) - 0.5))


def _top_votes(memberships: Array) -> dict[str, npt.NDArray[Any]]:
    """The clusters with most votes for each row, and their shares."""
    order = np.argsort(-memberships, axis=1, kind="stable")[:, :TOP_VOTES]
    shares = np.take_along_axis(memberships, order, axis=1)
    fields: dict[str, npt.NDArray[Any]] = {}
    for place in range(order.shape[1]):
        fields[f"top{place}"], fields[f"share{place}"] = order[:, place], shares[:, place]
    return fields


def _text(value: Any) -> str:
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    return "" if missing else short(str(value))


def _compact(values: Any) -> Any:
    """Numbers in four bytes each where that is more than a screen can show."""
    if isinstance(values, list):
        return values
    if values.dtype.kind in "iu":
        return values.astype(np.int32)
    with np.errstate(over="ignore"):
        small = values.astype(np.float32)
    seen = values[~np.isnan(values)]
    rounding = np.abs(small.astype(np.float64) - values)[~np.isnan(values)].max(initial=0.0)
    close = rounding == 0 or rounding <= 1e-5 * np.ptp(seen)
    return small if close else values
