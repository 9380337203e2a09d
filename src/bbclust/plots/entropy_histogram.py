"""EntropyHistogramDisplay: how many rows are in how much doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import FigureBase
from matplotlib.lines import Line2D

from bbclust.plots.canvas import BAR_ROOM, axes_or_new, draw_histogram, set_title
from bbclust.plots.models import fitted_model
from bbclust.plots.palette import INK, VERMILLION

Array = npt.NDArray[np.float64]


class EntropyHistogramDisplay:
    """How many rows are in how much doubt: a histogram of their entropies.

    Rows on which all votes agree have no entropy. They are usually the most, so they are counted
    in the title and left out of the bars.

    Parameters
    ----------
    entropy : ndarray of shape (n,)
        Entropy of each row's memberships, in bits.
    mean_entropy : float, optional
        Mean over all rows; the plain mean by default.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        The figure, or subfigure, of the axes.
    bars_ : matplotlib BarContainer
    mean_ : matplotlib Line2D
        The upright line at the mean.
    coin_toss_ : matplotlib Line2D
        The upright line at one bit.

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.plots import EntropyHistogramDisplay
    >>> model = BBC(n_clusters=3, random_state=0).fit(load_iris().data)
    >>> display = EntropyHistogramDisplay.from_estimator(model)
    >>> in_doubt = sum(bar.get_height() for bar in display.bars_)
    >>> bool(in_doubt == (model.entropy_ > 0).sum())
    True
    """

    def __init__(self, *, entropy: Array, mean_entropy: float | None = None) -> None:
        self.entropy = entropy
        self.mean_entropy = mean_entropy

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None) -> EntropyHistogramDisplay:
        """Draw the entropies of the rows of ``fit``.

        Parameters
        ----------
        model : BBC or KSelector
            Fitted; of a selector, ``best_estimator_`` is drawn.
        ax
            See :meth:`plot`.

        Returns
        -------
        display : EntropyHistogramDisplay
        """
        model = fitted_model(model, "entropy_", "mean_entropy_")
        return cls(entropy=model.entropy_, mean_entropy=model.mean_entropy_).plot(ax)

    def plot(self, ax: Axes | None = None) -> EntropyHistogramDisplay:
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
        doubtful = self.entropy[self.entropy > 0]
        top = max(1.0, float(self.entropy.max()))
        self.bars_: BarContainer = draw_histogram(ax, doubtful, top)
        mean = float(self.entropy.mean()) if self.mean_entropy is None else self.mean_entropy
        self.mean_: Line2D = ax.axvline(
            mean,
            ymax=BAR_ROOM,
            color=VERMILLION,
            linewidth=1.6,
            label=f"mean of all rows: {mean:.3f} bits",
        )
        self.coin_toss_: Line2D = ax.axvline(
            1.0,
            ymax=BAR_ROOM,
            color=INK,
            linewidth=1.2,
            linestyle="--",
            label="1 bit: a coin toss between two",
        )
        ax.set(xlabel="entropy of the votes, bits", ylabel="rows in doubt")
        ax.legend(loc="upper right", frameon=False)
        set_title(ax, _title(len(self.entropy), len(doubtful)))
        return self


def _title(n: int, n_doubtful: int) -> str:
    if n_doubtful == 0:
        return f"All votes agree on all {n:,} rows"
    if n_doubtful == n:
        return f"The votes are divided on all {n:,} rows"
    return f"All votes agree on {n - n_doubtful:,} of {n:,} rows"
