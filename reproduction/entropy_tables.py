"""Tables 4 and 5: both measures by data set and K, as Algorithm 3 is written."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reproduction.measures import MEASURES
from reproduction.models import REPLICAS, fit_each_k, read_while_growing
from reproduction.printed import printed
from reproduction.readings import on_the_six
from reproduction.study import Result, Study
from reproduction.study_context import DATASETS, TRUE_K, StudyContext
from reproduction.value_table import (
    compare_row,
    count_central,
    expect_rows,
    how_to_read,
    show_rows,
)

Array = npt.NDArray[np.float64]


def measures_of_draw(number: int, draw: int, random_state: int) -> Array:
    """Both measures in bits, shape (replicas, measures, K)."""
    models = fit_each_k(number, draw, n_replicas=REPLICAS[0], random_state=random_state)
    return read_while_growing(models, REPLICAS)


def measure_entropies(context: StudyContext) -> dict[int, Array]:
    """By data set: bits, shape (replicas, measures, K, draws); s = 1, omega = 0.5, m = n."""
    n_draws = context.size(quick=12, full=300)

    def compute() -> dict[int, Array]:
        title = "entropies of the six data sets"
        values = on_the_six(context, title, measures_of_draw, n_draws)
        return {number: values[:, :, place] for place, number in enumerate(DATASETS)}

    return context.once("entropies", compute)


def entropy_rows(context: StudyContext, attribute: str) -> list[Result]:
    """Rows of the table of one measure, in its unit."""
    found = measure_entropies(context)
    place, measure = list(MEASURES).index(attribute), MEASURES[attribute]
    return [
        compare_row(
            str(number),
            TRUE_K[number],
            printed()[measure.key][str(number)],
            {
                f"ours, B = {b}": measure.per_bit * found[number][row, place]
                for row, b in enumerate(REPLICAS)
            },
            lowest=True,
        )
        for number in DATASETS
    ]


def show_entropies(result: Result, unit: str) -> str:
    """The section of the page."""
    rows = result["rows"]
    central = [
        "{} of {} at B = {}".format(*count_central(rows, f"ours, B = {b}"), b) for b in REPLICAS
    ]
    return "\n\n".join(
        [
            f"In {unit}; s = 1, omega = 0.5, m = n, votes of drawn points. "
            + how_to_read(rows, "lowest"),
            show_rows(rows, unit),
            "Printed values in the central 95% of our draws: " + ", ".join(central) + ".",
        ]
    )


def entropy_table(attribute: str) -> Study:
    """The table of one measure."""
    measure = MEASURES[attribute]
    return Study(
        name=f"table-{measure.table}",
        title=f"Table {measure.table}: {measure.name}",
        measure=lambda context: {"rows": entropy_rows(context, attribute)},
        show=lambda result: show_entropies(result, measure.unit),
        expect=lambda result: expect_rows(result["rows"], [f"ours, B = {REPLICAS[-1]}"]),
    )


STUDIES = tuple(map(entropy_table, MEASURES))
