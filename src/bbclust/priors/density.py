"""Log densities of mixtures whose components may be singular.

A singular component has a density on its own support only: the plane through its mean, or the mean
itself for a point mass. The density of a mixture is taken with respect to the sum of the volume
measures of all dimensions that occur: at a point that lies on several supports, those of the lowest
dimension count alone, being infinitely denser. With full rank everywhere this is the usual density;
for one singular Gaussian it is what ``scipy.stats.multivariate_normal(allow_singular=True)`` gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bbclust.stages.table import Array

SMALLEST = float(np.sqrt(np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class Support:
    """Principal axes of a covariance.

    Attributes
    ----------
    axes : ndarray of shape (rank, d)
        Directions with spread.
    sizes : ndarray of shape (rank,)
        Standard deviations along them.
    across : ndarray of shape (d - rank, d)
        Directions without spread.
    """

    axes: Array
    sizes: Array
    across: Array

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def log_volume(self) -> float:
        """Half the logarithm of the pseudo-determinant."""
        return float(np.log(self.sizes).sum())


def support_of(factor: Array) -> Support:
    """Principal axes of A'A; standard deviations whose squares vanish are none."""
    d = factor.shape[1]
    if not len(factor):
        return Support(np.zeros((0, d)), np.zeros(0), np.eye(d))
    _, sizes, axes = np.linalg.svd(factor)
    rank = int((sizes > max(1e-10 * sizes[0], SMALLEST)).sum())
    return Support(axes[:rank], sizes[:rank], axes[rank:])


def whitened(deviations: Array, support: Support) -> Array:
    """Coordinates along the axes in units of their standard deviations, shape (n, rank)."""
    return np.asarray(np.einsum("ij,rj->ir", deviations, support.axes) / support.sizes)


def rounding(points: Array) -> Array:
    """How far a point may miss a plane by rounding, shape (n,)."""
    return np.asarray(1e-12 * np.abs(points).max(axis=1, initial=0.0))


def on_support(deviations: Array, support: Support, tolerance: Array) -> npt.NDArray[np.bool_]:
    """Which deviations lie in the plane of the axes."""
    if not len(support.across):
        return np.ones(len(deviations), dtype=np.bool_)
    missed = np.abs(np.einsum("ij,rj->ir", deviations, support.across)).max(axis=1)
    length = np.sqrt(np.einsum("ij,ij->i", deviations, deviations))
    return np.asarray(missed <= 1e-8 * length + tolerance)


def add_by_rank(terms: Iterable[tuple[int, Array]]) -> Array:
    """Log of a sum of densities, each with the rank of its support and -inf outside it."""
    sums: dict[int, Array] = {}
    for rank, term in terms:
        sums[rank] = np.logaddexp(sums[rank], term) if rank in sums else term
    ranks = sorted(sums)
    density = sums[ranks[0]]
    for rank in ranks[1:]:
        density = np.where(np.isneginf(density), sums[rank], density)
    return density
