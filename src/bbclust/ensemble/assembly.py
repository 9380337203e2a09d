"""From what a user asks for to a job: the plan and the prior (Algorithm 3, steps 3 to 6).

Every way to replicas passes here: ``BBC``, the grid of ``KSelector``, tables in partitions. The
reference partition is found by the plan's clusterer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.ensemble.job import Clusterer, MissingValues, Plan
from bbclust.priors import ElicitedPrior, PreparedPrior, Prior
from bbclust.priors.contract import needs_rows, prepare_scales
from bbclust.priors.covariances import ClusterMoments
from bbclust.stages.bootstrap import Resampling
from bbclust.stages.kmeans import Partition
from bbclust.stages.missing_values import (
    OF_PRIOR,
    MissingDraws,
    complete_rows,
    draws_by_number,
    elicit_model,
)
from bbclust.stages.random_streams import Stage, fixed_sample
from bbclust.stages.table import Table, count_distinct_rows, count_rows_apart, has_missing
from bbclust.stages.trimming import find_kept_rows, take_rows

MAX_EVALUATION_POINTS = 4096


@dataclass(frozen=True)
class ReplicaSettings:
    """What a user asks of replicas, whatever the table.

    Attributes
    ----------
    clusterer : Clusterer
    resampling : {"proper", "rubin", "efron"}
    prior_weight : float
        omega; 0 for a bootstrap without a prior.
    weighting : {"weights", "resample"}
    prior : Prior
    missing : {"error", "draw"}
    trim : float
        Share of the weight that reference partitions leave out.
    """

    clusterer: Clusterer
    resampling: str
    prior_weight: float
    weighting: str
    prior: Prior
    missing: str = "error"
    trim: float = 0.0

    @property
    def uses_prior(self) -> bool:
        return self.prior_weight > 0


def make_settings(
    clusterer: Clusterer,
    *,
    resampling: str,
    prior_weight: float,
    weighting: str,
    prior: Any = None,
    missing: str = "error",
    trim: float = 0.0,
) -> ReplicaSettings:
    """Settings of replicas; a clusterer that takes no weights gets the second resampling."""
    return ReplicaSettings(
        clusterer,
        resampling,
        prior_weight=float(prior_weight) if resampling == "proper" else 0.0,
        weighting=weighting if clusterer.takes_weights else "resample",
        prior=ElicitedPrior() if prior is None else prior,
        missing=missing,
        trim=float(trim),
    )


class TrimmedTable(NamedTuple):
    """The rows of a table that take part, and which these are (n,)."""

    table: Table
    kept: npt.NDArray[np.bool_]


def trim_table(
    settings: ReplicaSettings, table: Table, n_clusters: int, seed: int, *, n_jobs: int = 1
) -> TrimmedTable | None:
    """The table without the rows farthest from K clusters; None if nothing is left out.

    Rows left out are as rows of weight zero: replicas that drew them would give them centres,
    however good the reference is.
    """
    if settings.trim == 0:
        return None

    def search(some: Table) -> Partition:
        return settings.clusterer.find_reference(some, n_clusters, seed, n_jobs=n_jobs).partition

    kept = find_kept_rows(table, n_clusters, settings.trim, seed, search)
    return None if kept.all() else TrimmedTable(take_rows(table, kept), kept)


def count_fillable_clusters(
    settings: ReplicaSettings,
    table: Table,
    k_values: Sequence[int],
    seed: int,
    *,
    n_jobs: int = 1,
) -> int:
    """The largest K, or a larger number, up to which each of these K's has rows for its clusters.

    As many as there are distinct rows, unless some of these are so close that k-means cannot tell
    them apart: where that may be, it is asked for every K.
    """
    distinct = count_distinct_rows(table.rows, max(k_values))
    if not isinstance(settings.clusterer, EngineKMeans) or has_missing(table.rows):
        return distinct
    surely = count_rows_apart(table.rows, min(distinct, max(k_values)))
    for k in sorted(k for k in k_values if surely < k <= distinct):
        found = settings.clusterer.find_reference(table, k, seed, n_jobs=n_jobs).partition
        filled = int((found.shares > 0).sum())
        if filled < k:
            return filled
    return distinct


class TableSize(Protocol):
    """What a plan depends on in a table, in memory or in partitions."""

    @property
    def n(self) -> int: ...
    @property
    def mean_variance(self) -> float: ...


def make_plan(
    settings: ReplicaSettings,
    table: TableSize,
    seed: int,
    *,
    n_draws: int | None = None,
    votes: str = "auto",
    max_evaluation_points: int = MAX_EVALUATION_POINTS,
) -> Plan:
    """The plan of replicas of a table, of ``n_draws`` each or of as many as there are rows."""
    n_draws = table.n if n_draws is None else int(n_draws)
    clusterer = settings.clusterer
    if votes == "auto":
        votes = "all" if n_draws < table.n else "drawn"
    return Plan(
        seed=seed,
        clusterer=clusterer,
        resampling=Resampling(
            n_draws, settings.prior_weight, settings.resampling, settings.weighting
        ),
        votes="drawn" if votes == "all" and not clusterer.predicts else votes,
        evaluation_rows=fixed_sample(table.n, max_evaluation_points, seed, Stage.EVALUATION),
        mean_variance=table.mean_variance,
    )


def cluster_order(
    settings: ReplicaSettings, reference: Partition
) -> npt.NDArray[np.integer[Any]] | None:
    """The order that a prior gives the clusters (``ModelPrior``); None if it gives none."""
    number_clusters = getattr(settings.prior, "number_clusters", None)
    if number_clusters is None or not settings.uses_prior:
        return None
    order: npt.NDArray[np.integer[Any]] = number_clusters(reference)
    return order


class Described(NamedTuple):
    """A reference partition, and how incomplete rows are completed by it."""

    reference: Partition
    missing: MissingValues | None


def describe_missing(
    settings: ReplicaSettings,
    table: Table,
    reference: Partition,
    seed: int,
    *,
    draws: MissingDraws | None = None,
    n_jobs: int = 1,
) -> Described:
    """What missing values are drawn from; the centres are then the means of that model.

    A table without missing values keeps its centres: other rows may still be incomplete. If
    ``draws`` are given, replicas complete the rows by these.
    """
    if settings.missing != "draw":
        return Described(reference, None)
    model, covariances = elicit_model(table, reference, n_jobs=n_jobs)
    if draws is None:
        draws = draws_by_number(model, table, seed, n_jobs=n_jobs)
    if draws is not None:
        reference = replace(reference, centers=model.means)
    return Described(reference, MissingValues(model, covariances, draws))


def rows_for_prior(
    settings: ReplicaSettings,
    table: Table,
    rows: Any,
    reference: Partition,
    missing: MissingValues | None,
) -> Any:
    """What F0 is read off: the rows or, if values are missing, moments that these do not shrink.

    A prior that needs rows gets completed ones.
    """
    if missing is None or missing.draws is None:
        return rows
    if not needs_rows(settings.prior):
        return ClusterMoments(reference.shares * table.n, missing.covariances)
    draws = replace(missing.draws, purpose=OF_PRIOR)
    return replace(table, rows=complete_rows(table.rows, table.center, draws)).original()


def prepare_priors(
    settings: ReplicaSettings,
    rows: Any,
    reference: Partition,
    scales: Sequence[float],
) -> list[PreparedPrior | None]:
    """F0 at every scale, None for a bootstrap without.

    ``rows`` are those of the reference, in the units of the data; for a prior that does not need
    them, :class:`~bbclust.priors.covariances.ClusterMoments` will do.
    """
    if not settings.uses_prior:
        return [None] * len(scales)
    clustered, partition = reference.without_noise()
    inside = rows if clustered.all() else rows[clustered]
    n_features = reference.centers.shape[1]
    return [*prepare_scales(settings.prior, inside, partition, scales, n_features)]
