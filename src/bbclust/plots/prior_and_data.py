"""PriorAndDataDisplay: where the prior puts its draws, and where the data are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
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
    legend_beside,
    marker_entry,
    set_title,
)
from bbclust.plots.data_map import draw_rows, marker_area
from bbclust.plots.ellipses import ellipse_of_distribution
from bbclust.plots.models import column_names, fitted_model, rows_of_fit
from bbclust.plots.palette import FAINT, INK, own_colors
from bbclust.plots.projection import (
    Projection,
    choose_projection,
    choose_rows,
    label_axes,
    shown_note,
)
from bbclust.priors import GaussianMixture, StudentMixture
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.validation import check_level

Array = npt.NDArray[np.float64]

VIEW_MARGIN = 0.75  # of the width of 90% of the draws: four standard deviations of one Gaussian
MAX_POINTS = 2_000  # of the rows and of the draws: more would hide each other


class PriorAndDataDisplay:
    """Draws from the prior F0, in grey, behind the rows, in the colours of their clusters.

    If the prior is a mixture of Gaussian or Student distributions, an ellipse around each holds 95%
    of it. Rows lie where :class:`~bbclust.plots.DataMapDisplay` puts them. Draws that a heavy tail
    throws far out are left out and counted in the legend.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Where the rows lie.
    labels : ndarray of shape (n,)
        Their clusters.
    draws : ndarray of shape (m, 2)
        Draws from the prior in the same two dimensions.
    axis_labels : tuple of two str
        The second is None if only the first coordinate means anything.
    n_clusters : int
        K.
    means : ndarray of shape (components, 2), optional
        Centres of the prior's components in the same two dimensions.
    scales : ndarray of shape (components, 2, 2), optional
        Their covariances, or scale matrices of Student distributions.
    df : float, default=inf
        Degrees of freedom of the components; infinite for Gaussians.
    n_rows : int, optional
        How many rows there are, if ``points`` are a sample.
    level : float in (0, 1), default=0.95
        Share of a component in its ellipse.
    colors : sequence of K ints, optional
        Colour index of each cluster, as from :func:`~bbclust.plots.colors_across_k`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        The figure, or subfigure, of the axes.
    draws_ : matplotlib PathCollection
        The draws, without those far out.
    scatters_ : list of matplotlib PathCollection
        The rows of each cluster.
    ellipses_ : list of matplotlib Ellipse
        One per component of the prior.
    legend_ : matplotlib Legend or None

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.plots import PriorAndDataDisplay
    >>> iris = load_iris()
    >>> model = BBC(n_clusters=3, random_state=0).fit(iris.data)
    >>> display = PriorAndDataDisplay.from_estimator(model, iris.data)
    >>> len(display.ellipses_)
    3
    """

    def __init__(
        self,
        *,
        points: Array,
        labels: npt.NDArray[np.integer],
        draws: Array,
        axis_labels: tuple[str, str | None],
        n_clusters: int,
        means: Array | None = None,
        scales: Array | None = None,
        df: float = np.inf,
        n_rows: int | None = None,
        level: float = 0.95,
        colors: Sequence[int] | None = None,
    ) -> None:
        self.points = points
        self.labels = labels
        self.draws = draws
        self.axis_labels = axis_labels
        self.n_clusters = n_clusters
        self.means = means
        self.scales = scales
        self.df = df
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
    ) -> PriorAndDataDisplay:
        """Draw a model's prior and the rows that it was fitted on.

        Parameters
        ----------
        model : BBC or KSelector
            Fitted, with a prior; of a selector, ``best_estimator_`` is drawn.
        X : array-like or data frame of shape (n, d)
            The rows of ``fit``, in the same order.
        columns : two names or indices, optional
            The columns to draw. By default the first two principal components of X if there are
            more than two columns.
        level : float in (0, 1), default=0.95
            Share of a component of the prior in its ellipse.
        max_points : int, default=2000
            Of more rows, draw a random sample.
        colors : sequence of K ints, optional
            Colour index of each cluster, as from :func:`~bbclust.plots.colors_across_k`.
        legend, ax
            See :meth:`plot`.

        Returns
        -------
        display : PriorAndDataDisplay
        """
        fitted = fitted_model(model, "memberships_", "prior_")
        if fitted.prior_ is None:
            raise ValueError(
                "This model used no prior: fit it with resampling='proper' and a prior_weight "
                "above 0."
            )
        X = rows_of_fit(model, X)
        projection = choose_projection(X, column_names(model), columns)
        rows = choose_rows(np.zeros(len(X)), max_points)
        n_draws = int(np.clip(len(X), 200, MAX_POINTS))
        draws = fitted.prior_.sample(n_draws, stream_generator(0, Stage.DISPLAY))
        means, scales = _components(fitted.prior_, projection)
        display = cls(
            points=projection.place(X[rows]),
            labels=fitted.labels_[rows],
            draws=projection.place(draws),
            axis_labels=projection.axis_labels,
            n_clusters=fitted.memberships_.shape[1],
            means=means,
            scales=scales,
            df=getattr(fitted.prior_, "df", np.inf),
            n_rows=len(X),
            level=level,
            colors=colors,
        )
        return display.plot(ax, legend=legend)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> PriorAndDataDisplay:
        """Draw the prior and the rows.

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
        colors = own_colors(self.n_clusters, self.colors)
        area, _ = marker_area(len(self.draws))
        x, y = self.draws[in_view(self.draws, self.points)].T
        self.draws_: PathCollection = ax.scatter(x, y, s=area, color=FAINT, linewidths=0, zorder=1)
        certain = np.zeros(len(self.points))
        self.scatters_: list[PathCollection] = draw_rows(
            ax, self.points, self.labels, certain, colors
        )
        self._draw_ellipses(ax)
        label_axes(ax, self.axis_labels)
        n_rows = len(self.points) if self.n_rows is None else self.n_rows
        note = shown_note(len(self.points), n_rows, "a random sample")
        set_title(ax, "The prior, in grey, and the data" + note)
        self.legend_: Legend | None = None
        if legend:
            self.legend_ = legend_beside(ax, self._legend_entries(colors))
        return self

    def _draw_ellipses(self, ax: Axes) -> None:
        self.ellipses_: list[Ellipse] = []
        if self.means is None or self.scales is None:
            return
        for mean, scale in zip(self.means, self.scales, strict=True):
            ellipse = ellipse_of_distribution(mean, scale, self.level, self.df)
            patch = ellipse.patch(
                facecolor="none", edgecolor=INK, linewidth=1.6, linestyle="--", zorder=4
            )
            ax.add_patch(patch)
            self.ellipses_.append(patch)

    def _legend_entries(self, colors: Sequence[int]) -> list[Artist]:
        entries: list[Artist] = [*cluster_entries(colors)]
        n_outside = int((~in_view(self.draws, self.points)).sum())
        outside = f", {n_outside:,} outside" if n_outside else ""
        entries.append(marker_entry(f"draws of the prior{outside}", "o", FAINT, FAINT))
        if self.ellipses_:
            label = f"{percent(self.level)} of a component"
            entries.append(Line2D([], [], label=label, color=INK, linewidth=1.6, linestyle="--"))
        return entries


def in_view(draws: Array, points: Array) -> npt.NDArray[np.bool_]:
    """Which draws are near the rows or near most draws.

    All of a Gaussian, but not the few of a heavy tail that would shrink the rest to a dot.
    """
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    margin = VIEW_MARGIN * (high - low)
    return np.asarray(((draws >= low - margin) & (draws <= high + margin)).all(axis=1))


def _components(prior: Any, projection: Projection) -> tuple[Array | None, Array | None]:
    """Means (components, 2) and scale matrices (components, 2, 2) of a mixture, projected."""
    if not isinstance(prior, GaussianMixture | StudentMixture):
        return None, None
    means = projection.apply(prior.means)
    if projection.axis_labels[1] is None:  # strokes one above the other
        means[:, 1] = np.linspace(-0.8, 0.8, len(means) + 2)[1:-1]
    flat = [np.einsum("rj,aj->ra", factor, projection.directions) for factor in prior.factors]
    return means, np.array([np.einsum("ra,rb->ab", factor, factor) for factor in flat])
