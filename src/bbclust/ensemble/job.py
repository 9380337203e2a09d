"""What replicas share and what they find: plain data, and how parts of it are put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bbclust.ensemble.custom_clusterer import Adapter
from bbclust.ensemble.predictors import AlignedModel
from bbclust.stages.bootstrap import Resampling
from bbclust.stages.kmeans import Partition
from bbclust.stages.random_streams import Stage, fixed_sample

MAX_EVALUATION_POINTS = 4096


def replica_tolerance(tol: float, mean_variance: float, size: int, n_draws: int) -> float:
    """Squared shift of the centres, ``size`` numbers in all, at which a replica's k-means stops.

    Replicas start at the reference, so one that stops early looks too much like it. Resampling
    moves the centres by some ``size / n_draws`` variances, and a thousandth of that is the most
    that is left open, whatever ``tol`` allows.
    """
    return min(float(tol), 1e-3 * size / n_draws) * mean_variance


@dataclass(frozen=True)
class Plan:
    """What all replicas of a run share.

    ``votes``: "drawn", a replica votes on the rows it drew; "all", its centres vote on every row;
    "evaluation", its centres vote on the evaluation rows and nothing grows with the table.
    ``adapter``: the clusterer, None for the engine's k-means, which ``n_init``, ``max_iter`` and
    ``tolerance`` are about.
    """

    seed: int
    resampling: Resampling
    votes: str
    n_init: int
    max_iter: int
    tolerance: float
    evaluation_rows: npt.NDArray[np.int64]
    adapter: Adapter | None = None


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

    def mean_centers(self, reference: Partition) -> npt.NDArray[np.float64]:
        """Mean of the occupied centres; the reference centre where there is none."""
        counts = self.occupied.sum(axis=0)
        sums = np.where(self.occupied[:, :, None], self.centers, 0.0).sum(axis=0)
        means = sums / np.maximum(counts, 1)[:, None]
        return np.where(counts[:, None] > 0, means, reference.centers)


def join(parts: Iterable[Replicas]) -> Replicas:
    """Replicas of several blocks as one, in the order given.

    Only one part's votes are held besides their sum, so that memory does not grow with the number
    of parts when they come from a generator.
    """
    rest = iter(parts)
    first = next(rest)
    votes, kept = first.votes, [first]
    for part in rest:
        votes = first.votes + part.votes if len(kept) == 1 else np.add(votes, part.votes, out=votes)
        kept.append(replace(part, votes=part.votes[:0].copy()))
    if len(kept) == 1:
        return first
    by_replica = ("centers", "occupied", "margin", "inertia", "n_iter", "evaluation_labels")
    joined = {
        name: np.concatenate([getattr(part, name) for part in kept])
        for name in (*by_replica, "abstained")
    }
    return replace(
        first,
        votes=votes,
        models=tuple(model for part in kept for model in part.models),
        failures=tuple(failure for part in kept for failure in part.failures),
        **joined,
    )


def choose_evaluation_rows(
    n: int, seed: int, at_most: int = MAX_EVALUATION_POINTS
) -> npt.NDArray[np.int64]:
    """All rows, or a fixed sample of them: where the votes of every replica are kept."""
    return fixed_sample(n, at_most, seed, Stage.EVALUATION)
