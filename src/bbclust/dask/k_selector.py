"""DaskKSelector: its local twin, with the work done by a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from dask import is_dask_collection
from distributed import Client

from bbclust.dask.bbc import DaskBBC
from bbclust.dask.cluster.pickling import check_sendable
from bbclust.dask.cluster.session import open_session
from bbclust.dask.executor import DaskExecutor
from bbclust.dask.on_cluster import OnCluster, refuse_missing
from bbclust.dask.partitioned.fit import (
    check_for_partitions,
    sample_partitions,
)
from bbclust.estimators.bbc import BBC
from bbclust.selection.k_selector import MAX_SAMPLE, KSelector
from bbclust.stages.table import Floats


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
        Threads for what this process does, None is 1; workers have their own.

    Attributes
    ----------
    best_estimator_ : DaskBBC
        Fitted with the chosen K, with ``refit``.
    others
        As those of :class:`~bbclust.KSelector`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from bbclust import BBC
    >>> from bbclust.dask import DaskKSelector
    >>> from bbclust.datasets import make_paper_dataset
    >>> X = da.from_array(make_paper_dataset(1, random_state=0).data, chunks=(33, 2))
    >>> template = BBC(n_replicas=50, n_init=2)
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0") as client:
    ...     selector = DaskKSelector(template, k_range=(2, 3), client=client, random_state=0).fit(X)
    ...     print(selector.best_k_, selector.predict(X).compute().shape)
    3 (99,)
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
            As those of :meth:`bbclust.KSelector.fit`; partitioned tables take no weights.

        Returns
        -------
        self
            The selector, fitted.
        """
        if is_dask_collection(X):
            estimator = self._estimator_or_default()
            self._check_parameters(estimator)
            check_for_partitions(estimator, sample_weight=sample_weight)
        super().fit(X, y, sample_weight)
        return self

    @contextmanager
    def _executor(self) -> Iterator[DaskExecutor]:
        """Who runs the grids: the workers of the cluster."""
        if self.checkpoint is None:
            if_lost = "start it again and fit again; with checkpoint, fit goes on where it was"
        else:
            if_lost = f"start it again and fit again, which goes on from {self.checkpoint}"
        with open_session(self.client, report=self.performance_report, if_lost=if_lost) as session:
            if self.estimator is not None:
                check_sendable(session, "prior", self.estimator.prior)
                check_sendable(session, "clusterer", self.estimator.clusterer)
            yield DaskExecutor(session)

    def _check_parameters(self, estimator: BBC) -> tuple[float, ...]:
        self._check_cluster_parameters()
        scales = super()._check_parameters(estimator)
        refuse_missing(estimator)
        return scales

    def _read(self, executor: Any, X: Any, seed: int) -> tuple[Any, Floats]:
        if not is_dask_collection(X):
            return super()._read(executor, X, seed)
        return X, sample_partitions(executor.session, self, X, seed, MAX_SAMPLE)

    def _template(self, estimator: BBC) -> BBC:
        template = super()._template(estimator)
        if isinstance(template, DaskBBC):
            return template
        return DaskBBC(**template.get_params(deep=False), client=self.client)
