"""How many rows are in each cluster, how sure they are, and how many are in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

CLEAR_SHARE = 0.75  # of the votes: a row whose largest share is below it is in between


def possible_dissent(n_votes: float) -> float:
    r"""The share of all votes that may dissent, at 95%, from so many that agree.

    Agreement of v votes has probability :math:`(1 - p)^v` if a share p of all dissents; it is below
    5% from :math:`p = 1 - 0.05^{1/v}` on.

    Examples
    --------
    >>> from bbclust.diagnostics.row_counts import possible_dissent
    >>> [round(possible_dissent(v), 2) for v in (1, 5, 11, 200)]
    [0.95, 0.45, 0.24, 0.01]
    """
    return float(1 - 0.05 ** (1 / n_votes))


# Fewer that agree cannot tell a row that is clear from one that is in between.
FEWEST_VOTES = next(v for v in range(1, 1000) if possible_dissent(v) < 1 - CLEAR_SHARE)


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
