"""Rows that are about the other rows: totals at the beginning or the end of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

_TOTAL = (
    r"(?i)^\s*(grand |sub|sub-|column |overall )?(totals?|sum|sums|summe|gesamt|insgesamt|totale|"
    r"average|mean|mittelwert|durchschnitt|moyenne|all rows|overall)\b[\s:.]*$"
)
ROWS_NEEDED = 4  # the sum of two rows may be a third by chance


def find_total_row(frame: pl.DataFrame, numbers: Mapping[str, pl.Series]) -> str | None:
    """A sentence about a first or last row that sums up the others, if there is one."""
    n = len(frame)
    if n < ROWS_NEEDED:
        return None
    for row in (n - 1, 0):
        said = _says_total(frame, row)
        if said is not None:
            why = f"column {said!r} says {str(frame[said][row]).strip()!r}"
        elif _is_sum(numbers, row):
            why = "its numbers are the sums of all others"
        else:
            continue
        return (
            f"Row {row + 1:,}, the {'last' if row else 'first'}, looks like a total ({why}) and "
            "was clustered like the others: remove it from the file."
        )
    return None


def _says_total(frame: pl.DataFrame, row: int) -> str | None:
    """The column of text that says so, in this row and in no other."""
    import polars as pl

    for name in frame.columns:
        if frame[name].dtype not in (pl.String, pl.Categorical, pl.Enum):
            continue
        cells = frame[name].cast(pl.String)
        if pl.Series([cells[row]], dtype=pl.String).str.contains(_TOTAL)[0] and (
            int(cells.str.contains(_TOTAL).sum()) == 1
        ):
            return name
    return None


def _is_sum(numbers: Mapping[str, pl.Series], row: int) -> bool:
    """Whether most columns have, in this row, the sum of all others, above each of them."""
    sums = [_sums_up(column, row) for column in numbers.values()]
    return 2 * sum(sums) > len(sums)


def _sums_up(column: pl.Series, row: int) -> bool:
    import numpy as np
    import polars as pl

    values: Any = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    others = np.delete(values, row)
    others = others[np.isfinite(others)]
    if not np.isfinite(values[row]) or len(others) < ROWS_NEEDED - 1:
        return False
    largest = float(np.abs(others).max())
    with np.errstate(over="ignore", invalid="ignore"):
        near = abs(values[row] - others.sum()) <= 1e-9 * float(np.abs(others).sum())
    return bool(near and abs(values[row]) > largest)
