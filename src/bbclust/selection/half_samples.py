"""The choice of K repeated on half-samples of the rows: how much of it is the sample's.

A half-sample is run at one s, with few replicas, and its doubts are compared with those of cuts
through the whole table's clusters, for as many draws as it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from bbclust.ensemble.assembly import count_fillable_clusters
from bbclust.selection.criteria import Evidence, score
from bbclust.selection.grid import Grid, GridRequest, GridSettings
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Table, make_table

HALF_REPLICAS = 60


def half_size(table: Table) -> int:
    """How many rows a half-sample has."""
    return max(table.n // 2, 2)


def half_settings(whole: GridSettings, n_draws: int) -> GridSettings:
    """Those of a half-sample: fewer replicas, and as many draws as are asked for."""
    return GridSettings(whole.replicas, min(HALF_REPLICAS, whole.n_replicas), n_draws)


def half_samples(
    table: Table,
    k_values: list[int],
    scale: float,
    settings: GridSettings,
    seed: int,
    count: int,
) -> Iterator[GridRequest]:
    """Half-samples of the rows, without those that have too few distinct rows for any K."""
    for r in range(count):
        generator = stream_generator(seed, Stage.HALVES, r)
        half = np.sort(generator.permutation(table.n)[: half_size(table)])
        weights = None if table.weights is None else table.weights[half]
        if weights is not None:
            weights = weights / weights.mean()
        rows = make_table(table.rows[half], weights)
        most = count_fillable_clusters(settings.replicas, rows, k_values, seed)
        possible = [k for k in k_values if k <= most]
        if possible:
            name, title = f"half-{r + 1}", f"half-sample {r + 1} of {count}"
            yield GridRequest(rows, possible, name, title, (scale,), settings)


def shares_of_wins(
    grids: Iterable[Grid], k_values: list[int], criterion: str, evidence: Evidence, count: int
) -> dict[int, float]:
    """Share of half-samples in which each K is chosen, by what clouds say of the whole table."""
    wins = dict.fromkeys(k_values, 0.0)
    for grid in grids:
        wins[score(grid, criterion, evidence).best()] += 1
    return {k: n / count for k, n in wins.items()}
