"""A fitted model: its state, its rows if they are at hand, and what it says where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.ensemble.fitted_state import WITHOUT_ROWS, FitRecord, FittedState
from bbclust.stages.table import Floats

# Rows that are judged together: few enough to stay in cache.
ROWS_AT_ONCE = 65_536


class ByRow:
    """A fitted attribute of the rows of ``fit``: a model loaded from a file says that it has none.

    It has no ``__set__``, so what ``fit`` sets on the model itself comes first.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: FittedModel | None, owner: type) -> Any:
        if model is None:
            return self
        if hasattr(model, "_state"):
            model._rows_of_fit(self._name)
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")


class StoredPrior(ByRow):
    """The prepared prior: a model loaded from a file that could not hold it says so."""

    def __get__(self, model: FittedModel | None, owner: type) -> Any:
        if model is not None and hasattr(model, "_state") and model._state.unstored_prior:
            raise AttributeError(
                f"prior_ of this model was a {model._state.unstored_prior}, which its file does "
                "not hold: prepare that prior again."
            )
        return super().__get__(model, owner)


class FittedModel(BaseEstimator):  # type: ignore[misc]
    """What every question to a fitted model starts from.

    ``fit`` of an estimator sets the fitted attributes and ``_state``, what can answer questions.
    """

    n_jobs: int | None
    _state: FittedState
    labels_: Any = ByRow()
    memberships_: Any = ByRow()
    entropy_: Any = ByRow()
    n_votes_: Any = ByRow()
    mc_trace_: Any = ByRow()
    reference_labels_: Any = ByRow()
    trimmed_: Any = ByRow()
    prior_: Any = StoredPrior()
    metadata_: dict[str, Any]

    @property
    def has_rows_of_fit(self) -> bool:
        """Whether the rows of ``fit`` are at hand; not in a model loaded from a file."""
        check_is_fitted(self)
        return self._state.record is not None

    def was_fitted_to(self, X: Floats) -> bool:
        """Whether X is, to a rounding, the table that was clustered.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows, of float32 or float64.

        Returns
        -------
        bool

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> X = load_iris().data
        >>> model = BBC(3, random_state=0).fit(X)
        >>> model.was_fitted_to(X), model.was_fitted_to(X + 1)
        (True, False)
        """
        return self._rows_of_fit("was_fitted_to").rows.are(X)

    def fit_rows(self) -> Floats:
        """The rows of ``fit``, to a rounding.

        Returns
        -------
        ndarray of shape (n, d)
            NaN where values were missing.

        Examples
        --------
        >>> from bbclust import BBC
        >>> model = BBC(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
        >>> model.fit_rows().shape
        (4, 1)
        """
        return self._rows_of_fit("fit_rows").rows.original()

    def fit_weights(self) -> npt.NDArray[np.float64] | None:
        """Weights of the rows of ``fit``, as the model uses them.

        Returns
        -------
        ndarray of shape (n,), or None
            ``sample_weight`` with a mean of one over the rows that count; rows that ``trim`` left
            out have 0. None when all count the same.

        Examples
        --------
        >>> from bbclust import BBC
        >>> X = [[0.0], [1.0], [8.0], [9.0]]
        >>> model = BBC(2, votes="all", random_state=0).fit(X, sample_weight=[1, 1, 1, 3])
        >>> model.fit_weights().round(2)
        array([0.67, 0.67, 0.67, 2.  ])
        """
        return self._rows_of_fit("fit_weights").rows.weights()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def _rows_of_fit(self, what: str) -> FitRecord:
        """The fit, for what cannot be answered without the rows that were clustered."""
        check_is_fitted(self)
        if self._state.record is None:
            raise AttributeError(f"{what} {WITHOUT_ROWS[self._state.source]}")
        return self._state.record

    def _check_rows(self, X: Any) -> Floats:
        """Rows other than those of ``fit``: incomplete ones where replicas complete them."""
        completes = getattr(self._state.predictors, "missing", None) is not None
        return check.check_table(self, X, reset=False, allow_missing=completes)

    def _in_precision_of_fit(self, rows: Floats) -> Floats:
        """Rows of float32 as float64 if the model is: its centres may be too close for float32."""
        return rows.astype(np.result_type(rows.dtype, self._state.dtype), copy=False)
