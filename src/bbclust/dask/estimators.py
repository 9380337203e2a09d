"""DaskBBC and DaskKSelector: their local twins, with the work done by a cluster."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from dask import is_dask_collection
from distributed import Client

from bbclust.dask.cluster.pickling import check_sendable
from bbclust.dask.cluster.session import Session, open_session
from bbclust.dask.grids import run_grids_on_workers
from bbclust.dask.partitioned.fit import (
    PartitionedFit,
    PartitionedRun,
    check_for_partitions,
    sample_partitions,
)
from bbclust.dask.replication import Replication
from bbclust.ensemble.job import Replicas
from bbclust.ensemble.run import Progress
from bbclust.estimators.base import Run
from bbclust.estimators.bbc import BBC
from bbclust.io.model_file import StoredModel
from bbclust.selection.grid import Grid, GridJob
from bbclust.selection.k_selector import MAX_SAMPLE, KSelector
from bbclust.stages.table import Floats
from bbclust.validation import check_integer


class OnCluster:
    """Base of estimators with a client: it is shared by clones, and left out of pickles."""

    client: Client | None
    performance_report: str | os.PathLike[str] | None

    def _check_cluster_parameters(self) -> None:
        if self.client is not None and not isinstance(self.client, Client):
            raise TypeError(
                f"client must be a distributed.Client, got {self.client!r}: "
                "use Client(address) for the address of a scheduler."
            )
        if self.client is not None and self.client.asynchronous:
            raise TypeError("client is asynchronous, and fit waits: use Client(...) without that.")
        if self.performance_report is not None and not isinstance(
            self.performance_report, str | os.PathLike
        ):
            raise TypeError(
                "performance_report must be the path of an HTML file, got "
                f"{self.performance_report!r}."
            )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**state, "client": None}

    def __sklearn_clone__(self) -> OnCluster:
        without_client = copy.copy(self)  # by way of __getstate__
        clone: OnCluster = super(OnCluster, without_client).__sklearn_clone__()  # type: ignore[misc]
        clone.client = self.client
        return clone


class DaskBBC(OnCluster, PartitionedFit):
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
    - ``sample_weight``, ``reference_labels``, ``clusterer``, ``resampling="rubin"`` and
      ``votes="drawn"`` are refused, and so are questions that need all rows, such as
      ``comembership``.

    Parameters
    ----------
    n_clusters, n_replicas, prior, prior_scale, prior_weight, resampling, n_draws, weighting, \
votes, clusterer, n_init, max_iter, tol, mc_tol, callbacks, random_state, verbose
        As those of :class:`~bbclust.BBC`.
    client : distributed.Client, optional
        The current client by default; if there is none, a cluster on this machine that is closed
        at the end.
    block_size : int, optional
        Replicas per task; by default a few tasks per thread of the cluster, of some seconds at
        most. The result does not depend on it.
    performance_report : str or path, optional
        An HTML file into which Dask writes what the cluster did, and when.
    n_jobs : int, optional
        Threads for what this process does; workers have their own.
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
            As those of :class:`~bbclust.BBC`.

        Returns
        -------
        self
        """
        if is_dask_collection(X):
            self._fit_partitions(X, sample_weight, reference_labels)
            return self
        self._check_parameters()
        with self._on_workers():
            super().fit(X, y, sample_weight, reference_labels)
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
        """
        self._rows_of_fit("add_replicas")
        with self._on_workers():
            super().add_replicas(n_replicas)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_cluster_parameters()
        if self.block_size is not None:
            check_integer("block_size", self.block_size, minimum=1)

    @contextmanager
    def _on_workers(self) -> Iterator[None]:
        """Run replicas on the cluster inside of the ``with``."""
        with open_session(self.client, report=self.performance_report) as session:
            self._session, self._replication = session, Replication(session, self.block_size)
            try:
                yield
            finally:
                del self._session, self._replication

    def _run_replicas(
        self, run: Run | PartitionedRun, replicas: range, progress: Progress
    ) -> Replicas:
        if isinstance(run, PartitionedRun):
            return self._run_partitions(run, replicas, progress)
        return self._replication.run(run, replicas, progress)

    def _to_store(self) -> StoredModel:
        """As that of a BBC, which is what comes out of a model file."""
        stored = super()._to_store()
        local = set(BBC._get_param_names())
        parameters = {name: value for name, value in stored.parameters.items() if name in local}
        return replace(stored, estimator="BBC", parameters=parameters)


class DaskKSelector(OnCluster, KSelector):
    """KSelector whose grids are run by the workers of a Dask cluster.

    For a table in memory the result is that of :class:`~bbclust.KSelector`, bit for bit, with the
    instruction set that client and workers have in common.

    A Dask array or data frame is read twice: to count and check its rows, and for the fixed sample
    of at most 10,000 rows on which K is chosen. It is the sample that :class:`~bbclust.KSelector`
    takes of the same rows, so the choice is the same, bit for bit. ``best_estimator_`` is then
    fitted as :class:`DaskBBC` fits partitioned tables.

    Parameters
    ----------
    estimator, k_range, prior_scales, criterion, n_draws, null_reference, n_resamples, refit, \
