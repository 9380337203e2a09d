"""The replica loop of Algorithm 3: a plan, run in blocks, summed into votes.

A block of replicas is a pure function of the plan and of the replicas' numbers, so blocks may be of
any size and run anywhere; votes are whole numbers, so they may be added in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.bootstrap import Resampling, draw_arguments, draw_from_prior
from bbclust.clusterers import Partition
from bbclust.priors import PreparedPrior
from bbclust.streams import Stage, stream_generator
from bbclust.table import Table

MAX_EVALUATION_POINTS = 4096
# Multiplications after which a block reports back; about half a second on one core.
_BLOCK_WORK = 5e9

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Plan:
    """What all replicas of a run share.

    ``votes``: "drawn", a replica votes on the rows it drew; "all", its centres vote on every row;
    "evaluation", its centres vote on the evaluation rows and nothing grows with the table.
    """

    seed: int
    resampling: Resampling
    votes: str
    n_init: int
    max_iter: int
    tolerance: float
    evaluation_rows: npt.NDArray[np.int64]


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
    """

    votes: npt.NDArray[np.int32]
    centers: npt.NDArray[np.float64]
    occupied: npt.NDArray[np.bool_]
    margin: npt.NDArray[np.float64]
    inertia: npt.NDArray[np.float64]
    n_iter: npt.NDArray[np.int32]
    evaluation_labels: npt.NDArray[np.int16]

    @property
    def n_replicas(self) -> int:
        return len(self.margin)

    def mean_centers(self, reference: Partition) -> npt.NDArray[np.float64]:
        """Mean of the occupied centres; the reference centre where there is none."""
        counts = self.occupied.sum(axis=0)
        sums = np.where(self.occupied[:, :, None], self.centers, 0.0).sum(axis=0)
        means = sums / np.maximum(counts, 1)[:, None]
        return np.where(counts[:, None] > 0, means, reference.centers)


def join(parts: list[Replicas]) -> Replicas:
    """Replicas of several blocks as one, in the order given."""
    first = parts[0]
    if len(parts) == 1:
        return first
    votes = first.votes.copy()
    for part in parts[1:]:
        votes += part.votes
    arrays = ("centers", "occupied", "margin", "inertia", "n_iter", "evaluation_labels")
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays}
    return replace(first, votes=votes, **joined)


def choose_evaluation_rows(n: int, seed: int) -> npt.NDArray[np.int64]:
    """All rows, or a fixed sample of them: where the votes of every replica are kept."""
    if n <= MAX_EVALUATION_POINTS:
        return np.arange(n, dtype=np.int64)
    generator = stream_generator(seed, Stage.EVALUATION)
    sample = generator.choice(n, MAX_EVALUATION_POINTS, replace=False, shuffle=False)
    return np.sort(sample).astype(np.int64)


def run_block(
    table: Table,
    reference: Partition,
    prior: PreparedPrior | None,
    plan: Plan,
    replicas: range,
    *,
    n_jobs: int = 1,
) -> Replicas:
    """Draw, cluster, align and count the votes of some replicas."""
    count, n_clusters = len(replicas), reference.n_clusters
    given = draw_from_prior(table, prior, plan.resampling, plan.seed, replicas)
    n_voted = 0 if plan.votes == "evaluation" else table.n
    votes = np.zeros((n_voted, n_clusters), dtype=np.int32)
    centers = np.empty((count, n_clusters, table.d))
    occupied = np.empty((count, n_clusters), dtype=np.uint8)
    margin = np.empty(count)
    inertia = np.empty(count)
    n_iter = np.empty(count, dtype=np.int32)
    evaluation_labels = np.empty((count, len(plan.evaluation_rows)), dtype=np.int16)
    engine.run_replicas(
        **draw_arguments(table, prior, plan.resampling, plan.seed),
        given=None if given is None else given.points,
        given_offsets=None if given is None else given.offsets,
        reference_centers=reference.centers - table.center,
        reference_labels=reference.labels,
        vote_on_all=plan.votes != "drawn",
        evaluation_rows=plan.evaluation_rows,
        n_init=plan.n_init,
        max_iter=plan.max_iter,
        tolerance=plan.tolerance,
        first=replicas.start,
        n_threads=n_jobs,
        votes=votes,
        centers=centers,
        occupied=occupied,
        margin=margin,
        inertia=inertia,
        n_iter=n_iter,
        evaluation_labels=evaluation_labels,
    )
    centers += table.center
    return Replicas(
        votes, centers, occupied.view(np.bool_), margin, inertia, n_iter, evaluation_labels
    )


def run_replicas(
    table: Table,
    reference: Partition,
    prior: PreparedPrior | None,
    plan: Plan,
    replicas: range,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Replicas:
    """Run replicas block by block; ``progress`` hears how many are done after each block."""
    parts = []
    for block in _blocks(replicas, _block_size(table, reference, plan, n_jobs)):
        parts.append(run_block(table, reference, prior, plan, block, n_jobs=n_jobs))
        if progress is not None:
            progress(block.stop - replicas.start)
    return join(parts)


def _blocks(replicas: range, size: int) -> Iterator[range]:
    for start in range(replicas.start, replicas.stop, size):
        yield range(start, min(start + size, replicas.stop))


def _block_size(table: Table, reference: Partition, plan: Plan, n_jobs: int) -> int:
    """Replicas per block: enough to keep every thread busy, few enough to show progress."""
    iterations = 10 * (plan.n_init + 1)
    work = plan.resampling.n_draws * table.d * reference.n_clusters * iterations
    if plan.votes == "all":
        work += table.n * table.d * reference.n_clusters
    return n_jobs * max(1, int(_BLOCK_WORK / work))
