"""What a fitted ensemble of replicas can be asked.

Estimators inherit from :class:`FittedEnsemble` and only have to fit.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy.sparse import csr_array
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.diagnostics.center_posterior import (
    CenterDistances,
    CenterRegions,
    center_intervals,
    center_regions,
    distances_between,
    effective_share,
    posterior_centers,
    replicas_needed,
    sampling_ratio,
)
from bbclust.diagnostics.cluster_stability import (
    UNIQUE_MATCH,
    ClusterStability,
    cluster_stability,
)
from bbclust.diagnostics.comembership import comembership_rates
from bbclust.diagnostics.component_probabilities import ComponentModel, fit_component_model
from bbclust.diagnostics.partition_posterior import PartitionPosterior, partition_posterior
from bbclust.diagnostics.variable_importance import VariableImportance, variable_importances
from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.ensemble.fitted_state import WITHOUT_ROWS, FitRecord, FittedState
from bbclust.ensemble.job import Job, Replicas
from bbclust.io.saving import save_model
from bbclust.stages.entropies import MembershipSummary, worst_pair
from bbclust.stages.monte_carlo import (
    Precision,
    as_columns,
    entropy_interval,
    mean_entropy_bias,
    membership_se,
    pair_doubt_bias,
    pair_doubt_influence,
    pairwise_entropy_influence,
    standard_error,
)
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Floats
from bbclust.stages.voting import largest_memberships, memberships, nearest_center

if TYPE_CHECKING:
    from bbclust.diagnostics.prior_conflict import PriorConflict

# Rows that are voted on together.
ROWS_AT_ONCE = 65_536


class ByRow:
    """A fitted attribute of the rows of ``fit``: a model loaded from a file says that it has none.

    It has no ``__set__``, so what ``fit`` sets on the model itself comes first.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: FittedEnsemble | None, owner: type) -> Any:
        if model is None:
            return self
        if hasattr(model, "_state"):
            model._rows_of_fit(self._name)
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")


class StoredPrior(ByRow):
    """The prepared prior: a model loaded from a file that could not hold it says so."""

    def __get__(self, model: FittedEnsemble | None, owner: type) -> Any:
        if model is not None and hasattr(model, "_state") and model._state.unstored_prior:
            raise AttributeError(
                f"prior_ of this model was a {model._state.unstored_prior}, which its file does "
                "not hold: prepare that prior again."
            )
        return super().__get__(model, owner)


