"""Who votes on rows that need not have been drawn: what is left of each replica.

The replicas' centres, for k-means and for every clusterer that cannot predict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bbclust.table import Floats, centered
from bbclust.voting import vote_by_centers


class Voters(Protocol):
    """All replicas of a run, ready to vote on any rows in the units of the data."""

    def vote(self, X: Floats, *, n_jobs: int = 1) -> npt.NDArray[np.int32]:
        """Votes of all replicas, shape (n, K)."""
        ...

    def labels(self, X: Floats) -> Iterator[npt.NDArray[np.int32]]:
        """Labels by one replica after the other, each of shape (n,); -1 where it abstains."""
        ...


@dataclass(frozen=True)
class CenterVoters:
    """Each replica votes for the nearest of its centres.

    Attributes
    ----------
    centers : ndarray of shape (B, K, d)
        In the units of the data.
    occupied : ndarray of shape (B, K), bool
        False where a centre abstains.
    origin : ndarray of shape (d,)
        Subtracted from rows and centres first, so that float32 rows far from zero lose nothing.
    """

    centers: npt.NDArray[np.float64]
    occupied: npt.NDArray[np.bool_]
    origin: npt.NDArray[np.float64]

    def vote(self, X: Floats, *, n_jobs: int = 1) -> npt.NDArray[np.int32]:
        """Votes of all replicas, shape (n, K)."""
        return vote_by_centers(
            centered(X, self.origin), self.centers - self.origin, self.occupied, n_jobs=n_jobs
        )

    def labels(self, X: Floats) -> Iterator[npt.NDArray[np.int32]]:
        """Labels by one replica after the other, each of shape (n,); -1 where it abstains."""
        rows = centered(X, self.origin)
        for centers, occupied in zip(self.centers, self.occupied, strict=True):
            votes = vote_by_centers(rows, (centers - self.origin)[None], occupied[None])
            yield np.where(votes.any(axis=1), votes.argmax(axis=1), -1).astype(np.int32)
