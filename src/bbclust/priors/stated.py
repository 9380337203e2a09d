"""Components as an expert states them: checked, with weights that sum to one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bbclust.priors.covariances import semidefinite_factor
from bbclust.priors.gaussian import GaussianMixture
from bbclust.stages.table import Array

LARGEST = 1e150  # squares of larger numbers overflow


class Components(NamedTuple):
    """Weights (components,), means (components, d) and matrices (components, d, d)."""

    weights: Array
    means: Array
    matrices: Array

    def mixture(self) -> GaussianMixture:
        """The Gaussian mixture with these matrices as covariances."""
        factors = tuple(semidefinite_factor(matrix) for matrix in self.matrices)
        return GaussianMixture(self.weights, self.means, factors)


def check_components(weights: Any, means: Any, matrices: Any, *, name: str) -> Components:
    """Components that can be sampled; ``name`` is what the matrices are called."""
    given = Components(
        _numbers(weights, "weights"), _numbers(means, "means"), _numbers(matrices, name)
    )
    _check_shapes(given, name)
    for of_what, values, limit in (
        ("weights", given.weights, np.inf),
        ("means", given.means, LARGEST),
        (name, given.matrices, LARGEST**2),
    ):
        if not np.isfinite(values).all():
            raise ValueError(f"{of_what} of the prior hold NaN or infinity: give finite numbers.")
        largest = np.abs(values).max()
        if largest > limit:
            raise ValueError(
                f"{of_what} of the prior are as large as {largest:g}, too large to compute with: "
                "give them in the units of the data."
            )
    for j, matrix in enumerate(given.matrices):
        _check_semidefinite(matrix, f"{name.removesuffix('s').capitalize()} {j} of the prior")
    return given._replace(weights=_check_weights(given.weights))


def _numbers(values: Any, name: str) -> Array:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} of the prior must be an array of numbers, got {values!r}."
        ) from None


def _check_shapes(given: Components, name: str) -> None:
    if given.means.ndim != 2 or 0 in given.means.shape:
        raise ValueError(
            f"means must have shape (components, features), got shape {given.means.shape}."
        )
    components, d = given.means.shape
    if given.weights.shape != (components,):
        raise ValueError(
            f"{components} means need {components} weights, got shape {given.weights.shape}."
        )
    if given.matrices.shape != (components, d, d):
        raise ValueError(
            f"{name} must have shape {(components, d, d)} to go with means of shape "
            f"{given.means.shape}, got {given.matrices.shape}."
        )


def _check_weights(weights: Array) -> Array:
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise ValueError(
            f"weights of the prior overflow when summed, the largest is {weights.max():g}: "
            "give smaller ones."
        )
    if not (weights > 0).all():
        raise ValueError(
            f"weights of the prior must be positive, got {weights.min():g}: "
            "leave out components of weight zero."
        )
    shares = np.asarray(weights / total)
    if not (shares > 0).all():
        raise ValueError(
            f"weights of the prior, from {weights.min():g} to {weights.max():g}, are so different "
            "that the smallest vanish beside the largest: leave these components out."
        )
    return shares


def _check_semidefinite(matrix: Array, what: str) -> None:
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=0.0):
        raise ValueError(f"{what} is not symmetric: symmetrise it.")
    spectrum = np.linalg.eigvalsh(matrix)
    if spectrum[0] < -1e-8 * max(spectrum[-1], 0.0) or spectrum[-1] < 0:
        raise ValueError(
            f"{what} has the negative eigenvalue {spectrum[0]:g}: "
            "give a positive semi-definite matrix."
        )
