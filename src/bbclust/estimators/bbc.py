"""BBC, the estimator: Algorithm 3 from a table to votes, and what is published of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from bbclust import validation as check
from bbclust.ensemble.assembly import (
    MAX_EVALUATION_POINTS,
    ReplicaSettings,
    cluster_order,
    describe_missing,
    make_plan,
    make_settings,
    prepare_priors,
    rows_for_prior,
    trim_table,
)
from bbclust.ensemble.custom_clusterer import as_clusterer
from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.ensemble.executor import Executor, Threads
from bbclust.ensemble.fitted_state import FitRecord, FittedState
from bbclust.ensemble.job import Clusterer, Job, Plan, Reference, Replicas, join
from bbclust.ensemble.run import (
    Progress,
    complete_votes,
    cut_into_blocks,
    precision_of,
    run_in_steps,
)
from bbclust.estimators.base import FittedEnsemble
from bbclust.estimators.sklearn_callbacks import CallbackContext, CallbackSupport, with_callbacks
from bbclust.priors.elicited import ElicitedPrior
from bbclust.stages.bootstrap import RESAMPLINGS, WEIGHTINGS
from bbclust.stages.entropies import entropy, summarize_memberships
from bbclust.stages.kmeans import partition_from_labels
from bbclust.stages.monte_carlo import Precision
from bbclust.stages.random_streams import root_seed
from bbclust.stages.table import Floats, WeightedRows, centered
from bbclust.stages.voting import memberships, nearest_center

AUTO_BLOCK = 100
AUTO_CAP = 5_000
FEW_VOTES = 20


class Divided(NamedTuple):
    """A table in the precision that its clusters need, and its reference partition."""

    X: Floats
    rows: WeightedRows
    plan: Plan
    found: Reference


class BBC(CallbackSupport, FittedEnsemble):
    r"""Bayesian Bagged Clustering: memberships from votes of bootstrap replicas.

    k-means partitions the data and elicits a Gaussian-mixture prior; the proper Bayesian bootstrap
    draws replicas that mix that prior with the data; k-means clusters each replica; its labels are
    aligned with the reference partition and counted as votes:

    .. math:: u_{ik} = \frac{1}{|R_i|} \sum_{b \in R_i} I\{\ell_b(x_i) = k\},

    where :math:`R_i` are the replicas that vote on row i, and :math:`\ell_b` the aligned clusters
    of replica b. Entropies are those of :func:`~bbclust.entropy` and
    :func:`~bbclust.pairwise_entropy`.

    Memberships are how often the replicas agree. They tell how stable the division is: where there
    are clusters and all votes agree, other samples of this size nearly always put the row on the
    same side of the cut; in a cloud without clusters they do so less often. They are
    not probabilities of belonging to a component, and do not tell whether the cut lies between two
    groups; see ``verdict_`` of :class:`~bbclust.KSelector` for that.

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
        Dirichlet weights as sample weights, or as probabilities of a second resampling: the replica
        is then the second sample, and rows that are in the first alone do not vote. Of n rows that
        m = n draws are made for, a replica votes on ``1 - exp(-(1 - omega))``, 39% at omega = 0.5,
        with weights, and on ``1 - exp(-(1 - omega) (1 - (a / (a + 1))^a))`` with
        ``a = 1 / (1 - omega)``, 24%, with the second resampling: give it more replicas.
    votes : {"auto", "drawn", "all"}, default="auto"
        Whether a replica votes on the rows it drew, as in the paper, or its centres on every row. A
        row has one vote of a replica, however often it was drawn and whatever its weight there.
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
        inertia wins. The reference partition uses 30, and on small tables goes on from there by
        moving centres elsewhere (:mod:`bbclust.stages.swaps`).
    max_iter : int, default=300
        Lloyd iterations at most.
    tol : float, default=1e-4
        Lloyd stops when the centres move less, in squared distance relative to the variance. In
        replicas of large tables it goes on until a shift is small beside what resampling does.
    missing : {"error", "draw"}, default="error"
        What to do with missing values (NaN). "error" refuses them. "draw" completes them anew in
        every replica, from the cluster that the other values of the row point to and given these
        (:mod:`bbclust.stages.missing_values` has the formula), so that a row is the more in doubt
        the less is known of it. It is right where values are missing at random given those that
        are there. For k-means alone; ``predict`` then takes rows with missing values too.
    trim : float in [0, 0.5), default=0.0
        Share of the rows, of their weight, that are left out as outliers: those farthest from the
        centres of the others (trimmed k-means, :mod:`bbclust.stages.trimming`). Like rows of weight
        zero, they have no part in the reference, the prior, the replicas and the mean entropies,
        and get memberships by the replicas' centres. For k-means alone, without missing values.
    mc_tol : float, default=0.01
        Precision for ``n_replicas="auto"``, in bits.
    callbacks : callable or list of callables, optional
        Called as ``callback(done, total)`` after every block of replicas. Callbacks of scikit-learn
        1.9 and later, such as its progress bar, are set by ``set_callbacks``; if one of them asks
        to stop, the fit ends with the replicas done so far.
    n_jobs : int, optional
        Threads; None is 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Same number, same bits.
    verbose : int, default=0
        1 prints progress.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster with most votes; clusters are numbered by decreasing size of the reference, or as
        in an earlier model (:class:`~bbclust.priors.ModelPrior`).
    memberships_ : ndarray of shape (n, K)
        Share of the votes: how often the replicas put the row there, not the probability that it
        belongs there.
    entropy_ : ndarray of shape (n,)
        Entropy of each row's memberships, in bits.
    mean_entropy_, mean_entropy_bias_, mean_entropy_se_ : float
        Mean over the rows; what of it is due to the number of replicas, which makes it too low; and
        the Monte-Carlo standard error of their difference. ``mean_entropy_interval`` puts them
        together.
    pairwise_entropy_ : ndarray of shape (K, K)
        Mean entropy between each two clusters, in bits.
    max_pairwise_entropy_ : float
        Its largest entry; 0 at K = 1. It is far too low when replicas are few, since it counts rows
        of other clusters as much, which get one or two votes for either.
        ``max_pairwise_entropy_se_``, its spread over repetitions, is deprecated.
    pair_doubt_ : ndarray of shape (K, K)
        Doubt between each two clusters: the same mean in which rows count by their membership in
        the two, in bits.
    max_pair_doubt_, max_pair_doubt_bias_, max_pair_doubt_se_ : float
        Its largest entry, with bias and error as of the mean entropy; 0 at K = 1.
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
        The reference partition; -1 for rows that ``clusterer`` calls noise. With missing values
        it is that of lowest cost over the values that there are, and the centres are estimated by
        EM.
    cluster_centers_ : ndarray of shape (K, d)
        Mean of the aligned replica centres.
    cluster_shares_ : ndarray of shape (K,)
        Mean membership: the share of the rows that each cluster holds.
    replica_centers_ : ndarray of shape (B, K, d)
        Aligned centres of every replica.
    variance_ratio_ : float
        How many times larger the variance of a cluster's mean is over the replicas than under the
        posterior: 1 + (n + k) / m for the proper Bayesian bootstrap with weights.
    center_variance_ratio_ : float
        The same, beside what is said of centres (``centers_interval`` and so on): with an elicited
        prior or none, the spread over other samples of rows.
    cluster_rows_ : ndarray of shape (K,)
        Rows of each cluster of the reference, fewer if weights are unequal; NaN with a prior of
        your own.
    replica_n_iter_ : ndarray of shape (B,)
        Lloyd iterations of each replica's best start.
    alignment_margin_ : ndarray of shape (B,)
        How much agreement with the reference the best other naming of clusters would lose.
    prior_ : object
        The prepared prior; None when none is used.
    n_replicas_ : int
        Replicas run.
    n_undrawn_ : int
        Rows that no replica drew, or all called noise. The replicas' centres vote on them; with a
        ``clusterer`` that cannot predict they keep their reference label.
    trimmed_ : ndarray of shape (n,), bool
        Rows that ``trim`` leaves out.
    n_abstentions_ : int
        Clusters of the reference for which a replica has none, or one without points: no centre
        votes for them.
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
        missing: str = "error",
        trim: float = 0.0,
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
        self.missing = missing
        self.trim = trim
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
            Numbers, without NaN unless ``missing="draw"``. Columns are used as they are: scale them
            first if their units differ.
        y : ignored
            There for scikit-learn's sake.
        sample_weight : array-like of shape (n,), optional
            Relative weights of the rows; equal by default. Rows of weight zero take no part and get
            memberships by the replicas' centres.
        reference_labels : array-like of shape (n,), optional
            A partition into ``n_clusters`` to use as the reference instead of computing one: an
            existing clustering to examine. With ``clusterer``, -1 is noise.

        Returns
        -------
        self
            The model, fitted.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> iris = load_iris()
        >>> model = BBC(3, random_state=0).fit(iris.data, reference_labels=iris.target)
        >>> model.labels_[[0, 60, 100]]  # named after the species
        array([0, 1, 2])
        """
        self._check_parameters()
        with self._executor() as executor, check.all_or_nothing(self):
            for notice in self._fit(executor, X, sample_weight, reference_labels):
                check.warn_user(notice)
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
            The model, with all its fitted attributes anew.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> X = load_iris().data
        >>> model = BBC(3, n_replicas=100, random_state=0).fit(X).add_replicas(100)
        >>> at_once = BBC(3, n_replicas=200, random_state=0).fit(X)
        >>> model.n_replicas_, bool((model.memberships_ == at_once.memberships_).all())
        (200, True)
        """
        before = self._rows_of_fit("add_replicas")
        n_replicas = check.check_integer("n_replicas", n_replicas, minimum=1)
        more = range(self.n_replicas_, self.n_replicas_ + n_replicas)
        with self._executor() as executor, check.all_or_nothing(self):
            progress = self._report_progress(more.start, more.stop)
            replicas = join([before.replicas, executor.run_blocks(before.job, more, progress)])
            trace = [*before.trace, precision_of(before.job, replicas)]
            for notice in self._publish(before.rows, before.job, replicas, trace):
                check.warn_user(notice)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(
        self, executor: Executor, X: Any, sample_weight: Any, reference_labels: Any
    ) -> list[str]:
        """Algorithm 3; sentences that the user should read."""
        with CallbackContext(self, "replicas", X) as callbacks:
            X = check.check_table(self, X, reset=True, allow_missing=self.missing == "draw")
            weights = check.check_sample_weight(sample_weight, len(X))
            if self.missing == "draw":
                check.refuse_empty_columns(self, X if weights is None else X[weights > 0])
            settings = self._settings()
            seed = root_seed(self.random_state)
            # Algorithm 3, step 2: the reference partition
            X, rows, plan, (reference, notices) = self._divide(
                settings, seed, X, weights, reference_labels
            )
            reference = reference.renumbered(cluster_order(settings, reference))
            reference, missing = describe_missing(
                settings, rows.table, reference, plan.seed, n_jobs=effective_n_jobs(self.n_jobs)
            )
            # steps 3 to 6: F0
            scales = [float(self.prior_scale)]
            of_prior = rows_for_prior(settings, rows.table, rows.in_table(X), reference, missing)
            (prior,) = prepare_priors(settings, of_prior, reference, scales)
            # steps 7 to 13: replicas are drawn, clustered and aligned, and vote
            job = Job(rows.table, reference, prior, plan, missing)
            replicas, trace = self._run(
                partial(executor.run_blocks, job), partial(precision_of, job), callbacks
            )
            # steps 14 and 15: memberships and labels
            notices = (*notices, *self._publish(rows, job, replicas, trace))
        notice = getattr(prior, "notice", None)
        return [*notices] if notice is None else [*notices, notice]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "draw"
        return tags

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
        check.check_integer("n_init", self.n_init, minimum=0, maximum=65_535)
        check.check_integer("max_iter", self.max_iter, minimum=1)
        check.check_n_jobs(self.n_jobs)
        check.check_callbacks(self.callbacks)
        check.check_number("mc_tol", self.mc_tol, above=0, why="it is a standard error in bits")
        if not (isinstance(self.tol, (int, float, np.number)) and self.tol >= 0):
            raise ValueError(f"tol must be a number of at least 0, got {self.tol!r}.")
        check.check_choice("missing", self.missing, ("error", "draw"))
        clusterer = self._clusterer()
        if self.missing == "draw" and not getattr(clusterer, "completes_rows", False):
            raise ValueError(
                f"missing='draw' is for k-means, and clusterer is {clusterer.name}: fill missing "
                "values first, or leave clusterer=None."
            )
        self._check_trim(clusterer)
        if self.votes == "all" and not clusterer.predicts:
            raise ValueError(
                f"votes='all' needs a clusterer that can predict, and {clusterer.name} cannot: "
                "use votes='drawn'."
            )

    def _check_trim(self, clusterer: Clusterer) -> None:
        check.check_trim(self.trim)
        if self.trim and not getattr(clusterer, "trims", False):
            raise ValueError(
                f"trim is for k-means, and clusterer is {clusterer.name}: leave trim=0, or "
                "clusterer=None."
            )
        if self.trim and self.missing == "draw":
            raise ValueError(
                "trim cannot be used with missing='draw': leave trim=0, or fill missing values "
                "first."
            )

    def _clusterer(self) -> Clusterer:
        kmeans = EngineKMeans(int(self.n_init), int(self.max_iter), float(self.tol))
        return as_clusterer(self.clusterer, otherwise=kmeans)

    def _has_own_prior(self) -> bool:
        return not (self.prior is None or type(self.prior) is ElicitedPrior)

    def _settings(self) -> ReplicaSettings:
        return make_settings(
            self._clusterer(),
            resampling=self.resampling,
            prior_weight=self.prior_weight,
            weighting=self.weighting,
            prior=self.prior,
            missing=self.missing,
            trim=self.trim,
        )

    @contextmanager
    def _executor(self) -> Iterator[Executor]:
        """Who runs the replicas: the threads of this machine."""
        yield Threads(effective_n_jobs(self.n_jobs))

    def _divide(
        self,
        settings: ReplicaSettings,
        seed: int,
        X: Floats,
        weights: npt.NDArray[np.float64] | None,
        labels: Any,
    ) -> Divided:
        """Rows, plan and reference partition, in double precision where single is not enough."""
        rows = check.split_by_weight(X, weights)
        try:
            rows = self._trim(settings, rows, X, seed, labels)
            plan = make_plan(
                settings,
                rows.table,
                seed,
                n_draws=self.n_draws,
                votes=self.votes,
                max_evaluation_points=self._max_evaluation_points,
            )
            return Divided(X, rows, plan, self._find_reference(rows, plan, labels))
        except check.RowsTooCloseError:
            if X.dtype == np.float64:
                raise
        # float32 holds numbers to seven digits, and squared distances tell half of them
        return self._divide(settings, seed, X.astype(np.float64), weights, labels)

    def _trim(
        self, settings: ReplicaSettings, rows: WeightedRows, X: Floats, seed: int, labels: Any
    ) -> WeightedRows:
        """Without the rows that ``trim`` leaves out, which are then as rows of weight zero."""
        self.trimmed_ = np.zeros(rows.n, dtype=np.bool_)
        if not self.trim:
            return rows
        if labels is not None:
            raise ValueError(
                f"trim={self.trim:g} leaves rows out of a partition that fit finds, and "
                "reference_labels give one: leave trim=0, or reference_labels=None."
            )
        check.check_distinct_rows(rows.table.rows, self.n_clusters)
        n_jobs = effective_n_jobs(self.n_jobs)
        found = trim_table(settings, rows.table, self.n_clusters, seed, n_jobs=n_jobs)
        if found is None:
            return rows
        self.trimmed_ = rows.scatter_to_all_rows(~found.kept, np.False_)
        return rows.leave_out(found.kept, found.table, X)

    def _find_reference(self, rows: WeightedRows, plan: Plan, labels: Any) -> Reference:
        """The reference partition: given, or found by the clusterer."""
        clusterer, wanted = plan.clusterer, self.n_clusters
        if labels is not None:
            given = check.check_reference_labels(
                labels,
                rows.n,
                rows.positive_weight,
                wanted if clusterer.takes_number else None,
                noise=clusterer.finds_noise,
            )
            return Reference(partition_from_labels(rows.table, given))
        if clusterer.takes_number:
            check.check_distinct_rows(rows.table.rows, wanted)
        n_jobs = effective_n_jobs(self.n_jobs)
        found = clusterer.find_reference(rows.table, wanted, plan.seed, n_jobs=n_jobs)
        check.check_no_cluster_is_empty(found.partition.shares)
        n_found = found.partition.n_clusters
        if not clusterer.takes_number or n_found == wanted:
            return found
        notice = (
            f"{clusterer.name} was asked for {wanted} clusters and found {n_found} in the data: "
            "memberships have that many columns."
        )
        return Reference(found.partition, (*found.notices, notice))

    def _run(
        self,
        run: Callable[[range, Progress], Replicas],
        measure: Callable[[Replicas], Precision],
        callbacks: CallbackContext,
    ) -> tuple[Replicas, list[Precision]]:
        """The replicas that ``n_replicas`` asks for, and the errors on the way."""
        steps = self._steps()
        total = steps[-1].stop
        return run_in_steps(
            steps,
            lambda step: run(step, self._report_progress(step.start, total, callbacks)),
            measure,
            lambda precision: callbacks.stopped or precision.reaches(self.mc_tol),
        )

    def _steps(self) -> list[range]:
        """Replicas after which precision is measured: all, or some at a time with "auto"."""
        if self.n_replicas == "auto":
            return cut_into_blocks(range(AUTO_CAP), AUTO_BLOCK)
        return [range(int(self.n_replicas))]

    def _report_progress(
        self, before: int, total: int, callbacks: CallbackContext | None = None
    ) -> Progress:
        """What is called with the replicas done after ``before``; it says whether to stop."""

        def report(done: int) -> bool:
            done += before
            if self.verbose:
                print(f"{type(self).__name__}: {done} of {total} replicas", flush=True)
            for callback in check.check_callbacks(self.callbacks):
                callback(done, total)
            if callbacks is None:
                return False
            callbacks(done, total)
            return callbacks.stopped

        return report

    def _publish(
        self, rows: WeightedRows, job: Job, replicas: Replicas, trace: list[Precision]
    ) -> list[str]:
        """Set the fitted attributes; sentences that the user should read."""
        if len(replicas.failures) == replicas.n_replicas:
            raise ValueError(
                f"{self.clusterer!r} failed on every replica, the first time with "
                f"{replicas.failures[0]}"
            )
        table, plan = job.table, job.plan
        predictors = plan.clusterer.predictors(job, replicas)
        votes, self.n_undrawn_ = complete_votes(
            rows, job, replicas, predictors, effective_n_jobs(self.n_jobs)
        )
        self._state = FittedState(
            predictors,
            replicas.occupied,
            table.rows.dtype.name,
            source="memory",
            record=FitRecord(rows, job, replicas, trace, votes),
        )
        self._publish_replicas(job, table.n, replicas, trace, table.weights)
        self.n_votes_ = votes.sum(axis=1)
        others = centered(rows.zero_weight_rows, table.center)
        nearest = nearest_center(others, job.reference.centers - table.center)
        self.reference_labels_ = rows.scatter_to_all_rows(job.reference.labels, nearest)
        self.memberships_ = memberships(votes, self.reference_labels_)
        self.labels_ = np.where(
            self.n_votes_ > 0, self.memberships_.argmax(axis=1), self.reference_labels_
        )
        self.entropy_ = entropy(self.memberships_)
        summary = summarize_memberships(rows.in_table(self.memberships_), table.weights)
        evaluated = plan.evaluation_rows
        weights = table.weights_or_ones()[evaluated]
        self._publish_entropies(
            summary, trace, replicas.evaluation_labels, replicas.votes[evaluated], weights
        )
        return self._notices(plan, replicas)

    def _notices(self, plan: Plan, replicas: Replicas) -> list[str]:
        """What a user should know about the votes."""
        notices = []
        if self.n_failed_:
            notices.append(
                f"{self.clusterer!r} failed on {self.n_failed_} of {self.n_replicas_} replicas, "
                f"which have no vote; the first time with {replicas.failures[0]}"
            )
        can_vote_on_all = plan.clusterer.predicts
        remedy = "raise n_replicas" + ", or set votes='all'" * can_vote_on_all
        rows = f"{self.n_undrawn_} of {len(self.labels_)} rows"
        if self.n_undrawn_ and can_vote_on_all:
            notices.append(
                f"{rows} were drawn by none of the {self.n_replicas_} replicas and get their "
                f"memberships from the replicas' centres: {remedy}."
            )
        elif self.n_undrawn_:
            notices.append(
                f"{rows} have no vote of any of the {self.n_replicas_} replicas, which did not "
                "draw them or call them noise: they keep their reference label."
            )
        median = float(np.median(self.n_votes_))
        if plan.votes == "drawn" and median < FEW_VOTES:
            notices.append(
                f"Half of the rows have at most {median:g} vote{'s'[: median != 1]}, so "
                f"memberships are coarse: {remedy}."
            )
        return notices
