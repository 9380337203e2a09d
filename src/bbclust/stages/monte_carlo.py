"""How precise a number of replicas is: Monte-Carlo errors, and when they are small enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust.ensemble.job import Plan, Replicas
from bbclust.stages.table import Table
from bbclust.stages.voting import mean_entropy_influence, membership_se, standard_error

_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class Precision:
    """Errors that some replicas leave.

    Attributes
    ----------
    n_replicas : int
    mean_entropy_se : float
        Monte-Carlo standard error of the mean entropy, in bits.
    max_membership_se : float
        Largest error of a membership, over rows with votes and clusters.
    """

    n_replicas: int
    mean_entropy_se: float
    max_membership_se: float

    def reaches(self, tolerance: float) -> bool:
        """Whether entropies are as precise as asked for, and memberships a fifth as much."""
        return self.mean_entropy_se <= tolerance and self.max_membership_se <= 5 * tolerance


def measure_precision(table: Table, plan: Plan, replicas: Replicas) -> Precision:
    """Errors that these replicas leave."""
    rows = plan.evaluation_rows
    moves = mean_entropy_influence(
        replicas.evaluation_labels, replicas.votes[rows], table.weights_or_ones()[rows]
    )
    return Precision(replicas.n_replicas, standard_error(moves), _max_membership_se(replicas.votes))


def _max_membership_se(votes: npt.NDArray[np.int32]) -> float:
    """Largest error of a membership, over rows with votes; some rows at a time, to save memory."""
    largest = 0.0
    for start in range(0, len(votes), _ROWS_AT_ONCE):
        some = votes[start : start + _ROWS_AT_ONCE]
        errors = membership_se(some[some.any(axis=1)])
        largest = max(largest, float(errors.max(initial=0.0)))
    return largest


def as_columns(trace: Sequence[Precision]) -> dict[str, npt.NDArray[Any]]:
    """Precisions one after the other, as a dict of arrays."""
    names = ("n_replicas", "mean_entropy_se", "max_membership_se")
    return {name: np.array([getattr(one, name) for one in trace]) for name in names}
