"""BIC of Gaussian mixtures."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from bbclust import validation as check
from bbclust.baselines.study import (
    SCORED_ROWS,
    Array,
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
from bbclust.stages.kmeans import partition_from_labels
from bbclust.stages.table import make_table

COVARIANCES = ("tied", "full", "diag", "spherical")
REG_COVAR = 1e-6


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
    r"""BIC of Gaussian mixtures (scikit-learn's ``GaussianMixture``); the smallest wins.

    .. math:: -2 \log L_K + p_K \log n,

    with L the likelihood of a mixture of K components and p the number of its parameters.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
        The rows, used as they are.
    k_values : iterable of ints, default=range(1, 11)
        K's above the number of distinct rows are left out.
    covariance_type : {"tied", "full", "diag", "spherical"}, default="tied"
        One covariance for all components, one for each, variances of columns, or one variance.
    partitions : mapping from K to labels of shape (n,), optional
        Partitions that the EM algorithm starts from, instead of the best of 30 k-means runs.
        Not used when the rows are sampled.
    sample_size : int or None, default=4000
        With more rows, a fixed random sample of this size stands for X. None: all rows.
    random_state : int, RandomState instance or None, default=None
        Same number, same bits.
    n_jobs : int, optional
        Threads of k-means; None is 1. The result does not depend on it.

    Returns
    -------
    KChoice
        The BIC of each K that could be scored, and the best of them.

    Notes
    -----
    ``reg_covar`` is a millionth of the mean variance of the features (scikit-learn's is absolute),
    so that the choice does not depend on the unit of measurement.

    References
    ----------
    G. Schwarz (1978). Estimating the dimension of a model. Annals of Statistics 6, 461-464.

    C. Fraley, A. E. Raftery (2002). Model-based clustering, discriminant analysis, and density
    estimation. Journal of the American Statistical Association 97, 611-631.

    Examples
    --------
    >>> from bbclust.baselines import mixture_bic
    >>> from bbclust.datasets import load_iris
    >>> mixture_bic(load_iris().data, covariance_type="full", random_state=0).best_k
    2
    """
    check.check_choice("covariance_type", covariance_type, COVARIANCES)
    sample_size = check_sample_size(sample_size)
    study = begin(X, k_values, partitions, random_state, n_jobs)
    return score_mixture(study, covariance_type, sample_size)


def score_mixture(study: Study, covariance_type: str, sample_size: int | None) -> KChoice:
    """The choice by the BIC of one kind of mixtures."""
    from sklearn.exceptions import ConvergenceWarning

    study = study.sample(sample_size)
    name = f"mixture BIC ({covariance_type})"
    # In the unit of the root mean variance, so that reg_covar is relative.
    unit = float(np.sqrt(study.table.mean_variance)) or 1.0
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
    refuse_nothing(study, name, scores, "as many distinct rows as clusters")
    return make_choice(name, scores, larger_is_better=False)


def _bic_from_partition(rows: Array, labels: Labels, k: int, covariance_type: str) -> float:
    """BIC of the mixture that EM finds from a partition."""
    from sklearn.mixture import GaussianMixture

    partition = partition_from_labels(make_table(rows), labels)
    weights, means = partition.shares, partition.centers
    deviations = rows - means[partition.labels]
    members = (deviations[partition.labels == j] for j in range(k))
    covariances = np.array([np.einsum("ij,ik->jk", one, one) / len(one) for one in members])
    if covariance_type == "tied":
        pooled = np.einsum("k,kij->ij", weights, covariances)
        precisions = np.linalg.inv(pooled + REG_COVAR * np.eye(rows.shape[1]))
    elif covariance_type == "full":
        precisions = np.linalg.inv(covariances + REG_COVAR * np.eye(rows.shape[1]))
    else:
        precisions = 1 / (np.einsum("kii->ki", covariances) + REG_COVAR)
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
        reg_covar=REG_COVAR,
    )
    return float(mixture.fit(rows).bic(rows))
