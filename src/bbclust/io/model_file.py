"""What a model file holds: a fitted model as plain data, without any row it was fitted to.

Schema 1. A later schema gets a reader of its own beside :func:`_from_archive`; files of this one
stay readable (``tests/golden/model_schema_1.bbc``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust.ensemble.predictors import CenterPredictors
from bbclust.io.archive import (
    Archive,
    ArchiveError,
    check_array,
    read_archive,
    require,
    write_archive,
)
from bbclust.priors import PlainData, StorablePrior
from bbclust.priors.storage import is_storable, restore_prior, stored_kind
from bbclust.stages.missing_values import MissingModel
from bbclust.validation import MAX_CLUSTERS
from bbclust.version import __version__

SCHEMA = 1
PRECISIONS = ("float64", "float32")

_PRIOR = "prior_"  # begins the names of its arrays
_MISSING = "missing_"  # begins those of the model of missing values
_UNNAMED_KIND = "GaussianMixture"  # the prior of a file that names no kind

# Fitted attributes that are arrays: their type, and their shape in B replicas, K clusters,
# d features.
RESULT_ARRAYS = {
    "reference_centers_": ("<f8", "Kd"),
    "cluster_centers_": ("<f8", "Kd"),
    "cluster_shares_": ("<f8", "K"),
    "cluster_rows_": ("<f8", "K"),
    "pairwise_entropy_": ("<f8", "KK"),
    "pair_doubt_": ("<f8", "KK"),
    "alignment_margin_": ("<f8", "B"),
    "replica_n_iter_": ("<i4", "B"),
}
# Fitted attributes that are single numbers; a float that is NaN is null in the file.
RESULT_NUMBERS = {
    "variance_ratio_": float,
    "center_variance_ratio_": float,
    "mean_entropy_": float,
    "mean_entropy_bias_": float,
    "mean_entropy_se_": float,
    "max_pairwise_entropy_": float,
    "max_pairwise_entropy_se_": float,
    "max_pair_doubt_": float,
    "max_pair_doubt_bias_": float,
    "max_pair_doubt_se_": float,
    "n_undrawn_": int,
    "n_abstentions_": int,
    "n_abstained_votes_": int,
    "n_failed_": int,
    "n_iter_": int,
}
MAY_BE_NAN = ("alignment_margin_", "cluster_rows_")
# Those of them that are deprecated: read from older files, and no longer written.
DEPRECATED_RESULTS = ("max_pairwise_entropy_se_",)


class Unstored:
    """Stands for a parameter that a model file cannot hold; a fit with it is refused.

    Examples
    --------
    >>> Unstored("KernelPrior")
    <KernelPrior, not stored in the model file: set this parameter anew>
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind}, not stored in the model file: set this parameter anew>"


@dataclass(frozen=True)
class StoredModel:
    """A fitted model as plain data.

    Attributes
    ----------
    estimator : str
        Name of its class.
    parameters : dict
        None, booleans, numbers, words, and :class:`Unstored` for everything else.
    dtype : str
        Type of the rows it was fitted to, "float32" or "float64".
    feature_names : tuple of str or None
    predictors : CenterPredictors
    prior : StorablePrior, Unstored or None
        The prepared prior.
    results : dict
        Fitted attributes: those of :data:`RESULT_ARRAYS` and :data:`RESULT_NUMBERS` that the
        model has, and ``worst_pair_``.
    metadata : dict
        What whoever saved the model wrote about it.
    """

    estimator: str
    parameters: dict[str, Any]
    dtype: str
    feature_names: tuple[str, ...] | None
    predictors: CenterPredictors
    prior: StorablePrior | Unstored | None
    results: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict)


def write_model(path: str | os.PathLike[str], model: StoredModel, *, precision: str) -> None:
    """Write a model file, whole or not at all."""
    write_archive(path, _to_archive(model, precision))


def read_model(path: str | os.PathLike[str]) -> StoredModel:
    """Read a model file; :class:`~bbclust.io.archive.ArchiveError` if it is not one."""
    return _from_archive(read_archive(path, "model", SCHEMA))


def storable(value: object) -> Any:
    """A parameter as JSON can hold it, :class:`Unstored` if it cannot."""
    if value is None or isinstance(value, bool | str | Unstored):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and np.isfinite(float(value)):
        return float(value)
    return Unstored(type(value).__name__)


