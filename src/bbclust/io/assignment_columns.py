"""The columns of every table of assignments that the command writes, on any engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def assignment_columns(
    ids: Any,
    labels: npt.NDArray[Any],
    memberships: npt.NDArray[np.float64],
    entropy: npt.NDArray[np.float64],
    n_votes: npt.NDArray[Any] | int,
) -> dict[str, Any]:
    """Columns by name and in order, one value for every row.

    ``ids`` is what rows are called; ``n_votes`` is of each row, or the same of all.
    """
    return {
        "id": ids,
        "label": labels,
        **membership_columns(memberships),
        "entropy": entropy,
        "n_votes": np.broadcast_to(n_votes, len(labels)).astype(np.int64),
    }


def membership_columns(memberships: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
    """The memberships (n, K) in each cluster, by name."""
    return {f"membership_{k}": memberships[:, k] for k in range(memberships.shape[1])}
