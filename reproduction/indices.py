"""Silhouette and gap statistic on the six data sets: Tables 6 and 7."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bbclust.baselines import compare_baselines
from reproduction.printed import printed
from reproduction.study import Result
from reproduction.study_context import DATASETS, K_VALUES, TRUE_K, StudyContext, paper_draw
from reproduction.value_table import compare_row

Array = npt.NDArray[np.float64]

METHODS = ("silhouette", "gap", "gap (principal components)")
N_REFERENCES = 20

# Data set 6 has three dimensions. Its printed rows are those of data in a plane, so its first two
# coordinates are measured besides.
PLANE = "6, x1 and x2 only"
ROWS = {**{str(number): number for number in DATASETS}, PLANE: 6}


def points_of_row(label: str, draw: int) -> Array:
    """The data of one row of the tables."""
    X = paper_draw(ROWS[label], draw).data
    return X[:, :2] if label == PLANE else X


def indices_of_draw(label: str, draw: int, random_state: int) -> Array:
    """Scores of shape (methods, K)."""
    choices = compare_baselines(
        points_of_row(label, draw),
        K_VALUES,
        methods=METHODS,
        n_references=N_REFERENCES,
        random_state=random_state,
    )
    return np.array([choice.scores for choice in choices])


def measure_indices(context: StudyContext) -> dict[str, Array]:
    """By row of the tables: scores of shape (methods, K, draws)."""
    n_draws = context.size(quick=10, full=300)

    def compute() -> dict[str, Array]:
        tasks = [
            (label, draw, context.random_state(draw)) for draw in range(n_draws) for label in ROWS
        ]
        found = context.each("silhouette and gap", indices_of_draw, tasks)
        return {
            label: np.stack(found[place :: len(ROWS)], axis=-1) for place, label in enumerate(ROWS)
        }

    return context.once("indices", compute)


def index_rows(
    context: StudyContext, table: str, variants: dict[str, tuple[int, float]]
) -> list[Result]:
    """Rows of a table; each variant is a method and the unit of its scores."""
    found = measure_indices(context)
    return [
        compare_row(
            label,
            TRUE_K[number],
            printed()[table][str(number)],
            {name: unit * found[label][method] for name, (method, unit) in variants.items()},
            lowest=False,
        )
        for label, number in ROWS.items()
    ]
