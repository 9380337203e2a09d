"""The colours of every picture, which colour-blind readers can tell apart too.

Cluster number k has the same colour and marker in every display, whatever K is.

The first six colours are Okabe and Ito's. The others were found by adding, one at a time, the
colour farthest from all before it, as seen by normal eyes and by those that lack one kind of cone.
Any two are at least 16 units of CIELAB apart for all four kinds of eyes, as the first six are.

References
----------
Okabe, M. and Ito, K. (2008). Color Universal Design: how to make figures and presentations that
are friendly to colorblind people. https://jfly.uni-koeln.de/color/
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice

import numpy as np
import numpy.typing as npt
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from scipy.optimize import linear_sum_assignment

ORANGE = "#E69F00"
BLUE = "#0072B2"
GREEN = "#009E73"
VERMILLION = "#D55E00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"

# Without the palette's yellow, too pale on white, and its black, too close to INK.
SERIES = (
    *(ORANGE, BLUE, GREEN, VERMILLION, SKY, PURPLE),
    *("#692D0F", "#4B3C5A", "#C3D287", "#2D2D87", "#FFB4D2"),
    *("#A55A2D", "#8796FF", "#B4A54B", "#784B4B", "#A5D2A5"),
)
# A second sign besides colour. Seven shapes for sixteen colours: 112 pairs before one comes again.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

INK = "#333333"
FAINT = "#BBBBBB"

# For bits of doubt. Lightness falls all the way, so it reads for any eye and in grey.
DOUBT = LinearSegmentedColormap.from_list("doubt", ["#E8E8E8", "#F7A072", "#C4366C", "#3B0F5E"])


def cluster_color(index: int) -> str:
    """Colour of a cluster; after sixteen they come again, with other markers."""
    return SERIES[index % len(SERIES)]


def cluster_marker(index: int) -> str:
    """Marker of a cluster."""
    return MARKERS[index % len(MARKERS)]


def faded(color: str, uncertainty: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The colour where the uncertainty is 0, white where it is 1 or more, shape (..., 3)."""
    strength = 1.0 - np.clip(np.asarray(uncertainty, dtype=np.float64), 0.0, 1.0)[..., None]
    return np.asarray(strength * np.array(to_rgb(color)) + (1.0 - strength))


def own_colors(n_clusters: int, colors: Sequence[int] | None) -> tuple[int, ...]:
    """Colour index of each cluster: the given ones, or each cluster's own number."""
    if colors is None:
        return tuple(range(n_clusters))
    if len(colors) != n_clusters:
        raise ValueError(
            f"colors has {len(colors)} numbers for {n_clusters} clusters: give each one."
        )
    return tuple(int(index) for index in colors)


def colors_across_k(
    partitions: Sequence[npt.NDArray[np.integer]],
) -> list[tuple[int, ...]]:
    """Colours that stay with the same rows when K changes.

    Clusters are numbered by size, so cluster 1 at K = 3 and at K = 4 need not be the same rows.
    From one partition to the next, clusters are matched so that as many rows as possible keep
    their colour. A cluster left without a match, or that shares no row with its match, gets the
    smallest index that neither partition uses.

    Parameters
    ----------
    partitions : sequence of int arrays of shape (n,)
        Labels 0 .. K-1 of the same rows, for one K after the other; -1 is noise. The last cluster
        should have rows: ``reference_labels_`` are safe.

    Returns
    -------
    list of tuples of int
        For each partition, the colour index of each cluster: what displays take as ``colors``.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.plots import colors_across_k
    >>> two = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    >>> three = np.array([1, 1, 2, 2, 2, 0, 0, 0])  # cluster 0 split; the other is now number 0
    >>> colors_across_k([two, three])
    [(0, 1), (1, 2, 0)]
    """
    chosen: list[tuple[int, ...]] = []
    for i, labels in enumerate(partitions):
        n_clusters = int(labels.max()) + 1
        inherited: dict[int, int] = {}
        before: tuple[int, ...] = ()
        if i:
            before = chosen[-1]
            shared = np.zeros((len(before), n_clusters), dtype=np.int64)
            clustered = (partitions[i - 1] >= 0) & (labels >= 0)
            np.add.at(shared, (partitions[i - 1][clustered], labels[clustered]), 1)
            matches = zip(*linear_sum_assignment(shared, maximize=True), strict=True)
            inherited = {int(new): before[old] for old, new in matches if shared[old, new] > 0}
        unused = (index for index in count() if index not in before)
        fresh = islice(unused, n_clusters - len(inherited))
        chosen.append(
            tuple(inherited[k] if k in inherited else next(fresh) for k in range(n_clusters))
        )
    return chosen
