"""DataMapDisplay: the rows in two dimensions, their clusters and how sure these are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import patheffects
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import FigureBase
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse

from bbclust.percentages import percent
from bbclust.plots.canvas import (
    axes_or_new,
    cluster_entries,
    counted,
    legend_beside,
    marker_entry,
    set_title,
)
from bbclust.plots.ellipses import ellipse_of_points
from bbclust.plots.models import column_names, fitted_model, rows_of_fit, uncertainty_of
from bbclust.plots.palette import INK, cluster_color, cluster_marker, faded, own_colors
from bbclust.plots.projection import (
    MAX_POINTS,
    choose_projection,
    choose_rows,
    label_axes,
    shown_note,
)
from bbclust.validation import check_level

Array = npt.NDArray[np.float64]

HALO = [patheffects.withStroke(linewidth=3.2, foreground="white")]


class DataMapDisplay:
    """The rows in two dimensions, coloured by cluster and paler where the votes disagree.

    Around each cluster's centre, an ellipse holds 95% of the centres that the replicas found: the
    smallest one of the shape of their covariance.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Where the rows lie.
    labels : ndarray of shape (n,)
        Their clusters.
    uncertainty : ndarray of shape (n,)
        From 0, filled with the cluster's colour, to 1, hollow.
    replica_centers : ndarray of shape (B, K, 2)
        Centres of the replicas in the same two dimensions.
    axis_labels : tuple of two str
        The second is None if only the first coordinate means anything.
    n_rows : int, optional
        How many rows there are, if ``points`` are a sample.
    level : float in (0, 1), default=0.95
        Share of the replicas' centres in the ellipses.
    colors : sequence of K ints, optional
        Colour index of each cluster, as from :func:`~bbclust.plots.colors_across_k`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        The figure, or subfigure, of the axes.
    scatters_ : list of matplotlib PathCollection
        The rows of each cluster.
    ellipses_ : list of matplotlib Ellipse
        One per cluster.
    legend_ : matplotlib Legend or None

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.plots import DataMapDisplay
    >>> iris = load_iris()
    >>> model = BBC(n_clusters=3, random_state=0).fit(iris.data)
    >>> display = DataMapDisplay.from_estimator(model, iris.data)
    >>> display.ax_.get_xlabel()
    'principal component 1 (92% of variance)'
    """

    def __init__(
        self,
        *,
        points: Array,
        labels: npt.NDArray[np.integer],
        uncertainty: Array,
        replica_centers: Array,
        axis_labels: tuple[str, str | None],
        n_rows: int | None = None,
        level: float = 0.95,
        colors: Sequence[int] | None = None,
    ) -> None:
        self.points = points
        self.labels = labels
        self.uncertainty = uncertainty
        self.replica_centers = replica_centers
        self.axis_labels = axis_labels
        self.n_rows = n_rows
        self.level = level
        self.colors = colors

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        columns: Sequence[int | str] | None = None,
        level: float = 0.95,
        max_points: int = MAX_POINTS,
        colors: Sequence[int] | None = None,
        legend: bool = True,
        ax: Axes | None = None,
    ) -> DataMapDisplay:
        """Draw the rows that a model was fitted on.

        Parameters
        ----------
        model : BBC or KSelector
            Fitted; of a selector, ``best_estimator_`` is drawn.
        X : array-like or data frame of shape (n, d)
            The rows of ``fit``, in the same order: their colours come from ``memberships_``. For
            other rows, make a display from arrays.
        columns : two names or indices, optional
            The columns to draw. By default the first two principal components if there are more
            than two columns.
        level : float in (0, 1), default=0.95
            Share of the replicas' centres in the ellipses.
        max_points : int, default=20000
            Of more rows, draw the least certain ones and a sample of the others.
        colors : sequence of K ints, optional
            Colour index of each cluster, as from :func:`~bbclust.plots.colors_across_k`.
        legend, ax
            See :meth:`plot`.

        Returns
        -------
        display : DataMapDisplay
        """
        fitted = fitted_model(model, "memberships_", "replica_centers_")
        X = rows_of_fit(model, X)
        projection = choose_projection(X, column_names(model), columns)
        rows = choose_rows(fitted.entropy_, max_points)
        display = cls(
            points=projection.place(X[rows]),
            labels=fitted.labels_[rows],
            uncertainty=uncertainty_of(fitted.entropy_[rows], fitted.memberships_.shape[1]),
            replica_centers=projection.apply(fitted.replica_centers_),
            axis_labels=projection.axis_labels,
            n_rows=len(X),
            level=level,
            colors=colors,
        )
        return display.plot(ax, legend=legend)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> DataMapDisplay:
        """Draw the rows.

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
        check_level(self.level)
        ax = axes_or_new(ax)
        self.ax_: Axes = ax
        self.figure_: FigureBase = ax.figure
        n_clusters = self.replica_centers.shape[1]
        colors = own_colors(n_clusters, self.colors)
        self.scatters_: list[PathCollection] = draw_rows(
            ax, self.points, self.labels, self.uncertainty, colors
        )
        self._draw_ellipses(ax)
        label_axes(ax, self.axis_labels)
        n_rows = len(self.points) if self.n_rows is None else self.n_rows
        title = f"{counted(n_rows, 'row')} in {counted(n_clusters, 'cluster')}"
        if n_clusters > 1:
            title += ", paler where in doubt"
        set_title(ax, title + shown_note(len(self.points), n_rows))
        self.legend_: Legend | None = None
        if legend:
            self.legend_ = legend_beside(ax, self._legend_entries(colors))
        return self

    def _draw_ellipses(self, ax: Axes) -> None:
        self.ellipses_: list[Ellipse] = []
        for centers in np.moveaxis(self.replica_centers, 1, 0):
            ellipse = ellipse_of_points(centers, self.level)
            patch = ellipse.patch(
                facecolor="none", edgecolor=INK, linewidth=1.6, zorder=4, path_effects=HALO
            )
            ax.add_patch(patch)
            self.ellipses_.append(patch)

    def _legend_entries(self, colors: Sequence[int]) -> list[Artist]:
        """Clusters, then what the fill and the ellipses mean."""
        entries: list[Artist] = [*cluster_entries(colors)]
        if len(colors) > 1:
            entries += fill_entries(len(colors))
        flat = self.axis_labels[1] is None
        entries.append(outline_entry(f"{percent(self.level)} of centres", flat=flat))
        return entries


