"""How far apart two clusters are, beside two halves of one cloud.

An entropy says little by itself: the doubt between two halves of one cloud falls with the number of
draws, and depends on the cloud's shape. So doubts are compared with doubts, all found in the same
way: rows are clustered in two, by replicas, and the replicas' disagreement is the *doubt of halves*
of these rows. Four questions are answered:

- How well are the clusters told apart, beside their own halves (:meth:`Splits.doubt_of_halves`)?
- Is the doubt between two clusters below that of two halves of one cloud with their covariance and
  the shape of the other clusters (:meth:`Splits.relative_doubt`)? This is what choosing K asks. Of
  two clusters there is no third to be alike, so the cloud is the rows themselves, valley filled.
- Is there a valley between them at all (:meth:`Splits.p_value`, :mod:`bbclust.selection.valleys`)?
- Are the parts of the whole table tighter than those of one cloud
  (:meth:`Splits.p_value_of_tightness`)? This, or a valley, is what "there are clusters" means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median_high
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bbclust.ensemble.assembly import ReplicaSettings, prepare_priors
from bbclust.ensemble.job import Job
from bbclust.ensemble.run import run_replicas
from bbclust.priors import ElicitedPrior
from bbclust.selection.clouds import BorrowedShape, Cloud, Drawn, FilledValley
from bbclust.selection.grid import Grid, GridJob, GridSettings, entropy_floor, find_reference
from bbclust.selection.neighbours import Neighbours, Pair
from bbclust.selection.p_values import LEVEL, PLAIN, logs_until_plain
from bbclust.selection.tightness import p_value_of_tightness
from bbclust.selection.valleys import p_value_of_valley
from bbclust.stages.entropies import pair_doubts
from bbclust.stages.kmeans import Partition, cluster_reference
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Table, count_distinct_rows, make_table
from bbclust.stages.voting import count_votes, memberships

Array = npt.NDArray[np.float64]

N_REPLICAS = 60
MAX_ROWS = 500
MAX_ROWS_ON_A_LINE = 2000
MIN_DRAWS = 5  # of a cluster in a replica, as of every cell of a table in a chi-squared test
MIN_ROWS = 3
OF_CUTS = 2**13  # streams of cuts, apart from those of pairs
OF_CLUSTERS = 2**14  # and of valleys inside of clusters
OF_TIGHTNESS = 2**12  # and of clouds like the whole table
OF_VALLEYS = 0.4  # of the level of "no clusters"


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
        How often rows without a valley between the two centres show one as deep.
    """

    clusters: Pair
    relative_doubt: float
    p_value: float

    @property
    def verdict(self) -> str:
        """One of "separated", "touching" and "no more apart than two halves of one cloud"."""
        return pair_verdict(self.relative_doubt, self.p_value)


def pair_verdict(relative_doubt: float, p_value: float) -> str:
    """What the two numbers of a pair mean, in words."""
    if p_value <= LEVEL:
        return "separated"
    if relative_doubt < 1:
        return "touching"
    return "no more apart than two halves of one cloud"


def _n_valleys(n_clusters: int, n_tests: int) -> int:
    """Valleys that are looked for: between neighbours and, beside more than one, in all rows."""
    return max(1, n_tests) if n_clusters == 2 else 1 + n_tests


def groups_of(tests: Iterable[PairTest]) -> list[list[int]]:
    """The clusters of some tests, those together that are not shown to be separated."""
    group: dict[int, int] = {}
    for test in tests:
        for cluster in test.clusters:
            group.setdefault(cluster, cluster)
        if test.verdict != "separated":
            first, second = (group[cluster] for cluster in test.clusters)
            group = {c: first if one == second else one for c, one in group.items()}
    return [
        sorted(cluster for cluster, one in group.items() if one == name)
        for name in dict.fromkeys(group.values())
    ]


