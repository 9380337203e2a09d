"""DaskBBC: its local twin, with the work done by a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask import is_dask_collection
from distributed import Client
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.dask.cluster.pickling import check_sendable
from bbclust.dask.cluster.session import open_session
from bbclust.dask.executor import DaskExecutor
from bbclust.dask.on_cluster import OnCluster, refuse_missing
from bbclust.dask.partitioned.fit import (
    PartitionedReplicas,
    PartitionedRequest,
    PartitionedState,
    check_for_partitions,
    precision_of_partitions,
    prepare_replicas,
)
from bbclust.dask.partitioned.memberships import (
    entropies_of,
    labels_of,
    membership_se_of,
    memberships_of,
    reference_labels_of,
    summarize_sample,
    votes_of,
    write_parquet,
)
from bbclust.dask.partitioned.table import rows_of, survey
from bbclust.diagnostics.variable_importance import VariableImportance
from bbclust.ensemble.job import Replicas, join
from bbclust.ensemble.predictors import CenterPredictors
from bbclust.estimators.bbc import BBC
from bbclust.estimators.sklearn_callbacks import CallbackContext, with_callbacks
from bbclust.stages.monte_carlo import Precision
from bbclust.stages.random_streams import root_seed
from bbclust.stages.voting import count_votes


class DaskBBC(OnCluster, BBC):
    """BBC whose replicas are run by the workers of a Dask cluster.

    For a table in memory the result is that of :class:`~bbclust.BBC`, bit for bit, with the
    instruction set that client and workers have in common.

    **Partitioned tables.** A Dask array or data frame is never in memory as a whole, nor kept on
    the workers. It is read partition by partition:

    1. once to count the rows and to check them;
    2. once for a sample of 100,000 rows (fewer if they have more than 335 columns), on which the
       starts of the reference partition are tried;
    3. once for every Lloyd iteration over all rows, until the centres move less than ``tol``, a few
       times as a rule (``max_iter`` times at most; never if the sample holds all rows);
    4. once for the exact means and covariances that the prior is made of and, in the same pass, for
       the rows that replicas draw; again for every 33 million numbers in these rows;
    5. once when memberships are computed, which ``fit`` does not do.

    Rows are drawn by their number among all rows, and sums are added in the order of partitions, so
    the result is the same for any number of workers, and up to rounding for any partitioning.
    What differs from :class:`~bbclust.BBC` there:

    - ``n_draws`` is 10,000 by default, or the number of rows if that is smaller;
    - all replicas vote on all rows (``votes="all"``), by their centres;
    - ``memberships_``, ``labels_``, ``entropy_``, ``n_votes_``, ``membership_se_`` and
      ``reference_labels_`` are Dask arrays with the partitions of X, computed when they are asked
      for, together in one pass (``dask.compute(model.labels_, model.entropy_)``);
      :meth:`write_memberships` streams them to Parquet;
    - mean entropies and ``cluster_shares_`` are means over the sample of 100,000 rows, and
      ``mc_trace_`` is about at most 4,096 evaluation rows; ``model.entropy_.mean().compute()`` is
      the mean over all rows;
    - priors other than mixtures and samplers are prepared with that sample;
    - ``sample_weight``, ``reference_labels``, ``clusterer``, ``resampling="rubin"``,
      ``votes="drawn"`` and ``trim`` are refused, and so are questions that need all rows, such as
      ``comembership``.

    Parameters
    ----------
    n_clusters, n_replicas, prior, prior_scale, prior_weight, resampling, n_draws, weighting, \
