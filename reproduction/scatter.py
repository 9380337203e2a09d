"""A data set as points, coloured by the component that each was drawn from: Figures 2 and 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproduction.study import Result
from reproduction.study_context import paper_draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def measure_points(number: int) -> Result:
    """The first draw."""
    data = paper_draw(number, 0)
    return {
        "dataset": number,
        "points": data.data.round(3).tolist(),
        "component": data.target.tolist(),
    }


def show_points(result: Result, name: str) -> str:
    """The section of the page."""
    return (
        f"![Data set {result['dataset']} in the plane, coloured by component.]"
        f"(images/paper/{name}.png)\n\n"
        f"One of our draws, {len(result['points'])} points, by the component each was drawn from. "
        "The printed figure is another draw of the same description."
    )


def draw_points(result: Result, name: str) -> dict[str, Figure]:
    """The points."""
    from matplotlib.figure import Figure

    from bbclust.plots.palette import MARKERS, SERIES

    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    axes = figure.add_subplot()
    for component in sorted(set(result["component"])):
        mine = [
            point
            for point, of in zip(result["points"], result["component"], strict=True)
            if of == component
        ]
        x, y = zip(*mine, strict=True)
        axes.scatter(
            x,
            y,
            s=26,
            color=SERIES[component],
            marker=MARKERS[component],
            edgecolors="white",
            linewidths=0.5,
            label=f"component {component + 1}",
        )
    axes.set_aspect("equal")
    axes.set(xlabel="x1", ylabel="x2", title=f"Data set {result['dataset']}")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return {name: figure}
