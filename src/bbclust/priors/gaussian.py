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
    r"""A mixture of Gaussians, any of which may be singular.

    .. math:: F_0 = \sum_j p_j\, N(\mu_j, A_j' A_j)

    Attributes
    ----------
    weights : ndarray of shape (components,)
        p, positive numbers with sum one.
    means : ndarray of shape (components, d)
        In the units of the data.
    factors : tuple of ndarrays of shape (rank, d)
        A, one per component: ``factors[j].T @ factors[j]`` is the covariance of component j. A
        cluster of fewer points than features is described by its points, so the prior never needs
        more memory than the data; a point mass has rank zero.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.priors import GaussianMixture
    >>> mixture = GaussianMixture(
    ...     weights=np.array([0.25, 0.75]),
    ...     means=np.array([[0.0, 0.0], [9.0, 9.0]]),
    ...     factors=(np.eye(2), 0.5 * np.eye(2)),
    ... )
    >>> print(mixture.describe())
    Gaussian mixture, 2 components in 2 dimensions
      0: weight 0.25, mean (0, 0), standard deviations (1, 1)
      1: weight 0.75, mean (9, 9), standard deviations (0.5, 0.5)
    >>> mixture.sample(1000, np.random.default_rng(0)).mean(axis=0).round()
    array([7., 7.])
    >>> mixture.logpdf([[0, 0], [9, 9]]).round(2)
    array([-3.22, -0.74])
    >>> print(mixture.describe_components("sd").splitlines()[2])
      1: weight 0.75, mean (9, 9), sd (0.5, 0.5)
    >>> mixture.scaled(4.0).standard_deviations
    array([[2., 2.],
           [1., 1.]])
    """

    weights: Array
    means: Array
    factors: tuple[Array, ...]

    @property
    def n_features(self) -> int:
        """d, the number of columns."""
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
        """Sums of the weights up to each component, shape (components,); the last is one."""
        return np.cumsum(self.weights) / np.sum(self.weights)

    @cached_property
    def factor_rows(self) -> Array:
        """All factors, one below the other, shape (sum of ranks, d)."""
        return np.concatenate(self.factors)

    @cached_property
    def factor_offsets(self) -> npt.NDArray[np.int64]:
        """First row of each factor in ``factor_rows``, and the end; shape (components + 1,)."""
        return np.cumsum([0] + [len(factor) for factor in self.factors], dtype=np.int64)

    @cached_property
    def largest_factor(self) -> float:
        """A bound on all standard deviations."""
        largest = float(np.abs(self.factor_rows).max(initial=0.0))
        return largest * float(np.sqrt(self.n_features))

    def engine_mixture(self) -> MixtureArrays:
        """The mixture as the engine draws from it, instead of calling :meth:`sample`.

        Returns
        -------
        MixtureArrays
            See :class:`bbclust.stages.bootstrap.MixtureArrays`.
        """
        return MixtureArrays(
            self.cumulative_weights,
            self.means,
            self.factor_rows,
            self.factor_offsets,
            self.largest_factor,
        )

    def to_plain_data(self) -> PlainData:
        """Weights, means, and all factors one below the other, for model files.

        Returns
        -------
        PlainData
        """
        arrays = {
            "weights": self.weights,
            "means": self.means,
            "factor_rows": self.factor_rows,
            "factor_offsets": self.factor_offsets,
        }
        return PlainData(arrays, {})

    @classmethod
    def from_plain_data(cls, data: PlainData, n_features: int) -> GaussianMixture:
        """The mixture that a file describes; ValueError if it is an impossible one.

        Parameters
        ----------
        data, n_features
            As of :meth:`bbclust.priors.StorablePrior.from_plain_data`.

        Returns
        -------
        GaussianMixture
        """
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
        """The mixture with other covariances.

        Parameters
        ----------
        scale : float
            Positive; multiplies all covariances.

        Returns
        -------
        GaussianMixture
        """
        factors = tuple(np.sqrt(scale) * factor for factor in self.factors)
        return GaussianMixture(self.weights, self.means, factors)

    def sample(self, n: int, generator: np.random.Generator) -> Array:
        """n draws.

        Parameters
        ----------
        n, generator
            As of :meth:`bbclust.priors.PreparedPrior.sample`.

        Returns
        -------
        ndarray of shape (n, d)
        """
        centers, noise = self.sample_parts(n, generator)
        return centers + noise

    def sample_parts(self, n: int, generator: np.random.Generator) -> tuple[Array, Array]:
        """n draws in two parts, for mixtures whose deviations are stretched.

        Parameters
        ----------
        n, generator
            As of :meth:`sample`.

        Returns
        -------
        means, deviations : ndarrays of shape (n, d)
            Mean of the component that each draw is of, and the deviation from it.
        """
        components = generator.choice(len(self.weights), size=n, p=self.weights)
        normals = generator.standard_normal((n, self.n_features))
        return self.means[components], spread_noise(normals, components, self.factors)

    def logpdf(self, X: Floats) -> Array:
        """Log density of points.

        Singular components count on their supports alone, see :mod:`bbclust.priors.density`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Points, in the units of the data.

        Returns
        -------
        ndarray of shape (n,)
            Natural logarithms; -inf where there is no density.
        """
        return self.log_density(X, log_gaussian)

    def log_density(self, X: Floats, radial: RadialDensity) -> Array:
        """Log density of the mixture whose components have another radial profile.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Points, in the units of the data.
        radial : callable
            ``radial(squares, rank)``: log density of a component of covariance one and so many
            dimensions, at squared distances from its mean.

        Returns
        -------
        ndarray of shape (n,)
        """
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
        """The mixture in words: a line in all, and one for each component.

        Returns
        -------
        str
        """
        return f"Gaussian mixture, {self.describe_components()}"

    def describe_components(self, spread: str = "standard deviations") -> str:
        """Number and size of the components, and a line for each.

        Parameters
        ----------
        spread : str, default="standard deviations"
            What the roots of the diagonals of ``covariances`` are called.

        Returns
        -------
        str
        """
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
