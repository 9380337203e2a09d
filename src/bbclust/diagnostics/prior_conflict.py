"""Whether the prior and the data contradict each other, cluster by cluster.

Rows and a large sample of F0 are both assigned to the nearest reference centre, so that both are
cut off at the same borders; then their means, spreads and shares are compared. This needs nothing
of F0 but a sample, and true parameters agree with overlapping clusters too, whose k-means centres
lie farther out than the true ones.

Four things can be wrong. Each counts only if it is large **and** cannot be chance (a test at the
family-wise level :data:`LEVEL`): with many rows every difference is significant, and with few rows
many are large.

- *location*: the means are :data:`FAR` or more of the prior's standard deviations apart
  (Mahalanobis distance; chi-square test);
- *spread*: the rows spread at least :data:`NARROW` times as wide as the prior, or the prior at
  least :data:`WIDE` times as wide as the rows (root mean square over directions; gamma test with
  the prior's own kurtosis);
- *share*: the cluster's share of the rows and that of the prior differ by a factor of
  :data:`UNEVEN` or more (binomial test);
- *stray*: :data:`STRAY` or more of the prior around the cluster lies out of its reach, more than
  three times as far out as the farthest row (test of the farthest row as a maximum).

The rule for spreads is not symmetric: a prior that is too narrow finds many rows surprising, one
that is too wide none, and is often widened on purpose. See Box (1980, Journal of the Royal
Statistical Society A 143) and Evans & Moshonov (2006, Bayesian Analysis 1).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, chdtrc, gammainc, gammaincc
from threadpoolctl import threadpool_limits

from bbclust.percentages import percent
from bbclust.priors.covariances import effective_size, weighted_gram
from bbclust.stages.table import Array
from bbclust.stages.voting import nearest_center

LEVEL = 0.05
FAR = 0.5
NARROW = 1.25
WIDE = 2.0
UNEVEN = 1.5
STRAY = 0.1
MIN_DRAWS = 30  # with fewer draws around a cluster, only its share is compared
POINTLIKE = 0.1  # clusters with less of the usual spread are points
NOTHING = 1e-3  # standard deviations that are none, in units of the usual one


@dataclass(frozen=True)
class ClusterConflict:
    """How far the rows of a cluster and the posterior are from F0.

    Attributes
    ----------
    cluster : int
    n_rows : float
        Rows nearest to the centre; of weighted rows their effective number.
    location : float
        Distance of their mean from that of F0, in standard deviations of F0, less what chance adds.
    spread : float
        Standard deviation of the rows, in units of that of F0; NaN for a cluster of equal rows.
    share, prior_share : float
        Share of all rows, and of F0.
    stray : float
        Share of F0 around the cluster that is out of its reach.
    posterior_location : float
        Distance of the posterior centre (mean of the replicas) from the mean of F0, in standard
        deviations of F0.
    reasons : tuple of str
        Which of "location", "spread", "share" and "stray" are in conflict.
    """

    cluster: int
    n_rows: float
    location: float
    spread: float
    share: float
    prior_share: float
    stray: float
    posterior_location: float
    reasons: tuple[str, ...]

    def sentences(self) -> list[str]:
        """What is in conflict, in words."""
        wider = f"its rows spread {self.spread:.1f} times as wide as the prior"
        if self.spread < 1:
            wider = f"the prior spreads {1 / self.spread:.1f} times as wide as its rows"
        words = {
            "location": f"its rows lie {self.location:.1f} prior standard deviations from where "
            "the prior has them",
            "spread": wider,
            "share": f"it holds {percent(self.share)} of the rows and "
            f"{percent(self.prior_share)} of the prior",
            "stray": f"{percent(self.stray)} of the prior around it lies where there are no rows",
        }
        return [f"Cluster {self.cluster}: {words[reason]}." for reason in self.reasons]


@dataclass(frozen=True)
class PriorConflict:
    """What a comparison of prior and data found; ``str()`` adds the table to the statement."""

    clusters: tuple[ClusterConflict, ...]

    @property
    def conflict(self) -> bool:
        """Whether there is any."""
        return any(one.reasons for one in self.clusters)

    @property
    def statement(self) -> str:
        """The answer in words."""
        if not self.conflict:
            return "The prior does not contradict the data."
        wrong = sum(bool(one.reasons) for one in self.clusters)
        lines = [f"The prior contradicts the data in {wrong} of {len(self.clusters)} clusters."]
        for one in self.clusters:
            lines += one.sentences()
        return "\n".join(lines)

    def __str__(self) -> str:
        head = "cluster    rows  location  spread  share  prior share  stray  posterior  conflict"
        lines = [self.statement, head]
        for one in self.clusters:
            lines.append(
                f"{one.cluster:7d} {one.n_rows:7.0f} {one.location:9.2f} {one.spread:7.2f} "
                f"{one.share:6.3f} {one.prior_share:12.3f} {one.stray:6.2f} "
                f"{one.posterior_location:10.2f}  {', '.join(one.reasons) or '-'}"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """Plain numbers, strings, lists and dicts; None for what could not be compared."""
        table = [
            {name: None if value != value else value for name, value in asdict(one).items()}
            for one in self.clusters
        ]
        return {"conflict": self.conflict, "statement": self.statement, "clusters": table}


def n_prior_draws(n_clusters: int, d: int) -> int:
    """Draws of F0 to compare with: twenty per dimension and cluster, and not more than fit."""
    wanted = n_clusters * max(2000, 20 * d)
    return int(min(max(wanted, 10_000), max(20_000_000 // d, 2000)))


def compare_with_prior(
    rows: Array,
    weights: Array | None,
    centers: Array,
    posterior_centers: Array,
    draws: Array,
) -> PriorConflict:
    """Compare rows with draws of F0 around every centre.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    weights : ndarray of shape (n,) or None
        Relative weights of the rows.
    centers, posterior_centers : ndarrays of shape (K, d)
        Of the reference partition, and means over the replicas.
    draws : ndarray of shape (N, d)
        A sample of F0.
    """
    n_clusters = len(centers)
    masses = np.ones(len(rows)) if weights is None else weights
    of_rows, of_draws = nearest_center(rows, centers), nearest_center(draws, centers)
    units = _units(rows, masses, of_rows, n_clusters)
    level = LEVEL / (4 * n_clusters)
    found = []
    for k, center in enumerate(centers):
        mine = of_rows == k
        near = _Sample.of((draws[of_draws == k] - center) / units)
        points = _Sample.of((rows[mine] - center) / units, masses[mine])
        share, prior_share = points.mass / float(masses.sum()), near.mass / len(draws)
        of_shares = _compare_shares(
            share, prior_share, _together(effective_size(masses), len(draws))
        )
        differences, posterior = [of_shares], np.nan
        if points.n > 0 and near.n >= MIN_DRAWS:
            around = _Surroundings.of(near)
            differences = [
                around.location(points),
                _compare_spreads(points, near),
                of_shares,
                _stray(points, near),
            ]
            posterior = around.distance((posterior_centers[k] - center) / units)
        sizes = {one.what: one.size for one in differences}
        found.append(
            ClusterConflict(
                cluster=k,
                n_rows=points.n,
                location=sizes.get("location", np.nan),
                spread=sizes.get("spread", np.nan),
                share=share,
                prior_share=prior_share,
                stray=sizes.get("stray", np.nan),
                posterior_location=posterior,
                reasons=tuple(
                    one.what for one in differences if one.large and one.p_value <= level
                ),
            )
        )
    return PriorConflict(tuple(found))


@dataclass(frozen=True)
class _Difference:
    what: str
    size: float
    large: bool
    p_value: float


@dataclass(frozen=True)
class _Sample:
    """Points around a centre, in units of the spread of clusters.

    ``mass`` is the sum of their weights, ``n`` their effective number, ``squares`` (n,) are
    squared distances from their own mean.
    """

    points: Array
    shares: Array
    mass: float
    n: float
    mean: Array
    squares: Array

    @classmethod
    def of(cls, points: Array, weights: Array | None = None) -> _Sample:
        weights = np.ones(len(points)) if weights is None else weights
        if not len(points):
            empty = np.zeros(points.shape[1])
            return cls(points, weights, 0.0, 0.0, empty, weights)
        shares = weights / weights.sum()
        mean = np.einsum("i,ij->j", shares, points)
        squares = np.square(points - mean).sum(axis=1)
        return cls(points, shares, float(weights.sum()), effective_size(weights), mean, squares)

    def mean_square(self) -> float:
        """Without bias, as for n independent points."""
        return float(np.einsum("i,i->", self.shares, self.squares)) * self.n / (self.n - 1)

    def lengths(self) -> Array:
        """Distances from the centre."""
        return np.asarray(np.sqrt(np.square(self.points).sum(axis=1)))

    def reach(self) -> float:
        """Distance of the farthest point, and one for points that are all alike."""
        return max(float(self.lengths().max()), 1.0)


def _together(n: float, m: float) -> float:
    """Size of one sample whose mean is as uncertain as the difference of two means."""
    return 1 / (1 / n + 1 / m)


def _units(rows: Array, masses: Array, labels: npt.NDArray[np.int32], n_clusters: int) -> Array:
    """Standard deviation of every column within clusters; never nothing, nor only rounding."""
    mass = np.bincount(labels, weights=masses, minlength=n_clusters)
    overall = np.average(rows, axis=0, weights=masses)
    units = np.empty(rows.shape[1])
    for f, column in enumerate(rows.T):
        sums = np.bincount(labels, weights=masses * column, minlength=n_clusters)
        means = sums / np.where(mass > 0, mass, 1.0)
        within = np.average(np.square(column - means[labels]), weights=masses)
        total = np.average(np.square(column - overall[f]), weights=masses)
        units[f] = np.sqrt(max(within, NOTHING**2 * total))
    units = np.maximum(units, 1e-9 * np.abs(rows).max(axis=0))
    largest = float(units.max())
    return np.where(units > 0, units, NOTHING * largest if largest > 0 else 1.0)


def _compare_shares(share: float, prior_share: float, n: float) -> _Difference:
    """Binomial test of a share of n, two-sided; the count need not be whole."""
    small, large = sorted((share, prior_share))
    ratio = large / small if small > 0 else np.inf
    if prior_share in (0.0, 1.0):
        p_value = float(share == prior_share)
    else:
        count = share * n
        above = betainc(count, n - count + 1, prior_share) if count > 0 else 1.0
        below = betainc(n - count, count + 1, 1 - prior_share) if count < n else 1.0
        p_value = 2 * float(min(above, below))
    return _Difference("share", ratio, ratio >= UNEVEN, p_value)


def _compare_spreads(points: _Sample, near: _Sample) -> _Difference:
    """Gamma test of the mean square deviation, with the variance it has among the draws.

    Of the draws, those within three times the reach of the points, so that a few from elsewhere do
    not decide. Nothing is said of points that are all alike.
    """
    close = near.points[near.lengths() <= 3 * points.reach()]
    alike = points.n < 1 + NOTHING or points.mean_square() < POINTLIKE**2 * len(near.mean)
    if alike or len(close) < MIN_DRAWS:
        return _Difference("spread", np.nan, False, 1.0)
    squares = _Sample.of(close).squares
    mean_square = float(squares.mean())
    if mean_square < NOTHING**2:
        return _Difference("spread", np.inf, True, 0.0)
    ratio = points.mean_square() / mean_square
    shape = (points.n - 1) / max(float((squares / mean_square).var()), NOTHING)
    tail = gammaincc if ratio > 1 else gammainc
    spread = float(np.sqrt(ratio))
    large = spread >= NARROW or spread <= 1 / WIDE
    return _Difference("spread", spread, large, 2 * float(tail(shape, shape * ratio)))


def _stray(points: _Sample, near: _Sample) -> _Difference:
    """Draws more than three times as far out as any of n points.

    Were points and draws of one kind, no point would lie beyond the farthest with the probability
    that none of n draws does; one is taken off n, as the centre was put amidst the points.
    """
    lengths, reach = near.lengths(), points.reach()
    within = float((lengths <= reach).mean())
    stray = float((lengths > 3 * reach).mean())
    return _Difference("stray", stray, stray >= STRAY, within ** max(points.n - 1, 0.0))


@dataclass(frozen=True)
class _Surroundings:
    """F0 around a cluster.

    Attributes
    ----------
    mean : ndarray of shape (d,)
    precision : ndarray of shape (d, d)
        Inverse of the covariance, made regular.
    rank : float
        Dimensions in which there is any spread.
    n : float
        Draws.
    """

    mean: Array
    precision: Array
    rank: float
    n: float

    @classmethod
    def of(cls, near: _Sample) -> _Surroundings:
        covariance = weighted_gram(near.points - near.mean, near.shares)
        with threadpool_limits(1):  # LAPACK gives other bits for other numbers of threads
            variances, axes = np.linalg.eigh(covariance)
        # an inverse of the whole would have axes of rounding alone, and negative squares on them
        rounding = len(covariance) * np.finfo(np.float64).eps * variances[-1]
        regular = np.maximum(variances, rounding) + NOTHING**2
        precision: Array = np.einsum("ir,r,jr->ij", axes, 1 / regular, axes)
        rank = float((np.maximum(variances, 0.0) / regular).sum())
        return cls(near.mean, precision, max(rank, 1.0), near.n)

    def distance(self, point: Array) -> float:
        """Distance from the mean in standard deviations."""
        deviation = point - self.mean
        return float(np.sqrt(np.einsum("i,ij,j->", deviation, self.precision, deviation)))

    def location(self, points: _Sample) -> _Difference:
        """Chi-square test of the distance between the means."""
        square = self.distance(points.mean) ** 2
        if self.n > self.rank + 2:  # the inverse of an estimate is too large
            square *= (self.n - self.rank - 2) / self.n
        size = _together(points.n, self.n)
        distance = float(np.sqrt(max(0.0, square - self.rank / size)))  # less what chance adds
        p_value = float(chdtrc(self.rank, size * square))
        return _Difference("location", distance, distance >= FAR, p_value)
