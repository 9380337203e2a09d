r"""Rows with missing values: what they may come from, and how replicas complete them.

The model is a mixture of Gaussians, one per cluster of the reference partition. Given the values
:math:`x_o` that a row has, its component is drawn with probability

.. math:: \pi_j \propto p_j \, N(x_o; \mu_{j,o}, \Sigma_{j,oo})

and what it misses from the conditional Gaussian of that component,

.. math:: x_m \mid x_o, j \sim N\left(
    \mu_{j,m} + \Sigma_{j,mo} \Sigma_{j,oo}^{-1} (x_o - \mu_{j,o}), \;
    \Sigma_{j,mm} - \Sigma_{j,mo} \Sigma_{j,oo}^{-1} \Sigma_{j,om}\right).

Every replica draws anew, so that the votes on a row differ by as much as is not known of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Array, Floats, Incomplete, Table, find_incomplete

# EM ends when no mean or covariance moves by more, in standard deviations of the columns.
EM_TOLERANCE = 1e-5
EM_ITERATIONS = 100
# Share of a column's variance that every Gaussian has, so that each has a density.
RIDGE = 1e-9
# Numbers that factors of covariances may always take.
_ROOM = 2**20

# What completed rows are for: each has random numbers of its own.
OF_FIT, OF_OTHER_ROWS, OF_TESTS, OF_PRIOR = 0, 1, 2, 3


@dataclass(frozen=True)
class MissingModel:
    """The mixture of Gaussians that incomplete rows are completed from.

    Attributes
    ----------
    weights : ndarray of shape (K,)
    means : ndarray of shape (K, d)
        In the units of the data.
    covariances : ndarray of shape (K, d, d)
    """

    weights: Array
    means: Array
    covariances: Array


class ElicitedModel(NamedTuple):
    """The model of missing values, and the covariances that the clusters' own rows speak for."""

    model: MissingModel
    covariances: Array


def elicit_model(
    table: Table,
    reference: Partition,
    *,
    n_jobs: int = 1,
    max_iter: int = EM_ITERATIONS,
    tolerance: float = EM_TOLERANCE,
) -> ElicitedModel:
    r"""One Gaussian per cluster of a partition, by EM for rows with missing values.

    In every cluster of :math:`n_j` rows, missing values are replaced by their conditional means,
    and their conditional covariances are added to the second moments, until nothing moves; without
    missing values these are mean and covariance :math:`S_j` of the cluster. A small cluster says
    little of how its columns depend on each other, so the Gaussians are wider: the covariance P
    within clusters, pooled over all of them, counts as d + 1 more rows,

    .. math:: \Sigma_j = \frac{n_j S_j + (d + 1) P}{n_j + d + 1}.

    A column that no row of a cluster has is as it is over all rows.

    References
    ----------
    A. P. Dempster, N. M. Laird, D. B. Rubin (1977), JRSS B 39, 1-38; R. J. A. Little, D. B. Rubin:
    Statistical Analysis with Missing Data, chapter 11.
    """
    K, d = reference.n_clusters, table.d
    means, covariances, expected = np.empty((K, d)), np.empty((K, d, d)), np.empty((K, d, d))
    incomplete = table.incomplete or _none_incomplete(table.rows)
    engine.missing_moments(
        np.asarray(table.rows, dtype=np.float64),
        table.weights_or_ones(),
        reference.labels,
        incomplete.place,
        incomplete.pattern,
        incomplete.patterns,
        prior_rows=d + 1.0,
        ridge=RIDGE,
        max_iter=max_iter,
        tolerance=tolerance,
        n_threads=n_jobs,
        means=means,
        covariances=covariances,
        expected=expected,
    )
    model = MissingModel(reference.shares, means + table.center, covariances)
    return ElicitedModel(model, expected)


def _none_incomplete(rows: Floats) -> Incomplete:
    n, d = rows.shape
    none = np.zeros(0, dtype=np.int32)
    return Incomplete(np.zeros((0, d), dtype=np.uint8), np.full(n, -1, dtype=np.int32), none)


