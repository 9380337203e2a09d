"""How a prepared prior is stored in a model file: mixtures, which are plain arrays.

Kernel densities are not stored, because they hold rows of the data; nor are functions and
distributions of scipy, because a file that is safe to open cannot hold code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust.io.archive import check_array, require
from bbclust.priors import CarriedMixture, GaussianMixture, StudentMixture

StoredPrior = GaussianMixture | StudentMixture

_ARRAYS = ("prior_weights", "prior_means", "prior_factor_rows", "prior_factor_offsets")
_IMPOSSIBLE = "its prior is of an impossible kind"


def is_storable(prior: object) -> bool:
    """Whether a file can hold it; by its very type, since a subclass may draw otherwise."""
    return type(prior) in (GaussianMixture, StudentMixture, CarriedMixture)


def prior_arrays(prior: StoredPrior) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a prior, by their names in the file."""
    core = prior.core if isinstance(prior, StudentMixture) else prior
    arrays = (core.weights, core.means, core.factor_rows, core.factor_offsets)
    return dict(zip(_ARRAYS, arrays, strict=True))


def prior_details(prior: StoredPrior) -> dict[str, Any]:
    """What there is besides arrays; nothing for a Gaussian mixture."""
    if isinstance(prior, StudentMixture):
        return {"kind": "StudentMixture", "df": float(prior.df)}
    if isinstance(prior, CarriedMixture):
        return {
            "kind": "CarriedMixture",
            "matched": [[int(new), int(old)] for new, old in prior.matched.items()],
            "new_clusters": [int(k) for k in prior.new_clusters],
            "vanished_clusters": [int(k) for k in prior.vanished_clusters],
        }
    return {}


def prior_of(
    arrays: dict[str, npt.NDArray[Any]], details: Mapping[str, Any], n_features: int
) -> StoredPrior | None:
    """The prior that a file describes, None if it describes none; its arrays are taken out."""
    found = [arrays.pop(name) for name in _ARRAYS if name in arrays]
    if not found:
        require(not details, "its prior has no arrays")
        return None
    require(len(found) == len(_ARRAYS), "its prior is not complete")
    core = _mixture(found, n_features)
    if not details:
        return core
    kind = details.get("kind")
    if kind == "StudentMixture":
        df = details.get("df")
        require(type(df) is float and 0 < df < np.inf, _IMPOSSIBLE)
        return StudentMixture(core, float(details["df"]))
    require(kind == "CarriedMixture", _IMPOSSIBLE)
    matched = details.get("matched")
    require(isinstance(matched, list), _IMPOSSIBLE)
    pairs = [_whole(pair) for pair in details["matched"]]
    require(all(len(pair) == 2 for pair in pairs), _IMPOSSIBLE)
    return CarriedMixture(
        core.weights,
        core.means,
        core.factors,
        matched={pair[0]: pair[1] for pair in pairs},
        new_clusters=_whole(details.get("new_clusters")),
        vanished_clusters=_whole(details.get("vanished_clusters")),
    )


def _mixture(arrays: list[npt.NDArray[Any]], d: int) -> GaussianMixture:
    weights, means, rows, offsets = arrays
    require(means.ndim == rows.ndim == 2 and len(means) > 0, "its prior has no component")
    n_components, n_rows = len(means), len(rows)
    check_array(weights, "<f8", (n_components,))
    check_array(means, "<f8", (n_components, d))
    check_array(rows, "<f8", (n_rows, d))
    check_array(offsets, "<i8", (n_components + 1,))
    finite = all(bool(np.isfinite(values).all()) for values in (weights, means, rows))
    require(finite, "its prior is not finite")
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    require(bool((weights >= 0).all()) and 0 < total < np.inf, "its prior has impossible weights")
    inside = bool(((offsets >= 0) & (offsets <= n_rows)).all())
    ends = offsets[0] == 0 and offsets[-1] == n_rows
    require(inside and ends, "the components of its prior overlap")
    ranks = np.diff(offsets)
    require(bool(((ranks >= 0) & (ranks <= d)).all()), "the components of its prior overlap")
    return GaussianMixture(weights, means, tuple(np.split(rows, offsets[1:-1])))


def _whole(numbers: Any) -> tuple[int, ...]:
    plain = isinstance(numbers, list) and all(type(k) is int and k >= 0 for k in numbers)
    require(plain, _IMPOSSIBLE)
    return tuple(numbers)
