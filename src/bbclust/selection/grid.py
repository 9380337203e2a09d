"""How stable each number of clusters is: both measures of the paper over a grid of K and s.

All cells of a grid read the same random words, so the difference between two of them is far less
noisy than either. Nothing here grows with the number of rows beyond the table itself: replicas are
``n_draws`` points and vote on the evaluation rows only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bbclust import validation as check
from bbclust.ensemble.assembly import (
    ReplicaSettings,
    describe_missing,
    make_plan,
    prepare_priors,
    rows_for_prior,
    trim_table,
)
from bbclust.ensemble.job import Job, MissingValues, Plan
from bbclust.ensemble.run import run_replicas
from bbclust.priors import PreparedPrior
from bbclust.selection.completion import completed_table
from bbclust.stages.entropies import entropy, mean_pairwise_entropy, pair_doubts, worst_pair
from bbclust.stages.kmeans import Partition
from bbclust.stages.missing_values import MissingDraws
from bbclust.stages.monte_carlo import (
    mean_entropy_influence,
    pair_doubt_influence,
    pairwise_entropy_influence,
    standard_error,
)
from bbclust.stages.table import Table
from bbclust.stages.trimming import take_rows
from bbclust.stages.voting import count_votes, memberships

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GridSettings:
    """What all cells of a grid share besides the data: replicas, their number and their draws."""

    replicas: ReplicaSettings
    n_replicas: int
    n_draws: int


class GridRequest(NamedTuple):
    """Rows to run a grid on, its K's, and what a checkpoint and progress call it.

    Its s's and settings are those of the selection unless they are given.
    """

    table: Table
    k_values: list[int]
    name: str
    title: str
    scales: tuple[float, ...] | None = None
    settings: GridSettings | None = None
    missing: MissingDraws | None = None


@dataclass(frozen=True)
class Cell:
    """One K at one s.

    Attributes
    ----------
    mean_entropy, max_pairwise_entropy : float
        In bits, over the evaluation rows.
    worst_pair : tuple of two ints
    pair_doubt : float
        Largest doubt between two clusters, see :func:`bbclust.stages.entropies.pair_doubts`.
    doubtful_pair : tuple of two ints
        The two clusters.
    mean_entropy_influence, max_pairwise_entropy_influence, pair_doubt_influence : ndarrays (B,)
        What each replica moves these, to first order.
    pair_doubts : ndarray of shape (K, K)
        Doubt of every pair.
    merged_mean_entropy : float
        Mean entropy if the doubtful pair were one cluster.
    """

    n_clusters: int
    prior_scale: float
    mean_entropy: float
    max_pairwise_entropy: float
    worst_pair: tuple[int, int]
    pair_doubt: float
    doubtful_pair: tuple[int, int]
    mean_entropy_influence: Array
    max_pairwise_entropy_influence: Array
    pair_doubt_influence: Array
    pair_doubts: Array
    merged_mean_entropy: float

    # Earlier names.
    mean_entropy_moves = property(lambda self: self.mean_entropy_influence)
    max_pairwise_entropy_moves = property(lambda self: self.max_pairwise_entropy_influence)
    pair_doubt_moves = property(lambda self: self.pair_doubt_influence)

    def renumbered(self, numbers: Sequence[int]) -> Cell:
        """The same with other numbers for the clusters, ``numbers[i]`` for the i-th."""
        first, second = sorted(numbers[cluster] for cluster in self.worst_pair)
        order = np.argsort(numbers)  # the cluster that has each number now
        doubts = self.pair_doubts[np.ix_(order, order)]
        doubtful = worst_pair(doubts)
        assert doubtful is not None
        return replace(self, worst_pair=(first, second), doubtful_pair=doubtful, pair_doubts=doubts)

    @property
    def mean_entropy_se(self) -> float:
        return standard_error(self.mean_entropy_influence)

    @property
    def max_pairwise_entropy_se(self) -> float:
        return standard_error(self.max_pairwise_entropy_influence)

    @property
    def pair_doubt_se(self) -> float:
        return standard_error(self.pair_doubt_influence)


@dataclass(frozen=True)
class Grid:
    """Cells by K, then s; the reference partition of each K; the smallest entropy one can see."""

    k_values: tuple[int, ...]
    prior_scales: tuple[float, ...]
    cells: tuple[Cell, ...]
    references: tuple[Partition, ...]
    floor: float

    def cell(self, n_clusters: int, prior_scale: float) -> Cell:
        return self.cells[
            self.k_values.index(n_clusters) * len(self.prior_scales)
            + self.prior_scales.index(prior_scale)
        ]

    def values(self, measure: str) -> Array:
        """A measure as an array of shape (number of K's, number of s's)."""
        flat = [getattr(cell, measure) for cell in self.cells]
        return np.array(flat).reshape(len(self.k_values), len(self.prior_scales))

    def influence(self, measure: str) -> Array:
        """Influence of each replica on a measure, shape (number of K's, number of s's, B)."""
        flat = np.array([getattr(cell, f"{measure}_influence") for cell in self.cells])
        return flat.reshape(len(self.k_values), len(self.prior_scales), -1)

    moves = influence  # its earlier name

    def renumbered(self, n_clusters: int, numbers: Sequence[int]) -> Grid:
        """The same with other numbers for the clusters of one K, ``numbers[i]`` for the i-th."""
        order = np.argsort(numbers)
        return replace(
            self,
            cells=tuple(
                cell.renumbered(numbers) if cell.n_clusters == n_clusters else cell
                for cell in self.cells
            ),
            references=tuple(
                part.renumbered(order) if part.n_clusters == n_clusters else part
                for part in self.references
            ),
        )


class CellStore(Protocol):
    """Keeps the finished work of one grid, so that a later run can go on from there."""

    def reference(self, n_clusters: int) -> Partition | None:
        """The reference partition of K, without weights; None if it is not there."""
        ...

    def cell(self, n_clusters: int, prior_scale: float) -> Cell | None:
        """One cell; None if it is not there."""
        ...

    def keep_reference(self, reference: Partition) -> None: ...

    def keep_cell(self, cell: Cell) -> None: ...


class NoStore:
    """Keeps nothing."""

    def reference(self, n_clusters: int) -> Partition | None:
        return None

    def cell(self, n_clusters: int, prior_scale: float) -> Cell | None:
        return None

    def keep_reference(self, reference: Partition) -> None:
        pass

    def keep_cell(self, cell: Cell) -> None:
        pass


@dataclass(frozen=True)
class GridJob:
    """A grid to be run: everything that its cells depend on, in every K the same.

    ``missing`` says how replicas complete incomplete rows, if there are any.
    """

    table: Table
    k_values: tuple[int, ...]
    prior_scales: tuple[float, ...]
    settings: GridSettings
    seed: int
    missing: MissingDraws | None = None

    @cached_property
    def plan(self) -> Plan:
        """The plan of all cells; a table smaller than the draws asked for is drawn once over.

        Centres vote on the evaluation rows even when every row is drawn: each point then has a vote
        of every replica, and both measures are less noisy.
        """
        return make_plan(
            self.settings.replicas,
            self.table,
            self.seed,
            n_draws=min(self.settings.n_draws, self.table.n),
            votes="evaluation",
        )

    @property
    def n_cells(self) -> int:
        return len(self.k_values) * len(self.prior_scales)


@dataclass(frozen=True)
class ReferenceTask:
    """The reference partition of one K is to be found."""

    n_clusters: int

    @property
    def name(self) -> str:
        return f"reference-k{self.n_clusters}"

    def run(self, job: GridJob, n_jobs: int = 1) -> Partition:
        return find_reference(job, self.n_clusters, n_jobs)


@dataclass(frozen=True)
class CellTask:
    """A cell is to be measured: one K at one s."""

    reference: Partition
    prior: PreparedPrior | None
    prior_scale: float
    missing: MissingValues | None = None

    @property
    def name(self) -> str:
        return f"cell-k{self.reference.n_clusters}-s{self.prior_scale:g}"

    def run(self, job: GridJob, n_jobs: int = 1) -> Cell:
        job, reference = without_trimmed_rows(job, self.reference)
        return run_cell(
            Job(job.table, reference, self.prior, job.plan, self.missing),
            self.prior_scale,
            job.settings.n_replicas,
            n_jobs,
        )


GridTask = ReferenceTask | CellTask


class GridUnderWay:
    """A grid: what is found of it, and the tasks that are next, for whoever runs them.

    Parameters
    ----------
    job : GridJob
    store : CellStore, optional
        What it has already is not computed again, and it is given everything else.
    begin : callable
        Called when the grid begins; gives what is called as ``progress(done, total)`` after every
        cell.
    """

    def __init__(
        self,
        job: GridJob,
        store: CellStore | None = None,
        begin: Callable[[], Callable[[int, int], None]] = lambda: lambda done, total: None,
    ) -> None:
        self.job = job
        self._store: CellStore = NoStore() if store is None else store
        self._begin = begin
        self._progress: Callable[[int, int], None] | None = None
        self._n_reported = 0
        self._references: dict[int, Partition] = {}
        self._cells: dict[tuple[int, float], Cell] = {}

    @property
    def is_done(self) -> bool:
        return len(self._cells) == self.job.n_cells

    def tasks_of(self, n_clusters: int) -> list[GridTask]:
        """What comes first for one K: its reference partition, or the cells that are missing."""
        reference = self._stored_reference(n_clusters)
        return [ReferenceTask(n_clusters)] if reference is None else self._cells_of(reference)

    def take(self, found: Partition | Cell) -> list[GridTask]:
        """Keep what a task has found; the tasks that this allows."""
        if isinstance(found, Partition):
            self._store.keep_reference(found)
            return self._cells_of(found)
        self._store.keep_cell(found)
        self._cells[found.n_clusters, found.prior_scale] = found
        return []

    def report(self) -> None:
        """Tell of the cells that nobody has heard of."""
        if self._progress is None:
            self._progress = self._begin()
        while self._n_reported < len(self._cells):
            self._n_reported += 1
            self._progress(self._n_reported, self.job.n_cells)

    def run(self, *, n_jobs: int = 1) -> Grid:
        """Both measures for every K and s, one reference partition per K, one task at a time."""
        self.report()
        for n_clusters in self.job.k_values:
            tasks = self.tasks_of(n_clusters)
            self.report()
            while tasks:
                tasks += self.take(tasks.pop(0).run(self.job, n_jobs))
                self.report()
        return self.gather()

    def gather(self) -> Grid:
        """The grid, which is done."""
        job = self.job
        kept = without_trimmed_rows(job, self._references[job.k_values[0]]).job
        return Grid(
            job.k_values,
            job.prior_scales,
            tuple(self._cells[k, scale] for k in job.k_values for scale in job.prior_scales),
            tuple(self._references[k] for k in job.k_values),
            entropy_floor(job.settings.n_replicas, len(kept.plan.evaluation_rows)),
        )

    def _cells_of(self, reference: Partition) -> list[GridTask]:
        """The cells of one K that are not there."""
        job = self.job
        replicas = job.settings.replicas
        reference = replace(reference, weights=job.table.weights)
        missing = None
        if job.table.incomplete is not None:
            reference, missing = describe_missing(
                replicas, job.table, reference, job.seed, draws=job.missing
            )
        n_clusters = reference.n_clusters
        self._references[n_clusters] = reference
        found = {scale: self._stored_cell(n_clusters, scale) for scale in job.prior_scales}
        self._cells |= {(n_clusters, s): cell for s, cell in found.items() if cell is not None}
        if None not in found.values():
            return []
        # prepare_priors takes the rows in clusters alone, so that trimmed rows have no part in F0
        rows = job.table.original() if replicas.uses_prior else job.table.rows
        rows = rows_for_prior(replicas, job.table, rows, reference, missing)
        priors = prepare_priors(replicas, rows, reference, job.prior_scales)
        return [
            CellTask(reference, prior, scale, missing)
            for scale, prior in zip(job.prior_scales, priors, strict=True)
            if found[scale] is None
        ]

    def _stored_reference(self, n_clusters: int) -> Partition | None:
        """The reference of the store, unless it is one of another table."""
        stored, table = self._store.reference(n_clusters), self.job.table
        if stored is None or (len(stored.labels), stored.centers.shape[1]) != (table.n, table.d):
            return None
        return stored

    def _stored_cell(self, n_clusters: int, prior_scale: float) -> Cell | None:
        """The cell of the store, unless it is one of another number of replicas."""
        stored = self._store.cell(n_clusters, prior_scale)
        n_replicas = self.job.settings.n_replicas
        fits = stored is not None and len(stored.mean_entropy_influence) == n_replicas
        return stored if fits else None


class KeptRows(NamedTuple):
    """A grid of the rows that are not trimmed, and their partition."""

    job: GridJob
    reference: Partition


def without_trimmed_rows(job: GridJob, reference: Partition) -> KeptRows:
    """The grid and a reference partition without the rows that it leaves out (label -1).

    Every K leaves out the same share, so that all have as many rows; which ones may differ.
    """
    if job.settings.replicas.trim == 0:
        return KeptRows(job, reference)
    kept, partition = reference.without_noise()
    if kept.all():
        return KeptRows(job, reference)
    table = take_rows(job.table, kept)
    return KeptRows(replace(job, table=table), replace(partition, weights=table.weights))


def find_reference(job: GridJob, n_clusters: int, n_jobs: int = 1) -> Partition:
    """The reference partition of one K, of rows that were completed once.

    On what is observed, one cluster too many gathers the rows that miss what tells them apart.
    """
    clusterer = job.plan.clusterer
    table = completed_table(job.table, job.missing)
    trimmed = trim_table(job.settings.replicas, table, n_clusters, job.seed, n_jobs=n_jobs)
    if trimmed is not None:
        table = trimmed.table
    reference = clusterer.find_reference(table, n_clusters, job.seed, n_jobs=n_jobs).partition
    if trimmed is not None:
        labels = np.full(job.table.n, -1, dtype=np.int32)
        labels[trimmed.kept] = reference.labels
        reference = replace(reference, labels=labels, weights=job.table.weights)
    if reference.n_clusters != n_clusters:
        raise ValueError(
            f"{clusterer.name} was asked for {n_clusters} clusters and found "
            f"{reference.n_clusters}: leave K = {n_clusters} out of k_range."
        )
    check.check_no_cluster_is_empty(reference.shares)
    return reference


def join_grids(first: Grid, second: Grid) -> Grid:
    """Two grids over different K's and the same s's as one."""
    return Grid(
        first.k_values + second.k_values,
        first.prior_scales,
        first.cells + second.cells,
        first.references + second.references,
        first.floor,
    )


def run_cell(job: Job, scale: float, n_replicas: int, n_jobs: int = 1) -> Cell:
    """Run the replicas of one cell and measure their disagreement."""
    plan, n_clusters = job.plan, job.n_clusters
    replicas = run_replicas(job, range(n_replicas), n_jobs=n_jobs)
    labels = replicas.evaluation_labels
    counts = count_votes(labels, n_clusters)
    voted = counts.any(axis=1)  # on other rows, which some clusterers leave, nothing is known
    if not voted.any():
        raise ValueError(
            f"No replica of {n_replicas} votes on any row at K = {n_clusters}: raise n_replicas."
        )
    weights = job.table.weights_or_ones()[plan.evaluation_rows] * voted
    shares = memberships(counts, otherwise=job.reference.labels[plan.evaluation_rows])
    pairwise = mean_pairwise_entropy(shares, weights)
    doubts = pair_doubts(shares, weights)
    pair, doubtful = worst_pair(pairwise), worst_pair(doubts)
    assert pair is not None
    assert doubtful is not None
    return Cell(
        n_clusters=n_clusters,
        prior_scale=scale,
        mean_entropy=float(np.average(entropy(shares), weights=weights)),
        max_pairwise_entropy=float(pairwise[pair]),
        worst_pair=pair,
        pair_doubt=float(doubts[doubtful]),
        doubtful_pair=doubtful,
        mean_entropy_influence=mean_entropy_influence(labels, counts, weights),
        max_pairwise_entropy_influence=pairwise_entropy_influence(labels, counts, weights, pair),
        pair_doubt_influence=pair_doubt_influence(labels, counts, weights, doubtful),
        pair_doubts=doubts,
        merged_mean_entropy=float(np.average(entropy(merge(shares, doubtful)), weights=weights)),
    )


def merge(shares: Array, pair: tuple[int, int]) -> Array:
    """Memberships with two clusters as one."""
    merged = np.delete(shares, pair[1], axis=1)
    merged[:, pair[0]] += shares[:, pair[1]]
    return merged


def entropy_floor(n_replicas: int, n_points: int) -> float:
    """Mean entropy, in bits, of one dissenting vote on one point: less cannot be seen."""
    dissent = 1 / n_replicas
    shares = np.array([[dissent, 1 - dissent]])
    return float(entropy(shares)[0]) / n_points
