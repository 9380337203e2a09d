"""Any clusterer as P: a scikit-learn clusterer or a function behind the seam of the ensemble.

It gets points in the units of the data. With ``sample_weight`` it gets their weights; without, each
point as often as its weight says, which must then be a whole number. Its random states are set from
the run's seed, so that a replica does not depend on what ran before.

A replica is drawn by the engine, clustered, and aligned as far as it goes: clusters are paired one
to one with those of the reference so that most points agree, and what is left over abstains, as
noise does.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from bbclust.ensemble.job import Clusterer, Job, Reference, Replicas
from bbclust.ensemble.predictors import (
    AlignedModel,
    CenterPredictors,
    ModelPredictors,
    ReplicaPredictors,
)
from bbclust.stages.alignment import pair_clusters
from bbclust.stages.bootstrap import Replica, draw_replica
from bbclust.stages.kmeans import partition_from_labels
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Floats, Table

Labels = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]

# Replicas per process and block: of unknown speed, so few.
_REPLICAS_PER_PROCESS = 5


@dataclass(frozen=True)
class ClusteringResult:
    """One clustering: a label per distinct point, -1 for noise, and what can label others."""

    labels: npt.NDArray[np.int64]
    model: Any = None


@dataclass(frozen=True)
class CustomClusterer:
    """A clusterer, and what it can do (a :class:`~bbclust.ensemble.job.Clusterer`).

    Attributes
    ----------
    clusterer : object
        Unfitted estimator with ``fit_predict``, or a function of points, and perhaps of
        ``sample_weight``, ``n_clusters`` and ``random_state``, that returns labels.
    count_parameter : str or None
        What takes the number of clusters; None if it finds its own.
    weight_parameter : str or None
        The keyword that takes weights.
    random_parameters : tuple of str
        What takes a seed.
    predicts : bool
        Whether it can label points it was not fitted on.
    """

    clusterer: Any
    count_parameter: str | None
    weight_parameter: str | None
    random_parameters: tuple[str, ...]
    predicts: bool

    finds_noise = True

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return str(getattr(self.clusterer, "__name__", type(self.clusterer).__name__))

    @property
    def takes_weights(self) -> bool:
        return self.weight_parameter is not None

    @property
    def takes_number(self) -> bool:
        return self.count_parameter is not None

    def identity(self) -> Any:
        """The clusterer without what it was fitted to before: it is cloned before use."""
        return clone(self.clusterer, safe=False)

    def parameters(self) -> dict[str, object]:
        """None that a user of BBC sets."""
        return {}

    def find_reference(
        self, table: Table, n_clusters: int, seed: int, *, n_jobs: int = 1
    ) -> Reference:
        """The reference partition; rows of noise have the label -1."""
        notices = []
        weights = table.weights_or_ones() if self.takes_weights else np.ones(table.n)
        if table.weights is not None and not self.takes_weights:
            notices.append(
                f"{self.name} takes no sample_weight: the reference partition does without, "
                "rows are drawn by weight."
            )
        random_state = _random_state(seed, Stage.REFERENCE, 0)
        labels = self.cluster(table.original(), weights, n_clusters, random_state).labels
        found = np.unique(labels[labels >= 0])
        codes = np.where(labels < 0, -1, np.searchsorted(found, labels))
        if len(found) == 0:
            codes = np.zeros(table.n)
            notices.append(
                f"{self.name} calls all {table.n} rows noise, which are taken as one cluster: "
                "change its parameters, or scale the columns."
            )
        return Reference(partition_from_labels(table, codes.astype(np.int32)), tuple(notices))

    def run_block(self, job: Job, replicas: range, *, n_jobs: int = 1) -> Replicas:
        """Draw, cluster, align and count the votes of some replicas, in processes."""
        outcomes: list[_Outcome] = Parallel(n_jobs=n_jobs)(
            delayed(_run_one)(self, job, replica) for replica in replicas
        )
        return _gather(job, outcomes)

    def block_size(self, job: Job, n_jobs: int) -> int:
        """A few replicas for every process."""
        return n_jobs * _REPLICAS_PER_PROCESS

    def predictors(self, job: Job, replicas: Replicas) -> ReplicaPredictors:
        """The fitted clusterers; the replicas' centres if these cannot predict."""
        if replicas.models:
            return ModelPredictors(replicas.models, job.n_clusters)
        return CenterPredictors(replicas.centers, replicas.occupied, job.table.center)

    def cluster(
        self, points: Floats, weights: npt.NDArray[np.float64], n_clusters: int, random_state: int
    ) -> ClusteringResult:
        """Cluster weighted points; those of weight zero get -1.

        BLAS runs on one thread: on several, it gives other bits.
        """
        keywords: dict[str, Any] = {}
        if self.weight_parameter is None:
            copies = weights.astype(np.int64)
        else:
            copies = (weights > 0).astype(np.int64)
            keywords[self.weight_parameter] = weights[weights > 0]
        rows = np.repeat(np.arange(len(points)), copies)
        settings: dict[str, Any] = dict.fromkeys(self.random_parameters, random_state)
        if self.count_parameter is not None:
            settings[self.count_parameter] = n_clusters
        model = None
        with threadpool_limits(1):
            if hasattr(self.clusterer, "fit_predict"):
                model = clone(self.clusterer).set_params(**settings)
                given = model.fit_predict(points[rows], **keywords)
            else:
                given = self.clusterer(points[rows], **keywords, **settings)
        given = _whole_labels(given, len(rows), self.name)
        labels = np.full(len(points), -1, dtype=np.int64)
        distinct, first = np.unique(rows, return_index=True)
        labels[distinct] = given[first]
        return ClusteringResult(labels, model if self.predicts else None)