class FittedEnsemble(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Base of the estimators: the questions that replicas answer once they have been run.

    A subclass sets the fitted attributes and ``_state``, what can answer questions.
    """

    n_jobs: int | None
    _state: FittedState
    _components: tuple[Job, ComponentModel] | None = None
    labels_: Any = ByRow()
    memberships_: Any = ByRow()
    entropy_: Any = ByRow()
    n_votes_: Any = ByRow()
    mc_trace_: Any = ByRow()
    reference_labels_: Any = ByRow()
    trimmed_: Any = ByRow()
    prior_: Any = StoredPrior()
    metadata_: dict[str, Any]

    @property
    def has_rows_of_fit(self) -> bool:
        """Whether the rows of ``fit`` are at hand; not in a model loaded from a file."""
        check_is_fitted(self)
        return self._state.record is not None

    def was_fitted_to(self, X: Floats) -> bool:
        """Whether X is, to a rounding, the table that was clustered."""
        return self._rows_of_fit("was_fitted_to").rows.are(X)

    def fit_weights(self) -> npt.NDArray[np.float64] | None:
        """Weights of the rows of ``fit``, shape (n,); None when all count the same."""
        return self._rows_of_fit("fit_weights").rows.weights()

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Memberships of rows, by the votes of all replicas, shape (n, K).

        The name is scikit-learn's. They are shares of the votes, which tell how stable the division
        is, not probabilities of belonging to a component: see :meth:`component_probabilities`.
        """
        return np.concatenate([self._shares(rows, votes) for rows, votes in self._vote_on(X)])

    def _vote_on(self, X: Any) -> Iterator[tuple[Floats, npt.NDArray[np.int32]]]:
        """Some rows after the other, few enough to stay in cache, and the votes on them."""
        check_is_fitted(self)
        X = self._check_rows(X)
        for start in range(0, len(X), ROWS_AT_ONCE):
            rows = X[start : start + ROWS_AT_ONCE]
            yield rows, self._state.predictors.vote(rows, n_jobs=effective_n_jobs(self.n_jobs))

    def _check_rows(self, X: Any) -> Floats:
        """Rows other than those of ``fit``: incomplete ones where replicas complete them."""
        completes = getattr(self._state.predictors, "missing", None) is not None
        return check.check_table(self, X, reset=False, allow_missing=completes)

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
        return self._state.predictors.labels(self._check_rows(X))

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
        record = self._rows_of_fit("comembership")
        pairs = check.check_pairs(pairs, len(record.votes))
        numbers, places = np.unique(pairs, return_inverse=True)
        first, second = places.reshape(pairs.shape).T
        labels = self._state.predictors.labels(record.rows.rows(numbers), numbers)
        return comembership_rates(labels, first, second)

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
        votes = self._rows_of_fit("top_memberships").votes
        k = check.check_integer("k", k, minimum=1, maximum=votes.shape[1])
        return largest_memberships(memberships(votes), k)

    def component_probabilities(self, X: Any = None) -> npt.NDArray[np.float64]:
        """How probable it is that rows come from each group, if the groups are Gaussian.

        ``memberships_`` are votes: they tell whether other data would be cut in the same place, and
        may agree on a row that two overlapping groups share. These are probabilities of belonging,
        by a mixture of one Gaussian per cluster that is fitted in replicas of the rows, averaged
        over them and calibrated on samples of itself; see
        :mod:`bbclust.diagnostics.component_probabilities`.

        They assume that every group is Gaussian, of any shape and size, and that there are K of
        them. Then the rows with a largest probability of 0.8 are right in about 80% of cases. They
        do not hold for groups of another shape that overlap, nor where a thousand rows or less have
        to tell groups apart that lie within two standard deviations of each other;
        ``benchmarks/calibrate_belonging.py`` measures both.

        The mixtures are fitted to the evaluation rows, at most 4,096, when they are first asked
        for, which takes seconds. They depend on the data, the reference partition and the seed, not
        on the number of replicas nor on ``n_jobs``.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d), optional
            Rows to judge; those of ``fit`` by default.

        Returns
        -------
        ndarray of shape (n, K)
            Each row sums to one; columns are the clusters, by the numbers of ``labels_``.

        Examples
        --------
        >>> import numpy as np
        >>> from bbclust import BBC
        >>> X = np.random.default_rng(0).normal(size=(1000, 2))
        >>> X[:400, 0] += 2.5  # two groups that overlap
        >>> model = BBC(2, random_state=0).fit(X)
        >>> beyond_the_cut = [[1.3, 0.0]]
        >>> model.predict_proba(beyond_the_cut).round(1)
        array([[0., 1.]])
        >>> model.component_probabilities(beyond_the_cut).round(1)
        array([[0.7, 0.3]])
        """
        rows = self._rows_of_fit("component_probabilities").rows
        others = None if X is None else check.check_table(self, X, reset=False)
        model = self._component_model()
        if others is not None:
            return _probabilities(model, others)
        probabilities: npt.NDArray[np.float64] = rows.scatter_to_all_rows(
            _probabilities(model, rows.table.original()),
            _probabilities(model, rows.zero_weight_rows),
        )
        return probabilities

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

        job = self._rows_of_fit("prior_conflict").job
        if job.prior is None:
            raise ValueError(
                "The model was fitted without a prior, so there is nothing to compare: "
                "use BBC with resampling='proper' and prior_weight above 0."
            )
        clustered, reference = job.reference.without_noise()
        count = n_prior_draws(reference.n_clusters, job.table.d)
        draws = job.prior.sample(count, stream_generator(job.plan.seed, Stage.PRIOR_SKETCH))
        return compare_with_prior(
            job.completed_rows()[clustered].astype(np.float64),
            reference.weights,
            reference.centers,
            self.cluster_centers_,
            np.asarray(draws, dtype=np.float64),
        )

    def mean_entropy_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where ``mean_entropy_`` would be by ever more replicas.

        ``mean_entropy_`` is too low when replicas are few, by ``mean_entropy_bias_``, which the
        jackknife estimates. The interval is around the corrected value, on the scale of logarithms,
        and as wide as ``mean_entropy_se_`` and the correction together make it: see
        :mod:`bbclust.stages.monte_carlo`, and docs/calibration.md for how often it holds.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95

        Returns
        -------
        tuple of two floats
            Lower and upper end, in bits. Both are 0 if all votes agree: then dissent is rarer than
            these replicas can show. NaN by one replica.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> low, high = model.mean_entropy_interval()
        >>> low < model.mean_entropy_ - model.mean_entropy_bias_ < high
        True
        """
        return self._entropy_interval("mean_entropy_", level)

    def max_pair_doubt_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where ``max_pair_doubt_`` would be by ever more replicas.

        As :meth:`mean_entropy_interval`. It is of the pair that is worst by these replicas; where
        others are close to it, the largest of several is chosen with their noise.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95

        Returns
        -------
        tuple of two floats
            Lower and upper end, in bits.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> low, high = model.max_pair_doubt_interval()
        >>> low < model.max_pair_doubt_ < high
        True
        """
        return self._entropy_interval("max_pair_doubt_", level)

    def _entropy_interval(self, name: str, level: float) -> tuple[float, float]:
        check_is_fitted(self)
        level = check.check_level(level)
        value, bias, error = (getattr(self, f"{name}{more}") for more in ("", "bias_", "se_"))
        return entropy_interval(value, bias, error, self.n_replicas_, level)

    @property
    def max_pairwise_entropy_se_(self) -> float:
        """Spread of ``max_pairwise_entropy_`` over repetitions; deprecated."""
        error = self._max_pairwise_entropy_se
        warnings.warn(
            "max_pairwise_entropy_se_ is not the error of max_pairwise_entropy_, which is too low "
            "by more than that when replicas are few, and will go in 0.2: use max_pair_doubt_ and "
            "max_pair_doubt_interval().",
            FutureWarning,
            stacklevel=2,
        )
        return error

    @max_pairwise_entropy_se_.setter
    def max_pairwise_entropy_se_(self, error: float) -> None:
        self._max_pairwise_entropy_se = error

    def centers_interval(self, level: float = 0.95) -> npt.NDArray[np.float64]:
        """Intervals of the cluster centres, coordinate by coordinate.

        With an elicited prior (``prior=None`` or :class:`~bbclust.priors.ElicitedPrior`) or none,
        they are confidence intervals: they hold the centres that as many replicas of ever more
        rows of the same kind would find with the share ``level``, whatever ``prior_weight`` is. The
        prior was read off the same rows, so it does not make them narrower.

        With a prior of your own they are credible intervals of the Dirichlet process that combines
        it with the data: as narrow as data and prior together make them, and right if the prior is.

        Replicas scatter more than either, and are drawn together accordingly
        (``center_variance_ratio_``). Intervals are wider for few replicas and for clusters of few
        rows. Where clusters overlap, k-means centres lie further apart than those of the groups:
        the intervals are for the former.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95

        Returns
        -------
        ndarray of shape (K, d, 2)
            Lower and upper ends; NaN for a cluster that fewer than ``2 / (1 - level) - 1`` of the
            replicas found.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> model.centers_interval().shape
        (3, 4, 2)
        """
        level = self._check_level(level)
        return center_intervals(self._posterior_centers(), level, self._rows_of_clusters())

    def centers_region(self, level: float = 0.95) -> CenterRegions:
        """Regions of the cluster centres, all coordinates together.

        What they hold is what :meth:`centers_interval` says.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95

        Returns
        -------
        CenterRegions
            Means, covariances and radii of ellipsoids: the shape of the covariance over the
            replicas, so large that the share ``level`` of them lies inside, and larger for clusters
            of few rows; NaN for those of no more rows than features. It takes clearly more replicas
            than features.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> regions = BBC(3, random_state=0).fit(load_iris().data).centers_region()
        >>> regions.covariances.shape, regions.radii.round()
        ((3, 4, 4), array([3., 3., 4.]))
        """
        level = self._check_level(level, tails=1)
        return center_regions(self._posterior_centers(), level, self._rows_of_clusters())

    def center_distances(self, level: float = 0.95) -> CenterDistances:
        """Distances between the cluster centres, with intervals as of :meth:`centers_interval`.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95

        Returns
        -------
        CenterDistances
            ``distance``, ``lower`` and ``upper``, each of shape (K, K).

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> model.center_distances().distance.round()
        array([[0., 3., 2.],
               [3., 0., 5.],
               [2., 5., 0.]])
        """
        level = self._check_level(level)
        return distances_between(self._posterior_centers(), level, self._rows_of_clusters())

    def partition_posterior(self, level: float = 0.95) -> PartitionPosterior:
        r"""The partition as a whole: a consensus of the replicas, and how far they are from it.

        Partitions are compared by the variation of information, which is 0 for the same clusters,
        whatever their names, and counts the bits that one does not tell about the other. The
        consensus has the least mean from the partitions of all replicas that was found; its
        credible ball holds the share ``level`` of them (Wade and Ghahramani 2018, Bayesian Analysis
        13, 559-626). ``labels_`` are decided row by row, the consensus for all rows together.

        It is about the evaluation rows: all rows, or a fixed random sample of 4,096. Every replica
        labels all of them, also those that it did not draw. Replicas scatter more than the
        posterior (``variance_ratio_``), and so does the ball: it errs on the wide side.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95

        Returns
        -------
        PartitionPosterior
            ``labels`` of ``rows``, ``expected_vi``, ``radius``, the bounds of the ball, and what
            ``changes`` in the furthest partition inside; ``print`` tells it in sentences.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> found = model.partition_posterior()
        >>> found.n_clusters, round(found.expected_vi, 1), round(found.radius, 1)
        (3, 0.2, 0.6)
        """
        record = self._rows_of_fit("partition_posterior")
        level = check.check_level(level)
        plan, table = record.job.plan, record.rows.table
        if not plan.clusterer.predicts:
            raise ValueError(
                "partition_posterior compares whole partitions, and replicas of "
                f"{plan.clusterer.name} label only the rows they drew: use a clusterer that can "
                "predict, such as k-means."
            )
        rows = record.rows.numbers_of(plan.evaluation_rows)
        labels = self._state.predictors.labels(table.original(plan.evaluation_rows), rows)
        return partition_posterior(
            np.array([of_replica.astype(np.int16) for of_replica in labels]),
            self.labels_[rows],
            table.weights_or_ones()[plan.evaluation_rows],
            rows=rows,
            n_clusters=len(self.reference_centers_),
            level=level,
        )

    def cluster_stability(self, threshold: float = UNIQUE_MATCH) -> ClusterStability:
        r"""How often each cluster is found again in the replicas.

        Of the clusters of a replica, the one that matches best has the largest Jaccard coefficient
        with the rows of a cluster: rows in both, divided by rows in either. This is ``clusterboot``
        of R's package fpc for the replicas that there are. A replica counts with the rows that it
        voted on: with ``votes="drawn"`` those that it drew, each once however often it was drawn,
        as in ``clusterboot``. A replica that drew no row of a cluster does not count for it, where
        ``clusterboot`` counts 0.

        It tells how stable a cluster is, not whether a gap surrounds it: a cut through one cloud
        may be found again as well.

        Parameters
        ----------
        threshold : float in [0, 1), default=0.5
            A cluster is found again in a replica if the coefficient is greater. Above one half, a
            cluster and its match hold more than half of each other: it has no other match, and
            no other cluster has it. At one half or less ``clusterboot`` calls a cluster dissolved;
            0.75, above which it calls it recovered (``bootrecover``), is a rule of thumb.

        Returns
        -------
        ClusterStability
            ``jaccard``, ``recovered``, their standard errors and ``n_replicas``, of shape (K,).
            NaN for a cluster without any evaluation row that a replica voted on.

        Notes
        -----
        The clusters are those of ``labels_``. Their rows are the evaluation rows, all or 4,096
        drawn at random, with their weights. ``labels_`` are the majority of the same replicas,
        while ``clusterboot`` starts from a clustering of the data. The standard errors are about
        the number of replicas, not about that of rows, and take ``labels_`` as given. Where rows
        have few votes, labels follow these, so that ``jaccard`` is a little too high and its error
        too small (``benchmarks/calibrate_stability.py``).

        Rows that a replica of ``clusterer`` calls noise, or puts into a cluster without a partner
        in the reference, are not told from rows without a vote, and do not count in that replica.

        References
        ----------
        C. Hennig (2007). Cluster-wise assessment of cluster stability. Computational Statistics &
        Data Analysis 52, 258-271.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> stability = model.cluster_stability()
        >>> stability.jaccard.round(1), stability.recovered.round(1)
        (array([0.9, 1. , 0.9]), array([1., 1., 1.]))
        """
        record = self._rows_of_fit("cluster_stability")
        threshold = check.check_share(
            "threshold", threshold, why="it is compared with Jaccard coefficients"
        )
        table, evaluated = record.job.table, record.job.plan.evaluation_rows
        return cluster_stability(
            record.rows.in_table(self.labels_)[evaluated],
            record.replicas.evaluation_labels,
            record.job.n_clusters,
            None if table.weights is None else table.weights[evaluated],
            threshold=threshold,
        )

    def variable_importance(self, X: Any = None) -> VariableImportance:
        """What each variable tells about the clusters, in bits.

        The mutual information between a variable and the memberships, corrected for its bias: 0
        for a variable that the clusters do not depend on, the entropy of the cluster shares for one
        that determines them. Variables that say the same have it twice.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d), optional
            Rows to look at, with the memberships of ``predict_proba``; those of ``fit`` with
            ``memberships_`` and their weights by default.

        Returns
        -------
        VariableImportance
            ``bits`` and standard errors ``se``, one per variable, and ``cluster_entropy``.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> importance = model.variable_importance()
        >>> importance.bits.round(1), round(importance.cluster_entropy, 1)
        (array([0.9, 0.4, 1.4, 1.2]), 1.6)
        """
        if X is not None:
            shares = self.predict_proba(X)
            others = self._check_rows(X)
            return variable_importances(others, shares, np.ones(len(others)))
        rows = self._rows_of_fit("variable_importance without X").rows
        shares, table = rows.in_table(self.memberships_), rows.table
        return variable_importances(table.rows, shares, table.weights_or_ones())

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        precision: str = "float64",
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the model to one file, whole or not at all.

        The file holds what is needed to predict and to describe the model, and no row that it was
        fitted to; :func:`bbclust.load_model` reads it. It is checksummed and safe to open:
        arrays and JSON, nothing that could be executed.

        Parameters
        ----------
        path : str or path
            Replaced if it exists.
        precision : {"float64", "float32"}, default="float64"
            Of the replicas' centres, which are most of the file. "float32" halves it, and a row
            as far from two centres to seven digits may then get another vote.
        metadata : dict, optional
            What you want to keep with the model, such as units or the scaling of columns: words,
            numbers, lists and dicts. A loaded model has it as ``metadata_``, and keeps it when it
            is saved again without another.

        Examples
        --------
        >>> import os, tempfile
        >>> from bbclust import BBC, load_model
        >>> from bbclust.datasets import load_iris
        >>> X = load_iris().data
        >>> model = BBC(n_clusters=3, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "iris.bbc")
        ...     model.save(path)
        ...     loaded = load_model(path)
        >>> bool((loaded.predict_proba(X) == model.predict_proba(X)).all())
        True
        """
        check_is_fitted(self)
        save_model(path, self, precision=precision, metadata=metadata)

    @property
    def membership_se_(self) -> npt.NDArray[np.float64]:
        return membership_se(self._rows_of_fit("membership_se_").votes)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    @property
    def _n_features_out(self) -> int:
        return len(self.reference_centers_)

    @classmethod
    def _saved_as(cls) -> type[FittedEnsemble]:
        """The estimator that a model file is read as."""
        return cls

    def _rows_of_fit(self, what: str) -> FitRecord:
        """The fit, for what cannot be answered without the rows that were clustered."""
        check_is_fitted(self)
        if self._state.record is None:
            raise AttributeError(f"{what} {WITHOUT_ROWS[self._state.source]}")
        return self._state.record

    def _component_model(self) -> ComponentModel:
        """The mixtures behind ``component_probabilities``, kept once they are fitted."""
        job = self._rows_of_fit("component_probabilities").job
        if self._components is None or self._components[0] is not job:
            if not isinstance(job.plan.clusterer, EngineKMeans):
                raise ValueError(
                    "component_probabilities start from k-means, and clusterer is "
                    f"{job.plan.clusterer.name}: leave clusterer=None."
                )
            if job.table.incomplete is not None:
                n_incomplete = len(job.table.incomplete.rows)
                raise ValueError(
                    f"component_probabilities need complete rows, and {n_incomplete} of "
                    f"{job.table.n} miss values: fill these first."
                )
            model = fit_component_model(
                job.table.part(job.plan.evaluation_rows),
                job.reference.labels[job.plan.evaluation_rows],
                job.n_clusters,
                job.plan.seed,
                n_jobs=effective_n_jobs(self.n_jobs),
            )
            self._components = (job, model)
        return self._components[1]

    def _posterior_centers(self) -> npt.NDArray[np.float64]:
        # files of earlier versions lack the other ratio
        ratio = getattr(self, "center_variance_ratio_", self.variance_ratio_)
        return posterior_centers(self.replica_centers_, self._state.occupied, ratio)

    def _rows_of_clusters(self) -> npt.NDArray[np.float64] | None:
        """Rows from which each centre was estimated, if by them alone."""
        rows = getattr(self, "cluster_rows_", None)
        return None if rows is None or np.isnan(rows).any() else rows

    def _has_own_prior(self) -> bool:
        """Whether the prior tells what the rows do not."""
        return False

    def _check_level(self, level: float, *, tails: int = 2) -> float:
        check_is_fitted(self)
        level = check.check_level(level)
        needed = replicas_needed(level, tails=tails)
        if len(self.replica_centers_) < needed:
            raise ValueError(
                f"level={level:g} needs at least {needed} replicas and there are "
                f"{len(self.replica_centers_)}: raise n_replicas, or lower the level."
            )
        return level

    def _publish_replicas(
        self,
        job: Any,
        n: int,
        replicas: Replicas,
        trace: list[Precision],
        weights: npt.NDArray[np.float64] | None = None,
    ) -> None:
        """Set what does not depend on the votes on every row of the n there are."""
        reference = job.reference
        self.mc_trace_ = as_columns(trace)
        self.n_replicas_ = replicas.n_replicas
        self.replica_centers_ = replicas.centers
        self.replica_n_iter_ = replicas.n_iter
        self.alignment_margin_ = replicas.margin
        self.n_abstentions_ = int((~replicas.occupied).sum())
        self.n_iter_ = max(reference.n_iter, int(replicas.n_iter.max()))
        self.prior_ = job.prior
        self.reference_centers_ = reference.centers
        self.cluster_centers_ = replicas.mean_centers(reference.centers)
        resampling = job.plan.resampling
        self.center_variance_ratio_ = self.variance_ratio_ = resampling.variance_ratio(n)
        self.cluster_rows_ = np.full(reference.n_clusters, np.nan)
        if not (resampling.uses_prior and self._has_own_prior()):
            share = effective_share(weights)
            weight = resampling.prior_weight if resampling.uses_prior else 0.0
            scale = float(getattr(self, "prior_scale", 1.0))
            self.center_variance_ratio_ *= sampling_ratio(weight, scale, share)
            self.cluster_rows_ = reference.shares * n * share
        self.n_abstained_votes_ = int(replicas.abstained.sum())
        self.n_failed_ = len(replicas.failures)

    def _publish_entropies(
        self,
        summary: MembershipSummary,
        trace: list[Precision],
        evaluation_labels: npt.NDArray[np.int16],
        evaluation_votes: npt.NDArray[np.int32],
        evaluation_weights: npt.NDArray[np.float64],
    ) -> None:
        """Set what is said of all rows together, with Monte-Carlo errors by the evaluation rows."""
        self.cluster_shares_ = summary.shares
        self.mean_entropy_ = summary.entropy
        self.mean_entropy_se_ = trace[-1].mean_entropy_se
        self.pairwise_entropy_ = summary.pairwise_entropy
        self.worst_pair_ = worst_pair(self.pairwise_entropy_)
        self.max_pairwise_entropy_ = self.max_pairwise_entropy_se_ = 0.0
        self.max_pair_doubt_ = self.max_pair_doubt_bias_ = self.max_pair_doubt_se_ = 0.0
        self.pair_doubt_ = summary.pair_doubts
        self.mean_entropy_bias_ = mean_entropy_bias(evaluation_votes, evaluation_weights)
        doubtful = worst_pair(self.pair_doubt_)
        if self.worst_pair_ is None or doubtful is None:
            return
        votes = (evaluation_labels, evaluation_votes, evaluation_weights)
        self.max_pairwise_entropy_ = float(self.pairwise_entropy_[self.worst_pair_])
        self.max_pairwise_entropy_se_ = standard_error(
            pairwise_entropy_influence(*votes, self.worst_pair_)
        )
        self.max_pair_doubt_ = float(self.pair_doubt_[doubtful])
        self.max_pair_doubt_bias_ = pair_doubt_bias(*votes[1:], doubtful)
        self.max_pair_doubt_se_ = standard_error(pair_doubt_influence(*votes, doubtful))


def _probabilities(model: ComponentModel, rows: Floats) -> npt.NDArray[np.float64]:
    """Probabilities of components, some rows after the other."""
    blocks = range(0, max(len(rows), 1), ROWS_AT_ONCE)
    return np.concatenate([model.probabilities(rows[i : i + ROWS_AT_ONCE]) for i in blocks])
