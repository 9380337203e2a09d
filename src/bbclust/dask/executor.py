"""The workers of a cluster as executor: blocks of replicas and cells of grids are their tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from bbclust.dask.block_tree import BlockTree, choose_block_size
from bbclust.dask.cluster.pickling import check_sendable
from bbclust.dask.cluster.session import Session, Shared
from bbclust.dask.grids import run_grids_on_workers
from bbclust.ensemble.job import Job, Replicas
from bbclust.ensemble.run import Progress, cut_into_blocks


class DaskExecutor:
    """Runs jobs on the workers of a session (a :class:`~bbclust.ensemble.executor.Executor`).

    Parameters
    ----------
    session : Session
    block_size : int, optional
        Replicas per task; a few tasks per thread by default.
    """

    def __init__(self, session: Session, block_size: int | None = None) -> None:
        self.session = session
        self._block_size = block_size
        self._job: Job | None = None
        self._shared: Shared | None = None

    def run_blocks(self, job: Job, replicas: range, progress: Progress) -> Replicas:
        """Replicas of a job, which is sent to the workers only once."""
        if self._shared is None or self._job is not job:
            check_sendable(self.session, "prior", job.prior)
            self._job, self._shared = job, Shared(self.session, "table", job)
        n_threads = self.session.n_threads
        size = self._block_size or choose_block_size(job, len(replicas), n_threads)
        with self.session.tasks() as tasks:
            blocks = cut_into_blocks(replicas, size)
            return BlockTree(self.session, tasks, self._shared, blocks).reduce(progress)

    def run_grids(self, grids: Iterable[Any]) -> Iterator[Any]:
        """Grids of a selection, in their order."""
        return run_grids_on_workers(self.session, grids)
