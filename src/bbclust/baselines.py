"""The classical ways of choosing K, on one result type.

Each function scores some K's and says which it would choose: silhouette, Calinski-Harabasz and
Davies-Bouldin (scikit-learn's), the gap statistic, the BIC of Gaussian mixtures, and prediction
strength. :func:`compare_baselines` runs them side by side on the same k-means partitions.

Large tables: Calinski-Harabasz and Davies-Bouldin read every row. The others read a fixed random
sample of the rows above a stated size, because they cost rows x rows (silhouette) or cluster tables
of that size dozens of times. Memory is linear in the rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator

from bbclust import validation as check
from bbclust.clusterers import cluster_reference, partition_from_labels
from bbclust.streams import Stage, root_seed, stream_generator
from bbclust.table import Floats, Table, make_table
from bbclust.voting import nearest_center

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]
RandomState = int | np.random.RandomState | None
Partitions = Mapping[int, npt.ArrayLike]

K_VALUES = range(2, 11)
# Rows above which silhouette and mixtures, and what clusters dozens of tables, read a sample.
SCORED_ROWS = 4_000
CLUSTERED_ROWS = 2_000

STRENGTH_THRESHOLD = 0.8

REFERENCES = ("box", "pca")
RULES = ("largest", "one-standard-error")
COVARIANCES = ("tied", "full", "diag", "spherical")


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
    errors : ndarray of shape (len(k_values),), or None
        Standard errors, where the method has them.
    best_k : int
        The K it chooses; 1 only if the method can say so.
    larger_is_better : bool
    """

    name: str
    k_values: tuple[int, ...]
    scores: Array
    errors: Array | None
    best_k: int
    larger_is_better: bool


