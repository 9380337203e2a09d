"""Both measures of the paper on the six data sets, as Algorithm 3 is written: Tables 4 and 5."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust import BBC
from reproduction.printed import printed
from reproduction.readings import on_the_six
from reproduction.study import Result
from reproduction.study_context import DATASETS, K_VALUES, TRUE_K, StudyContext, paper_draw
from reproduction.value_table import compare_row

Array = npt.NDArray[np.float64]

# The paper does not say how many replicas it ran. Ten fit its magnitudes (see the audit of B);
# with 200 the values have settled.
REPLICAS = (10, 200)
MEASURES = ("mean_entropy_", "max_pairwise_entropy_")


def fit_quietly(X: Array, n_clusters: int, **parameters: Any) -> BBC:
    """A fit in which few votes on a row, or none, are what is studied and no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return BBC(n_clusters, votes="drawn", **parameters).fit(X)


def grow_quietly(model: BBC, n_replicas: int) -> BBC:
    """The same model with more replicas, as if it had been fitted with them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        more = n_replicas - model.n_replicas_
        return model.add_replicas(more) if more > 0 else model


def both_measures(model: BBC) -> list[float]:
    """In bits."""
    return [getattr(model, measure) for measure in MEASURES]


def read_while_growing(
    models: Iterable[BBC],
    replicas: Sequence[int],
    read: Callable[[BBC], Sequence[float]] = both_measures,
) -> Array:
    """What is read off models, one for each K, at each of the numbers of replicas.

    Shape (replicas, what is read, K). The models end with the last number of replicas.
    """
    found = [[read(grow_quietly(model, b)) for b in replicas] for model in models]
    return np.moveaxis(np.array(found), 0, -1)


def measures_of_draw(number: int, draw: int, random_state: int) -> Array:
    """Both measures in bits, shape (replicas, measures, K)."""
    X = paper_draw(number, draw).data
    models = (
        fit_quietly(X, k, n_replicas=REPLICAS[0], random_state=random_state) for k in K_VALUES
    )
    return read_while_growing(models, REPLICAS)


def measure_entropies(context: StudyContext) -> dict[int, Array]:
    """By data set: bits, shape (replicas, measures, K, draws); s = 1, omega = 0.5, m = n."""
    n_draws = context.size(quick=12, full=300)

    def compute() -> dict[int, Array]:
        title = "entropies of the six data sets"
        values = on_the_six(context, title, measures_of_draw, n_draws)
        return {number: values[:, :, place] for place, number in enumerate(DATASETS)}

    return context.once("entropies", compute)


def entropy_rows(context: StudyContext, measure: int, table: str, unit: float) -> list[Result]:
    """Rows of a table of one measure, in bits times ``unit``."""
    found = measure_entropies(context)
    return [
        compare_row(
            str(number),
            TRUE_K[number],
            printed()[table][str(number)],
            {
                f"ours, B = {b}": unit * found[number][row, measure]
                for row, b in enumerate(REPLICAS)
            },
            lowest=True,
        )
        for number in DATASETS
    ]
