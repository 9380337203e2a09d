"""BBC of a table in partitions: reference, prior, plan and replicas, one pass after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from distributed import Future

from bbclust import validation as check
from bbclust.dask.cluster.session import Session
from bbclust.dask.partitioned.passes import partitions_of, result_of, shared
from bbclust.dask.partitioned.reference import (
    PartitionedReference,
    cluster_partitions,
    cross_products,
    reference_from,
)
from bbclust.dask.partitioned.replicas import (
    DrawnRows,
    PartitionedJob,
    batches,
    blocks_of,
    run_drawn,
    start_drawing,
    start_listing,
)
from bbclust.dask.partitioned.row_picking import PickedRows, pick_rows
from bbclust.dask.partitioned.table import PartitionedTable, rows_of, survey
from bbclust.ensemble.assembly import ReplicaSettings, cluster_order, make_plan, prepare_priors
from bbclust.ensemble.fitted_state import FittedState
from bbclust.ensemble.job import Replicas, join
from bbclust.ensemble.run import Progress
from bbclust.priors.contract import PreparedPrior, needs_rows
from bbclust.stages.monte_carlo import Precision, measure_precision
from bbclust.stages.random_streams import Stage, fixed_sample
from bbclust.stages.table import Floats
from bbclust.stages.voting import count_votes

MAX_DRAWS = 10_000  # m by default, for tables of any size


@dataclass(frozen=True)
class PartitionedRequest:
    """What is asked of a fit to partitions.

    ``block_size`` replicas are a task; by default there are a few tasks per thread.
    """

    settings: ReplicaSettings
    n_clusters: int
    prior_scale: float
    n_draws: int | None
    seed: int
    block_size: int | None = None


@dataclass(frozen=True, kw_only=True)
class PartitionedState(FittedState):
    """What can answer questions to a model of a table in partitions.

    Attributes
    ----------
    table : PartitionedTable
    job : PartitionedJob
        What the replicas depend on; kept so that more of them can be added.
    replicas : Replicas
    trace : list of Precision
    votes : dask.array.Array of shape (n, K)
        Votes on all rows, of which nothing is computed.
    """

    table: PartitionedTable
    job: PartitionedJob
    replicas: Replicas
    trace: list[Precision]
    votes: da.Array


def check_for_partitions(
    model: Any, *, sample_weight: Any = None, reference_labels: Any = None
) -> None:
    """Refuse what takes all rows on one machine."""
    refused = {
        "sample_weight": sample_weight is not None,
        "reference_labels": reference_labels is not None,
        "clusterer": model.clusterer is not None,
        "resampling='rubin'": model.resampling == "rubin",
        "votes='drawn'": model.votes == "drawn",
        "trim": model.trim > 0,
    }
    for what, given in refused.items():
        if given:
            raise ValueError(
                f"{what} cannot be used with a partitioned table: leave it out, or fit a table in "
                "memory."
            )


class PartitionedReplicas:
    """Runs the replicas of a table in partitions: a pass picks the rows that many of them draw.

    Attributes
    ----------
    table : PartitionedTable
    job : PartitionedJob
    sample : future
        Rows that stand for all; those of the last pass.
    """

    def __init__(
        self,
        session: Session,
        table: PartitionedTable,
        job: PartitionedJob,
        block_size: int | None,
        drawn: DrawnRows | None = None,
    ) -> None:
        self.table = table
        self.job = job
        self.sample: Future | None = None
        self._session = session
        self._block_size = block_size
        self._drawn = drawn  # by the pass of another stage, until it is used

    def run(self, replicas: range, progress: Progress) -> Replicas:
        """Replicas of drawn rows, one pass over the partitions for many of them."""
        parts = []
        for batch in batches(replicas, self.job.plan.resampling, self.table.d):
            drawn, self._drawn = self._drawn or self._draw(batch), None
            found, enough = run_drawn(
                self._session, self.job, drawn, lambda end: progress(end - replicas.start)
            )
            self.sample = drawn.sample
            parts.append(found)
            if enough:
                break
        return join(parts)

    def _draw(self, batch: range) -> DrawnRows:
        blocks = blocks_of(batch, self._session.n_threads, self._block_size)
        wanted = start_listing(self._session, self.table, self.job.plan, blocks)
        return start_drawing(self._session, self.table, wanted)[0]


def prepare_replicas(
    session: Session,
    table: PartitionedTable,
    request: PartitionedRequest,
    first: range,
    tell: Callable[[str], None],
) -> PartitionedReplicas:
    """Reference, prior and plan (Algorithm 3, steps 2 to 6), ready to run replicas.

    The pass that adds up what the prior is made of picks the rows of the ``first`` replicas too.
    """
    settings = request.settings
    n_draws = min(table.n, MAX_DRAWS) if request.n_draws is None else request.n_draws
    plan = make_plan(settings, table, request.seed, n_draws=n_draws, votes="evaluation")
    batch = batches(first, plan.resampling, table.d)[0]
    blocks = blocks_of(batch, session.n_threads, request.block_size)
    # First of all: one worker lists rows while another clusters the sample, which is one task too.
    wanted = start_listing(session, table, plan, blocks)
    rule = cluster_partitions(session, table, request.n_clusters, plan, tell=tell)
    read = partitions_of(table.rows)
    products = cross_products(session, table, rule, read)
    drawn, (added,) = start_drawing(session, table, wanted, along=[products], read=read)
    reference = reference_from(rule, added.result())
    check.check_no_cluster_is_empty(reference.shares)
    reference = reference.renumbered(cluster_order(settings, reference.without_rows))
    prior = _prepare_prior(settings, reference, drawn.sample, request.prior_scale)
    job = PartitionedJob(table.n, table.center, reference, prior, plan)
    return PartitionedReplicas(session, table, job, request.block_size, drawn)


def _prepare_prior(
    settings: ReplicaSettings, reference: PartitionedReference, sample: Future, scale: float
) -> PreparedPrior | None:
    """F0, from sizes, means and covariances of the clusters or, if it needs them, from rows."""
    if settings.uses_prior and needs_rows(settings.prior):
        rows = sample.result().rows
        return prepare_priors(settings, rows, reference.of_rows(rows), [scale])[0]
    return prepare_priors(settings, reference.moments, reference.without_rows, [scale])[0]


def precision_of_partitions(job: PartitionedJob, replicas: Replicas) -> Precision:
    """Monte-Carlo errors, on the evaluation rows alone."""
    labels = replicas.evaluation_labels
    counts = count_votes(labels, job.reference.n_clusters)
    return measure_precision(labels, counts, np.ones(len(counts)), counts)


def sample_partitions(session: Session, estimator: Any, X: Any, seed: int, at_most: int) -> Floats:
    """The rows on which K is chosen: those that the local twin would take, after two passes."""
    table = survey(session, estimator, rows_of(estimator, X, reset=True))
    numbers = fixed_sample(table.n, at_most, seed, Stage.SELECTION_SAMPLE)
    wanted = shared("sample-numbers", (numbers,))
    (node,) = pick_rows(session, table.rows, wanted, 1, len(numbers) * table.d)
    sample: PickedRows = result_of(session, node)
    return sample.rows
