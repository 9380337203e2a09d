"""PairwiseHeatmapDisplay: the doubt between each two clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.figure import FigureBase
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from bbclust.plots.canvas import axes_or_new, font_size_for_cells, set_title
from bbclust.plots.models import fitted_model
from bbclust.plots.palette import DOUBT, INK, VERMILLION, cluster_color, cluster_marker, own_colors
from bbclust.stages.entropies import worst_pair

Array = npt.NDArray[np.float64]

MOST_WITH_NUMBERS = 20
SMALLEST_SCALE = 0.1  # bits at the dark end, at least: less doubt than this should look like little


class PairwiseHeatmapDisplay:
    """Mean entropy between each two clusters, in bits, with the worst pair framed.

    Parameters
    ----------
    pairwise_entropy : ndarray of shape (K, K)
        Symmetric; its lower triangle is drawn.
    colors : sequence of K ints, optional
        Colour index of each cluster, as from :func:`~bbclust.plots.colors_across_k`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        The figure, or subfigure, of the axes.
    image_ : matplotlib AxesImage
    numbers_ : dict of (int, int) to matplotlib Text
        The number of each pair (smaller, larger); empty above 20 clusters.
    worst_ : matplotlib Rectangle or None
        The frame around the worst pair; None if no row has votes for two clusters.
    colorbar_ : matplotlib Colorbar

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.plots import PairwiseHeatmapDisplay
    >>> model = BBC(n_clusters=3, random_state=0).fit(load_iris().data)
    >>> display = PairwiseHeatmapDisplay.from_estimator(model)
    >>> sorted(display.numbers_)
    [(0, 1), (0, 2), (1, 2)]
    """

    def __init__(self, *, pairwise_entropy: Array, colors: Sequence[int] | None = None) -> None:
        self.pairwise_entropy = pairwise_entropy
        self.colors = colors

    @classmethod
    def from_estimator(
        cls, model: Any, *, colors: Sequence[int] | None = None, ax: Axes | None = None
    ) -> PairwiseHeatmapDisplay:
        """Draw the pairwise entropies of a model.

        Parameters
        ----------
        model : BBC or KSelector
            Fitted; of a selector, ``best_estimator_`` is drawn.
        colors : sequence of K ints, optional
            Colour index of each cluster, as from :func:`~bbclust.plots.colors_across_k`.
        ax
            See :meth:`plot`.

        Returns
        -------
        display : PairwiseHeatmapDisplay
        """
        model = fitted_model(model, "pairwise_entropy_")
        return cls(pairwise_entropy=model.pairwise_entropy_, colors=colors).plot(ax)

    def plot(self, ax: Axes | None = None) -> PairwiseHeatmapDisplay:
        """Draw the matrix.

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
        n_clusters = len(self.pairwise_entropy)
        below = np.tri(n_clusters, k=-1, dtype=bool)
        top = max(SMALLEST_SCALE, float(self.pairwise_entropy.max()))
        self.image_: AxesImage = ax.imshow(
            np.where(below, self.pairwise_entropy, np.nan), cmap=DOUBT, vmin=0, vmax=top
        )
        self.colorbar_: Colorbar = self.figure_.colorbar(
            self.image_, ax=ax, label="mean entropy between the two, bits"
        )
        mark_clusters(ax, own_colors(n_clusters, self.colors))
        self._write_numbers(ax, top)
        self._frame_worst(ax)
        ticks = range(0, n_clusters, 1 + n_clusters // 30)
        ax.set(xlabel="cluster", ylabel="cluster", xticks=ticks, yticks=ticks)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        return self

    def _write_numbers(self, ax: Axes, top: float) -> None:
        self.numbers_: dict[tuple[int, int], Text] = {}
        n_clusters = len(self.pairwise_entropy)
        if n_clusters > MOST_WITH_NUMBERS:
            return
        size = font_size_for_cells(ax, n_clusters, 5 if n_clusters <= 9 else 4)
        for m in range(n_clusters):
            for k in range(m):
                bits = float(self.pairwise_entropy[m, k])
                self.numbers_[k, m] = ax.text(
                    k,
                    m,
                    bits_in_words(bits, short=n_clusters > 9),
                    ha="center",
                    va="center",
                    fontsize=size,
                    color="white" if bits > top / 2 else INK,
                )

    def _frame_worst(self, ax: Axes) -> None:
        pair = worst_pair(self.pairwise_entropy)
        self.worst_: Rectangle | None = None
        if pair is None:
            set_title(ax, "One cluster: no pairs to tell apart")
            return
        bits = float(self.pairwise_entropy[pair])
        if bits == 0:
            set_title(ax, "No row has votes for two clusters")
            return
        k, m = pair
        self.worst_ = Rectangle(
            (k - 0.5, m - 0.5),
            1,
            1,
            fill=False,
            edgecolor=VERMILLION,
            linewidth=2.5,
            zorder=3,
            clip_on=False,
        )
        ax.add_patch(self.worst_)
        set_title(ax, f"Clusters {k} and {m} are told apart worst: {bits:.3f} bits")


def bits_in_words(bits: float, *, short: bool) -> str:
    """Bits with three digits, or .012 if it has to be short; 0 is zero, ~0 nearly so."""
    if bits < 0.0005:
        return "~0" if bits else "0"
    return f"{bits:.3f}".removeprefix("0" if short else "")


def mark_clusters(ax: Axes, colors: Sequence[int]) -> None:
    """The sign of each cluster on the diagonal of a matrix."""
    size = font_size_for_cells(ax, len(colors), 2)
    for k, index in enumerate(colors):
        ax.plot(k, k, color=cluster_color(index), marker=cluster_marker(index), markersize=size)
