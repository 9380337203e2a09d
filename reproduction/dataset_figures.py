"""Figures 2 to 7: data sets 1 and 5 as points, and both measures over K on them."""

from __future__ import annotations

from reproduction.curves import draw_curves, expect_curves, measure_curves, show_curves
from reproduction.measures import MEASURES
from reproduction.scatter import draw_points, measure_points, show_points
from reproduction.study import Study


def points_figure(figure: int, dataset: int) -> Study:
    """A data set in the plane."""
    name = f"figure-{figure}"
    return Study(
        name=name,
        title=f"Figure {figure}: data set {dataset}",
        measure=lambda context: measure_points(dataset),
        show=lambda result: show_points(result, name),
        draw=lambda result: draw_points(result, name),
    )


def curves_figure(figure: int, dataset: int, measure: str, caption: str) -> Study:
    """A measure over K, one line per s; the paper's caption in our words."""
    name = f"figure-{figure}"
    return Study(
        name=name,
        title=f"Figure {figure}: {MEASURES[measure].name} over K, data set {dataset}",
        measure=lambda context: measure_curves(context, dataset, measure),
        show=lambda result: show_curves(result, name, caption),
        draw=lambda result: draw_curves(result, name),
        expect=expect_curves,
    )


STUDIES = (
    points_figure(2, 1),
    curves_figure(3, 1, "mean_entropy_", "all lines have their minimum at K = 3."),
    curves_figure(4, 1, "max_pairwise_entropy_", "all lines have their minimum at K = 3."),
    points_figure(5, 5),
    curves_figure(6, 5, "mean_entropy_", "all lines have their minimum at K = 5, except s = 1.5."),
    curves_figure(7, 5, "max_pairwise_entropy_", "the minimum is at K = 4 or 5, depending on s."),
)
