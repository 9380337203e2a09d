"""What F0 is: the distribution that the proper Bayesian bootstrap mixes with the data.

A prior is a plain object with ``prepare(X, reference, scale)``. It is called once per fit with the
rows of positive weight and the reference partition, and returns something with
``sample(n, generator)``. What it returns is published as ``BBC.prior_``. A prepared
:class:`GaussianMixture` is sampled by the engine itself; anything else is sampled in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.clusterers import Partition
from bbclust.table import Floats

Array = npt.NDArray[np.float64]


class PreparedPrior(Protocol):
    """A prior that is ready to be sampled, in the units of the data."""

    def sample(self, n: int, generator: np.random.Generator) -> Array:
        """n draws, shape (n, d)."""
        ...


class Prior(Protocol):
    """A prior that may depend on the data through the reference partition."""

    def prepare(self, X: Floats, reference: Partition, scale: float) -> PreparedPrior: ...


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
    def covariances(self) -> Array:
        """Covariances, shape (components, d, d)."""
        return np.stack([factor.T @ factor for factor in self.factors])

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

    def scaled(self, scale: float) -> GaussianMixture:
        """The mixture with covariances multiplied by ``scale``."""
        factors = tuple(np.sqrt(scale) * factor for factor in self.factors)
        return GaussianMixture(self.weights, self.means, factors)

    def sample(self, n: int, generator: np.random.Generator) -> Array:
        """n draws, shape (n, d)."""
        components = generator.choice(len(self.weights), size=n, p=self.weights)
        normals = generator.standard_normal((n, self.means.shape[1]))
        points = self.means[components]
        for j, factor in enumerate(self.factors):
            mine = components == j
            points[mine] += normals[mine, : len(factor)] @ factor
        return points


def check_prepared(prior: Any, n_features: int) -> PreparedPrior:
    """The prior itself, if it can be sampled and fits the data."""
    if not callable(getattr(prior, "sample", None)):
        raise TypeError(
            f"{prior!r} cannot be sampled: a prior needs prepare(X, reference, scale) that returns "
            "an object with sample(n, generator)."
        )
    if isinstance(prior, GaussianMixture) and prior.means.shape[1] != n_features:
        raise ValueError(
            f"The prior has {prior.means.shape[1]} features and X has {n_features}: "
            "give means and covariances with one entry per column of X."
        )
    prepared: PreparedPrior = prior
    return prepared


class ElicitedPrior:
    """Gaussian mixture read off the reference partition (Algorithm 3, steps 3 to 6).

    Component j has weight n_j / n, the centre of cluster j as its mean, and ``scale`` times the
    empirical covariance of cluster j (divided by n_j, so that a row of weight two counts as two
    rows and a cluster of one point becomes a point mass).
    """

    def __repr__(self) -> str:
        return "ElicitedPrior()"

    def prepare(self, X: Floats, reference: Partition, scale: float) -> GaussianMixture:
        """Elicit F0 from the partition of the rows of X."""
        by_cluster = np.argsort(reference.labels, kind="stable")
        sizes = np.bincount(reference.labels, minlength=reference.n_clusters)
        weights = np.ones(len(X)) if reference.weights is None else reference.weights
        factors = tuple(
            _covariance_factor(X[members], weights[members])
            for members in np.split(by_cluster, np.cumsum(sizes)[:-1])
        )
        return GaussianMixture(reference.shares, reference.centers, factors).scaled(scale)


def _covariance_factor(points: Floats, weights: Array) -> Array:
    """A of shape (rank, d) with A'A the weighted covariance of the points.

    Exact zero for points that are all alike: their computed mean may miss them by a rounding.
    """
    points = points.astype(np.float64)
    shares = weights / weights.sum()
    deviations = points - np.einsum("i,ij->j", shares, points)
    deviations[:, np.ptp(points, axis=0) == 0] = 0.0
    n, d = deviations.shape
    if n <= d:
        return np.asarray(np.sqrt(shares)[:, None] * deviations)
    covariance = np.zeros((d, d))
    engine.weighted_gram(deviations, shares, covariance)
    return semidefinite_factor(covariance)


def semidefinite_factor(covariance: Array) -> Array:
    """Upper triangular A with A'A the covariance, which may be singular."""
    factor = np.array(covariance, dtype=np.float64, order="C")
    engine.semidefinite_factor(factor)
    return factor


class MixturePrior:
    """Gaussian mixture given by an expert.

    Parameters
    ----------
    weights : array-like of shape (components,)
        Positive; rescaled to sum one.
    means : array-like of shape (components, d)
        In the units of the data.
    covariances : array-like of shape (components, d, d)
        Symmetric and positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust import BBC
    >>> from bbclust.priors import MixturePrior
    >>> prior = MixturePrior([1, 1], [[0, 0], [4, 4]], [np.eye(2), np.eye(2)])
    >>> X = np.random.default_rng(0).normal(size=(50, 2)) + 4 * (np.arange(50) % 2)[:, None]
    >>> BBC(2, prior=prior, random_state=0).fit(X).prior_.weights
    array([0.5, 0.5])
    """

    def __init__(
        self,
        weights: Sequence[float] | Array,
        means: Sequence[Sequence[float]] | Array,
        covariances: Sequence[Any] | Array,
    ) -> None:
        self.weights = np.asarray(weights, dtype=np.float64)
        self.means = np.asarray(means, dtype=np.float64)
        self.covariances = np.asarray(covariances, dtype=np.float64)
        self._check()
        self.weights = self.weights / self.weights.sum()

    def __repr__(self) -> str:
        components, d = self.means.shape
        return f"MixturePrior({components} components, {d} features)"

    def prepare(self, X: Floats, reference: Partition | None, scale: float) -> GaussianMixture:
        """The mixture as it was given: neither the reference nor the scale acts on it."""
        factors = tuple(semidefinite_factor(covariance) for covariance in self.covariances)
        return GaussianMixture(self.weights, self.means, factors)

    def _check(self) -> None:
        if self.means.ndim != 2 or 0 in self.means.shape:
            raise ValueError(
                f"means must have shape (components, features), got shape {self.means.shape}."
            )
        components, d = self.means.shape
        if self.weights.shape != (components,):
            raise ValueError(
                f"{components} means need {components} weights, got shape {self.weights.shape}."
            )
        if self.covariances.shape != (components, d, d):
            raise ValueError(
                f"covariances must have shape {(components, d, d)} to go with means of shape "
                f"{self.means.shape}, got {self.covariances.shape}."
            )
        for name in ("weights", "means", "covariances"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} of the prior hold NaN or infinity: give finite numbers.")
        with np.errstate(over="ignore"):
            if not np.isfinite(self.weights.sum()):
                raise ValueError(
                    f"weights of the prior overflow when summed, the largest is "
                    f"{self.weights.max():g}: give smaller ones."
                )
        if not (self.weights > 0).all():
            raise ValueError(
                f"weights of the prior must be positive, got {self.weights.min():g}: "
                "leave out components of weight zero."
            )
        for j, covariance in enumerate(self.covariances):
            if not np.allclose(covariance, covariance.T, rtol=1e-8, atol=0.0):
                raise ValueError(f"Covariance {j} of the prior is not symmetric: symmetrise it.")
            spectrum = np.linalg.eigvalsh(covariance)
            if spectrum[0] < -1e-8 * max(spectrum[-1], 0.0) or spectrum[-1] < 0:
                raise ValueError(
                    f"Covariance {j} of the prior has the negative eigenvalue {spectrum[0]:g}: "
                    "give a positive semi-definite matrix."
                )
