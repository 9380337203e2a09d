"""What displays have in common: where they are drawn, titles, legends, plain histograms."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bbclust.plots.palette import BLUE, cluster_color, cluster_marker

N_BINS = 25
BAR_ROOM = 0.8  # bars and upright lines of a histogram end here; above is the legend
CHARACTER_WIDTH = 0.64  # of a digit, as a share of the font size
LEGEND_ROWS = 20  # as many as a figure of the default height has room for


def axes_or_new(ax: Axes | None) -> Axes:
    """The given axes, or those of a new figure of pyplot."""
    if ax is not None:
        return ax
    from matplotlib import pyplot  # only here: it may look for a screen

    _, new = pyplot.subplots(layout="constrained")
    return new


def marker_entry(label: str, marker: str, edge: object, fill: object) -> Line2D:
    """A marker for a legend."""
    return Line2D(
        [],
        [],
        linestyle="none",
        label=label,
        marker=marker,
        markersize=6,
        markeredgecolor=edge,  # type: ignore[arg-type]
        markerfacecolor=fill,  # type: ignore[arg-type]
        markeredgewidth=1.2,
    )


def cluster_entries(colors: Sequence[int]) -> list[Line2D]:
    """One marker per cluster for a legend, given the colour index of each."""
    return [
        marker_entry(
            f"cluster {k}", cluster_marker(index), cluster_color(index), cluster_color(index)
        )
        for k, index in enumerate(colors)
    ]


def legend_beside(ax: Axes, entries: Sequence[Artist]) -> Legend:
    """A legend to the right of the axes, where it hides no data."""
    return ax.legend(
        handles=list(entries),
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        ncols=ceil(len(entries) / LEGEND_ROWS),
        frameon=False,
        handlelength=1.4,
    )


def set_title(ax: Axes, title: str) -> None:
    """A title that starts where the axes do: a long one may reach over the legend beside them."""
    ax.set_title(title, loc="left")


def draw_histogram(ax: Axes, values: npt.NDArray[np.float64], top: float) -> BarContainer:
    """Bars that count the values between 0 and top, with whole numbers upwards."""
    counts, edges = np.histogram(values, bins=N_BINS, range=(0.0, top))
    bars = ax.bar(edges[:-1], counts, np.diff(edges), align="edge", color=BLUE, edgecolor="white")
    ax.set_xlim(-0.02 * top, 1.04 * top)
    ax.set_ylim(0.0, max(1.0, float(counts.max())) / BAR_ROOM)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, steps=(1, 2, 5, 10)))
    return bars


def font_size_for_cells(ax: Axes, n_cells: int, n_characters: int) -> float:
    """Size in points, at most 11, at which so many characters fit into a cell of a square matrix.

    From the axes as they are before layout, which moves their sides by little.
    """
    box = ax.get_window_extent()
    cell = min(box.width, box.height) * 72.0 / ax.figure.dpi / n_cells
    return min(11.0, 0.9 * cell / (CHARACTER_WIDTH * n_characters))


def counted(n: int, what: str) -> str:
    """A number with its noun: 1 row, 1,000 rows."""
    return f"{n:,} {what}" + "s"[: n != 1]
