"""How the Dirichlet weights enter k-means, which the paper does not say."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reproduction.entropies import fit_quietly, read_while_growing
from reproduction.markdown import counted
from reproduction.readings import (
    expect_readings,
    on_the_six,
    reading_note,
    show_readings,
    summarize_reading,
)
from reproduction.study import Result, Study
from reproduction.study_context import K_VALUES, StudyContext, paper_draw

Array = npt.NDArray[np.float64]

REPLICAS = (10, 200)
READINGS = {"weights": "sample weights (ours)", "resample": "a second resampling"}


def measures_of_reading(weighting: str, number: int, draw: int, random_state: int) -> Array:
    """Both measures in bits, shape (replicas, measures, K)."""
    X = paper_draw(number, draw).data
    models = (
        fit_quietly(X, k, n_replicas=REPLICAS[0], weighting=weighting, random_state=random_state)
        for k in K_VALUES
    )
    return read_while_growing(models, REPLICAS)


def measure(context: StudyContext) -> Result:
    """Both readings on the six data sets."""
    n_draws = context.size(quick=3, full=100)
    readings = {}
    for weighting, name in READINGS.items():
        values = on_the_six(context, f"weights: {name}", measures_of_reading, n_draws, weighting)
        for row, b in enumerate(REPLICAS):
            readings[f"{name}, B = {b}"] = summarize_reading(values[row])
    return {"n_draws": n_draws, "readings": readings}


def show(result: Result) -> str:
    """The section of the page."""
    return "\n\n".join(
        [
            "Algorithm 3 draws Dirichlet weights and then performs P, without saying how P uses "
            "them. Two readings: as sample weights of k-means, or as probabilities with which the "
            f"points are drawn once more. {counted(result['n_draws'], 'draw')} of each data set:",
            show_readings("reading", result["readings"]),
            reading_note(result["readings"]),
        ]
    )


STUDY = Study(
    name="audit-weights",
    title="How the weights enter k-means is not given",
    measure=measure,
    show=show,
    expect=lambda result: expect_readings(result["readings"]),
)
