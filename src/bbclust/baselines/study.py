"""What all methods share: the result type, the checked table, and its k-means partitions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sized
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator

from bbclust import validation as check
from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.stages.kmeans import cluster_reference
from bbclust.stages.random_streams import Stage, fixed_sample, root_seed
from bbclust.stages.table import Table, count_distinct_rows, make_table

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]
RandomState = int | np.random.RandomState | None
Partitions = Mapping[int, npt.ArrayLike]
T = TypeVar("T")

K_VALUES = range(2, 11)
# Rows above which silhouette and mixtures, and what clusters dozens of tables, read a sample.
SCORED_ROWS = 4_000
CLUSTERED_ROWS = 2_000


@dataclass(frozen=True)
class KChoice:
    """What one method says about the number of clusters.

    Attributes
    ----------
    name : str
        The method, for example "silhouette" or "gap (one standard error)".
    k_values : tuple of ints
        The K's that could be scored, in increasing order.
    scores : ndarray of shape (len(k_values),)
        What the method says of each.
    errors : ndarray of shape (len(k_values),), or None
        Standard errors, where the method has them.
    best_k : int
        The K it chooses; 1 only if the method can say so.
    larger_is_better : bool
        Whether a large score speaks for a K.

    Examples
    --------
    >>> from bbclust.baselines import silhouette
    >>> from bbclust.datasets import load_iris
    >>> choice = silhouette(load_iris().data, range(2, 5), random_state=0)
    >>> for k, score in zip(choice.k_values, choice.scores):
    ...     print(k, round(score, 2))
    2 0.68
    3 0.55
    4 0.5
    >>> choice.best_k, choice.larger_is_better
    (2, True)
    """

    name: str
    k_values: tuple[int, ...]
    scores: Array
    errors: Array | None
    best_k: int
    larger_is_better: bool


class Study:
    """A table, the K's in question, and the k-means partitions found so far."""

    def __init__(
        self, table: Table, k_values: tuple[int, ...], seed: int, n_jobs: int | None
    ) -> None:
        self.table = table
        self.k_values = k_values
        self.seed = seed
        self.n_jobs = n_jobs
        self.n_distinct = count_distinct_rows(table.rows, max(k_values) + 1)
        self._partitions: dict[int, Labels | None] = {}
        self._samples: dict[int, Study] = {}
        self._kept: dict[Hashable, Any] = {}

    def possible(self, least: int, most: int) -> list[int]:
        """The K's in a range that the table has enough distinct rows for."""
        return [k for k in self.k_values if least <= k <= min(most, self.n_distinct)]

    def use(self, k: int, labels: Labels) -> None:
        self._partitions[k] = labels

    def labels(self, k: int) -> Labels | None:
        """The best of 30 k-means runs; None if not all clusters could be filled."""
        if k not in self._partitions:
            self._partitions[k] = self._cluster(k)
        return self._partitions[k]

    def _cluster(self, k: int) -> Labels | None:
        table = self.table
        # To the end where it costs milliseconds; else as BBC stops.
        to_the_end = table.n <= SCORED_ROWS
        tolerance = 0.0 if to_the_end else EngineKMeans().reference_tolerance(table.mean_variance)
        n_jobs = effective_n_jobs(self.n_jobs)
        partition = cluster_reference(table, k, self.seed, tolerance=tolerance, n_jobs=n_jobs)
        return partition.labels if partition.shares.all() else None

    def sample_rows(self, size: int | None) -> npt.NDArray[np.int64] | None:
        """Row numbers of a fixed random sample; None when all rows are to be read."""
        if size is None or self.table.n <= size:
            return None
        return fixed_sample(self.table.n, size, self.seed, Stage.EVALUATION)

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What was computed under this key, for methods that read the same costly numbers."""
        if key not in self._kept:
            self._kept[key] = compute()
        kept: T = self._kept[key]
        return kept

    def sample(self, size: int | None) -> Study:
        """The study of a fixed random sample; this one when all rows are to be read."""
        rows = self.sample_rows(size)
        if rows is None or size is None:
            return self
        if size not in self._samples:
            table = make_table(self.table.rows[rows])
            self._samples[size] = Study(table, self.k_values, self.seed, self.n_jobs)
        return self._samples[size]


def begin(
    X: Any,
    k_values: Iterable[int],
    partitions: Partitions | None,
    random_state: RandomState,
    n_jobs: int | None,
) -> Study:
    """Check what all functions take."""
    candidates = _check_k_values(k_values)
    check.check_n_jobs(n_jobs)
    X = check.check_table(_Baseline(), X, reset=True)
    table = check.make_checked_table(X, None)
    study = Study(table, candidates, root_seed(random_state), n_jobs)
    if partitions is not None:
        for k in study.possible(2, table.n):
            study.use(k, _check_partition(partitions, k, table.n))
    return study


class NothingToScoreError(ValueError):
    """A method can score none of the K's."""


def make_choice(
    name: str,
    scores: Mapping[int, float],
    *,
    larger_is_better: bool = True,
    errors: Array | None = None,
    best_k: int | None = None,
) -> KChoice:
    """The result; without ``best_k`` the best score wins, the smaller K among equals."""
    values = np.array(list(scores.values()), dtype=np.float64)
    k_values = tuple(scores)
    if best_k is None:
        best_k = k_values[int(np.argmax(values if larger_is_better else -values))]
    return KChoice(name, k_values, values, errors, best_k, larger_is_better)


def refuse_nothing(study: Study, name: str, scores: Sized, needs: str) -> None:
    """Raise when no K could be scored, saying what the method needs."""
    if len(scores) == 0:
        asked = ", ".join(str(k) for k in study.k_values[:5])
        asked += ", ..." if len(study.k_values) > 5 else ""
        distinct = count_distinct_rows(study.table.rows, study.table.n)
        raise NothingToScoreError(
            f"{name} can score none of the K's asked for ({asked}): it needs {needs}, and X has "
            f"{study.table.n} rows, {distinct} of them distinct."
        )


class _Baseline(BaseEstimator):  # type: ignore[misc]
    """Keeps what scikit-learn notes about a table while it is checked."""


def _check_k_values(k_values: Iterable[int]) -> tuple[int, ...]:
    if isinstance(k_values, str) or not isinstance(k_values, Iterable):
        raise TypeError(
            f"k_values must be several whole numbers, got {k_values!r}: "
            "pass a range or a list, for example range(2, 11)."
        )
    checked = {
        check.check_integer("every K in k_values", k, minimum=1, maximum=check.MAX_CLUSTERS)
        for k in k_values
    }
    if not checked:
        raise ValueError(
            "k_values is empty: give at least one number of clusters, for example range(2, 11)."
        )
    return tuple(sorted(checked))


def check_sample_size(sample_size: int | None) -> int | None:
    """None for all rows, or a number of rows."""
    if sample_size is None:
        return None
    return check.check_integer("sample_size", sample_size, minimum=10)


def _check_partition(partitions: Partitions, k: int, n: int) -> Labels:
    if k not in partitions:
        raise ValueError(f"partitions has no entry for K={k}: add it, or leave K={k} out.")
    labels = np.asarray(partitions[k])
    if labels.shape != (n,):
        raise ValueError(f"partitions[{k}] must have shape ({n},), got {labels.shape}.")
    names, codes = np.unique(labels, return_inverse=True)
    if len(names) != k:
        raise ValueError(f"partitions[{k}] names {len(names)} clusters: it must name {k}.")
    return codes.astype(np.int32)
