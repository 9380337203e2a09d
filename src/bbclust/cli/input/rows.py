"""The rows that are clustered: numbers without gaps, and what every row of the file is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.columns import Columns
from bbclust.cli.input.tables import InputTable
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl


@dataclass(frozen=True)
class Rows:
    """Rows to cluster, in the order of the file.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Finite numbers, float32 if all columns are, else float64; NaN where one is missing and to be
        drawn.
    columns : tuple of d str
    kept : ndarray of shape (N,)
        Which of the N rows of the file these are.
    ids, truth : Series of N values, or None
        Name and known class of every row of the file.
    original : DataFrame of N rows, or None
        All columns of the file, if the assignments are to carry them.
    """

    X: npt.NDArray[Any]
    columns: tuple[str, ...]
    kept: npt.NDArray[np.bool_]
    ids: pl.Series | None
    truth: pl.Series | None
    original: pl.DataFrame | None = None

    @property
    def n_dropped(self) -> int:
        return len(self.kept) - len(self.X)

    def notes(self) -> tuple[str, ...]:
        """How many values are missing, if any, and what is done about it."""
        import numpy as np

        missing = np.isnan(self.X)
        counts = missing.sum(axis=0)
        if not counts.any():
            return ()
        most, n_rows = int(counts.argmax()), int(missing.any(axis=1).sum())
        return (
            f"{missing.sum():,} of {missing.size:,} values are missing, in {n_rows:,} of "
            f"{len(self.X):,} rows and {np.count_nonzero(counts)} of {len(counts)} columns, most "
            f"in {self.columns[most]!r} ({counts[most]:,}): every replica draws them anew, given "
            "the other values of the row, so a row is the more in doubt the less is known of it.",
        )


def check_size(table: InputTable, at_least: int = 2) -> None:
    """Refuse a table with too few rows."""
    n = len(table.frame)
    if n < at_least:
        held = "columns and no rows" if n == 0 else f"{n} row{'s'[: n != 1]}"
        raise CommandError(
            f"The table has {held} and at least {at_least} "
            f"row{'s are' if at_least != 1 else ' is'} needed."
        )


def take_rows(table: InputTable, columns: Columns, missing: str, *, at_least: int = 2) -> Rows:
    """The rows without gaps; with ``missing="error"``, all of them or a sentence.

    With "draw" all rows are kept, and NaN stands for what is missing.

    Parameters
    ----------
    table : InputTable
    columns : Columns
    missing : {"error", "drop", "draw"}
        What to do with a row that has a gap, NaN or an infinite number.
    at_least : int
        Rows needed.
    """
    import numpy as np

    X = _matrix(columns)
    kept = np.isfinite(X).all(axis=1)
    if missing == "draw":
        _refuse_what_cannot_be_drawn(X, columns)
        kept = np.ones(len(X), dtype=np.bool_)
    if missing == "error" and not kept.all():
        raise CommandError(_gap_sentence(X, kept, columns))
    if kept.sum() < at_least:
        raise CommandError(
            f"{kept.sum()} of {len(X):,} rows have a number in every column and at "
            f"least {at_least} are needed: leave columns with many gaps out with --exclude."
        )
    if not kept.all():
        X = X[kept]
    return Rows(
        X,
        tuple(columns.features),
        kept,
        None if columns.id is None else table.frame[columns.id],
        None if columns.truth is None else table.frame[columns.truth],
    )


def _matrix(columns: Columns) -> npt.NDArray[Any]:
    """All rows as one block of memory, NaN where there is no number."""
    import numpy as np
    import polars as pl

    features = list(columns.features.values())
    single = all(column.dtype == pl.Float32 for column in features)
    X = np.empty((len(features[0]), len(features)), dtype=np.float32 if single else np.float64)
    for j, column in enumerate(features):
        X[:, j] = column.fill_null(float("nan")).to_numpy()
    return X


def _refuse_what_cannot_be_drawn(X: npt.NDArray[Any], columns: Columns) -> None:
    import numpy as np

    infinite = np.isinf(X)
    if infinite.any():
        row, column = (int(index) for index in np.argwhere(infinite)[0])
        raise CommandError(
            f"Row {row + 1}, column {list(columns.features)[column]!r} holds {X[row, column]:g}, "
            "and only what is missing is drawn: correct it."
        )
    unknown = np.isnan(X).all(axis=0)
    if unknown.any():
        raise CommandError(
            f"Column {list(columns.features)[int(unknown.argmax())]!r} has no number in any row, "
            "so nothing tells what to draw there: leave it out with --exclude."
        )
    empty = np.isnan(X).all(axis=1)
    if empty.any():
        raise CommandError(
            f"Row {int(empty.argmax()) + 1} has no number in any column, so nothing tells where it "
            "belongs: take such rows out of the file, or leave rows with gaps out with --missing "
            "drop."
        )


def _gap_sentence(X: npt.NDArray[Any], kept: npt.NDArray[np.bool_], columns: Columns) -> str:
    import numpy as np

    row = int(np.argmin(kept))
    column = int(np.argmin(np.isfinite(X[row])))
    what = f"holds {X[row, column]:g}" if np.isinf(X[row, column]) else "has no number"
    n_bad = int((~kept).sum())
    more = f" ({n_bad:,} rows have gaps or infinite numbers)" if n_bad > 1 else ""
    return (
        f"Row {row + 1}, column {list(columns.features)[column]!r} {what}{more}: "
        "correct it, or leave such rows out with --missing drop"
        + ("." if np.isinf(X[row, column]) else ", or draw what is missing with --missing draw.")
    )
