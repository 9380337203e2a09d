"""Several readings of the algorithm on the six data sets, each against the printed tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reproduction.markdown import number, percent, table
from reproduction.measures import MEASURES
from reproduction.study import Result
from reproduction.study_context import DATASETS, K_VALUES, TRUE_K, StudyContext

Array = npt.NDArray[np.float64]

ENOUGH_DRAWS = 10


def printed_bits() -> Array:
    """Tables 4 and 5 in bits, shape (measures, data sets, K)."""
    return np.array(
        [[measure.printed_bits(number) for number in DATASETS] for measure in MEASURES.values()]
    )


def is_true_k() -> npt.NDArray[np.bool_]:
    """Shape (data sets, K)."""
    return np.array([[k == TRUE_K[number] for k in K_VALUES] for number in DATASETS])


def distance(values: Array, wanted: Array) -> float | None:
    """Root mean square over cells of (printed - our mean) / our standard deviation over draws.

    None for a few draws: their standard deviation says nothing.
    """
    if values.shape[-1] < ENOUGH_DRAWS:
        return None
    z = (wanted - values.mean(axis=-1)) / values.std(axis=-1, ddof=1)
    return float(np.sqrt((z**2).mean()))


def summarize_reading(values: Array) -> Result:
    """From bits of shape (measures, data sets, K, draws) to a few numbers by measure.

    ``ratio`` is the geometric mean over the cells of printed / our mean. ``distance`` is the root
    mean square over the cells of (printed - our mean) / our standard deviation over draws: about
    one if the printed tables are another draw.
    """
    means = values.mean(axis=-1)
    wanted = printed_bits()
    true = np.array([TRUE_K[number] for number in DATASETS])
    choices = np.array(K_VALUES)[values.argmin(axis=2)]
    return {
        "n_draws": values.shape[-1],
        "at_true_k": means[:, is_true_k()].mean(axis=1).tolist(),
        "at_other_k": means[:, ~is_true_k()].mean(axis=1).tolist(),
        "ratio": np.exp(np.log(wanted / means).mean(axis=(1, 2))).tolist(),
        "distance": [distance(*both) for both in zip(values, wanted, strict=True)],
        "n_found": (choices == true[:, None]).sum(axis=-1).tolist(),
        "choice_of_mean": np.array(K_VALUES)[means.argmin(axis=2)].tolist(),
    }


def summarize_by_replicas(values: Array, replicas: Sequence[int], what: str = "") -> Result:
    """A summary for each number of replicas, the first axis, named after it."""
    return {
        f"{what}B = {b}": summarize_reading(of_b) for b, of_b in zip(replicas, values, strict=True)
    }


READING_COLUMNS = (
    "mean S at the true K, at the others",
    "max S_lm at the true K, at the others",
    "printed / ours",
    "distance",
    "true K found by S",
    "by S_lm",
)


def reading_cells(summary: Result) -> list[str]:
    """One row of the table, after its name."""
    n = summary["n_draws"] * len(DATASETS)
    levels = [
        f"{number(at_true)}, {number(at_other)}"
        for at_true, at_other in zip(summary["at_true_k"], summary["at_other_k"], strict=True)
    ]
    found = [percent(sum(hits) / n) for hits in summary["n_found"]]
    ratios = ", ".join(number(value, 2) for value in summary["ratio"])
    known = [number(value, 2) for value in summary["distance"] if value is not None]
    return [*levels, ratios, ", ".join(known), *found]


def show_readings(what: str, summaries: Mapping[str, Result]) -> str:
    """The table of several readings."""
    rows = [[name, *reading_cells(summary)] for name, summary in summaries.items()]
    return table([what, *READING_COLUMNS], rows)


def reading_note(summaries: Mapping[str, Result]) -> str:
    """What the columns are."""
    n = next(iter(summaries.values()))["n_draws"] * len(DATASETS)
    return f"{READING_NOTE} Its standard error is at most {50 / n**0.5:.0f} points."


READING_NOTE = (
    "Entropies in bits, means over the six data sets. *Printed / ours*: geometric mean over the 30 "
    "cells of Table 4, then of Table 5. *Distance*: root mean square over the cells of (printed "
    "minus our mean) / standard deviation of our draws, for both tables; about 1 when the printed "
    "table could be another draw. *True K found*: share of single draws, all data sets together."
)


def expect_readings(summaries: Mapping[str, Result]) -> dict[str, float]:
    """Levels at other than the true K, where they are high, so that chance moves them less."""
    return {
        f"{name}, {measure} at other K": summary["at_other_k"][m]
        for name, summary in summaries.items()
        for m, measure in enumerate(("S", "S_lm"))
    }


def on_the_six(
    context: StudyContext, title: str, function: Callable[..., Array], n_draws: int, *first: Any
) -> Array:
    """Results of a function for several draws of each data set, shape (..., data sets, K, draws).

    The function is called as by :meth:`StudyContext.each_draw` and returns shape (..., K).
    """
    found = context.each_draw(title, function, n_draws, *first)
    stacked = np.stack(found, axis=-2)  # (..., draws * data sets, K)
    shape = (*stacked.shape[:-2], n_draws, len(DATASETS), len(K_VALUES))
    return np.moveaxis(stacked.reshape(shape), -3, -1)
