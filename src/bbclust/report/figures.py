"""The figures of the page, as Bokeh models that share one source of rows.

Figures read fields with names of our own, Bokeh escapes what a tooltip shows, and axes are named by
the script of the page. So no text from a stranger is ever drawn as anything but text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from bokeh.core.property.vectorization import Field, Value
from bokeh.models import (
    ColumnDataSource,
    DataRange1d,
    FixedTicker,
    HoverTool,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.models.annotations import Span
from bokeh.plotting import figure

from bbclust.plots.palette import cluster_color, cluster_marker
from bbclust.report.prior_histograms import Histogram
from bbclust.report.rows import ShownRows
from bbclust.report.theme import LIGHT

Array = npt.NDArray[np.float64]

# matplotlib's markers, as Bokeh calls them; it has no filled X.
MARKER_NAMES = {
    "o": "circle",
    "s": "square",
    "^": "triangle",
    "D": "diamond",
    "v": "inverted_triangle",
    "P": "plus",
    "X": "star",
}
FONT = "system-ui, sans-serif"
BRUSHES = "box_select,lasso_select,tap,pan,wheel_zoom,reset"
MEASURES = {
    "mean_entropy": "mean entropy, bits",
    "max_pairwise_entropy": "max pairwise entropy, bits",
}
BAND_STANDARD_ERRORS = 2.0
BRUSHED: dict[str, Any] = {
    "selection_line_width": 2,
    "nonselection_fill_alpha": 0.05,
    "nonselection_line_alpha": 0.12,
}
MOST_WITH_NUMBERS = 60  # clusters; more numbers would hide the rows and each other
FEW_NUMBERS = 20  # clusters; the numbers of more are smaller
MOST_TICKS = 14  # of the axis of K: more labels would touch each other
LANE_HEIGHTS = (17, 46)  # of one cluster among the entropies, when they are many and when few


def color_name(index: int) -> str:
    """A cluster's colour; grey for -1, in no cluster."""
    return LIGHT["muted"] if index < 0 else cluster_color(index)


def marker_name(index: int) -> str:
    """Bokeh's name of a cluster's marker; a cross for -1, in no cluster."""
    return "x" if index < 0 else MARKER_NAMES[cluster_marker(index)]


def make_row_source(shown: ShownRows, k_labels: Sequence[int], k_colors: Sequence[int]) -> Any:
    """The rows, which every view of them shares, so that a brush in one is seen in all.

    ``k_labels`` and ``k_colors`` say which cluster each row is in, and which colour that has, at
    the K of the slider.
    """
    clusters = shown.fields["cluster"].tolist()
    at_k = [-1 if label < 0 else k_colors[label] for label in k_labels]
    return ColumnDataSource(
        name="rows",
        data={
            **shown.fields,
            "color": [color_name(k) for k in clusters],
            "marker": [marker_name(k) for k in clusters],
            "k_color": [color_name(k) for k in at_k],
            "k_marker": [marker_name(k) for k in at_k],
        },
    )


def draw_map(source: Any, n_clusters: int, tooltips: list[tuple[str, str]]) -> figure:
    """The rows in two dimensions, a number on each cluster."""
    plot = _blank("map", 420, BRUSHES)
    rows = _draw_rows(plot, source, "map_x", "map_y", "color", "marker", "filling")
    plot.add_tools(HoverTool(renderers=[rows], tooltips=tooltips))
    data = source.data
    present = [k for k in range(n_clusters) if (data["cluster"] == k).any()]
    middles = [
        [data[axis][data["cluster"] == k].mean() for axis in ("map_x", "map_y")] for k in present
    ]
    _draw_numbers(plot, "middles", present, np.array(middles).reshape(-1, 2))
    return plot


def draw_simplex(source: Any, corners: Array, tooltips: list[tuple[str, str]]) -> figure:
    """Every row between the clusters that got its votes."""
    plot = _blank("simplex", 420, BRUSHES)
    plot.axis.visible = False
    plot.grid.visible = False
    n_clusters = len(corners)
    if n_clusters > 2:
        plot.match_aspect = True
        around = np.argsort(np.arctan2(corners[:, 1], corners[:, 0]))
        outline = corners[[*around, around[0]]]
        plot.line(outline[:, 0], outline[:, 1], name="outline", line_width=1.2)
        plot.scatter([-1.2, 1.2], [-1.1, 1.15], alpha=0)  # room for the numbers
    else:
        plot.x_range = Range1d(start=-1.25, end=1.25)
        plot.y_range = Range1d(start=-0.75, end=0.95)
        plot.line([-1, 1], [0, 0], name="outline", line_width=1.2)
    rows = _draw_rows(plot, source, "simplex_x", "simplex_y", "color", "marker", "filling")
    plot.add_tools(HoverTool(renderers=[rows], tooltips=tooltips))
    places = 1.13 * corners if n_clusters > 2 else corners + np.array([0.0, 0.75])
    _draw_numbers(plot, "corners", range(n_clusters), places)
    return plot


