"""Table 5: maximum pairwise entropy by data set and K."""

from __future__ import annotations

from reproduction.entropies import REPLICAS, entropy_rows
from reproduction.study import Result, Study
from reproduction.study_context import StudyContext
from reproduction.table_4 import show_entropies
from reproduction.value_table import expect_rows


def measure(context: StudyContext) -> Result:
    """In bits, the unit of the printed table."""
    return {"rows": entropy_rows(context, 1, "max_pairwise_entropy", 1.0)}


STUDY = Study(
    name="table-5",
    title="Table 5: maximum pairwise entropy",
    measure=measure,
    show=lambda result: show_entropies(result, "bits"),
    expect=lambda result: expect_rows(result["rows"], [f"ours, B = {REPLICAS[-1]}"]),
)
