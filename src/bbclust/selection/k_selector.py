"""KSelector: how many clusters, how sure of that, and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.ensemble.assembly import count_fillable_clusters
from bbclust.ensemble.executor import Executor, Threads
from bbclust.estimators.bbc import BBC
from bbclust.estimators.notebook_view import disputed_rows
from bbclust.estimators.sklearn_callbacks import CallbackContext, CallbackSupport, with_callbacks
from bbclust.notebook import ShownInNotebooks, card
from bbclust.selection.checkpoint import Checkpoint, fingerprint, open_checkpoint
from bbclust.selection.completion import completed_table, draws_for_every_k
from bbclust.selection.criteria import (
    CRITERIA,
    Evidence,
    gather_evidence,
    score,
    tied,
)
from bbclust.selection.grid import (
    Grid,
    GridJob,
    GridRequest,
    GridSettings,
    GridUnderWay,
    join_grids,
)
from bbclust.selection.half_samples import (
    half_samples,
    half_settings,
    half_size,
    shares_of_wins,
)
from bbclust.selection.notebook_view import curves_of, verdict_parts
from bbclust.selection.progress import FIRST_GRID, GridProgress
from bbclust.selection.splits import PairTest, Splits, mean_doubts
from bbclust.selection.verdict import AUTO_CAP, Verdict, classify_separation, renumber
from bbclust.stages.random_streams import Stage, fixed_sample, root_seed
from bbclust.stages.table import Floats, Table, count_distinct_rows

MAX_SAMPLE = 10_000
AUTO_FIRST, AUTO_STEP = 20, 5
COMPARING, OTHER_STEPS = "comparing with clouds", 2  # the rule and the pairs, besides every K

# Runs the grids that are asked for, one after the other.
GridsOf = Callable[[Iterable[GridRequest]], Iterator[Grid]]


def default_n_draws(n: int) -> int:
    """m from n alone: all rows up to 300, then growing with the fifth root.

    With as many draws as rows and many rows every K looks stable; far fewer draws than 20 or so
    per cluster blur small clusters.
    """
    return n if n <= 300 else int(300 * (n / 300) ** 0.2)


class KSelector(
    CallbackSupport,
    ShownInNotebooks,
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Choose the number of clusters by the stability of Bayesian Bagged Clustering.

    For every K and every prior scale s, bootstrap replicas are clustered and vote on the rows, and
    their disagreement is compared with that of clouds without a gap. All K's and s's share their
    random numbers. The paper's two criteria are

    .. math:: \arg\min_K \mathrm{mean}_s \log \max_{l < m} \bar S_{lm}(K, s) \quad\text{and}\quad
              \arg\min_K \mathrm{mean}_s \log \bar S(K, s),

    with the means over rows of :func:`~bbclust.pairwise_entropy` and :func:`~bbclust.entropy`.

    Parameters
    ----------
    estimator : BBC, optional
        Template: its ``n_replicas``, prior, ``prior_weight``, ``resampling``, ``weighting``,
        ``clusterer``, ``n_init``, ``max_iter``, ``tol``, ``missing`` and ``trim`` are used for
        every K: each leaves out its own farthest rows, also of the comparisons with clouds.
        ``BBC(n_init=2)`` by default: on the few draws of a selection more starts find K no more
        often.
    k_range : iterable of int or "auto", default=(2, 3, 4, 5, 6, 7, 8, 9, 10)
        The K's to compare, 2 or more. "auto" starts with 2 to 20 and goes on in steps of five until
        twice the best K and two more have been tried, the largest cuts clusters in two, and none of
        its own has a valley; 50 at most.
    prior_scales : iterable of float, default=(1, 1.5, 2.5)
        The s's over which the measures are averaged.
    criterion : {"auto", "pairwise", "mean"}, default="auto"
        "pairwise" and "mean" are the paper's: minimum of the maximum mean pairwise entropy, or of
        the mean entropy. "auto" starts from the K of "pairwise" and takes the largest K above it
        that holds: of which even the worst pair of clusters leaves at most half the doubt of a cut
        through a cluster, and none of the most doubtful neighbours is as hard to tell apart as two
        halves of one cloud; or less than a cut, with a valley shown between every two neighbours.
        It answers K = 1 where no clusters are shown (``cluster_tendency_`` above 0.05) and no
        neighbours are more apart than two halves of one cloud.
    n_draws : int or "auto", default="auto"
        m, draws per replica, at most as many as rows. "auto" depends on the number of rows alone:
        all of them up to 300, then ``300 (n / 300)^0.2``.
    null_reference : int, default=19
        Clouds without a gap that two clusters are compared with, at most; fewer are drawn where the
        answer is plain. With 0 nothing is tested, and K = 1 is no answer.
    n_resamples : int, default=0
        Half-samples of the rows on which the choice is repeated, for ``confidence_``, each at one
        s and with 60 replicas.
    refit : bool, default=True
        Fit ``best_estimator_`` with the chosen K on all rows.
    callbacks : callable or list of callables, optional
        Called as ``callback(done, total)`` after every cell of all grids, half-samples included,
        and after the comparisons with clouds: of every K, for the choice, and of the pairs. The fit
        of ``best_estimator_`` does not count. Callbacks of scikit-learn 1.9 and later are set by
        ``set_callbacks``.
    checkpoint : str or path, optional
        A folder in which every finished cell of the grid is kept, half-samples included, and every
        comparison with clouds. A later ``fit`` of the same data with the same settings goes on from
        there and ends with the same bits; more K's, scales or half-samples may be asked for. It
        needs a ``random_state``.
    n_jobs : int, optional
        Threads; None is 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Same number, same bits.
    verbose : int, default=0
        1 prints progress.

    Attributes
    ----------
    best_k_ : int
        The chosen K; 1 only under "auto", see ``criterion``.
    tied_k_ : tuple of int
        The chosen K and those that win in 5% or more when the replicas' noise is resampled.
    best_k_by_ : dict
        What each criterion chooses, over all s and, as ``(criterion, s)``, for each s alone.
    curves_ : dict of arrays
        One entry per cell of the grid: ``n_clusters``, ``prior_scale``, ``mean_entropy``,
        ``mean_entropy_se``, ``max_pairwise_entropy``, ``max_pairwise_entropy_se``, ``worst_pair``.
        Entropies are too low when replicas are few, for every K alike; errors are their spread
        over repetitions with as many replicas.
    grid_ : Grid
        All of it as it was computed: cells by K, then s, and the reference partition of each K;
        see :mod:`bbclust.selection.grid`.
    scores_, scores_se_ : dict
        Score of every K under the criterion, and the paired standard error of its difference from
        the best.
    mc_confidence_ : dict
        Share of wins of each K when the replicas' noise is resampled: of the replicas alone, given
        the reference partition of each K and the clouds that its clusters are compared with, which
        another ``random_state`` draws anew as well; and to first order, which is too little for the
        largest pairwise entropy. Where K's are close, that of ``best_k_`` may be more than the
        chance that another seed chooses the same K (docs/choosing_k.md).
    confidence_ : dict or None
        Share of the ``n_resamples`` half-samples of the rows in which each K is chosen: how
        reproducible the choice is on half as many rows. It is not the probability that K is right.
        A small cluster has half of its rows in a half-sample: with clusters of very unequal sizes
        the share is no higher where K is right than where it is wrong. None without half-samples
        or if K is 1.
    cluster_tendency_ : float or None
        p-value of one cloud: how often one would show a valley as deep as the deepest between
        neighbours of the chosen K, or parts as tight as its clusters.
    impossible_k_ : tuple of int
        K's that exceed the number of distinct rows.
    n_draws_ : int
        m, as it was used.
    n_sample_ : int
        Rows used for choosing K; a fixed sample above 10,000.
    verdict_ : Verdict
        All of this in words.
    best_estimator_ : BBC
        Fitted with the chosen K, with ``refit``.
    labels_ : ndarray of shape (n,)
        Labels of ``best_estimator_``.

    References
    ----------
    F. M. Quetti, S. Figini, E. Ballante: A Bayesian Approach to Clustering via the Proper Bayesian
    Bootstrap: the Bayesian Bagged Clustering (BBC) algorithm.

    Examples
    --------
    >>> from bbclust import KSelector
    >>> from bbclust.datasets import make_paper_dataset
    >>> X = make_paper_dataset(1, random_state=0).data
    >>> selector = KSelector(k_range=range(2, 7), random_state=0).fit(X)
    >>> selector.best_k_
    3
    >>> selector.predict(X).shape, selector.predict_proba(X).shape
    ((99,), (99, 3))
    """

    def __init__(
        self,
        estimator: BBC | None = None,
        *,
        k_range: Iterable[int] | str = (2, 3, 4, 5, 6, 7, 8, 9, 10),
        prior_scales: Iterable[float] = (1, 1.5, 2.5),
        criterion: str = "auto",
        n_draws: int | str = "auto",
        null_reference: int = 19,
        n_resamples: int = 0,
        refit: bool = True,
        callbacks: Callable[[int, int], None] | Iterable[Callable[[int, int], None]] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.k_range = k_range
        self.prior_scales = prior_scales
        self.criterion = criterion
        self.n_draws = n_draws
        self.null_reference = null_reference
        self.n_resamples = n_resamples
        self.refit = refit
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> KSelector:
        """Choose K for the rows of X, and cluster them with it if ``refit``.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Numbers, used as they are: scale columns first if their units differ. NaN is refused
            unless the estimator has ``missing="draw"``: then missing values are drawn from two
            Gaussians whatever K is, anew in every replica, and once for reference partitions,
            comparisons with clouds and half-samples.
        y : ignored
            There for scikit-learn's sake.
        sample_weight : array-like of shape (n,), optional
            Relative weights of the rows; equal by default.

        Returns
        -------
        self
            The selector, fitted.
        """
        estimator = self._estimator_or_default()
        scales = self._check_parameters(estimator)
        with self._executor() as executor, check.all_or_nothing(self):
            for notice in self._fit(executor, estimator, scales, X, sample_weight):
                check.warn_user(notice)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(
        self,
        executor: Executor,
        estimator: BBC,
        scales: tuple[float, ...],
        X: Any,
        sample_weight: npt.ArrayLike | None,
    ) -> list[str]:
        """Grid, choice, how firm it is, and a model; sentences that the user should read."""
        with CallbackContext(self, "cells", X) as callbacks:
            seed = root_seed(self.random_state)
            X, rows = self._read(executor, X, seed)
            weights = check.check_sample_weight(sample_weight, len(rows))
            table = self._sample(rows, weights, seed)
            settings, notices = self._settings(estimator, table)
            table, most = self._count_clusters(table, settings, rows, weights, seed)
            k_values, impossible = self._possible_k(table, most)
            checkpoint = self._open_checkpoint(rows, weights, settings, seed)
            progress = GridProgress(
                [*check.check_callbacks(self.callbacks), callbacks],
                n_more=int(self.n_resamples),
                verbose=bool(self.verbose),
            )
            grids_of = self._plan_grids(executor, scales, settings, seed, checkpoint, progress)
            missing = draws_for_every_k(table, seed, n_jobs=effective_n_jobs(self.n_jobs))
            complete = completed_table(table, missing)
            splits = Splits(
                complete,
                settings,
                _middle(scales),
                seed,
                n_clouds=int(self.null_reference),
                n_jobs=effective_n_jobs(self.n_jobs),
                store=None if checkpoint is None else checkpoint.part("comparisons"),
            )
            progress.expect(OTHER_STEPS)
            data = GridRequest(table, k_values, "data", FIRST_GRID, missing=missing)
            grid, evidence = self._grow(grids_of, data, splits, progress, most)
            pairs, evidence = self._test_pairs(grid, evidence, splits)
            n_divisible = splits.n_divisible(grid.references[-1])
            progress.step(COMPARING)
            self._publish(grid, evidence, seed)
            self.n_draws_, self.n_sample_ = settings.n_draws, table.n
            self.confidence_ = self._half_samples(
                grids_of, complete, list(grid.k_values), _middle(scales), settings, seed, evidence
            )
            if self.best_k_ == 1:
                pairs = []
            self.verdict_ = Verdict(
                best_k=self.best_k_,
                tied_k=self.tied_k_,
                tendency=evidence.tendency,
                smallest_p=splits.smallest_p_of_none(self.best_k_, len(pairs)),
                confidence=self.confidence_,
                n_resamples=int(self.n_resamples),
                best_k_by={name: self.best_k_by_[name] for name in ("pairwise", "mean")},
                largest_k=grid.k_values[-1],
                n_divisible=n_divisible,
                pairs=tuple(pairs),
                by_k=classify_separation(grid, evidence),
            )
            if self.refit:
                best = self._template(estimator).set_params(
                    n_clusters=self.best_k_, n_jobs=self.n_jobs, random_state=seed % 2**32
                )
                self.best_estimator_ = best.fit(X, sample_weight=sample_weight)
                if hasattr(self, "feature_names_in_"):  # X may be the rows without their names
                    self.best_estimator_.feature_names_in_ = self.feature_names_in_
                self.labels_ = self.best_estimator_.labels_
                self._number_as_the_model(grid)
        return notices + impossible

    def predict(self, X: Any, min_confidence: float | None = None) -> npt.NDArray[np.int64]:
        """Cluster of each row, by ``best_estimator_``.

        Parameters
        ----------
        X, min_confidence
            As of :meth:`bbclust.BBC.predict`.

        Returns
        -------
        ndarray of shape (n,)
            Numbers of clusters, as in ``labels_``.
        """
        return self._refitted().predict(X, min_confidence)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Memberships of rows, by ``best_estimator_``: shares of the votes.

        Parameters
        ----------
        X
            As of :meth:`bbclust.BBC.predict_proba`.

        Returns
        -------
        ndarray of shape (n, K)
            Each row sums to one.
        """
        return self._refitted().predict_proba(X)

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Memberships of rows, those of :meth:`predict_proba`.

        Parameters
        ----------
        X
            As of :meth:`bbclust.BBC.transform`.

        Returns
        -------
        ndarray of shape (n, K)
            A data frame after ``set_output``.

        Examples
        --------
        >>> from bbclust import KSelector
        >>> from bbclust.datasets import make_paper_dataset
        >>> X = make_paper_dataset(1, random_state=0).data
        >>> selector = KSelector(k_range=(2, 3), null_reference=0, random_state=0).fit(X)
        >>> selector.transform(X).shape
        (99, 3)
        >>> selector.get_feature_names_out()
        array(['bbc0', 'bbc1', 'bbc2'], dtype=object)
        """
        return self._refitted().transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns of ``transform``.

        Parameters
        ----------
        input_features : ignored
            There for scikit-learn's sake.

        Returns
        -------
        ndarray of shape (K,)
            Strings.
        """
        names: npt.NDArray[np.object_] = self._refitted().get_feature_names_out(input_features)
        return names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = getattr(self.estimator, "missing", "error") == "draw"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "verdict_")

    def _findings_html(self) -> str:
        if not hasattr(self, "verdict_"):
            return ""
        parts = [verdict_parts(self.verdict_), curves_of(self.curves_, self.best_k_)]
        if hasattr(self, "best_estimator_"):
            parts.append(disputed_rows(self.best_estimator_))
        return card(*parts)

    def _refitted(self) -> BBC:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("There is no best_estimator_ with refit=False: set refit=True.")
        best: BBC = self.best_estimator_
        return best

    def _estimator_or_default(self) -> BBC:
        return BBC(n_init=2) if self.estimator is None else self.estimator

    def _check_parameters(self, estimator: BBC) -> tuple[float, ...]:
        if not isinstance(estimator, BBC):
            raise TypeError(f"estimator must be a BBC, got {estimator!r}.")
        estimator._check_parameters()
        if estimator.n_replicas == "auto":
            raise ValueError(
                "The estimator's n_replicas='auto' would give every K another number of replicas: "
                "give a number."
            )
        if int(estimator.n_replicas) < 2:
            raise ValueError(
                "n_replicas=1 leaves nobody to disagree, and K is chosen by how much replicas "
                "disagree: give 200."
            )
        clusterer = estimator._clusterer()
        if not clusterer.takes_number:
            raise ValueError(
                f"{clusterer.name} finds its own number of clusters, so there is none to choose: "
                "fit BBC with it instead."
            )
        check.check_choice("criterion", self.criterion, tuple(CRITERIA))
        if self.n_draws != "auto":
            check.check_integer("n_draws", self.n_draws, minimum=2)
        check.check_integer("null_reference", self.null_reference, minimum=0)
        if self.null_reference == 1:
            raise ValueError("null_reference=1 is too few to compare with: give 0 for none, or 19.")
        check.check_integer("n_resamples", self.n_resamples, minimum=0)
        check.check_n_jobs(self.n_jobs)
        check.check_callbacks(self.callbacks)
        self._check_checkpoint()
        scales = tuple(
            check.check_number("prior_scales", s, above=0, why="each multiplies covariances")
            for s in self.prior_scales
        )
        if not scales:
            raise ValueError("prior_scales is empty: give at least one scale, such as (1.0,).")
        return scales

    def _check_checkpoint(self) -> None:
        if self.checkpoint is None:
            return
        if not isinstance(self.checkpoint, str | os.PathLike):
            raise TypeError(f"checkpoint must be the path of a folder, got {self.checkpoint!r}.")
        if self.random_state is None:
            raise ValueError(
                "checkpoint needs a random_state: without one the next fit draws other numbers and "
                "could not go on from there."
            )

    def _open_checkpoint(
        self,
        X: Floats,
        weights: npt.NDArray[np.float64] | None,
        settings: GridSettings,
        seed: int,
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        try:
            made_of = fingerprint(X, weights, settings, seed)
        except ValueError as error:
            raise ValueError(
                f"checkpoint cannot tell whether prior and clusterer are the same in a later fit, "
                f"since {error}: leave checkpoint=None, or use others."
            ) from None
        return open_checkpoint(self.checkpoint, made_of)

    def _read(self, executor: Executor, X: Any, seed: int) -> tuple[Any, Floats]:
        """What ``refit`` clusters, and rows that K is chosen by; a subclass may sample them."""
        allowed = self._estimator_or_default().missing == "draw"
        rows = check.check_table(self, X, reset=True, allow_missing=allowed)
        return rows, rows

    def _sample(self, X: Floats, weights: npt.NDArray[np.float64] | None, seed: int) -> Table:
        """All rows that count, or a fixed sample of them."""
        counted = np.arange(len(X)) if weights is None else np.flatnonzero(weights > 0)
        counted = counted[fixed_sample(len(counted), MAX_SAMPLE, seed, Stage.SELECTION_SAMPLE)]
        rows = X if len(counted) == len(X) else X[counted]
        if self._estimator_or_default().missing == "draw":
            check.refuse_empty_columns(self, rows)
        return check.make_checked_table(rows, None if weights is None else weights[counted])

    def _settings(self, estimator: BBC, table: Table) -> tuple[GridSettings, list[str]]:
        """What every cell of the grid is computed with; no more draws than there are rows."""
        wanted = default_n_draws(table.n) if self.n_draws == "auto" else int(self.n_draws)
        n_draws = min(wanted, table.n)
        settings = GridSettings(estimator._settings(), int(estimator.n_replicas), n_draws)
        if n_draws == wanted:
            return settings, []
        return settings, [
            f"n_draws={wanted} is more than the {table.n} rows by which K is chosen: a replica "
            f"draws {table.n} there."
        ]

    def _plan_grids(
        self,
        executor: Executor,
        scales: tuple[float, ...],
        settings: GridSettings,
        seed: int,
        checkpoint: Checkpoint | None,
        progress: GridProgress,
    ) -> GridsOf:
        """What runs the grids that are asked for, keeps their cells and counts them."""

        def begin(request: GridRequest) -> GridUnderWay:
            job = GridJob(
                request.table,
                tuple(request.k_values),
                request.scales or scales,
                request.settings or settings,
                seed,
                request.missing,
            )
            store = None if checkpoint is None else checkpoint.part(request.name)
            return GridUnderWay(job, store, partial(progress.begin, request.title, job.n_cells))

        return lambda requests: executor.run_grids(map(begin, requests))

    def _wanted_k(self) -> list[int]:
        """The K's of ``k_range``, sorted."""
        if isinstance(self.k_range, str):
            check.check_choice("k_range", self.k_range, ("auto",))
            return list(range(2, AUTO_FIRST + 1))
        wanted = {
            check.check_integer("k_range", k, minimum=2, maximum=check.MAX_CLUSTERS)
            for k in self.k_range
        }
        if not wanted:
            raise ValueError("k_range is empty: give at least one K, such as range(2, 11).")
        return sorted(wanted)

    def _count_clusters(
        self,
        table: Table,
        settings: GridSettings,
        X: Floats,
        weights: npt.NDArray[np.float64] | None,
        seed: int,
    ) -> tuple[Table, int]:
        """The table, in double precision where single is not enough, and the largest K possible."""
        auto = isinstance(self.k_range, str)
        k_values = self._wanted_k() + (list(range(AUTO_FIRST + 1, AUTO_CAP + 1)) if auto else [])
        n_jobs = effective_n_jobs(self.n_jobs)
        most = count_fillable_clusters(settings.replicas, table, k_values, seed, n_jobs=n_jobs)
        counted = X if weights is None else X[weights > 0]
        if X.dtype == np.float64 or most >= min(
            k_values[-1], count_distinct_rows(counted, k_values[-1])
        ):
            return table, most
        exact = self._sample(X.astype(np.float64), weights, seed)
        return exact, count_fillable_clusters(
            settings.replicas, exact, k_values, seed, n_jobs=n_jobs
        )

    def _possible_k(self, table: Table, most: int) -> tuple[list[int], list[str]]:
        """The K's to run, sorted; sets those for which there are too few distinct rows."""
        wanted = self._wanted_k()
        possible = [k for k in wanted if k <= most]
        self.impossible_k_ = tuple(k for k in wanted if k > most)
        if possible and (not self.impossible_k_ or isinstance(self.k_range, str)):
            return possible, []
        has = f"{most} distinct rows"
        if count_distinct_rows(table.rows, most + 1) > most:
            has = f"{most} groups of rows that squared distances can tell apart"
        if not possible:
            raise ValueError(
                f"k_range starts at {wanted[0]} and X has {has}: no K of the range is possible."
            )
        listed = ", ".join(map(str, self.impossible_k_))
        return possible, [f"K = {listed} cannot be tried: X has {has}."]

    @contextmanager
    def _executor(self) -> Iterator[Executor]:
        """Who runs the grids: the threads of this machine."""
        yield Threads(effective_n_jobs(self.n_jobs))

    def _template(self, estimator: BBC) -> BBC:
        """What is fitted with the chosen K."""
        template: BBC = clone(estimator)
        return template

    def _grow(
        self,
        grids_of: GridsOf,
        data: GridRequest,
        splits: Splits,
        progress: GridProgress,
        most: int,
    ) -> tuple[Grid, Evidence]:
        """The grid over the K's, larger and larger until the score turns if k_range is "auto"."""
        most = min(AUTO_CAP, most)
        grid: Grid | None = None
        while True:
            progress.expect(len(data.k_values))
            (part,) = grids_of([data])
            for reference in part.references:
                splits.doubt_of_halves(reference)
                progress.step(COMPARING)
            grid = part if grid is None else join_grids(grid, part)
            evidence = gather_evidence(grid, splits)
            largest = grid.k_values[-1]
            if not isinstance(self.k_range, str) or self._has_turned(grid, evidence, splits, most):
                progress.step(COMPARING)
                return grid, evidence
            more = range(largest + 1, min(largest + AUTO_STEP, most) + 1)
            data = data._replace(k_values=list(more))

    def _has_turned(self, grid: Grid, evidence: Evidence, splits: Splits, most: int) -> bool:
        """Whether larger K's need not be tried: none can be, or the largest of many is too large.

        A coarse division can be the best of those tried while the largest K is still too small:
        then it cuts no cluster, or some of its clusters have valleys of their own.
        """
        best, largest = score(grid, self.criterion, evidence).best(), grid.k_values[-1]
        if largest >= most:
            return True
        if largest < 2 * best + 2:
            return False
        cuts = classify_separation(grid, evidence)[-1].kind not in ("held", "blurred")
        return cuts and not splits.n_divisible(grid.references[-1])

    def _test_pairs(
        self, grid: Grid, evidence: Evidence, splits: Splits
    ) -> tuple[list[PairTest], Evidence]:
        """Every two neighbours of the K that was found, and whether there are clusters at all."""
        if not self.null_reference:
            return [], evidence
        k = score(grid, self.criterion, evidence).best()
        reference = grid.references[grid.k_values.index(k)]
        pairs = splits.test_pairs(reference)
        tendency = splits.p_value_of_none(k, pairs, reference)
        least = min((test.relative_doubt for test in pairs), default=None)
        return pairs, replace(evidence, tendency=tendency, relative_doubt=least)

    def _number_as_the_model(self, grid: Grid) -> None:
        """Give the clusters of the chosen K the numbers that they have in the model.

        K is chosen on a sample of a large table, in which the order of sizes may be another.
        """
        if self.best_k_ == 1:
            return
        of_grid = grid.references[grid.k_values.index(self.best_k_)].centers
        of_model = np.asarray(self.best_estimator_.cluster_centers_)
        if of_model.shape != of_grid.shape or not np.isfinite(of_model).all():
            return
        distances = ((of_grid[:, None, :] - of_model[None, :, :]) ** 2).sum(axis=2)
        numbers = linear_sum_assignment(distances)[1].tolist()
        self.grid_ = grid.renumbered(self.best_k_, numbers)
        doubts = mean_doubts(self.grid_, self.best_k_)
        self.verdict_ = renumber(self.verdict_, numbers, doubts)
        self.curves_ = _curves(self.grid_)

    def _publish(self, grid: Grid, evidence: Evidence, seed: int) -> None:
        scores = score(grid, self.criterion, evidence)
        self.best_k_ = scores.best()
        self.mc_confidence_ = scores.bootstrap_win_rates(seed)
        self.tied_k_ = tied(self.best_k_, self.mc_confidence_)
        self.scores_ = dict(zip(grid.k_values, scores.values.tolist(), strict=True))
        self.scores_se_ = dict(zip(grid.k_values, scores.difference_se().tolist(), strict=True))
        self.best_k_by_ = _best_by(grid, evidence)
        self.cluster_tendency_ = evidence.tendency
        self.curves_ = _curves(grid)
        self.grid_ = grid

    def _half_samples(
        self,
        grids_of: GridsOf,
        table: Table,
        k_values: list[int],
        scale: float,
        settings: GridSettings,
        seed: int,
        evidence: Evidence,
    ) -> dict[int, float] | None:
        """Share of wins of each K over half-samples of the rows; None if there are none."""
        if not self.n_resamples or self.best_k_ == 1:
            return None
        n_half, count = half_size(table), int(self.n_resamples)
        n_draws = default_n_draws(n_half) if self.n_draws == "auto" else settings.n_draws
        of_half = half_settings(settings, min(n_draws, n_half))
        grids = grids_of(half_samples(table, k_values, scale, of_half, seed, count))
        fewer = evidence.for_draws(of_half.n_draws / settings.n_draws)
        return shares_of_wins(grids, k_values, self.criterion, fewer, count)


def _middle(scales: tuple[float, ...]) -> float:
    """The s at which clouds and half-samples are looked at."""
    return sorted(scales)[len(scales) // 2]


def _best_by(grid: Grid, evidence: Evidence) -> dict[Any, int]:
    chosen: dict[Any, int] = {}
    for criterion in CRITERIA:
        chosen[criterion] = score(grid, criterion, evidence).best()
        for s, scale in enumerate(grid.prior_scales):
            n = len(grid.prior_scales)
            one = replace(grid, prior_scales=(scale,), cells=grid.cells[s::n])
            chosen[criterion, scale] = score(one, criterion, evidence).best()
    return chosen


def _curves(grid: Grid) -> dict[str, npt.NDArray[Any]]:
    names = (
        "n_clusters",
        "prior_scale",
        "mean_entropy",
        "mean_entropy_se",
        "max_pairwise_entropy",
        "max_pairwise_entropy_se",
        "worst_pair",
    )
    return {name: np.array([getattr(cell, name) for cell in grid.cells]) for name in names}
