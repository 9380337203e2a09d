"""Incomplete rows while K is chosen: one model of missing values for every K.

A model with one Gaussian per cluster would speak for its own K: rows drawn from K Gaussians fall
into K clusters. So the cells of the grid draw missing values, anew in every replica, from a model
whose number of components depends on the size of the table alone. What looks at rows themselves,
clouds, valleys and half-samples, gets rows that were completed once from the same model.
"""

from __future__ import annotations

from dataclasses import replace

from bbclust.stages.missing_values import (
    OF_TESTS,
    MissingDraws,
    complete_rows,
    draws_by_number,
    elicit_model,
)
from bbclust.stages.observed_kmeans import cluster_observed
from bbclust.stages.table import Table, count_distinct_rows

MAX_COMPONENTS = 10
ROWS_PER_PARAMETER = 5


def n_components(table: Table) -> int:
    """Gaussians that rows are completed from: one per 5 (d + 1) rows, ten at most."""
    wanted = max(1, min(MAX_COMPONENTS, table.n // (ROWS_PER_PARAMETER * (table.d + 1))))
    return min(wanted, count_distinct_rows(table.rows, wanted))


def draws_for_every_k(table: Table, seed: int, *, n_jobs: int = 1) -> MissingDraws | None:
    """How replicas complete rows, whatever K is; None if all rows are complete."""
    if table.incomplete is None:
        return None
    reference = cluster_observed(table, n_components(table), seed, n_jobs=n_jobs)
    model = elicit_model(table, reference, n_jobs=n_jobs).model
    return draws_by_number(model, table, seed, n_jobs=n_jobs)


def completed_table(table: Table, draws: MissingDraws | None) -> Table:
    """The table with its missing values drawn once; the table itself if none is missing."""
    if draws is None:
        return table
    draws = replace(draws, purpose=OF_TESTS)
    return replace(table, rows=complete_rows(table.rows, table.center, draws))
