"""The engine's k-means as the clusterer of replicas: one fused native call per block."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from bbclust._native import engine
from bbclust.ensemble.job import Job, Reference, Replicas
from bbclust.ensemble.predictors import CenterPredictors
from bbclust.stages.bootstrap import draw_arguments, draw_from_prior
from bbclust.stages.kmeans import cluster_reference
from bbclust.stages.missing_values import MissingDraws
from bbclust.stages.observed_kmeans import cluster_observed
from bbclust.stages.swaps import improve_by_swaps, pays_to_swap
from bbclust.stages.table import Table

# Multiplications after which a block reports back; about a second on one core.
_BLOCK_WORK = 2e10


@dataclass(frozen=True)
class EngineKMeans:
    """Weighted k-means (a :class:`~bbclust.ensemble.job.Clusterer`).

    Attributes
    ----------
    n_init : int
        k-means++ starts per replica, besides the start from the reference centres.
    max_iter : int
    tol : float
        Squared shift of the centres at which Lloyd stops, relative to the variance.
    """

    n_init: int = 5
    max_iter: int = 300
    tol: float = 1e-4

    name = "k-means"
    takes_weights = True
    takes_number = True
    predicts = True
    finds_noise = False
    completes_rows = True
    trims = True

    def identity(self) -> str:
        """The class: one that inherits may cluster otherwise."""
        return f"{type(self).__module__}.{type(self).__qualname__}"

    def parameters(self) -> dict[str, object]:
        """Those that a user of BBC sets."""
        return asdict(self)

    def find_reference(
        self, table: Table, n_clusters: int, seed: int, *, n_jobs: int = 1
    ) -> Reference:
        """The best of many starts, on what is observed if values are missing.

        On small tables, of which all values are there, swaps go on from it.
        """
        cluster = cluster_reference if table.incomplete is None else cluster_observed
        found = cluster(
            table,
            n_clusters,
            seed,
            max_iter=self.max_iter,
            tolerance=self.reference_tolerance(table.mean_variance),
            n_jobs=n_jobs,
        )
        if table.incomplete is None and pays_to_swap(table, n_clusters):
            found = improve_by_swaps(table, found, seed, max_iter=self.max_iter)
        return Reference(found)

    def reference_tolerance(self, mean_variance: float) -> float:
        """Squared shift at which the reference's k-means stops, as scikit-learn's does."""
        return self.tol * mean_variance

    def replica_tolerance(self, job: Job) -> float:
        """Squared shift of the centres at which a replica's k-means stops.

        Replicas start at the reference, so one that stops early looks too much like it. Resampling
        moves the centres, K d numbers, by some ``K d / n_draws`` variances, and a thousandth of
        that is the most that is left open, whatever ``tol`` allows.
        """
        size = job.n_clusters * job.table.d
        most = 1e-3 * size / job.plan.resampling.n_draws
        return min(self.tol, most) * job.plan.mean_variance

    def run_block(self, job: Job, replicas: range, *, n_jobs: int = 1) -> Replicas:
        """Draw, cluster, align and count the votes of some replicas."""
        table, plan, reference = job.table, job.plan, job.reference
        count, n_clusters = len(replicas), job.n_clusters
        given = draw_from_prior(table, job.prior, plan.resampling, plan.seed, replicas)
        n_voted = 0 if plan.votes == "evaluation" else table.n
        found = Replicas(
            votes=np.zeros((n_voted, n_clusters), dtype=np.int32),
            centers=np.empty((count, n_clusters, table.d)),
            occupied=np.empty((count, n_clusters), dtype=np.bool_),
            margin=np.empty(count),
            inertia=np.empty(count),
            n_iter=np.empty(count, dtype=np.int32),
            evaluation_labels=np.empty((count, len(plan.evaluation_rows)), dtype=np.int16),
            abstained=np.zeros(count, dtype=np.int64),
        )
        engine.run_replicas(
            **draw_arguments(table, job.prior, plan.resampling, plan.seed, _draws(job)),
            given=None if given is None else given.points,
            given_offsets=None if given is None else given.offsets,
            reference_centers=reference.centers - table.center,
            reference_labels=reference.labels,
            vote_on_all=plan.votes != "drawn",
            evaluation_rows=plan.evaluation_rows,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tolerance=self.replica_tolerance(job),
            first=replicas.start,
            n_threads=n_jobs,
            votes=found.votes,
            centers=found.centers,
            occupied=found.occupied.view(np.uint8),
            margin=found.margin,
            inertia=found.inertia,
            n_iter=found.n_iter,
            evaluation_labels=found.evaluation_labels,
        )
        np.add(found.centers, table.center, out=found.centers)  # back in the units of the data
        return found

    def block_size(self, job: Job, n_jobs: int) -> int:
        """Replicas of about a second's work on every thread."""
        per_point = job.table.d * job.n_clusters
        work = job.plan.resampling.n_draws * per_point * 10 * (self.n_init + 1)
        if job.plan.votes == "all":
            work += job.table.n * per_point
        return n_jobs * max(1, int(_BLOCK_WORK / work))

    def predictors(self, job: Job, replicas: Replicas) -> CenterPredictors:
        """The replicas' centres."""
        return CenterPredictors(
            replicas.centers,
            replicas.occupied,
            job.table.center,
            missing=None if job.missing is None else job.missing.model,
            seed=job.plan.seed,
        )


def _draws(job: Job) -> MissingDraws | None:
    return None if job.missing is None else job.missing.draws
