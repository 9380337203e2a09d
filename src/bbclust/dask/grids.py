"""Grids of a selection, run by the workers: a task for every reference partition and every cell.

What is finished is kept by this process at once, in the folder of a checkpoint if there is one, so
that nothing of it is lost with the cluster.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from bbclust.dask.cluster.session import FinishedTask, LostResult, Session, Shared, Tasks
from bbclust.ensemble.job import Job, Plan
from bbclust.priors import PreparedPrior
from bbclust.selection.grid import Cell, Grid, GridJob, find_reference, run_cell
from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Table

TASKS_PER_THREAD = 4  # begin with the next grid when fewer are left


def run_grids_on_workers(session: Session, jobs: Iterable[GridJob]) -> Iterator[Grid]:
    """Grids in the order of the jobs, the same bits as on this machine.

    The next grids begin before the first has ended, so that no worker waits for the others.
    """
    waiting = iter(jobs)
    under_way: deque[_GridUnderWay] = deque()
    with session.tasks() as tasks:
        while True:
            while len(tasks) < TASKS_PER_THREAD * session.n_threads:
                job = next(waiting, None)
                if job is None:
                    break
                under_way.append(_GridUnderWay(session, tasks, job))
            if not under_way:
                return
            first = under_way[0]
            first.report()
            if first.is_done:
                yield under_way.popleft().gather()
                continue
            ended: FinishedTask = next(iter(tasks))
            ended.purpose.grid.take(ended)


@dataclass(frozen=True)
class _Purpose:
    """A reference partition of a grid, or one of its cells."""

    grid: _GridUnderWay
    n_clusters: int
    scale: float | None = None
    prior: PreparedPrior | None = None


class _GridUnderWay:
    """One grid: what it has and what it waits for."""

    def __init__(self, session: Session, tasks: Tasks, job: GridJob) -> None:
        self._session = session
        self._tasks = tasks
        self._job = job
        self._shared = Shared(session, "rows", (job.table, job.plan))
        self._references: dict[int, Partition] = {}
        self._cells: dict[tuple[int, float], Cell] = {}
        self._progress: Callable[[int, int], None] | None = None
        self._n_reported = 0
        for n_clusters in sorted(job.k_values, reverse=True):  # the longest tasks first
            reference = job.store.reference(n_clusters)
            if reference is None:
                self._start(_Purpose(self, n_clusters))
            else:
                self._go_on_with(reference)

    @property
    def is_done(self) -> bool:
        return len(self._cells) == self._job.n_cells

    def report(self) -> None:
        """Tell of the cells that nobody has heard of; grids are told of one after the other."""
        if self._progress is None:
            self._progress = self._job.begin()
        while self._n_reported < len(self._cells):
            self._n_reported += 1
            self._progress(self._n_reported, self._job.n_cells)

    def gather(self) -> Grid:
        """The grid, which is done."""
        job = self._job
        return job.gather(
            (self._references[k] for k in job.k_values),
            (self._cells[k, scale] for k in job.k_values for scale in job.prior_scales),
        )

    def take(self, ended: FinishedTask) -> None:
        """Keep what a task has found, and start what that allows."""
        purpose = ended.purpose
        found = (
            ended.result
            if isinstance(ended.result, LostResult)
            else self._session.fetch(ended.result)
        )
        if isinstance(found, LostResult):
            self._shared.invalidate_if_lost()
            self._start(purpose)
            return
        self._shared.reset_send_count()
        if purpose.scale is None:
            self._job.store.keep_reference(found)
            self._go_on_with(found)
        else:
            self._job.store.keep_cell(found)
            self._cells[purpose.n_clusters, purpose.scale] = found

    def _go_on_with(self, reference: Partition) -> None:
        """Start the cells of one K that are not there."""
        job = self._job
        reference = replace(reference, weights=job.table.weights)
        n_clusters = reference.n_clusters
        self._references[n_clusters] = reference
        for scale in job.prior_scales:
            cell = job.store.cell(n_clusters, scale)
            if cell is not None:
                self._cells[n_clusters, scale] = cell
        missing = [s for s in job.prior_scales if (n_clusters, s) not in self._cells]
        if not missing:
            return
        priors = dict(zip(job.prior_scales, job.prepare_prior(reference), strict=True))
        for scale in missing:
            self._start(_Purpose(self, n_clusters, scale, priors[scale]))

    def _start(self, purpose: _Purpose) -> None:
        n_clusters, scale, shared = purpose.n_clusters, purpose.scale, self._shared.future()
        if scale is None:
            self._tasks.start(
                purpose, f"reference-k{n_clusters}", _find_reference, shared, n_clusters
            )
            return
        self._tasks.start(
            purpose,
            f"cell-k{n_clusters}-s{scale:g}",
            _run_cell,
            shared,
            self._references[n_clusters],
            purpose.prior,
            scale,
            self._job.settings.n_replicas,
        )


def _find_reference(shared: tuple[Table, Plan], n_clusters: int) -> Partition:
    table, plan = shared
    return find_reference(table, n_clusters, plan)


def _run_cell(
    shared: tuple[Table, Plan],
    reference: Partition,
    prior: PreparedPrior | None,
    scale: float,
    n_replicas: int,
) -> Cell:
    table, plan = shared
    return run_cell(Job(table, reference, prior, plan), scale, n_replicas)
