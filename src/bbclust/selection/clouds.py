"""Clouds without a gap, like the rows of two clusters: what one cluster cut in two would look like.

There are two ways to say "one cloud", and neither assumes a shape:

- :class:`FilledValley`: the same rows, moved along the line through the two centres just as far as
  it takes to leave one mode. The rest of their shape is kept: tails, corners, skew, ties.
- :class:`BorrowedShape`: the covariance of the rows, with the shape of another cluster of the
  table. If the other clusters are round and even, so is the cloud; if they are long or uniform, so
  is it.

Rows carry their weights with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression
from threadpoolctl import threadpool_limits

Array = npt.NDArray[np.float64]

N_MODES = 21


class Cloud(NamedTuple):
    """Rows (n, d) and their weights (n,)."""

    rows: Array
    weights: Array

    @property
    def n(self) -> int:
        return len(self.rows)

    def take(self, which: npt.NDArray[np.integer]) -> Cloud:
        return Cloud(self.rows[which], self.weights[which])


@dataclass(frozen=True)
class FilledValley:
    """Draws from a cloud whose valley between two centres is filled.

    Attributes
    ----------
    cloud : Cloud
    moved : ndarray of shape (n, d)
        Its rows, the valley filled.
    depth : float
        How much of the cloud had to be moved across some point between the centres for that: the
        distance of its distribution on the line from the nearest one with one mode.
    """

    cloud: Cloud
    moved: Array
    depth: float

    @classmethod
    def between(cls, cloud: Cloud, centers: Array) -> FilledValley:
        """Fill the valley on the line between two centres, shape (2, d)."""
        line = centers[1] - centers[0]
        length = float(np.sqrt(np.einsum("i,i->", line, line)))
        if length == 0:
            return cls(cloud, cloud.rows, 0.0)
        along = np.einsum("ij,j->i", cloud.rows - centers[0], line / length)
        filled, depth = with_one_mode(along, cloud.weights, between=(0.0, length))
        return cls(cloud, cloud.rows + (filled - along)[:, None] * (line / length), depth)

    def draw(self, generator: np.random.Generator) -> Cloud:
        """As many rows, drawn with replacement from the filled cloud."""
        which = generator.integers(self.cloud.n, size=self.cloud.n)
        return Cloud(self.moved[which], self.cloud.weights[which])


@dataclass(frozen=True)
class BorrowedShape:
    """Draws with the mean and the covariance of a cloud and the shape of one of its donors."""

    n: int
    mean: Array
    factor: Array
    donors: tuple[Cloud, ...]

    @classmethod
    def like(cls, cloud: Cloud, others: list[Cloud]) -> BorrowedShape | None:
        """None if no other cluster has enough rows for a covariance of its own."""
        d = cloud.rows.shape[1]
        donors = tuple(_whitened(other) for other in others if other.n >= 2 * (d + 1))
        if not donors:
            return None
        mean, covariance = _moments(cloud)
        return cls(cloud.n, mean, _root(covariance), donors)

    def draw(self, generator: np.random.Generator) -> Cloud:
        """As many rows as the cloud has, drawn with replacement from one donor."""
        sizes = np.array([donor.n for donor in self.donors], dtype=float)
        donor = self.donors[int(generator.choice(len(sizes), p=sizes / sizes.sum()))]
        which = generator.integers(donor.n, size=self.n)
        rows = self.mean + np.einsum("ij,jk->ik", donor.rows[which], self.factor)
        return Cloud(rows, donor.weights[which])


def with_one_mode(
    values: Array, weights: Array, between: tuple[float, float]
) -> tuple[Array, float]:
    """The values, moved to the nearest distribution with one mode, and how far that is.

    The distribution function left of a mode is made convex and right of it concave, the mode being
    where that changes it least; each value goes where its quantile is then. The distance is the
    largest change of the distribution function within ``between``.

    Examples
    --------
    >>> import numpy as np
    >>> even = np.arange(5.0)
    >>> moved, distance = with_one_mode(even, np.ones(5), (0, 4))
    >>> bool(np.allclose(moved, even)), round(distance, 6)
    (True, 0.0)
    """
    knots, place = np.unique(values, return_inverse=True)
    if len(knots) < 4:
        return values, 0.0
    mass = np.bincount(place, weights=weights) / weights.sum()
    share = np.cumsum(mass) - mass / 2
    width = np.diff(knots)
    density = np.diff(share) / width
    tried = np.unique(np.searchsorted(share, np.linspace(0, share[-1], N_MODES)))
    fits = [share[0] + np.cumsum(_unimodal(density, width, mode) * width) for mode in tried]
    changes = [np.abs(fit - share[1:]) for fit in fits]
    inside = (knots[1:] >= between[0]) & (knots[1:] <= between[1])
    # The largest change may lie elsewhere, whatever the mode: then the least within. Rounded, so
    # that no rounding decides between equals.
    largest = [(change.max(), change[inside].max(initial=0.0)) for change in changes]
    best = min(range(len(fits)), key=lambda i: np.round(largest[i], 9).tolist())
    moved = np.interp(share, np.concatenate([[share[0]], fits[best]]), knots)
    return np.asarray(moved[place]), float(largest[best][1])


def _unimodal(density: Array, width: Array, mode: int) -> Array:
    """The nearest density that rises up to a knot and falls from there."""
    fitted = np.empty_like(density)
    if mode > 0:
        fitted[:mode] = isotonic_regression(density[:mode], weights=width[:mode]).x
    if mode < len(density):
        fall = isotonic_regression(density[mode:], weights=width[mode:], increasing=False)
        fitted[mode:] = fall.x
    return fitted


def _moments(cloud: Cloud) -> tuple[Array, Array]:
    shares = cloud.weights / cloud.weights.sum()
    mean = np.einsum("i,ij->j", shares, cloud.rows)
    deviations = cloud.rows - mean
    return mean, np.einsum("i,ij,ik->jk", shares, deviations, deviations)


def _whitened(cloud: Cloud) -> Cloud:
    mean, covariance = _moments(cloud)
    inverse = _root(covariance, inverted=True)
    return Cloud(np.einsum("ij,jk->ik", cloud.rows - mean, inverse), cloud.weights)


def _root(covariance: Array, *, inverted: bool = False) -> Array:
    """The symmetric square root of a covariance, or its pseudo-inverse."""
    with threadpool_limits(1):  # LAPACK gives other bits for other numbers of threads
        values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-9 * max(float(values[-1]), 0.0)
    roots = np.sqrt(np.where(kept, values, 1.0))
    scaled = np.where(kept, 1 / roots if inverted else roots, 0.0)
    return np.asarray(np.einsum("ij,j,kj->ik", vectors, scaled, vectors))
