"""All methods side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bbclust import validation as check
from bbclust.baselines.gap import score_gap
from bbclust.baselines.indices import (
    score_calinski_harabasz,
    score_davies_bouldin,
    score_silhouette,
)
from bbclust.baselines.mixture import COVARIANCES, score_mixture
from bbclust.baselines.strength import STRENGTH_THRESHOLD, score_strength
from bbclust.baselines.study import (
    CLUSTERED_ROWS,
    K_VALUES,
    SCORED_ROWS,
    KChoice,
    NothingToScoreError,
    Partitions,
    RandomState,
    Study,
    begin,
)


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
        The rows, used as they are.
    k_values : iterable of ints, default=range(2, 11)
        The K's to score.
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
    random_state : int, RandomState instance or None, default=None
        Same number, same bits; those that each function gives alone.
    n_jobs : int, optional
        Threads; None is 1. The result does not depend on it.

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
    study = begin(X, k_values, partitions, random_state, n_jobs)
    choices, refusals = [], []
    for done, name in enumerate(names, start=1):
        try:
            choices.append(METHODS[name](study, n_references, n_splits))
        except NothingToScoreError as refusal:
            refusals.append(refusal)
        for callback in report:
            callback(done, len(names))
    if not choices:
        raise refusals[0]
    return choices


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


def _gap_method(reference: str, rule: str) -> _Method:
    return lambda study, n_references, n_splits: score_gap(
        study, reference, rule, n_references, CLUSTERED_ROWS
    )


def _mixture_method(covariance_type: str) -> _Method:
    return lambda study, n_references, n_splits: score_mixture(study, covariance_type, SCORED_ROWS)


_Method = Callable[[Study, int, int], KChoice]


METHODS: Mapping[str, _Method] = {
    "silhouette": lambda study, n_references, n_splits: score_silhouette(study, SCORED_ROWS),
    "Calinski-Harabasz": lambda study, n_references, n_splits: score_calinski_harabasz(study),
    "Davies-Bouldin": lambda study, n_references, n_splits: score_davies_bouldin(study),
    "gap": _gap_method("box", "largest"),
    "gap (one standard error)": _gap_method("box", "one-standard-error"),
    "gap (principal components)": _gap_method("pca", "largest"),
    "gap (principal components, one standard error)": _gap_method("pca", "one-standard-error"),
    **{f"mixture BIC ({covariance})": _mixture_method(covariance) for covariance in COVARIANCES},
    "prediction strength": lambda study, n_references, n_splits: score_strength(
        study, n_splits, STRENGTH_THRESHOLD, CLUSTERED_ROWS
    ),
}
"""All methods that :func:`compare_baselines` knows, by their names."""


DEFAULT_METHODS = tuple(
    name for name in METHODS if not name.startswith("mixture") or name == "mixture BIC (tied)"
)
"""Names of those that it runs by default: all, of the mixtures the one with tied covariances."""
