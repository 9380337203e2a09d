"""Who runs blocks of replicas and grids: threads here, a cluster in :mod:`bbclust.dask`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from bbclust.ensemble.job import Job, Replicas
from bbclust.ensemble.run import Progress, run_replicas

Grid = TypeVar("Grid", covariant=True)


class GridWork(Protocol[Grid]):
    """A grid that can run itself on this machine."""

    def run(self, *, n_jobs: int = 1) -> Grid: ...


class Executor(Protocol):
    """Runs what estimators have planned; results do not depend on who does."""

    def run_blocks(self, job: Job, replicas: range, progress: Progress) -> Replicas:
        """All replicas, in blocks of any size and joined in their order.

        ``progress`` is called with the number that are done after each block; once it says that
        this is enough, the first that are done are the result.
        """
        ...

    def run_grids(self, grids: Iterable[GridWork[Grid]]) -> Iterator[Grid]:
        """Grids in the order given."""
        ...


@dataclass(frozen=True)
class Threads:
    """The threads of this machine."""

    n_jobs: int = 1

    def run_blocks(self, job: Job, replicas: range, progress: Progress) -> Replicas:
        """Blocks one after the other, each on all threads."""
        return run_replicas(job, replicas, n_jobs=self.n_jobs, progress=progress)

    def run_grids(self, grids: Iterable[GridWork[Grid]]) -> Iterator[Grid]:
        """Grids one after the other, each on all threads."""
        return (grid.run(n_jobs=self.n_jobs) for grid in grids)
