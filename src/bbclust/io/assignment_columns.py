"""The columns of every table of assignments, whoever writes it and in whatever format."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def assignment_columns(
    ids: Any,
    labels: npt.NDArray[Any],
    memberships: npt.NDArray[np.float64],
    entropy: npt.NDArray[np.float64],
    n_votes: npt.NDArray[Any],
) -> dict[str, Any]:
    """Columns by name and in order, one value for every row; ``ids`` is what rows are called."""
    return {
        "id": ids,
        "label": labels,
        **membership_columns(memberships),
        "entropy": entropy,
        "n_votes": n_votes,
    }


def membership_columns(memberships: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
    """The memberships (n, K) in each cluster, by name."""
    return {f"membership_{k}": memberships[:, k] for k in range(memberships.shape[1])}
