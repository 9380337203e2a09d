"""Table 4: mean entropy by data set and K."""

from __future__ import annotations

import numpy as np

from reproduction.entropies import REPLICAS, entropy_rows
from reproduction.study import Result, Study
from reproduction.study_context import StudyContext
from reproduction.value_table import count_central, expect_rows, how_to_read, show_rows


def measure(context: StudyContext) -> Result:
    """In nats, the unit of the printed table."""
    return {"rows": entropy_rows(context, 0, "mean_entropy", np.log(2))}


def show(result: Result) -> str:
    """The section of the page."""
    return show_entropies(result, "nats")


def show_entropies(result: Result, unit: str) -> str:
    """Table and reading of one of the two measures."""
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


STUDY = Study(
    name="table-4",
    title="Table 4: mean entropy",
    measure=measure,
    show=show,
    expect=lambda result: expect_rows(result["rows"], [f"ours, B = {REPLICAS[-1]}"]),
)
