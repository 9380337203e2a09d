"""One cloud with the spread of a whole table: what rows without any clusters could look like.

Groups that overlap leave no valley, yet their parts may be tighter than those of one cloud. What
"one cloud" is has to be said then, and it is said in three ways, each with the mean and the
covariance of the rows and with one mode:

- :meth:`IndependentAxes.principal`: independent numbers along the principal axes, each distributed
  as there;
- :meth:`IndependentAxes.least_gaussian`: the same along the axes on which the rows are least so, by
  independent component analysis: a box, exponential or heavy-tailed columns, however rotated;
- :class:`Ellipsoid`: as many rows in every direction, and fewer and fewer outwards, at the
  distances of the rows: a Gaussian, a ball, Student's distribution.

Nothing of it changes when the rows are rotated or moved.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.fft import dct
from scipy.optimize import isotonic_regression
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from bbclust.selection.clouds import Cloud, moments, principal_axes, with_one_mode

Array = npt.NDArray[np.float64]

OF_GAUSSIAN = 0.374567  # mean of log cosh of a standard normal number


@dataclass(frozen=True)
class Quantiles:
    """A distribution by its values at increasing shares, straight in between."""

    shares: Array
    values: Array

    @property
    def mean(self) -> float:
        return self._average(lambda left, right: (left + right) / 2)

    @property
    def mean_square(self) -> float:
        return self._average(lambda left, right: (left**2 + left * right + right**2) / 3)

    def _average(self, of_piece: Callable[[Array, Array], Array]) -> float:
        pieces = of_piece(self.values[:-1], self.values[1:])
        return float(np.average(pieces, weights=np.diff(self.shares)))

    def draw(self, n: int, generator: np.random.Generator) -> Array:
        shares = generator.uniform(self.shares[0], self.shares[-1], size=n)
        return np.interp(shares, self.shares, self.values)


@dataclass(frozen=True)
class IndependentAxes:
    """Independent numbers along some axes, shape (number of axes, d)."""

    weights: Array
    mean: Array
    axes: Array
    along: tuple[Quantiles, ...]

    @classmethod
    def principal(cls, cloud: Cloud) -> IndependentAxes:
        mean, scores, axes = standardized(cloud)
        return cls(cloud.weights, mean, axes, _each_with_one_mode(scores, cloud.weights))

    @classmethod
    def least_gaussian(cls, cloud: Cloud) -> IndependentAxes | None:
        """None with too few rows for as many axes."""
        mean, scores, axes = standardized(cloud)
        n, d = scores.shape
        if d < 2 or n < 2 * (d + 1):
            return None
        turn = _independent_components(scores)
        turned = np.einsum("ij,kj->ik", scores, turn)
        along = _each_with_one_mode(turned, cloud.weights)
        return cls(cloud.weights, mean, np.einsum("ij,jk->ik", turn, axes), along)

    def draw(self, generator: np.random.Generator) -> Cloud:
        n = len(self.weights)
        scores = np.column_stack([one.draw(n, generator) for one in self.along])
        rows = self.mean + np.einsum("ij,jk->ik", scores, self.axes)
        return Cloud(rows, generator.permutation(self.weights))


@dataclass(frozen=True)
class Ellipsoid:
    """Any direction alike, at the distances of the rows, denser towards the centre."""

    weights: Array
    mean: Array
    axes: Array
    distances: Quantiles

    @classmethod
    def like(cls, cloud: Cloud) -> Ellipsoid:
        mean, scores, axes = standardized(cloud)
        distances = np.sqrt(np.einsum("ij,ij->i", scores, scores))
        return cls(cloud.weights, mean, axes, _denser_inwards(distances, cloud.weights, len(axes)))

    def draw(self, generator: np.random.Generator) -> Cloud:
        n, d = len(self.weights), len(self.axes)
        directions = generator.normal(size=(n, d))
        directions /= np.sqrt(np.einsum("ij,ij->i", directions, directions))[:, None]
        scores = directions * self.distances.draw(n, generator)[:, None]
        rows = self.mean + np.einsum("ij,jk->ik", scores, self.axes)
        return Cloud(rows, generator.permutation(self.weights))


def standardized(cloud: Cloud) -> tuple[Array, Array, Array]:
    """The mean, the rows along the principal axes in standard deviations, and the axes.

    The longer tail is on the positive side of every axis, so that rotated rows have equal scores.
    """
    mean, covariance = moments(cloud)
    sds, vectors = principal_axes(covariance)
    scores = np.einsum("ij,jk->ik", cloud.rows - mean, vectors / sds)
    sign = np.where(np.einsum("i,ij->j", cloud.weights, scores**3) < 0, -1.0, 1.0)
    return mean, scores * sign, (vectors * sds * sign).T


def _independent_components(scores: Array) -> Array:
    """The rotation (d, d) of standardized scores to the axes on which they are least Gaussian.

    The search may stop halfway between two such axes; so it starts from two places.
    """
    d = scores.shape[1]
    starts = (np.eye(d), dct(np.eye(d), norm="ortho"))
    found = [_search_components(scores, start) for start in starts]
    return max(found, key=lambda turn: _distance_from_gaussian(scores, turn))


def _search_components(scores: Array, start: Array) -> Array:
    from sklearn.decomposition import FastICA  # a quarter of what importing all else takes

    with warnings.catch_warnings(), threadpool_limits(1):  # other threads, other bits
        warnings.simplefilter("ignore", ConvergenceWarning)  # then the axes of the last step
        fitted = FastICA(whiten=False, w_init=start).fit(scores)
        left, _, right = np.linalg.svd(fitted.components_)
    return np.asarray(np.einsum("ij,jk->ik", left, right))


def _distance_from_gaussian(scores: Array, turn: Array) -> float:
    """What the search makes large."""
    turned = np.einsum("ij,kj->ik", scores, turn)
    log_cosh = np.logaddexp(turned, -turned) - np.log(2)
    contrast = log_cosh.mean(axis=0) - OF_GAUSSIAN
    return float(np.sum(contrast**2))


def _each_with_one_mode(scores: Array, weights: Array) -> tuple[Quantiles, ...]:
    return tuple(_with_one_mode(column, weights) for column in scores.T)


def _with_one_mode(values: Array, weights: Array) -> Quantiles:
    """The nearest distribution with one mode, of mean 0 and variance 1."""
    moved, _ = with_one_mode(values, weights, between=(values.min(), values.max()))
    order = np.argsort(moved, kind="stable")
    found = Quantiles(_middle_shares(weights[order]), moved[order])
    centered = Quantiles(found.shares, found.values - found.mean)
    return Quantiles(found.shares, centered.values / np.sqrt(centered.mean_square))


def _denser_inwards(distances: Array, weights: Array, d: int) -> Quantiles:
    """Distances as of rows that are nowhere denser further out, of mean square d."""
    order = np.argsort(distances, kind="stable")
    volumes = np.concatenate([[0.0], (distances[order] / distances.max()) ** d])
    shares = np.concatenate([[0.0], _middle_shares(weights[order])])
    knots, first = np.unique(volumes, return_index=True)
    last = np.append(first[1:], len(volumes)) - 1
    share, width = shares[last], np.diff(knots)
    density = isotonic_regression(np.diff(share) / width, weights=width, increasing=False).x
    share = share[0] + np.concatenate([[0.0], np.cumsum(density * width)])
    at = np.linspace(share[0], share[-1], len(volumes))
    fitted = Quantiles(at, np.interp(at, share, knots) ** (1 / d))
    return Quantiles(at, fitted.values * np.sqrt(d / fitted.mean_square))


def _middle_shares(weights: Array) -> Array:
    return np.asarray((np.cumsum(weights) - weights / 2) / weights.sum())
