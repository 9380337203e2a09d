"""Fuzzy c-means, the classical way to memberships."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.stages.kmeans import cluster_reference, order_by_size, seed_centers
from bbclust.stages.random_streams import Stage, fixed_sample, root_seed
from bbclust.stages.table import Floats, Table, centered, count_distinct_rows

Array = npt.NDArray[np.float64]

# Rows above which the starts compete on a sample of this size.
STARTING_ROWS = 4_000
_CHUNK_ENTRIES = 2**18  # distances held at a time: 2 MiB, which stays in the cache


class FuzzyCMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    r"""Fuzzy c-means (Dunn 1973; Bezdek 1981).

    Minimises

    .. math:: J = \sum_i w_i \sum_k u_{ik}^m \lVert x_i - c_k \rVert^2,
              \qquad \sum_k u_{ik} = 1,

    by turns over the memberships u and the centres c:

    .. math:: u_{ik} = \left(\sum_l \left(\lVert x_i - c_k \rVert / \lVert x_i - c_l \rVert
              \right)^{2 / (m - 1)}\right)^{-1}, \qquad
              c_k = \frac{\sum_i w_i u_{ik}^m x_i}{\sum_i w_i u_{ik}^m}.

    Parameters
    ----------
    n_clusters : int, default=3
        K.
    fuzzifier : float above 1, default=2.0
        m; towards 1 the memberships become those of k-means, for large m they become equal.
    n_init : int, default=10
        k-means++ starts, besides the start from the centres of k-means; the lowest objective wins.
        With more than 4,000 rows the starts compete on a fixed random sample of that size, and the
        winner goes on with all rows.
    max_iter : int, default=1000
        Iterations at most, of each start.
    tol : float, default=1e-6
        Stops when no centre moves farther, relative to the root mean variance of the features.
    random_state : int, RandomState instance or None, default=None
        Same number, same bits.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (K, d)
        Clusters are numbered by decreasing sum of memberships.
    memberships_ : ndarray of shape (n, K)
        u; each row sums to one.
    labels_ : ndarray of shape (n,)
        Cluster with the largest membership.
    objective_ : float
        J, with sample weights of mean one.
    n_iter_ : int
        Iterations of the winning start.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    R's ``e1071::cmeans`` finds the same minimum; its ``withinerror`` is ``objective_ / n``.

    References
    ----------
    J. C. Dunn (1973). A fuzzy relative of the ISODATA process and its use in detecting compact
    well-separated clusters. Journal of Cybernetics 3, 32-57.

    J. C. Bezdek (1981). Pattern Recognition with Fuzzy Objective Function Algorithms. Plenum Press.

    Examples
    --------
    >>> from bbclust import FuzzyCMeans
    >>> from bbclust.datasets import load_iris
    >>> model = FuzzyCMeans(3, random_state=0).fit(load_iris().data)
    >>> model.memberships_[0].round(2)
    array([0., 1., 0.])
    >>> round(model.objective_, 3)
    60.506
    >>> others = [[5.0, 3.4, 1.5, 0.2], [6.5, 3.0, 5.2, 2.0]]
    >>> model.predict_proba(others).round(2)
    array([[0.  , 1.  , 0.  ],
           [0.16, 0.01, 0.83]])
    >>> model.predict(others)
    array([1, 2])
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        fuzzifier: float = 2.0,
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.fuzzifier = fuzzifier
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> FuzzyCMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Numbers without gaps. Columns are used as they are: scale them first if their units
            differ.
        y : ignored
            There for scikit-learn's sake.
        sample_weight : array-like of shape (n,), optional
            Relative weights of the rows; equal by default. Rows of weight zero take no part and get
            memberships by the centres.

        Returns
        -------
        self
            The model, fitted.
        """
        self._check_parameters()
        with check.all_or_nothing(self):
            X = check.check_table(self, X, reset=True)
            weights = check.check_sample_weight(sample_weight, len(X))
            table = self._table(X, weights)
            best = self._run(table)
            order = order_by_size(best.mass, best.centers)
            self._center = table.center
            self._centers = best.centers[order]
            self.cluster_centers_ = self._centers + table.center
            self.memberships_ = self._memberships(X)
            self.labels_ = self.memberships_.argmax(axis=1)
            self.objective_ = best.objective
            self.n_iter_ = best.n_iter
            self._warn(best)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Memberships of rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows, with the columns of ``fit``.

        Returns
        -------
        ndarray of shape (n, K)
            Each row sums to one.
        """
        check_is_fitted(self)
        return self._memberships(check.check_table(self, X, reset=False))

    def transform(self, X: Any) -> Array:
        """Memberships of rows, those of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows, with the columns of ``fit``.

        Returns
        -------
        ndarray of shape (n, K)

        Examples
        --------
        >>> from bbclust import FuzzyCMeans
        >>> from bbclust.datasets import load_iris
        >>> X = load_iris().data
        >>> FuzzyCMeans(3, random_state=0).fit(X).transform(X).shape
        (150, 3)
        """
        return self.predict_proba(X)

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Cluster with the largest membership, for each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows, with the columns of ``fit``.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _check_parameters(self) -> None:
        check.check_integer("n_clusters", self.n_clusters, minimum=1, maximum=check.MAX_CLUSTERS)
        check.check_number(
            "fuzzifier", self.fuzzifier, above=1, why="at 1 fuzzy c-means is k-means"
        )
        check.check_integer("n_init", self.n_init, minimum=0, maximum=65_535)
        check.check_integer("max_iter", self.max_iter, minimum=1)
        if not (isinstance(self.tol, (int, float, np.number)) and self.tol >= 0):
            raise ValueError(f"tol must be a number of at least 0, got {self.tol!r}.")

    def _table(self, X: Floats, weights: Array | None) -> Table:
        """The rows of positive weight, centred."""
        table = check.split_by_weight(X, weights).table
        check.check_distinct_rows(table.rows, self.n_clusters)
        return table

    def _run(self, table: Table) -> _Run:
        """The best start; on many rows, the best on a sample, continued on all."""
        seed = root_seed(self.random_state)
        sample = _sample(table, self.n_clusters, seed)
        runs = [
            self._iterate(sample, start)
            for start in _starts(sample, self.n_clusters, self.n_init, seed)
        ]
        best = min(runs, key=lambda run: run.objective)
        return best if sample is table else self._iterate(table, best.centers)

    def _iterate(self, table: Table, centers: Array) -> _Run:
        shift = float(self.tol) * float(np.sqrt(table.mean_variance))
        return minimize(
            table, centers, fuzzifier=float(self.fuzzifier), max_iter=self.max_iter, shift=shift
        )

    def _memberships(self, X: Floats) -> Array:
        shares = np.empty((len(X), len(self._centers)))
        for chunk in _chunks(len(X), len(self._centers)):
            rows = centered(X[chunk], self._center)
            shares[chunk] = memberships(_squared_distances(rows, self._centers), self.fuzzifier)
        return shares

    def _warn(self, best: _Run) -> None:
        if not best.converged:
            check.warn_user(
                f"Fuzzy c-means still moved after max_iter={self.max_iter} iterations: "
                "raise max_iter or tol.",
                ConvergenceWarning,
            )


