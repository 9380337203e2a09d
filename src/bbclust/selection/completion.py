"""Incomplete rows while K is chosen: one model of missing values for every K.

A model with one Gaussian per cluster would speak for its own K: rows drawn from K Gaussians fall
into K clusters. And clusters found on what is observed, one too many, gather the rows that miss
what tells them apart. So while K is chosen missing values come from a model of two Gaussians, fewer
than most answers, whatever K is: the cells of the grid draw them anew in every replica, and what
needs complete rows, reference partitions, clouds, valleys and half-samples, gets rows that were
completed once. Values drawn from few Gaussians fill valleys rather than make them.
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

# Of five tables of three blobs with a fifth of the values gone, all got K = 3 with one to three
# components, and three with six.
N_COMPONENTS = 2


def draws_for_every_k(table: Table, seed: int, *, n_jobs: int = 1) -> MissingDraws | None:
    """How replicas complete rows, whatever K is; None if all rows are complete."""
    if table.incomplete is None:
        return None
    components = min(N_COMPONENTS, count_distinct_rows(table.rows, N_COMPONENTS))
    reference = cluster_observed(table, components, seed, n_jobs=n_jobs)
    model = elicit_model(table, reference, n_jobs=n_jobs).model
    return draws_by_number(model, table, seed, n_jobs=n_jobs)


def completed_table(table: Table, draws: MissingDraws | None) -> Table:
    """The table with its missing values drawn once; the table itself if none is missing."""
    if draws is None:
        return table
    draws = replace(draws, purpose=OF_TESTS)
    return replace(table, rows=complete_rows(table.rows, table.center, draws))
