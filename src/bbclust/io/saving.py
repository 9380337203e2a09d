"""How a fitted model goes into a file and comes out of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bbclust.ensemble.predictors import CenterPredictors, ReplicaPredictors
from bbclust.io.model_file import (
    PRECISIONS,
    RESULT_ARRAYS,
    RESULT_NUMBERS,
    StoredModel,
    Unstored,
    check_metadata,
    storable,
    write_model,
)
from bbclust.priors.storage import is_storable
from bbclust.validation import check_choice

Model = TypeVar("Model", bound="SavedToFile")


class SavedToFile(BaseEstimator):  # type: ignore[misc]
    """Base of estimators whose fitted models can be saved.

    A subclass sets the fitted attributes named in :mod:`bbclust.io.model_file`, has ``_run``, what the
    replicas depend on, ``_rows_of_fit``, which says that a loaded model lacks it, and
    ``_check_parameters``.
    """

    replica_centers_: npt.NDArray[np.float64]
    _predictors: ReplicaPredictors
    _run: Any
    _dtype: str
    _unstored_prior: Unstored
    metadata_: dict[str, Any]

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        precision: str = "float64",
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the model to one file, whole or not at all.

        The file holds what is needed to predict and to describe the model, and no row that it was
        fitted to; :func:`bbclust.load_model` reads it. It is checksummed and safe to open:
        arrays and JSON, nothing that could be executed.

        Parameters
        ----------
        path : str or path
            Replaced if it exists.
        precision : {"float64", "float32"}, default="float64"
            Of the replicas' centres, which are most of the file. "float32" halves it, and a row
            as far from two centres to seven digits may then get another vote.
        metadata : dict, optional
            What you want to keep with the model, such as units or the scaling of columns: words,
            numbers, lists and dicts. A loaded model has it as ``metadata_``, and keeps it when it
            is saved again without another.

        Examples
        --------
        >>> import os, tempfile
        >>> from bbclust import BBC, load_model
        >>> from bbclust.datasets import load_iris
        >>> X = load_iris().data
        >>> model = BBC(n_clusters=3, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "iris.bbc")
        ...     model.save(path)
        ...     loaded = load_model(path)
        >>> bool((loaded.predict_proba(X) == model.predict_proba(X)).all())
        True
        """
        check_is_fitted(self)
        check_choice("precision", precision, PRECISIONS)
        if metadata is None and not hasattr(self, "_run"):  # not what a later fit made untrue
            metadata = self.metadata_
        stored = replace(self._to_store(), metadata=check_metadata(metadata))
        write_model(path, stored, precision=precision)

    def _to_store(self) -> StoredModel:
        """The model as plain data."""
        if not type(self).__module__.startswith("bbclust."):
            raise ValueError(
                f"{type(self).__name__} is a class of yours, which load_model does not know: "
                "keep the object itself by pickle."
            )
        if not isinstance(self._predictors, CenterPredictors):
            raise ValueError(
                "The replicas of this model vote by fitted clusterers, and a model file holds "
                "centres only: leave clusterer=None, or keep the object itself by pickle."
            )
        prior = vars(self).get("prior_", getattr(self, "_unstored_prior", None))
        if not (prior is None or isinstance(prior, Unstored) or is_storable(prior)):
            prior = Unstored(type(prior).__name__)
        parameters = self.get_params(deep=False)
        parameters.pop("callbacks", None)  # whoever watches the fit is no part of the model
        names = getattr(self, "feature_names_in_", None)
        known = (*RESULT_ARRAYS, *RESULT_NUMBERS, "worst_pair_")
        return StoredModel(
            estimator=type(self).__name__,
            parameters={name: storable(value) for name, value in parameters.items()},
            dtype=self._run.table.rows.dtype.name if hasattr(self, "_run") else self._dtype,
            feature_names=None if names is None else tuple(map(str, names)),
            predictors=self._predictors,
            prior=prior,
            results={name: getattr(self, name) for name in known if hasattr(self, name)},
        )

    @classmethod
    def _from_store(cls: type[Model], stored: StoredModel) -> Model:
        """The model that plain data describe; ValueError for impossible parameters."""
        unknown = stored.parameters.keys() - cls._get_param_names()
        if unknown:
            raise ValueError(f"{cls.__name__} has no parameter {min(unknown)!r}")
        unstored = {k: v for k, v in stored.parameters.items() if isinstance(v, Unstored)}
        model = cls(**{k: v for k, v in stored.parameters.items() if k not in unstored})
        model._check_parameters()
        model.set_params(**unstored)
        for name, value in stored.results.items():
            setattr(model, name, value)
        model._predictors, model._dtype = stored.predictors, stored.dtype
        model.metadata_ = stored.metadata
        model.replica_centers_ = stored.predictors.centers
        model.n_replicas_, _, model.n_features_in_ = stored.predictors.centers.shape
        if stored.feature_names is not None:
            model.feature_names_in_ = np.array(stored.feature_names, dtype=object)
        if isinstance(stored.prior, Unstored):
            model._unstored_prior = stored.prior
        else:
            model.prior_ = stored.prior
        return model

    def _check_parameters(self) -> None:
        """Refuse impossible parameters with a sentence."""
        raise NotImplementedError

    def _rows_of_fit(self, what: str) -> Any:
        raise NotImplementedError


class NotInFiles:
    """A fitted attribute that model files leave out: in a loaded model it says so.

    It has no ``__set__``, so what ``fit`` sets on the model itself comes first.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: SavedToFile | None, owner: type) -> Any:
        if model is None:
            return self
        if hasattr(model, "_predictors"):
            model._rows_of_fit(self._name)
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")


class PriorOfFile(NotInFiles):
    """The prepared prior: model files hold it if it is a mixture."""

    def __get__(self, model: SavedToFile | None, owner: type) -> Any:
        if model is not None and hasattr(model, "_unstored_prior"):
            raise AttributeError(
                f"prior_ of this model was a {model._unstored_prior.kind}, and model files hold "
                "mixtures only: prepare that prior again."
            )
        return super().__get__(model, owner)
