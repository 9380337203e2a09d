"""Both measures over K for several s, averaged over draws: Figures 3, 4, 6 and 7."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reproduction.markdown import counted, percent, rate, table
from reproduction.measures import MEASURES
from reproduction.models import both_measures, fit_each_k
from reproduction.printed import printed
from reproduction.study import Result
from reproduction.study_context import K_VALUES, TRUE_K, StudyContext
from reproduction.value_table import at_true_k_and_elsewhere

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]

N_REPLICAS = 200


def scales() -> list[float]:
    """The s's of the printed figures."""
    return [float(s) for s in printed()["prior_scales_of_the_figures"]]


def curves_of_draw(number: int, draw: int, random_state: int) -> Array:
    """Bits, shape (measures, s, K)."""
    parameters = {"n_replicas": N_REPLICAS, "random_state": random_state}
    found = [
        [both_measures(model) for model in fit_each_k(number, draw, prior_scale=s, **parameters)]
        for s in scales()
    ]
    return np.moveaxis(np.array(found), -1, 0)


def measure_curves(context: StudyContext, number: int, measure: str) -> Result:
    """Averaged curves of one data set and one measure, and where each draw has its minimum."""
    n_draws = context.size(quick=4, full=200)

    def compute() -> Array:
        tasks = [(number, draw, context.random_state(draw)) for draw in range(n_draws)]
        title = f"curves of data set {number}"
        return np.stack(context.each(title, curves_of_draw, tasks), axis=-1)

    values = context.once(("curves", number), compute)[list(MEASURES).index(measure)]
    choices = np.array(K_VALUES)[values.argmin(axis=1)]
    return {
        "dataset": number,
        "true_k": TRUE_K[number],
        "measure": measure,
        "n_draws": n_draws,
        "scales": scales(),
        "mean": values.mean(axis=2).tolist(),
        "se": (values.std(axis=2, ddof=1) / np.sqrt(n_draws)).tolist(),
        "choice_of_mean": np.array(K_VALUES)[values.mean(axis=2).argmin(axis=1)].tolist(),
        "n_all_at_true": int((choices == TRUE_K[number]).all(axis=0).sum()),
        "n_choosing": [[int((row == k).sum()) for k in K_VALUES] for row in choices],
    }


def show_curves(result: Result, name: str, caption: str) -> str:
    """Picture, caption of the paper in our words, and where the minima are."""
    measure = MEASURES[result["measure"]]
    n = result["n_draws"]
    true_k = result["true_k"]
    rows = []
    for s, chosen, counts in zip(
        result["scales"], result["choice_of_mean"], result["n_choosing"], strict=True
    ):
        shares = [percent(count / n) for count in counts]
        found = rate(counts[K_VALUES.index(true_k)], n)
        rows.append([f"s = {s:g}", str(chosen), *shares, found])
    picture = (
        f"![Data set {result['dataset']}, {measure.name} over K, one line per s.]"
        f"(images/paper/{name}.png)"
    )
    return "\n\n".join(
        [
            picture,
            f"Averages over {counted(n, 'fresh draw')} of data set {result['dataset']}, B = "
            f"{N_REPLICAS}, with bands of two standard errors; the upright line is the true K. "
            f"Dashed: the printed row of Table {measure.table} (s = 1, one draw, B not given), in "
            f"bits. The paper shows one draw: {caption}",
            table(
                [
                    "",
                    "minimum of the average",
                    *(f"minimum at {k}" for k in K_VALUES),
                    f"true K = {true_k} found",
                ],
                rows,
            ),
        ]
    )


def draw_curves(result: Result, name: str) -> dict[str, Figure]:
    """The averaged curves."""
    from matplotlib.figure import Figure

    from bbclust.plots import SelectionCurvesDisplay
    from bbclust.plots.palette import INK

    measure = result["measure"].removesuffix("_")
    n_scales, n_k = len(result["scales"]), len(K_VALUES)
    curves = {
        "n_clusters": np.tile(K_VALUES, n_scales),
        "prior_scale": np.repeat(result["scales"], n_k),
        measure: np.ravel(result["mean"]),
        f"{measure}_se": np.ravel(result["se"]),
    }
    figure = Figure(figsize=(7.4, 4.0), layout="constrained")
    display = SelectionCurvesDisplay(curves=curves, best_k=result["true_k"], measure=measure)
    axes = figure.add_subplot()
    shown = MEASURES[result["measure"]]
    (line,) = axes.plot(
        K_VALUES,
        shown.printed_bits(result["dataset"]),
        color=INK,
        linestyle="--",
        linewidth=1.4,
    )
    display.plot(axes)
    legend = display.ax_.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    handles = [handle for handle in legend.legend_handles if handle is not None]
    truth = f"true K = {result['true_k']}"  # here the upright line is the truth
    axes.legend(
        [*handles, line],
        [
            *(truth if name.startswith("chosen") else name for name in names),
            f"Table {shown.table}, printed (s = 1)",
        ],
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),  # where it hides no line
        frameon=False,
    )
    display.ax_.set_title(
        f"Data set {result['dataset']}, mean of {counted(result['n_draws'], 'draw')}"
    )
    return {name: figure}


def expect_curves(result: Result) -> dict[str, float]:
    """Means at the true K and over the others, by s."""
    figures: dict[str, float] = {}
    for s, row in zip(result["scales"], result["mean"], strict=True):
        figures.update(at_true_k_and_elsewhere(f"s = {s:g}", row, result["true_k"]))
    return figures
