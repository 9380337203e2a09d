"""The gap statistic: how much better k-means does than on tables without clusters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from bbclust import validation as check
from bbclust.baselines.study import (
    CLUSTERED_ROWS,
    Array,
    KChoice,
    Partitions,
    RandomState,
    Study,
    begin,
    check_sample_size,
    make_choice,
    refuse_nothing,
)
from bbclust.stages.kmeans import cluster_reference, partition_from_labels
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Floats, make_table

REFERENCES = ("box", "pca")
RULES = ("largest", "one-standard-error")


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
        The rows, used as they are.
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
    random_state : int, RandomState instance or None, default=None
        Same number, same bits.
    n_jobs : int, optional
        Threads; None is 1. The result does not depend on it.

    Returns
    -------
    KChoice
        Gaps and their standard errors, and the K that ``rule`` chooses.

    Notes
    -----
    R's ``cluster::clusGap(d.power = 2)`` halves W, so its ``logW`` and ``E.logW`` are smaller by
    log 2; gaps and errors are the same (its ``spaceH0`` "original" is our "box", "scaledPCA" our
    "pca"). Its default ``d.power = 1`` is another statistic.

    References
    ----------
    R. Tibshirani, G. Walther, T. Hastie (2001). Estimating the number of clusters in a data set via
    the gap statistic. Journal of the Royal Statistical Society B 63, 411-423.

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
    sample_size = check_sample_size(sample_size)
    study = begin(X, k_values, partitions, random_state, n_jobs)
    return score_gap(study, reference, rule, n_references, sample_size)


def score_gap(
    study: Study, reference: str, rule: str, n_references: int, sample_size: int | None
) -> KChoice:
    """The choice by one box and one rule."""
    study = study.sample(sample_size)
    details = ["principal components"] * (reference == "pca")
    details += ["one standard error"] * (rule == "one-standard-error")
    name = f"gap ({', '.join(details)})" if details else "gap"
    # both rules read the same gaps
    found = study.once(
        ("gap", reference, n_references), lambda: measure_gaps(study, reference, n_references)
    )
    if rule == "largest":
        found = found.only(study.k_values)
    refuse_nothing(study, name, found.k_values, "more distinct rows than clusters")
    best = one_standard_error(found) if rule == "one-standard-error" else None
    scores = dict(zip(found.k_values, found.gaps.tolist(), strict=True))
    return make_choice(name, scores, errors=found.errors, best_k=best)


class Gaps(NamedTuple):
    """Gaps and their standard errors for K = 1 and some more K's."""

    k_values: tuple[int, ...]
    gaps: Array
    errors: Array

    def only(self, k_values: Iterable[int]) -> Gaps:
        kept = [i for i, k in enumerate(self.k_values) if k in set(k_values)]
        return Gaps(tuple(self.k_values[i] for i in kept), self.gaps[kept], self.errors[kept])


def one_standard_error(found: Gaps) -> int:
    """Smallest K with Gap(K) >= Gap(next K) - error(next K); the largest K if there is none."""
    enough = found.gaps[:-1] >= found.gaps[1:] - found.errors[1:]
    return found.k_values[int(np.argmax(enough)) if enough.any() else -1]


def measure_gaps(study: Study, reference: str, n_references: int) -> Gaps:
    """Gaps for K = 1 and the K's in question."""
    ours = dispersions(study)
    k_values = tuple(ours)
    box = reference_box(study.table.rows, reference)
    jobs = (
        delayed(_log_dispersions_of_reference)(box, study.table.n, k_values, study.seed, b)
        for b in range(n_references)
    )
    references = np.array(Parallel(n_jobs=study.n_jobs, backend="threading")(jobs))
    references = references.reshape(n_references, len(k_values))
    gaps = references.mean(axis=0) - np.log(list(ours.values()))
    # Appendix of the paper: the error covers the references' noise, hence 1 + 1/B
    errors = references.std(axis=0, ddof=1) * np.sqrt(1 + 1 / n_references)
    return Gaps(k_values, gaps, errors)


def dispersions(study: Study) -> dict[int, float]:
    """W for K = 1 and the K's in question, where it is not zero."""
    found = {}
    for k in sorted({1, *study.possible(1, study.table.n - 1)}):
        labels = np.zeros(study.table.n, dtype=np.int32) if k == 1 else study.labels(k)
        # as many clusters as distinct rows leave a W of zero, or of rounding
        if labels is not None and k < study.n_distinct:
            found[k] = partition_from_labels(study.table, labels).inertia
    return found


class Box(NamedTuple):
    """Where a reference table is drawn; shapes (d,)."""

    low: Array
    high: Array


def reference_box(rows: Floats, reference: str) -> Box:
    """Range of the features, or of the principal components.

    A table drawn along the principal components is not turned back: k-means does not see rotations.
    """
    points = rows.astype(np.float64)
    if reference == "pca":
        _, axes = np.linalg.eigh(np.einsum("ij,ik->jk", points, points))
        points = np.einsum("ij,jk->ik", points, axes)
    return Box(points.min(axis=0), points.max(axis=0))


def _log_dispersions_of_reference(
    box: Box, n: int, k_values: tuple[int, ...], seed: int, number: int
) -> list[float]:
    """log W of one uniform table for each K; a table depends on the seed and its number alone."""
    generator = stream_generator(seed, Stage.GAP, number)
    table = make_table(generator.uniform(box.low, box.high, size=(n, len(box.low))))
    return [float(np.log(cluster_reference(table, k, seed).inertia)) for k in k_values]