@dataclass(frozen=True)
class MissingDraws:
    """Incomplete rows, ready to be completed in any replica.

    Attributes
    ----------
    seed : int
    purpose : int
        What the completed rows are for, one of those of this module.
    model : MissingModel
    incomplete : Incomplete
    cumulative : ndarray of shape (incomplete rows, K)
        Probabilities of the components given what a row has, summed up.
    first_block : ndarray of shape (incomplete rows,), uint64
        Where the random numbers of each row begin.
    """

    seed: int
    purpose: int
    model: MissingModel
    incomplete: Incomplete
    cumulative: Array
    first_block: npt.NDArray[np.uint64]

    def for_engine(self, origin: Array) -> tuple[Any, ...]:
        """Arguments of the engine, for rows from which ``origin`` was subtracted."""
        model, incomplete = self.model, self.incomplete
        n, (K, d) = len(incomplete.place), model.means.shape
        return (
            self.seed,
            self.purpose,
            model.means - origin,
            model.covariances,
            incomplete.patterns,
            incomplete.place,
            incomplete.pattern,
            self.cumulative,
            self.first_block,
            max(_ROOM, n * (d + K)),
        )


def draws_by_number(
    model: MissingModel, table: Table, seed: int, *, purpose: int = OF_FIT, n_jobs: int = 1
) -> MissingDraws | None:
    """Draws for the incomplete rows of a table, by the rows' numbers; None if all are complete."""
    incomplete = table.incomplete
    if incomplete is None:
        return None
    blocks_per_row = (1 + table.d + 3) // 4  # of four words: the component's and the normals'
    first_block = incomplete.rows.astype(np.uint64) * np.uint64(blocks_per_row)
    cumulative = _component_shares(model, table.rows, table.center, incomplete, n_jobs)
    return MissingDraws(seed, purpose, model, incomplete, cumulative, first_block)


def draws_by_content(
    model: MissingModel,
    X: Floats,
    rows: Floats,
    origin: Array,
    seed: int,
    *,
    numbers: npt.NDArray[np.int64] | None = None,
    n_jobs: int = 1,
) -> MissingDraws | None:
    """Draws for other rows, ``rows`` being X minus ``origin``; None if all are complete.

    The random numbers depend on the values that a row has, not on its place among others, so that
    a row is completed alike wherever it stands. Rows of different ``numbers`` are completed apart.
    """
    incomplete = find_incomplete(rows)
    if incomplete is None:
        return None
    values = X[incomplete.rows].astype(np.float64)
    if numbers is not None:
        values = np.column_stack([values, numbers[incomplete.rows]])
    first_block = hash_rows(values)
    cumulative = _component_shares(model, rows, origin, incomplete, n_jobs)
    return MissingDraws(seed, OF_OTHER_ROWS, model, incomplete, cumulative, first_block)


def _component_shares(
    model: MissingModel, rows: Floats, origin: Array, incomplete: Incomplete, n_jobs: int
) -> Array:
    cumulative = np.empty((len(incomplete.pattern), len(model.weights)))
    engine.component_shares(
        rows[incomplete.rows].astype(np.float64),
        model.weights,
        model.means - origin,
        model.covariances,
        incomplete.pattern,
        incomplete.patterns,
        n_jobs,
        cumulative,
    )
    return cumulative


def hash_rows(rows: Floats) -> npt.NDArray[np.uint64]:
    """A number for each row, by the bits of its values; all NaN are alike, and so are both zeros.

    The finalizer of SplitMix64 (Steele, Lea & Flood 2014), column after column.
    """
    values = np.where(np.isnan(rows), np.nan, rows.astype(np.float64) + 0.0)
    bits = np.ascontiguousarray(values).view(np.uint64)
    state = np.zeros(len(rows), dtype=np.uint64)
    for column in bits.T:
        state = (state ^ column) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return state


def complete_rows(
    rows: Floats, origin: Array, draws: MissingDraws | None, replica: int = 0
) -> Floats:
    """Rows, from which ``origin`` was subtracted, as they are in one replica."""
    if draws is None:
        return rows
    completed = np.empty_like(rows)
    engine.complete_rows(rows, draws.for_engine(origin), replica, completed)
    return completed
