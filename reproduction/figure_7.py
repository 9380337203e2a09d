"""Figure 7: maximum pairwise entropy over K on data set 5."""

from __future__ import annotations

from reproduction.curves import draw_curves, expect_curves, measure_curves, show_curves
from reproduction.study import Study

NAME = "figure-7"
CAPTION = "the minimum is at K = 4 or 5, depending on s."

STUDY = Study(
    name=NAME,
    title="Figure 7: maximum pairwise entropy over K, data set 5",
    measure=lambda context: measure_curves(context, 5, "max_pairwise_entropy_"),
    show=lambda result: show_curves(result, NAME, CAPTION),
    draw=lambda result: draw_curves(result, NAME),
    expect=expect_curves,
)
