"""Scaling of columns before clustering: printed, and kept beside the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

SCALINGS = {
    "standard": "each column minus its mean, divided by its standard deviation",
    "robust": "each column minus its median, divided by its interquartile range",
    "none": "columns as they are in the file",
}


@dataclass(frozen=True)
class Scaling:
    """What is done to the columns: ``(x - center) / scale``.

    Attributes
    ----------
    kind : {"standard", "robust", "none"}
    columns : tuple of str
    center, scale : tuple of float
        One of each per column; zeros and ones for "none", except for coded categories.
    """

    kind: str
    columns: tuple[str, ...]
    center: tuple[float, ...]
    scale: tuple[float, ...]

    def apply(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The scaled columns, of the same type; X itself if nothing is to be done."""
        import numpy as np

        if not any(self.center) and set(self.scale) == {1.0}:
            return X
        scaled: npt.NDArray[Any] = X - np.array(self.center, dtype=X.dtype)
        scaled /= np.array(self.scale, dtype=X.dtype)
        return scaled

    def in_words(self) -> str:
        """What was done, for people."""
        return f"{self.kind} ({SCALINGS[self.kind]})"

    def to_dict(self) -> dict[str, object]:
        """Plain data, for files."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "center": list(self.center),
            "scale": list(self.scale),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Scaling:
        return cls(
            str(stored["kind"]),
            tuple(str(name) for name in stored["columns"]),
            tuple(float(value) for value in stored["center"]),
            tuple(float(value) for value in stored["scale"]),
        )


def measure_scaling(X: npt.NDArray[Any], columns: Sequence[str], kind: str) -> Scaling:
    """Centre and scale of every column, by the values that it has.

    A column that does not vary is divided by 1. One whose interquartile range is 0 although it
    varies is divided by its standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> measure_scaling(np.array([[1.0, 5.0], [3.0, 5.0]]), ["a", "b"], "standard")
    Scaling(kind='standard', columns=('a', 'b'), center=(2.0, 5.0), scale=(1.0, 1.0))
    """
    measured = [_measure(X[:, j], kind) for j in range(X.shape[1])]
    for j, ((center, scale), name) in enumerate(zip(measured, columns, strict=True)):
        if not (abs(center) + scale < float("inf") and _stays_finite(X[:, j], center, scale)):
            raise CommandError(
                f"Column {name!r} holds numbers too large to be scaled: divide it by a power of "
                "ten, or leave it out with --exclude."
            )
    centers, scales = zip(*measured, strict=True)
    return Scaling(kind, tuple(columns), centers, scales)


def _stays_finite(column: npt.NDArray[Any], center: float, scale: float) -> bool:
    """Whether the largest numbers are still numbers once they are scaled."""
    import numpy as np

    ends = np.array([np.nanmin(column), np.nanmax(column)])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scaled = (ends - np.asarray(center, ends.dtype)) / np.asarray(scale, ends.dtype)
    return bool(np.isfinite(scaled).all())


def _measure(column: npt.NDArray[Any], kind: str) -> tuple[float, float]:
    import numpy as np

    if kind == "none":
        return 0.0, 1.0
    values = np.ascontiguousarray(column, dtype=np.float64)
    missing = np.isnan(values)
    if missing.any():
        values = values[~missing]
    with np.errstate(over="ignore", invalid="ignore"):
        if values.min() == values.max():
            return float(values[0]), 1.0
        if kind == "robust":
            low, middle, high = np.percentile(values, [25, 50, 75])
            if high > low:
                return float(middle), float(high - low)
            return float(middle), float(values.std())
        return float(values.mean()), float(values.std())
