"""What the studies of a run share: effort, data, random numbers, processes, progress."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from bbclust.datasets import Dataset, make_paper_dataset

T = TypeVar("T")
Report = Callable[[str, int, int], None]

EFFORTS = ("quick", "full")
K_VALUES = (2, 3, 4, 5, 6)
DATASETS = (1, 2, 3, 4, 5, 6)
TRUE_K = {1: 3, 2: 3, 3: 3, 4: 3, 5: 5, 6: 4}

# The rule of KSelector was chosen and judged on other draws: docs/choosing_k.md.
FIRST_DRAW = 30_000


def paper_draw(number: int, draw: int) -> Dataset:
    """A draw of one of the six data sets; the same for every seed."""
    return make_paper_dataset(number, random_state=100_000 * number + FIRST_DRAW + draw)


class StudyContext:
    """What all studies of a run share.

    Parameters
    ----------
    effort : {"quick", "full"}
    seed : int, default=0
        Changes the random numbers of all methods. The data are the same for every seed.
    n_jobs : int, optional
        Processes.
    report : callable, optional
        Called as ``report(title, done, total)`` while something is measured.

    Examples
    --------
    >>> StudyContext("quick").size(quick=3, full=500)
    3
    """

    def __init__(
        self,
        effort: str = "quick",
        *,
        seed: int = 0,
        n_jobs: int | None = None,
        report: Report | None = None,
    ) -> None:
        if effort not in EFFORTS:
            raise ValueError(f"effort must be one of {', '.join(EFFORTS)}, got {effort!r}.")
        self.effort = effort
        self.seed = seed
        self.n_jobs = effective_n_jobs(n_jobs)
        self._report = report
        self._kept: dict[Hashable, Any] = {}

    def size(self, *, quick: int, full: int) -> int:
        """A number of draws, replicas and the like."""
        return quick if self.effort == "quick" else full

    def random_state(self, number: int) -> int:
        """Seed of one piece of work."""
        return int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What was computed under this key, for studies that read the same numbers."""
        if key not in self._kept:
            self._kept[key] = compute()
        kept: T = self._kept[key]
        return kept

    def each(
        self, title: str, function: Callable[..., T], tasks: Iterable[tuple[Any, ...]]
    ) -> list[T]:
        """``function(*task)`` for each task, in order, on all processes."""
        waiting = list(tasks)
        results: list[T] = []
        some = max(self.n_jobs, len(waiting) // 40)
        # One thread per process, as joblib has it for several: scikit-learn's k-means on a hundred
        # points takes three times as long with two.
        with threadpool_limits(1), Parallel(n_jobs=self.n_jobs) as pool:
            for start in range(0, len(waiting), some):
                part = waiting[start : start + some]
                results += pool(delayed(function)(*task) for task in part)
                if self._report is not None:
                    self._report(title, len(results), len(waiting))
        return results

    def each_draw(
        self, title: str, function: Callable[..., T], n_draws: int, *first: Any
    ) -> list[T]:
        """``function(*first, data set, draw, random state)``, by draw, then by data set."""
        tasks = (
            (*first, number, draw, self.random_state(draw))
            for draw in range(n_draws)
            for number in DATASETS
        )
        return self.each(title, function, tasks)
