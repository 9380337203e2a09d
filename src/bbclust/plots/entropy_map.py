"""EntropyMapDisplay: the rows in two dimensions, coloured by how divided their votes are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colorbar import Colorbar
from matplotlib.figure import FigureBase

from bbclust.plots.canvas import axes_or_new, set_title
from bbclust.plots.data_map import marker_area
from bbclust.plots.models import column_names, fitted_model, rows_of_fit
from bbclust.plots.palette import DOUBT, FAINT
from bbclust.plots.projection import (
    MAX_POINTS,
    choose_projection,
    choose_rows,
    label_axes,
    shown_note,
)

Array = npt.NDArray[np.float64]


def doubt_range(values: Array) -> tuple[float, float]:
    """Bits at both ends of the colours: a coin toss between two, 1 bit, is always on the scale."""
    return 0.0, max(1.0, float(values.max(initial=0.0)))


class EntropyMapDisplay:
    """The rows in two dimensions, darker where the votes are more divided.

    Rows lie where :class:`~bbclust.plots.DataMapDisplay` puts them.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Where the rows lie.
    entropy : ndarray of shape (n,)
        Entropy of their memberships, in bits.
    axis_labels : tuple of two str
        The second is None if only the first coordinate means anything.
    n_rows : int, optional
        How many rows there are, if ``points`` are a sample.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        The figure, or subfigure, of the axes.
    scatter_ : matplotlib PathCollection
        The rows, in the order of their entropy, so that the least certain are on top.
    colorbar_ : matplotlib Colorbar

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import make_uniform_square
    >>> from bbclust.plots import EntropyMapDisplay
    >>> square = make_uniform_square(random_state=0)
    >>> model = BBC(n_clusters=3, random_state=0).fit(square)
    >>> display = EntropyMapDisplay.from_estimator(model, square)
    >>> display.scatter_.get_offsets().shape
    (500, 2)
    """

    def __init__(
        self,
        *,
        points: Array,
        entropy: Array,
        axis_labels: tuple[str, str | None],
        n_rows: int | None = None,
    ) -> None:
        self.points = points
        self.entropy = entropy
        self.axis_labels = axis_labels
        self.n_rows = n_rows

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        columns: Sequence[int | str] | None = None,
        max_points: int = MAX_POINTS,
        ax: Axes | None = None,
    ) -> EntropyMapDisplay:
        """Draw the rows that a model was fitted on.

        Parameters
        ----------
        model : BBC or KSelector
            Fitted; of a selector, ``best_estimator_`` is drawn.
        X : array-like or data frame of shape (n, d)
            The rows of ``fit``, in the same order: their colours come from ``entropy_``.
        columns : two names or indices, optional
            The columns to draw. By default the first two principal components if there are more
            than two columns.
        max_points : int, default=20000
            Of more rows, draw the least certain ones and a sample of the others.
        ax
            See :meth:`plot`.

        Returns
        -------
        display : EntropyMapDisplay
        """
        fitted = fitted_model(model, "memberships_")
        X = rows_of_fit(model, X)
        projection = choose_projection(X, column_names(model), columns)
        rows = choose_rows(fitted.entropy_, max_points)
        display = cls(
            points=projection.place(X[rows]),
            entropy=fitted.entropy_[rows],
            axis_labels=projection.axis_labels,
            n_rows=len(X),
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> EntropyMapDisplay:
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
        area, edge = marker_area(len(self.points))
        order = np.argsort(self.entropy, kind="stable")
        low, high = doubt_range(self.entropy)
        self.scatter_: PathCollection = ax.scatter(
            self.points[order, 0],
            self.points[order, 1],
            c=self.entropy[order],
            cmap=DOUBT,
            vmin=low,
            vmax=high,
            s=area,
            edgecolors=FAINT,
            linewidths=edge / 2,
            rasterized=len(self.points) > 5_000,
        )
        self.colorbar_: Colorbar = self.figure_.colorbar(
            self.scatter_, ax=ax, label="entropy of the votes, bits"
        )
        label_axes(ax, self.axis_labels)
        n_rows = len(self.points) if self.n_rows is None else self.n_rows
        note = shown_note(len(self.points), n_rows)
        set_title(ax, "How divided are the votes on each row?" + note)
        return self
