"""MembershipEdgesDisplay: how each two clusters share the votes on the rows between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import FigureBase
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from bbclust.plots.canvas import axes_or_new, font_size_for_cells, set_title
from bbclust.plots.models import fitted_model
from bbclust.plots.pairwise_heatmap import mark_clusters
from bbclust.plots.palette import (
    FAINT,
    INK,
    cluster_color,
    own_colors,
)

Array = npt.NDArray[np.float64]

N_BINS = 10  # even: bars of one colour to each side of the middle
SIDE = 0.44  # half the width of a panel; panels are one unit apart
BAR_HEIGHT = 0.6
MOST_WITH_NUMBERS = 20


class MembershipEdgesDisplay:
    """How each two clusters share the votes on the rows between them: a panel for each pair.

    A panel is a histogram of u_m / (u_l + u_m) over the rows with votes for both l and m. Rows at
    its left end are nearly in l, the cluster of the column, those at its right end nearly in m, the
    cluster of the row, and in the middle it is a coin toss between the two. Each panel has a scale
    of its own; the number in it counts the rows.

    Parameters
    ----------
    memberships : ndarray of shape (n, K)
    colors : sequence of K ints, optional
        Colour index of each cluster, as from :func:`~bbclust.plots.colors_across_k`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        The figure, or subfigure, of the axes.
    panels_ : dict of (int, int) to matplotlib PolyCollection
        The bars of each pair (l, m), l < m, from left to right; pairs without rows have none.
    numbers_ : dict of (int, int) to matplotlib Text
        The number of rows of each pair; empty above 20 clusters.

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.plots import MembershipEdgesDisplay
    >>> model = BBC(n_clusters=3, random_state=0).fit(load_iris().data)
    >>> display = MembershipEdgesDisplay.from_estimator(model)
    >>> sorted(display.panels_)  # no row has votes for cluster 1 and another
    [(0, 2)]
    """

    def __init__(self, *, memberships: Array, colors: Sequence[int] | None = None) -> None:
        self.memberships = memberships
        self.colors = colors

    @classmethod
    def from_estimator(
        cls, model: Any, *, colors: Sequence[int] | None = None, ax: Axes | None = None
    ) -> MembershipEdgesDisplay:
        """Draw the memberships of the rows of ``fit``.

        Parameters
        ----------
        model : BBC or KSelector
            Fitted; of a selector, ``best_estimator_`` is drawn. For other rows, make a display
            from ``memberships=model.predict_proba(rows)``.
        colors : sequence of K ints, optional
            Colour index of each cluster, as from :func:`~bbclust.plots.colors_across_k`.
        ax
            See :meth:`plot`.

        Returns
        -------
        display : MembershipEdgesDisplay
        """
        model = fitted_model(model, "memberships_")
        return cls(memberships=model.memberships_, colors=colors).plot(ax)

    def plot(self, ax: Axes | None = None) -> MembershipEdgesDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw, all panels in it; by default on a new figure of pyplot.

        Returns
        -------
        self
        """
        ax = axes_or_new(ax)
        self.ax_: Axes = ax
        self.figure_: FigureBase = ax.figure
        n_clusters = self.memberships.shape[1]
        colors = own_colors(n_clusters, self.colors)
        self.panels_: dict[tuple[int, int], PolyCollection] = {}
        self.numbers_: dict[tuple[int, int], Text] = {}
        for m in range(n_clusters):
            for k in range(m):
                self._draw_panel(ax, k, m, (colors[k], colors[m]))
        mark_clusters(ax, colors)
        ticks = range(0, n_clusters, 1 + n_clusters // 30)
        ax.set(xticks=ticks, yticks=ticks, xlim=(-0.5, n_clusters - 0.5))
        ax.set_xlabel("cluster at the left of a panel")
        ax.set_ylabel("cluster at its right")
        ax.set_ylim(n_clusters - 0.5, -0.5)
        ax.set_aspect("equal")
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        if n_clusters == 1:
            set_title(ax, "One cluster: no pairs to share votes")
            return self
        set_title(ax, "How each two clusters share votes")
        note = "number: rows with\nvotes for both"
        ax.text(1.0, 1.0, note, transform=ax.transAxes, ha="right", va="top", color=INK)
        return self

    def _draw_panel(self, ax: Axes, k: int, m: int, colors: tuple[int, int]) -> None:
        shares = shares_between(self.memberships, k, m)
        counts, _ = np.histogram(shares, bins=N_BINS, range=(0.0, 1.0))
        frame = Rectangle(
            (k - SIDE, m - SIDE), 2 * SIDE, 2 * SIDE, fill=False, edgecolor=FAINT, linewidth=0.6
        )
        ax.add_patch(frame)
        if len(shares):
            edges = k - SIDE + 2 * SIDE * np.linspace(0, 1, N_BINS + 1)
            floor = np.full(N_BINS, m + SIDE)
            tops = floor - BAR_HEIGHT * counts / counts.max()  # the axis points downwards
            x = np.stack([edges[:-1], edges[1:], edges[1:], edges[:-1]], axis=1)
            y = np.stack([floor, floor, tops, tops], axis=1)
            half = N_BINS // 2
            fills = [cluster_color(colors[0])] * half + [cluster_color(colors[1])] * half
            bars = PolyCollection(
                list(np.stack([x, y], axis=2)), facecolors=fills, edgecolors="white", linewidths=0.3
            )
            ax.add_collection(bars)
            self.panels_[k, m] = bars
        n_clusters = self.memberships.shape[1]
        if n_clusters <= MOST_WITH_NUMBERS:
            self.numbers_[k, m] = ax.text(
                k,
                m - 0.9 * SIDE,
                f"{len(shares):,}",
                ha="center",
                va="top",
                fontsize=font_size_for_cells(ax, n_clusters, 5),
                color=INK if len(shares) else FAINT,
            )


def shares_between(memberships: Array, first: int, second: int) -> Array:
    """u_second / (u_first + u_second) of the rows with votes for both."""
    u, v = memberships[:, first], memberships[:, second]
    both = (u > 0) & (v > 0)
    return np.asarray(v[both] / (u[both] + v[both]))