def draw_entropy(source: Any, n_clusters: int, tooltips: list[tuple[str, str]]) -> figure:
    """How divided the votes on each row are, one lane per cluster."""
    n_lanes = n_clusters + bool((source.data["cluster"] < 0).any())
    least, most_high = LANE_HEIGHTS
    height = max(190, 90 + max(least * n_lanes, min(most_high * n_lanes, 530)))
    plot = _blank("entropy", height, BRUSHES)
    plot.y_range = Range1d(start=n_lanes - 0.45, end=-0.55)
    most = max(0.1, float(source.data["entropy"].max()))
    plot.x_range = Range1d(start=-0.02 * most, end=1.03 * most)
    step = -(-n_lanes // MOST_WITH_NUMBERS)
    plot.yaxis.ticker = FixedTicker(ticks=list(range(0, n_lanes, step)))
    plot.yaxis.major_label_overrides = {n_clusters: "none"}
    plot.ygrid.visible = False
    plot.yaxis.axis_label = "cluster"
    plot.xaxis.axis_label = "entropy of the votes, bits"
    rows = _draw_rows(plot, source, "entropy", "lane", "color", "marker", "filling")
    plot.add_tools(HoverTool(renderers=[rows], tooltips=tooltips))
    return plot


def draw_map_at_k(source: Any, tooltips: list[tuple[str, str]]) -> figure:
    """The same map, in the clusters of the K of the slider."""
    plot = _blank("map_at_k", 320)
    rows = _draw_rows(plot, source, "home_x", "home_y", "k_color", "k_marker", 0.7)
    plot.add_tools(HoverTool(renderers=[rows], tooltips=tooltips))
    return plot


def draw_curves(
    measure: str,
    k_values: Sequence[int],
    prior_scales: Sequence[float],
    values: Array,
    errors: Array,
    floor: float,
    best_k: int,
) -> figure:
    """A measure over K, one line per s; ``values`` and ``errors`` have shape (K's, s's)."""
    plot = _blank(measure, 300, y_axis_type="log")
    plot.xaxis.ticker = FixedTicker(ticks=choose_ticks(k_values, best_k))
    plot.xaxis.axis_label = "number of clusters K"
    plot.yaxis.axis_label = MEASURES[measure]
    plot.yaxis.ticker = FixedTicker(ticks=choose_log_ticks(max(values.min(), floor), values.max()))
    plot.yaxis.formatter = NumeralTickFormatter(format="0.[000000]")
    plot.xgrid.visible = False
    # A K that leaves no doubt at all lies on the floor: a logarithm of zero has no place.
    middle = np.maximum(values, floor)
    lower = np.maximum(values - BAND_STANDARD_ERRORS * errors, floor)
    upper = np.maximum(values + BAND_STANDARD_ERRORS * errors, floor)
    plot.add_layout(
        Span(name=f"chosen:{measure}", location=best_k, dimension="height", line_dash="dashed")
    )
    plot.add_layout(
        Span(
            name=f"now:{measure}", location=best_k, dimension="height", line_width=8, line_alpha=0.2
        )
    )
    for s, scale in enumerate(prior_scales):
        source = ColumnDataSource(
            data={"k": list(k_values), "y": middle[:, s], "low": lower[:, s], "high": upper[:, s]}
        )
        name = f"{measure}:{s}"
        plot.varea("k", "low", "high", source=source, name=f"band:{name}", fill_alpha=0.2)
        plot.line("k", "y", source=source, name=f"line:{name}", line_width=2)
        dots = plot.scatter("k", "y", source=source, name=f"dots:{name}", size=7)
        tooltips = [("K", "@k"), ("s", f"{scale:g}"), ("bits", "@y{0.0000}")]
        plot.add_tools(HoverTool(renderers=[dots], tooltips=tooltips))
    return plot


def choose_ticks(k_values: Sequence[int], best_k: int) -> list[int]:
    """Numbers of clusters that the axis names: the chosen one first, and none too near another.

    Examples
    --------
    >>> from bbclust.report.figures import choose_ticks
    >>> choose_ticks([2, 3, 4, 5], 3)
    [2, 3, 4, 5]
    >>> choose_ticks([10, 20, 30, 36, 38, 39, 40, 50], 39)
    [10, 20, 30, 36, 39, 50]
    """
    gap = (max(k_values) - min(k_values)) / MOST_TICKS
    taken: list[int] = []
    for k in sorted(k_values, key=lambda k: (k != best_k, k)):
        if all(abs(k - other) >= gap for other in taken):
            taken.append(k)
    return sorted(taken)


def choose_log_ticks(low: float, high: float) -> list[float]:
    """Round numbers on an axis of logarithms: 1, 2 and 5, or powers of ten for a long axis.

    Examples
    --------
    >>> from bbclust.report.figures import choose_log_ticks
    >>> choose_log_ticks(0.15, 1.1), choose_log_ticks(0.0003, 0.9)
    ([0.1, 0.2, 0.5, 1.0, 2.0], [0.0001, 0.001, 0.01, 0.1, 1.0])
    """
    high = max(high, low)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    if len(powers) > 4:
        return [float(f"1e{power}") for power in powers]
    ticks = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    return [tick for tick in ticks if low / 2 <= tick <= 2 * high]


def draw_prior(histogram: Histogram) -> figure:
    """Bars of the data and the outline of the prior, for one column."""
    plot = _blank("prior", 260)
    plot.yaxis.axis_label = "density"
    plot.grid.visible = False
    plot.y_range = DataRange1d(start=0)
    source = ColumnDataSource(
        name="histogram",
        data={
            "left": histogram.edges[:-1],
            "right": histogram.edges[1:],
            "data": histogram.data,
            "prior": histogram.prior,
            "middle": (histogram.edges[:-1] + histogram.edges[1:]) / 2,
        },
    )
    plot.quad("left", "right", "data", 0, source=source, name="bars", fill_alpha=0.35)
    plot.step("middle", "prior", source=source, name="prior line", mode="center", line_width=2.5)
    return plot


def _blank(name: str, height: int, tools: str = "", **more: Any) -> figure:
    plot = figure(
        name=name,
        height=height,
        sizing_mode="stretch_width",
        min_width=200,
        tools=tools,
        active_drag="box_select" if tools else None,
        active_scroll=None,
        toolbar_location="above" if tools else None,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        **more,
    )
    plot.toolbar.logo = None
    for axis in (plot.xaxis, plot.yaxis):
        axis.axis_label_text_font = FONT
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = "13px"
        axis.major_label_text_font = FONT
        axis.major_label_text_font_size = "12px"
        axis.minor_tick_line_color = None
        axis.major_tick_in = 0
    return plot


def _draw_rows(
    plot: figure, source: Any, x: str, y: str, color: str, marker: str, filling: str | float
) -> Any:
    n = len(source.data["row"])
    return plot.scatter(
        x,
        y,
        source=source,
        name=f"rows:{plot.name}",
        marker=Field(marker),
        size=8 if n <= 500 else 6 if n <= 2_000 else 4.5,
        fill_color=color,
        line_color=color,
        fill_alpha=filling,
        line_alpha=0.9,
        **BRUSHED,
    )


def _draw_numbers(plot: figure, name: str, clusters: Sequence[int], places: Array) -> None:
    """Numbers of clusters, each on a label, unless they are too many; the page may name them."""
    few = len(clusters) <= FEW_NUMBERS
    source = ColumnDataSource(
        name=name,
        data={
            "cluster": list(clusters),
            "text": [str(k) for k in clusters],
            "x": places[:, 0],
            "y": places[:, 1],
        },
    )
    look: dict[str, Any] = {
        "text_font": Value(FONT),
        "text_font_size": "12px" if few else "11px",
        "text_font_style": "bold",
        "text_color": LIGHT["ink"],
        "background_fill_color": LIGHT["page"],
        "background_fill_alpha": 0.85 if few else 0.65,
        "border_line_color": LIGHT["muted"],
        "border_radius": 9,
        "padding": (6, 3) if few else (3, 1),
    }
    plot.text(
        "x",
        "y",
        "text",
        source=source,
        name=f"numbers:{plot.name}",
        visible=len(clusters) <= MOST_WITH_NUMBERS,
        text_align="center",
        text_baseline="middle",
        **look,
    )
