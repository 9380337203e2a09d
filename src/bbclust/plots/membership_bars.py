"""MembershipBarsDisplay: the votes on every row, as stacked bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import FigureBase
from matplotlib.legend import Legend
from matplotlib.patches import Patch

from bbclust.plots.canvas import axes_or_new, legend_beside, set_title
from bbclust.plots.models import fitted_model
from bbclust.plots.palette import cluster_color, own_colors
from bbclust.plots.projection import shown_note

Array = npt.NDArray[np.float64]

MAX_BARS = 5_000


class MembershipBarsDisplay:
    """The share of each cluster in the votes on every row: one thin bar per row.

    Rows are sorted by cluster, and within a cluster by certainty. In each bar, the row's own
    cluster is at the bottom and the others follow by number. So every cluster is a block whose
    colour falls towards the right, and what is above it shows which cluster the others voted for.

    Parameters
    ----------
    memberships : ndarray of shape (n, K)
        Of more than 5,000 rows, evenly spaced ones of the sorted rows are drawn.
    colors : sequence of K ints, optional
        Colour index of each cluster, as from :func:`~bbclust.plots.colors_across_k`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        The figure, or subfigure, of the axes.
    rows_ : ndarray of int
        The rows drawn, from left to right.
    bars_ : list of matplotlib PolyCollection
        For each cluster, its share in all bars.
    legend_ : matplotlib Legend or None

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.plots import MembershipBarsDisplay
    >>> model = BBC(n_clusters=3, random_state=0).fit(load_iris().data)
    >>> display = MembershipBarsDisplay.from_estimator(model)
    >>> len(display.rows_)
    150
    """

    def __init__(self, *, memberships: Array, colors: Sequence[int] | None = None) -> None:
        self.memberships = memberships
        self.colors = colors

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        colors: Sequence[int] | None = None,
        legend: bool = True,
        ax: Axes | None = None,
    ) -> MembershipBarsDisplay:
        """Draw the memberships of the rows of ``fit``.

        Parameters
        ----------
        model : BBC or KSelector
            Fitted; of a selector, ``best_estimator_`` is drawn. For other rows, make a display
            from ``memberships=model.predict_proba(rows)``.
        colors : sequence of K ints, optional
            Colour index of each cluster, as from :func:`~bbclust.plots.colors_across_k`.
        legend, ax
            See :meth:`plot`.

        Returns
        -------
        display : MembershipBarsDisplay
        """
        model = fitted_model(model, "memberships_")
        return cls(memberships=model.memberships_, colors=colors).plot(ax, legend=legend)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> MembershipBarsDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure of pyplot.
        legend : bool, default=True
            A legend to the right of the axes.

        Returns
        -------
        self
        """
        ax = axes_or_new(ax)
        self.ax_: Axes = ax
        self.figure_: FigureBase = ax.figure
        n_rows, n_clusters = self.memberships.shape
        colors = own_colors(n_clusters, self.colors)
        self.rows_ = evenly_spaced(sort_rows(self.memberships), MAX_BARS)
        shares = self.memberships[self.rows_]
        self.bars_: list[PolyCollection] = []
        for k, (bottom, top) in enumerate(zip(*stacked(shares), strict=True)):
            bars = _bars(bottom, top, color=cluster_color(colors[k]))
            ax.add_collection(bars)
            self.bars_.append(bars)
        self._part_clusters(ax, shares.argmax(axis=1))
        note = shown_note(len(self.rows_), n_rows, "evenly spaced")
        set_title(ax, "How the votes on each row are shared" + note)
        ax.set(xlim=(0, len(shares)), ylim=(0, 1), xticks=(), ylabel="share of votes")
        ax.set_xlabel("rows by cluster, the surest of each first")
        self.legend_: Legend | None = None
        if legend:
            entries = [
                Patch(color=cluster_color(index), label=f"cluster {k}")
                for k, index in enumerate(colors)
            ]
            self.legend_ = legend_beside(ax, entries)
        return self

    def _part_clusters(self, ax: Axes, labels: npt.NDArray[np.integer]) -> None:
        """White lines between the blocks."""
        for border in np.flatnonzero(np.diff(labels)) + 1:
            ax.axvline(float(border), color="white", linewidth=1.2)


def sort_rows(memberships: Array) -> npt.NDArray[np.intp]:
    """Rows by cluster, within a cluster by decreasing membership in it, then as they came."""
    return np.lexsort((-memberships.max(axis=1), memberships.argmax(axis=1)))


def evenly_spaced(rows: npt.NDArray[np.intp], most: int) -> npt.NDArray[np.intp]:
    """All rows, or that many of them in even steps from the first to the last."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.intp)]


def stacked(memberships: Array) -> tuple[Array, Array]:
    """Lower and upper end of each cluster's share, each (K, n), a row's own cluster at the bottom.

    Own share from 0 to u_own; cluster k from u_own plus the shares of smaller k to that plus u_k.
    """
    n, n_clusters = memberships.shape
    own = memberships.argmax(axis=1)
    others = memberships.copy()
    others[np.arange(n), own] = 0.0
    upper = memberships.max(axis=1)[:, None] + np.cumsum(others, axis=1)
    lower = upper - others
    is_own = own[:, None] == np.arange(n_clusters)
    lower = np.where(is_own, 0.0, lower)
    upper = np.where(is_own, memberships, upper)
    return lower.T, upper.T


def _bars(bottom: Array, top: Array, *, color: str) -> PolyCollection:
    """Bars of width one side by side, those without height left out."""
    left = np.flatnonzero(top > bottom)
    x = np.stack([left, left + 1, left + 1, left], axis=1)
    y = np.stack([bottom[left], bottom[left], top[left], top[left]], axis=1)
    # Edges of the same colour close the gaps that smoothing leaves between neighbours.
    return PolyCollection(
        list(np.stack([x, y], axis=2)), facecolors=color, edgecolors=color, linewidths=0.2
    )
