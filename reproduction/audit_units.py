"""Units: Table 4 is in nats, Table 5 in bits."""

from __future__ import annotations

import numpy as np

from reproduction.markdown import number, table
from reproduction.models import fit_quietly
from reproduction.printed import printed
from reproduction.study import Result, Study
from reproduction.study_context import DATASETS, StudyContext, paper_draw


def difference_of_draw(number: int, random_state: int) -> float:
    """Mean entropy minus maximum pairwise entropy at K = 2, in bits."""
    model = fit_quietly(paper_draw(number, 0).data, 2, n_replicas=50, random_state=random_state)
    return abs(model.mean_entropy_ - model.max_pairwise_entropy_)


def measure(context: StudyContext) -> Result:
    """The printed values at K = 2, and whether ours are equal there."""
    tasks = [(number, context.random_state(number)) for number in DATASETS]
    differences = context.each("units", difference_of_draw, tasks)
    return {
        "mean_entropy": [printed()["mean_entropy"][str(number)][0] for number in DATASETS],
        "max_pairwise": [printed()["max_pairwise_entropy"][str(number)][0] for number in DATASETS],
        "largest_difference": max(differences),
    }


def show(result: Result) -> str:
    """The section of the page."""
    first, second = result["mean_entropy"], result["max_pairwise"]
    ratios = [a / b for a, b in zip(first, second, strict=True)]
    rows = [
        [name, *(number(value) for value in values)]
        for name, values in (
            ("Table 4, K = 2", first),
            ("Table 5, K = 2", second),
            ("Table 4 / Table 5", ratios),
        )
    ]
    worst = max(abs(ratio - np.log(2)) for ratio in ratios)
    return "\n\n".join(
        [
            "At K = 2 the two measures are the same quantity (ours differ by at most "
            f"{result['largest_difference']:.0e} bits). In the printed tables:",
            table(["data set", *map(str, DATASETS)], rows),
            f"All six ratios are ln 2 = {np.log(2):.3f} to within {worst:.3f}, which is rounding: "
            "Table 4 is in nats, Table 5 in bits. The text defines both with log2. We compute bits "
            "and convert when we compare with Table 4. Within a table the choice of K is not "
            "touched.",
        ]
    )


STUDY = Study(
    name="audit-units",
    title="Units: Table 4 is in nats, Table 5 in bits",
    measure=measure,
    show=show,
)
