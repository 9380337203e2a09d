"""How stable each number of clusters is: both measures of the paper over a grid of K and s.

All cells of a grid read the same random words, so the difference between two of them is far less
noisy than either. Nothing here grows with the number of rows beyond the table itself: replicas are
``n_draws`` points and vote on the evaluation rows only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bbclust.ensemble.assembly import ReplicaSettings, make_plan, prepare_priors
from bbclust.ensemble.job import Job, Plan
from bbclust.ensemble.run import run_replicas
from bbclust.priors import PreparedPrior
from bbclust.stages.entropies import entropy, mean_pairwise_entropy, pair_doubts, worst_pair
from bbclust.stages.kmeans import Partition
from bbclust.stages.monte_carlo import (
    mean_entropy_influence,
    pair_doubt_influence,
    pairwise_entropy_influence,
    standard_error,
)
from bbclust.stages.table import Table
from bbclust.stages.voting import count_votes, memberships

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GridSettings:
    """What all cells of a grid share besides the data: replicas, their number and their draws."""

    replicas: ReplicaSettings
    n_replicas: int
    n_draws: int


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

    # Names of 0.1.0.
    mean_entropy_moves = property(lambda self: self.mean_entropy_influence)
    max_pairwise_entropy_moves = property(lambda self: self.max_pairwise_entropy_influence)
    pair_doubt_moves = property(lambda self: self.pair_doubt_influence)

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

    moves = influence  # its name in 0.1.0


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


def _no_progress(done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class GridJob:
    """A grid to be run.

    Attributes
    ----------
    store : CellStore
        What it has already is not computed again, and it is given everything else.
    begin : callable
        Called when the grid begins; gives what is called as ``progress(done, total)`` after every
        cell.
    """

    table: Table
    k_values: tuple[int, ...]
    prior_scales: tuple[float, ...]
    settings: GridSettings
    seed: int
    store: CellStore = field(default_factory=NoStore)
    begin: Callable[[], Callable[[int, int], None]] = lambda: _no_progress

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

    def prepare_prior(self, reference: Partition) -> list[PreparedPrior | None]:
        """The prior at every scale."""
        rows = self.table.original() if self.settings.replicas.uses_prior else self.table.rows
        return prepare_priors(self.settings.replicas, rows, reference, self.prior_scales)

    def run(self, *, n_jobs: int = 1) -> Grid:
        """Both measures for every K and s, one reference partition per K."""
        progress = self.begin()
        cells: list[Cell] = []
        references = []
        for n_clusters in self.k_values:
            reference = self.store.reference(n_clusters)
            if reference is None:
                reference = find_reference(self.table, n_clusters, self.plan, n_jobs)
                self.store.keep_reference(reference)
            reference = replace(reference, weights=self.table.weights)
            references.append(reference)
            found = [self.store.cell(n_clusters, scale) for scale in self.prior_scales]
            prepared: list[PreparedPrior | None] = [None] * len(found)
            if None in found:
                prepared = self.prepare_prior(reference)
            for scale, cell, prior in zip(self.prior_scales, found, prepared, strict=True):
                if cell is None:
                    job = Job(self.table, reference, prior, self.plan)
                    cell = run_cell(job, scale, self.settings.n_replicas, n_jobs)
                    self.store.keep_cell(cell)
                cells.append(cell)
                progress(len(cells), self.n_cells)
        return self.gather(references, cells)

    def gather(self, references: Iterable[Partition], cells: Iterable[Cell]) -> Grid:
        """The grid, from references by K and cells by K, then s."""
        return Grid(
            self.k_values,
            self.prior_scales,
            tuple(cells),
            tuple(references),
            entropy_floor(self.settings.n_replicas, len(self.plan.evaluation_rows)),
        )


def find_reference(table: Table, n_clusters: int, plan: Plan, n_jobs: int = 1) -> Partition:
    """The reference partition of one K."""
    clusterer = plan.clusterer
    reference = clusterer.find_reference(table, n_clusters, plan.seed, n_jobs=n_jobs).partition
    if reference.n_clusters != n_clusters:
        raise ValueError(
            f"{clusterer.name} was asked for {n_clusters} clusters and found "
            f"{reference.n_clusters}: leave K = {n_clusters} out of k_range."
        )
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
