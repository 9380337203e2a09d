"""How a fitted model becomes plain data and comes out of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from bbclust.ensemble.fitted_state import FittedState
from bbclust.ensemble.predictors import CenterPredictors
from bbclust.io.model_file import (
    DEPRECATED_RESULTS,
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


def save_model(
    path: str | os.PathLike[str],
    model: Any,
    *,
    precision: str,
    metadata: Mapping[str, Any] | None,
) -> None:
    """Write a fitted model to one file, whole or not at all."""
    check_choice("precision", precision, PRECISIONS)
    if metadata is None and model._state.source == "file":  # a later fit makes it untrue
        metadata = model.metadata_
    write_model(path, to_plain_data(model, check_metadata(metadata)), precision=precision)


def to_plain_data(model: Any, metadata: dict[str, Any]) -> StoredModel:
    """A fitted model as plain data; what of it cannot be stored is refused or named."""
    if not type(model).__module__.startswith("bbclust."):
        raise ValueError(
            f"{type(model).__name__} is a class of yours, which load_model does not know: "
            "keep the object itself by pickle."
        )
    state: FittedState = model._state
    if not isinstance(state.predictors, CenterPredictors):
        raise ValueError(
            "The replicas of this model vote by fitted clusterers, and a model file holds "
            "centres only: leave clusterer=None, or keep the object itself by pickle."
        )
    saved_as = model._saved_as()
    stored_parameters = saved_as().get_params(deep=False)
    names = getattr(model, "feature_names_in_", None)
    known = (*RESULT_ARRAYS, *RESULT_NUMBERS, "worst_pair_")
    return StoredModel(
        estimator=saved_as.__name__,
        parameters={
            name: storable(value)
            for name, value in model.get_params(deep=False).items()
            if name in stored_parameters and name != "callbacks"  # who watches is no part of it
        },
        dtype=state.dtype,
        feature_names=None if names is None else tuple(map(str, names)),
        predictors=state.predictors,
        prior=_storable_prior(model),
        results={
            name: getattr(model, name)
            for name in known
            if name not in DEPRECATED_RESULTS and hasattr(model, name)
        },
        metadata=metadata,
    )


def _storable_prior(model: Any) -> Any:
    if model._state.unstored_prior is not None:
        return Unstored(model._state.unstored_prior)
    prior = model.prior_
    return prior if prior is None or is_storable(prior) else Unstored(type(prior).__name__)


def from_plain_data(estimator: Any, stored: StoredModel) -> Any:
    """The model that plain data describe; ValueError for impossible parameters."""
    unknown = stored.parameters.keys() - estimator().get_params(deep=False).keys()
    if unknown:
        raise ValueError(f"{estimator.__name__} has no parameter {min(unknown)!r}")
    unstored = {k: v for k, v in stored.parameters.items() if isinstance(v, Unstored)}
    model = estimator(**{k: v for k, v in stored.parameters.items() if k not in unstored})
    model._check_parameters()
    model.set_params(**unstored)
    predictors, prior = stored.predictors, stored.prior
    model._state = FittedState(
        predictors,
        predictors.occupied,
        stored.dtype,
        source="file",
        unstored_prior=prior.kind if isinstance(prior, Unstored) else None,
    )
    for name, value in stored.results.items():
        setattr(model, name, value)
    model.metadata_ = stored.metadata
    model.replica_centers_ = predictors.centers
    model.n_replicas_, _, model.n_features_in_ = predictors.centers.shape
    if stored.feature_names is not None:
        model.feature_names_in_ = np.array(stored.feature_names, dtype=object)
    if not isinstance(prior, Unstored):
        model.prior_ = prior
    return model
