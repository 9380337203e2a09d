"""F0 as a kernel density of the data: the smoothed bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from bbclust.priors.contract import require_partition
from bbclust.priors.covariances import cluster_factors, effective_size
from bbclust.priors.density import Support, add_by_rank, rounding, support_of, whitened
from bbclust.priors.gaussian import log_gaussian, spread_noise
from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Array, Floats

RULES = ("silverman", "scott")
_PAIRS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class KernelDensity:
    r"""A row of the data, drawn by weight, plus Gaussian noise that depends on its cluster.

    .. math:: F_0 = \frac{\sum_i w_i\, N(x_i, A_{\ell(i)}' A_{\ell(i)})}{\sum_i w_i}

    Attributes
    ----------
    rows : ndarray of shape (n, d)
        x, in the units of the data.
    labels : ndarray of shape (n,)
        Cluster of each row.
    weights : ndarray of shape (n,) or None
        Relative weights of the rows; None when equal.
    factors : tuple of ndarrays of shape (rank, d)
        ``factors[j].T @ factors[j]`` is the covariance of the noise in cluster j.
    bandwidths : ndarray of shape (K,)
        Its standard deviations, in units of those of the cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.priors import KernelPrior
    >>> X = load_iris().data
    >>> density = BBC(3, prior=KernelPrior(), random_state=0).fit(X).prior_
    >>> density.sample(1000, np.random.default_rng(0)).mean(axis=0).round()
    array([6., 3., 4., 1.])
    >>> bool(density.logpdf(X[:1])[0] > density.logpdf(X[:1] + 5)[0])
    True
    >>> print(density.describe())  # doctest: +NORMALIZE_WHITESPACE
    Kernel density of 150 rows in 4 dimensions, with Gaussian noise of 0.567 to 0.603 times the
    standard deviations of a row's cluster (3 clusters)
    """

    rows: Floats
    labels: npt.NDArray[np.int32]
    weights: Array | None
    factors: tuple[Array, ...]
    bandwidths: Array

    @property
    def n_features(self) -> int:
        """d, the number of columns."""
        return int(self.rows.shape[1])

    @cached_property
    def cumulative_weights(self) -> Array:
        """Sums of the weights up to each row, shape (n,); the last is one."""
        cumulative = np.cumsum(self._row_weights())
        return np.asarray(cumulative / cumulative[-1])

    def _row_weights(self) -> Array:
        return np.ones(len(self.rows)) if self.weights is None else self.weights

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
        drawn = np.searchsorted(self.cumulative_weights, generator.random(n), side="right")
        normals = generator.standard_normal((n, self.n_features))
        noise = spread_noise(normals, self.labels[drawn], self.factors)
        return self.rows[drawn].astype(np.float64) + noise

    def logpdf(self, X: Floats) -> Array:
        """Log density of points.

        Every point is compared with every row, some at a time, so that memory stays small.
        Clusters without spread count on their supports alone, see :mod:`bbclust.priors.density`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Points, in the units of the data.

        Returns
        -------
        ndarray of shape (n,)
            Natural logarithms; -inf where there is no density.
        """
        points: Array = np.asarray(X, dtype=np.float64)
        step = max(1, _PAIRS_AT_ONCE // len(self.rows))
        parts = [add_by_rank(self._terms(points[i : i + step])) for i in range(0, len(X), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _terms(self, X: Array) -> Iterator[tuple[int, Array]]:
        weights = self._row_weights()
        shares = weights / weights.sum()
        for j, factor in enumerate(self.factors):
            mine = self.labels == j
            support = support_of(factor)
            log_kernels = _log_kernels(X, self.rows[mine].astype(np.float64), support)
            with np.errstate(divide="ignore"):  # the logarithm of nothing is -inf, as it should be
                yield (
                    support.rank,
                    np.logaddexp.reduce(
                        log_kernels + np.log(shares[mine]), axis=1, initial=-np.inf
                    ),
                )

    def describe(self) -> str:
        """The density in words.

        Returns
        -------
        str
        """
        low, high = self.bandwidths.min(), self.bandwidths.max()
        return (
            f"Kernel density of {len(self.rows)} rows in {self.n_features} "
            f"dimensions, with Gaussian noise of {low:.3g} to {high:.3g} times the standard "
            f"deviations of a row's cluster ({len(self.factors)} clusters)"
        )


def _log_kernels(X: Array, rows: Array, support: Support) -> Array:
    """Log density of the noise between all points and rows, shape (points, rows)."""
    squares = cdist(whitened(X, support), whitened(rows, support), "sqeuclidean")
    log_kernels = log_gaussian(squares, support.rank) - support.log_volume
    if len(support.across):
        missed = cdist(X @ support.across.T, rows @ support.across.T, "chebyshev")
        tolerance = rounding(X)[:, None] + rounding(rows)[None, :]
        log_kernels[missed > tolerance + 1e-8 * cdist(X, rows)] = -np.inf
    return log_kernels


class KernelPrior:
    """Smoothed bootstrap: rows of the data plus Gaussian noise.

    F0 is the kernel density of the data. Unlike a mixture it follows clusters of any shape. The
    noise has h^2 times the covariance of the row's own cluster: the covariance of all rows holds
    the distances between clusters too, and would smooth the gaps away.

    Parameters
    ----------
    bandwidth : {"silverman", "scott"} or float, default="silverman"
        h, the standard deviations of the noise in units of those of the cluster. A positive number,
        or a rule for a cluster of n rows in d dimensions: "silverman" is
        ``(n (d + 2) / 4)^(-1 / (d + 4))``, "scott" is ``n^(-1 / (d + 4))``. Of weighted rows the
        effective number counts, ``(sum w)^2 / sum w^2``.

    Notes
    -----
    F0 has the mean of the data and the covariance ``C + sum_j p_j h_j^2 C_j``, with C the
    covariance of all rows, C_j that of cluster j and p_j its share. ``prior_scale`` multiplies the
    covariance of the noise.

    References
    ----------
    B. W. Silverman, G. A. Young (1987). The bootstrap: to smooth or not to smooth? Biometrika 74,
    469-479. The rules: B. W. Silverman (1986), Density Estimation for Statistics and Data Analysis,
    Chapman and Hall; D. W. Scott (1992), Multivariate Density Estimation, Wiley.

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.priors import KernelPrior
    >>> model = BBC(3, prior=KernelPrior(), random_state=0).fit(load_iris().data)
    >>> model.prior_.bandwidths.round(2)
    array([0.57, 0.58, 0.6 ])
    """

    def __init__(self, bandwidth: str | float = "silverman") -> None:
        if isinstance(bandwidth, str):
            if bandwidth not in RULES:
                raise ValueError(
                    f"bandwidth must be 'silverman', 'scott' or a number, got {bandwidth!r}."
                )
        elif isinstance(bandwidth, bool) or not isinstance(bandwidth, Real):
            raise TypeError(
                f"bandwidth must be 'silverman', 'scott' or a number, got {bandwidth!r}."
            )
        elif not 0 < float(bandwidth) < np.inf:
            raise ValueError(f"bandwidth must be positive and finite, got {bandwidth!r}.")
        self.bandwidth = bandwidth

    def __repr__(self) -> str:
        return f"KernelPrior(bandwidth={self.bandwidth!r})"

    def prepare(self, X: Floats, reference: Partition | None, scale: float) -> KernelDensity:
        """The kernel density of the rows of X.

        Parameters
        ----------
        X, reference, scale
            As of :meth:`bbclust.priors.Prior.prepare`.

        Returns
        -------
        KernelDensity
        """
        reference = require_partition(self, reference)
        weights = np.ones(len(X)) if reference.weights is None else reference.weights
        sizes = [
            effective_size(weights[reference.labels == j]) for j in range(reference.n_clusters)
        ]
        bandwidths = np.array([self._width(size, X.shape[1]) for size in sizes])
        factors = cluster_factors(X, reference, "empirical")
        return KernelDensity(
            rows=X,
            labels=reference.labels,
            weights=reference.weights,
            factors=tuple(
                np.sqrt(scale) * h * factor for h, factor in zip(bandwidths, factors, strict=True)
            ),
            bandwidths=np.sqrt(scale) * bandwidths,
        )

    def _width(self, n: float, d: int) -> float:
        if self.bandwidth == "silverman":
            return float((n * (d + 2) / 4) ** (-1 / (d + 4)))
        if self.bandwidth == "scott":
            return float(n ** (-1 / (d + 4)))
        return float(self.bandwidth)
