"""Table 6: silhouette by data set and K."""

from __future__ import annotations

from reproduction.indices import PLANE, index_rows
from reproduction.study import Result, Study
from reproduction.study_context import StudyContext
from reproduction.value_table import count_central, expect_rows, how_to_read, show_rows

OURS = "ours"


def measure(context: StudyContext) -> Result:
    """Mean silhouette of the best of 30 k-means runs."""
    return {"rows": index_rows(context, "silhouette", {OURS: (0, 1.0)})}


def show(result: Result) -> str:
    """The section of the page."""
    rows = result["rows"]
    text = [
        "Of the best of 30 k-means runs. " + how_to_read(rows, "largest"),
        show_rows(rows, "silhouette"),
        "Printed values in the central 95% of our draws, by row: "
        + ", ".join(
            "{} of {} ({})".format(*count_central([row], OURS), row["label"]) for row in rows
        )
        + ".",
        f"The printed row 6 is compared twice: with the data set as described, and with its first "
        f"two coordinates alone (row *{PLANE}*).",
    ]
    return "\n\n".join(text)


STUDY = Study(
    name="table-6",
    title="Table 6: silhouette",
    measure=measure,
    show=show,
    expect=lambda result: expect_rows(result["rows"], [OURS]),
)
