"""Figure 6: mean entropy over K on data set 5."""

from __future__ import annotations

from reproduction.curves import draw_curves, expect_curves, measure_curves, show_curves
from reproduction.study import Study

NAME = "figure-6"
CAPTION = "all lines have their minimum at K = 5, except s = 1.5."

STUDY = Study(
    name=NAME,
    title="Figure 6: mean entropy over K, data set 5",
    measure=lambda context: measure_curves(context, 5, "mean_entropy_"),
    show=lambda result: show_curves(result, NAME, CAPTION),
    draw=lambda result: draw_curves(result, NAME),
    expect=expect_curves,
)
