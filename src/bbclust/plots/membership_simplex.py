"""MembershipSimplexDisplay: every row between the clusters that got its votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import FigureBase
from matplotlib.text import Text
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from bbclust.plots.canvas import axes_or_new, set_title
from bbclust.plots.data_map import marker_area
from bbclust.plots.models import fitted_model
from bbclust.plots.palette import FAINT, INK, cluster_color, cluster_marker, own_colors
from bbclust.plots.projection import MAX_POINTS, choose_rows, shown_note
from bbclust.stages.entropies import entropy, mean_pairwise_entropy

Array = npt.NDArray[np.float64]

LABEL_RADIUS = 1.08
MOST_WITH_LONG_LABELS = 8
SHARE_OF_CHORDS = 0.2  # of the largest pairwise entropy: pairs with less are not joined by a line


class MembershipSimplexDisplay:
    """Every row between the clusters that got its votes, as in Figure 1 of the paper.

    Clusters are corners, and a row lies at the mean of the corners, weighted by its memberships: on
    a corner when all votes agree, in the middle of an edge when two clusters share them. Two
    clusters make a line and three a triangle; these show the memberships exactly. More make a
    regular polygon, in which rows with other memberships may lie at the same place
    (:class:`~bbclust.plots.MembershipEdgesDisplay` shows each two clusters alone). There, clusters
    that share many votes are neighbours.

    Parameters
    ----------
    memberships : ndarray of shape (n, K)
        Of more than 20,000 rows, the least certain ones and a sample of the others are drawn.
    colors : sequence of K ints, optional
        Colour index of each cluster, as from :func:`~bbclust.plots.colors_across_k`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        The figure, or subfigure, of the axes.
    corners_ : ndarray of shape (K, 2)
        Where the clusters are.
    scatters_ : list of matplotlib PathCollection
        The rows of each cluster.
    corner_labels_ : list of matplotlib Text
        One per cluster.

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import make_uniform_square
    >>> from bbclust.plots import MembershipSimplexDisplay
    >>> model = BBC(n_clusters=3, random_state=0).fit(make_uniform_square(random_state=0))
    >>> display = MembershipSimplexDisplay.from_estimator(model)
    >>> print(display.corners_.round(2))
    [[ 0.    1.  ]
     [ 0.87 -0.5 ]
     [-0.87 -0.5 ]]
    """

    def __init__(self, *, memberships: Array, colors: Sequence[int] | None = None) -> None:
        self.memberships = memberships
        self.colors = colors

    @classmethod
    def from_estimator(
        cls, model: Any, *, colors: Sequence[int] | None = None, ax: Axes | None = None
    ) -> MembershipSimplexDisplay:
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
        display : MembershipSimplexDisplay
        """
        model = fitted_model(model, "memberships_")
        return cls(memberships=model.memberships_, colors=colors).plot(ax)

    def plot(self, ax: Axes | None = None) -> MembershipSimplexDisplay:
        """Draw the rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure of pyplot.

        Returns
        -------
        self
        """
        ax = axes_or_new(ax)
        self.ax_: Axes = ax
        self.figure_: FigureBase = ax.figure
        n, n_clusters = self.memberships.shape
        colors = own_colors(n_clusters, self.colors)
        self.corners_ = regular_corners(n_clusters)[corner_of_clusters(self.memberships)]
        rows = choose_rows(entropy(self.memberships), MAX_POINTS)
        self._draw_frame(ax)
        self._draw_rows(ax, self.memberships[rows], colors)
        self._label_corners(ax)
        where = "" if n_clusters == 1 else " at an end" if n_clusters == 2 else " at a corner"
        set_title(ax, f"Votes on each row: all agree{where}" + shown_note(len(rows), n))
        ax.set_axis_off()
        _leave_room_for_labels(ax, self.corners_)
        return self

    def _draw_frame(self, ax: Axes) -> None:
        """Edges, where the lead changes in a triangle, and in a polygon who shares votes."""
        n_clusters = len(self.corners_)
        outline = regular_corners(n_clusters)[[*range(n_clusters), 0]]
        ax.plot(outline[:, 0], outline[:, 1], color=INK, linewidth=1.0, zorder=1)
        faint: dict[str, Any] = {"color": FAINT, "linewidth": 0.8, "zorder": 0}
        if n_clusters == 2:
            ax.plot([0, 0], [-0.5, 0.5], **faint)
        elif n_clusters == 3:
            for middle in (outline[1:] + outline[:-1]) / 2:
                ax.plot([0, middle[0]], [0, middle[1]], **faint)
        elif n_clusters > 3:
            shared = mean_pairwise_entropy(np.ascontiguousarray(self.memberships))
            for pair in np.argwhere(np.triu(shared) > SHARE_OF_CHORDS * shared.max()):
                ax.plot(*self.corners_[pair].T, **faint)

    def _draw_rows(self, ax: Axes, memberships: Array, colors: Sequence[int]) -> None:
        points = np.einsum("ik,ka->ia", memberships, self.corners_)
        labels = memberships.argmax(axis=1)
        area, edge = marker_area(len(points))
        area = max(area, 16.0)  # many rows share a corner, so there is room
        on_a_line = len(colors) == 2
        self.scatters_: list[PathCollection] = []
        for k, index in enumerate(colors):
            x, y = points[labels == k].T
            scatter = ax.scatter(
                x,
                y,
                s=1_500 if on_a_line else area,
                marker="|" if on_a_line else cluster_marker(index),
                color=cluster_color(index),
                linewidths=2 * edge if on_a_line else 0,
                alpha=0.6,
                rasterized=len(points) > 5_000,
                zorder=3,
                clip_on=False,
            )
            self.scatters_.append(scatter)

    def _label_corners(self, ax: Axes) -> None:
        n_clusters = len(self.corners_)
        sure = (self.memberships == 1.0).sum(axis=0)
        self.corner_labels_: list[Text] = []
        for k, (x, y) in enumerate(self.corners_):
            label = f"cluster {k}\n{sure[k]:,} certain"
            if n_clusters > MOST_WITH_LONG_LABELS:
                label = str(k)
            self.corner_labels_.append(
                ax.text(
                    LABEL_RADIUS * x,
                    LABEL_RADIUS * y if n_clusters > 1 else -0.2,
                    label,
                    ha="center" if abs(x) < 0.2 else "left" if x > 0 else "right",
                    va="center" if abs(y) < 0.2 and x else "bottom" if y > 0 else "top",
                    color=INK,
                )
            )


