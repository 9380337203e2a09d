"""Ellipses in the plane that hold a given share of points, or of a distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.patches import Ellipse
from scipy.stats import chi2, f

Array = npt.NDArray[np.float64]

# Half axes smaller than this share of the larger one are roundings of zero.
FLAT = 1e-9
MAX_STEPS = 50


@dataclass(frozen=True)
class PlanarEllipse:
    """An ellipse, which may be as flat as a line or as small as a point.

    Attributes
    ----------
    center : ndarray of shape (2,)
    half_axes : ndarray of shape (2,)
    directions : ndarray of shape (2, 2)
        Row a is the unit vector of half axis a.
    """

    center: Array
    half_axes: Array
    directions: Array

    def patch(self, **style: Any) -> Ellipse:
        """The ellipse as matplotlib draws it."""
        x, y = self.center.tolist()
        width, height = (2 * self.half_axes).tolist()
        angle = np.degrees(np.arctan2(self.directions[0, 1], self.directions[0, 0]))
        return Ellipse((x, y), width, height, angle=float(angle), **style)


def ellipse_of_points(points: Array, level: float) -> PlanarEllipse:
    """A small ellipse that holds a share of the points.

    It has the shape of the covariance of the points inside: those outside, such as the few centres
    of replicas that found another partition, do not stretch it. (Found by the concentration steps
    of the minimum covariance determinant, from the covariance of all points.)

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    level : float in (0, 1)
        At least this share of the points lies in the ellipse.
    """
    n_inside = int(np.ceil(level * len(points)))
    inside = np.arange(len(points))
    for _ in range(MAX_STEPS):
        center = points[inside].mean(axis=0)
        deviations = points - center
        spreads, directions = _principal_spreads(
            deviations[inside].T @ deviations[inside] / len(inside)
        )
        distances = _distances(deviations @ directions.T, spreads)
        nearest = np.sort(np.argsort(distances, kind="stable")[:n_inside])
        if np.array_equal(nearest, inside):
            break
        inside = nearest
    radius = np.partition(distances, n_inside - 1)[n_inside - 1]
    return PlanarEllipse(center, radius * spreads, directions)


def _distances(along: Array, spreads: Array) -> Array:
    """Distances from the centre in units of the spreads; infinite where a spread is zero."""
    scaled = np.divide(along, spreads, out=np.zeros_like(along), where=spreads > 0)
    off = (np.abs(along) > FLAT * np.abs(along).max()) & (spreads == 0)
    return np.where(off.any(axis=1), np.inf, np.hypot(scaled[:, 0], scaled[:, 1]))


def ellipse_of_distribution(
    mean: Array, scale: Array, level: float, df: float = np.inf
) -> PlanarEllipse:
    """The ellipse of equal density that holds a share of a Gaussian or Student distribution.

    Its squared radius is r times the quantile of the F distribution with r and ``df`` degrees of
    freedom, where r is the rank of the scale matrix; for a Gaussian, that is the quantile of
    chi-squared.

    Parameters
    ----------
    mean : ndarray of shape (2,)
    scale : ndarray of shape (2, 2)
        Covariance of a Gaussian, scale matrix of a Student distribution; it may be singular.
    level : float in (0, 1)
    df : float, default=inf
        Degrees of freedom; infinite for a Gaussian.
    """
    spreads, directions = _principal_spreads(scale)
    rank = max(int((spreads > 0).sum()), 1)
    square = chi2.ppf(level, rank) if np.isinf(df) else rank * f.ppf(level, rank, df)
    return PlanarEllipse(mean, float(np.sqrt(square)) * spreads, directions)


def _principal_spreads(covariance: Array) -> tuple[Array, Array]:
    """Standard deviations along the principal directions, largest first, and these as rows."""
    variances, vectors = np.linalg.eigh(covariance)
    spreads = np.sqrt(np.maximum(variances[::-1], 0.0))
    spreads[spreads <= FLAT * spreads[0]] = 0.0
    return spreads, vectors.T[::-1]
