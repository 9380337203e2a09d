"""What a model file keeps of the table that the model was fitted to, besides the scaling.

No row is kept: the parts of columns by name, the smallest and largest value of each, and a
fingerprint that tells whether rows are those of the fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class TrainingTable:
    """A table by what its model needs to know of it.

    Attributes
    ----------
    id, truth : str or None
        The columns that named the rows and that held known classes.
    set_aside : tuple of str
        Columns that were not clustered.
    n_rows : int
        Rows that were clustered.
    low, high : tuple of d float
        Smallest and largest value of each clustered column, in the units of the file.
    fingerprint : str or None
        Of the clustered rows; None for a table that was never in memory as a whole.
    """

    id: str | None
    truth: str | None
    set_aside: tuple[str, ...]
    n_rows: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    fingerprint: str | None = None

    @property
    def other_columns(self) -> tuple[str, ...]:
        """Columns that were neither clustered nor names of rows."""
        return self.set_aside if self.truth is None else (*self.set_aside, self.truth)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for files."""
        return {
            "id": self.id,
            "truth": self.truth,
            "set_aside": list(self.set_aside),
            "n_rows": self.n_rows,
            "low": list(self.low),
            "high": list(self.high),
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TrainingTable:
        return cls(
            _name(stored["id"]),
            _name(stored["truth"]),
            tuple(str(name) for name in stored["set_aside"]),
            int(stored["n_rows"]),
            tuple(float(value) for value in stored["low"]),
            tuple(float(value) for value in stored["high"]),
            _name(stored["fingerprint"]),
        )


def column_ranges(X: npt.NDArray[Any]) -> dict[str, tuple[float, ...]]:
    """Smallest and largest number of every column; gaps do not count.

    Examples
    --------
    >>> import numpy as np
    >>> column_ranges(np.array([[1.0, 5.0], [3.0, np.nan]]))
    {'low': (1.0, 5.0), 'high': (3.0, 5.0)}
    """
    import numpy as np

    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    return {"low": tuple(map(float, low)), "high": tuple(map(float, high))}


def _name(value: Any) -> str | None:
    return None if value is None else str(value)
