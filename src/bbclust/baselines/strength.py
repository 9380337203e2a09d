"""Prediction strength: whether one half of the rows finds the clusters of the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from bbclust import validation as check
from bbclust.baselines.study import (
    CLUSTERED_ROWS,
    K_VALUES,
    KChoice,
    Labels,
    RandomState,
    Study,
    begin,
    check_sample_size,
    make_choice,
)
from bbclust.stages.kmeans import cluster_reference
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Table, make_table
from bbclust.stages.voting import nearest_center

STRENGTH_THRESHOLD = 0.8


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
    r"""Prediction strength of k-means (Tibshirani & Walther 2005).

    .. math:: \min_k \frac{1}{n_k (n_k - 1)} \sum_{i \ne j \in C_k} I\{\ell(x_i) = \ell(x_j)\},

    where :math:`C_k` are the clusters of one half of the rows, and :math:`\ell` is the nearest
    centre of the other half.

    The rows are split in halves. Both are clustered, and the centres of one half classify the rows
    of the other: the strength is the share of pairs of one cluster that stay together, in the
    cluster where this share is smallest, averaged over both directions and all splits. The largest
    K whose strength is at least ``threshold`` is chosen; K = 1 has strength one.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
        The rows, used as they are.
    k_values : iterable of ints, default=range(2, 11)
        K = 1 is added. K's above the number of distinct rows of some half are left out.
    n_splits : int, default=50
        Ways in which the rows are split in halves.
    threshold : float in (0, 1], default=0.8
        Tibshirani & Walther recommend 0.8 to 0.9.
    sample_size : int or None, default=2000
        With more rows, a fixed random sample of this size stands for X. None: all rows.
    random_state : int, RandomState instance or None, default=None
        Same number, same bits.
    n_jobs : int, optional
        Threads; None is 1. The result does not depend on it.

    Returns
    -------
    KChoice
        Its errors are those of the mean over splits of this table.

    Notes
    -----
    As R's ``fpc::prediction.strength``, a cluster of one row has strength one.

    References
    ----------
    R. Tibshirani, G. Walther (2005). Cluster validation by prediction strength. Journal of
    Computational and Graphical Statistics 14, 511-528.

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
    sample_size = check_sample_size(sample_size)
    study = begin(X, k_values, None, random_state, n_jobs)
    return score_strength(study, n_splits, threshold, sample_size)


def score_strength(
    study: Study, n_splits: int, threshold: float, sample_size: int | None
) -> KChoice:
    """The choice by prediction strength."""
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
    return make_choice("prediction strength", scores, errors=errors, best_k=best)


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
            weakest_cluster(mine.labels, nearest_center(half.rows, other.centers - half.center), k)
            for half, mine, other in zip(halves, parts, parts[::-1], strict=True)
        ]
        strengths.append(float(np.mean(both)))
    return strengths


def weakest_cluster(labels: Labels, predicted: Labels, k: int) -> float:
    """Smallest share, over the clusters, of pairs that the prediction keeps together."""
    counts = np.bincount(labels.astype(np.int64) * k + predicted, minlength=k * k).reshape(k, k)
    sizes = counts.sum(axis=1)
    together = (counts * (counts - 1)).sum(axis=1)
    pairs = sizes * (sizes - 1)
    return float(np.divide(together, pairs, out=np.ones(k), where=pairs > 0).min())
