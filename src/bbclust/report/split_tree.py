"""K side by side: which cluster splits into which, drawn as a tree like that of clustree.

References
----------
Zappia, L. and Oshlack, A. (2018). Clustering trees: a visualization for evaluating clusterings at
multiple resolutions. GigaScience 7(7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from bbclust.percentages import percent
from bbclust.report.sentences import listed

Labels = npt.NDArray[np.integer]
Counts = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]

# More would be a thicket: levels and circles of one picture.
MOST_LEVELS = 12
MOST_CIRCLES = 220
LEAST_SHARE = 0.05  # of a child's rows, for a line to be drawn
MIXED = 0.75  # of a child's rows come from one parent, or it is said to mix several
LEFT, SLOT, LEVEL_HEIGHT = 62.0, 25.0, 54.0
LEAST_WIDTH = 760.0
RADII = (9.0, 21.0)
WIDEST_LINE = 22.0
LEAST_SCALE = 0.75  # on small screens the picture is scrolled, not made smaller


@dataclass(frozen=True)
class SplitTree:
    """A picture, and what it leaves out."""

    svg: Markup
    note: str


def draw_split_tree(
    partitions: Sequence[Labels],
    k_values: Sequence[int],
    colors: Sequence[Sequence[int]],
    chosen: int,
    n_colors: int,
) -> SplitTree | None:
    """The tree of some partitions of the same rows, one level per K.

    Parameters
    ----------
    partitions : sequence of int arrays of shape (n,)
        Labels 0 to K-1, -1 for rows in no cluster.
    k_values : sequence of int
    colors : sequence of sequences of int
        Colour index of each cluster at each K.
    chosen : int
        Which of them was chosen, as an index.
    n_colors : int
        After so many the page's colours come again.

    Returns
    -------
    SplitTree or None
        None for less than two levels.
    """
    levels = choose_levels(k_values, chosen)
    if len(levels) < 2:
        return None
    parts = [partitions[i] for i in levels]
    ks = [k_values[i] for i in levels]
    flows = [
        _flow(a, b, ka, kb)
        for a, b, ka, kb in zip(parts[:-1], parts[1:], ks[:-1], ks[1:], strict=True)
    ]
    sizes = [np.bincount(part[part >= 0], minlength=k) for part, k in zip(parts, ks, strict=True)]
    places = _places(flows, sizes, ks)
    lines = [
        _level_line(level, k, i == chosen, places.width)
        for level, (k, i) in enumerate(zip(ks, levels, strict=True))
    ]
    lines += [
        _edge(places, level, flow, parent, child, colors[levels[level]][parent] % n_colors)
        for level, flow in enumerate(flows)
        for parent, child in _drawn(flow)
    ]
    lines += [
        _node(places, level, k, cluster, share, colors[levels[level]][cluster] % n_colors)
        for level, k in enumerate(ks)
        for cluster, share in enumerate(sizes[level] / max(sizes[level].sum(), 1))
    ]
    text = " ".join(split_sentences(flows, ks))
    height = LEVEL_HEIGHT * len(ks)
    svg = Markup(
        '<svg class="tree" id="split-tree" role="img" aria-labelledby="tree-title tree-text" '
        'viewBox="0 0 {w:.0f} {h:.0f}" width="{w:.0f}" height="{h:.0f}" '
        'font-family="system-ui, sans-serif" '
        'style="min-width: {least:.0f}px; max-width: {w:.0f}px">'
        '<title id="tree-title">Which cluster splits into which</title>'
        '<desc id="tree-text">{text}</desc>{body}</svg>'
    ).format(
        w=places.width,
        h=height,
        least=LEAST_SCALE * places.width,
        text=text,
        body=Markup("").join(lines),
    )
    return SplitTree(svg, _left_out(ks, k_values))


def choose_levels(k_values: Sequence[int], chosen: int) -> list[int]:
    """Indices of the K to draw: the chosen one and its neighbours, as many as one can look at.

    Examples
    --------
    >>> from bbclust.report.split_tree import choose_levels
    >>> choose_levels([2, 3, 4, 5], chosen=1)
    [0, 1, 2, 3]
    >>> choose_levels([10, 20, 30, 40, 50, 60], chosen=3)
    [0, 1, 2, 3, 4, 5]
    """
    taken = [chosen]
    for i in sorted(range(len(k_values)), key=lambda i: (abs(i - chosen), i)):
        circles = sum(k_values[j] for j in (*taken, i))
        if i != chosen and (len(taken) == MOST_LEVELS or circles > MOST_CIRCLES):
            break
        taken += [i] if i != chosen else []
    return sorted(taken)


def split_sentences(flows: Sequence[Counts], ks: Sequence[int]) -> list[str]:
    """What happens from one K to the next, in words."""
    return [
        f"From {ks[level]} to {ks[level + 1]} clusters: {_changes(flow)}."
        for level, flow in enumerate(flows)
    ]


def _changes(flow: Counts) -> str:
    """Which clusters split, and which are mixed from several."""
    parent_of = flow.argmax(axis=0)
    said = []
    for parent, total in enumerate(flow.sum(axis=1)):
        children = [int(child) for child in np.flatnonzero(parent_of == parent)]
        if len(children) > 1:
            parts = flow[parent] / max(total, 1)
            shares = [f"{child} ({percent(parts[child])})" for child in children]
            said.append(f"{parent} splits into {listed(shares)}")
    for child, total in enumerate(flow.sum(axis=0)):
        main = flow[parent_of[child], child]
        if total and main < MIXED * total:
            parents = np.flatnonzero(flow[:, child] >= LEAST_SHARE * total)
            said.append(f"{child} takes rows of {listed([str(p) for p in parents])}")
    return "; ".join(said) if said else "every cluster goes on"


def _flow(before: Labels, after: Labels, k_before: int, k_after: int) -> Counts:
    """Rows of each cluster of one partition in each of the next, shape (K, K')."""
    clustered = (before >= 0) & (after >= 0)
    counts = np.zeros((k_before, k_after), dtype=np.int64)
    np.add.at(counts, (before[clustered], after[clustered]), 1)
    return counts


@dataclass(frozen=True)
class _Places:
    """Where the circles are: per level their x, all in one width, and their radii."""

    x: list[Array]
    radii: list[Array]
    width: float


def _places(flows: Sequence[Counts], sizes: Sequence[Counts], ks: Sequence[int]) -> _Places:
    """Children below their parents, so that few lines cross."""
    width = max(LEAST_WIDTH, LEFT + SLOT * max(ks))
    order = np.arange(ks[0])
    x: list[Array] = []
    for level, size in enumerate(sizes):
        if level:
            flow = flows[level - 1]
            middle = (flow * x[-1][:, None]).sum(axis=0) / np.maximum(flow.sum(axis=0), 1)
            order = np.lexsort((middle, x[-1][flow.argmax(axis=0)]))
        x.append(_spread(size, order, width))
    largest = min(RADII[1], 0.5 * min(float(np.diff(np.sort(one)).min(initial=99)) for one in x))
    shares = [size / max(size.sum(), 1) for size in sizes]
    radii = [
        np.clip(1.6 * RADII[1] * np.sqrt(share), RADII[0], max(largest, RADII[0]))
        for share in shares
    ]
    return _Places(x, radii, width)


def _spread(sizes: Counts, order: npt.NDArray[np.intp], width: float) -> Array:
    """Middles of stretches that are as long as clusters are large, but none too short."""
    shares = sizes / max(sizes.sum(), 1)
    room = width - LEFT
    spare = max(0.0, room - SLOT * len(sizes))
    lengths = SLOT + spare * (0.5 * shares + 0.5 / len(sizes))
    if SLOT * len(sizes) > room:
        lengths = np.full(len(sizes), room / len(sizes))
    ends = np.cumsum(lengths[order])
    x = np.empty(len(sizes))
    x[order] = LEFT + ends - lengths[order] / 2
    return x


def _drawn(flow: Counts) -> list[tuple[int, int]]:
    """Parents and children with a line between them."""
    totals = np.maximum(flow.sum(axis=0), 1)
    wanted = (flow >= LEAST_SHARE * totals) & (flow > 0)
    return [(int(parent), int(child)) for parent, child in np.argwhere(wanted)]


def _y(level: int) -> float:
    return LEVEL_HEIGHT * (level + 0.5)


def _level_line(level: int, k: int, is_chosen: bool, width: float) -> Markup:
    """The number of clusters, beside its level; a band behind the chosen one."""
    band = Markup(
        '<rect x="0" y="{:.1f}" width="{:.0f}" height="{:.0f}" rx="8" fill="var(--panel)"/>'
    ).format(_y(level) - LEVEL_HEIGHT / 2 + 2, width, LEVEL_HEIGHT - 4)
    label = Markup(
        '<text x="10" y="{:.1f}" font-size="13" dominant-baseline="central" fill="var(--{})" '
        'font-weight="{}">K = {}</text>'
    ).format(_y(level), "ink" if is_chosen else "muted", 650 if is_chosen else 400, k)
    return (band if is_chosen else Markup()) + label


def _edge(places: _Places, level: int, flow: Counts, parent: int, child: int, color: int) -> Markup:
    rows = int(flow[parent, child])
    of_child = rows / max(int(flow[:, child].sum()), 1)
    start, end = places.x[level][parent], places.x[level + 1][child]
    top, bottom = _y(level), _y(level + 1)
    middle = (top + bottom) / 2
    return Markup(
        '<path d="M{:.1f} {:.1f}C{:.1f} {m:.1f} {:.1f} {m:.1f} {:.1f} {:.1f}" fill="none" '
        'stroke="var(--c{})" stroke-width="{:.1f}" stroke-opacity="{:.2f}"/>'
    ).format(
        start,
        top,
        start,
        end,
        end,
        bottom,
        color,
        max(1.2, WIDEST_LINE * rows / max(int(flow.sum()), 1)),
        0.2 + 0.5 * of_child,
        m=middle,
    )


def _node(places: _Places, level: int, k: int, cluster: int, share: float, color: int) -> Markup:
    x, y, r = places.x[level][cluster], _y(level), places.radii[level][cluster]
    return Markup(
        "<g><title>K = {}, cluster {}: {} of the rows</title>"
        '<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="var(--page)"/>'
        '<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="var(--c{c})" fill-opacity="0.3" '
        'stroke="var(--c{c})" stroke-width="2"/>'
        '<text x="{x:.1f}" y="{y:.1f}" font-size="{}" text-anchor="middle" '
        'dominant-baseline="central" fill="var(--ink)">{}</text></g>'
    ).format(k, cluster, percent(share), 12 if r >= 10 else 11, cluster, x=x, y=y, r=r, c=color)


def _left_out(ks: Sequence[int], k_values: Sequence[int]) -> str:
    n_left = len(k_values) - len(ks)
    if not n_left:
        return ""
    return (
        f"Drawn are {ks[0]} to {ks[-1]} clusters; {n_left} other "
        f"{'number' if n_left == 1 else 'numbers'} would crowd the picture."
    )
