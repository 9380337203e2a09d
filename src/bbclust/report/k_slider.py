"""What every number of clusters looks like: the data behind the sliders for K and s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust.plots.palette import colors_across_k
from bbclust.selection.grid import Grid
from bbclust.selection.k_selector import KSelector
from bbclust.selection.splits import mean_doubts
from bbclust.stages.table import Floats, centered
from bbclust.stages.voting import nearest_center

Labels = npt.NDArray[np.integer]

MOST_FOR_MATRIX = 12


def describe_every_k(
    selector: KSelector,
    rows: Floats,
    labels: Labels,
    places: npt.NDArray[np.int64] | None = None,
    shares: Sequence[float] | None = None,
) -> dict[str, Any]:
    """Plain data for every K and s of the grid.

    Parameters
    ----------
    selector : fitted KSelector
    rows : ndarray of shape (m, d)
        The rows that are shown, as they were clustered.
    labels : ndarray of shape (m,)
        Their clusters in the final model, which keep their colours at the chosen K.
    places : ndarray of shape (m,), optional
        Where these rows are among those that K was chosen on. Rows that need not be among them are
        given to the nearest centre, which for k-means is the same.
    shares : sequence of float, optional
        Shares of the clusters in the final model.

    Returns
    -------
    dict
        ``k_values``, ``prior_scales``, the index of the ``chosen`` K, and per K: the ``labels`` of
        the rows, the ``colors`` of the clusters, their ``shares``, a ``verdict``, and the
        ``doubts`` between them. Labels and shares of the chosen K are those of the final model.
    """
    grid = selector.grid_
    chosen = grid.k_values.index(max(selector.best_k_, grid.k_values[0]))
    if places is not None:
        partitions = [part.labels[places] for part in grid.references]
    else:
        origin = rows.mean(axis=0, dtype=np.float64)
        shifted = centered(rows, origin)
        partitions = [nearest_center(shifted, part.centers - origin) for part in grid.references]
    if selector.best_k_ == grid.k_values[chosen]:
        partitions[chosen] = np.asarray(labels)
    else:  # K = 1
        shares = None
    return {
        "k_values": list(grid.k_values),
        "prior_scales": list(grid.prior_scales),
        "chosen": chosen,
        "by_k": [
            {
                "labels": partitions[i].tolist(),
                "colors": colors,
                "shares": [
                    round(share, 4)
                    for share in (verdict.sizes if shares is None or i != chosen else shares)
                ],
                "verdict": str(verdict),
                "doubts": _doubts(grid, k),
            }
            for i, (k, colors, verdict) in enumerate(
                zip(
                    grid.k_values,
                    keep_colors(labels, partitions, grid.k_values, chosen),
                    selector.verdict_.by_k,
                    strict=True,
                )
            )
        ],
    }


def keep_colors(
    labels: Labels, partitions: Sequence[Labels], k_values: Sequence[int], chosen: int
) -> list[list[int]]:
    """Colour index of each cluster at each K, from the chosen K upwards and downwards."""
    clustered = np.all([part >= 0 for part in (labels, *partitions)], axis=0)
    if not clustered.any():
        return [list(range(k)) for k in k_values]
    labels, partitions = labels[clustered], [part[clustered] for part in partitions]
    up = colors_across_k([labels, *partitions[chosen:]])[1:]
    down = colors_across_k([labels, *partitions[chosen::-1]])[1:]
    return [_complete(colors, k) for colors, k in zip([*down[:0:-1], *up], k_values, strict=True)]


def _complete(colors: Sequence[int], n_clusters: int) -> list[int]:
    """Colours for clusters of which no row is shown, too."""
    unused = (index for index in range(2 * n_clusters) if index not in colors)
    return [*colors, *(next(unused) for _ in range(n_clusters - len(colors)))]


def _doubts(grid: Grid, n_clusters: int) -> list[list[float]] | None:
    """Between every two clusters, over all s; None if they are too many for a table."""
    if n_clusters > MOST_FOR_MATRIX:
        return None
    rounded: list[list[float]] = mean_doubts(grid, n_clusters).round(3).tolist()
    return rounded
