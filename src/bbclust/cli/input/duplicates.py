"""Columns that are another one again: equal, or the same in other units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.audit_rules import Finding

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

SAMPLE = 256  # rows on which pairs of columns are looked for; found pairs are checked on all
BLOCK = 512
# Rounded to three digits, a column in other units still has a correlation above this.
NEARLY_ONE = 1 - 1e-4


def find_duplicates(numbers: Mapping[str, pl.Series]) -> dict[str, Finding]:
    """Columns that an earlier one determines by ``a + b * x``, up to the rounding of both.

    Examples
    --------
    >>> import polars as pl
    >>> cm = pl.Series([150.0, 162.0, 171.5, 180.0])
    >>> found = find_duplicates({"cm": cm, "inch": (cm / 2.54).round(1), "kg": cm % 7})
    >>> [(name, one.reason) for name, one in found.items()]
    [('inch', "'cm' in other units")]
    """
    import numpy as np

    names = list(numbers)
    if len(names) < 2:
        return {}
    n = len(numbers[names[0]])
    some = np.unique(np.linspace(0, n - 1, SAMPLE).astype(int)) if n > SAMPLE else np.arange(n)
    Z = np.stack([_standardised(_values(numbers[name].gather(some))) for name in names], axis=1)
    found: dict[str, Finding] = {}
    for start in range(0, len(names), BLOCK):
        correlations = np.abs(Z.T @ Z[:, start : start + BLOCK]) / len(some)
        for i, j in np.argwhere(correlations > NEARLY_ONE - 1e-9):
            later = start + int(j)
            if i < later and names[later] not in found and names[i] not in found:
                kind = _compare(_values(numbers[names[i]]), _values(numbers[names[later]]))
                if kind is not None:
                    reason = (
                        f"{kind} {names[i]!r}" if kind == "equal to" else f"{names[i]!r} {kind}"
                    )
                    found[names[later]] = Finding("duplicate", False, reason)
    return found


def _values(numbers: pl.Series) -> npt.NDArray[Any]:
    import polars as pl

    return numbers.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _standardised(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """With mean 0 and square sum n; zero where there is a gap, all zero if it does not vary."""
    import numpy as np

    known = np.isfinite(column)
    z: npt.NDArray[Any] = np.zeros(len(column))
    with np.errstate(over="ignore", invalid="ignore"):
        if known.any():
            z[known] = column[known] / (np.abs(column[known]).max() or 1.0)  # squares stay finite
            z[known] -= z[known].mean()
            length = float(np.sqrt(np.square(z).sum()))
            varies = np.isfinite(length) and length > 0
            z *= np.sqrt(len(column)) / length if varies else 0.0
    z[~np.isfinite(z)] = 0.0
    return z


def _compare(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> str | None:
    """How two columns with gaps in the same rows are the same, if they are."""
    import numpy as np

    known = np.isfinite(first)
    if not np.array_equal(known, np.isfinite(second)) or known.sum() < 3:
        return None
    x, y = first[known], second[known]
    if np.array_equal(x, y):
        return "equal to"
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        dx, dy = x - x.mean(), y - y.mean()
        slope = float((dx @ dy) / (dx @ dx))
        residual = float(np.abs(dy - slope * dx).max())
    if not np.isfinite(residual):
        return None
    rounding = (_resolution(y) + abs(slope) * _resolution(x)) / 2
    small = 1e-9 * float(np.abs(dy).max())
    return "in other units" if residual <= rounding + small else None


def _resolution(values: npt.NDArray[Any]) -> float:
    """The step in which numbers are written: 0.1 for one decimal; 0 for more than six."""
    import numpy as np

    for decimals in range(7):
        scaled = values * 10.0**decimals
        if bool(np.all(np.abs(scaled - np.round(scaled)) <= 1e-6)):
            return 10.0**-decimals
    return 0.0
