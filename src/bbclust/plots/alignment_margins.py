"""AlignmentMarginsDisplay: how clearly the replicas' clusters could be named."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import FigureBase
from matplotlib.lines import Line2D

from bbclust.plots.canvas import BAR_ROOM, axes_or_new, counted, draw_histogram, set_title
from bbclust.plots.models import fitted_model
from bbclust.plots.palette import VERMILLION

Array = npt.NDArray[np.float64]


class AlignmentMarginsDisplay:
    """How clearly the clusters of each replica could be matched with those of the reference.

    The margin of a replica is the share of rows that would no longer agree with the reference if
    its clusters were named in the next best way. Near zero, which cluster is which is a coin toss,
    and so are the votes; the replicas found other clusters than the reference.

    Parameters
    ----------
    margins : ndarray of shape (B,)
        Margin of each replica, between 0 and 1.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        The figure, or subfigure, of the axes.
    bars_ : matplotlib BarContainer
    median_ : matplotlib Line2D
        The upright line at the median.

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.plots import AlignmentMarginsDisplay
    >>> model = BBC(n_clusters=3, random_state=0).fit(load_iris().data)
    >>> display = AlignmentMarginsDisplay.from_estimator(model)
    >>> int(sum(bar.get_height() for bar in display.bars_))
    200
    """

    def __init__(self, *, margins: Array) -> None:
        self.margins = margins

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None) -> AlignmentMarginsDisplay:
        """Draw the margins of a model's replicas.

        Parameters
        ----------
        model : BBC or KSelector
            Fitted; of a selector, ``best_estimator_`` is drawn.
        ax
            See :meth:`plot`.

        Returns
        -------
        display : AlignmentMarginsDisplay
        """
        return cls(margins=fitted_model(model, "alignment_margin_").alignment_margin_).plot(ax)

    def plot(self, ax: Axes | None = None) -> AlignmentMarginsDisplay:
        """Draw the histogram.

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
        top = max(float(self.margins.max()), 0.05)
        self.bars_: BarContainer = draw_histogram(ax, self.margins, top)
        median = float(np.median(self.margins))
        self.median_: Line2D = ax.axvline(
            median, ymax=BAR_ROOM, color=VERMILLION, linewidth=1.6, label=f"median: {median:.2f}"
        )
        ax.set_xlabel("margin: agreement that the next best naming would lose")
        ax.set_ylabel("replicas")
        ax.legend(loc="upper left", frameon=False)
        how_many = counted(len(self.margins), "replica")
        set_title(
            ax,
            "How clearly are the replicas' clusters named?\n"
            f"{how_many}, the least clear one at {self.margins.min():.2f}",
        )
        return self
