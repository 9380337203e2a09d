"""Figure 2: data set 1."""

from __future__ import annotations

from reproduction.scatter import draw_points, measure_points, show_points
from reproduction.study import Study

NAME = "figure-2"

STUDY = Study(
    name=NAME,
    title="Figure 2: data set 1",
    measure=lambda context: measure_points(context, 1),
    show=lambda result: show_points(result, NAME),
    draw=lambda result: draw_points(result, NAME),
)
