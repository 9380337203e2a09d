"""Whether new rows lie where the rows of the fit lay, column by column.

Nothing about the shape of a column is assumed. If n rows of the fit and m new rows come from one
source, all orders of their values are equally likely. The chance that at least j new values lie
above the largest of the fit is then

    m/(n+m) * (m-1)/(n+m-1) * ... * (m-j+1)/(n+m-j+1),

the chance that the j largest values of all are new ones, and the same below the smallest. A column
is named when most of its new values lie beyond the range of the fit on one side and this chance is
below one in a thousand for the table as a whole, or when a value lies farther from that range than
the range is wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.training import TrainingTable

if TYPE_CHECKING:
    import numpy.typing as npt

FALSE_ALARM = 1e-3  # for rows of the same source, over all columns and both sides
COLUMNS_NAMED = 5


@dataclass(frozen=True)
class Outside:
    """How the new values of a column lie outside the range of the fit.

    Attributes
    ----------
    column : str
    trained : (float, float)
        Smallest and largest value of the fit.
    found : (float, float)
        The same of the new rows.
    n_rows : int
        New rows with a number in this column.
    n_outside, n_far : int
        Those outside the range, and those farther from it than it is wide.
    mostly : bool
        Whether most rows are outside on one side, beyond what chance allows.
    """

    column: str
    trained: tuple[float, float]
    found: tuple[float, float]
    n_rows: int
    n_outside: int
    n_far: int
    mostly: bool


def range_notes(training: TrainingTable | None, names: Sequence[str], X: Any) -> list[str]:
    """A sentence for every column whose new values do not lie where those of the fit did."""
    if training is None or not len(training.low) == len(training.high) == len(names):
        return []
    found = find_outside(training, names, X)
    notes = [_sentence(one) for one in found[:COLUMNS_NAMED]]
    if len(found) > COLUMNS_NAMED:
        more = ", ".join(repr(one.column) for one in found[COLUMNS_NAMED : COLUMNS_NAMED + 20])
        notes.append(f"The same holds for {len(found) - COLUMNS_NAMED} more columns: {more}.")
    return notes


def find_outside(training: TrainingTable, names: Sequence[str], X: Any) -> list[Outside]:
    """Columns with values outside, those with most such rows first."""
    checked = [
        _check(name, X[:, j], (training.low[j], training.high[j]), training.n_rows, len(names))
        for j, name in enumerate(names)
    ]
    outside = [one for one in checked if one is not None and (one.mostly or one.n_far)]
    return sorted(outside, key=lambda one: (-one.mostly, -one.n_far / one.n_rows))


def chance_beyond(n: int, m: int, j: int) -> float:
    """The chance that the j largest of n + m exchangeable values are among the m new ones.

    Examples
    --------
    >>> round(chance_beyond(1, 1, 1), 6)
    0.5
    >>> round(chance_beyond(8, 2, 2), 6)  # 2/10 * 1/9
    0.022222
    """
    from math import exp, lgamma

    if j == 0:
        return 1.0
    log = lgamma(m + 1) - lgamma(m - j + 1) + lgamma(n + m - j + 1) - lgamma(n + m + 1)
    return exp(log)


def _check(
    name: str, column: npt.NDArray[Any], trained: tuple[float, float], n: int, d: int
) -> Outside | None:
    import numpy as np

    known = column[np.isfinite(column)].astype(np.float64)
    if not len(known):
        return None
    low, high = trained
    width = high - low
    above, below = int((known > high).sum()), int((known < low).sum())
    far = int(((known > high + width) | (known < low - width)).sum())
    beyond = max(above, below)
    mostly = 2 * beyond > len(known) and chance_beyond(n, len(known), beyond) < FALSE_ALARM / (
        2 * d
    )
    found = (float(known.min()), float(known.max()))
    return Outside(name, trained, found, len(known), above + below, far, mostly)


def _sentence(one: Outside) -> str:
    ranges = (
        f"they go from {one.found[0]:g} to {one.found[1]:g}, those of the fit from "
        f"{one.trained[0]:g} to {one.trained[1]:g}"
    )
    n = one.n_outside if one.mostly else one.n_far
    some = "The only row" if one.n_rows == 1 else f"{n:,} of {one.n_rows:,} rows"
    lie = "lies" if n == 1 else "lie"
    if one.mostly or 2 * one.n_far > one.n_rows:
        how = "outside" if one.mostly else "far outside"
        cause = "is the column in other units, or another quantity?"
        return (
            f"{some} {lie} {how} the range of the fit in column {one.column!r} ({ranges}): {cause}"
        )
    return (
        f"{some} {lie} farther from the range of the fit in column {one.column!r} than it is wide "
        f"({ranges}): are these typing errors, codes for missing values, or rows of another kind? "
        "They get the nearest cluster all the same."
    )
