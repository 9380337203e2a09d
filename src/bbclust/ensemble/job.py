"""What replicas depend on and what they find: plain data.

A :class:`Job` is everything that replicas depend on. :func:`bbclust.ensemble.run.run_block` is a
pure function of it and of the replicas' numbers, so blocks may be of any size and run anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bbclust.ensemble.predictors import AlignedModel, ReplicaPredictors
from bbclust.priors import PreparedPrior
from bbclust.stages.bootstrap import Resampling
from bbclust.stages.kmeans import Partition
from bbclust.stages.missing_values import MissingDraws, MissingModel, complete_rows
from bbclust.stages.table import Floats, Table


class Reference(NamedTuple):
    """A reference partition, and sentences that its user should read."""

    partition: Partition
    notices: tuple[str, ...] = ()


class Clusterer(Protocol):
    """P: what clusters the data and every replica.

    The engine's k-means (:mod:`bbclust.ensemble.engine_kmeans`) and any clusterer of scikit-learn
    (:mod:`bbclust.ensemble.custom_clusterer`) stand behind it. An object with these names, given as
    ``BBC(clusterer=...)``, is used as it is. One with ``completes_rows = True`` clusters tables
    with missing values, and draws these in every replica (``Job.missing``); one with ``trims =
    True`` finds partitions of least squared distances, which rows can be left out of.

    Attributes
    ----------
    name : str
        What to call it in a sentence.
    takes_weights, takes_number, predicts, finds_noise : bool
        Whether it takes sample weights and the number of clusters, can label rows that it has not
        seen, and may leave rows in no cluster.
    """

    @property
    def name(self) -> str: ...
    @property
    def takes_weights(self) -> bool: ...
    @property
    def takes_number(self) -> bool: ...
    @property
    def predicts(self) -> bool: ...
    @property
    def finds_noise(self) -> bool: ...

    def identity(self) -> Any:
        """What it is, apart from :meth:`parameters`: equal for two that cluster alike."""
        ...

    def parameters(self) -> dict[str, object]:
        """Its numbers and words, by the names that a user gives them."""
        ...

    def find_reference(
        self, table: Table, n_clusters: int, seed: int, *, n_jobs: int = 1
    ) -> Reference:
        """The reference partition of a table (Algorithm 3, step 2)."""
        ...

    def run_block(self, job: Job, replicas: range, *, n_jobs: int = 1) -> Replicas:
        """Draw, cluster, align and count the votes of some replicas."""
        ...

    def block_size(self, job: Job, n_jobs: int) -> int:
        """Replicas per block: enough to keep all threads busy, few enough to show progress."""
        ...

    def predictors(self, job: Job, replicas: Replicas) -> ReplicaPredictors:
        """Who votes on rows that replicas did not draw."""
        ...


@dataclass(frozen=True)
class Plan:
    """What all replicas of a run share besides the data.

    Attributes
    ----------
    seed : int
    clusterer : Clusterer
    resampling : Resampling
    votes : str
        "drawn", a replica votes on the rows it drew; "all", its centres vote on every row;
        "evaluation", its centres vote on the evaluation rows and nothing grows with the table.
    evaluation_rows : ndarray of shape (E,)
        Where the votes of every replica are kept.
    mean_variance : float
        Variance of a feature of the whole table, which tolerances are relative to.
    """

    seed: int
    clusterer: Clusterer
    resampling: Resampling
    votes: str
    evaluation_rows: npt.NDArray[np.int64]
    mean_variance: float


@dataclass(frozen=True)
class MissingValues:
    """How incomplete rows are completed.

    Attributes
    ----------
    model : MissingModel
    covariances : ndarray of shape (K, d, d)
        Of the clusters, as their own rows speak for them.
    draws : MissingDraws or None
        Those of the table's rows; None if all are complete.
    """

    model: MissingModel
    covariances: npt.NDArray[np.float64]
    draws: MissingDraws | None


@dataclass(frozen=True)
class Job:
    """Everything that replicas depend on; ``missing`` is None where no value may be missing."""

    table: Table
    reference: Partition
    prior: PreparedPrior | None
    plan: Plan
    missing: MissingValues | None = None

    def completed_rows(self) -> Floats:
        """The table's rows as they were before centring, with what they miss as in replica 0."""
        draws = None if self.missing is None else self.missing.draws
        rows = complete_rows(self.table.rows, self.table.center, draws)
        return replace(self.table, rows=rows).original()

    @property
    def n_clusters(self) -> int:
        return self.reference.n_clusters


@dataclass(frozen=True)
class Replicas:
    """What the replicas found, aligned with the reference.

    Attributes
    ----------
    votes : ndarray of shape (n, K), int32
        One vote per replica that drew the row, or per replica; empty when only evaluation rows
        were voted on.
    centers : ndarray of shape (B, K, d)
        Centres in the units of the data.
    occupied : ndarray of shape (B, K), bool
        False where a replica had fewer distinct points than clusters: the centre stays at the
        reference centre and abstains.
    margin : ndarray of shape (B,)
        Margin of each alignment; NaN when only evaluation rows were voted on.
    inertia : ndarray of shape (B,)
    n_iter : ndarray of shape (B,), int32
    evaluation_labels : ndarray of shape (B, E), int16
        Votes on the evaluation points, -1 where the replica did not vote.
    abstained : ndarray of shape (B,), int64
        Rows on which a replica could have voted and did not: noise, and clusters without a partner
        in the reference.
    models : tuple of AlignedModel
        The fitted clusterers that can predict; none for the engine's k-means.
    failures : tuple of str
        What clusterers said that failed on a replica; it has no vote.
    """

    votes: npt.NDArray[np.int32]
    centers: npt.NDArray[np.float64]
    occupied: npt.NDArray[np.bool_]
    margin: npt.NDArray[np.float64]
    inertia: npt.NDArray[np.float64]
    n_iter: npt.NDArray[np.int32]
    evaluation_labels: npt.NDArray[np.int16]
    abstained: npt.NDArray[np.int64]
    models: tuple[AlignedModel, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def n_replicas(self) -> int:
        return len(self.margin)

    def mean_centers(self, otherwise: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Mean of the occupied centres (K, d); the reference centre where there is none."""
        counts = self.occupied.sum(axis=0)
        sums = np.where(self.occupied[:, :, None], self.centers, 0.0).sum(axis=0)
        means = sums / np.maximum(counts, 1)[:, None]
        return np.where(counts[:, None] > 0, means, otherwise)


def join(parts: Iterable[Replicas], *, keep_votes: bool = True) -> Replicas:
    """Replicas of several blocks as one, in the order given.

    Only one part's votes are held besides their sum, so that memory does not grow with the number
    of parts when they come from a generator. Without ``keep_votes`` they are summed into the first
    part's own.
    """
    kept: list[Replicas] = []
    for part in parts:
        if not kept:
            votes = part.votes
        elif keep_votes and len(kept) == 1:
            votes = votes + part.votes
        else:
            np.add(votes, part.votes, out=votes)
        kept.append(replace(part, votes=part.votes[:0].copy()))
        del part  # and its votes, while the next part is made
    if len(kept) == 1:
        return replace(kept[0], votes=votes)
    by_replica = ("centers", "occupied", "margin", "inertia", "n_iter", "evaluation_labels")
    joined = {
        name: np.concatenate([getattr(part, name) for part in kept])
        for name in (*by_replica, "abstained")
    }
    return replace(
        kept[0],
        votes=votes,
        models=tuple(model for part in kept for model in part.models),
        failures=tuple(failure for part in kept for failure in part.failures),
        **joined,
    )
