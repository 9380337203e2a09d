"""BBC of a table in partitions: what ``DaskBBC`` does with Dask arrays and data frames."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask import is_dask_collection
from distributed import Future
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.dask.cluster.pickling import check_sendable
from bbclust.dask.cluster.session import Session
from bbclust.dask.partitioned.memberships import (
    MembershipSummary,
    entropies_of,
    labels_of,
    membership_se_of,
    memberships_of,
    reference_labels_of,
    summarize_memberships,
    votes_of,
    write_parquet,
)
from bbclust.dask.partitioned.passes import partitions_of, result_of, shared
from bbclust.dask.partitioned.reference import (
    Reference,
    cluster_partitions,
    cross_products,
    reference_from,
)
from bbclust.dask.partitioned.replicas import (
    DrawnRows,
    Setting,
    batches,
    cut_into_blocks,
    run_drawn,
    start_drawing,
)
from bbclust.dask.partitioned.row_picking import PickedRows, pick_rows
from bbclust.dask.partitioned.table import PartitionedTable, rows_of, survey
from bbclust.diagnostics.variable_importance import VariableImportance
from bbclust.ensemble.job import Plan, Replicas, choose_evaluation_rows, join, replica_tolerance
from bbclust.ensemble.predictors import CenterPredictors
from bbclust.ensemble.run import Progress
from bbclust.estimators.bbc import AUTO_BLOCK, BBC
from bbclust.estimators.sklearn_callbacks import CallbackContext
from bbclust.priors import (
    ElicitedPrior,
    MixturePrior,
    ModelPrior,
    PreparedPrior,
    SamplerPrior,
    StudentMixturePrior,
    check_prepared,
)
from bbclust.stages.bootstrap import Resampling
from bbclust.stages.entropies import worst_pair
from bbclust.stages.monte_carlo import Precision
from bbclust.stages.random_streams import Stage, fixed_sample, root_seed
from bbclust.stages.table import Floats
from bbclust.stages.voting import (
    count_votes,
    mean_entropy_influence,
    membership_se,
    pairwise_entropy_influence,
    standard_error,
)

MAX_DRAWS = 10_000  # m by default, for tables of any size

# Priors that read nothing off the rows but sizes, means and covariances of clusters.
_BY_MOMENTS = (ElicitedPrior, MixturePrior, ModelPrior, SamplerPrior, StudentMixturePrior)


@dataclass(frozen=True)
class PartitionedRun:
    """Everything that replicas depend on; kept so that more of them can be added.

    ``ahead`` holds rows that were picked by the pass of another stage until they are used, and
    ``sample`` those of the last pass until the attributes are set.
    """

    table: PartitionedTable
    reference: Reference
    prior: PreparedPrior | None
    plan: Plan
    ahead: list[DrawnRows] = field(default_factory=list)
    sample: list[Future] = field(default_factory=list)


class PartitionedFit(BBC):
    """Base of ``DaskBBC``: BBC that also fits Dask arrays and data frames.

    A subclass has ``_session`` while it is at work.
    """

    block_size: int | None
    _session: Session
    _on_workers: Any
    _run: Any

    def _fit_partitions(self, X: Any, sample_weight: Any, reference_labels: Any) -> None:
        """Fit to a Dask array or data frame."""
        self._check_parameters()
        check_for_partitions(self, sample_weight=sample_weight, reference_labels=reference_labels)
        with (
            self._on_workers(),
            check.all_or_nothing(self),
            CallbackContext(self, "replicas", X) as callback_context,
        ):
            table = survey(self._session, self, rows_of(self, X, reset=True))
            self._tell(f"{table.n} rows in {table.n_partitions} partitions")
            run: Any = self._prepare_partitions(table)
            self._publish(run, *self._run_all(run, callback_context))
            notice = getattr(run.prior, "notice", None)
            if notice is not None:
                warnings.warn(notice, UserWarning, stacklevel=3)

    def _tell(self, what: str) -> None:
        if self.verbose:
            print(f"{type(self).__name__}: {what}", flush=True)

    def _prepare_partitions(self, table: PartitionedTable) -> PartitionedRun:
        """Reference, prior and plan (Algorithm 3, steps 2 to 6)."""
        session, plan = self._session, self._plan_partitions(table)
        check_sendable(session, "prior", self.prior)
        rule = cluster_partitions(
            session,
            table,
            self.n_clusters,
            plan.seed,
            max_iter=plan.max_iter,
            tolerance=float(self.tol) * table.mean_variance,
            tell=self._tell,
        )
        n_first = AUTO_BLOCK if self.n_replicas == "auto" else int(self.n_replicas)
        first = next(batches(range(n_first), plan.resampling, table.d))
        blocks = cut_into_blocks(first, session.n_threads, self.block_size)
        read = partitions_of(table.rows)
        products = cross_products(session, table, rule, read)
        drawn, (added,) = start_drawing(session, table, plan, blocks, along=[products], read=read)
        reference = reference_from(rule, added.result())
        check.check_no_cluster_is_empty(reference.of_rows(np.zeros((0, table.d))))
        prior = None
        if plan.resampling.uses_prior:
            chosen = ElicitedPrior() if self.prior is None else self.prior
            reference = _numbered_by(chosen, reference, table.d)
            prepared = _prepare_prior(chosen, reference, drawn.sample, float(self.prior_scale))
            prior = check_prepared(prepared, table.d)
        return PartitionedRun(table, reference, prior, plan, [drawn])

    def _plan_partitions(self, table: PartitionedTable) -> Plan:
        seed = root_seed(self.random_state)
        n_draws = min(table.n, MAX_DRAWS) if self.n_draws is None else int(self.n_draws)
        return Plan(
            seed=seed,
            resampling=Resampling(
                n_draws=n_draws,
                prior_weight=float(self.prior_weight) if self.resampling == "proper" else 0.0,
                kind=self.resampling,
                weighting=self.weighting,
            ),
            votes="evaluation",
            n_init=int(self.n_init),
            max_iter=int(self.max_iter),
            tolerance=replica_tolerance(
                self.tol, table.mean_variance, self.n_clusters * table.d, n_draws
            ),
            evaluation_rows=choose_evaluation_rows(table.n, seed, self._max_evaluation_points),
        )

    def _run_partitions(self, run: PartitionedRun, replicas: range, progress: Progress) -> Replicas:
        """Replicas of drawn rows, one pass over the partitions for many of them."""
        setting = Setting(run.table.n, run.table.center, run.reference, run.prior, run.plan)
        parts = []
        for batch in batches(replicas, run.plan.resampling, run.table.d):
            drawn = run.ahead.pop() if run.ahead else self._draw(run, batch)
            found, enough = run_drawn(
                self._session, setting, drawn, lambda end: progress(end - replicas.start)
            )
            run.sample[:] = [drawn.sample]
            parts.append(found)
            if enough:
                break
        return join(parts)

    def _draw(self, run: PartitionedRun, batch: range) -> DrawnRows:
        blocks = cut_into_blocks(batch, self._session.n_threads, self.block_size)
        return start_drawing(self._session, run.table, run.plan, blocks)[0]

    def _measure(self, run: Any, replicas: Replicas) -> Precision:
        if not isinstance(run, PartitionedRun):
            return super()._measure(run, replicas)
        labels = replicas.evaluation_labels
        counts = count_votes(labels, run.reference.n_clusters)
        moves = mean_entropy_influence(labels, counts, np.ones(len(counts)))
        largest = float(membership_se(counts).max())
        return Precision(replicas.n_replicas, standard_error(moves), largest)

    def _publish(self, run: Any, replicas: Replicas, trace: list[Precision]) -> None:
        if not isinstance(run, PartitionedRun):
            return super()._publish(run, replicas, trace)
        self._publish_replicas(run, replicas, trace)
        predictors = CenterPredictors(replicas.centers, replicas.occupied, run.table.center)
        self._predictors = predictors
        self._votes = votes_of(run.table.rows, predictors)
        self.memberships_ = memberships_of(self._votes)
        self.labels_ = labels_of(self._votes)
        self.entropy_ = entropies_of(self._votes)
        self.reference_labels_ = reference_labels_of(run.table.rows, run.reference.rule)
        self.n_votes_ = da.full(run.table.n, replicas.n_replicas, chunks=run.table.rows.chunks[0])
        self.n_undrawn_ = 0

        summarize = self._session.submit(
            "summarize-memberships", summarize_memberships, run.sample.pop(), predictors
        )
        summary: MembershipSummary = summarize.result()
        self.cluster_shares_ = summary.shares
        self.mean_entropy_ = summary.entropy
        self.mean_entropy_se_ = trace[-1].mean_entropy_se
        self.pairwise_entropy_ = summary.pairwise_entropy
        self.worst_pair_ = worst_pair(self.pairwise_entropy_)
        self.max_pairwise_entropy_ = self.max_pairwise_entropy_se_ = 0.0
        if self.worst_pair_ is not None:
            self.max_pairwise_entropy_ = float(self.pairwise_entropy_[self.worst_pair_])
            labels = replicas.evaluation_labels
            counts = count_votes(labels, run.reference.n_clusters)
            self.max_pairwise_entropy_se_ = standard_error(
                pairwise_entropy_influence(labels, counts, np.ones(len(counts)), self.worst_pair_)
            )
        return None

    def predict_proba(self, X: Any) -> Any:
        """Memberships of rows, by the votes of all replicas, shape (n, K).

        A Dask array or data frame gives a Dask array, of which nothing is computed yet.
        """
        if not is_dask_collection(X):
            return super().predict_proba(X)
        return memberships_of(self._votes_on(X))

    def transform(self, X: Any) -> Any:
        """Memberships of rows, by the votes of all replicas, shape (n, K).

        A Dask array or data frame gives a Dask array, of which nothing is computed yet.
        """
        return self.predict_proba(X) if is_dask_collection(X) else super().transform(X)

    def predict(self, X: Any, min_confidence: float | None = None) -> Any:
        """Cluster of each row, by the votes of all replicas.

        Parameters
        ----------
        X : array-like, data frame, Dask array or Dask data frame of shape (n, d)
        min_confidence : float in [0, 1], optional
            Rows whose largest membership is below it get the label -1.

        Returns
        -------
        ndarray of shape (n,), or Dask array of which nothing is computed yet
        """
        if not is_dask_collection(X):
            return super().predict(X, min_confidence)
        return labels_of(self._votes_on(X), check.check_confidence(min_confidence))

    def _votes_on(self, X: Any) -> da.Array:
        check_is_fitted(self)
        if not isinstance(self._predictors, CenterPredictors):
            raise TypeError(
                "The replicas of this model vote by fitted clusterers, which cannot look at "
                "partitions: predict tables in memory."
            )
        return votes_of(rows_of(self, X, reset=False), self._predictors)

    def replica_labels(self, X: Any) -> Iterator[npt.NDArray[np.int32]]:
        """Labels by one replica after the other, see :meth:`bbclust.BBC.replica_labels`."""
        _need_rows_in_memory("replica_labels", X)
        return super().replica_labels(X)

    def variable_importance(self, X: Any = None) -> VariableImportance:
        """What each variable tells, see :meth:`bbclust.BBC.variable_importance`."""
        _need_rows_in_memory("variable_importance", X)
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
        if not isinstance(self._run, PartitionedRun):
            raise ValueError(
                "write_memberships is for partitioned tables; this model was fitted to a table in "
                "memory: write memberships_."
            )
        with self._on_workers():
            write_parquet(self._votes, path)

    def _rows_of_fit(self, what: str) -> Any:
        if isinstance(getattr(self, "_run", None), PartitionedRun) and what != "add_replicas":
            raise AttributeError(
                f"{what} needs all rows in memory, and this model was fitted to a partitioned "
                "table: fit a sample of it, or ask for memberships_."
            )
        return super()._rows_of_fit(what)

    @property
    def membership_se_(self) -> Any:
        if isinstance(getattr(self, "_run", None), PartitionedRun):
            return membership_se_of(self._votes)
        return super().membership_se_


def check_for_partitions(
    model: BBC, *, sample_weight: Any = None, reference_labels: Any = None
) -> None:
    """Refuse what takes all rows on one machine."""
    refused = {
        "sample_weight": sample_weight is not None,
        "reference_labels": reference_labels is not None,
        "clusterer": model.clusterer is not None,
        "resampling='rubin'": model.resampling == "rubin",
        "votes='drawn'": model.votes == "drawn",
    }
    for what, given in refused.items():
        if given:
            raise ValueError(
                f"{what} cannot be used with a partitioned table: leave it out, or fit a table in "
                "memory."
            )


def _need_rows_in_memory(what: str, X: Any) -> None:
    if is_dask_collection(X):
        raise TypeError(f"{what} needs rows in memory: pass a sample of X that was computed.")


def _numbered_by(prior: Any, reference: Reference, d: int) -> Reference:
    """The partition with the numbers that a prior gives its clusters, if it does."""
    if not hasattr(prior, "number_clusters"):
        return reference
    return reference.renumbered(prior.number_clusters(reference.of_rows(np.zeros((0, d)))))


def _prepare_prior(prior: Any, reference: Reference, sample: Future, scale: float) -> Any:
    """F0, from sizes, means and covariances of the clusters or, if these will not do, from rows."""
    if type(prior) in _BY_MOMENTS:
        no_rows = np.zeros((0, reference.centers.shape[1]))
        return prior.prepare(reference.moments, reference.of_rows(no_rows), scale)
    picked: PickedRows = sample.result()
    return prior.prepare(picked.rows, reference.of_rows(picked.rows), scale)


def sample_partitions(session: Session, estimator: Any, X: Any, seed: int, at_most: int) -> Floats:
    """The rows on which K is chosen: those that the local twin would take, after two passes."""
    table = survey(session, estimator, rows_of(estimator, X, reset=True))
    numbers = fixed_sample(table.n, at_most, seed, Stage.SELECTION_SAMPLE)
    wanted = shared("sample-numbers", (numbers,))
    (node,) = pick_rows(session, table, wanted, 1, len(numbers) * table.d)
    sample: PickedRows = result_of(session, node)
    return sample.rows
