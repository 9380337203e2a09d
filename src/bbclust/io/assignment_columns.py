"""The columns of every table of assignments that the command writes, on any engine."""

from __future__ import annotations

from collections.abc import Sequence
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


def name_beside(taken: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names for other columns beside those that are taken; those that collide get a number.

    Examples
    --------
    >>> name_beside(["id", "label"], ["x", "label", "label (2)"])
    ['x', 'label (3)', 'label (2)']
    """
    used = {*taken, *names}
    given = []
    for name in names:
        new, number = name, 2
        while new in taken or (new != name and new in used):
            new, number = f"{name} ({number})", number + 1
        used.add(new)
        given.append(new)
    return given


def membership_columns(memberships: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
    """The memberships (n, K) in each cluster, by name."""
    return {f"membership_{k}": memberships[:, k] for k in range(memberships.shape[1])}
