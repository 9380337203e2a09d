"""Gaussian mixtures: the form of F0 that the engine samples itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bbclust.priors.density import add_by_rank, on_support, rounding, support_of, whitened
from bbclust.priors.storage import PlainData, require, stored_as
from bbclust.stages.bootstrap import MixtureArrays
from bbclust.stages.table import Array, Floats

Labels = npt.NDArray[np.integer]

MAX_LISTED = 10  # components or columns that descriptions spell out


@stored_as("GaussianMixture")
@dataclass(frozen=True)
class GaussianMixture:
    """A mixture of Gaussians, any of which may be singular.

    Attributes
    ----------
    weights : ndarray of shape (components,)
    means : ndarray of shape (components, d)
    factors : tuple of ndarrays of shape (rank, d)
        ``factors[j].T @ factors[j]`` is the covariance of component j. A cluster of fewer points
        than features is described by its points, so the prior never needs more memory than the
        data; a point mass has rank zero.
    """

    weights: Array
    means: Array
    factors: tuple[Array, ...]

    @property
    def n_features(self) -> int:
        return int(self.means.shape[1])

    @property
    def covariances(self) -> Array:
        """Covariances, shape (components, d, d)."""
        return np.stack([factor.T @ factor for factor in self.factors])

    @property
    def standard_deviations(self) -> Array:
        """Standard deviation of every column in every component, shape (components, d)."""
        return np.stack([np.sqrt(np.einsum("rf,rf->f", a, a)) for a in self.factors])

    @cached_property
    def cumulative_weights(self) -> Array:
        return np.cumsum(self.weights) / np.sum(self.weights)

    @cached_property
    def factor_rows(self) -> Array:
        """All factors, one below the other."""
        return np.concatenate(self.factors)

    @cached_property
    def factor_offsets(self) -> npt.NDArray[np.int64]:
        """First row of each factor in ``factor_rows``, and the end of the last."""
        return np.cumsum([0] + [len(factor) for factor in self.factors], dtype=np.int64)

    @cached_property
    def largest_factor(self) -> float:
        """A bound on all standard deviations."""
        largest = float(np.abs(self.factor_rows).max(initial=0.0))
        return largest * float(np.sqrt(self.n_features))

    def engine_mixture(self) -> MixtureArrays:
        """The mixture as the engine draws from it."""
        return MixtureArrays(
            self.cumulative_weights,
            self.means,
            self.factor_rows,
            self.factor_offsets,
            self.largest_factor,
        )

    def to_plain_data(self) -> PlainData:
        """Weights, means, and all factors one below the other."""
        arrays = {
            "weights": self.weights,
            "means": self.means,
            "factor_rows": self.factor_rows,
            "factor_offsets": self.factor_offsets,
        }
        return PlainData(arrays, {})

    @classmethod
    def from_plain_data(cls, data: PlainData, n_features: int) -> GaussianMixture:
        """The mixture that a file describes."""
        means = data.array("means", "<f8", (None, n_features))
        rows = data.array("factor_rows", "<f8", (None, n_features))
        require(len(means) > 0, "its prior has no component")
        weights = data.array("weights", "<f8", (len(means),))
        offsets = data.array("factor_offsets", "<i8", (len(means) + 1,))
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        possible = bool((weights >= 0).all()) and 0 < total < np.inf
        require(possible, "its prior has impossible weights")
        ranks = np.diff(offsets)
        follow = bool(((ranks >= 0) & (ranks <= n_features)).all())
        ends = offsets[0] == 0 and offsets[-1] == len(rows)
        require(follow and ends, "the components of its prior overlap")
        return GaussianMixture(weights, means, tuple(np.split(rows, offsets[1:-1])))

    def scaled(self, scale: float) -> GaussianMixture:
        """The mixture with covariances multiplied by ``scale``."""
        factors = tuple(np.sqrt(scale) * factor for factor in self.factors)
        return GaussianMixture(self.weights, self.means, factors)

    def sample(self, n: int, generator: np.random.Generator) -> Array:
        """n draws, shape (n, d)."""
        centers, noise = self.sample_parts(n, generator)
        return centers + noise

    def sample_parts(self, n: int, generator: np.random.Generator) -> tuple[Array, Array]:
        """Means of the components of n draws, and the deviations from them; (n, d) each."""
        components = generator.choice(len(self.weights), size=n, p=self.weights)
        normals = generator.standard_normal((n, self.n_features))
        return self.means[components], spread_noise(normals, components, self.factors)

    def logpdf(self, X: Floats) -> Array:
        """Log density of rows, shape (n,).

        Singular components count on their supports alone, see :mod:`bbclust.priors.density`.
        """
        return self.log_density(X, log_gaussian)

    def log_density(self, X: Floats, radial: RadialDensity) -> Array:
        """Log density of the mixture whose components have another radial profile."""
        points: Array = np.asarray(X, dtype=np.float64)
        terms = []
        for weight, mean, factor in zip(self.weights, self.means, self.factors, strict=True):
            support = support_of(factor)
            deviations = points - mean
            with np.errstate(over="ignore"):  # far beyond a narrow component: density zero
                squares = np.square(whitened(deviations, support)).sum(axis=1)
            log_density = np.log(weight) - support.log_volume + radial(squares, support.rank)
            on = on_support(deviations, support, rounding(points) + rounding(mean[None]))
            terms.append((support.rank, np.where(on, log_density, -np.inf)))
        return add_by_rank(terms)

    def describe(self) -> str:
        """The mixture in words."""
        return f"Gaussian mixture, {self.describe_components()}"

    def describe_components(self, spread: str = "standard deviations") -> str:
        """Number and size of the components, and a line for each."""
        count = len(self.weights)
        lines = [f"{count} component{'s'[: count != 1]} in {self.n_features} dimensions"]
        rows = zip(self.weights, self.means, self.standard_deviations, strict=True)
        for j, (weight, mean, deviations) in enumerate(rows):
            if j == MAX_LISTED:
                lines.append(f"  and {count - j} more")
                break
            lines.append(
                f"  {j}: weight {weight:.3g}, mean {listed(mean)}, {spread} {listed(deviations)}"
            )
        return "\n".join(lines)


def spread_noise(normals: Array, components: Labels, factors: tuple[Array, ...]) -> Array:
    """Standard normal rows with the covariance of each row's component, shape (n, d)."""
    noise = np.zeros(normals.shape)
    for j, factor in enumerate(factors):
        mine = components == j
        # not @: draws made here are results, and BLAS gives other bits for other threads
        noise[mine] = np.einsum("ir,rf->if", normals[mine, : len(factor)], factor)
    return noise


class RadialDensity(Protocol):
    """Log density by squared distance in standard deviations and dimension, at volume one."""

    def __call__(self, squares: Array, rank: int) -> Array: ...


def log_gaussian(squares: Array, rank: int) -> Array:
    """The profile of a Gaussian."""
    return np.asarray(-0.5 * (squares + rank * np.log(2 * np.pi)))


def listed(values: Array) -> str:
    """A few numbers in brackets."""
    shown = [f"{value:.3g}" for value in values[:MAX_LISTED]]
    return f"({', '.join(shown)}{', ...' if len(values) > MAX_LISTED else ''})"
