"""Replicas of a table in partitions: each needs only the rows that it draws.

Rows are drawn by number out of all rows, so replica b is the same for any partitioning and any
number of workers. One pass picks the rows of many replicas; a block of replicas is then a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed
from distributed import Future

from bbclust.dask.block_tree import BLOCKS_PER_THREAD
from bbclust.dask.cluster.session import Session
from bbclust.dask.partitioned.passes import Task, shared, start
from bbclust.dask.partitioned.reference import PartitionedReference, sample_of
from bbclust.dask.partitioned.row_picking import PickedRows, merged, pick_rows
from bbclust.dask.partitioned.table import PartitionedTable
from bbclust.ensemble.job import Job, Plan, Replicas, join
from bbclust.ensemble.run import Progress, cut_into_blocks, run_block
from bbclust.priors import PreparedPrior
from bbclust.stages.alignment import align, overlap_matrix
from bbclust.stages.bootstrap import Resampling, drawn_rows
from bbclust.stages.table import Table, centered

# Values of drawn rows that one pass picks, on all workers together: 256 MB in float64.
_PICKED = 2**25


@dataclass(frozen=True)
class PartitionedJob:
    """What replicas depend on besides the rows; with those that they draw it is a job.

    Attributes
    ----------
    n : int
        Rows of the whole table.
    center : ndarray of shape (d,)
        Their mean.
    """

    n: int
    center: npt.NDArray[np.float64]
    reference: PartitionedReference
    prior: PreparedPrior | None
    plan: Plan

    def with_rows(self, drawn: PickedRows, evaluation: PickedRows) -> Job:
        """The job on the rows that replicas draw, and on the evaluation rows."""
        stored = merged(drawn, evaluation)
        table = Table(
            centered(stored.rows, self.center),
            self.center,
            numbers=stored.numbers,
            n_whole=self.n,
        )
        places = np.searchsorted(stored.numbers, evaluation.numbers)
        plan = replace(self.plan, evaluation_rows=places)
        return Job(table, self.reference.of_rows(stored.rows), self.prior, plan)


@dataclass(frozen=True)
class DrawnRows:
    """Rows on their way to the workers that will run some replicas.

    Attributes
    ----------
    blocks : list of ranges
        Replicas, some at a time.
    rows : list of futures
        The rows that each block draws.
    evaluation : future
        The evaluation rows.
    sample : future
        The sample that stands for all rows.
    """

    blocks: list[range]
    rows: list[Future]
    evaluation: Future
    sample: Future


def batches(replicas: range, resampling: Resampling, d: int) -> list[range]:
    """Replicas whose rows are picked by one pass."""
    size = max(1, int(_PICKED / (_rows_of_replica(resampling) * d)))
    return cut_into_blocks(replicas, size)


def blocks_of(batch: range, n_threads: int, size: int | None = None) -> list[range]:
    """Replicas of one task each: a few tasks per thread, unless their size is given."""
    return cut_into_blocks(batch, size or -(-len(batch) // (BLOCKS_PER_THREAD * n_threads)))


def _rows_of_replica(resampling: Resampling) -> float:
    return max(resampling.n_draws * (1 - resampling.prior_weight), 1.0)


@dataclass(frozen=True)
class WantedRows:
    """Numbers of the rows of evaluation, of a sample, and of those that each block draws.

    Attributes
    ----------
    numbers : Delayed tuple of ndarrays
    blocks : list of ranges
        Replicas, some at a time.
    n_rows : float
        How many they are, about.
    listing : future
        The numbers, on their way; they stay on a worker while this is kept.
    """

    numbers: Delayed
    blocks: list[range]
    n_rows: float
    listing: Future


def start_listing(
    session: Session, table: PartitionedTable, plan: Plan, blocks: list[range]
) -> WantedRows:
    """Start to list the rows that blocks of replicas draw, which depends on no other stage."""
    sample = sample_of(table, plan.seed)
    others = shared("sample-numbers", (plan.evaluation_rows, sample))
    list_rows = Task(session, "list-drawn-rows", list_wanted)
    numbers = list_rows(others, plan.resampling, table.n, plan.seed, blocks)
    n_replicas = blocks[-1].stop - blocks[0].start
    n_rows = n_replicas * _rows_of_replica(plan.resampling) + len(sample)
    (listing,) = start(session, [numbers])
    return WantedRows(numbers, blocks, n_rows, listing)


def start_drawing(
    session: Session,
    table: PartitionedTable,
    wanted: WantedRows,
    along: Sequence[Delayed] = (),
    read: Sequence[Delayed] | None = None,
) -> tuple[DrawnRows, list[Future]]:
    """Pick the rows that blocks of replicas draw, those of evaluation and a sample, by one pass.

    What stands in ``along`` is computed by the same pass, if it is made of the same ``read``.
    """
    blocks, n_values = wanted.blocks, wanted.n_rows * table.d
    picked = pick_rows(session, table.rows, wanted.numbers, len(blocks) + 2, n_values, read)
    futures = start(session, [*along, *picked])
    evaluation, of_sample, *rows = futures[len(along) :]
    return DrawnRows(blocks, rows, evaluation, of_sample), futures[: len(along)]


def list_wanted(
    others: tuple[npt.NDArray[np.int64], ...],
    resampling: Resampling,
    n: int,
    seed: int,
    blocks: Sequence[range],
) -> tuple[npt.NDArray[np.int64], ...]:
    """Other rows, and those that replicas of each block draw.

    A task, so that nobody has to send these numbers around.
    """
    return (*others, *(drawn_rows(resampling, n, seed, replicas) for replicas in blocks))


def run_drawn(
    session: Session, job: PartitionedJob, drawn: DrawnRows, progress: Progress
) -> tuple[Replicas, bool]:
    """Run the replicas whose rows were picked; whether ``progress`` said that this is enough.

    ``progress`` is called with the number after the last replica of each block, in order.
    """
    # a task and not scattered data, which would be lost with its worker
    (everything,) = start(session, [shared("job", job)])
    futures = [
        session.submit(
            f"replicas-{block.start}-{block.stop}",
            run_block_of_rows,
            rows,
            drawn.evaluation,
            everything,
            block,
        )
        for block, rows in zip(drawn.blocks, drawn.rows, strict=True)
    ]
    parts = []
    for block, future in zip(drawn.blocks, futures, strict=True):
        parts.append(future.result())
        if progress(block.stop):
            return join(parts), True
    return join(parts), False


def run_block_of_rows(
    drawn: PickedRows, evaluation: PickedRows, job: PartitionedJob, replicas: range
) -> Replicas:
    """Replicas on the rows that they draw; a task."""
    here = job.with_rows(drawn, evaluation)
    found = run_block(here, replicas)
    labels = here.reference.labels[here.plan.evaluation_rows]
    margin = alignment_margins(found.evaluation_labels, labels, here.n_clusters)
    return replace(found, margin=margin)


def alignment_margins(
    labels: npt.NDArray[np.int16], reference_labels: npt.NDArray[np.int32], n_clusters: int
) -> npt.NDArray[np.float64]:
    """Margins of replicas from their labels (B, E), which are aligned already, shape (B,).

    A margin does not depend on what a replica called its clusters before.
    """
    no_matter = np.zeros((n_clusters, n_clusters))
    overlaps = (overlap_matrix(one, reference_labels, n_clusters) for one in labels)
    return np.array([align(overlap, no_matter).margin for overlap in overlaps])