votes, clusterer, n_init, max_iter, tol, missing, trim, mc_tol, callbacks, random_state, verbose
        As those of :class:`~bbclust.BBC`; ``missing="draw"`` is refused.
    client : distributed.Client, optional
        The current client by default; if there is none, a cluster on this machine that is closed
        at the end.
    block_size : int, optional
        Replicas per task; by default a few tasks per thread of the cluster, of some seconds at
        most. The result does not depend on it.
    performance_report : str or path, optional
        An HTML file into which Dask writes what the cluster did, and when.
    n_jobs : int, optional
        Threads for what this process does, None is 1; workers have their own.

    Examples
    --------
    A table in three partitions, and a cluster of one worker in this process:

    >>> import os, tempfile
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from bbclust.dask import DaskBBC
    >>> from bbclust.datasets import load_iris
    >>> X = da.from_array(load_iris().data, chunks=(50, 4))
    >>> here = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    >>> with Client(**here) as client, tempfile.TemporaryDirectory() as folder:
    ...     model = DaskBBC(3, n_replicas=20, client=client, random_state=0).fit(X)
    ...     model = model.add_replicas(20)
    ...     print(model.n_replicas_, model.labels_[:5].compute())
    ...     print(model.predict(X).numblocks, model.predict(load_iris().data)[:5])
    ...     print(model.predict_proba(X).shape, model.transform(X).shape)
    ...     model.write_memberships(os.path.join(folder, "memberships"))
    ...     print(len(os.listdir(os.path.join(folder, "memberships"))), "files")
    40 [1 1 1 1 1]
    (3,) [1 1 1 1 1]
    (150, 3) (150, 3)
    3 files
    """

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
        client: Client | None = None,
        block_size: int | None = None,
        performance_report: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            n_replicas=n_replicas,
            prior=prior,
            prior_scale=prior_scale,
            prior_weight=prior_weight,
            resampling=resampling,
            n_draws=n_draws,
            weighting=weighting,
            votes=votes,
            clusterer=clusterer,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            missing=missing,
            trim=trim,
            mc_tol=mc_tol,
            callbacks=callbacks,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.client = client
        self.block_size = block_size
        self.performance_report = performance_report

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        reference_labels: npt.ArrayLike | None = None,
    ) -> DaskBBC:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, data frame, Dask array or Dask data frame of shape (n, d)
            A table in memory or in partitions, whose lengths may be unknown.
        y, sample_weight, reference_labels
            As those of :meth:`bbclust.BBC.fit`; partitioned tables take neither of the last two.

        Returns
        -------
        self
            The model, fitted.
        """
        if not is_dask_collection(X):
            super().fit(X, y, sample_weight, reference_labels)
            return self
        self._check_parameters()
        check_for_partitions(self, sample_weight=sample_weight, reference_labels=reference_labels)
        with self._executor() as executor, check.all_or_nothing(self):
            for notice in self._fit_partitions(executor, X):
                check.warn_user(notice)
        return self

    def add_replicas(self, n_replicas: int) -> DaskBBC:
        """Run more replicas: the result equals that of a fit with the larger number.

        Parameters
        ----------
        n_replicas : int
            How many to add.

        Returns
        -------
        self
            The model, with all its fitted attributes anew.
        """
        check_is_fitted(self)
        before = self._state
        if not isinstance(before, PartitionedState):
            super().add_replicas(n_replicas)
            return self
        n_replicas = check.check_integer("n_replicas", n_replicas, minimum=1)
        more = range(self.n_replicas_, self.n_replicas_ + n_replicas)
        with self._executor() as executor, check.all_or_nothing(self):
            added = PartitionedReplicas(executor.session, before.table, before.job, self.block_size)
            progress = self._report_progress(more.start, more.stop)
            replicas = join([before.replicas, added.run(more, progress)])
            trace = [*before.trace, precision_of_partitions(before.job, replicas)]
            self._publish_partitions(executor, added, replicas, trace)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit_partitions(self, executor: DaskExecutor, X: Any) -> list[str]:
        """Algorithm 3 on a table in partitions; sentences that the user should read."""
        with CallbackContext(self, "replicas", X) as callbacks:
            table = survey(executor.session, self, rows_of(self, X, reset=True))
            self._tell(f"{table.n} rows in {table.n_partitions} partitions")
            request = PartitionedRequest(
                self._settings(),
                self.n_clusters,
                float(self.prior_scale),
                None if self.n_draws is None else int(self.n_draws),
                root_seed(self.random_state),
                self.block_size,
            )
            first = self._steps()[0]
            planned = prepare_replicas(executor.session, table, request, first, self._tell)
            measure = partial(precision_of_partitions, planned.job)
            replicas, trace = self._run(planned.run, measure, callbacks)
            self._publish_partitions(executor, planned, replicas, trace)
        notice = getattr(planned.job.prior, "notice", None)
        return [] if notice is None else [notice]

    def _tell(self, what: str) -> None:
        if self.verbose:
            print(f"{type(self).__name__}: {what}", flush=True)

    def _publish_partitions(
        self,
        executor: DaskExecutor,
        done: PartitionedReplicas,
        replicas: Replicas,
        trace: list[Precision],
    ) -> None:
        """Set the fitted attributes; those of rows are Dask arrays that are computed on demand."""
        table, job = done.table, done.job
        predictors = CenterPredictors(replicas.centers, replicas.occupied, table.center)
        votes = votes_of(table.rows, predictors)
        self._state = PartitionedState(
            predictors,
            replicas.occupied,
            table.rows.dtype.name,
            source="partitions",
            table=table,
            job=job,
            replicas=replicas,
            trace=trace,
            votes=votes,
        )
        self._publish_replicas(job, table.n, replicas, trace)
        self.memberships_ = memberships_of(votes)
        self.labels_ = labels_of(votes)
        self.entropy_ = entropies_of(votes)
        self.reference_labels_ = reference_labels_of(table.rows, job.reference.rule)
        self.n_votes_ = da.full(table.n, replicas.n_replicas, chunks=table.rows.chunks[0])
        self.n_undrawn_ = 0
        summary = executor.session.submit(
            "summarize-memberships", summarize_sample, done.sample, predictors
        )
        labels = replicas.evaluation_labels
        counts = count_votes(labels, job.reference.n_clusters)
        self._publish_entropies(summary.result(), trace, labels, counts, np.ones(len(counts)))

    def predict_proba(self, X: Any) -> Any:
        """Memberships of rows, by the votes of all replicas.

        Parameters
        ----------
        X : array-like, data frame, Dask array or Dask data frame of shape (n, d)
            Rows, with the columns of ``fit``.

        Returns
        -------
        ndarray of shape (n, K), or Dask array of which nothing is computed yet
            A Dask array for a Dask array or data frame. Each row sums to one.
        """
        if not is_dask_collection(X):
            return super().predict_proba(X)
        return memberships_of(self._votes_on(X))

    def transform(self, X: Any) -> Any:
        """Memberships of rows, those of :meth:`predict_proba`.

        Parameters
        ----------
        X
            As of :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n, K), or Dask array of which nothing is computed yet
        """
        return self.predict_proba(X) if is_dask_collection(X) else super().transform(X)

    def predict(self, X: Any, min_confidence: float | None = None) -> Any:
        """Cluster of each row, by the votes of all replicas.

        Parameters
        ----------
        X : array-like, data frame, Dask array or Dask data frame of shape (n, d)
            Rows, with the columns of ``fit``.
        min_confidence : float in [0, 1], optional
            Rows whose largest membership is below it get the label -1; none by default.

        Returns
        -------
        ndarray of shape (n,), or Dask array of which nothing is computed yet
            Numbers of clusters, as in ``labels_``.
        """
        if not is_dask_collection(X):
            return super().predict(X, min_confidence)
        return labels_of(self._votes_on(X), check.check_confidence(min_confidence))

    def _votes_on(self, X: Any) -> da.Array:
        check_is_fitted(self)
        if not isinstance(self._state.predictors, CenterPredictors):
            raise TypeError(
                "The replicas of this model vote by fitted clusterers, which cannot look at "
                "partitions: predict tables in memory."
            )
        return votes_of(rows_of(self, X, reset=False), self._state.predictors)

    def replica_labels(self, X: Any) -> Iterator[npt.NDArray[np.int32]]:
        """Labels by one replica after the other: what each of them thinks of rows in memory.

        Parameters
        ----------
        X
            As of :meth:`bbclust.BBC.replica_labels`; a Dask array or data frame is refused.

        Returns
        -------
        iterator of ndarrays of shape (n,)
            B of them, each made when it is asked for; -1 where a replica abstains.
        """
        _require_rows_in_memory("replica_labels", X)
        return super().replica_labels(X)

    def variable_importance(self, X: Any = None) -> VariableImportance:
        """What each variable tells about the clusters, in bits.

        Parameters
        ----------
        X
            As of :meth:`bbclust.BBC.variable_importance`; a Dask array or data frame is refused,
            and a model of one needs rows in memory.

        Returns
        -------
        VariableImportance
            ``bits`` and standard errors ``se``, one per variable, and ``cluster_entropy``.
        """
        _require_rows_in_memory("variable_importance", X)
        return super().variable_importance(X)

    def write_memberships(self, path: str | os.PathLike[str]) -> None:
        """Write label, entropy and memberships of every row of ``fit`` to Parquet.

        One pass over a partitioned table, and one file per partition in the directory ``path``,
        with the columns ``label``, ``entropy`` and ``membership_0`` to ``membership_{K-1}``. Rows
        are in the order of ``fit``, and never all in memory.

        Parameters
        ----------
        path : str or path
            A new directory, or an address that Dask can write to. Sorted by name, its files are in
            the order of partitions.
        """
        check_is_fitted(self)
        if not isinstance(self._state, PartitionedState):
            raise ValueError(
                "write_memberships is for partitioned tables; this model was fitted to a table in "
                "memory: write memberships_."
            )
        with self._executor():
            write_parquet(self._state.votes, path)

    @property
    def membership_se_(self) -> Any:
        """As of :class:`~bbclust.BBC`; of a table in partitions a Dask array, shape (n, K)."""
        check_is_fitted(self)
        if isinstance(self._state, PartitionedState):
            return membership_se_of(self._state.votes)
        return super().membership_se_

    def _check_parameters(self) -> None:
        super()._check_parameters()
        refuse_missing(self)
        self._check_cluster_parameters()
        if self.block_size is not None:
            check.check_integer("block_size", self.block_size, minimum=1)

    @contextmanager
    def _executor(self) -> Iterator[DaskExecutor]:
        """Who runs the replicas: the workers of the cluster."""
        with open_session(self.client, report=self.performance_report) as session:
            check_sendable(session, "prior", self.prior)
            check_sendable(session, "clusterer", self.clusterer)
            yield DaskExecutor(session, self.block_size)

    @classmethod
    def _saved_as(cls) -> type[BBC]:
        return BBC


def _require_rows_in_memory(what: str, X: Any) -> None:
    if is_dask_collection(X):
        raise TypeError(f"{what} needs rows in memory: pass a sample of X that was computed.")
