"""Figure 4: maximum pairwise entropy over K on data set 1."""

from __future__ import annotations

from reproduction.curves import draw_curves, expect_curves, measure_curves, show_curves
from reproduction.study import Study

NAME = "figure-4"
CAPTION = "all lines have their minimum at K = 3."

STUDY = Study(
    name=NAME,
    title="Figure 4: maximum pairwise entropy over K, data set 1",
    measure=lambda context: measure_curves(context, 1, "max_pairwise_entropy_"),
    show=lambda result: show_curves(result, NAME, CAPTION),
    draw=lambda result: draw_curves(result, NAME),
    expect=expect_curves,
)
