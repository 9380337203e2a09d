"""Indices of one partition, as scikit-learn computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust.baselines.study import (
    K_VALUES,
    SCORED_ROWS,
    KChoice,
    Labels,
    Partitions,
    RandomState,
    Study,
    begin,
    check_sample_size,
    make_choice,
    refuse_nothing,
)
from bbclust.stages.table import Floats


def silhouette(
    X: Any,
    k_values: Iterable[int] = K_VALUES,
    *,
    partitions: Partitions | None = None,
    sample_size: int | None = SCORED_ROWS,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KChoice:
    r"""Mean silhouette of k-means partitions (Rousseeuw 1987); the largest wins.

    .. math:: \frac 1 n \sum_i \frac{b_i - a_i}{\max(a_i, b_i)},

    with a the mean distance of a row to the others of its cluster, and b the smallest mean distance
    to the rows of another cluster.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
        The rows, used as they are.
    k_values : iterable of ints, default=range(2, 11)
        K = 1 has no silhouette. K's above the number of distinct rows are left out.
    partitions : mapping from K to labels of shape (n,), optional
        Partitions to score, instead of the best of 30 k-means runs for each K.
    sample_size : int or None, default=4000
        With more rows, the silhouettes of a fixed random sample of this size among themselves;
        the partition is still that of all rows. None: all rows, at a cost of n x n.
    random_state : int, RandomState instance or None, default=None
        Same number, same bits.
    n_jobs : int, optional
        Threads of k-means; None is 1. The result does not depend on it.

    Returns
    -------
    KChoice
        The silhouette of each K that could be scored, and the best of them.

    References
    ----------
    P. J. Rousseeuw (1987). Silhouettes: a graphical aid to the interpretation and validation of
    cluster analysis. Journal of Computational and Applied Mathematics 20, 53-65.

    Examples
    --------
    >>> from bbclust.baselines import silhouette
    >>> from bbclust.datasets import load_iris
    >>> silhouette(load_iris().data, random_state=0).best_k
    2
    """
    study = begin(X, k_values, partitions, random_state, n_jobs)
    return score_silhouette(study, check_sample_size(sample_size))


def calinski_harabasz(
    X: Any,
    k_values: Iterable[int] = K_VALUES,
    *,
    partitions: Partitions | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KChoice:
    r"""Variance ratio of k-means partitions (Calinski & Harabasz 1974); the largest wins.

    .. math:: \frac{B_K / (K - 1)}{W_K / (n - K)},

    with W the sum of squared distances of rows to the means of their clusters, and B that of these
    means, counted once per row, to the mean of all rows.

    Parameters
    ----------
    X, k_values, partitions, random_state, n_jobs
        As of :func:`bbclust.baselines.silhouette`; every row is read.

    Returns
    -------
    KChoice
        The index of each K that could be scored, and the best of them.

    References
    ----------
    T. Calinski, J. Harabasz (1974). A dendrite method for cluster analysis. Communications in
    Statistics 3, 1-27.

    Examples
    --------
    >>> from bbclust.baselines import calinski_harabasz
    >>> from bbclust.datasets import load_iris
    >>> calinski_harabasz(load_iris().data, range(2, 7), random_state=0).best_k
    3
    """
    return score_calinski_harabasz(begin(X, k_values, partitions, random_state, n_jobs))


def davies_bouldin(
    X: Any,
    k_values: Iterable[int] = K_VALUES,
    *,
    partitions: Partitions | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KChoice:
    r"""Mean likeness of each cluster to its nearest (Davies & Bouldin 1979); the smallest wins.

    .. math:: \frac 1 K \sum_k \max_{l \ne k} \frac{s_k + s_l}{\lVert c_k - c_l \rVert},

    with s the mean distance of the rows of a cluster to its mean c.

    Parameters
    ----------
    X, k_values, partitions, random_state, n_jobs
        As of :func:`bbclust.baselines.silhouette`; every row is read.

    Returns
    -------
    KChoice
        The index of each K that could be scored, and the best of them.

    References
    ----------
    D. L. Davies, D. W. Bouldin (1979). A cluster separation measure. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 1, 224-227.

    Examples
    --------
    >>> from bbclust.baselines import davies_bouldin
    >>> from bbclust.datasets import load_iris
    >>> davies_bouldin(load_iris().data, range(2, 7), random_state=0).best_k
    2
    """
    return score_davies_bouldin(begin(X, k_values, partitions, random_state, n_jobs))


def score_silhouette(study: Study, sample_size: int | None) -> KChoice:
    """The choice by silhouette."""
    from sklearn import config_context  # slow to import, as are the metrics
    from sklearn.metrics import silhouette_score

    with config_context(working_memory=64):  # MiB of distances at a time
        return _index(study, "silhouette", silhouette_score, rows=study.sample_rows(sample_size))


def score_calinski_harabasz(study: Study) -> KChoice:
    """The choice by Calinski-Harabasz."""
    from sklearn.metrics import calinski_harabasz_score

    return _index(study, "Calinski-Harabasz", calinski_harabasz_score)


def score_davies_bouldin(study: Study) -> KChoice:
    """The choice by Davies-Bouldin."""
    from sklearn.metrics import davies_bouldin_score

    return _index(study, "Davies-Bouldin", davies_bouldin_score, larger_is_better=False)


def _index(
    study: Study,
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
    refuse_nothing(study, name, scores, "K from 2 on and more rows than clusters")
    return make_choice(name, scores, larger_is_better=larger_is_better)