class ComparisonStore(Protocol):
    """Where finished comparisons are kept, by name."""

    def comparison(self, name: str) -> float | None: ...

    def keep_comparison(self, name: str, value: float) -> None: ...


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
    store : ComparisonStore, optional
        Where comparisons are kept for a later run.
    """

    def __init__(
        self,
        table: Table,
        settings: GridSettings,
        prior_scale: float,
        seed: int,
        n_clouds: int,
        n_jobs: int = 1,
        store: ComparisonStore | None = None,
    ) -> None:
        self._table = table
        self._settings = replace(settings, replicas=_for_any_rows(settings.replicas))
        self._trim = settings.replicas.trim
        self._scale = prior_scale
        self._seed = seed
        self._n_clouds = n_clouds
        self._n_jobs = n_jobs
        self._store = store
        self._known: dict[str, float] = {}

    @cached_property
    def _rows(self) -> Array:
        return self._table.original().astype(np.float64)

    @cached_property
    def _unrounded(self) -> Array:
        """The rows, each number anywhere within the step to which its column is rounded.

        Columns of few distinct numbers have gaps everywhere; those are not valleys.
        """
        generator = self._generator(0, (0, 0))
        steps = np.array([_smallest_step(column) for column in self._rows.T])
        return self._rows + steps * generator.uniform(-0.5, 0.5, size=self._rows.shape)

    @cached_property
    def _weights(self) -> Array:
        return self._table.weights_or_ones()

    def doubt_of_halves(self, partition: Partition) -> float:
        """The doubt between two halves of a cluster, the median over the clusters, in bits.

        NaN if replicas draw too few rows of a cluster to say whether it is one.
        """
        k = partition.n_clusters
        doubts = [
            self._once(f"halves-k{k}-{cluster}", self._doubt_of_cluster, partition, cluster)
            for cluster in range(k)
        ]
        return float(np.median(doubts))

    def _once(self, name: str, compare: Callable[..., float], *of: Any) -> float:
        """A comparison, made once for this table, number of clouds and s."""
        if name not in self._known:
            place = f"{name}-c{self._n_clouds}-s{self._scale!r}"
            kept = None if self._store is None else self._store.comparison(place)
            self._known[name] = compare(*of) if kept is None else kept
            if self._store is not None and kept is None:
                self._store.keep_comparison(place, self._known[name])
        return self._known[name]

    def _doubt_of_cluster(self, partition: Partition, cluster: int) -> float:
        members = np.flatnonzero(partition.labels == cluster)
        n_draws = self._settings.n_draws
        all_drawn = n_draws >= self._table.n
        if len(members) < MIN_ROWS or (
            not all_drawn and partition.shares[cluster] * n_draws < MIN_DRAWS
        ):
            return np.nan
        generator = self._generator(partition.n_clusters, (cluster, cluster))
        return self._doubt(self._cloud(members, generator), len(members), generator)

    def doubt_of_cuts(self, partition: Partition) -> float:
        """The doubt of the best cut of a cluster in two or three, the upper median over clusters.

        Clusters that have a valley of their own do not count: they may be several. Infinite if all
        of them have.
        """
        k = partition.n_clusters
        cuts = [
            self._once(f"cut-k{k}-{cluster}", self._doubt_of_best_cut, partition, cluster)
            for cluster in range(k)
        ]
        seen = [cut for cut in cuts if not np.isnan(cut)]
        return median_high(seen) if seen else np.inf

    def _doubt_of_best_cut(self, partition: Partition, cluster: int) -> float:
        members = np.flatnonzero(partition.labels == cluster)
        generator = self._generator(OF_CUTS + partition.n_clusters, (cluster, cluster))
        cloud = self._cloud(members, generator)
        if self.p_value_of_one(members, generator) <= LEVEL:
            return np.nan
        return min(self._doubt(cloud, len(members), generator, pieces) for pieces in (2, 3))

    def is_apart(self, grid: Grid, partition: Partition, at_most: int) -> bool:
        """Whether the most doubtful neighbours are more apart than two halves of one cloud.

        Without clouds to compare with, nothing speaks against it.
        """
        if not self._n_clouds:
            return True
        pairs = self._most_doubtful_first(grid, partition)
        return all(self.relative_doubt(partition, pair) < 1 for pair in pairs[:at_most])

    def is_separated(self, grid: Grid, partition: Partition, level: float) -> bool:
        """Whether a valley is shown between every two neighbours, the most doubtful first.

        Without clouds to compare with, none is.
        """
        pairs = self._most_doubtful_first(grid, partition)
        around = self._neighbours(self._unrounded, partition)
        return bool(pairs) and all(self.p_value(partition, pair, around) <= level for pair in pairs)

    def _most_doubtful_first(self, grid: Grid, partition: Partition) -> list[Pair]:
        doubts = mean_doubts(grid, partition.n_clusters)
        return sorted(self.neighbours(partition).pairs(), key=lambda pair: -doubts[pair])

    def neighbours(self, partition: Partition) -> Neighbours:
        return self._neighbours(self._rows, partition)

    def _neighbours(self, rows: Array, partition: Partition) -> Neighbours:
        if not self._trim:
            return Neighbours(rows, partition.centers)
        kept = self._kept(partition)
        return Neighbours(rows[kept], partition.centers, kept)

    def _kept(self, partition: Partition | None) -> npt.NDArray[np.int64]:
        """Numbers of the rows that a partition does not trim; of all rows without one."""
        if not self._trim or partition is None:
            return np.arange(self._table.n)
        return np.flatnonzero(partition.labels >= 0)

    def relative_doubt(self, partition: Partition, pair: Pair) -> float:
        """The doubt between two clusters beside that of one cloud like them, cut in two."""
        name = f"doubt-k{partition.n_clusters}-{pair[0]}-{pair[1]}"
        return self._once(name, self._compare_doubt, partition, pair)

    def _compare_doubt(self, partition: Partition, pair: Pair) -> float:
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
        logs = logs_until_plain(
            float(np.log(observed)),
            lambda: float(np.log(self._doubt(like.draw(generator), len(members), generator))),
            at_most=self._n_clouds,
        )
        return float(observed / np.exp(logs.mean()))

    def p_value(self, partition: Partition, pair: Pair, neighbours: Neighbours) -> float:
        """How often rows without a valley between the two centres show one as deep."""
        name = f"valley-k{partition.n_clusters}-{pair[0]}-{pair[1]}"
        return self._once(name, self._p_value_of_pair, partition, pair, neighbours)

    def _p_value_of_pair(self, partition: Partition, pair: Pair, neighbours: Neighbours) -> float:
        generator = self._generator(partition.n_clusters, (pair[1], pair[0]))
        centers = partition.centers[list(pair)]
        return self._p_of_valley(neighbours.rows_around(pair), centers, generator)

    def p_value_of_one(
        self, members: npt.NDArray[np.int64], generator: np.random.Generator
    ) -> float:
        """How often rows without a valley, cut in two, show one as deep as these rows do."""
        cloud = self._cloud_on_a_line(members, generator)
        if count_distinct_rows(cloud.rows, 2) < 2:
            return 1.0
        seed = int(generator.integers(2**63 - 1))
        halves = cluster_reference(make_table(cloud.rows, cloud.weights), 2, seed)
        return self._p_of_valley(members, halves.centers, generator)

    def n_divisible(self, partition: Partition) -> int:
        """How many clusters have a valley of their own: each of them may be several.

        The level is shared among the clusters, so that in one of twenty tables of whole clusters at
        most any is said to have one.
        """
        k = partition.n_clusters
        return sum(
            self._once(f"inside-k{k}-{cluster}", self._p_value_inside, partition, cluster)
            <= LEVEL / k
            for cluster in range(k)
        )

    def _p_value_inside(self, partition: Partition, cluster: int) -> float:
        members = np.flatnonzero(partition.labels == cluster)
        if len(members) < MIN_ROWS:
            return 1.0
        generator = self._generator(OF_CLUSTERS + partition.n_clusters, (cluster, cluster))
        return self.p_value_of_one(members, generator)

    def p_value_of_none(
        self, n_clusters: int, tests: list[PairTest], partition: Partition | None = None
    ) -> float:
        """How often one cloud has a valley as deep, or parts as tight.

        Valleys take two fifths of the level, tightness the rest; it is not looked at where a valley
        is shown. Rows that the partition trims do not count.
        """
        p_value = self._p_value_of_deepest(n_clusters, tests, partition) / OF_VALLEYS
        if p_value > LEVEL:
            name = f"tightness-k{n_clusters}"
            tightness = self._once(name, self.p_value_of_tightness, n_clusters, partition)
            p_value = min(p_value, tightness / (1 - OF_VALLEYS))
        return min(1.0, p_value)

    @staticmethod
    def smallest_p_of_none(n_clusters: int, n_tests: int) -> float:
        """Below this, :meth:`p_value_of_none` is not looked at more closely.

        Among many comparisons that may be more than the level, below which is said just that.
        """
        return min(LEVEL, _n_valleys(n_clusters, n_tests) * PLAIN[0] / OF_VALLEYS)

    def _p_value_of_deepest(
        self, n_clusters: int, tests: list[PairTest], partition: Partition | None
    ) -> float:
        """How often one cloud shows a valley as deep as the deepest of those between neighbours.

        Of more than two clusters, all rows, cut in two, are looked at as well; the least p-value,
        times their number. A valley between two clusters that others connect does not count: one
        cloud may have arms.
        """
        group = {cluster: i for i, one in enumerate(groups_of(tests)) for cluster in one}
        values = [1.0]
        for test in tests:
            first, second = test.clusters
            if group[first] != group[second]:
                values.append(test.p_value)
        if n_clusters > 2:
            every_row, generator = self._kept(partition), self._generator(1, (0, 0))
            name = f"valley-k1-of-k{n_clusters}" if self._trim else "valley-k1"
            values.append(self._once(name, self.p_value_of_one, every_row, generator))
        return _n_valleys(n_clusters, len(tests)) * min(values)

    def p_value_of_tightness(self, n_clusters: int, partition: Partition | None = None) -> float:
        """How often one cloud with the spread of all rows, cut in as many, has parts as tight.

        The largest p-value over three kinds of clouds, see :mod:`bbclust.selection.one_cloud`.
        """
        generator = self._generator(OF_TIGHTNESS + n_clusters, (0, 0))
        members = _at_most(MAX_ROWS, self._kept(partition), generator)
        cloud = Cloud(self._unrounded[members], self._weights[members])
        return p_value_of_tightness(cloud, n_clusters, self._n_clouds, generator)

    def _p_of_valley(
        self,
        members: npt.NDArray[np.int64],
        centers: Array,
        generator: np.random.Generator,
    ) -> float:
        cloud = self._cloud_on_a_line(members, generator)
        return p_value_of_valley(cloud, centers, self._n_clouds, generator)

    def test_pairs(self, partition: Partition) -> list[PairTest]:
        """All neighbours of a partition, the least apart first."""
        around = self._neighbours(self._unrounded, partition)
        tests = [
            PairTest(
                pair,
                self.relative_doubt(partition, pair),
                self.p_value(partition, pair, around),
            )
            for pair in self.neighbours(partition).pairs()
        ]
        return sorted(tests, key=lambda test: -test.relative_doubt)

    def _generator(self, n_clusters: int, pair: Pair) -> np.random.Generator:
        number = (n_clusters % 2**14) << 24 | (pair[0] % 2**12) << 12 | pair[1] % 2**12
        return stream_generator(self._seed, Stage.NULL_DATA, number)

    def _cloud(
        self, members: npt.NDArray[np.int64], generator: np.random.Generator | None
    ) -> Cloud:
        """Some rows of the table, a sample of them with a generator."""
        if generator is not None:
            members = _at_most(MAX_ROWS, members, generator)
        return Cloud(self._rows[members], self._weights[members])

    def _cloud_on_a_line(
        self, members: npt.NDArray[np.int64], generator: np.random.Generator
    ) -> Cloud:
        """Some rows of the table to look for a valley in, a sample of them."""
        members = _at_most(MAX_ROWS_ON_A_LINE, members, generator)
        return Cloud(self._unrounded[members], self._weights[members])

    def _doubt(
        self, cloud: Cloud, n_whole: int, generator: np.random.Generator, pieces: int = 2
    ) -> float:
        """The doubt of halves of a cloud that stands for so many rows of the table, in bits."""
        seed = int(generator.integers(2**63 - 1))
        weights = None if self._table.weights is None else cloud.weights / cloud.weights.mean()
        table = make_table(cloud.rows.astype(self._table.rows.dtype), weights)
        if count_distinct_rows(table.rows, pieces) < pieces:
            return 1.0
        n_drawn_from = self._table.n * (1 - self._trim)
        n_draws = max(round(self._settings.n_draws * n_whole / n_drawn_from), MIN_ROWS)
        settings = GridSettings(self._settings.replicas, N_REPLICAS, n_draws)
        job = GridJob(table, (pieces,), (self._scale,), settings, seed)
        return doubt_of_pieces(job, self._n_jobs)


def _for_any_rows(replicas: ReplicaSettings) -> ReplicaSettings:
    """The same replicas with an elicited prior: any other is about the clusters of the table.

    Nothing is trimmed: the rows of clusters, which clouds are made like, are those that were kept.
    """
    if not isinstance(replicas.prior, ElicitedPrior):
        replicas = replace(replicas, prior=ElicitedPrior())
    return replace(replicas, trim=0.0)


def doubt_of_pieces(job: GridJob, n_jobs: int = 1) -> float:
    """The largest doubt between two of the few clusters of a table, in bits."""
    (pieces,) = job.k_values
    reference = find_reference(job, pieces, n_jobs)
    replicas = job.settings.replicas
    rows = job.table.original() if replicas.uses_prior else job.table.rows
    (prior,) = prepare_priors(replicas, rows, reference, job.prior_scales)
    plan = job.plan
    n_replicas = job.settings.n_replicas
    labels = run_replicas(
        Job(job.table, reference, prior, plan), range(n_replicas), n_jobs=n_jobs
    ).evaluation_labels
    counts = count_votes(labels, pieces)
    if not counts.any():  # few replicas of few rows, voting on those they drew alone
        raise ValueError(
            f"No replica of {n_replicas} votes on any of {job.table.n} rows that are cut in "
            f"{pieces}, to compare clusters with: raise n_replicas."
        )
    shares = memberships(counts, otherwise=reference.labels[plan.evaluation_rows])
    weights = job.table.weights_or_ones()[plan.evaluation_rows] * counts.any(axis=1)
    floor = entropy_floor(n_replicas, len(plan.evaluation_rows))
    return max(float(pair_doubts(shares, weights).max()), floor)


def mean_doubts(grid: Grid, n_clusters: int) -> Array:
    """Doubts of all pairs of clusters, averaged over s, shape (K, K)."""
    doubts = [grid.cell(n_clusters, scale).pair_doubts for scale in grid.prior_scales]
    return np.asarray(np.mean(doubts, axis=0))


def _at_most(
    n: int, members: npt.NDArray[np.int64], generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    if len(members) <= n:
        return members
    return np.sort(generator.choice(members, n, replace=False, shuffle=False))


def _smallest_step(column: Array) -> float:
    """The least difference between two numbers of a column; 0 if they are one or two."""
    steps = np.diff(np.unique(column))
    return float(steps.min()) if len(steps) > 1 else 0.0