def silhouette(
    X: Any,
    k_values: Iterable[int] = K_VALUES,
    *,
    partitions: Partitions | None = None,
    sample_size: int | None = SCORED_ROWS,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KChoice:
    """Mean silhouette of k-means partitions (Rousseeuw 1987); the largest wins.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
    k_values : iterable of ints, default=range(2, 11)
        K = 1 has no silhouette. K's above the number of distinct rows are left out.
    partitions : mapping from K to labels of shape (n,), optional
        Partitions to score, instead of the best of 30 k-means runs for each K.
    sample_size : int or None, default=4000
        With more rows, the silhouettes of a fixed random sample of this size among themselves;
        the partition is still that of all rows. None: all rows, at a cost of n x n.
    random_state : int, RandomState instance or None
        Same number, same bits.
    n_jobs : int, optional
        Threads of k-means; the result does not depend on it.

    Returns
    -------
    KChoice

    Examples
    --------
    >>> from bbclust.baselines import silhouette
    >>> from bbclust.datasets import load_iris
    >>> silhouette(load_iris().data, random_state=0).best_k
    2
    """
    study = _begin(X, k_values, partitions, random_state, n_jobs)
    return _silhouette(study, _check_sample_size(sample_size))


def calinski_harabasz(
    X: Any,
    k_values: Iterable[int] = K_VALUES,
    *,
    partitions: Partitions | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KChoice:
    """Variance ratio of k-means partitions (Calinski & Harabasz 1974); the largest wins.

    Parameters and result are those of :func:`silhouette`; every row is read.

    Examples
    --------
    >>> from bbclust.baselines import calinski_harabasz
    >>> from bbclust.datasets import load_iris
    >>> calinski_harabasz(load_iris().data, range(2, 7), random_state=0).best_k
    3
    """
    return _calinski_harabasz(_begin(X, k_values, partitions, random_state, n_jobs))


def davies_bouldin(
    X: Any,
    k_values: Iterable[int] = K_VALUES,
    *,
    partitions: Partitions | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KChoice:
    """Mean likeness of each cluster to its nearest (Davies & Bouldin 1979); the smallest wins.

    Parameters and result are those of :func:`silhouette`; every row is read.

    Examples
    --------
    >>> from bbclust.baselines import davies_bouldin
    >>> from bbclust.datasets import load_iris
    >>> davies_bouldin(load_iris().data, range(2, 7), random_state=0).best_k
    2
    """
    return _davies_bouldin(_begin(X, k_values, partitions, random_state, n_jobs))


def gap_statistic(
    X: Any,
    k_values: Iterable[int] = range(1, 11),
    *,
    n_references: int = 50,
    reference: str = "box",
    rule: str = "largest",
    partitions: Partitions | None = None,
    sample_size: int | None = CLUSTERED_ROWS,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KChoice:
    r"""Gap statistic (Tibshirani, Walther & Hastie 2001): k-means against tables without clusters.

    .. math:: \mathrm{Gap}(K) = \frac 1 B \sum_b \log W_{Kb} - \log W_K,

    where :math:`W_K` is the pooled within-cluster sum of squared distances to the cluster means,
    and :math:`W_{Kb}` that of the b-th reference table, uniform over a box. The standard error is
    the standard deviation of :math:`\log W_{Kb}` over b times :math:`\sqrt{1 + 1/B}`.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
    k_values : iterable of ints, default=range(1, 11)
        K's at which W is zero (as many clusters as distinct rows, and more) are left out. K = 1 can
        only be chosen if it is among them; the one-standard-error rule starts at K = 1, so it adds
        it.
    n_references : int, default=50
        B, reference tables; each is clustered for every K.
    reference : {"box", "pca"}, default="box"
        The box along the features, or along the principal components.
    rule : {"largest", "one-standard-error"}, default="largest"
        The K of the largest gap, or the smallest K whose gap is at least that of the next K minus
        the next one's standard error (the largest K if there is none).
    partitions : mapping from K to labels of shape (n,), optional
        Partitions of X, instead of the best of 30 k-means runs for each K. Not used when the rows
        are sampled: the sample is clustered like the reference tables.
    sample_size : int or None, default=2000
        With more rows, a fixed random sample of this size stands for X. None: all rows.
    random_state : int, RandomState instance or None
        Same number, same bits.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    KChoice

    Notes
    -----
    R's ``cluster::clusGap(d.power = 2)`` halves W, so its ``logW`` and ``E.logW`` are smaller by
    log 2; gaps and errors are the same (its ``spaceH0`` "original" is our "box", "scaledPCA" our
    "pca"). Its default ``d.power = 1`` is another statistic.

    Examples
    --------
    >>> from bbclust import gap_statistic
    >>> from bbclust.datasets import make_paper_dataset
    >>> gap_statistic(make_paper_dataset(5, random_state=0).data, random_state=0).best_k
    5
    """
    check.check_choice("reference", reference, REFERENCES)
    check.check_choice("rule", rule, RULES)
    n_references = check.check_integer("n_references", n_references, minimum=2)
    sample_size = _check_sample_size(sample_size)
    study = _begin(X, k_values, partitions, random_state, n_jobs)
    return _gap(study, reference, rule, n_references, sample_size)


def mixture_bic(
    X: Any,
    k_values: Iterable[int] = range(1, 11),
    *,
    covariance_type: str = "tied",
    partitions: Partitions | None = None,
    sample_size: int | None = SCORED_ROWS,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KChoice:
    """BIC of Gaussian mixtures (scikit-learn's ``GaussianMixture``); the smallest wins.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
    k_values : iterable of ints, default=range(1, 11)
    covariance_type : {"tied", "full", "diag", "spherical"}, default="tied"
    partitions : mapping from K to labels of shape (n,), optional
        Partitions that the EM algorithm starts from, instead of the best of 30 k-means runs.
        Not used when the rows are sampled.
    sample_size : int or None, default=4000
        With more rows, a fixed random sample of this size stands for X. None: all rows.
    random_state : int, RandomState instance or None
        Same number, same bits.
    n_jobs : int, optional
        Threads of k-means; the result does not depend on it.

    Returns
    -------
    KChoice

    Notes
    -----
    ``reg_covar`` is a millionth of the mean variance of the features (scikit-learn's is absolute),
    so that the choice does not depend on the unit of measurement.

    Examples
    --------
    >>> from bbclust.baselines import mixture_bic
    >>> from bbclust.datasets import load_iris
    >>> mixture_bic(load_iris().data, covariance_type="full", random_state=0).best_k
    2
    """
    check.check_choice("covariance_type", covariance_type, COVARIANCES)
    sample_size = _check_sample_size(sample_size)
    study = _begin(X, k_values, partitions, random_state, n_jobs)
    return _mixture_bic(study, covariance_type, sample_size)


def prediction_strength(
    X: Any,
    k_values: Iterable[int] = K_VALUES,
    *,
    n_splits: int = 50,
    threshold: float = STRENGTH_THRESHOLD,
    sample_size: int | None = CLUSTERED_ROWS,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KChoice:
    """Prediction strength of k-means (Tibshirani & Walther 2005).

    The rows are split in halves. Both are clustered, and the centres of one half classify the rows
    of the other: the strength is the share of pairs of one cluster that stay together, in the
    cluster where this share is smallest, averaged over both directions and all splits. The largest
    K whose strength is at least ``threshold`` is chosen; K = 1 has strength one.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
    k_values : iterable of ints, default=range(2, 11)
        K = 1 is added. K's above the number of distinct rows of some half are left out.
    n_splits : int, default=50
    threshold : float in (0, 1], default=0.8
        Tibshirani & Walther recommend 0.8 to 0.9.
    sample_size : int or None, default=2000
        With more rows, a fixed random sample of this size stands for X. None: all rows.
    random_state : int, RandomState instance or None
        Same number, same bits.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    KChoice
        Its errors are those of the mean over splits of this table.

    Notes
    -----
    As R's ``fpc::prediction.strength``, a cluster of one row has strength one.

    Examples
    --------
    >>> from bbclust.baselines import prediction_strength
    >>> from bbclust.datasets import load_iris, make_uniform_square
    >>> prediction_strength(load_iris().data, random_state=0).best_k
    2
    >>> prediction_strength(make_uniform_square(random_state=0), range(3, 7), random_state=0).best_k
    1
    """
    n_splits = check.check_integer("n_splits", n_splits, minimum=2)
    threshold = check.check_number("threshold", threshold, above=0, why="strengths are shares")
    if threshold > 1:
        raise ValueError(f"threshold must be at most 1, got {threshold!r}: strengths are shares.")
    sample_size = _check_sample_size(sample_size)
    study = _begin(X, k_values, None, random_state, n_jobs)
    return _prediction_strength(study, n_splits, threshold, sample_size)


def compare_baselines(
    X: Any,
    k_values: Iterable[int] = K_VALUES,
    *,
    methods: Iterable[str] | None = None,
    n_references: int = 50,
    n_splits: int = 50,
    partitions: Partitions | None = None,
    callbacks: Callable[[int, int], None] | Iterable[Callable[[int, int], None]] | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> list[KChoice]:
    """The classical methods side by side; X is clustered once per K for all of them.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
    k_values : iterable of ints, default=range(2, 11)
    methods : iterable of str, optional
        Names out of :data:`METHODS`; by default those of :data:`DEFAULT_METHODS`. A method that
        can score none of the K's is left out of the result.
    n_references : int, default=50
        Reference tables of the gap statistic.
    n_splits : int, default=50
        Splits of prediction strength.
    partitions : mapping from K to labels of shape (n,), optional
        Partitions of X, instead of the best of 30 k-means runs for each K.
    callbacks : callable or list of callables, optional
        Called as ``callback(done, total)`` after every method.
    random_state : int, RandomState instance or None
        Same number, same bits; those that each function gives alone.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    list of KChoice
        In the order of ``methods``.

    Examples
    --------
    >>> from bbclust.baselines import compare_baselines
    >>> from bbclust.datasets import make_paper_dataset
    >>> X = make_paper_dataset(5, random_state=0).data
    >>> for choice in compare_baselines(X, range(2, 7), random_state=0):
    ...     print(choice.best_k, choice.name)
    5 silhouette
    5 Calinski-Harabasz
    5 Davies-Bouldin
    5 gap
    1 gap (one standard error)
    5 gap (principal components)
    1 gap (principal components, one standard error)
    5 mixture BIC (tied)
    5 prediction strength
    """
    names = _check_methods(methods)
    n_references = check.check_integer("n_references", n_references, minimum=2)
    n_splits = check.check_integer("n_splits", n_splits, minimum=2)
    report = check.check_callbacks(callbacks)
    study = _begin(X, k_values, partitions, random_state, n_jobs)
    choices, refusals = [], []
    for done, name in enumerate(names, start=1):
        try:
            choices.append(METHODS[name](study, n_references, n_splits))
        except _NothingToScoreError as refusal:
            refusals.append(refusal)
        for callback in report:
            callback(done, len(names))
    if not choices:
        raise refusals[0]
    return choices


class _NothingToScoreError(ValueError):
    """A method can score none of the K's."""


class _Baseline(BaseEstimator):  # type: ignore[misc]
    """Keeps what scikit-learn notes about a table while it is checked."""


class _Study:
    """A table, the K's in question, and the k-means partitions found so far."""

    def __init__(
        self, table: Table, k_values: tuple[int, ...], seed: int, n_jobs: int | None
    ) -> None:
        self.table = table
        self.k_values = k_values
        self.seed = seed
        self.n_jobs = n_jobs
        self.n_distinct = _count_distinct(table.rows, max(k_values) + 1)
        self._partitions: dict[int, Labels | None] = {}
        self._samples: dict[int, _Study] = {}
        self._gaps: dict[tuple[str, int], _Gaps] = {}

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
        tolerance = 0.0 if table.n <= SCORED_ROWS else 1e-4 * table.mean_variance()
        n_jobs = effective_n_jobs(self.n_jobs)
        partition = cluster_reference(table, k, self.seed, tolerance=tolerance, n_jobs=n_jobs)
        return partition.labels if partition.shares.all() else None

    def sample_rows(self, size: int | None) -> npt.NDArray[np.int64] | None:
        """Row numbers of a fixed random sample; None when all rows are to be read."""
        if size is None or self.table.n <= size:
            return None
        generator = stream_generator(self.seed, Stage.EVALUATION)
        return np.sort(generator.choice(self.table.n, size, replace=False, shuffle=False))

    def gaps(self, reference: str, n_references: int) -> _Gaps:
        """Gaps for K = 1 and the K's in question; both rules read the same ones."""
        key = (reference, n_references)
        if key not in self._gaps:
            self._gaps[key] = _measure_gaps(self, reference, n_references)
        return self._gaps[key]

    def sample(self, size: int | None) -> _Study:
        """The study of a fixed random sample; this one when all rows are to be read."""
        rows = self.sample_rows(size)
        if rows is None or size is None:
            return self
        if size not in self._samples:
            table = make_table(self.table.rows[rows])
            self._samples[size] = _Study(table, self.k_values, self.seed, self.n_jobs)
        return self._samples[size]


def _begin(
    X: Any,
    k_values: Iterable[int],
    partitions: Partitions | None,
    random_state: RandomState,
    n_jobs: int | None,
) -> _Study:
    """Check what all functions take."""
    candidates = _check_k_values(k_values)
    check.check_n_jobs(n_jobs)
    X = check.check_table(_Baseline(), X, reset=True)
    with np.errstate(over="ignore", invalid="ignore"):  # check_spread speaks of it
        table = make_table(X)
    check.check_spread(X, table)
    study = _Study(table, candidates, root_seed(random_state), n_jobs)
    if partitions is not None:
        for k in study.possible(2, table.n):
            study.use(k, _check_partition(partitions, k, table.n))
    return study


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


def _check_sample_size(sample_size: int | None) -> int | None:
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


def _check_methods(methods: Iterable[str] | None) -> tuple[str, ...]:
    if methods is None:
        return DEFAULT_METHODS
    if isinstance(methods, str):
        methods = (methods,)
    names = tuple(
        check.check_choice("every one of methods", one, tuple(METHODS)) for one in methods
    )
    if not names:
        raise ValueError("methods is empty: name at least one, or leave it out for the default.")
    return names


def _count_distinct(rows: Floats, enough: int) -> int:
    """Number of distinct rows, or some number of at least ``enough``."""
    distinct = 0
    for some in (rows[: 4 * enough + 100], rows):
        distinct = len(np.unique(some, axis=0))
        if distinct >= enough:
            break
    return distinct


def _choice(
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


def _refuse_nothing(study: _Study, name: str, scores: Sized, needs: str) -> None:
    if len(scores) == 0:
        asked = ", ".join(str(k) for k in study.k_values[:5])
        asked += ", ..." if len(study.k_values) > 5 else ""
        distinct = _count_distinct(study.table.rows, study.table.n)
        raise _NothingToScoreError(
            f"{name} can score none of the K's asked for ({asked}): it needs {needs}, and X has "
            f"{study.table.n} rows, {distinct} of them distinct."
        )


def _index(
    study: _Study,
    name: str,
    metric: Callable[[Floats, Labels], float],
    *,
    rows: npt.NDArray[np.int64] | None = None,
    larger_is_better: bool = True,
) -> KChoice:
    """An index of scikit-learn for each K, which needs from 2 to n - 1 clusters."""
    points = study.table.rows if rows is None else study.table.rows[rows]
    scores = {}
    for k in study.possible(2, study.table.n - 1):
        labels = study.labels(k)
        if labels is None:
            continue
        seen = labels if rows is None else labels[rows]
        if 1 < len(np.unique(seen)) < len(seen):  # a sample may miss all clusters but one
            scores[k] = float(metric(points, seen))
    _refuse_nothing(study, name, scores, "K from 2 on and more rows than clusters")
    return _choice(name, scores, larger_is_better=larger_is_better)


def _silhouette(study: _Study, sample_size: int | None) -> KChoice:
    from sklearn import config_context  # slow to import, as are the metrics
    from sklearn.metrics import silhouette_score

    with config_context(working_memory=64):  # MiB of distances at a time
        return _index(study, "silhouette", silhouette_score, rows=study.sample_rows(sample_size))


def _calinski_harabasz(study: _Study) -> KChoice:
    from sklearn.metrics import calinski_harabasz_score

    return _index(study, "Calinski-Harabasz", calinski_harabasz_score)


def _davies_bouldin(study: _Study) -> KChoice:
    from sklearn.metrics import davies_bouldin_score

    return _index(study, "Davies-Bouldin", davies_bouldin_score, larger_is_better=False)


class _Gaps(NamedTuple):
    """Gaps and their standard errors for K = 1 and some more K's."""

    k_values: tuple[int, ...]
    gaps: Array
    errors: Array

    def only(self, k_values: Iterable[int]) -> _Gaps:
        kept = [i for i, k in enumerate(self.k_values) if k in set(k_values)]
        return _Gaps(tuple(self.k_values[i] for i in kept), self.gaps[kept], self.errors[kept])


def _gap(
    study: _Study, reference: str, rule: str, n_references: int, sample_size: int | None
) -> KChoice:
    study = study.sample(sample_size)
    details = ["principal components"] * (reference == "pca")
    details += ["one standard error"] * (rule == "one-standard-error")
    name = f"gap ({', '.join(details)})" if details else "gap"
    found = study.gaps(reference, n_references)
    if rule == "largest":
        found = found.only(study.k_values)
    _refuse_nothing(study, name, found.k_values, "more distinct rows than clusters")
    best = _one_standard_error(found) if rule == "one-standard-error" else None
    scores = dict(zip(found.k_values, found.gaps.tolist(), strict=True))
    return _choice(name, scores, errors=found.errors, best_k=best)


def _one_standard_error(found: _Gaps) -> int:
    """Smallest K with Gap(K) >= Gap(next K) - error(next K); the largest K if there is none."""
    enough = found.gaps[:-1] >= found.gaps[1:] - found.errors[1:]
    return found.k_values[int(np.argmax(enough)) if enough.any() else -1]


def _measure_gaps(study: _Study, reference: str, n_references: int) -> _Gaps:
    dispersions = _dispersions(study)
    k_values = tuple(dispersions)
    box = _reference_box(study.table.rows, reference)
    jobs = (
        delayed(_log_dispersions_of_reference)(box, study.table.n, k_values, study.seed, b)
        for b in range(n_references)
    )
    references = np.array(Parallel(n_jobs=study.n_jobs, backend="threading")(jobs))
    references = references.reshape(n_references, len(k_values))
    gaps = references.mean(axis=0) - np.log(list(dispersions.values()))
    # Appendix of the paper: the error covers the references' noise, hence 1 + 1/B
    errors = references.std(axis=0, ddof=1) * np.sqrt(1 + 1 / n_references)
    return _Gaps(k_values, gaps, errors)


def _dispersions(study: _Study) -> dict[int, float]:
    """W for K = 1 and the K's in question, where it is not zero."""
    found = {}
    for k in sorted({1, *study.possible(1, study.table.n - 1)}):
        labels = np.zeros(study.table.n, dtype=np.int32) if k == 1 else study.labels(k)
        # as many clusters as distinct rows leave a W of zero, or of rounding
        if labels is not None and k < study.n_distinct:
            found[k] = partition_from_labels(study.table, labels).inertia
    return found


class _Box(NamedTuple):
    low: Array
    high: Array


def _reference_box(rows: Floats, reference: str) -> _Box:
    """Range of the features, or of the principal components.

    A table drawn along the principal components is not turned back: k-means does not see rotations.
    """
    points = rows.astype(np.float64)
    if reference == "pca":
        _, axes = np.linalg.eigh(np.einsum("ij,ik->jk", points, points))
        points = np.einsum("ij,jk->ik", points, axes)
    return _Box(points.min(axis=0), points.max(axis=0))


def _log_dispersions_of_reference(
    box: _Box, n: int, k_values: tuple[int, ...], seed: int, number: int
) -> list[float]:
    """log W of one uniform table for each K; a table depends on the seed and its number alone."""
    generator = stream_generator(seed, Stage.GAP, number)
    table = make_table(generator.uniform(box.low, box.high, size=(n, len(box.low))))
    return [float(np.log(cluster_reference(table, k, seed).inertia)) for k in k_values]


def _mixture_bic(study: _Study, covariance_type: str, sample_size: int | None) -> KChoice:
    from sklearn.exceptions import ConvergenceWarning

    study = study.sample(sample_size)
    name = f"mixture BIC ({covariance_type})"
    # In the unit of the root mean variance, so that reg_covar is relative.
    unit = float(np.sqrt(study.table.mean_variance())) or 1.0
    rows = study.table.rows.astype(np.float64) / unit
    scores = {}
    with warnings.catch_warnings():
        # a fit that is still improving after 500 steps improves by little
        warnings.simplefilter("ignore", ConvergenceWarning)
        for k in study.possible(1, study.table.n):
            labels = np.zeros(len(rows), dtype=np.int32) if k == 1 else study.labels(k)
            if labels is not None:
                bic = _bic_from_partition(rows, labels, k, covariance_type)
                scores[k] = bic + 2 * rows.size * float(np.log(unit))
    _refuse_nothing(study, name, scores, "as many distinct rows as clusters")
    return _choice(name, scores, larger_is_better=False)


def _bic_from_partition(rows: Array, labels: Labels, k: int, covariance_type: str) -> float:
    """BIC of the mixture that EM finds from a partition."""
    from sklearn.mixture import GaussianMixture

    partition = partition_from_labels(make_table(rows), labels)
    weights, means = partition.shares, partition.centers
    deviations = rows - means[partition.labels]
    members = (deviations[partition.labels == j] for j in range(k))
    covariances = np.array([np.einsum("ij,ik->jk", one, one) / len(one) for one in members])
    regular = 1e-6
    if covariance_type == "tied":
        pooled = np.einsum("k,kij->ij", weights, covariances)
        precisions = np.linalg.inv(pooled + regular * np.eye(rows.shape[1]))
    elif covariance_type == "full":
        precisions = np.linalg.inv(covariances + regular * np.eye(rows.shape[1]))
    else:
        precisions = 1 / (np.einsum("kii->ki", covariances) + regular)
        if covariance_type == "spherical":
            precisions = 1 / (1 / precisions).mean(axis=1)
    mixture = GaussianMixture(
        k,
        covariance_type=covariance_type,
        weights_init=weights,
        means_init=means,
        precisions_init=precisions,
        init_params="random",  # cheap, and replaced by the partition
        random_state=0,
        max_iter=500,
        reg_covar=regular,
    )
    return float(mixture.fit(rows).bic(rows))


def _prediction_strength(
    study: _Study, n_splits: int, threshold: float, sample_size: int | None
) -> KChoice:
    study = study.sample(sample_size)
    k_values = study.possible(2, study.table.n // 2)
    jobs = (
        delayed(_strengths_of_split)(study.table, k_values, study.seed, split)
        for split in range(n_splits)
    )
    strengths = np.array(Parallel(n_jobs=study.n_jobs, backend="threading")(jobs))
    strengths = np.column_stack([np.ones(n_splits), strengths])
    possible = ~np.isnan(strengths).any(axis=0)
    means = strengths[:, possible].mean(axis=0)
    errors = strengths[:, possible].std(axis=0, ddof=1) / np.sqrt(n_splits)
    scores = dict(zip(np.array([1, *k_values])[possible].tolist(), means.tolist(), strict=True))
    best = max(k for k, score in scores.items() if score >= threshold)
    return _choice("prediction strength", scores, errors=errors, best_k=best)


def _strengths_of_split(table: Table, k_values: list[int], seed: int, split: int) -> list[float]:
    """Strength of each K on one split; NaN where a half has fewer distinct rows."""
    order = stream_generator(seed, Stage.SPLITS, split).permutation(table.n)
    halves = [make_table(table.rows[rows]) for rows in np.split(order, [table.n // 2])]
    strengths = []
    for k in k_values:
        parts = [cluster_reference(half, k, seed) for half in halves]
        if not all(part.shares.all() for part in parts):
            strengths.append(np.nan)
            continue
        both = [
            _weakest_cluster(mine.labels, nearest_center(half.rows, other.centers - half.center), k)
            for half, mine, other in zip(halves, parts, parts[::-1], strict=True)
        ]
        strengths.append(float(np.mean(both)))
    return strengths


def _weakest_cluster(labels: Labels, predicted: Labels, k: int) -> float:
    """Smallest share, over the clusters, of pairs that the prediction keeps together."""
    counts = np.bincount(labels.astype(np.int64) * k + predicted, minlength=k * k).reshape(k, k)
    sizes = counts.sum(axis=1)
    together = (counts * (counts - 1)).sum(axis=1)
    pairs = sizes * (sizes - 1)
    return float(np.divide(together, pairs, out=np.ones(k), where=pairs > 0).min())


def _gap_method(reference: str, rule: str) -> _Method:
    return lambda study, n_references, n_splits: _gap(
        study, reference, rule, n_references, CLUSTERED_ROWS
    )


def _mixture_method(covariance_type: str) -> _Method:
    return lambda study, n_references, n_splits: _mixture_bic(study, covariance_type, SCORED_ROWS)


_Method = Callable[[_Study, int, int], KChoice]

#: Every method that :func:`compare_baselines` knows.
METHODS: Mapping[str, _Method] = {
    "silhouette": lambda study, n_references, n_splits: _silhouette(study, SCORED_ROWS),
    "Calinski-Harabasz": lambda study, n_references, n_splits: _calinski_harabasz(study),
    "Davies-Bouldin": lambda study, n_references, n_splits: _davies_bouldin(study),
    "gap": _gap_method("box", "largest"),
    "gap (one standard error)": _gap_method("box", "one-standard-error"),
    "gap (principal components)": _gap_method("pca", "largest"),
    "gap (principal components, one standard error)": _gap_method("pca", "one-standard-error"),
    **{f"mixture BIC ({covariance})": _mixture_method(covariance) for covariance in COVARIANCES},
    "prediction strength": lambda study, n_references, n_splits: _prediction_strength(
        study, n_splits, STRENGTH_THRESHOLD, CLUSTERED_ROWS
    ),
}
#: Those it runs unless told otherwise: of the mixtures only that with one common covariance.
DEFAULT_METHODS = tuple(
    name for name in METHODS if not name.startswith("mixture") or name == "mixture BIC (tied)"
)
