"""The choice of K repeated on half-samples of the rows: how much of it is the sample's.

A half-sample is run at one s, with few replicas, and its doubts are compared with those of cuts
through the whole table's clusters, for as many draws as it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from bbclust.selection.criteria import Evidence, score
from bbclust.selection.grid import Grid, GridSettings
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Table, count_distinct_rows, make_table

HALF_REPLICAS = 60


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


GridsOf = Callable[[Iterable[GridRequest]], Iterator[Grid]]


def half_size(table: Table) -> int:
    """How many rows a half-sample has."""
    return max(table.n // 2, 2)


def choose_on_halves(
    grids_of: GridsOf,
    whole: GridRequest,
    n_draws: int,
    count: int,
    criterion: str,
    evidence: Evidence,
    seed: int,
) -> dict[int, float]:
    """Share of half-samples of a table in which each K is chosen.

    Parameters
    ----------
    grids_of : callable
        Runs grids.
    whole : GridRequest
        The table, its K's, the s to look at and the settings of the whole.
    n_draws : int
        Draws per replica of a half-sample.
    count : int
        Number of half-samples.
    criterion : str
    evidence : Evidence
        What clouds say of the whole table.
    seed : int
    """
    assert whole.settings is not None
    settings = whole.settings
    few = GridSettings(settings.replicas, min(HALF_REPLICAS, settings.n_replicas), n_draws)
    of_half = evidence.for_draws(n_draws / min(settings.n_draws, whole.table.n))
    wins = dict.fromkeys(whole.k_values, 0.0)
    requests = (
        half._replace(scales=whole.scales, settings=few)
        for half in _halves(whole.table, whole.k_values, seed, count)
    )
    for grid in grids_of(requests):
        wins[score(grid, criterion, of_half).best()] += 1
    return {k: n / count for k, n in wins.items()}


def _halves(table: Table, k_values: list[int], seed: int, count: int) -> Iterator[GridRequest]:
    """Half-samples of the rows, without those that have too few distinct rows for any K."""
    for r in range(count):
        generator = stream_generator(seed, Stage.HALVES, r)
        half = np.sort(generator.permutation(table.n)[: half_size(table)])
        weights = None if table.weights is None else table.weights[half]
        if weights is not None:
            weights = weights / weights.mean()
        rows = make_table(table.rows[half], weights)
        distinct = count_distinct_rows(rows.rows, k_values[-1])
        possible = [k for k in k_values if k <= distinct]
        if possible:
            yield GridRequest(rows, possible, f"half-{r + 1}", f"half-sample {r + 1} of {count}")
