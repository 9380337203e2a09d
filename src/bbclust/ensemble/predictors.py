"""Who votes on rows that need not have been drawn: what is left of each replica.

The replicas' centres, for k-means and for every clusterer that cannot predict; else the fitted
clusterers themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bbclust.stages.missing_values import MissingModel, draws_by_content
from bbclust.stages.table import Floats, centered
from bbclust.stages.voting import vote_by_centers

Numbers = npt.NDArray[np.int64] | None


class ReplicaPredictors(Protocol):
    """All replicas of a run, ready to vote on any rows in the units of the data."""

    def vote(self, X: Floats, *, n_jobs: int = 1) -> npt.NDArray[np.int32]:
        """Votes of all replicas, shape (n, K)."""
        ...

    def labels(self, X: Floats, numbers: Numbers = None) -> Iterator[npt.NDArray[np.int32]]:
        """Labels by one replica after the other, each of shape (n,); -1 where it abstains.

        Rows of different ``numbers`` are completed apart, even if they have the same values.
        """
        ...


@dataclass(frozen=True)
class CenterPredictors:
    """Each replica votes for the nearest of its centres.

    Attributes
    ----------
    centers : ndarray of shape (B, K, d)
        In the units of the data.
    occupied : ndarray of shape (B, K), bool
        False where a centre abstains.
    origin : ndarray of shape (d,)
        Subtracted from rows and centres first, so that float32 rows far from zero lose nothing.
    missing : MissingModel or None
        What each replica completes incomplete rows from; None if there may be none.
    seed : int
        Of these draws.
    """

    centers: npt.NDArray[np.float64]
    occupied: npt.NDArray[np.bool_]
    origin: npt.NDArray[np.float64]
    missing: MissingModel | None = None
    seed: int = 0

    def vote(self, X: Floats, *, n_jobs: int = 1) -> npt.NDArray[np.int32]:
        """Votes of all replicas, shape (n, K)."""
        rows = centered(X, self.origin)
        return vote_by_centers(
            rows,
            self.centers - self.origin,
            self.occupied,
            n_jobs=n_jobs,
            missing=self._draws(X, rows, n_jobs),
        )

    def labels(self, X: Floats, numbers: Numbers = None) -> Iterator[npt.NDArray[np.int32]]:
        """Labels by one replica after the other, each of shape (n,); -1 where it abstains."""
        rows = centered(X, self.origin)
        missing = self._draws(X, rows, numbers=numbers)
        for b, (centers, occupied) in enumerate(zip(self.centers, self.occupied, strict=True)):
            votes = vote_by_centers(
                rows,
                (centers - self.origin)[None],
                occupied[None],
                missing=missing,
                first_replica=b,
            )
            yield np.where(votes.any(axis=1), votes.argmax(axis=1), -1).astype(np.int32)

    def _draws(
        self, X: Floats, rows: Floats, n_jobs: int = 1, numbers: Numbers = None
    ) -> tuple[Any, ...] | None:
        if self.missing is None:
            return None
        draws = draws_by_content(
            self.missing, X, rows, self.origin, self.seed, numbers=numbers, n_jobs=n_jobs
        )
        return None if draws is None else draws.for_engine(self.origin)


class AlignedModel(NamedTuple):
    """A replica's fitted clusterer, and what the reference calls its clusters.

    Attributes
    ----------
    model : object with ``predict``, or None
    names : ndarray of shape (found,)
        Labels that the clusterer gives, sorted.
    to_reference : ndarray of shape (found,)
        Reference cluster of each, -1 for those without.
    """

    model: Any
    names: npt.NDArray[np.int64]
    to_reference: npt.NDArray[np.int64]

    def rename(self, labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Reference clusters of the clusterer's labels; -1 for noise and for unknown ones."""
        if len(self.names) == 0:
            return np.full(len(labels), -1, dtype=np.int64)
        places = np.searchsorted(self.names, labels).clip(max=len(self.names) - 1)
        return np.where(self.names[places] == labels, self.to_reference[places], -1)


@dataclass(frozen=True)
class ModelPredictors:
    """Each replica votes by its own fitted clusterer."""

    models: tuple[AlignedModel, ...]
    n_clusters: int

    def vote(self, X: Floats, *, n_jobs: int = 1) -> npt.NDArray[np.int32]:
        """Votes of all replicas, shape (n, K)."""
        votes = np.zeros((len(X), self.n_clusters), dtype=np.int32)
        for labels in self.labels(X):
            cast = np.flatnonzero(labels >= 0)
            votes[cast, labels[cast]] += 1
        return votes

    def labels(self, X: Floats, numbers: Numbers = None) -> Iterator[npt.NDArray[np.int32]]:
        """Labels by one replica after the other, each of shape (n,); -1 where it abstains."""
        for named in self.models:
            if len(X):
                yield named.rename(np.asarray(named.model.predict(X))).astype(np.int32)
