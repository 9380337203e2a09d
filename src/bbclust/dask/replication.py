"""Replicas of a table in memory, run by the workers of a cluster.

The table goes to every worker once. Blocks of replicas are tasks, and two neighbouring blocks that
are done are joined by another task, on and on: a tree, so that no worker ever holds the votes of
many blocks.
"""

from __future__ import annotations

from dataclasses import replace

from bbclust.dask.session import Session
from bbclust.ensemble import Progress, block_size, run_block
from bbclust.fitted import Run
from bbclust.replicas import Replicas, join

BLOCKS_PER_THREAD = 4  # so that a slow worker does not keep the others waiting for long


def choose_block_size(run: Run, n_replicas: int, n_threads: int) -> int:
    """Replicas per task: a few tasks per thread, none of them longer than some seconds."""
    at_most = 4 * block_size(run.table, run.reference, run.plan, 1)
    return min(at_most, -(-n_replicas // (BLOCKS_PER_THREAD * n_threads)))


def run_replicas_on_workers(
    session: Session, run: Run, replicas: range, *, size: int, progress: Progress
) -> Replicas:
    """Replicas of a run, the same bits as on this machine."""
    table = session.scatter("table", replace(run, counted=None, others=run.others[:0]))
    starts = range(replicas.start, replicas.stop, size)
    blocks = [range(start, min(start + size, replicas.stop)) for start in starts]
    futures = [
        session.submit(f"replicas-{block.start}-{block.stop}", _run_block, table, block)
        for block in blocks
    ]
    parts = []
    for block, future in zip(blocks, futures, strict=True):
        parts.append(future.result())
        if progress(block.stop - replicas.start):
            break
    return join(parts)


def _run_block(run: Run, replicas: range) -> Replicas:
    return run_block(run.table, run.reference, run.prior, run.plan, replicas)
