"""The fitted model behind a display."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from bbclust.diagnostics.filled_rows import fill_at_centers
from bbclust.selection.k_selector import KSelector
from bbclust.stages.table import Floats, has_missing
from bbclust.validation import check_table


def fitted_model(model: Any, *needed: str) -> Any:
    """The model itself, or the best estimator of a selector, if it has what is to be drawn.

    Parameters
    ----------
    model : BBC or KSelector
    *needed : str
        Fitted attributes that the display draws.
    """
    if not isinstance(model, BaseEstimator) or isinstance(model, type):
        raise TypeError(f"model must be a fitted BBC or KSelector, got {model!r}.")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(
            f"This {type(model).__name__} is not fitted yet: call its fit(X) first."
        ) from None
    if isinstance(model, KSelector):
        if not hasattr(model, "best_estimator_"):
            raise AttributeError(
                "This KSelector was fitted with refit=False and has no model to draw: "
                "set refit=True, or fit a BBC with its best_k_."
            )
        model = model.best_estimator_
    for name in needed:
        try:
            getattr(model, name)
        except AttributeError as error:  # a model from a file says why in its own words
            raise AttributeError(
                f"This {type(model).__name__} cannot be drawn: {error}\n"
                "A display can also be made from arrays of your own."
            ) from None
    return model


def rows_of_fit(model: Any, X: Any) -> Floats:
    """X as an array, if it can be the rows that the model or selector was fitted on.

    What a row misses is put at the centres of its clusters.
    """
    fitted = getattr(model, "best_estimator_", model)
    completes = getattr(fitted, "missing", "error") == "draw"
    rows = check_table(model, X, reset=False, allow_missing=completes)
    n = len(model.labels_)
    if len(rows) != n:
        raise ValueError(
            f"X has {len(rows)} rows and the model was fitted on {n}: pass the rows of fit."
        )
    if not has_missing(rows):
        return rows
    return fill_at_centers(rows, fitted.memberships_, fitted.cluster_centers_)


def column_names(model: Any) -> Any:
    """Names of the columns that the model or selector was fitted on; None without."""
    return getattr(model, "feature_names_in_", None)


def uncertainty_of(entropy: Any, n_clusters: int) -> Any:
    """Entropy in bits as a share of the most that K clusters allow, log2 K; zero at K = 1."""
    return np.asarray(entropy) / np.log2(max(n_clusters, 2))