def check_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Plain data that come out of a file as they went in."""
    stored = {} if metadata is None else dict(metadata)
    try:
        same = json.loads(json.dumps(stored, allow_nan=False)) == stored
    except (TypeError, ValueError) as error:
        raise ValueError(f"metadata cannot be written as JSON ({error}): {_PLAIN_DATA}.") from None
    if not same:
        raise ValueError(f"metadata would come back changed from JSON: {_PLAIN_DATA}.")
    return stored


def _to_archive(model: StoredModel, precision: str) -> Archive:
    predictors, results = model.predictors, model.results
    centers = predictors.centers
    if precision == "float32":  # from the origin: far from zero, float32 is coarse
        centers = (centers - predictors.origin).astype(np.float32)
    arrays: dict[str, npt.NDArray[Any]] = {
        "replica_centers_": centers,
        "occupied": predictors.occupied,
        "origin": predictors.origin,
    }
    if predictors.missing is not None:
        arrays |= {_MISSING + name: v for name, v in vars(predictors.missing).items()}
    arrays |= {name: results[name] for name in RESULT_ARRAYS if name in results}
    details: dict[str, Any] = {}
    if is_storable(model.prior):
        stored = model.prior.to_plain_data()
        arrays |= {_PRIOR + name: values for name, values in stored.arrays.items()}
        details = {"kind": stored_kind(model.prior), **stored.details}
    unstored = {k: v.kind for k, v in model.parameters.items() if isinstance(v, Unstored)}
    numbers = {
        name: kind(results[name]) for name, kind in RESULT_NUMBERS.items() if name in results
    }
    header: dict[str, Any] = {
        "bbclust_version": __version__,
        "estimator": model.estimator,
        "parameters": {k: v for k, v in model.parameters.items() if k not in unstored},
        "unstored_parameters": unstored,
        "unstored_prior": model.prior.kind if isinstance(model.prior, Unstored) else None,
        "dtype": model.dtype,
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "numbers": {k: None if np.isnan(v) else v for k, v in numbers.items()},
    }
    if "worst_pair_" in results:
        header["worst_pair_"] = results["worst_pair_"]
    if details and details["kind"] != _UNNAMED_KIND:
        header["prior"] = details
    if predictors.missing is not None:
        header["missing_seed"] = predictors.seed
    if model.metadata:
        header["metadata"] = model.metadata
    return Archive("model", SCHEMA, header, arrays)


def _from_archive(archive: Archive) -> StoredModel:
    header, arrays = archive.header, dict(archive.arrays)
    predictors = _with_missing(_predictors(arrays), header, arrays)
    _, K, d = predictors.centers.shape
    prior: StorablePrior | Unstored | None = _prior(header, arrays, d)
    kind = _text_or_none(header, "unstored_prior")
    if kind is not None:
        require(prior is None, "it has a prior and says it has none")
        prior = Unstored(kind)
    results = _result_arrays(arrays, predictors.centers.shape) | _result_numbers(header)
    require(not arrays, "it holds an array that no model has")
    require("reference_centers_" in results, "it has no reference centres")
    if "worst_pair_" in header:
        results["worst_pair_"] = _worst_pair(header["worst_pair_"], K)
    return StoredModel(
        estimator=_text(header, "estimator"),
        parameters=_parameters(header),
        dtype=_dtype(header),
        feature_names=_feature_names(header, d),
        predictors=predictors,
        prior=prior,
        results=results,
        metadata=_table(header, "metadata") if "metadata" in header else {},
    )


def _predictors(arrays: dict[str, npt.NDArray[Any]]) -> CenterPredictors:
    for name in ("replica_centers_", "occupied", "origin"):
        require(name in arrays, f"it has no {name.strip('_')}")
    centers = arrays.pop("replica_centers_")
    occupied, origin = arrays.pop("occupied"), arrays.pop("origin")
    require(centers.ndim == 3 and 0 not in centers.shape, "it has no centres")
    require(centers.shape[1] <= MAX_CLUSTERS, "it has too many clusters")
    require(centers.dtype in (np.float64, np.float32), "its centres are not numbers")
    check_array(occupied, "|b1", centers.shape[:2])
    check_array(origin, "<f8", centers.shape[2:])
    require(bool(occupied.any()), "it has no cluster")  # a single replica may have failed
    with np.errstate(over="ignore", invalid="ignore"):
        if centers.dtype == np.float32:
            centers = centers + origin
        squares = np.square(centers - origin).sum(axis=2)  # what variances are made of
    require(
        bool(np.isfinite(squares).all()), "its centres are not finite numbers, or too far apart"
    )
    return CenterPredictors(centers, occupied, origin)


def _with_missing(
    predictors: CenterPredictors, header: Mapping[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> CenterPredictors:
    """With the model of missing values, if the file has one; its arrays are taken out."""
    if "missing_seed" not in header:
        return predictors
    seed = header["missing_seed"]
    require(type(seed) is int and 0 <= seed < 2**63, "its seed is not a number")
    _, K, d = predictors.centers.shape
    values = {}
    for name, shape in {"weights": (K,), "means": (K, d), "covariances": (K, d, d)}.items():
        require(_MISSING + name in arrays, "its model of missing values is not complete")
        values[name] = arrays.pop(_MISSING + name)
        check_array(values[name], "<f8", shape)
        require(bool(np.isfinite(values[name]).all()), "its missing values are not finite")
    require(bool((values["weights"] > 0).all()), "its missing values have impossible weights")
    variances = np.diagonal(values["covariances"], axis1=1, axis2=2)
    require(bool((variances >= 0).all()), "its missing values have impossible variances")
    return replace(predictors, missing=MissingModel(**values), seed=seed)


def _prior(
    header: Mapping[str, Any], arrays: dict[str, npt.NDArray[Any]], d: int
) -> StorablePrior | None:
    """The prior that a file describes, None if it describes none; its arrays are taken out."""
    details = _table(header, "prior") if "prior" in header else {}
    names = [name for name in arrays if name.startswith(_PRIOR)]
    own = {name.removeprefix(_PRIOR): arrays.pop(name) for name in names}
    if not own and not details:
        return None
    kind = _text(details, "kind") if details else _UNNAMED_KIND
    try:
        return restore_prior(kind, PlainData(own, details), d)
    except ValueError as error:
        raise ArchiveError(str(error).rstrip(".")) from None


def _result_arrays(
    arrays: dict[str, npt.NDArray[Any]], shape: tuple[int, int, int]
) -> dict[str, npt.NDArray[Any]]:
    lengths = dict(zip("BKd", shape, strict=True))
    results = {}
    for name, (dtype, axes) in RESULT_ARRAYS.items():
        if name in arrays:
            values = results[name] = arrays.pop(name)
            check_array(values, dtype, tuple(lengths[axis] for axis in axes))
            # the margin of an alignment may be undefined
            known = name in MAY_BE_NAN or bool(np.isfinite(values).all())
            require(known, f"{name} holds NaN or infinity")
    return results


def _result_numbers(header: Mapping[str, Any]) -> dict[str, Any]:
    numbers = _table(header, "numbers")
    require(numbers.keys() <= RESULT_NUMBERS.keys(), _UNKNOWN)
    results: dict[str, Any] = {}
    for name, value in numbers.items():
        if RESULT_NUMBERS[name] is float and value is None:
            value = float("nan")
        require(type(value) is RESULT_NUMBERS[name], f"{name} is not a number")
        results[name] = value
    return results


def _parameters(header: Mapping[str, Any]) -> dict[str, Any]:
    stored, unstored = _table(header, "parameters"), _table(header, "unstored_parameters")
    plain = all(value is None or isinstance(value, _PLAIN) for value in stored.values())
    require(plain and all(isinstance(kind, str) for kind in unstored.values()), _UNKNOWN)
    require(not stored.keys() & unstored.keys(), _UNKNOWN)
    return stored | {name: Unstored(kind) for name, kind in unstored.items()}


def _feature_names(header: Mapping[str, Any], d: int) -> tuple[str, ...] | None:
    names = header.get("feature_names")
    if names is None:
        return None
    require(isinstance(names, list) and len(names) == d, f"it does not name its {d} features")
    require(all(isinstance(name, str) for name in names), "its features have no names")
    return tuple(names)


def _worst_pair(pair: Any, n_clusters: int) -> tuple[int, int] | None:
    if pair is None:
        return None
    require(isinstance(pair, list) and len(pair) == 2, _UNKNOWN)
    require(all(type(k) is int and 0 <= k < n_clusters for k in pair), _UNKNOWN)
    return pair[0], pair[1]


def _table(header: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = header.get(name)
    if not isinstance(value, dict):
        raise ArchiveError(f"its {name} are missing")
    return value


def _dtype(header: Mapping[str, Any]) -> str:
    dtype = _text(header, "dtype")
    require(dtype in PRECISIONS, "the type of its rows is unknown")
    return dtype


def _text(header: Mapping[str, Any], name: str) -> str:
    value = _text_or_none(header, name)
    require(value is not None, f"its {name} is missing")
    return str(value)


def _text_or_none(header: Mapping[str, Any], name: str) -> str | None:
    value = header.get(name)
    require(value is None or isinstance(value, str), f"its {name} is not a word")
    return value


_PLAIN_DATA = "give a dict of words, numbers, lists and such dicts, with words as names"
_PLAIN = (bool, int, float, str)
_UNKNOWN = "its header is not that of a model"
