"""How the Dirichlet weights enter k-means, which the paper does not say."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reproduction.markdown import counted
from reproduction.models import REPLICAS, fit_each_k, read_while_growing
from reproduction.readings import (
    expect_readings,
    on_the_six,
    reading_note,
    show_readings,
    summarize_by_replicas,
)
from reproduction.study import Result, Study
from reproduction.study_context import StudyContext

Array = npt.NDArray[np.float64]

READINGS = {"weights": "sample weights (ours)", "resample": "a second resampling"}


def measures_of_reading(weighting: str, number: int, draw: int, random_state: int) -> Array:
    """Both measures in bits, shape (replicas, measures, K)."""
    models = fit_each_k(
        number, draw, n_replicas=REPLICAS[0], weighting=weighting, random_state=random_state
    )
    return read_while_growing(models, REPLICAS)


def measure(context: StudyContext) -> Result:
    """Both readings on the six data sets."""
    n_draws = context.size(quick=3, full=100)
    readings: Result = {}
    for weighting, name in READINGS.items():
        values = on_the_six(context, f"weights: {name}", measures_of_reading, n_draws, weighting)
        readings |= summarize_by_replicas(values, REPLICAS, f"{name}, ")
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
