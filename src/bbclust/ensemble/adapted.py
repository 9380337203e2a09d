"""The replica loop around a clusterer that the engine does not know.

A replica is drawn by the engine, clustered by the adapted clusterer, and aligned as far as it
goes: clusters are paired one to one with those of the reference so that most points agree, and
what is left over abstains, as noise does.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment

from bbclust.ensemble.custom_clusterer import Adapter
from bbclust.ensemble.job import Plan, Replicas
from bbclust.ensemble.predictors import AlignedModel
from bbclust.priors import PreparedPrior
from bbclust.stages.bootstrap import Replica, draw_replica
from bbclust.stages.kmeans import Partition, partition_from_labels
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Floats, Table

Labels = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]


def reference_by(adapter: Adapter, table: Table, n_clusters: int, seed: int) -> Partition:
    """The reference partition by an adapted clusterer; rows of noise have the label -1."""
    weights = np.ones(table.n) if adapter.weight_parameter is None else table.weights_or_ones()
    random_state = _random_state(seed, Stage.REFERENCE, 0)
    labels = adapter.cluster(table.original(), weights, n_clusters, random_state).labels
    found = np.unique(labels[labels >= 0])
    if len(found) == 0:
        warnings.warn(
            f"{adapter.name} calls all {table.n} rows noise, which are taken as one cluster: "
            "change its parameters, or scale the columns.",
            UserWarning,
            stacklevel=6,
        )
        return partition_from_labels(table, np.zeros(table.n, dtype=np.int32))
    codes = np.where(labels < 0, -1, np.searchsorted(found, labels))
    return partition_from_labels(table, codes.astype(np.int32))


@dataclass(frozen=True)
class _Outcome:
    """What one replica found: votes on some rows, -1 where it abstains."""

    rows: Labels
    labels: Labels
    centers: Array
    occupied: npt.NDArray[np.bool_]
    margin: float = 0.0
    inertia: float = float("nan")
    n_iter: int = 1
    model: AlignedModel | None = None
    failure: str | None = None


def run_adapted_block(
    table: Table,
    reference: Partition,
    prior: PreparedPrior | None,
    plan: Plan,
    replicas: range,
    *,
    n_jobs: int = 1,
) -> Replicas:
    """Draw, cluster, align and count the votes of some replicas."""
    outcomes: list[_Outcome] = Parallel(n_jobs=n_jobs)(
        delayed(_run_one)(table, reference, prior, plan, replica) for replica in replicas
    )
    n_voted = 0 if plan.votes == "evaluation" else table.n
    votes = np.zeros((n_voted, reference.n_clusters), dtype=np.int32)
    slots = np.full(table.n, -1)
    slots[plan.evaluation_rows] = np.arange(len(plan.evaluation_rows))
    kept = np.full((len(replicas), len(plan.evaluation_rows)), -1, dtype=np.int16)
    for b, outcome in enumerate(outcomes):
        cast = outcome.labels >= 0
        rows, labels = outcome.rows[cast], outcome.labels[cast]
        if n_voted:
            votes[rows, labels] += 1  # a replica votes once on a row
        evaluated = slots[rows] >= 0
        kept[b, slots[rows[evaluated]]] = labels[evaluated]
    return Replicas(
        votes=votes,
        centers=np.array([outcome.centers for outcome in outcomes]),
        occupied=np.array([outcome.occupied for outcome in outcomes]),
        margin=np.array([outcome.margin for outcome in outcomes]),
        inertia=np.array([outcome.inertia for outcome in outcomes]),
        n_iter=np.array([outcome.n_iter for outcome in outcomes], dtype=np.int32),
        evaluation_labels=kept,
        abstained=np.array([(outcome.labels < 0).sum() for outcome in outcomes], dtype=np.int64),
        models=tuple(outcome.model for outcome in outcomes if outcome.model is not None),
        failures=tuple(outcome.failure for outcome in outcomes if outcome.failure is not None),
    )


def _random_state(seed: int, stage: Stage, replica: int) -> int:
    return int(stream_generator(seed, stage, replica).integers(2**31 - 1))


def _run_one(
    table: Table, reference: Partition, prior: PreparedPrior | None, plan: Plan, replica: int
) -> _Outcome:
    adapter = plan.adapter
    assert adapter is not None
    drawn = draw_replica(table, prior, plan.resampling, plan.seed, replica)
    points = (drawn.points + table.center).astype(table.rows.dtype)
    random_state = _random_state(plan.seed, Stage.CLUSTERER, replica)
    n_clusters = reference.n_clusters
    try:
        found = adapter.cluster(points, drawn.weights, n_clusters, random_state)
    except Exception as error:  # a clusterer may fail on an odd replica; it is counted and told
        failure = f"{type(error).__name__}: {error}"
        none = np.empty(0, dtype=np.int64)
        empty = np.zeros(n_clusters, dtype=np.bool_)
        return _Outcome(none, none, reference.centers, empty, failure=failure)

    mine = (drawn.rows >= 0) & (drawn.weights > 0)
    rows, labels = drawn.rows[mine], found.labels[mine]
    if found.model is not None and plan.votes != "drawn":
        rows = plan.evaluation_rows if plan.votes == "evaluation" else np.arange(table.n)
        labels = np.asarray(found.model.predict(table.original(rows)), dtype=np.int64)
    names = np.unique(np.concatenate([found.labels, labels]))
    names = names[names >= 0]
    pairing = pair_clusters(
        _overlap(labels, reference.labels[rows], names, n_clusters),
        _squared_distances(_means(points, drawn, found.labels, names), reference.centers),
    )
    named = AlignedModel(found.model, names, pairing.to_reference)
    aligned = named.rename(found.labels)
    means = _means(points, drawn, aligned, np.arange(n_clusters))
    occupied = ~np.isnan(means[:, 0])
    centers = np.where(occupied[:, None], means, reference.centers)
    return _Outcome(
        rows=rows,
        labels=named.rename(labels),
        centers=centers,
        occupied=occupied,
        margin=pairing.margin,
        inertia=_inertia(points, drawn.weights, aligned, centers),
        n_iter=_n_iter(found.model),
        model=None if found.model is None else named,
    )


def _n_iter(model: object) -> int:
    """Iterations, if the clusterer counts them."""
    n_iter = getattr(model, "n_iter_", 1)
    return int(n_iter) if np.ndim(n_iter) == 0 and n_iter else 1


def _overlap(labels: Labels, reference: npt.NDArray[np.int32], names: Labels, K: int) -> Labels:
    """Points in each of the replica's clusters and each of the reference's, without noise."""
    both = (labels >= 0) & (reference >= 0)
    codes = np.searchsorted(names, labels[both])
    cells = np.bincount(codes * K + reference[both], minlength=len(names) * K)
    return cells.reshape(len(names), K)


def _means(points: Floats, drawn: Replica, labels: Labels, names: Labels) -> Array:
    """Weighted mean of the points of each label; NaN where there are none."""
    means = np.full((len(names), points.shape[1]), np.nan)
    for row, name in enumerate(names):
        weights = drawn.weights * (labels == name)
        if weights.sum() > 0:
            means[row] = np.einsum("i,ij->j", weights, points) / weights.sum()
    return means


def _squared_distances(means: Array, centers: Array) -> Array:
    """Between clusters that have a mean; zero from the others."""
    differences = means[:, None, :] - centers[None]
    return np.asarray(np.nan_to_num(np.einsum("ijk,ijk->ij", differences, differences)))


def _inertia(points: Floats, weights: Array, labels: Labels, centers: Array) -> float:
    matched = labels >= 0
    differences = points[matched] - centers[labels[matched]]
    return float(np.einsum("i,ij,ij->", weights[matched], differences, differences))


@dataclass(frozen=True)
class Pairing:
    """How the clusters of a replica are named when there may be more or fewer than K.

    Attributes
    ----------
    to_reference : ndarray of shape (found,)
        Reference cluster of each replica cluster, -1 for those left over.
    margin : float
        How much agreement the best pairing without one of these pairs would lose, per point.
    """

    to_reference: Labels
    margin: float


def pair_clusters(overlap: Labels, squared_distances: Array) -> Pairing:
    """Pair clusters one to one for most agreement, ties by distance; no overlap, no pair.

    ``overlap`` and ``squared_distances`` have a row per replica cluster and a column per reference
    cluster.
    """
    to_reference = np.full(len(overlap), -1, dtype=np.int64)
    if overlap.size == 0 or not overlap.any():
        return Pairing(to_reference, 0.0)
    # All distances together weigh less than one point.
    largest = squared_distances.max() * 2 * min(overlap.shape)
    scores = overlap - squared_distances / (largest or 1.0)
    rows, columns = linear_sum_assignment(scores, maximize=True)
    paired = overlap[rows, columns] > 0
    rows, columns = rows[paired], columns[paired]
    to_reference[rows] = columns
    best, second = overlap[rows, columns].sum(), 0
    for row, column in zip(rows, columns, strict=True):
        without = overlap.copy()
        without[row, column] = -best - 1
        other = without[linear_sum_assignment(without, maximize=True)]
        second = max(second, other[other > 0].sum())
    return Pairing(to_reference, float(best - second) / float(overlap.sum()))
