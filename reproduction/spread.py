"""Many draws in a few numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

CENTRAL = (0.025, 0.975)
NORMAL_95 = 1.959964


def spread(values: Array) -> dict[str, Any]:
    """Mean, standard deviation and central 95% over the last axis."""
    low, high = np.quantile(values, CENTRAL, axis=-1)
    return {
        "mean": values.mean(axis=-1).tolist(),
        "sd": values.std(axis=-1, ddof=1).tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }


def share_below(values: Array, printed: Array) -> Array:
    """Share of the draws below a printed value, ties by half; over the last axis."""
    below = (values < printed[..., None]).mean(axis=-1)
    equal = (values == printed[..., None]).mean(axis=-1)
    return np.asarray(below + equal / 2)


def wilson(hits: int, n: int) -> tuple[float, float]:
    """95% interval of a rate.

    Examples
    --------
    >>> [round(end, 2) for end in wilson(8, 10)]
    [0.49, 0.94]
    """
    z2 = NORMAL_95**2
    middle = (hits + z2 / 2) / (n + z2)
    half = NORMAL_95 / (n + z2) * np.sqrt(hits * (n - hits) / n + z2 / 4)
    return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))
