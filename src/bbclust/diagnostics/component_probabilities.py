r"""Probabilities that rows belong to components, on the assumption that clusters are Gaussian.

Votes tell how stable a cut is. How probable it is that a row comes from one group or the other is
asked of a model of the groups: a mixture of one Gaussian per cluster. It takes three steps.

1. **Mixtures of replicas.** The partition starts EM (:mod:`bbclust.stages.gaussian_em`), because
   hard clusters cut the tails of groups that overlap and push their means apart. Then EM is run
   again in each of R replicas, Bayesian bootstraps of the rows with weights :math:`w_i \sim
   \mathrm{Gamma}(1)`: the weighted likelihood bootstrap of Newton and Raftery, whose mixtures
   scatter by as much as is not known of their parameters.
2. **Their mean.** :math:`\bar r_{ij}` is the probability of component j, averaged over replicas.
3. **Calibration.** A mixture fitted to groups that overlap has found more than there is, and claims
   too much. How much it does is seen where the truth is known: from each of the R mixtures as many
   rows are drawn as there are, k-means and steps 1 and 2 are applied to them, and their components
   are matched with the true ones for most agreement. The power t, at most one, in

   .. math:: u_{ij} = \frac{\bar r_{ij}^t}{\sum_l \bar r_{il}^t}

   is such that on these rows the largest probability is, on average, as large as the share of the
   rows whose largest probability is that of the component they were drawn from.

References
----------
M. A. Newton, A. E. Raftery (1994), JRSS B 56, 3-48, for step 1; R. Beran (1987), Biometrika 74,
457-468, and W.-Y. Loh (1987), JASA 82, 155-162, for calibration by samples of a fitted model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from numpy.random import Generator

from bbclust.priors.covariances import semidefinite_factor
from bbclust.priors.gaussian import spread_noise
from bbclust.stages.alignment import align, overlap_matrix
from bbclust.stages.gaussian_em import (
    GaussianComponents,
    component_shares,
    covariance_within,
    fit_components,
    maximize,
)
from bbclust.stages.kmeans import cluster_reference
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Array, Floats, Table

Labels = npt.NDArray[np.integer]

# R: mixtures that are averaged, and samples that say how much these claim: (R + 1)^2 runs of EM, so
# ten take more than three times as long. With five the calibration error in tables of 300 rows was
# 0.037, that of one mixture 0.108 (benchmarks/calibrate_belonging.py, seeds 0 to 2).
N_REPLICAS = 5
BISECTIONS = 30


@dataclass(frozen=True)
class ComponentModel:
    """What gives the probabilities of components.

    Attributes
    ----------
    columns : ndarray of shape (d,), bool
        Those that vary; the mixtures are of these alone.
    center : ndarray of shape (d,)
        What is subtracted from rows first.
    mixtures : tuple of GaussianComponents
        One of each replica.
    power : float
        t, at most one: by how much their mean claims too much.
    """

    columns: npt.NDArray[np.bool_]
    center: Array
    mixtures: tuple[GaussianComponents, ...]
    power: float

    def probabilities(self, X: Floats) -> Array:
        """Probabilities of the components, shape (n, K), of rows in the units of the data."""
        rows = (X.astype(np.float64) - self.center)[:, self.columns]
        return temper(mean_shares(rows, self.mixtures), self.power)


def fit_component_model(
    table: Table, labels: Labels, n_clusters: int, seed: int, *, n_jobs: int = 1
) -> ComponentModel:
    """The model of the components of a table without missing values, by its partition ``labels``.

    Cost is O(R^2 n K d^2) a step of EM; the samples of step 3 run in ``n_jobs`` threads.
    """
    columns = np.ptp(table.rows, axis=0) > 0
    if n_clusters == 1 or not columns.any():
        return ComponentModel(columns, table.center, (), 1.0)
    rows = np.ascontiguousarray(table.rows[:, columns], dtype=np.float64)
    mixtures = replica_mixtures(
        rows, table.weights_or_ones(), labels, n_clusters, _generator(seed, 0)
    )
    trials = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(try_on_sample)(mixture, len(rows), seed, number)
        for number, mixture in enumerate(mixtures, start=1)
    )
    return ComponentModel(columns, table.center, mixtures, matching_power(trials))


def _generator(seed: int, sample: int) -> Generator:
    """Random numbers of the data (0) or of one of the samples."""
    return stream_generator(seed, Stage.COMPONENTS, sample)


def replica_mixtures(
    rows: Array, weights: Array, labels: Labels, n_clusters: int, generator: Generator
) -> tuple[GaussianComponents, ...]:
    """Step 1: EM from the partition, and from its result in each replica.

    A row of weight w counts as w rows: its weight in a replica is Gamma(w).
    """
    within = covariance_within(rows, weights, labels)
    hard = (labels[:, None] == np.arange(n_clusters)).astype(np.float64)
    elicited = maximize(rows, weights, hard, within, np.zeros((n_clusters, rows.shape[1])))
    fitted = fit_components(rows, weights, elicited, within)
    mixtures = []
    for _ in range(N_REPLICAS):
        drawn = generator.standard_gamma(weights)
        drawn *= len(rows) / drawn.sum()
        mixtures.append(fit_components(rows, drawn, fitted, within))
    return tuple(mixtures)


def mean_shares(rows: Array, mixtures: tuple[GaussianComponents, ...]) -> Array:
    """Step 2: probabilities of the components, averaged over the mixtures, shape (n, K)."""
    if not mixtures:
        return np.ones((len(rows), 1))
    total = component_shares(rows, mixtures[0])
    for mixture in mixtures[1:]:
        total += component_shares(rows, mixture)
    return np.asarray(total / total.sum(axis=1, keepdims=True))


def temper(shares: Array, power: float) -> Array:
    """Shares to a power, summing to one in each row."""
    powers = (shares / shares.max(axis=1, keepdims=True)) ** power
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


class Trial(NamedTuple):
    """What steps 1 and 2 claim of a sample, (n, K), and the share of its rows that they hit."""

    shares: Array
    accuracy: float


def try_on_sample(truth: GaussianComponents, n: int, seed: int, number: int) -> Trial:
    """k-means and steps 1 and 2 on a sample of n rows of a mixture."""
    generator, K = _generator(seed, number), len(truth.weights)
    drawn = generator.choice(K, size=n, p=truth.weights)
    normals = generator.standard_normal((n, truth.means.shape[1]))
    factors = tuple(map(semidefinite_factor, truth.covariances))
    rows = truth.means[drawn] + spread_noise(normals, drawn, factors)
    center: Array = rows.mean(axis=0)
    rows -= center
    reference = cluster_reference(Table(rows, center), K, seed)
    mixtures = replica_mixtures(rows, np.ones(n), reference.labels, K, generator)
    shares = mean_shares(rows, mixtures)
    differences = reference.centers[:, None] - truth.means[None]
    distances = np.einsum("kjf,kjf->kj", differences, differences)
    matched = align(overlap_matrix(shares.argmax(axis=1), drawn, K), distances)
    return Trial(shares, matched.overlap / n)


def matching_power(trials: list[Trial]) -> float:
    """Step 3: the power, at most one, at which the largest share is on average the accuracy.

    The mean of the largest share rises with the power, so it is found by bisection.
    """
    accuracy = float(np.mean([trial.accuracy for trial in trials]))

    def claimed(power: float) -> float:
        return float(np.mean([temper(trial.shares, power).max(axis=1).mean() for trial in trials]))

    low, high = 0.0, 1.0
    if claimed(high) <= accuracy:
        return high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if claimed(middle) > accuracy else (middle, high)
    return high
