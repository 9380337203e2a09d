"""How far apart two clusters are, beside two halves of one cloud.

An entropy says little by itself: the doubt between two halves of one cloud falls with the number of
draws, and depends on the cloud's shape. So doubts are compared with doubts, all found in the same
way: rows are clustered in two, by replicas, and the replicas' disagreement is the *doubt of halves*
of these rows. Three questions are answered:

- How well are the clusters told apart, beside their own halves (:meth:`Splits.doubt_of_halves`)?
- Is the doubt between two clusters below that of two halves of one cloud with their covariance and
  the shape of the other clusters (:meth:`Splits.relative_doubt`)? This is what choosing K asks. Of
  two clusters there is no third to be alike, so the cloud is the rows themselves, valley filled.
- Is there a valley between them at all (:meth:`Splits.p_value`)? The rows whose nearest two centres
  are these make a convex region, and a cloud with one mode, whatever its shape, has one mode there
  as well: the p-value is against the same rows, valley filled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from bbclust.ensemble.assembly import ReplicaSettings, prepare_priors
from bbclust.ensemble.job import Job
from bbclust.ensemble.run import run_replicas
from bbclust.priors import ElicitedPrior
from bbclust.selection.clouds import BorrowedShape, Cloud, FilledValley
from bbclust.selection.grid import Grid, GridJob, GridSettings, entropy_floor, find_reference
from bbclust.stages.entropies import pair_doubts
from bbclust.stages.kmeans import Partition
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Table, count_distinct_rows, make_table
from bbclust.stages.voting import count_votes, memberships

Array = npt.NDArray[np.float64]
Pair = tuple[int, int]

N_REPLICAS = 60
MAX_ROWS = 500
MIN_ROWS = 3
FIRST_CLOUDS = 7
PLAIN = (1e-3, 0.25)  # a p-value outside of these is not looked at more closely
LEAST_SPREAD = 0.1  # of the logarithm of a doubt: what N_REPLICAS replicas leave open


@dataclass(frozen=True)
class PairTest:
    """Two neighbouring clusters beside two halves of one cloud.

    Attributes
    ----------
    clusters : tuple of two ints
    relative_doubt : float
        Their doubt divided by that of two halves of one cloud like them; about 1 if they are no
        more apart than that.
    p_value : float
        How often rows without a valley between the two centres leave as little doubt.
    """

    clusters: Pair
    relative_doubt: float
    p_value: float

    @property
    def verdict(self) -> str:
        """One of "separated", "touching" and "no more apart than two halves of one cloud"."""
        return pair_verdict(self.relative_doubt, self.p_value)


LEVEL = 0.05


def pair_verdict(relative_doubt: float, p_value: float) -> str:
    """What the two numbers of a pair mean, in words."""
    if p_value <= LEVEL:
        return "separated"
    if relative_doubt < 1:
        return "touching"
    return "no more apart than two halves of one cloud"


class Drawn(Protocol):
    """Something that clouds are drawn from."""

    def draw(self, generator: np.random.Generator) -> Cloud: ...


class Neighbours:
    """Which clusters lie beside which, by the two nearest centres of every row."""

    def __init__(self, rows: Array, partition: Partition) -> None:
        centers = partition.centers
        nearest = np.empty((len(rows), 2), dtype=np.int64)
        step = max(1, 2_000_000 // max(1, len(centers)))
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            products = np.einsum("ij,kj->ik", block, centers)
            distances = np.einsum("kj,kj->k", centers, centers) - 2 * products
            two = np.argpartition(distances, 1, axis=1)[:, :2]
            ordered = np.take_along_axis(distances, two, axis=1).argsort(axis=1, kind="stable")
            nearest[start : start + step] = np.take_along_axis(two, ordered, axis=1)
        self._nearest = nearest
        k = len(centers)
        codes = nearest[:, 0] * k + nearest[:, 1]
        self._counts = np.bincount(codes, minlength=k * k).reshape(k, k)

    def pairs(self) -> list[Pair]:
        """Clusters of which each is second nearest to some rows of the other."""
        both = np.argwhere(np.triu((self._counts > 0) & (self._counts.T > 0), 1))
        return [(int(first), int(second)) for first, second in both]

    def rows_between(self, pair: Pair) -> npt.NDArray[np.int64]:
        """Rows whose two nearest centres are these: a convex region, cut in two."""
        return np.flatnonzero((np.sort(self._nearest, axis=1) == sorted(pair)).all(axis=1))


class Splits:
    """Doubts of halves, of the clusters of a table and of clouds like them.

    Parameters
    ----------
    table : Table
    settings : GridSettings
        Those of the grid whose clusters are looked at.
    prior_scale : float
    seed : int
    n_clouds : int
        Clouds that a pair is compared with, at most; fewer where the answer is plain.
    n_jobs : int
    """

    def __init__(
        self,
        table: Table,
        settings: GridSettings,
        prior_scale: float,
        seed: int,
        n_clouds: int,
        n_jobs: int = 1,
    ) -> None:
        self._table = table
        self._settings = replace(settings, replicas=_for_any_rows(settings.replicas))
        self._scale = prior_scale
        self._seed = seed
        self._n_clouds = n_clouds
        self._n_jobs = n_jobs
        self._of_clusters: dict[int, Array] = {}
        self._relative: dict[tuple[int, Pair], float] = {}

    @cached_property
    def _rows(self) -> Array:
        return self._table.original().astype(np.float64)

    @cached_property
    def _weights(self) -> Array:
        return self._table.weights_or_ones()

    def doubt_of_halves(self, partition: Partition) -> float:
        """The doubt between two halves of a cluster, the median over the clusters, in bits.

        NaN if a cluster is too small to be halved, of which nobody can say whether it is one.
        """
        k = partition.n_clusters
        if k not in self._of_clusters:
            self._of_clusters[k] = np.array(
                [self._doubt_of_cluster(partition, cluster) for cluster in range(k)]
            )
        return float(np.median(self._of_clusters[k]))

    def _doubt_of_cluster(self, partition: Partition, cluster: int) -> float:
        members = np.flatnonzero(partition.labels == cluster)
        if len(members) < MIN_ROWS:
            return np.nan
        generator = self._generator(partition.n_clusters, (cluster, cluster))
        return self._doubt(self._cloud(members, generator), len(members), generator)

    def is_apart(self, grid: Grid, partition: Partition, at_most: int) -> bool:
        """Whether the most doubtful neighbours are more apart than two halves of one cloud."""
        k = partition.n_clusters
        doubts = mean_doubts(grid, k)
        pairs = sorted(self.neighbours(partition).pairs(), key=lambda pair: -doubts[pair])
        return all(self.relative_doubt(partition, pair) < 1 for pair in pairs[:at_most])

    def neighbours(self, partition: Partition) -> Neighbours:
        return Neighbours(self._rows, partition)

    def relative_doubt(self, partition: Partition, pair: Pair) -> float:
        """The doubt between two clusters beside that of one cloud like them, cut in two."""
        key = partition.n_clusters, pair
        if key not in self._relative:
            generator = self._generator(partition.n_clusters, pair)
            members = np.flatnonzero(np.isin(partition.labels, pair))
            cloud = self._cloud(members, generator)
            others = [
                self._cloud(np.flatnonzero(partition.labels == other), None)
                for other in range(partition.n_clusters)
                if other not in pair
            ]
            like: Drawn | None = BorrowedShape.like(cloud, others)
            if like is None:
                like = FilledValley.between(cloud, partition.centers[list(pair)])
            observed = self._doubt(cloud, len(members), generator)
            logs = self._logs_of_clouds(np.log(observed), like, len(members), generator)
            self._relative[key] = float(observed / np.exp(logs.mean()))
        return self._relative[key]

    def p_value(self, partition: Partition, pair: Pair, neighbours: Neighbours) -> float:
        """How often rows without a valley between the two centres leave as little doubt."""
        between = neighbours.rows_between(pair)
        if len(between) < 2 * MIN_ROWS:
            return 1.0
        generator = self._generator(partition.n_clusters, (pair[1], pair[0]))
        cloud = self._cloud(between, generator)
        filled = FilledValley.between(cloud, partition.centers[list(pair)])
        observed = np.log(self._doubt(cloud, len(between), generator))
        return _share_below(
            observed, self._logs_of_clouds(observed, filled, len(between), generator)
        )

    def test_pairs(self, partition: Partition) -> list[PairTest]:
        """All neighbours of a partition, the least apart first."""
        neighbours = self.neighbours(partition)
        tests = [
            PairTest(
                pair,
                self.relative_doubt(partition, pair),
                self.p_value(partition, pair, neighbours),
            )
            for pair in neighbours.pairs()
        ]
        return sorted(tests, key=lambda test: -test.relative_doubt)

    def _generator(self, n_clusters: int, pair: Pair) -> np.random.Generator:
        number = (n_clusters % 2**14) << 24 | (pair[0] % 2**12) << 12 | pair[1] % 2**12
        return stream_generator(self._seed, Stage.NULL_DATA, number)

    def _cloud(
        self, members: npt.NDArray[np.int64], generator: np.random.Generator | None
    ) -> Cloud:
        """Some rows of the table, a sample of them with a generator."""
        if generator is not None and len(members) > MAX_ROWS:
            members = np.sort(generator.choice(members, MAX_ROWS, replace=False, shuffle=False))
        return Cloud(self._rows[members], self._weights[members])

    def _logs_of_clouds(
        self, observed: float, like: Drawn, n_whole: int, generator: np.random.Generator
    ) -> Array:
        """Logarithms of the doubts of clouds, as many as it takes to see where the observed is."""
        logs: list[float] = []
        for doubt in self._doubts_of_clouds(like, n_whole, generator):
            logs.append(float(np.log(doubt)))
            if len(logs) >= FIRST_CLOUDS:
                share = _share_below(observed, np.array(logs))
                if not PLAIN[0] <= share <= PLAIN[1]:
                    break
        return np.array(logs)

    def _doubts_of_clouds(
        self, like: Drawn, n_whole: int, generator: np.random.Generator
    ) -> Iterator[float]:
        for _ in range(self._n_clouds):
            yield self._doubt(like.draw(generator), n_whole, generator)

    def _doubt(self, cloud: Cloud, n_whole: int, generator: np.random.Generator) -> float:
        """The doubt of halves of a cloud that stands for so many rows of the table, in bits."""
        seed = int(generator.integers(2**63 - 1))
        weights = None if self._table.weights is None else cloud.weights / cloud.weights.mean()
        table = make_table(cloud.rows.astype(self._table.rows.dtype), weights)
        if count_distinct_rows(table.rows, 2) < 2:
            return 1.0
        n_draws = max(round(self._settings.n_draws * n_whole / self._table.n), MIN_ROWS)
        settings = GridSettings(self._settings.replicas, N_REPLICAS, n_draws)
        job = GridJob(table, (2,), (self._scale,), settings, seed)
        return halves_doubt(job, self._n_jobs)


def _for_any_rows(replicas: ReplicaSettings) -> ReplicaSettings:
    """The same replicas with an elicited prior: any other is about the clusters of the table."""
    if isinstance(replicas.prior, ElicitedPrior):
        return replicas
    return replace(replicas, prior=ElicitedPrior())


def halves_doubt(job: GridJob, n_jobs: int = 1) -> float:
    """The doubt between the two clusters of a table clustered in two, in bits."""
    reference = find_reference(job, 2, n_jobs)
    replicas = job.settings.replicas
    rows = job.table.original() if replicas.uses_prior else job.table.rows
    (prior,) = prepare_priors(replicas, rows, reference, job.prior_scales)
    plan = job.plan
    n_replicas = job.settings.n_replicas
    labels = run_replicas(
        Job(job.table, reference, prior, plan), range(n_replicas), n_jobs=n_jobs
    ).evaluation_labels
    counts = count_votes(labels, 2)
    shares = memberships(counts, otherwise=reference.labels[plan.evaluation_rows])
    weights = job.table.weights_or_ones()[plan.evaluation_rows] * counts.any(axis=1)
    floor = entropy_floor(n_replicas, len(plan.evaluation_rows))
    return max(float(pair_doubts(shares, weights)[0, 1]), floor)


def mean_doubts(grid: Grid, n_clusters: int) -> Array:
    """Doubts of all pairs of clusters, averaged over s, shape (K, K)."""
    doubts = [grid.cell(n_clusters, scale).pair_doubts for scale in grid.prior_scales]
    return np.asarray(np.mean(doubts, axis=0))


def _share_below(observed: float, logs: Array) -> float:
    """The p-value of a logarithm among those of clouds, by Student's distribution."""
    n = len(logs)
    if n < 2:
        return 1.0
    spread = max(float(logs.std(ddof=1)), LEAST_SPREAD)
    return float(stdtr(n - 1, (observed - logs.mean()) / (spread * np.sqrt(1 + 1 / n))))
