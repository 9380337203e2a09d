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

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression
from threadpoolctl import threadpool_limits

Array = npt.NDArray[np.float64]

N_MODES = 21
ROUNDING = 1e-9  # changes as close as this are equal, so that no rounding decides between them


class Cloud(NamedTuple):
    """Rows (n, d) and their weights (n,)."""

    rows: Array
    weights: Array

    @property
    def n(self) -> int:
        return len(self.rows)

    def take(self, which: npt.NDArray[np.integer]) -> Cloud:
        return Cloud(self.rows[which], self.weights[which])


class Drawn(Protocol):
    """Something that clouds are drawn from."""

    def draw(self, generator: np.random.Generator) -> Cloud: ...


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
    positions : ndarray of shape (n,)
        Of the moved rows on the line.
    direction : ndarray of shape (d,)
        Of the line, of length one.
    """

    cloud: Cloud
    moved: Array
    depth: float
    positions: Array
    direction: Array

    @classmethod
    def between(cls, cloud: Cloud, centers: Array) -> FilledValley:
        """Fill the valley on the line between two centres, shape (2, d)."""
        line = centers[1] - centers[0]
        length = float(np.sqrt(np.einsum("i,i->", line, line)))
        if length == 0:
            return cls(cloud, cloud.rows, 0.0, np.zeros(cloud.n), line)
        direction = line / length
        along = np.einsum("ij,j->i", cloud.rows - centers[0], direction)
        filled, depth = with_one_mode(along, cloud.weights, between=(0.0, length))
        moved = cloud.rows + (filled - along)[:, None] * direction
        return cls(cloud, moved, depth, filled, direction)

    def draw(self, generator: np.random.Generator) -> Cloud:
        """As many rows, drawn from the filled cloud: on the line, from anywhere between two."""
        n = self.cloud.n
        order = np.argsort(self.positions, kind="stable")
        places = generator.uniform(0, n - 1, size=n)
        drawn = np.interp(places, np.arange(n), self.positions[order])
        which = order[np.rint(places).astype(np.int64)]
        shift = drawn - self.positions[which]
        return Cloud(self.moved[which] + shift[:, None] * self.direction, self.cloud.weights[which])


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
        mean, covariance = moments(cloud)
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
    tried = np.unique(np.searchsorted(share, np.linspace(0, share[-1], N_MODES)))
    sides = _Sides(knots, share, tried.tolist(), between)
    best = sides.best()
    moved = np.interp(share, np.concatenate([[share[0]], sides.fit(best)]), knots)
    return np.asarray(moved[place]), sides.change(best, "within")


class _Sides:
    """A distribution made convex left of a mode and concave right of it, for some modes.

    The further right the mode, the more the left side changes and the less the right one does: so
    the best of the modes is where the two changes cross, and few of them have to be tried.
    """

    def __init__(
        self, knots: Array, share: Array, modes: list[int], between: tuple[float, float]
    ) -> None:
        self._share = share
        self._width = np.diff(knots)
        self._density = np.diff(share) / self._width
        self._modes = modes
        self._within = (knots[1:] >= between[0]) & (knots[1:] <= between[1])
        self._fits: dict[tuple[str, int], Array] = {}
        self._largest: dict[tuple[str, int], dict[str, float]] = {}

    def best(self) -> int:
        """The mode of least change; where that lies elsewhere, whatever the mode, within."""
        every = range(len(self._modes))
        least = self._least_change(every, "anywhere")
        kept = range(
            _first(every, lambda i: self._changes("right", i, "anywhere") <= least),
            _first(every, lambda i: self._changes("left", i, "anywhere") > least),
        )
        least = self._least_change(kept, "within")
        return _first(kept, lambda i: self._changes("right", i, "within") <= least)

    def change(self, i: int, where: str) -> float:
        return max(self._changes(side, i, where) for side in ("left", "right"))

    def fit(self, i: int) -> Array:
        """The distribution function at all knots but the first."""
        return np.concatenate([self._fit("left", i), self._fit("right", i)])

    def _least_change(self, modes: range, where: str) -> float:
        crossed = _first(
            modes,
            lambda i: self._changes("left", i, where) >= self._changes("right", i, where),
        )
        around = [i for i in (crossed - 1, crossed) if i in modes]
        return min(self.change(i, where) for i in around) + ROUNDING

    def _changes(self, side: str, i: int, where: str) -> float:
        if (side, i) not in self._largest:
            part = self._part(side, i)
            change = np.abs(self._fit(side, i) - self._share[1:][part])
            within = change[self._within[part]]
            self._largest[side, i] = {
                "anywhere": float(change.max(initial=0.0)),
                "within": float(within.max(initial=0.0)),
            }
        return self._largest[side, i][where]

    def _fit(self, side: str, i: int) -> Array:
        if (side, i) not in self._fits:
            part = self._part(side, i)
            density, width = self._density[part], self._width[part]
            if len(density):
                rises = side == "left"
                density = isotonic_regression(density, weights=width, increasing=rises).x
            self._fits[side, i] = self._share[part.start] + np.cumsum(density * width)
        return self._fits[side, i]

    def _part(self, side: str, i: int) -> slice:
        mode = self._modes[i]
        return slice(0, mode) if side == "left" else slice(mode, None)


def _first(indices: range, holds: Callable[[int], bool]) -> int:
    """The first index from which something holds, one past the last if it never does."""
    return indices.start + bisect_left(indices, True, key=holds)


def moments(cloud: Cloud) -> tuple[Array, Array]:
    """Mean and covariance of the weighted rows."""
    shares = cloud.weights / cloud.weights.sum()
    mean = np.einsum("i,ij->j", shares, cloud.rows)
    deviations = cloud.rows - mean
    return mean, np.einsum("i,ij,ik->jk", shares, deviations, deviations)


def _whitened(cloud: Cloud) -> Cloud:
    mean, covariance = moments(cloud)
    inverse = _root(covariance, inverted=True)
    return Cloud(np.einsum("ij,jk->ik", cloud.rows - mean, inverse), cloud.weights)


def principal_axes(covariance: Array) -> tuple[Array, Array]:
    """Standard deviations along the principal axes, and the axes as columns; none of no spread."""
    with threadpool_limits(1):  # LAPACK gives other bits for other numbers of threads
        values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-9 * max(float(values[-1]), 0.0)
    return np.sqrt(values[kept]), vectors[:, kept]


def _root(covariance: Array, *, inverted: bool = False) -> Array:
    """The symmetric square root of a covariance, or its pseudo-inverse."""
    sds, vectors = principal_axes(covariance)
    return np.asarray(np.einsum("ij,j,kj->ik", vectors, 1 / sds if inverted else sds, vectors))
