"""What classical methods say about the number of clusters."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from bbclust.cli.output.advice import translate
from bbclust.cli.output.notes import Notes
from bbclust.cli.output.progress import Progress
from bbclust.cli.settings import Method

if TYPE_CHECKING:
    from bbclust.baselines import KChoice

# Rows that the other methods see: some of them compare all rows with all others.
COMPARED_ROWS = 2_000


def ask_other_methods(
    X: Any, k_values: list[int], method: Method, progress: Progress, notes: Notes
) -> list[KChoice] | None:
    """What the classical methods say about K, on a sample of a large table."""
    from bbclust.baselines import compare_baselines
    from bbclust.stages.random_streams import Stage, fixed_sample
    from bbclust.stages.table import has_missing

    if has_missing(X):
        notes.sentences.append("The other methods need complete rows and were not asked.")
        return None
    if len(X) > COMPARED_ROWS:
        X = X[fixed_sample(len(X), COMPARED_ROWS, method.seed, Stage.SELECTION_SAMPLE, 1)]
        notes.sentences.append(
            f"The other methods saw a sample of {COMPARED_ROWS:,} rows, since some of them compare "
            "every row with every other."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compare_baselines(
                X,
                k_values,
                callbacks=progress.callback(),
                random_state=method.seed,
                n_jobs=method.jobs,
            )
    except ValueError as error:
        notes.sentences.append(f"The other methods have no answer here: {translate(str(error))}")
        return None
