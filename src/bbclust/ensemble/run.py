"""The replica loop of Algorithm 3: a job, run in blocks, summed into votes.

A block of replicas is a pure function of the job and of the replicas' numbers, so blocks may be of
any size and run anywhere; votes are whole numbers, so they may be added in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bbclust._native import kept_memory
from bbclust.ensemble.job import Job, Replicas, join
from bbclust.ensemble.predictors import ReplicaPredictors
from bbclust.stages.monte_carlo import Precision, measure_precision
from bbclust.stages.table import WeightedRows

Progress = Callable[[int], bool]


def run_block(job: Job, replicas: range, *, n_jobs: int = 1) -> Replicas:
    """Draw, cluster, align and count the votes of some replicas."""
    return job.plan.clusterer.run_block(job, replicas, n_jobs=n_jobs)


def block_size(job: Job, n_jobs: int) -> int:
    """Replicas per block: enough to keep every thread busy, few enough to show progress."""
    return job.plan.clusterer.block_size(job, n_jobs)


def run_replicas(
    job: Job, replicas: range, *, n_jobs: int = 1, progress: Progress | None = None
) -> Replicas:
    """Run replicas block by block.

    ``progress`` is called with the number that are done after each block, and says whether that is
    enough.
    """

    def parts() -> Iterator[Replicas]:
        for block in cut_into_blocks(replicas, block_size(job, n_jobs)):
            yield run_block(job, block, n_jobs=n_jobs)
            if progress is not None and progress(block.stop - replicas.start):
                return

    with kept_memory():  # or every block asks the system for it again
        return join(parts(), keep_votes=False)


def run_in_steps(
    steps: Iterable[range],
    run: Callable[[range], Replicas],
    measure: Callable[[Replicas], Precision],
    is_enough: Callable[[Precision], bool],
) -> tuple[Replicas, list[Precision]]:
    """Replicas step by step until they are enough, and how precise they were after each step."""
    rest = iter(steps)
    replicas = run(next(rest))
    trace = [measure(replicas)]
    for step in rest:
        if is_enough(trace[-1]):
            break
        replicas = join([replicas, run(step)])
        trace.append(measure(replicas))
    return replicas, trace


def precision_of(job: Job, replicas: Replicas) -> Precision:
    """Monte-Carlo errors that replicas of a table in memory leave."""
    rows = job.plan.evaluation_rows
    weights = job.table.weights_or_ones()[rows]
    return measure_precision(
        replicas.evaluation_labels, replicas.votes[rows], weights, replicas.votes
    )


class CompletedVotes(NamedTuple):
    """Votes on all rows of X (n, K), and the number of rows that the replicas did not vote on."""

    votes: npt.NDArray[np.int32]
    n_undrawn: int


def complete_votes(
    rows: WeightedRows,
    job: Job,
    replicas: Replicas,
    predictors: ReplicaPredictors,
    n_jobs: int = 1,
) -> CompletedVotes:
    """Votes on all rows of X: predictors vote on those that the replicas did not vote on."""
    votes = replicas.votes
    rows_without_votes = ~votes.any(axis=1)
    n_undrawn = int(rows_without_votes.sum())
    if n_undrawn and job.plan.clusterer.predicts:
        votes = votes.copy()
        undrawn = job.table.original(rows_without_votes)
        votes[rows_without_votes] = predictors.vote(undrawn, n_jobs=n_jobs)
    others = predictors.vote(rows.zero_weight_rows, n_jobs=n_jobs)
    return CompletedVotes(rows.scatter_to_all_rows(votes, others), n_undrawn)


def cut_into_blocks(replicas: range, size: int) -> list[range]:
    """Neighbouring replicas, ``size`` at a time, fewer at the end."""
    starts = range(replicas.start, replicas.stop, size)
    return [range(start, min(start + size, replicas.stop)) for start in starts]
