"""What the answer does when settings change that nobody can know: omega, s and m."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.diagnostics.row_counts import CLEAR_SHARE
from bbclust.selection.k_selector import KSelector

AS_CHOSEN = "as chosen"


@dataclass(frozen=True)
class Variation:
    """What one setting leads to.

    Attributes
    ----------
    setting : str
        What differs, such as "omega = 0.25".
    best_k : int
    has_clusters : bool or None
        Whether clusters are shown; None if it was not tested.
    sizes : tuple of int
        Rows of each cluster.
    n_disputed : int
        Rows on which no cluster has three quarters of the votes.
    n_moved : int
        Rows in another cluster than as chosen, clusters being matched so that these are fewest.
    """

    setting: str
    best_k: int
    has_clusters: bool | None
    sizes: tuple[int, ...]
    n_disputed: int
    n_moved: int


@dataclass(frozen=True)
class Sensitivity:
    """The answer under several settings, the one as chosen first.

    Attributes
    ----------
    variations : tuple of Variation
    n_rows : int
    """

    variations: tuple[Variation, ...]
    n_rows: int

    def statement(self) -> str:
        """In one sentence, whether K depends on the settings."""
        chosen, *others = self.variations
        differ = [one for one in others if one.best_k != chosen.best_k]
        if not differ:
            return f"All {len(others)} other settings choose {chosen.best_k} as well."
        named = ", ".join(f"{one.best_k} at {one.setting}" for one in differ)
        agree = len(others) - len(differ)
        return f"{agree} of {len(others)} other settings choose {chosen.best_k} as well; {named}."

    def __str__(self) -> str:
        heads = ("setting", "K", "disputed rows", "moved rows", "sizes")
        lines = [heads]
        for one in self.variations:
            sizes = ", ".join(map(str, one.sizes))
            lines.append(
                (one.setting, str(one.best_k), str(one.n_disputed), str(one.n_moved), sizes)
            )
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = (
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )
        return "\n".join([self.statement(), *padded])


def sensitivity(
    selector: KSelector,
    X: Any,
    *,
    sample_weight: npt.ArrayLike | None = None,
    prior_weights: Iterable[float] = (0.25, 0.75),
    prior_scales: Iterable[float] = (0.5, 4.0),
    draws: Iterable[float] = (0.5, 2.0),
    callbacks: Callable[[int, int], None] | Iterable[Callable[[int, int], None]] | None = None,
) -> Sensitivity:
    """Choose K and cluster again with other omega, s and m, one of them changed at a time.

    Parameters
    ----------
    selector : KSelector
        Fitted, with ``refit=True``.
    X : array-like or data frame of shape (n, d)
        The rows that it was fitted to.
    sample_weight : array-like of shape (n,), optional
        As in its ``fit``; equal by default.
    prior_weights : iterable of float, default=(0.25, 0.75)
        Values of omega, the share of draws that come from the prior.
    prior_scales : iterable of float, default=(0.5, 4)
        Values of s, each for the choice of K and for the model alone.
    draws : iterable of float, default=(0.5, 2)
        Multiples of m, for the choice of K and for the model. More draws than rows are no more in
        the choice, and left out.
    callbacks : callable or list of callables, optional
        Called as ``callback(done, total)`` after every setting.

    Returns
    -------
    Sensitivity
        ``print`` shows it as a table.

    Examples
    --------
    >>> from bbclust import KSelector, sensitivity
    >>> from bbclust.datasets import make_paper_dataset
    >>> X = make_paper_dataset(5, random_state=0).data
    >>> selector = KSelector(k_range=range(2, 7), random_state=0).fit(X)
    >>> print(sensitivity(selector, X, prior_scales=(), draws=()).statement())
    All 2 other settings choose 5 as well.
    """
    check_is_fitted(selector)
    if not hasattr(selector, "best_estimator_"):
        raise ValueError("sensitivity needs a model to compare with: set refit=True.")
    n_rows = len(selector.labels_)
    if len(X) != n_rows:
        raise ValueError(
            f"X has {len(X)} rows and the selector was fitted to {n_rows}: give the same table."
        )
    report = check.check_callbacks(callbacks)
    changes = list(_changes(selector, n_rows, prior_weights, prior_scales, draws))
    variations = [_variation(AS_CHOSEN, selector, selector.labels_)]
    for done, (setting, parameters) in enumerate(changes, start=1):
        other = clone(selector).set_params(
            estimator=clone(selector._estimator_or_default()), n_resamples=0, checkpoint=None
        )
        other.set_params(callbacks=None, **parameters).fit(X, sample_weight=sample_weight)
        variations.append(_variation(setting, other, selector.labels_))
        for callback in report:
            callback(done, len(changes))
    return Sensitivity(tuple(variations), n_rows)


def _changes(
    selector: KSelector,
    n_rows: int,
    prior_weights: Iterable[float],
    prior_scales: Iterable[float],
    draws: Iterable[float],
) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Settings in words, and the parameters that they change."""
    for weight in prior_weights:
        yield f"omega = {weight:g}", {"estimator__prior_weight": weight}
    for scale in prior_scales:
        yield f"s = {scale:g}", {"prior_scales": (scale,), "estimator__prior_scale": scale}
    of_model = selector.best_estimator_.n_draws or n_rows
    for multiple in draws:
        n_draws = round(multiple * selector.n_draws_)
        if n_draws <= selector.n_sample_:
            yield (
                f"m = {multiple:g} times",
                {"n_draws": n_draws, "estimator__n_draws": round(multiple * of_model)},
            )


def _variation(setting: str, selector: KSelector, before: npt.NDArray[np.int64]) -> Variation:
    model = selector.best_estimator_
    overlap = np.zeros((int(before.max()) + 1, model.memberships_.shape[1]))
    np.add.at(overlap, (before, selector.labels_), 1)
    stay = overlap[linear_sum_assignment(-overlap)].sum()
    return Variation(
        setting,
        selector.best_k_,
        selector.verdict_.has_clusters,
        tuple(np.bincount(selector.labels_, minlength=selector.best_k_).tolist()),
        int((model.memberships_.max(axis=1) < CLEAR_SHARE).sum()),
        int(len(before) - stay),
    )