def as_clusterer(given: Any, *, otherwise: Clusterer) -> Clusterer:
    """The clusterer that a user gives; ``otherwise`` if it is None, itself if it is one of ours."""
    if given is None:
        return otherwise
    if hasattr(given, "run_block"):
        ours: Clusterer = given
        return ours
    return adapt(given)


def adapt(clusterer: Any) -> CustomClusterer:
    """What a clusterer can do; a sentence if it is none."""
    if isinstance(clusterer, type):
        raise TypeError(
            f"clusterer must be an object, got the class {clusterer.__name__}: "
            f"pass {clusterer.__name__}(...)."
        )
    if hasattr(clusterer, "fit_predict") and hasattr(clusterer, "get_params"):
        prefix, last = _last_step(clusterer)
        parameters = last.get_params()
        counts = [name for name in ("n_clusters", "n_components") if name in parameters]
        weighted = has_fit_parameter(last, "sample_weight")
        return CustomClusterer(
            clusterer,
            count_parameter=prefix + counts[0] if counts else None,
            weight_parameter=f"{prefix}sample_weight" if weighted else None,
            random_parameters=tuple(
                name
                for name in clusterer.get_params()
                if name == "random_state" or name.endswith("__random_state")
            ),
            predicts=hasattr(clusterer, "predict"),
        )
    if callable(clusterer):
        try:
            known = set(inspect.signature(clusterer).parameters)
        except ValueError:  # some built-in functions have no signature
            known = set()
        return CustomClusterer(
            clusterer,
            count_parameter="n_clusters" if "n_clusters" in known else None,
            weight_parameter="sample_weight" if "sample_weight" in known else None,
            random_parameters=tuple(known & {"random_state"}),
            predicts=False,
        )
    raise TypeError(
        f"clusterer must have fit_predict, as scikit-learn's do, or be a function of the points, "
        f"got {clusterer!r}."
    )


def _last_step(clusterer: Any) -> tuple[str, Any]:
    """The clusterer at the end of a pipeline, and the prefix of its parameters."""
    prefix = ""
    while hasattr(clusterer, "steps"):
        name, clusterer = clusterer.steps[-1]
        prefix += f"{name}__"
    return prefix, clusterer


def _whole_labels(labels: Any, n: int, name: str) -> npt.NDArray[np.int64]:
    given = np.asarray(labels)
    if given.shape != (n,) or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(
            f"{name} was given {n} points and returned labels of shape {given.shape} and type "
            f"{given.dtype}: it must return one whole number per point, -1 for noise."
        )
    return given.astype(np.int64)


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


def _gather(job: Job, outcomes: list[_Outcome]) -> Replicas:
    """Votes of the replicas of a block, and what else they found."""
    table, plan = job.table, job.plan
    n_voted = 0 if plan.votes == "evaluation" else table.n
    votes = np.zeros((n_voted, job.n_clusters), dtype=np.int32)
    slots = np.full(table.n, -1)
    slots[plan.evaluation_rows] = np.arange(len(plan.evaluation_rows))
    kept = np.full((len(outcomes), len(plan.evaluation_rows)), -1, dtype=np.int16)
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


def _run_one(clusterer: CustomClusterer, job: Job, replica: int) -> _Outcome:
    table, reference, plan = job.table, job.reference, job.plan
    drawn = draw_replica(table, job.prior, plan.resampling, plan.seed, replica)
    points = (drawn.points + table.center).astype(table.rows.dtype)
    random_state = _random_state(plan.seed, Stage.CLUSTERER, replica)
    n_clusters = job.n_clusters
    try:
        found = clusterer.cluster(points, drawn.weights, n_clusters, random_state)
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