class _Run(NamedTuple):
    centers: Array
    objective: float
    mass: Array
    n_iter: int
    converged: bool


def memberships(distances: Array, fuzzifier: float) -> Array:
    """Memberships from squared distances (n, K); the rows sum to one.

    A row on top of a centre belongs to it alone, or in equal parts to the centres at that place.
    """
    nearest = distances.min(axis=1, keepdims=True)
    # relative to the nearest, so that no power overflows; 0/0 is a row on top of a centre
    shares: Array = np.divide(nearest, distances, out=np.ones_like(distances), where=distances > 0)
    if fuzzifier != 2:
        shares **= 1 / (fuzzifier - 1)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def minimize(
    table: Table, centers: Array, *, fuzzifier: float, max_iter: int, shift: float
) -> _Run:
    """Alternate between memberships and centres until no centre moves farther than ``shift``."""
    converged = False
    n_iter = 0
    while n_iter < max_iter and not converged:
        n_iter += 1
        moved = _update(table, centers, fuzzifier).centers
        converged = bool(np.sqrt(((moved - centers) ** 2).sum(axis=1)).max() <= shift)
        centers = moved
    last = _update(table, centers, fuzzifier)
    return _Run(centers, last.objective, last.mass, n_iter, converged)


class _Update(NamedTuple):
    centers: Array
    objective: float
    mass: Array  # sum of the memberships in each cluster


def _update(table: Table, centers: Array, fuzzifier: float) -> _Update:
    """One iteration: the next centres, and the objective and masses at the given ones."""
    n_clusters = len(centers)
    sums, totals, mass = np.zeros(centers.shape), np.zeros(n_clusters), np.zeros(n_clusters)
    objective = 0.0
    for chunk in _chunks(table.n, n_clusters):
        rows = table.rows[chunk].astype(np.float64, copy=False)
        distances = _squared_distances(rows, centers)
        shares = memberships(distances, fuzzifier)
        weighted = shares**fuzzifier
        if table.weights is not None:
            weighted *= table.weights[chunk, None]
            shares *= table.weights[chunk, None]
        mass += shares.sum(axis=0)
        totals += weighted.sum(axis=0)
        sums += np.einsum("ik,ij->kj", weighted, rows)
        objective += float(np.einsum("ik,ik->", weighted, distances))
    # a large fuzzifier may leave a centre without any weight in floating point: it stays
    means = np.divide(sums, totals[:, None], out=centers.copy(), where=totals[:, None] > 0)
    return _Update(means, objective, mass)


def _squared_distances(rows: Floats, centers: Array) -> Array:
    # sums of squared differences: exact zeros on top of a centre, and no BLAS
    return np.asarray(cdist(rows, centers, "sqeuclidean"))


def _chunks(n: int, n_clusters: int) -> Iterator[slice]:
    size = max(1, _CHUNK_ENTRIES // n_clusters)
    return (slice(first, first + size) for first in range(0, n, size))


def _sample(table: Table, n_clusters: int, seed: int) -> Table:
    """A fixed random sample of the table, centred alike; the table where that would not do."""
    if table.n <= STARTING_ROWS:
        return table
    rows = fixed_sample(table.n, STARTING_ROWS, seed, Stage.EVALUATION)
    if count_distinct_rows(table.rows[rows], n_clusters) < n_clusters:
        return table
    weights = None if table.weights is None else table.weights[rows]
    return Table(table.rows[rows], table.center, weights)


def _starts(table: Table, n_clusters: int, n_init: int, seed: int) -> Iterator[Array]:
    """Centres of k-means, then of k-means++ seedings."""
    yield cluster_reference(table, n_clusters, seed).centers - table.center
    weights = table.weights_or_ones()
    for start in range(1, n_init + 1):
        yield seed_centers(table.rows, weights, n_clusters, seed=seed, start=start)
