"""The replica loop of Algorithm 3: a plan, run in blocks, summed into votes.

A block of replicas is a pure function of the plan and of the replicas' numbers, so blocks may be of
any size and run anywhere; votes are whole numbers, so they may be added in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bbclust._native import engine
from bbclust.ensemble.adapted import run_adapted_block
from bbclust.ensemble.job import Plan, Replicas, join
from bbclust.priors import PreparedPrior
from bbclust.stages.bootstrap import draw_arguments, draw_from_prior
from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Table

# Multiplications after which a block reports back; about a second on one core.
_BLOCK_WORK = 2e10
# Replicas per process and block around a clusterer of unknown speed.
_ADAPTED_BLOCK = 5

Progress = Callable[[int], bool]


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
    if plan.adapter is not None:
        return run_adapted_block(table, reference, prior, plan, replicas, n_jobs=n_jobs)
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
        votes=votes,
        centers=centers,
        occupied=occupied.view(np.bool_),
        margin=margin,
        inertia=inertia,
        n_iter=n_iter,
        evaluation_labels=evaluation_labels,
        abstained=np.zeros(count, dtype=np.int64),
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
    """Run replicas block by block.

    ``progress`` hears how many are done after each block, and says whether that is enough.
    """

    def parts() -> Iterator[Replicas]:
        for block in _blocks(replicas, block_size(table, reference, plan, n_jobs)):
            yield run_block(table, reference, prior, plan, block, n_jobs=n_jobs)
            if progress is not None and progress(block.stop - replicas.start):
                return

    return join(parts())


def _blocks(replicas: range, size: int) -> Iterator[range]:
    for start in range(replicas.start, replicas.stop, size):
        yield range(start, min(start + size, replicas.stop))


def block_size(table: Table, reference: Partition, plan: Plan, n_jobs: int) -> int:
    """Replicas per block: enough to keep every thread busy, few enough to show progress."""
    if plan.adapter is not None:
        return n_jobs * _ADAPTED_BLOCK
    iterations = 10 * (plan.n_init + 1)
    work = plan.resampling.n_draws * table.d * reference.n_clusters * iterations
    if plan.votes == "all":
        work += table.n * table.d * reference.n_clusters
    return n_jobs * max(1, int(_BLOCK_WORK / work))
