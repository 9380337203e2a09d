"""Table 7: gap statistic by data set and K."""

from __future__ import annotations

import numpy as np

from reproduction.indices import N_REFERENCES, index_rows
from reproduction.study import Result, Study
from reproduction.study_context import StudyContext
from reproduction.value_table import count_central, expect_rows, how_to_read, show_rows

NATURAL, DECIMAL = "ours, ln", "ours, log10"


def measure(context: StudyContext) -> Result:
    """Gaps in natural logarithms, as defined, and in decimal ones, which fit the printed table."""
    variants = {NATURAL: (1, 1.0), DECIMAL: (2, 1 / np.log(10))}
    return {"rows": index_rows(context, "gap", variants)}


def show(result: Result) -> str:
    """The section of the page."""
    rows = result["rows"]
    central = {name: count_central(rows[:6], name) for name in (NATURAL, DECIMAL)}
    with_plane = count_central([*rows[:5], rows[6]], DECIMAL)
    text = [
        f"{N_REFERENCES} reference tables, the largest gap wins, as the paper reads it. "
        f"*{NATURAL}*: natural logarithms, references uniform over the box of the data, as the "
        f"statistic is defined. *{DECIMAL}*: decimal logarithms, references uniform over the box "
        "along the principal components. " + how_to_read(rows, "largest"),
        show_rows(rows, "gap"),
        "Printed values in the central 95% of our draws: {} of {} in natural logarithms, ".format(
            *central[NATURAL]
        )
        + "{} of {} in decimal ones, ".format(*central[DECIMAL])
        + "{} of {} in decimal ones with data set 6 in its first two coordinates. ".format(
            *with_plane
        )
        + "A unit does not change which K is chosen.",
    ]
    return "\n\n".join(text)


STUDY = Study(
    name="table-7",
    title="Table 7: gap statistic",
    measure=measure,
    show=show,
    expect=lambda result: expect_rows(result["rows"], [NATURAL, DECIMAL]),
)