def outline_entry(label: str, *, flat: bool) -> Line2D:
    """An ellipse for a legend; a stroke if ellipses are flat."""
    if flat:
        return Line2D([], [], label=label, color=INK, linewidth=1.6)
    return Line2D(
        [],
        [],
        linestyle="none",
        label=label,
        marker="o",
        markersize=9,
        markeredgecolor=INK,
        markerfacecolor="none",
        markeredgewidth=1.6,
    )


def fill_entries(n_clusters: int) -> list[Line2D]:
    """What the fill of a marker means, for a legend."""
    most = float(np.log2(n_clusters))
    meanings = {0.0: "0 bits: all votes agree", 1.0: "1 bit: a coin toss"}
    if n_clusters > 2:
        meanings[most] = f"{most:.2g} bits: a pure guess"
    return [
        marker_entry(meaning, "o", INK, faded(INK, fading(bits / most)))
        for bits, meaning in meanings.items()
    ]


def fading(uncertainty: npt.ArrayLike) -> Array:
    """How much of a colour is gone, 1 - (1 - u)^2.

    Faster than u, because a coin toss between two of many clusters is a small share of log2 K.
    """
    return np.asarray(1.0 - np.square(1.0 - np.asarray(uncertainty, dtype=np.float64)))


def draw_rows(
    ax: Axes,
    points: Array,
    labels: npt.NDArray[np.integer],
    uncertainty: Array,
    colors: Sequence[int],
) -> list[PathCollection]:
    """Scatter the rows of each cluster, the least certain on top; one collection per cluster."""
    area, edge = marker_area(len(points))
    by_certainty = np.argsort(uncertainty, kind="stable")
    scatters = []
    for k, index in enumerate(colors):
        mine = by_certainty[labels[by_certainty] == k]
        color = cluster_color(index)
        scatters.append(
            ax.scatter(
                points[mine, 0],
                points[mine, 1],
                s=area,
                c=faded(color, fading(uncertainty[mine])),
                marker=cluster_marker(index),
                edgecolors=color,
                linewidths=edge,
                rasterized=len(points) > 5_000,
                zorder=2,
            )
        )
    return scatters


def marker_area(n_points: int) -> tuple[float, float]:
    """Area of markers in square points, and width of their edges: smaller when there are many."""
    area = float(np.clip(36.0 * np.sqrt(200.0 / n_points), 4.0, 36.0))
    return area, float(np.clip(np.sqrt(area) / 5, 0.5, 1.2))
