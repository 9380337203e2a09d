"""Figure 5: data set 5."""

from __future__ import annotations

from reproduction.scatter import draw_points, measure_points, show_points
from reproduction.study import Study

NAME = "figure-5"

STUDY = Study(
    name=NAME,
    title="Figure 5: data set 5",
    measure=lambda context: measure_points(context, 5),
    show=lambda result: show_points(result, NAME),
    draw=lambda result: draw_points(result, NAME),
)
