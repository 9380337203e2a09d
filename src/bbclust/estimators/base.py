"""What a fitted ensemble of replicas can be asked.

Estimators inherit from :class:`FittedEnsemble` and only have to fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy.sparse import csr_array
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.diagnostics.comembership import comembership_rates
from bbclust.ensemble.job import Plan
from bbclust.ensemble.predictors import ReplicaPredictors
from bbclust.estimators.description import ClusterDescription
from bbclust.io.saving import NotInFiles, PriorOfFile, SavedToFile
from bbclust.priors import PreparedPrior
from bbclust.stages.kmeans import Partition
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Floats, Table
from bbclust.stages.voting import largest_memberships, membership_se, memberships, nearest_center

if TYPE_CHECKING:
    from bbclust.diagnostics.prior_conflict import PriorConflict

# Rows that are voted on together.
ROWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class Run:
    """Everything that replicas depend on; kept so that more of them can be added."""

    table: Table  # rows of positive weight
    counted: npt.NDArray[np.bool_] | None  # which rows of X these are; None when all
    others: Floats  # the rows of weight zero
    reference: Partition
    prior: PreparedPrior | None
    plan: Plan

    def spread(self, of_counted: Any, of_others: Any) -> Any:
        """Values for all rows of X from those of counted and other rows."""
        if self.counted is None:
            return of_counted
        values = np.empty((len(self.counted), *of_counted.shape[1:]), dtype=of_counted.dtype)
        values[self.counted] = of_counted
        values[~self.counted] = of_others
        return values

    def rows(self, numbers: npt.NDArray[np.int64]) -> Floats:
        """Rows of X by their numbers, as they were before centring, to a rounding."""
        if self.counted is None:
            return self.table.original(numbers)
        place = np.where(self.counted, np.cumsum(self.counted), np.cumsum(~self.counted)) - 1
        counted = self.counted[numbers]
        rows = np.empty((len(numbers), self.table.d), dtype=self.table.rows.dtype)
        rows[counted] = self.table.original(place[numbers[counted]])
        rows[~counted] = self.others[place[numbers[~counted]]]
        return rows


class FittedEnsemble(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    ClusterDescription,
    SavedToFile,
):
    """Base of the estimators: the questions that replicas answer once they have been run.

    A subclass sets the fitted attributes, and

    - ``_predictors``, which vote on any rows;
    - ``_votes`` (n, K), the votes on the rows of ``fit``;
    - ``_run``, what the replicas depend on.

    A model that was loaded from a file has ``_predictors`` only: what needs the rows of ``fit`` is
    refused there with a sentence (:meth:`_rows_of_fit`).
    """

    n_jobs: int | None
    reference_centers_: npt.NDArray[np.float64]
    cluster_centers_: npt.NDArray[np.float64]
    replica_centers_: npt.NDArray[np.float64]
    labels_: Any = NotInFiles()
    memberships_: Any = NotInFiles()
    entropy_: Any = NotInFiles()
    n_votes_: Any = NotInFiles()
    mc_trace_: Any = NotInFiles()
    reference_labels_: Any = NotInFiles()
    prior_: Any = PriorOfFile()
    _predictors: ReplicaPredictors
    _votes: npt.NDArray[np.int32]
    _run: Run

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Memberships of rows, by the votes of all replicas, shape (n, K)."""
        return np.concatenate([self._shares(rows, votes) for rows, votes in self._vote_on(X)])

    def _vote_on(self, X: Any) -> Iterator[tuple[Floats, npt.NDArray[np.int32]]]:
        """Some rows after the other, few enough to stay in cache, and the votes on them."""
        check_is_fitted(self)
        X = check.check_table(self, X, reset=False)
        for start in range(0, len(X), ROWS_AT_ONCE):
            rows = X[start : start + ROWS_AT_ONCE]
            yield rows, self._predictors.vote(rows, n_jobs=effective_n_jobs(self.n_jobs))

    def _shares(self, rows: Floats, votes: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        if votes.any(axis=1).all():
            return memberships(votes)
        return memberships(votes, nearest_center(rows, self.reference_centers_))

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Memberships of rows, by the votes of all replicas, shape (n, K).

        For the rows of ``fit`` these may differ from ``memberships_``, where each replica votes
        only on the rows it drew.
        """
        return self.predict_proba(X)

    def predict(self, X: Any, min_confidence: float | None = None) -> npt.NDArray[np.int64]:
        """Cluster of each row, by the votes of all replicas.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        min_confidence : float in [0, 1], optional
            Rows whose largest membership is below it get the label -1.

        Returns
        -------
        ndarray of shape (n,)
        """
        min_confidence = check.check_confidence(min_confidence)
        parts: list[npt.NDArray[np.int64]] = []
        for rows, votes in self._vote_on(X):
            labels = votes.argmax(axis=1)
            if min_confidence is not None or not votes[np.arange(len(votes)), labels].all():
                shares = self._shares(rows, votes)
                labels = shares.argmax(axis=1)
                if min_confidence is not None:
                    labels[shares.max(axis=1) < min_confidence] = -1
            parts.append(labels)
        return np.concatenate(parts)

    def replica_labels(self, X: Any) -> Iterator[npt.NDArray[np.int32]]:
        """Labels by one replica after the other: what each of them thinks of the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)

        Returns
        -------
        iterator of ndarrays of shape (n,)
            B of them, each made when it is asked for; -1 where a replica abstains.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> iris = load_iris().data
        >>> model = BBC(3, random_state=0).fit(iris)
        >>> agreement = [(labels == model.labels_).mean() for labels in model.replica_labels(iris)]
        >>> len(agreement)
        200
        """
        check_is_fitted(self)
        return self._predictors.labels(check.check_table(self, X, reset=False))

    def comembership(self, pairs: npt.ArrayLike) -> npt.NDArray[np.float64]:
        r"""How often two rows are in the same cluster, by the votes of all replicas.

        .. math:: c_{ij} = \frac{1}{B} \sum_b I\{\ell_b(x_i) = \ell_b(x_j)\}

        where :math:`\ell_b(x)` is the cluster that replica b votes for, also on rows that it did
        not draw. A replica that abstains on one of the two rows does not count; a pair on which
        all abstain gets NaN.

        Parameters
        ----------
        pairs : array-like of shape (p, 2)
            Numbers of rows of the X given to ``fit``, from 0.

        Returns
        -------
        ndarray of shape (p,)
            Memory grows with p and with the number of distinct rows in ``pairs``, not with the
            number of all pairs of rows.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> model.comembership([[0, 1], [0, 149]]).round(2)
        array([1., 0.])
        """
        run = self._rows_of_fit("comembership")
        pairs = check.check_pairs(pairs, len(self._votes))
        numbers, places = np.unique(pairs, return_inverse=True)
        first, second = places.reshape(pairs.shape).T
        return comembership_rates(self._predictors.labels(run.rows(numbers)), first, second)

    def top_memberships(self, k: int) -> csr_array:
        """The k largest memberships of each row of ``fit``, for models of many clusters.

        Parameters
        ----------
        k : int from 1 to K

        Returns
        -------
        scipy.sparse.csr_array of shape (n, K)
            At most k entries per row; memberships of zero are not stored. Of equal memberships
            those of the lower cluster numbers are kept.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> top = model.top_memberships(1)
        >>> top.shape, top.nnz
        ((150, 3), 150)
        """
        self._rows_of_fit("top_memberships")
        k = check.check_integer("k", k, minimum=1, maximum=self._votes.shape[1])
        return largest_memberships(memberships(self._votes), k)

    def prior_conflict(self) -> PriorConflict:
        """Whether the prior and the data contradict each other, cluster by cluster.

        Rows and a large sample of F0 are compared around each reference centre: where they are, how
        widely they spread and how large their shares are. A difference counts if it is large and
        cannot be chance; see :mod:`bbclust.diagnostics.prior_conflict` for the rules.

        Returns
        -------
        PriorConflict
            ``conflict`` (bool), ``statement`` (text) and ``clusters``, a table with one entry per
            cluster; ``print`` shows all of it.

        Examples
        --------
        >>> import numpy as np
        >>> from bbclust import BBC
        >>> from bbclust.priors import MixturePrior
        >>> X = np.random.default_rng(0).normal(size=(100, 2)) + 8 * (np.arange(100) % 2)[:, None]
        >>> expert = MixturePrior([1, 1], [[0, 0], [8, 5]], [np.eye(2), np.eye(2)])
        >>> print(BBC(2, prior=expert, random_state=0).fit(X).prior_conflict().statement)
        The prior contradicts the data in 1 of 2 clusters.
        Cluster 1: its rows lie 3.1 prior standard deviations from where the prior has them.
        """
        from bbclust.diagnostics.prior_conflict import compare_with_prior, n_prior_draws

        run = self._rows_of_fit("prior_conflict")
        if run.prior is None:
            raise ValueError(
                "The model was fitted without a prior, so there is nothing to compare: "
                "use BBC with resampling='proper' and prior_weight above 0."
            )
        clustered, reference = run.reference.without_noise()
        count = n_prior_draws(reference.n_clusters, run.table.d)
        draws = run.prior.sample(count, stream_generator(run.plan.seed, Stage.PRIOR_SKETCH))
        return compare_with_prior(
            run.table.original(clustered).astype(np.float64),
            reference.weights,
            reference.centers,
            self.cluster_centers_,
            np.asarray(draws, dtype=np.float64),
        )

    @property
    def membership_se_(self) -> npt.NDArray[np.float64]:
        check_is_fitted(self)
        self._rows_of_fit("membership_se_")
        return membership_se(self._votes)

    @property
    def has_rows_of_fit(self) -> bool:
        """Whether the rows of ``fit`` are at hand; a model loaded from a file has none."""
        return hasattr(self, "_run")

    def was_fitted_to(self, X: Floats) -> bool:
        """Whether X is, to a rounding, the table that was clustered."""
        run = self._rows_of_fit("was_fitted_to")
        if len(X) != len(self.memberships_):
            return False
        mine = X if run.counted is None else X[run.counted]
        others = X[:0] if run.counted is None else X[~run.counted]
        spread = np.ptp(run.table.rows, axis=0)
        return bool(
            (np.abs(run.table.original() - mine) <= 1e-6 * spread).all()
            and np.array_equal(run.others, others)
        )

    def fit_weights(self) -> npt.NDArray[np.float64] | None:
        """Weights of the rows of ``fit``, shape (n,); None when all count the same."""
        run = self._rows_of_fit("fit_weights")
        if run.counted is None:
            return run.table.weights
        weights: npt.NDArray[np.float64] = run.spread(
            run.table.weights_or_ones(), np.zeros(len(run.others))
        )
        return weights

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictors")

    @property
    def _n_features_out(self) -> int:
        return len(self.reference_centers_)

    def _rows_of_fit(self, what: str) -> Run:
        """The run, for what cannot be answered without the rows that were clustered."""
        check_is_fitted(self)
        if not hasattr(self, "_run"):
            raise AttributeError(
                f"{what} needs the rows that were clustered, and a model loaded from a file does "
                "not hold them: ask before saving, or fit again."
            )
        return self._run