def regular_corners(n_clusters: int) -> Array:
    """Corners of a line or a regular polygon around zero, clockwise from the top, shape (K, 2)."""
    if n_clusters == 1:
        return np.zeros((1, 2))
    if n_clusters == 2:
        return np.array([[-1.0, 0.0], [1.0, 0.0]])
    angles = 2 * np.pi * np.arange(n_clusters) / n_clusters
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


def corner_of_clusters(memberships: Array) -> npt.NDArray[np.intp]:
    """Which corner each cluster takes, cluster 0 the first, shape (K,).

    Up to three corners are all neighbours. Among more, clusters with much entropy between them
    should be neighbours: they are ordered as the leaves of a tree that joins such clusters first.
    """
    n_clusters = memberships.shape[1]
    if n_clusters <= 3:
        return np.arange(n_clusters)
    shared = mean_pairwise_entropy(np.ascontiguousarray(memberships))
    apart = squareform(shared.max() - shared, checks=False)
    order = leaves_list(optimal_leaf_ordering(linkage(apart, "average"), apart))
    order = np.roll(order, -int(np.flatnonzero(order == 0)[0]))
    return np.argsort(order)


def _leave_room_for_labels(ax: Axes, corners: Array) -> None:
    if len(corners) <= 2:
        ax.set(xlim=(-1.6, 1.6), ylim=(-2, 2))
        return
    below, above = np.array([0.6, 0.35]), np.array([0.6, 0.42])
    ax.update_datalim([corners.min(axis=0) - below, corners.max(axis=0) + above])
    ax.margins(0.0)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
