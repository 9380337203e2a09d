"""Grids of a selection, run by the workers: a task for every reference partition and every cell.

What is finished is kept by this process at once, in the folder of a checkpoint if there is one, so
that nothing of it is lost with the cluster.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from bbclust.dask.cluster.session import FinishedTask, LostResult, Session, Shared, Tasks
from bbclust.selection.grid import Cell, Grid, GridJob, GridTask, GridUnderWay
from bbclust.stages.kmeans import Partition

TASKS_PER_THREAD = 4  # begin with the next grid when fewer are left


def run_grids_on_workers(session: Session, grids: Iterable[GridUnderWay]) -> Iterator[Grid]:
    """Grids in their order, the same bits as on this machine.

    The next grids begin before the first has ended, so that no worker waits for the others.
    """
    waiting = iter(grids)
    under_way: deque[_OnWorkers] = deque()
    with session.tasks() as tasks:
        while True:
            while len(tasks) < TASKS_PER_THREAD * session.n_threads:
                grid = next(waiting, None)
                if grid is None:
                    break
                under_way.append(_OnWorkers(session, tasks, grid))
            if not under_way:
                return
            first = under_way[0].grid
            first.report()  # grids are told of one after the other
            if first.is_done:
                under_way.popleft()
                yield first.gather()
                continue
            ended: FinishedTask = next(iter(tasks))
            on_workers, task = ended.purpose
            on_workers.take(task, ended)


class _OnWorkers:
    """One grid whose tasks the workers run."""

    def __init__(self, session: Session, tasks: Tasks, grid: GridUnderWay) -> None:
        self.grid = grid
        self._session = session
        self._tasks = tasks
        self._shared = Shared(session, "rows", grid.job)
        for n_clusters in sorted(grid.job.k_values, reverse=True):  # the longest tasks first
            self._start(grid.tasks_of(n_clusters))

    def take(self, task: GridTask, ended: FinishedTask) -> None:
        """Keep what a task has found, and start what that allows; if it is lost, start it again."""
        found = (
            ended.result
            if isinstance(ended.result, LostResult)
            else self._session.fetch(ended.result)
        )
        if isinstance(found, LostResult):
            self._shared.invalidate_if_lost()
            self._start([task])
            return
        self._shared.reset_send_count()
        self._start(self.grid.take(found))

    def _start(self, tasks: list[GridTask]) -> None:
        for task in tasks:
            self._tasks.start((self, task), task.name, _run, task, self._shared.future())


def _run(task: GridTask, job: GridJob) -> Partition | Cell:
    return task.run(job)