callbacks, random_state, verbose
        As those of :class:`~bbclust.KSelector`.
    client : distributed.Client, optional
        The current client by default; if there is none, a cluster on this machine that is closed
        at the end.
    checkpoint : str or path, optional
        A folder on the client's machine in which every finished cell is kept, see
        :class:`~bbclust.KSelector`. A ``fit`` that ended with its scheduler goes on from there.
    performance_report : str or path, optional
        An HTML file into which Dask writes what the cluster did, and when.
    n_jobs : int, optional
        Threads for what this process does; workers have their own.

    Attributes
    ----------
    best_estimator_ : DaskBBC
        Fitted with the chosen K, with ``refit``.
    others
        As those of :class:`~bbclust.KSelector`.
    """

    def __init__(
        self,
        estimator: BBC | None = None,
        *,
        k_range: Iterable[int] | str = (2, 3, 4, 5, 6, 7, 8, 9, 10),
        prior_scales: Iterable[float] = (1, 1.5, 2.5),
        criterion: str = "auto",
        n_draws: int | str = "auto",
        null_reference: int = 0,
        n_resamples: int = 0,
        refit: bool = True,
        callbacks: Callable[[int, int], None] | Iterable[Callable[[int, int], None]] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        client: Client | None = None,
        performance_report: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(
            estimator,
            k_range=k_range,
            prior_scales=prior_scales,
            criterion=criterion,
            n_draws=n_draws,
            null_reference=null_reference,
            n_resamples=n_resamples,
            refit=refit,
            callbacks=callbacks,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.client = client
        self.performance_report = performance_report

    def fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> DaskKSelector:
        """Choose K for the rows of X, and cluster them with it if ``refit``.

        Parameters
        ----------
        X : array-like, data frame, Dask array or Dask data frame of shape (n, d)
            A table in memory or in partitions, whose lengths may be unknown.
        y, sample_weight
            As those of :class:`~bbclust.KSelector`; partitioned tables take no weights.

        Returns
        -------
        self
        """
        estimator = BBC() if self.estimator is None else self.estimator
        self._check_parameters(estimator)
        if is_dask_collection(X):
            check_for_partitions(estimator, sample_weight=sample_weight)
        if self.checkpoint is None:
            if_lost = "start it again and fit again; with checkpoint, fit goes on where it was"
        else:
            if_lost = f"start it again and fit again, which goes on from {self.checkpoint}"
        with open_session(self.client, report=self.performance_report, if_lost=if_lost) as session:
            self._session: Session = session
            try:
                if self.estimator is not None:
                    check_sendable(session, "prior", self.estimator.prior)
                    check_sendable(session, "clusterer", self.estimator.clusterer)
                super().fit(X, y, sample_weight)
            finally:
                del self._session
        return self

    def _check_parameters(self, estimator: BBC) -> tuple[float, ...]:
        self._check_cluster_parameters()
        return super()._check_parameters(estimator)

    def _read(self, X: Any, seed: int) -> tuple[Any, Floats]:
        if not is_dask_collection(X):
            return super()._read(X, seed)
        return X, sample_partitions(self._session, self, X, seed, MAX_SAMPLE)

    def _run_grids(self, jobs: Iterable[GridJob]) -> Iterator[Grid]:
        return run_grids_on_workers(self._session, jobs)

    def _template(self, estimator: BBC) -> BBC:
        template = super()._template(estimator)
        if isinstance(template, DaskBBC):
            return template
        return DaskBBC(**template.get_params(deep=False), client=self.client)
