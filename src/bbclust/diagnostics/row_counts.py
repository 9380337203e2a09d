"""How many rows are in each cluster, how sure they are, and how many are in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

CLEAR_SHARE = 0.75  # of the votes: a row whose largest share is below it is in between


@dataclass(frozen=True)
class RowCounts:
    """What the memberships of some rows add up to.

    Attributes
    ----------
    sizes : ndarray of shape (K,), int64
        Rows of each cluster; rows of label -1 are in none.
    entropies : ndarray of shape (K,)
        Their entropies, added up.
    agreed_rows : int
        Rows on which all votes agree.
    rows_in_between : int
        Rows on which no cluster has ``CLEAR_SHARE`` of the votes.
    """

    sizes: npt.NDArray[np.int64]
    entropies: Array
    agreed_rows: int
    rows_in_between: int

    @property
    def n_rows(self) -> int:
        """Rows in any cluster."""
        return int(self.sizes.sum())


def count_rows(memberships: Array, labels: npt.NDArray[Any], entropy: Array) -> RowCounts:
    """Counts over n rows, from their memberships (n, K), labels (n,) and entropies (n,)."""
    k = memberships.shape[1]
    clustered = labels + 1  # the first place is for rows in no cluster
    return RowCounts(
        sizes=np.bincount(clustered, minlength=k + 1)[1:],
        entropies=np.bincount(clustered, entropy, k + 1)[1:].astype(np.float64),
        agreed_rows=int((entropy == 0).sum()),
        rows_in_between=int((memberships.max(axis=1) < CLEAR_SHARE).sum()),
    )


def add_counts(parts: Sequence[RowCounts]) -> RowCounts:
    """Counts over the rows of all parts, added from the first to the last."""
    return RowCounts(
        sizes=np.sum([part.sizes for part in parts], axis=0),
        entropies=np.sum([part.entropies for part in parts], axis=0),
        agreed_rows=sum(part.agreed_rows for part in parts),
        rows_in_between=sum(part.rows_in_between for part in parts),
    )
