"""BBC, the estimator: validate, elicit, run, publish."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from bbclust import validation as check
from bbclust.ensemble.adapted import reference_by
from bbclust.ensemble.custom_clusterer import Adapter, adapt
from bbclust.ensemble.job import (
    MAX_EVALUATION_POINTS,
    Plan,
    Replicas,
    choose_evaluation_rows,
    join,
    replica_tolerance,
)
from bbclust.ensemble.predictors import CenterPredictors, ModelPredictors, ReplicaPredictors
from bbclust.ensemble.run import Progress, run_replicas
from bbclust.estimators.base import FittedEnsemble, Run
from bbclust.estimators.sklearn_callbacks import CallbackContext, CallbackSupport
from bbclust.priors import ElicitedPrior, check_prepared
from bbclust.stages.bootstrap import RESAMPLINGS, WEIGHTINGS, Resampling
from bbclust.stages.entropies import entropy, mean_pairwise_entropy, worst_pair
from bbclust.stages.kmeans import Partition, cluster_reference, partition_from_labels
from bbclust.stages.monte_carlo import Precision, as_columns, measure_precision
from bbclust.stages.random_streams import root_seed
from bbclust.stages.table import Floats, Table, centered, make_table
from bbclust.stages.voting import (
    memberships,
    nearest_center,
    pairwise_entropy_influence,
    standard_error,
)

AUTO_BLOCK = 100
AUTO_CAP = 5_000
FEW_VOTES = 20


class BBC(CallbackSupport, FittedEnsemble):
    """Bayesian Bagged Clustering: memberships from votes of bootstrap replicas.

    k-means partitions the data and elicits a Gaussian-mixture prior; the proper Bayesian bootstrap
    draws replicas that mix that prior with the data; k-means clusters each replica; its labels are
    aligned with the reference partition and counted as votes.

    Parameters
    ----------
    n_clusters : int, default=3
        K.
    n_replicas : int or "auto", default=200
        B. With "auto", blocks of 100 replicas until ``mean_entropy_se_`` is at most ``mc_tol`` and
        the largest ``membership_se_`` at most five times that; 5,000 at most.
    prior : object, optional
        F0; :class:`~bbclust.priors.ElicitedPrior` by default, others are in
        :mod:`bbclust.priors`. Any object with ``prepare(X, reference, scale)`` that returns
        something with ``sample(n, generator)``.
    prior_scale : float, default=1.0
        s, multiplies the covariances that the prior reads off the data.
    prior_weight : float in [0, 1), default=0.5
        omega, the share of draws that come from the prior.
    resampling : {"proper", "rubin", "efron"}, default="proper"
        The bootstrap. The last two ignore the prior; Rubin's weighs every row in every replica.
    n_draws : int, optional
        m, draws per replica; the number of rows (of positive weight) by default.
    weighting : {"weights", "resample"}, default="weights"
        Dirichlet weights as sample weights, or as probabilities of a second resampling.
    votes : {"auto", "drawn", "all"}, default="auto"
        Whether a replica votes on the rows it drew, as in the paper, or its centres on every row;
        "auto" is "drawn" when ``n_draws`` is at least the number of rows.
    clusterer : None, estimator or callable, optional
        P; the native weighted k-means by default. Any scikit-learn clusterer, or a function of the
        points that returns labels. Its number of clusters and its random states are set from here;
        one that finds its own number, such as DBSCAN, ignores ``n_clusters``. If it takes
        ``sample_weight`` it gets the Dirichlet weights, else the second resampling; if it can
        ``predict`` its replicas can vote on all rows, else on drawn ones only. ``n_init``,
        ``max_iter`` and ``tol`` are for k-means alone.
    n_init : int, default=5
        k-means++ starts per replica, besides the start from the reference centres; the lowest
        inertia wins. The reference partition uses 30.
    max_iter : int, default=300
        Lloyd iterations at most.
    tol : float, default=1e-4
        Lloyd stops when the centres move less, in squared distance relative to the variance. In
        replicas of large tables it goes on until a shift is small beside what resampling does.
    mc_tol : float, default=0.01
        Precision for ``n_replicas="auto"``, in bits.
    callbacks : callable or list of callables, optional
        Called as ``callback(done, total)`` after every block of replicas. Callbacks of scikit-learn
        1.9 and later, such as its progress bar, are set by ``set_callbacks``; if one of them asks
        to stop, the fit ends with the replicas done so far.
    n_jobs : int, optional
        Threads; None is 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None
        Same number, same bits.
    verbose : int, default=0
        1 prints progress.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster with most votes; clusters are numbered by decreasing size of the reference, or as
        in an earlier model (:class:`~bbclust.priors.ModelPrior`).
    memberships_ : ndarray of shape (n, K)
        Share of the votes.
    entropy_ : ndarray of shape (n,)
        Entropy of each row's memberships, in bits.
    mean_entropy_, mean_entropy_se_ : float
        Mean over the rows, and its Monte-Carlo standard error.
    pairwise_entropy_ : ndarray of shape (K, K)
        Mean entropy between each two clusters, in bits.
    max_pairwise_entropy_, max_pairwise_entropy_se_ : float
        Its largest entry, and the Monte-Carlo standard error of that; 0 at K = 1.
    worst_pair_ : tuple of two ints, or None
        The clusters worst told apart; None at K = 1.
    mc_trace_ : dict of arrays
        How precise the results became: ``n_replicas``, ``mean_entropy_se`` and
        ``max_membership_se``, the largest error of a membership. One entry per block of 100 with
        ``n_replicas="auto"``, else one at the end; one more after ``add_replicas``.
    n_votes_ : ndarray of shape (n,)
        Votes on each row.
    membership_se_ : ndarray of shape (n, K)
        Posterior standard deviation of the memberships under Jeffreys' prior, made on demand.
    reference_labels_, reference_centers_ : ndarrays of shape (n,), (K, d)
        The reference partition; -1 for rows that ``clusterer`` calls noise.
    cluster_centers_ : ndarray of shape (K, d)
        Mean of the aligned replica centres.
    cluster_shares_ : ndarray of shape (K,)
        Mean membership: the share of the rows that each cluster holds.
    replica_centers_ : ndarray of shape (B, K, d)
        Aligned centres of every replica.
    variance_ratio_ : float
        How many times larger the variance of a cluster's mean is over the replicas than under the
        posterior: 1 + (n + k) / m for the proper Bayesian bootstrap with weights. What is said of
        centres (``centers_interval`` and so on) takes account of it.
    replica_n_iter_ : ndarray of shape (B,)
        Lloyd iterations of each replica's best start.
    alignment_margin_ : ndarray of shape (B,)
        How much agreement with the reference the best other prefix_errors_with of clusters would lose.
    prior_ : object
        The prepared prior; None when none is used.
    n_replicas_ : int
        Replicas run.
    n_undrawn_ : int
        Rows that no replica drew, or all called noise. The replicas' centres vote on them; with a
        ``clusterer`` that cannot predict they keep their reference label.
    n_abstentions_ : int
        Clusters of replicas left without points or without a partner; their centres do not vote.
    n_abstained_votes_ : int
        Votes not cast: rows that a replica calls noise, or puts into a cluster without a partner
        in the reference. With ``clusterer`` only.
    n_failed_ : int
        Replicas on which ``clusterer`` failed; they have no vote.
    n_iter_ : int
        Largest number of Lloyd iterations.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    F. M. Quetti, S. Figini, E. Ballante: A Bayesian Approach to Clustering via the Proper Bayesian
    Bootstrap: the Bayesian Bagged Clustering (BBC) algorithm.

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> iris = load_iris()
    >>> model = BBC(n_clusters=3, random_state=0).fit(iris.data)
    >>> model.memberships_.shape
    (150, 3)
    >>> model.worst_pair_
    (0, 2)
    """

    # Rows for which the votes of every replica are kept, at most.
    _max_evaluation_points = MAX_EVALUATION_POINTS

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        n_replicas: int | str = 200,
        prior: Any = None,
        prior_scale: float = 1.0,
        prior_weight: float = 0.5,
        resampling: str = "proper",
        n_draws: int | None = None,
        weighting: str = "weights",
        votes: str = "auto",
        clusterer: Any = None,
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        mc_tol: float = 0.01,
        callbacks: Callable[[int, int], None] | Iterable[Callable[[int, int], None]] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_replicas = n_replicas
        self.prior = prior
        self.prior_scale = prior_scale
        self.prior_weight = prior_weight
        self.resampling = resampling
        self.n_draws = n_draws
        self.weighting = weighting
        self.votes = votes
        self.clusterer = clusterer
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.mc_tol = mc_tol
        self.callbacks = callbacks
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        reference_labels: npt.ArrayLike | None = None,
    ) -> BBC:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Numbers without gaps. Columns are used as they are: scale them first if their units
            differ.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Relative weights of the rows. Rows of weight zero take no part and get memberships by
            the replicas' centres.
        reference_labels : array-like of shape (n,), optional
            A partition into ``n_clusters`` to use as the reference instead of computing one: an
            existing clustering to examine. With ``clusterer``, -1 is noise.

        Returns
        -------
        self
        """
        self._check_parameters()
        with check.all_or_nothing(self), CallbackContext(self, "replicas", X) as callback_context:
            X = check.check_table(self, X, reset=True)
            weights = check.check_sample_weight(sample_weight, len(X))
            run = self._prepare(X, weights, reference_labels)
            self._publish(run, *self._run_all(run, callback_context))
            notice = getattr(run.prior, "notice", None)
            if notice is not None:
                warnings.warn(notice, UserWarning, stacklevel=2)
        return self

    def add_replicas(self, n_replicas: int) -> BBC:
        """Run more replicas: the result equals that of a fit with the larger number.

        Parameters
        ----------
        n_replicas : int
            How many to add.

        Returns
        -------
        self
        """
        run = self._rows_of_fit("add_replicas")
        n_replicas = check.check_integer("n_replicas", n_replicas, minimum=1)
        more = range(self.n_replicas_, self.n_replicas_ + n_replicas)
        with check.all_or_nothing(self):
            replicas = join([self._replicas, self._run_more(run, more)])
            trace = [*self._trace, self._measure(run, replicas)]
            self._publish(run, replicas, trace)
        return self

    def _check_parameters(self) -> None:
        check.check_integer("n_clusters", self.n_clusters, minimum=1, maximum=check.MAX_CLUSTERS)
        if self.n_replicas != "auto":
            check.check_integer("n_replicas", self.n_replicas, minimum=1)
        if self.prior is not None and not callable(getattr(self.prior, "prepare", None)):
            raise TypeError(
                f"prior must have a method prepare(X, reference, scale), got {self.prior!r}: "
                "use a class of bbclust.priors."
            )
        check.check_number(
            "prior_scale", self.prior_scale, above=0, why="it multiplies the prior's covariances"
        )
        check.check_share(
            "prior_weight", self.prior_weight, why="it is the share of draws from the prior"
        )
        check.check_choice("resampling", self.resampling, RESAMPLINGS)
        check.check_choice("weighting", self.weighting, WEIGHTINGS)
        check.check_choice("votes", self.votes, ("auto", "drawn", "all"))
        if self.n_draws is not None:
            if self.resampling == "rubin":
                raise ValueError(
                    f"resampling='rubin' weighs every row and draws none, got n_draws="
                    f"{self.n_draws}: leave n_draws=None, or use resampling='proper'."
                )
            check.check_integer("n_draws", self.n_draws, minimum=int(self.n_clusters))
        adapter = self._adapter()
        if adapter is not None and self.votes == "all" and not adapter.predicts:
            raise ValueError(
                f"votes='all' needs a clusterer that can predict, and {adapter.name} cannot: "
                "use votes='drawn'."
            )
        check.check_integer("n_init", self.n_init, minimum=0, maximum=65_535)
        check.check_integer("max_iter", self.max_iter, minimum=1)
        check.check_n_jobs(self.n_jobs)
        check.check_callbacks(self.callbacks)
        check.check_number("mc_tol", self.mc_tol, above=0, why="it is a standard error in bits")
        if not (isinstance(self.tol, (int, float, np.number)) and self.tol >= 0):
            raise ValueError(f"tol must be a number of at least 0, got {self.tol!r}.")

    def _prepare(
        self,
        X: Floats,
        weights: npt.NDArray[np.float64] | None,
        reference_labels: npt.ArrayLike | None,
    ) -> Run:
        """Reference, prior and plan (Algorithm 3, steps 2 to 6)."""
        counted = None if weights is None or (weights > 0).all() else weights > 0
        rows = X if counted is None else X[counted]
        with np.errstate(over="ignore", invalid="ignore"):  # check_spread speaks of it
            table = make_table(
                rows, weights if weights is None or counted is None else weights[counted]
            )
        check.check_spread(rows, table)
        plan = self._plan(table)
        if reference_labels is None:
            reference = self._cluster_reference(table, plan)
        else:
            reference = partition_from_labels(
                table, self._check_labels(reference_labels, len(X), counted, plan.adapter)
            )
        prior = None
        if plan.resampling.uses_prior:
            chosen = ElicitedPrior() if self.prior is None else self.prior
            if hasattr(chosen, "number_clusters"):
                reference = reference.renumbered(chosen.number_clusters(reference))
            clustered, partition = reference.without_noise()
            inside = rows if clustered.all() else rows[clustered]
            prepared = chosen.prepare(inside, partition, float(self.prior_scale))
            prior = check_prepared(prepared, table.d)
        others = X[:0] if counted is None else X[~counted]
        return Run(table, counted, others, reference, prior, plan)

    def _plan(self, table: Table) -> Plan:
        seed = root_seed(self.random_state)
        n_draws = table.n if self.n_draws is None else int(self.n_draws)
        adapter = self._adapter()
        weighting, votes = self.weighting, self.votes
        if votes == "auto":
            votes = "all" if n_draws < table.n else "drawn"
        if adapter is not None:
            weighting = weighting if adapter.weight_parameter else "resample"
            votes = votes if adapter.predicts else "drawn"
        return Plan(
            seed=seed,
            resampling=Resampling(
                n_draws=n_draws,
                prior_weight=float(self.prior_weight) if self.resampling == "proper" else 0.0,
                kind=self.resampling,
                weighting=weighting,
            ),
            votes=votes,
            n_init=int(self.n_init),
            max_iter=int(self.max_iter),
            tolerance=replica_tolerance(
                self.tol, table.mean_variance(), self.n_clusters * table.d, n_draws
            ),
            evaluation_rows=choose_evaluation_rows(table.n, seed, self._max_evaluation_points),
            adapter=adapter,
        )

    def _adapter(self) -> Adapter | None:
        return None if self.clusterer is None else adapt(self.clusterer)

    def _cluster_reference(self, table: Table, plan: Plan) -> Partition:
        if plan.adapter is not None:
            return self._adapted_reference(plan.adapter, table, plan)
        check.check_distinct_rows(table.rows, self.n_clusters)
        reference = cluster_reference(
            table,
            self.n_clusters,
            plan.seed,
            max_iter=plan.max_iter,
            tolerance=float(self.tol) * table.mean_variance(),
            n_jobs=effective_n_jobs(self.n_jobs),
        )
        check.check_no_cluster_is_empty(reference)
        return reference

    def _check_labels(
        self,
        labels: npt.ArrayLike,
        n: int,
        counted: npt.NDArray[np.bool_] | None,
        adapter: Adapter | None,
    ) -> npt.NDArray[np.int32]:
        if adapter is None:
            return check.check_reference_labels(labels, n, counted, self.n_clusters)
        wanted = None if adapter.count_parameter is None else self.n_clusters
        return check.check_reference_labels(labels, n, counted, wanted, noise=True)

    def _adapted_reference(self, adapter: Adapter, table: Table, plan: Plan) -> Partition:
        if adapter.count_parameter is not None:
            check.check_distinct_rows(table.rows, self.n_clusters)
        if table.weights is not None and adapter.weight_parameter is None:
            warnings.warn(
                f"{adapter.name} takes no sample_weight: the reference partition does without, "
                "rows are drawn by weight.",
                UserWarning,
                stacklevel=5,
            )
        reference = reference_by(adapter, table, self.n_clusters, plan.seed)
        if adapter.count_parameter is not None and reference.n_clusters != self.n_clusters:
            warnings.warn(
                f"{adapter.name} was asked for {self.n_clusters} clusters and found "
                f"{reference.n_clusters} in the data: memberships have that many columns.",
                UserWarning,
                stacklevel=5,
            )
        return reference

    def _run_more(
        self,
        run: Run,
        replicas: range,
        total: int | None = None,
        callback_context: CallbackContext | None = None,
    ) -> Replicas:
        total = replicas.stop if total is None else total

        def report(done: int) -> bool:
            done += replicas.start
            if self.verbose:
                print(f"{type(self).__name__}: {done} of {total} replicas", flush=True)
            for callback in check.check_callbacks(self.callbacks):
                callback(done, total)
            if callback_context is None:
                return False
            callback_context(done, total)
            return callback_context.stopped

        return self._run_replicas(run, replicas, report)

    def _run_replicas(self, run: Run, replicas: range, progress: Progress) -> Replicas:
        """Replicas on the threads of this machine; a subclass may run them elsewhere."""
        return run_replicas(
            run.table,
            run.reference,
            run.prior,
            run.plan,
            replicas,
            n_jobs=effective_n_jobs(self.n_jobs),
            progress=progress,
        )

    def _run_all(
        self, run: Run, callback_context: CallbackContext
    ) -> tuple[Replicas, list[Precision]]:
        """The replicas that ``n_replicas`` asks for, and the errors on the way."""
        if self.n_replicas == "auto":
            return self._run_until_precise(run, callback_context)
        replicas = self._run_more(
            run, range(int(self.n_replicas)), callback_context=callback_context
        )
        return replicas, [self._measure(run, replicas)]

    def _run_until_precise(
        self, run: Run, callback_context: CallbackContext
    ) -> tuple[Replicas, list[Precision]]:
        """Replicas in blocks until their errors are small enough, and the errors on the way."""
        replicas = self._run_more(run, range(AUTO_BLOCK), AUTO_CAP, callback_context)
        trace = [self._measure(run, replicas)]
        while replicas.n_replicas < AUTO_CAP and not (
            trace[-1].reaches(self.mc_tol) or callback_context.stopped
        ):
            more = range(replicas.n_replicas, replicas.n_replicas + AUTO_BLOCK)
            replicas = join([replicas, self._run_more(run, more, AUTO_CAP, callback_context)])
            trace.append(self._measure(run, replicas))
        return replicas, trace

    def _measure(self, run: Run, replicas: Replicas) -> Precision:
        return measure_precision(run.table, run.plan, replicas)

    def _publish(self, run: Run, replicas: Replicas, trace: list[Precision]) -> None:
        """Set the fitted attributes."""
        if len(replicas.failures) == replicas.n_replicas:
            raise ValueError(
                f"{self.clusterer!r} failed on every replica, the first time with "
                f"{replicas.failures[0]}"
            )
        self._publish_replicas(run, replicas, trace)
        reference, table = run.reference, run.table
        self._predictors = _choose_predictors(run, replicas)
        self._votes = self._complete_votes(run, replicas)
        self.n_votes_ = self._votes.sum(axis=1)
        others = centered(run.others, table.center)
        nearest = nearest_center(others, reference.centers - table.center)
        self.reference_labels_ = run.spread(reference.labels, nearest)
        self.memberships_ = memberships(self._votes, self.reference_labels_)
        self.labels_ = np.where(
            self.n_votes_ > 0, self.memberships_.argmax(axis=1), self.reference_labels_
        )
        self.entropy_ = entropy(self.memberships_)

        shares = self.memberships_ if run.counted is None else self.memberships_[run.counted]
        self.cluster_shares_ = np.average(shares, axis=0, weights=table.weights)
        self.mean_entropy_ = float(np.average(entropy(shares), weights=table.weights))
        self.mean_entropy_se_ = trace[-1].mean_entropy_se
        self.pairwise_entropy_ = mean_pairwise_entropy(shares, table.weights)
        self.worst_pair_ = worst_pair(self.pairwise_entropy_)
        self.max_pairwise_entropy_ = 0.0
        self.max_pairwise_entropy_se_ = 0.0
        if self.worst_pair_ is not None:
            self.max_pairwise_entropy_ = float(self.pairwise_entropy_[self.worst_pair_])
            self.max_pairwise_entropy_se_ = standard_error(
                pairwise_entropy_influence(*_evaluation(run, replicas), pair=self.worst_pair_)
            )
        self._warn(run.plan, replicas)

    def _publish_replicas(self, run: Any, replicas: Replicas, trace: list[Precision]) -> None:
        """Set what does not depend on the votes on every row."""
        self._run, self._replicas, self._trace = run, replicas, trace
        self.mc_trace_ = as_columns(trace)
        reference = run.reference
        self.n_replicas_ = replicas.n_replicas
        self.replica_centers_ = replicas.centers
        self.replica_n_iter_ = replicas.n_iter
        self.alignment_margin_ = replicas.margin
        self.n_abstentions_ = int((~replicas.occupied).sum())
        self.n_iter_ = max(reference.n_iter, int(replicas.n_iter.max()))
        self.prior_ = run.prior
        self.reference_centers_ = reference.centers
        self.cluster_centers_ = replicas.mean_centers(reference)
        self.variance_ratio_ = run.plan.resampling.variance_ratio(run.table.n)
        self.n_abstained_votes_ = int(replicas.abstained.sum())
        self.n_failed_ = len(replicas.failures)

    def _complete_votes(self, run: Run, replicas: Replicas) -> npt.NDArray[np.int32]:
        """Votes on all rows of X; the predictors speak for those that the replicas passed over."""
        n_jobs = effective_n_jobs(self.n_jobs)
        votes = replicas.votes
        rows_without_votes = ~votes.any(axis=1)
        self.n_undrawn_ = int(rows_without_votes.sum())
        if self.n_undrawn_ and (run.plan.adapter is None or run.plan.adapter.predicts):
            votes = votes.copy()
            votes[rows_without_votes] = self._predictors.vote(
                run.table.original(rows_without_votes), n_jobs=n_jobs
            )
        completed: npt.NDArray[np.int32] = run.spread(
            votes, self._predictors.vote(run.others, n_jobs=n_jobs)
        )
        return completed

    def _warn(self, plan: Plan, replicas: Replicas) -> None:
        if self.n_failed_:
            warnings.warn(
                f"{self.clusterer!r} failed on {self.n_failed_} of {self.n_replicas_} replicas, "
                f"which have no vote; the first time with {replicas.failures[0]}",
                UserWarning,
                stacklevel=4,
            )
        can_vote_on_all = plan.adapter is None or plan.adapter.predicts
        remedy = "raise n_replicas" + ", or set votes='all'" * can_vote_on_all
        if self.n_undrawn_:
            rows = f"{self.n_undrawn_} of {len(self.labels_)} rows"
            message = (
                f"{rows} were drawn by none of the {self.n_replicas_} replicas and get their "
                f"memberships from the replicas' centres: {remedy}."
            )
            if not can_vote_on_all:
                message = (
                    f"{rows} have no vote of any of the {self.n_replicas_} replicas, which did not "
                    "draw them or call them noise: they keep their reference label."
                )
            warnings.warn(message, UserWarning, stacklevel=4)
        median = float(np.median(self.n_votes_))
        if plan.votes == "drawn" and median < FEW_VOTES:
            warnings.warn(
                f"Half of the rows have at most {median:g} votes, so memberships are coarse: "
                f"{remedy}.",
                UserWarning,
                stacklevel=4,
            )


def _choose_predictors(run: Run, replicas: Replicas) -> ReplicaPredictors:
    if replicas.models:
        return ModelPredictors(replicas.models, run.reference.n_clusters)
    return CenterPredictors(replicas.centers, replicas.occupied, run.table.center)


def _evaluation(
    run: Run, replicas: Replicas
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Labels by replica, their counts, and the weights of the evaluation points."""
    rows = run.plan.evaluation_rows
    return replicas.evaluation_labels, replicas.votes[rows], run.table.weights_or_ones()[rows]
